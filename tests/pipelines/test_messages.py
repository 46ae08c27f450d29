"""What a person reads after a mistake: one line, an exit code, and nothing changed."""

import sys

import pytest

from pipelines import configure, figures, inputs, side, stage, train

STUDY = "studies.cracking-fig7"


@pytest.fixture
def fail(monkeypatch, capsys, tmp_path):
    """Run an entry point in an empty folder; give its line and see that it wrote nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")

    def run(work, reads, *arguments):
        monkeypatch.setattr(sys, "argv", ["stage", *arguments])
        with pytest.raises(SystemExit) as ended:
            stage.run(work, reads)
        assert ended.value.code == 2
        assert list(tmp_path.iterdir()) == []
        lines = capsys.readouterr().err.strip().splitlines()
        assert len(lines) == 1, lines
        return lines[0]

    return run


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (f"{STUDY}.width=abc", f"error: invalid config at '{STUDY}.width': Value 'abc' of type"),
        (f"{STUDY}.width=-3", f"error: invalid config at '{STUDY}.width': expected "),
        (f"{STUDY}.width=2.5", f"error: invalid config at '{STUDY}.width': Value '2.5' of type"),
        (
            f"{STUDY}.widht=5",
            f"config error: unknown key '{STUDY}.widht': expected one of",
        ),
        (
            "studies.cracking-fig0.width=5",
            "config error: unknown key 'studies.cracking-fig0.width'",
        ),
        (
            "colour=red",
            "config error: unknown key 'colour': expected one of data, launcher, networks, ",
        ),
        (
            "networks.two-layer-linear.networks=2",
            "error: invalid config at 'networks.two-layer-linear.networks': expected at least 3",
        ),
        (
            "studies.cracking-fig4.ensemble=nonsense",
            "error: invalid config at 'studies.cracking-fig4.ensemble': expected one of",
        ),
        ("scale=huge", "config error: In 'config': Could not find 'scale/huge'"),
        (f"{STUDY}.kind=nonsense", f"error: invalid config at '{STUDY}.kind': expected one of"),
        (f"{STUDY}.data=nonsense", f"error: invalid config at '{STUDY}.data': expected one of"),
        (f"+{STUDY}.extra=1", f"error: invalid config at '{STUDY}.extra': Key 'extra' not in"),
        (f"~{STUDY}.width", f"error: invalid config at '{STUDY}': "),
        (f"{STUDY}=5", f"error: invalid config at '{STUDY}': expected a mapping, got 5"),
        (
            "tracking.mode=sometimes",
            "error: invalid config at 'tracking.mode': expected one of",
        ),
        ("data.sets.wedge.size=0", "error: invalid config at 'data.sets.wedge.size': expected "),
    ],
)
def test_a_bad_configuration_is_refused_in_one_line(fail, override, message):
    assert fail(configure.configure, "", override).startswith(message)


def test_an_unknown_study_is_named_with_those_that_exist(fail):
    line = fail(side.side, inputs.COMPUTES, "side=closed_form", "only=cracking-fig0")
    assert line.startswith("error: unknown study 'cracking-fig0': expected one of ")
    assert "cracking-fig7" in line


def test_a_stage_asks_for_its_study(fail):
    line = fail(figures.figures, inputs.DRAWS)
    assert line.startswith("error: only: expected a study, one of ")


def test_a_study_that_does_not_train_is_refused(fail):
    line = fail(train.train, inputs.COMPUTES, "only=cracking-fig7")
    assert line == "error: only: expected networks or a study that trains, got 'cracking-fig7'"


def test_unknown_networks_are_named_with_those_that_exist(fail):
    line = fail(train.train, inputs.COMPUTES, "only=three-layer")
    assert line.startswith("error: unknown networks or study 'three-layer': expected one of ")
    assert "two-layer-linear" in line
    assert "data-fig1c" in line


@pytest.mark.parametrize(
    ("arguments", "got"),
    [(["only=cracking-fig7"], "none"), (["only=cracking-fig7", "side=left"], "'left'")],
)
def test_a_side_is_asked_for(fail, arguments, got):
    line = fail(side.side, inputs.COMPUTES, *arguments)
    assert line == (
        f"error: side: expected closed_form, numerics, correlation, got {got}; add side=<side>"
    )


def test_a_side_that_a_study_does_not_have_is_refused(fail):
    line = fail(side.side, inputs.COMPUTES, "only=cracking-fig7", "side=correlation")
    assert line == "error: only: expected a study with a correlation side, got 'cracking-fig7'"


def test_a_stage_before_configure_is_refused(fail):
    line = fail(
        side.side, inputs.COMPUTES, "-cn", "locked", "side=closed_form", "only=cracking-fig7"
    )
    path = "results/inputs/cracking-fig7/computes.json"
    assert line == f"error: {path} is missing: run dvc repro configure"

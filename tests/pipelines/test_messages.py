"""After a mistake a person reads one line, with an exit code, and nothing is changed."""

import errno
import os
import re
from dataclasses import replace

import hydra
import numpy as np
import pytest
import torch
import yaml
from omegaconf import OmegaConf

from hessian_papers.studies.scalar.data_scale import study as data_scale
from hessian_papers.studies.scalar.spectrum_in_training import study as spectrum_in_training
from hessian_spectra import curvature as cv
from pipelines import configure, figures, inputs, messages, page, prepare, schema, side, train

KEPT = (
    *("cracking-fig4", "cracking-fig7", "cracking-fig8", "data-fig1b", "data-fig1c"),
    *("deep-relu", "digits"),
)
STUDY = "studies.cracking-fig7"


@pytest.fixture
def fail(ends, capsys, tmp_path):
    """Run an entry point in an empty folder; give its line and see that it wrote nothing."""

    def run(work, reads, *arguments, estimates=False):
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
        assert ends(work, reads, *arguments, estimates=estimates) == 2
        files = [path for path in tmp_path.rglob("*") if not path.is_dir()]
        assert {path: path.stat().st_mtime_ns for path in files}.items() <= before.items()
        lines = capsys.readouterr().err.strip().splitlines()
        lines = [line for line in lines if not re.match(r"[\w-]+: \d+ items, ", line)]
        assert len(lines) == 1, lines
        return lines[0]

    return run


# An override, and words of the line that refuses it.
BAD = [
    ("studies.cracking-fig7.width=abc", "'studies.cracking-fig7.width': Value 'abc' of type"),
    ("studies.cracking-fig7.width=-3", "'studies.cracking-fig7.width': expected "),
    ("studies.cracking-fig7.width=2.5", "'studies.cracking-fig7.width': Value '2.5' of type"),
    (
        "studies.cracking-fig7.widht=5",
        "cracking-fig7.widht': expected one of width, artifact, ",
    ),
    ("studies.cracking-fig7.widht=5", " (did you mean width?)"),
    (
        "studies.craking-fig8.width=5",
        "config error: unknown key 'studies.craking-fig8.width': ",
    ),
    ("studies.craking-fig8.width=5", " (did you mean cracking-fig8?)"),
    ("+studies.cracking-fig7.widht=5", "Key 'widht' not in 'Config' (did you mean width?)"),
    ("studies.cracking-fig7.data=gausian-regression", " (did you mean gaussian-regression?), got "),
    ("studies.cracking-fig7.kind=datascale", " (did you mean data_scale?), got 'datascale'"),
    ("studies.cracking-fig4.target=sharpnes", " (did you mean sharpness?), got 'sharpnes'"),
    ("studies.cracking-fig4.quantities=[products,matrice]", " (did you mean matrices?), got "),
    ("data.sets.digits.kind=image", " (did you mean images?), got 'image'"),
    ("colour=red", "config error: unknown key 'colour': expected one of data, launcher, networks"),
    ("networks.two-layer-linear.networks=2", "'networks.two-layer-linear.networks': expected at "),
    ("studies.cracking-fig4.ensemble=nonsense", "'studies.cracking-fig4.ensemble': expected one "),
    ("scale=huge", "unknown scale 'huge': expected one of paper, workstation, demo"),
    ("tracking=nosuch", "config error: unknown tracking 'nosuch': expected one of wandb"),
    ("launcher=x", "config error: unknown launcher 'x': expected one of default"),
    ("hydra/launcher=nosuch", "config error: unknown hydra/launcher 'nosuch': expected one of ba"),
    ("hydra.job.nosuch=1", "config error: unknown key 'hydra.job.nosuch': expected one of chdir,"),
    ("studies=nosuch", "config error: unknown studies 'nosuch': expected one of anon2026data/dat"),
    ("scale=demo,paper", "config error: scale: expected one of paper, workstation, demo, got 'de"),
    ("side=numerics,correlation", "config error: side: expected one of closed_form, numerics, co"),
    ("studies.data-fig1b.norms=1,2", "--multirun takes each in turn, and [1,2] is a list"),
    ("scale=paper", "'data.root': expected the folder of mnist for the data set digits, got null"),
    ("studies.cracking-fig7.kind=nonsense", "'studies.cracking-fig7.kind': expected one of"),
    ("studies.cracking-fig7.data=nonsense", "'studies.cracking-fig7.data': expected one of"),
    ("+studies.cracking-fig7.extra=1", "'studies.cracking-fig7.extra': Key 'extra' not in"),
    ("~studies.cracking-fig7.width", "'studies.cracking-fig7': "),
    ("studies.cracking-fig7=5", "'studies.cracking-fig7': expected a mapping, got 5"),
    ("tracking.mode=sometimes", "'tracking.mode': expected one of"),
    ("data.sets.wedge.size=0", "'data.sets.wedge.size': expected "),
    # The files of conf/ alone say them: no run would heed another one.
    ("studies.cracking-fig7.lead=null", "'studies.cracking-fig7.lead': expected what conf/ "),
    ("studies.cracking-fig7.lead.sentence=Other", "'studies.cracking-fig7.lead': expected "),
    ("~studies.cracking-fig7.lead", "'studies.cracking-fig7.lead': expected what conf/ says"),
    ("+studies.cracking-fig7.published.width=3", "'studies.cracking-fig7.published': expec"),
    ("networks.two-layer-linear.published.networks=3", "'networks.two-layer-linear.published': e"),
    # An entry point works on the study of `only`, or on all of them.
    ("only=cracking-fig7", "only: expected null for configure, as of all evidence, "),
    ("side=numerics", "side: expected null for configure, as of all side alone heed"),
]


@pytest.mark.parametrize(("override", "words"), BAD)
def test_a_bad_configuration_is_refused_in_one_line(fail, override, words):
    line = fail(configure.configure, "", override)
    assert re.match("(config )?error: ", line)
    assert words in line


SIDES = "closed_form, numerics, correlation, gpt2, layerwise, pac_bayes"
STARTED = [
    (side.side, ["side=closed_form", "only=cracking-fig0"], "unknown study 'cracking-fig0': expe"),
    (side.side, ["only=cracking-fig7"], f"side: expected {SIDES}, got none; add side=<side>"),
    (side.side, ["only=cracking-fig7", "side=left"], f"side: expected {SIDES}, got 'left'; add"),
    (
        *(side.side, ["only=cracking-fig7", "side=correlation"]),
        "only: expected a study with a correlation side, got 'cracking-fig7'",
    ),
    (
        *(side.side, ["-cn", "locked", "side=closed_form", "only=cracking-fig7"]),
        "results/inputs/cracking-fig7/computes.json is missing: run dvc repro survey",
    ),
    (figures.figures, [], "only: expected a study, one of cracking-fig4, cracking-fig7, "),
    (
        *(train.train, ["only=cracking-fig7"]),
        "only: expected networks or a study that trains, got 'cracking-fig7'",
    ),
    (
        *(train.train, ["only=three-layer"]),
        "unknown networks or study 'three-layer': expected one of cracking-fig4, ",
    ),
    *(
        (
            *(work, ["only=cracking-fig7", "side=numerics"]),
            f"side: expected null for {work.__name__}, as of all side alone heed it, got 'numer",
        )
        for work in (page.page, figures.figures, train.train, prepare.prepare)
    ),
    *(
        (
            *(figures.figures, ["only=cracking-fig7", f"{key}={value}"]),
            f"invalid config at '{key}': expected ",
        )
        for key, value in {
            "studies.cracking-fig8.width": -3,
            "networks.deep-relu.epochs": 0,
        }.items()
    ),
]
READS = {side.side: inputs.COMPUTES, train.train: inputs.COMPUTES, figures.figures: ""}


@pytest.mark.parametrize(("work", "arguments", "message"), STARTED)
def test_an_entry_point_says_what_it_expects(fail, work, arguments, message):
    line = fail(work, READS.get(work, work.__name__), *arguments, estimates=True)
    assert line.startswith(f"error: {message}")


def test_several_names_for_one_are_refused_with_those_that_exist(fail):
    line = fail(figures.figures, "", "only=cracking-fig7,data-fig2")
    assert line.startswith("config error: only: expected one of ")
    assert re.search(r" and \d+ more, see MAP.md, got", line)
    assert line.count(", ") < 10
    assert line.endswith("got 'cracking-fig7,data-fig2'; --multirun takes each in turn")


SAID = {"only": None, "side": None, "launcher": {"workers": 0, "minutes": 240, "options": {}}}


@pytest.mark.parametrize(
    ("key", "value", "expected", "remedy"),
    [
        ("only", "cracking-fig7", "null", "name the stage, as in dvc exp run paper@<paper>"),
        ("side", "numerics", "null", "name the stage, as in dvc exp run numerics@<study>"),
        ("launcher.workers", 7, 0, "set HESSIAN_SPECTRA_WORKERS and HESSIAN_SPECTRA_CLUSTER, or"),
        ("launcher.options", {"mem": "4GB"}, {}, "set HESSIAN_SPECTRA_WORKERS and HESSIAN_"),
    ],
)
def test_an_experiment_cannot_set_what_no_stage_heeds(key, value, expected, remedy):
    said, composed = OmegaConf.create(SAID), OmegaConf.create(SAID)
    configure.refuse_ignored(composed, said)
    configure.refuse_ignored(OmegaConf.create({"scale": "demo"}), said)
    OmegaConf.update(composed, key, value)
    with pytest.raises(schema.ConfigError) as caught:
        configure.refuse_ignored(composed, said)
    assert str(caught.value).startswith(
        f"{key}: expected {expected} as conf/ and the environment say, got {value!r}: no stage "
        f"heeds what an experiment sets of it; {remedy}"
    )


def test_what_an_experiment_sets_stands_in_a_comment_of_one_line():
    said = {"a": {"b": 1, "c": [1], "d": "x"}, "e": 2, "gone": 1}
    params = {"a": {"b": 2, "c": [2], "d": "x\ny"}, "e": 3}
    lines = configure.text_of(params, said).splitlines()
    named = "e=3 (conf/ has 2), a.b=2 (conf/ has 1), a.c=[2] (conf/ has [1]), 2 more"
    assert (
        lines[1]
        == f"{configure.KEPT}{named}; they stay until `git checkout HEAD -- params.yaml dvc.lock`"
    )
    assert [*lines[:1], *lines[2:]] == configure.text_of(params).splitlines()
    assert configure.text_of(params, params) == configure.text_of(params)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("only=cracking-fig7", "error: only: expected null as "),
        (f"{STUDY}.lead=null", f"'{STUDY}.lead': expected what conf/ says, got None; no run heeds"),
        ("scale=paper", "add data.root="),
        (f"~{STUDY}", "studies: expected each study of conf/ and no other, got cracking-fig7 tak"),
        ("~data.sets.wedge", "data.sets: expected each data set of conf/ and no other, got wedge"),
        ("+networks.mine={kind: gpt2}", "networks: expected each network of conf/ and no other, "),
    ],
)
def test_a_refused_experiment_leaves_what_conf_says(
    ends, settings, monkeypatch, capsys, tmp_path, override, message
):
    monkeypatch.setenv("DVC_EXP_NAME", "named-pipe")
    with hydra.initialize_config_dir(str(settings), version_base="1.3"):
        composed = hydra.compose("config", [override])
    OmegaConf.save(composed, "params.yaml", resolve=True)  # as DVC does
    assert ends(configure.configure, "") == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert message in line
    assert [path.name for path in tmp_path.iterdir()] == ["params.yaml"]
    params = yaml.safe_load((tmp_path / "params.yaml").read_text())
    assert params["scale"] == "demo"
    assert "only" not in params


@pytest.mark.parametrize(
    ("work", "reads", "arguments", "got"),
    [
        (configure.configure, "", [], "the stage configure"),
        (prepare.prepare, "prepare", [], "the stage prepare"),
        (side.side, inputs.COMPUTES, ["only=cracking-fig7", "side=numerics"], "the numerics side"),
        (side.side, inputs.COMPUTES, ["only=cracking-fig8", "side=numerics"], "the numerics side"),
        (train.train, inputs.COMPUTES, ["only=cracking-fig8"], "the training of cracking-fig8"),
        (figures.figures, "", ["only=cracking-fig8"], "the training of cracking-fig8"),
        (figures.figures, "", ["only=cracking-fig7"], "the closed_form side of crack"),
    ],
)
def test_a_stage_without_an_estimate_says_so_before_it_computes(
    fail, monkeypatch, work, reads, arguments, got
):
    def compute(*_):
        raise AssertionError("it computes")

    monkeypatch.setattr(data_scale, "closed_form", compute)
    training = replace(spectrum_in_training.train, compute=compute)
    monkeypatch.setattr(spectrum_in_training, "train", training)
    can = reads == inputs.COMPUTES or work is figures.figures
    line = fail(work, reads, *arguments, "--estimate", estimates=can)
    assert line.startswith(f"error: --estimate: expected a computation that fans out, got {got}")


def test_a_width_that_does_not_fit_in_the_memory_is_one_line(fail, monkeypatch):
    monkeypatch.setenv("HESSIAN_SPECTRA_CLUSTER", "debug")
    # More than the addresses of any process.
    arguments = ["only=two-layer-linear", f"networks.two-layer-linear.width={10**15}"]
    line = fail(train.train, inputs.COMPUTES, *arguments)
    assert re.fullmatch(
        r"error: not enough memory to allocate \d{16,} bytes; .* smaller sizes", line
    )


@pytest.mark.parametrize(
    ("raised", "line"),
    [
        (
            lambda: np.zeros((10**7, 10**7)),
            r"not enough memory to allocate 728\. TiB for an array ",
        ),
        (lambda: np.zeros(10**19), "Maximum allowed dimension exceeded$"),
        (lambda: bytearray(10**16), "not enough memory; choose smaller sizes$"),
        (lambda: torch.zeros(10**10, 10**10), "not enough memory; choose smaller sizes$"),
    ],
)
def test_too_little_memory_is_one_line(raised, line):
    with pytest.raises((MemoryError, ValueError, RuntimeError)) as caught:
        raised()
    assert messages.is_mendable(caught.value)
    assert re.match(line, messages.one_line(caught.value))


def test_a_network_without_curvature_is_one_line(fail):
    model = torch.nn.Linear(2, 2)
    torch.nn.init.constant_(model.weight, 3e38)
    data = [(torch.ones(3, 2), torch.tensor([0, 1, 1]))]

    def work(context):
        cv.hessian(cv.Problem(model, torch.nn.CrossEntropyLoss(), data))

    assert fail(work, "") == (
        "error: the gradient of the loss is not finite at these parameters; if they were trained, "
        "the training has diverged: choose a smaller learning rate"
    )


def test_an_error_of_ours_keeps_its_traceback(ends):
    def work(context):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        ends(work, "")


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "No space left on device; free some space and run it again"),
        (errno.EROFS, "Read-only file system; work in a folder that can be written to"),
        (errno.EACCES, "Permission denied; see who may read and write there"),
    ],
)
def test_an_error_of_the_file_system_is_one_line(number, said):
    error = OSError(number, os.strerror(number), "results/a.npz")
    assert messages.is_mendable(error)
    assert messages.one_line(error) == f"results/a.npz: {said}"


def test_a_file_that_cannot_be_written_is_one_line_and_nothing_is_left(fail, monkeypatch):
    def replace(source, target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), source, None, target)

    monkeypatch.setattr(os, "replace", replace)
    line = fail(side.side, inputs.COMPUTES, "only=cracking-fig7", "side=closed_form")
    path, _, said = line.removeprefix("error: ").partition(": ")
    assert path.endswith("cracking-fig7/closed_form.nc")
    assert said == "No space left on device; free some space and run it again"


def test_a_folder_that_cannot_be_made_is_one_line(fail, tmp_path):
    (tmp_path / "results").write_text("a file")
    line = fail(side.side, inputs.COMPUTES, "only=cracking-fig7", "side=closed_form")
    assert line.startswith("error: results/runs")
    assert line.endswith(": Not a directory")

"""A sweep ends in a data set along its keys, a picture, a table and a group on W&B."""

import re

import numpy as np
import pytest
import xarray as xr

from hessian_papers import labelled
from hessian_papers.ledger.evaluation import rounded
from hessian_papers.ledger.record import read_ledger
from pipelines import page, runs, sweep
from tests.papers import wandb_files

# A study with intervals and no figure; one whose own variables have other sizes at other widths.
STATED, FIGURE = "output-scale", "cracking-fig7"
KEPT = (STATED, FIGURE, "two-layer-linear")
SMALL = (
    *(f"studies.{STATED}.{setting}" for setting in ("widths=[4,8,16]", "depths=[2,3]")),
    *(f"studies.{FIGURE}.{setting}" for setting in ("second_width=6", "scales=3")),
    *("data.sets.gaussian-regression.size=20", "launcher.cluster=debug"),
)


@pytest.fixture
def swept(ends, capsys, tmp_path):
    """Make the pages of a sweep; the exit code, the sweep's folder, and what was said."""

    def run(*arguments, mode="disabled"):
        chosen = [*arguments, *SMALL, f"tracking.mode={mode}"]
        code = ends(page.page, "page", "-m", *chosen, estimates=True, collect=sweep.collect)
        folders = [*(tmp_path / "results" / "runs").glob("*")]
        assert len(folders) <= 1
        return code, (folders or [None])[0], capsys.readouterr()

    return run


def test_runs_stand_along_the_keys_and_one_that_fails_is_missing(swept, tmp_path):
    keys = (f"studies.{STATED}.draws=4,3", f"studies.{STATED}.samples=2,-1")
    code, folder, said = swept(f"only={STATED}", *keys, mode="offline")
    assert code == 2
    assert said.err.count("'studies.output-scale.samples': expected at least 1, got -1") == 2
    assert "sweep: 3 of 4 runs, " in said.err
    # Of each run what is computed, in which time, and each step when it begins.
    steps = re.findall(rf"^{STATED}: (.*)$", said.err, re.MULTILINE)
    assert steps[1:4] == ["closed form ...", "numerics ...", "statements and figure ..."]
    time = r"\([\d.]+ s\)"
    assert re.match(rf"closed form {time}, numerics {time}; times of conf's own settings", steps[0])
    assert steps == steps[:4] * 2
    places = [f"draws={draws},samples=2" for draws in (4, 3)]
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {*places}

    data = labelled.read(folder / "sweep.nc")
    assert data["draws"].values.tolist() == [3, 4]
    assert data["draws"].attrs["long_name"] == f"studies.{STATED}.draws"
    assert data["samples"].values.tolist() == [-1, 2]
    assert np.isnan(data["value"].sel(samples=-1)).all()
    assert (data["outcome"].sel(samples=-1) == "").all()
    for draws in (3, 4):
        statements = read_ledger(folder / f"draws={draws},samples=2")
        at = data.sel(draws=draws, samples=2)
        cases = [c for s in statements if not s.identity for c in s.cases]
        assert len(cases) == data.sizes["case"] > 3
        for case in cases:
            own = at.sel(case=case.id.partition("/")[2])
            estimate = [rounded(own[name].item()) for name in ("value", "low", "high")]
            assert estimate == [case.measured, *(case.interval or [None, None])]
            assert own["outcome"].item() == case.outcome

    first, *rows = [line.split() for line in said.out.split("2 of 4 runs:\n")[1].splitlines()[:5]]
    assert first[:2] == ["draws", "samples"]
    assert [row[:2] for row in rows] == [["4", "2"], ["4", "-1"], ["3", "2"], ["3", "-1"]]
    assert ["failed:" in row for row in rows] == [False, True, False, True]
    for file in ("sweep.nc", "sweep.png"):
        assert f"wrote {(folder / file).relative_to(tmp_path)}\n" in said.out
    assert (folder / "sweep.svg").is_file()

    logged = [wandb_files.read_back(run.parent) for run in tmp_path.glob("wandb/*/*.wandb")]
    assert {run.name for run in logged} == {f"{STATED} draws {n}, samples 2" for n in (3, 4)}
    assert {run.run_group for run in logged} == {folder.name}
    assert {run.config["draws"] for run in logged} == {3, 4}
    for run in logged:
        at = data.sel(draws=run.config["draws"], samples=2)
        for case in at["value"].dropna("case")["case"].values:
            assert run.summary[f"{STATED}/{case}"] == at["value"].sel(case=case).item()


def test_of_two_studies_there_are_two_collections_over_words_as_well(swept):
    code, folder, said = swept(
        f"only={FIGURE},{STATED}", "scale=demo,paper", f"studies.{STATED}.draws=3"
    )
    assert code == 0, said.err
    for study in (FIGURE, STATED):
        data = labelled.read(folder / study / "sweep.nc")
        assert data["scale"].values.tolist() == ["demo", "paper"]
        assert data["value"].notnull().any()
        assert (folder / study / "scale=demo" / "index.html").is_file()


def test_a_studys_own_variables_stand_along_the_keys_where_they_fit(swept):
    code, folder, said = swept(f"only={FIGURE}", f"studies.{FIGURE}.width=2,8")
    assert code == 0
    assert (
        "not in the data set, being of different shapes: cell, exact, kind, numerical\n" in said.out
    )
    data = labelled.read(folder / "sweep.nc")
    assert data["squared_norm"].dims == ("width", "network")
    # The study has a variable of that name, of both its networks.
    assert data["own_width"].values.tolist() == [[2, 6], [8, 6]]
    own = labelled.read(folder / "width=8" / "singh2026cracking" / FIGURE / "closed_form.nc")
    assert data["squared_norm"].sel(width=8).values.tolist() == own["squared_norm"].values.tolist()


def test_statistics_are_chosen_by_name_or_pattern(swept):
    keys = (f"only={STATED}", f"studies.{STATED}.draws=3,4")
    code, _, said = swept(*keys, "--statistics=exponent-mup-*")
    assert code == 0
    table = said.out.split("2 of 2 runs:\n")[1].splitlines()[0].split()
    assert table == ["draws", *sorted(table[1:], key=table.index)]
    assert {*table[1:]} == {"exponent-mup-2", "exponent-mup-3"}
    code, folder, said = swept(*keys, "--statistics=exponent-mup2")
    assert code == 2
    assert "error: --statistics: expected one of exponent-mup-2, " in said.err
    assert "(did you mean exponent-mup-2?), got 'exponent-mup2'" in said.err
    assert (folder / "sweep.nc").is_file()


def test_statistics_without_a_sweep_are_refused(ends, capsys):
    assert ends(page.page, "page", f"only={STATED}", "--statistics=x", collect=sweep.collect) == 2
    said = "error: --statistics: expected -m and several values with it, got 'none'\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["only=none", f"studies.{STATED}.draws=3,4"],
            "error: unknown study 'none': expected one ",
        ),
        ([f"only={STATED}", f"studies.{STATED}.drawz=3,4"], "(did you mean draws?)"),
        ([f"only={STATED}", f"studies.{STATED}.draws=interval(3,4)"], "does not support sweep "),
    ],
)
def test_a_sweep_of_which_nothing_can_be_computed_leaves_nothing(swept, arguments, message):
    code, folder, said = swept(*arguments)
    assert code == 2
    assert all(message in line for line in said.err.splitlines() if "left" not in line)
    assert folder is None


def test_names_are_as_typed_unless_two_would_be_one():
    command = ["only=mine", "data.root=/a b,/a_b,a", "studies.mine.width=1,2"]
    places = [runs.place_of(command, [command[0], f"data.root={r}"]) for r in ("/a b", "/a_b", "a")]
    first, second, plain = (place.run for place in places)
    assert plain == "root=a"
    assert first != second
    assert all(name.startswith("root=_a_b-") for name in (first, second))
    assert {place.runs for place in places} == {6}
    long = ",".join(map(str, range(100)))
    first, second = (runs.place_of(["only=mine", f"x={long},{n}"], ["x=1"]).sweep for n in (1, 2))
    assert first != second
    assert len(first) <= 128


def test_what_is_missing_is_nan_or_empty_whatever_it_is():
    parts = [
        xr.Dataset({"number": n, "holds": n > 0, "word": str(n), "same": 1.0}) for n in (0, 1, 2)
    ]
    points = [{"a": 1, "b": "x"}, {"a": 0.5, "b": "x"}, {"a": 1, "b": "y"}]
    actual = sweep.along(parts, points, [*points, {"a": 2, "b": True}], "different")
    assert actual["a"].values.tolist() == [0.5, 1.0, 2.0]
    assert actual["b"].values.tolist() == ["x", "y", "True"]
    at = actual.sel(a=1.0, b="y")
    assert [at[name].item() for name in ("number", "holds", "word")] == [2.0, 1.0, "2"]
    missing = actual.sel(a=2.0)
    assert np.isnan(missing["number"]).all()
    assert np.isnan(missing["holds"]).all()
    assert (missing["word"] == "").all()
    assert actual["same"].ndim == 0
    assert {values.dtype.kind for values in actual.variables.values()} <= {*"fU"}


def test_those_come_first_that_move_most_against_their_interval():
    values = {"still": (1.0, 1.0), "noisy": (1.0, 2.0), "moving": (1.0, 1.5), "exact": (1.0, 1.001)}
    half = {"still": 0.1, "noisy": 2.0, "moving": 0.01, "exact": np.nan}
    value = xr.DataArray([*values.values(), (np.nan, np.nan)], dims=("case", "width"))
    width = xr.DataArray([*half.values(), np.nan], dims="case")
    data = xr.Dataset({"value": value, "low": value - width, "high": value + width})
    data = data.assign_coords(case=[*values, "never"])
    assert sweep.by_movement(data, ["width"]) == ["moving", "noisy", "exact", "still"]

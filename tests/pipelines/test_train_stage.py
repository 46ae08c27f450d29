"""The stage that fans out: its estimate, its shards, and that where it runs changes nothing."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from hessian_papers import labelled
from pipelines import computing, inputs, side, train

NAME = "two-layer-linear"
KEPT = (NAME, "cracking-fig4", "cracking-fig7", "gpt2", "text")
NETWORKS = f"networks.{NAME}"
SMALL = (
    f"{NETWORKS}.parametrisations=[sp]",
    f"{NETWORKS}.sizes=[1,2]",
    f"{NETWORKS}.width=4",
    f"{NETWORKS}.teachers=1",
    f"{NETWORKS}.networks=6",
    f"{NETWORKS}.networks_per_item=4",
    f"{NETWORKS}.samples=32",
    f"{NETWORKS}.batch_size=16",
    f"{NETWORKS}.epochs=5",
)


@pytest.fixture
def run(ends, monkeypatch):
    """Run an entry point on a small ensemble in an empty folder; give its exit code."""

    def call(module, *arguments, cluster="debug"):
        monkeypatch.setenv("HESSIAN_SPECTRA_CLUSTER", cluster)
        work = getattr(module, module.__name__.rpartition(".")[2])
        return ends(work, inputs.COMPUTES, *SMALL, *arguments, estimates=True)

    return call


def files(folder, pattern):
    return {path.name: path.read_bytes() for path in folder.rglob(pattern)}


def test_where_it_runs_changes_nothing(run, tmp_path):
    assert run(train, f"only={NAME}") == 0
    (made,) = (tmp_path / "results" / "runs").rglob(f"networks/{NAME}/data.nc")
    shards = tmp_path / "results" / "shards"
    here, content = files(shards, "*.npz"), made.read_bytes()
    assert len(here) == 4  # two sizes, six networks by four
    for path in shards.rglob("*"):
        if path.is_file():
            path.unlink()
    made.unlink()
    assert run(train, f"only={NAME}", cluster="local") == 0
    assert files(shards, "*.npz") == here
    assert made.read_bytes() == content


def test_all_sides_are_of_what_is_given_or_of_the_networks_that_were_trained(monkeypatch):
    monkeypatch.setattr(computing, "read_networks", lambda path: xr.Dataset({"place": str(path)}))
    scale = SimpleNamespace(scale="paper")
    context = SimpleNamespace(locked=True, results=Path("made"), estimate=False, config=scale)
    sides = dict.fromkeys(("closed_form", "numerics"), lambda config, given: given)
    study = computing.Study("mine", SimpleNamespace(), SimpleNamespace(train=None, **sides))
    for given, place in ((None, "made/networks/mine"), (xr.Dataset({"place": "here"}), "here")):
        actual = computing.all_sides(context, study, given)
        assert {name: data["place"].item() for name, data in actual.items()} == dict.fromkeys(
            sides, place
        )
    context.estimate = True
    with pytest.raises(ValueError, match="got the closed_form side of mine"):
        computing.all_sides(context, study, xr.Dataset())


def test_what_is_there_is_not_computed_again(run, tmp_path):
    assert run(train, f"only={NAME}") == 0
    shards = tmp_path / "results" / "shards"
    before = {path: path.stat().st_mtime_ns for path in shards.rglob("*.npz")}
    assert run(train, f"only={NAME}", f"{NETWORKS}.sizes=[1,2,3]") == 0
    after = {path: path.stat().st_mtime_ns for path in shards.rglob("*.npz")}
    assert len(after) == 6
    assert {path: after[path] for path in before} == before


def test_an_estimate_says_how_many_items_and_how_long_and_computes_none(run, tmp_path, capsys):
    assert run(train, f"only={NAME}", "--estimate") == 0
    text = capsys.readouterr().out
    assert "4 items" in text
    assert list(tmp_path.rglob("*.npz")) == []


def test_language_models_are_estimated_from_one_sequence_without_their_text(run, tmp_path, capsys):
    settings = ("layers=1", "width=4", "heads=2", "context=8")
    small = [f"networks.gpt2.{setting}" for setting in settings]
    text = "data.sets.text.sources=[missing.txt]"
    assert run(train, "only=gpt2", *small, text, "data.root=none", "--estimate") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("one sequence of 8 random tokens on ")
    assert [line.partition(":")[0] for line in lines if " weights, " in line] == [
        "attention",
        "no attention",
        "no norm weights",
    ]
    assert re.match("6 trainings, 1 at once: ", lines[-3])
    assert lines[-1] == "it fits"
    assert [path for path in tmp_path.rglob("*") if path.suffix in (".npz", ".nc")] == []


def test_networks_that_do_not_fit_in_the_memory_of_a_worker_are_one_line(run, tmp_path, capsys):
    launcher = ("launcher.retries=0", "launcher.workers=1")
    arguments = [f"only={NAME}", f"{NETWORKS}.width={10**15}", *launcher]
    assert run(train, *arguments, cluster="local") == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error:")]
    assert re.search(r"4 of 4 items are missing after .* allocate memory: you tried to ", line)
    assert list(tmp_path.rglob("*.npz")) == []


def test_a_correlation_study_reads_its_ensemble(run, tmp_path):
    """From the configuration alone: the ensemble is made on the spot."""
    study = "studies.cracking-fig4"
    chosen = f"{study}.parametrisations=[sp]"
    assert run(side, "side=correlation", "only=cracking-fig4", chosen) == 0
    (made,) = (tmp_path / "results" / "runs").rglob("cracking-fig4/correlation.nc")
    # So few epochs let no network converge.
    data = labelled.read(made).drop_vars(["above_best", "loss_correlation"])
    assert all(np.isfinite(v).any() for v in data.variables.values() if v.dtype.kind == "f")

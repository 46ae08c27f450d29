"""The result of a training may be a folder, and it logs live."""

import os
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from wandb_files import read_back

from hessian_papers import compute
from hessian_papers.networks.tools.result import folder_of, read, write
from hessian_papers.tracking import About
from hessian_spectra.files import DamagedFileError, MissingResultError
from tests.papers.networks.trainings import ABOUT, live, walks

ROOT = Path(__file__).resolve().parents[3]


def content(folder):
    """The files below a folder with their bytes."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def logged(folder, cluster):
    """Train three walks with live runs; the result, and the runs by name."""
    training = compute.Computation(
        name="walks",
        work=walks,
        config=5,
        given=xr.Dataset({"values": ("value", [4, 5, 7])}),
        folder=folder / "shards",
        live=live(folder),
    )
    launcher = compute.Launcher(cluster=cluster, workers=2)
    networks = training.train(launcher, folder / "networks" / "walks")
    runs = map(read_back, (folder / "wandb").glob("offline-run-*"))
    return networks, {run.name: run for run in runs}


def test_each_item_logs_a_live_run_of_its_own_in_one_group(tmp_path, monkeypatch):
    monkeypatch.delenv("WANDB_MODE", raising=False)
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    monkeypatch.setenv("PYTHONPATH", path)
    networks, runs = logged(tmp_path, "local")
    for file in (tmp_path / "wandb").glob("offline-run-*/*.wandb"):
        assert b"one-state" in file.read_bytes(), "all are in one group"
    assert runs.keys() == {f"train value {value} (walks)" for value in (4, 5, 7)}
    for value in (4, 5, 7):
        run = runs[f"train value {value} (walks)"]
        assert (run.state, run.project) == ("finished", "tests")
        assert About(commit=run.commit, tags=tuple(run.tags), notes=run.notes) == ABOUT
        assert run.config["value"] == value
        assert [entry["loss"] for entry in run.history] == [value / epoch for epoch in range(1, 6)]
    again, _ = logged(tmp_path, "debug")
    assert len(list((tmp_path / "wandb").glob("offline-run-*"))) == 3, "nothing was trained again"
    assert again.identical(networks)
    # What items made beside arrays is kept by their places.
    assert set(content(folder_of(networks))) == {
        "data.nc",
        "manifest.json",
        "1/value.txt",
        "2/value.txt",
    }
    assert (folder_of(networks) / "2" / "value.txt").read_text() == "7"


def test_a_result_is_replaced_as_a_whole(tmp_path):
    made, result = tmp_path / "made", tmp_path / "networks" / "one"
    (made / "deep").mkdir(parents=True)
    (made / "deep" / "weights").write_bytes(b"weights")
    write(result, xr.Dataset({"a": ("step", np.ones(2))}), {".": made})
    assert set(content(result)) == {"data.nc", "manifest.json", "deep/weights"}
    written = write(result, xr.Dataset({"b": ("step", np.zeros(3))}))
    assert set(content(result)) == {"data.nc", "manifest.json"}
    assert content(made) == {"deep/weights": b"weights"}
    actual = read(result)
    assert (folder_of(actual), actual["b"].values.tolist()) == (result, [0, 0, 0])
    assert folder_of(written) == result
    assert [path.name for path in result.parent.iterdir()] == ["one"]


@pytest.mark.parametrize("name", ["data.nc", "manifest.json"])
def test_what_was_made_cannot_take_the_place_of_the_data_set(tmp_path, name):
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / name).touch()
    with pytest.raises(ValueError, match=f"{name}: expected another name"):
        write(tmp_path / "one", xr.Dataset(), {".": tmp_path / "made"})
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_a_missing_or_damaged_result_is_one_line(tmp_path):
    with pytest.raises(MissingResultError, match=r"one is missing: train it \(dvc repro train@one"):
        read(tmp_path / "one")
    write(tmp_path / "one", xr.Dataset({"a": ("step", np.ones(2))}))
    file = tmp_path / "one" / "data.nc"
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(DamagedFileError, match="one is damaged") as caught:
        read(tmp_path / "one")
    assert "\n" not in str(caught.value)


def test_of_networks_that_are_kept_nowhere_there_is_no_folder(tmp_path):
    networks = xr.Dataset({"seed": [4, 5]})
    with pytest.raises(ValueError, match="networks: expected some that are kept in a folder"):
        folder_of(networks)
    assert folder_of(write(tmp_path / "one", networks)) == tmp_path / "one"
    assert "source" not in networks.encoding

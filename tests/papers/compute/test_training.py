"""A training: where it runs, what of it is kept, and what is trained again."""

import os
import shutil

import pytest
import xarray as xr
from items_of_tests import Training, computation, trained, weights

from hessian_papers import compute
from hessian_papers.networks.tools.result import folder_of, read, write
from hessian_spectra.files import DamagedFileError


def train(folder, settings):
    training = computation(folder / "shards", range(3), trained, "one", Training(2))
    return training.train(compute.Launcher(**settings), folder / "networks" / "one")


@pytest.mark.parametrize(
    "kind", ["local", pytest.param("slurm", marks=pytest.mark.xdist_group("slurm"))]
)
def test_one_item_is_trained_here_or_as_a_job_of_slurm(tmp_path, request, kind):
    if kind == "slurm":
        request.getfixturevalue("cluster")
    made = train(tmp_path, {"cluster": kind, "workers": 1})
    assert made["sum"].values.tolist() == [2, 3, 4]
    actual = read(tmp_path / "networks" / "one")
    assert actual.identical(made)
    here = int((folder_of(actual) / "process").read_text()) == os.getpid()
    assert here == (kind != "slurm")


def train_all(folder, cluster="debug"):
    """Train three networks, each of which keeps two files beside its arrays."""
    launcher = compute.Launcher(cluster=cluster, workers=1)
    training = computation(folder / "shards", [1, 2, 3], weights, "many")
    return training.train(launcher, folder / "networks" / "many")


def content(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def gone(path):
    path.unlink()


def flip(path):
    """Change a byte where no size shows it."""
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.unlink()  # a result may share the file
    path.write_bytes(content)


def cut(path):
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[:-2])


@pytest.mark.parametrize("harm", [gone, cut, flip])
@pytest.mark.parametrize("pattern", ["*/weights", "*/deep/weights", "*.npz", "*.json"])
def test_an_item_of_which_a_file_is_not_as_it_was_written_is_trained_again(
    tmp_path, capsys, harm, pattern
):
    train_all(tmp_path)
    expected = content(tmp_path / "networks" / "many")
    assert {"0/weights", "1/deep/weights", "2/weights", "data.nc"} <= {*expected}
    shards = (tmp_path / "shards" / "many").glob(pattern)
    harm(next(path for path in shards if path.is_file()))
    shutil.rmtree(tmp_path / "networks")
    capsys.readouterr()
    train_all(tmp_path)
    said = capsys.readouterr().err
    assert content(tmp_path / "networks" / "many") == expected
    assert "2 done before, 1 computed, 0 failed" in said
    # An item without arrays or manifest was never there.
    never = harm is gone and pattern in ("*.npz", "*.json")
    assert ("damaged or incomplete items, to be computed again: 1" in said) != never


def test_processes_of_this_machine_train_the_same_bytes(tmp_path):
    for cluster in ("debug", "local"):
        train_all(tmp_path / cluster, cluster)
    assert content(tmp_path / "debug" / "networks") == content(tmp_path / "local" / "networks")


def test_a_folder_is_not_replaced_by_one_that_is_not_as_it_was_written(tmp_path):
    made, folder = tmp_path / "made", tmp_path / "networks" / "one"
    made.mkdir()
    (made / "weights").write_text("whole")
    written = {"weights": {"bytes": 5, "sha256": "another"}}
    networks = xr.Dataset({"a": 1.0})
    write(folder, networks)
    before = content(tmp_path / "networks")
    for wrong in (written, written | {"more": {"bytes": 1, "sha256": ""}}):
        with pytest.raises(DamagedFileError, match=r"one is damaged \(\w+ (has other bytes|is m)"):
            write(folder, networks, {".": made}, wrong)
        assert content(tmp_path / "networks") == before


@pytest.mark.parametrize(
    ("name", "harm", "reason"),
    [
        ("2/weights", gone, "2/weights is missing"),
        ("1/deep/weights", cut, "1/deep/weights has 15 bytes, 17 were written"),
        ("data.nc", gone, "data.nc is missing"),
        ("data.nc", flip, "data.nc has other bytes than were written"),
        ("manifest.json", cut, "manifest.json is missing or damaged"),
        ("manifest.json", gone, "manifest.json is missing or damaged"),
    ],
)
def test_half_a_folder_is_refused_by_name(tmp_path, name, harm, reason):
    folder = folder_of(train_all(tmp_path))
    assert read(folder)["squares"].values.tolist() == [1, 4, 9]
    harm(folder / name)
    with pytest.raises(DamagedFileError) as caught:
        read(folder)
    assert str(caught.value) == (
        f"{folder} is damaged ({reason}): delete it and train it "
        "(dvc repro train@many, or python -m pipelines.train)"
    )


def test_a_damaged_file_that_a_shard_and_a_folder_share_does_not_stay(tmp_path, capsys):
    folder = folder_of(train_all(tmp_path))
    expected = content(folder)
    assert (folder / "0" / "weights").stat().st_nlink == 2
    with (folder / "0" / "weights").open("r+b") as file:
        file.write(b"damaged")
    train_all(tmp_path)
    assert "damaged or incomplete items, to be computed again: 1" in capsys.readouterr().err
    assert content(folder) == expected

"""A computation in this process: what is kept, what is computed anew, what is said."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from driver_process import begun
from fan_out_items import NETWORKS, cost, gpus, norms, noted, noted_squares, squares

from hessian_papers import fan_out, provenance
from hessian_papers.fan_out import Launcher, run
from hessian_papers.fan_out.keys import code_behind, item_key
from hessian_papers.fan_out.plan import plan
from hessian_papers.fan_out.progress import Progress
from hessian_papers.fan_out.shards import Shards
from hessian_papers.fan_out.worker import Chunk, Function
from hessian_papers.networks.tools import divergence
from hessian_papers.provenance import code_of
from hessian_papers.work import FanOut, computed
from hessian_spectra.validation import NotFiniteError

DEBUG = Launcher(cluster="debug")


def compute(folder, values, name="squares", launcher=DEBUG):
    config, networks = {"folder": str(folder)}, {"values": np.array(values)}
    return run(name, noted_squares, config, networks, folder=folder / "shards", launcher=launcher)


def test_arrays_are_those_of_the_computation_itself(tmp_path, capsys):
    arrays = compute(tmp_path, [2, 1, 2])
    expected = squares({}, {"values": np.array([2, 1, 2])})
    assert arrays.keys() == expected.keys()
    for name, array in expected.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)
    assert begun(tmp_path) == {1: 1, 2: 1}
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "squares: 2 items, 0 done before; debug, 1 worker"
    assert said[1].startswith("squares: 3 items (2 different): 0 done before, 2 computed, 0 failed")


def test_only_what_is_missing_is_computed(tmp_path, capsys):
    compute(tmp_path, [1, 2])
    compute(tmp_path, [2, 3])
    compute(tmp_path, [3, 1])
    assert begun(tmp_path) == {1: 1, 2: 1, 3: 1}
    assert "2 done before, 0 computed" in capsys.readouterr().err


def test_computations_do_not_share_folders(tmp_path):
    compute(tmp_path, [1])
    compute(tmp_path, [1], name="others")
    assert begun(tmp_path) == {1: 2}


def test_what_was_computed_before_an_error_is_kept(tmp_path):
    (tmp_path / "raise-2").touch()
    with pytest.raises(ArithmeticError, match="no square of 2 today") as caught:
        compute(tmp_path, [1, 2, 3])
    assert caught.value.__notes__[0].startswith("while computing value 2")
    (tmp_path / "raise-2").unlink()
    compute(tmp_path, [1, 2, 3])
    assert begun(tmp_path) == {1: 1, 2: 2, 3: 1}


def test_an_interrupted_run_says_what_is_kept(tmp_path, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    compute(tmp_path, [1])
    monkeypatch.setattr("hessian_papers.fan_out.worker.Function.compute", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compute(tmp_path, [1, 2])
    assert "1 of 2 items are kept; run again to go on" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"half", None])
def test_a_damaged_shard_is_computed_again(tmp_path, capsys, content):
    expected = compute(tmp_path, [1, 2])["squares"].tolist()
    shard = next((tmp_path / "shards" / "squares").glob("*.npz"))
    shard.write_bytes(shard.read_bytes()[:-30] if content is None else content)
    assert compute(tmp_path, [1, 2])["squares"].tolist() == expected
    assert sum(begun(tmp_path).values()) == 3
    assert "damaged or incomplete items, to be computed again: 1" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden"])
def test_a_name_that_is_no_folder_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"name: expected letters, digits, '-', '_' and '.', got"):
        compute(tmp_path, [1], name=name)


def chunk_of(folder, value=1):
    """A job of one item, and the item's key."""
    name, item = f"{noted.__module__}:noted", {"value": value, "folder": str(folder)}
    key = item_key(name, code_behind(name), item)
    return Chunk(Function(name), code_behind(name), ((key, item),), folder), key


def test_a_worker_whose_code_has_changed_computes_nothing(tmp_path):
    chunk, key = chunk_of(tmp_path)
    with pytest.raises(
        RuntimeError, match="the code or a package has changed since the run was started"
    ):
        replace(chunk, code="another")()
    assert begun(tmp_path) == {}
    chunk()
    assert Shards(tmp_path).present() == {key}


def test_an_item_that_a_job_was_given_for_another_is_not_computed(tmp_path):
    """So whatever launches jobs can mix nothing up."""
    chunk, key = chunk_of(tmp_path)
    _, other = chunk_of(tmp_path, value=2)
    replace(chunk, items=((other, chunk.items[0][1]),))()
    assert begun(tmp_path) == {}
    assert Shards(tmp_path).present() == set()
    assert Shards(tmp_path).error(other) == (
        f"RuntimeError: item: expected that of the key {other}, got another one"
    )
    assert key != other


@pytest.mark.parametrize("module", ["worker", "shards", "plan", "keys", "computation"])
def test_a_key_counts_the_code_that_computes_and_keeps_an_item(module, monkeypatch):
    before = code_behind(f"{noted.__module__}:noted")
    parsed = provenance._parsed
    file = Path(fan_out.__file__).with_name(f"{module}.py").read_bytes()

    def changed(source):
        return replace(parsed(source), digest="another") if source == file else parsed(source)

    monkeypatch.setattr(provenance, "_parsed", changed)
    assert code_behind(f"{noted.__module__}:noted") != before


@pytest.mark.parametrize("module", ["drive", "launcher", "local", "slurm", "progress", "timing"])
def test_a_key_counts_no_code_that_launches_jobs_and_shows_how_far_they_are(module):
    files = code_of(noted.__module__, f"{fan_out.__name__}.computation").files
    assert not [place for place in files if place.endswith(f"fan_out/{module}.py")]


def test_submitit_is_loaded_only_for_jobs(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", None)
    for module in ("drive", "local", "slurm"):
        monkeypatch.delitem(sys.modules, f"hessian_papers.fan_out.{module}", raising=False)
    assert compute(tmp_path, [3])["squares"].tolist() == [9]
    with pytest.raises(ImportError, match="submitit"):
        compute(tmp_path, [4], launcher=Launcher(cluster="local", workers=1))


@pytest.mark.parametrize(
    ("launcher", "expected"),
    [
        (Launcher(cluster="local", workers=3, items_per_job=1, gpus=1), ["5", "7"]),
        (Launcher(cluster="debug"), ["", ""]),
        (Launcher(cluster="debug", gpus=1), ["5,7", "5,7"]),
    ],
    ids=["local", "none", "debug"],
)
def test_an_item_sees_the_gpus_that_its_job_is_given(launcher, expected, tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,7")
    values = {"values": np.array([1, 2])}
    arrays = run("gpus", gpus, {}, values, folder=tmp_path, launcher=launcher)
    assert sorted(arrays["roots"].tolist()) == expected
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "5,7"


class Terminal:
    """Standard error as a terminal."""

    def __init__(self):
        self.text = ""

    def isatty(self):
        return True

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.fixture
def clock(monkeypatch):
    """A clock that tests set."""
    clock = {"now": 100.0}
    moved = SimpleNamespace(monotonic=lambda: clock["now"])
    monkeypatch.setattr("hessian_papers.fan_out.progress.time", moved)
    return clock


def test_progress_measures_the_cost_of_what_is_left(clock, capsys):
    costs = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 6.0}
    with Progress("work", costs, {"a", "unknown"}) as progress:
        assert progress.text == "1/4 items, 8 % of the work"
        clock["now"] += 29
        progress.update({"a", "b"}, "")
        assert capsys.readouterr().err == ""
        clock["now"] += 1
        progress.update({"a", "b", "c", "others"}, "2 waiting (Resources)")
        said = "work: 3/4 items, 50 % of the work, 0.0667 items/s, 36 s left, 2 waiting (Resources)"
        assert capsys.readouterr().err == f"{said}\n"
        progress.update({"d"}, "")
        assert progress.text == "4/4 items, 100 % of the work"
        assert (progress.before, progress.computed, progress.elapsed) == (1, 3, 30)


def test_on_a_terminal_there_is_a_bar_and_lines_go_above_it(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with Progress("work", {"a": 1.0, "b": 1.0}, set()) as progress:
        progress.update({"a"}, "")
        progress.say("a word [of] caution")
    assert "work: a word [of] caution\n" in terminal.text
    assert "1/2 items, 50 % of the work" in terminal.text


@pytest.mark.parametrize(
    ("overflow", "networks", "seeds", "count"),
    [
        ([], ["a", "b"], [7, 9], 1),
        ([2], ["b"], [7, 8, 9], 2),  # and the second of them is computed after all
        ([0, 2, 3], ["b"], [8, 9], 4),
        ([0, 2, 3, 4, 5], [], [], 6),
    ],
)
def test_networks_of_which_something_is_not_finite_have_diverged(
    tmp_path, overflow, networks, seeds, count
):
    diverged = np.array([[False, True, False], [False, False, False]])
    given = xr.Dataset({"diverged": (("network", "seed"), diverged)})
    given = given.assign_coords(network=["a", "b"], seed=[7, 8, 9])
    config = {"overflow": overflow}
    actual = run("norms", norms, config, given, folder=tmp_path, launcher=DEBUG)
    xr.testing.assert_identical(actual, norms(config, given))
    assert int(divergence.noted(actual, given)["trainings_left_out"]) == count
    assert {name: actual[name].values.tolist() for name in NETWORKS if networks} == (
        {"network": networks, "seed": seeds} if networks else {}
    )
    assert ("norm" in actual) == bool(networks)
    assert not given["diverged"].values[1].any()


def test_of_an_item_of_several_networks_all_have_diverged():
    given = xr.Dataset({"diverged": (("network", "seed"), np.zeros((2, 2), dtype=bool))})
    given = given.assign_coords(network=["a", "b"], seed=[7, 8])

    def several(config, networks):
        return [item | {"kept": [item["kept"]]} for item in norms.items(config, networks)]

    actual = replace(norms, items=several)({"overflow": range(4)}, given)
    assert {name: value.item() for name, value in actual.items()} == {"trainings_left_out": 4}


def test_what_is_not_finite_of_no_trained_network_is_an_error():
    def overflowing(value):
        raise NotFiniteError(f"the product with {value} is not finite")

    with pytest.raises(NotFiniteError, match="the product with 2 is not finite"):
        computed(overflowing, {"value": 2})


def test_costs_are_taken_from_the_computation():
    work = FanOut(items=squares.items, compute=noted, gather=squares.gather, cost=cost)
    todo = plan(work, {"folder": "x"}, {"values": np.array([4])})
    assert list(todo.costs.values()) == [5.0]

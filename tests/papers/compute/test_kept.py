"""A computation keeps what is done, computes anew what is not, and says so."""

import itertools
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from driver_process import DriverProcess, begun
from items_of_tests import STEPS, computation, noted_squares, places, resumable_sums, squares

from hessian_papers import compute
from hessian_papers.compute.keys import code_behind, item_key
from hessian_papers.compute.plan import plan
from hessian_papers.labelled import Variable, gathering
from hessian_papers.networks.tools import divergence
from hessian_papers.networks.tools.kept_weights import KeptWeights
from hessian_papers.progress import Progress
from hessian_papers.work import FanOut, computed
from hessian_spectra.files import read_arrays
from hessian_spectra.validation import NotFiniteError

DEBUG = compute.Launcher(cluster="debug")


def run(folder, values, name="squares", work=noted_squares, launcher=DEBUG):
    config = {"folder": str(folder)}
    return computation(folder / "shards", values, work, name, config).run(launcher)


def files(folder, pattern):
    return sorted((folder / "shards" / "squares").glob(pattern))


def test_arrays_are_those_of_the_computation_itself(tmp_path, capsys):
    arrays = run(tmp_path, [2, 1, 2])
    expected = squares({}, {"values": np.array([2, 1, 2])})
    assert arrays.keys() == expected.keys()
    for name, array in expected.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)
    assert begun(tmp_path) == {1: 1, 2: 1}
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "squares: 2 items, 0 done before; debug, 1 worker"
    assert said[1].startswith("squares: 3 items (2 different): 0 done before, 2 computed, 0 failed")


def test_only_what_is_missing_is_computed_in_a_folder_of_its_own(tmp_path, capsys):
    for values in ([1, 2], [2, 3], [3, 1]):
        run(tmp_path, values)
    assert begun(tmp_path) == {1: 1, 2: 1, 3: 1}
    assert "2 done before, 0 computed" in capsys.readouterr().err
    run(tmp_path, [1], name="others")
    assert begun(tmp_path) == {1: 2, 2: 1, 3: 1}


def test_what_was_computed_before_an_error_is_kept(tmp_path):
    (tmp_path / "raise-2").touch()
    with pytest.raises(ArithmeticError, match="no square of 2 today") as caught:
        run(tmp_path, [1, 2, 3])
    assert caught.value.__notes__[0].startswith("while computing value 2")
    (tmp_path / "raise-2").unlink()
    run(tmp_path, [1, 2, 3])
    assert begun(tmp_path) == {1: 1, 2: 2, 3: 1}


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden"])
def test_a_name_that_is_no_folder_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"name: expected letters, digits, '-', '_' and '.', got"):
        run(tmp_path, [1], name=name)


def test_a_process_computes_nothing_by_other_code_and_nothing_under_another_key(tmp_path):
    """So whatever launches jobs can mix nothing up."""
    todo = plan("squares", noted_squares, {"folder": str(tmp_path)}, {"values": [1, 2]}, tmp_path)
    first, second = todo.order
    with pytest.raises(RuntimeError, match="a package has changed since the run was started"):
        replace(todo, code="another")()
    replace(todo, items={first: todo.items[second]})()
    assert begun(tmp_path) == {}
    assert todo.shards.present() == set()
    assert todo.shards.error(first) == (
        f"RuntimeError: item: expected that of the key {first}, got another one"
    )
    assert second == item_key(todo.function, code_behind(todo.function), todo.items[second])
    todo.shards.clear_error(first)
    todo()
    assert todo.shards.present() == {first, second}


def test_submitit_is_loaded_only_for_slurm(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", None)
    assert run(tmp_path, [3])["squares"].tolist() == [9]
    with pytest.raises(ImportError, match="submitit"):
        run(tmp_path, [4], launcher=compute.Launcher(cluster="slurm", workers=1))


@pytest.mark.parametrize(
    ("cluster", "count", "expected"),
    [("local", 1, {"5", "7"}), ("debug", 0, {""}), ("debug", 1, {"5,7"})],
)
def test_an_item_sees_the_gpus_that_its_process_is_given(
    cluster, count, expected, tmp_path, monkeypatch
):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,7")
    launcher = compute.Launcher(cluster=cluster, workers=3, gpus=count)
    arrays = computation(tmp_path, [1, 2], places, "places").run(launcher)
    assert set(arrays["roots"][:, 1]) == expected


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_measures_the_cost_of_what_is_left(terminal, capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with Progress("work", {"a": 1.0, "b": 2.0, "c": 3.0, "d": 6.0}, {"a"}) as progress:
        now[0] += 29
        progress.update({"a", "b"})
        assert ("2/4 items" in capsys.readouterr().err) == terminal
        now[0] += 1
        progress.update({"a", "b", "c", "others"}, "2 pending (resources)")
        progress.say("a word [of] caution")
    lines = "work: 3/4 items, 2 pending (resources), 50 % of the work, 00:36 left"
    said = capsys.readouterr().err
    assert f"\r{lines} █████ " in said if terminal else said.startswith(f"{lines}\n")
    assert "work: a word [of] caution\n" in said


NETWORKS = {"network": Variable("network", ""), "seed": Variable("seed", "")}


def norm(kept, labels, overflows):
    """A number of a kept network."""
    if overflows:
        raise NotFiniteError("operator: a product is not finite")
    return {**labels, "norm": np.array(len(kept.folder))}


def _kept(config, networks):
    """The networks that have not diverged; of those of some places the products overflow."""
    names, seeds = divergence.surviving(networks, "network")
    labels = [networks[axis].values.tolist() for axis in ("network", "seed")]
    return [
        {
            "kept": KeptWeights(folder=f"kept/{place}", file="0.nc", digest=str(place)),
            "labels": {"network": np.array(name), "seed": np.array(seed)},
            "overflows": place in config["overflow"],
        }
        for place, (name, seed) in enumerate(itertools.product(*labels))
        if name in names and seed in seeds
    ]


NORMS = {**NETWORKS, "norm": Variable("network seed", "a norm")}
norms = FanOut(items=_kept, compute=norm, gather=gathering(NORMS, "network", "seed"))


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
    settings = {"config": config, "given": given, "folder": tmp_path}
    actual = compute.Computation(name="norms", work=norms, **settings).run(DEBUG)
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


ONCE = {(value, step): 1 for value in (1, 2, 3) for step in range(1, STEPS + 1)}


def steps(folder):
    """The number of times that each step of each item was made."""
    return Counter(tuple(map(int, file.name.split("-")[1:3])) for file in folder.glob("step-*"))


@pytest.mark.parametrize("cluster", ["debug", "local"])
def test_a_killed_training_goes_on_from_its_state(tmp_path, cluster):
    (tmp_path / "kill-at-3-4").touch()
    launcher, config = {"cluster": cluster, "workers": 2}, {"folder": str(tmp_path)}
    call = {"work": "resumable_sums", "values": [1, 2, 3], "config": config, "launcher": launcher}
    driver = DriverProcess(tmp_path, **call)
    if cluster == "debug":
        # It is the driver itself that was killed.
        assert driver.process.wait(60) == -9
        assert len(files(tmp_path, "*.unfinished")) == 1
        driver = DriverProcess(tmp_path, **call)
    driver.arrays()
    assert read_arrays(driver.out)["squares"].tolist() == [STEPS, 2 * STEPS, 3 * STEPS]
    assert steps(tmp_path) == ONCE
    assert files(tmp_path, "*.unfinished") == []


def test_a_training_that_raised_goes_on_from_its_state_wherever_that_is_now(tmp_path):
    (tmp_path / "raise-at-2-3").touch()
    with pytest.raises(ArithmeticError, match="no more today"):
        run(tmp_path, [1, 2, 3], work=resumable_sums)
    assert len(files(tmp_path, "*.unfinished")) == len(files(tmp_path, "*.npz")) == 1
    (tmp_path / "shards").rename(tmp_path / "moved")
    (tmp_path / "shards").symlink_to(tmp_path / "moved")
    run(tmp_path, [1, 2, 3], work=resumable_sums)
    assert steps(tmp_path) == ONCE
    assert files(tmp_path, "*.unfinished") == []


def test_the_state_of_a_training_that_was_killed_when_it_was_done_is_cleared_away(tmp_path):
    run(tmp_path, [1], work=resumable_sums)
    (shard,) = files(tmp_path, "*.npz")
    shard.with_suffix(".unfinished").mkdir()
    other = shard.with_name("another.unfinished")
    other.mkdir()
    run(tmp_path, [1], work=resumable_sums)
    assert files(tmp_path, "*.unfinished") == [other]

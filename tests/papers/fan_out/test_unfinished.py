"""An item that keeps its unfinished state goes on from it, whatever ended the item before."""

from collections import Counter

import numpy as np
import pytest
from driver_process import DriverProcess, begun
from fan_out_items import STEPS, resumable, resumable_sums

from hessian_papers import fan_out
from hessian_papers.fan_out.keys import code_behind, item_key
from hessian_papers.fan_out.shards import Shards
from hessian_papers.fan_out.worker import Chunk, Function
from hessian_spectra.files import read_arrays

VALUES = [1, 2, 3]
LAUNCHERS = {
    "debug": {"cluster": "debug"},
    "local": {"cluster": "local", "workers": 2, "items_per_job": 2},
    "slurm": {"cluster": "slurm", "workers": 1, "items_per_job": 2, "minutes": 5},
}


@pytest.fixture(
    params=["debug", "local", pytest.param("slurm", marks=pytest.mark.xdist_group("slurm"))]
)
def settings(request):
    """The launcher's settings, for each way to compute items."""
    if request.param == "slurm":
        request.getfixturevalue("cluster")
    return LAUNCHERS[request.param]


def driver(folder, settings):
    config = {"folder": str(folder)}
    return DriverProcess(
        folder, work="resumable_sums", values=VALUES, config=config, launcher=settings
    )


def steps(folder):
    """The number of times that each step of each item was made."""
    return Counter(tuple(map(int, file.name.split("-")[1:3])) for file in folder.glob("step-*"))


def unfinished(folder):
    return list((folder / "shards" / "squares").glob("*unfinished*"))


ONCE = {(value, step): 1 for value in VALUES for step in range(1, STEPS + 1)}
SUMS = [STEPS * value for value in VALUES]


def test_a_killed_item_goes_on_from_its_state(tmp_path, settings):
    (tmp_path / "kill-at-3-4").touch()
    first = driver(tmp_path, settings)
    if settings["cluster"] == "debug":
        # It is the driver itself that was killed.
        assert first.process.wait(60) == -9
        assert len(unfinished(tmp_path)) == 1
        first = driver(tmp_path, settings)
    first.arrays()
    assert read_arrays(first.out)["squares"].tolist() == SUMS
    assert steps(tmp_path) == ONCE
    assert begun(tmp_path) == {1: 1, 2: 1, 3: 2}
    assert unfinished(tmp_path) == []


def run(folder, values, launcher):
    return fan_out.run(
        "squares",
        resumable_sums,
        {"folder": str(folder)},
        {"values": np.array(values)},
        folder=folder / "shards",
        launcher=launcher,
    )


def test_an_item_that_raised_goes_on_from_its_state(tmp_path):
    (tmp_path / "raise-at-2-3").touch()
    launcher = fan_out.Launcher(cluster="debug")
    with pytest.raises(ArithmeticError, match="no more today"):
        run(tmp_path, VALUES, launcher)
    (left,) = unfinished(tmp_path)
    shards = Shards(tmp_path / "shards" / "squares")
    (done,) = shards.present()
    assert left.name.partition(".")[0] != done
    assert run(tmp_path, VALUES, launcher)["squares"].tolist() == SUMS
    assert steps(tmp_path) == ONCE
    assert unfinished(tmp_path) == []


def test_where_the_state_is_does_not_change_the_key(tmp_path):
    # Its file is named by the key, but it is no part of the item.
    launcher = fan_out.Launcher(cluster="debug")
    run(tmp_path, [1], launcher)
    before = Shards(tmp_path / "shards" / "squares").present()
    (tmp_path / "shards").rename(tmp_path / "moved")
    run(tmp_path, [1], launcher)
    assert Shards(tmp_path / "shards" / "squares").present() == before


def test_each_item_of_a_job_has_a_state_of_its_own(tmp_path):
    name = f"{resumable.__module__}:resumable"
    values = [{"value": value, "folder": str(tmp_path)} for value in (1, 2)]
    items = tuple((item_key(name, code_behind(name), item), item) for item in values)
    for value in (1, 2):
        (tmp_path / f"raise-at-{value}-2").touch()
    Chunk(
        Function(name, trains=True),
        code_behind(name),
        items,
        tmp_path / "shards",
    )()
    shards = Shards(tmp_path / "shards")
    states = [
        read_arrays(shards.unfinished(key) / "state.npz")["state"].tolist() for key, _ in items
    ]
    assert states == [[2, 2], [2, 4]]
    assert shards.present() == set()


def test_what_a_superfluous_job_left_is_cleared_away(tmp_path):
    launcher = fan_out.Launcher(cluster="debug")
    run(tmp_path, [1], launcher)
    shards = Shards(tmp_path / "shards" / "squares")
    (key,) = shards.present()
    for name in (key, "another"):
        shards.unfinished(name).mkdir()
    run(tmp_path, [1], launcher)
    assert unfinished(tmp_path) == [shards.unfinished("another")]

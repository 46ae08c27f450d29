"""A training that is one item: where it runs, and what of it is kept."""

import os

import numpy as np
import pytest
from fan_out_items import Training, trained

from hessian_spectra import fan_out
from hessian_spectra.networks.tools.result import read


def train(folder, settings, value=2):
    return fan_out.train(
        "one",
        trained,
        Training(value),
        {"values": np.arange(3)},
        result=folder / "networks" / "one",
        folder=folder / "shards",
        launcher=fan_out.Launcher(**settings),
    )


@pytest.mark.parametrize(
    "kind", ["debug", "local", pytest.param("slurm", marks=pytest.mark.xdist_group("slurm"))]
)
def test_it_runs_here_or_as_a_job_of_slurm(tmp_path, request, kind):
    if kind == "slurm":
        request.getfixturevalue("cluster")
    made = train(tmp_path, {"cluster": kind, "workers": 1})
    assert made["sum"].tolist() == [2, 3, 4]
    found = read(tmp_path / "networks" / "one")
    assert found["sum"].tobytes() == made["sum"].tobytes()
    here = int((found.folder / "process").read_text()) == os.getpid()
    assert here == (kind != "slurm")


def test_another_configuration_is_another_training(tmp_path):
    debug = {"cluster": "debug"}
    assert train(tmp_path, debug)["sum"].tolist() == [2, 3, 4]
    assert train(tmp_path, debug, value=5)["sum"].tolist() == [5, 6, 7]
    assert train(tmp_path, debug)["sum"].tolist() == [2, 3, 4]
    shards = tmp_path / "shards" / "one"
    assert len(list(shards.glob("*.npz"))) == 2
    assert not list(shards.glob("*.unfinished"))

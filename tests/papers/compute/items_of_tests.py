"""Small computations for the tests, in a module that worker processes can import."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import hessian_papers
from hessian_papers.compute import Computation
from hessian_papers.labelled import Variable
from hessian_papers.work import FanOut, TrainingRun, alone
from hessian_spectra.files import Arrays, read_arrays, write_arrays


def square(value: int) -> Arrays:
    """The square of a number, and the square roots of those below."""
    return {"square": np.array(value**2), "roots": np.sqrt(np.arange(float(value)))}


def noted(value: int, folder: str) -> Arrays:
    """The square; a file in `folder` tells that it was begun, others what is to go wrong."""
    place = Path(folder)
    (place / f"begun-{value}-{time.time_ns()}-{os.getpid()}").touch()
    for _ in range(3000):  # a minute at most, should the test have failed
        if not (place / f"hold-{value}").exists():
            break
        time.sleep(0.02)
    if (place / f"raise-{value}").exists():
        raise ArithmeticError(f"no square of {value} today\nand none tomorrow")
    for name in (f"kill-{value}", f"kill-once-{value}"):
        if (place / name).exists():
            if "once" in name:
                (place / name).unlink()
            os.kill(os.getpid(), 9)
    return square(value)


@dataclass(frozen=True)
class Training:
    """The settings of `trained`."""

    value: int


def _trained(config: Training, data: Arrays, run: TrainingRun) -> Arrays:
    """A training that is one item: arrays, and a file beside them that names the process."""
    assert run.folder is not None
    (run.folder / "process").write_text(str(os.getpid()))
    run.log(0, {"loss": 1.0})
    return {"sum": config.value + data["values"]}


trained = alone(_trained, lambda config: {"sum": Variable("value", "a sum")})


def weighed(value: int, run: TrainingRun) -> Arrays:
    """The square, of a training that keeps a file and one in a folder beside its arrays."""
    assert run.folder is not None
    (run.folder / "deep").mkdir()
    for name in ("weights", "deep/weights"):
        (run.folder / name).write_text(f"{name} of {value}")
    return square(value)


STEPS = 6


def resumable(value: int, folder: str, run: TrainingRun) -> Arrays:
    """The square in steps, from which it goes on; a file tells of each, others of its end."""
    assert run.checkpoint is not None
    place, state = Path(folder), run.checkpoint / "state.npz"
    done, total = read_arrays(state)["state"].tolist() if state.exists() else (0, 0)
    for step in range(done + 1, STEPS + 1):
        total += value
        (place / f"step-{value}-{step}-{time.time_ns()}").touch()
        write_arrays(state, {"state": np.array([step, total])})
        for name in (f"kill-at-{value}-{step}", f"raise-at-{value}-{step}"):
            if (place / name).exists():
                (place / name).unlink()
                if "raise" in name:
                    raise ArithmeticError("no more today")
                os.kill(os.getpid(), 9)
    return {"square": np.array(total), "roots": np.zeros(1)}


def place(value: int) -> Arrays:
    """The sources of this process, how many threads it may use, and which GPUs it sees."""
    source = Path(hessian_papers.__file__).resolve().parents[1]
    means = [os.environ.get(name, "") for name in ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES")]
    return {"square": np.array(str(source)), "roots": np.array([means])}


def _items(config, networks):
    return [{"value": int(value), **config} for value in np.asarray(networks["values"])]


def _gather(config, parts):
    return {
        "squares": np.stack([part["square"] for part in parts]),
        "roots": np.concatenate([part["roots"] for part in parts]),
    }


def _gathered(config, parts):
    return xr.Dataset({"squares": ("value", [int(part["square"]) for part in parts])})


def cost(item):
    """Grows with the number."""
    return 1.0 + item["value"]


def computation(
    folder: Path, values: Any, work: Any, name: str = "squares", config: Any = None
) -> Computation:
    """All items of a computation of some numbers, with its shards in a folder."""
    given = xr.Dataset({"values": ("value", np.asarray(values))})
    of = {"config": {} if config is None else config, "given": given, "folder": folder}
    return Computation(name=name, work=work, **of)


squares = FanOut(items=_items, compute=square, gather=_gather, cost=cost)
noted_squares = FanOut(items=_items, compute=noted, gather=_gather, cost=cost)
resumable_sums = FanOut(items=_items, compute=resumable, gather=_gather, cost=cost, trains=True)
weights = FanOut(items=_items, compute=weighed, gather=_gathered, trains=True)
places = FanOut(items=_items, compute=place, gather=_gather)

"""Small computations for the tests, in a module that worker processes can import."""

import os
import time
from pathlib import Path

import numpy as np

from hessian_spectra.results import Arrays
from hessian_spectra.work import FanOut


def square(value: int, folder: str = "", seconds: float = 0.0) -> Arrays:
    """The square of a number, slowly; `folder` counts how often that was begun."""
    if folder:
        (Path(folder) / f"{value}.{time.time_ns()}.{os.getpid()}").touch()
    time.sleep(seconds)
    return {"square": np.array(value**2), "root": np.sqrt(np.arange(float(value)))}


def fragile(value: int, folder: str) -> Arrays:
    """As `square`, but raises, or kills its process, as long as a file says so."""
    if (Path(folder) / f"raise {value}").exists():
        raise ArithmeticError(f"no square of {value} today\nnor tomorrow")
    kill = Path(folder) / f"kill {value}"
    if kill.exists():
        if kill.read_text() == "once":
            kill.unlink()
        os.kill(os.getpid(), 9)
    return square(value, folder)


def _items(config, networks):
    return [{"value": int(value), **config} for value in networks["values"]]


def _gather(config, parts):
    return {
        "squares": np.array([part["square"] for part in parts]),
        "roots": np.concatenate([part["root"] for part in parts]),
    }


def _cost(item):
    return 1.0 + item["value"]


squares = FanOut(items=_items, compute=square, gather=_gather, cost=_cost)
fragile_squares = FanOut(items=_items, compute=fragile, gather=_gather, cost=_cost)

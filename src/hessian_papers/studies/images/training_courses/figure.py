"""The epochs that one class takes, its peak sharpness, and what balances the layers."""

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from hessian_papers.drawing.forest import Dot, Dots, forest
from hessian_papers.image_names import image_set
from hessian_papers.ledger.bounds import estimate_of
from hessian_papers.studies.images.derived import quotient, spread

DONE = {"half": "half", "nearly": "99 %", "rest": "99.9 %"}
LABELS = {"one": "one class", "uniform": "equal shares"}
EVEN = "no difference"


def _sooner(data: xr.Dataset, done: str, inputs: str) -> xr.DataArray:
    """Whether one class takes fewer epochs, of the pairs in which either gets there."""
    epochs = data["epochs"].sel(done=done, treated=inputs)
    known = epochs.notnull().any("labels")
    # Never is later than any epoch.
    filled = epochs.fillna(np.inf)
    return (filled.sel(labels="one") < filled.sel(labels="uniform"))[known.values]


def _sharper(data: xr.Dataset, inputs: str) -> xr.DataArray:
    """log₂ of the peak sharpness with one class over that with equal shares."""
    peak = data["sharpness"].sel(inputs=inputs).max("epoch", skipna=False)
    return _log2(quotient(peak.sel(labels="one"), peak.sel(labels="uniform")))


def _closer(data: xr.Dataset, labels: str) -> xr.DataArray:
    """log₂ of the layers' spread at the edge of stability over that at a small rate, at the end."""
    end = spread(data.sel(labels=labels)).isel(epoch=-1)
    return _log2(quotient(end.sel(treated="edge"), end.sel(treated="plain")))


def _log2(values: xr.DataArray) -> xr.DataArray:
    return xr.apply_ufunc(np.log2, values.where(values > 0)).dropna("replicate")


def _dots(
    data: xr.Dataset, row: str, measured: Callable[..., xr.DataArray], *labels: str
) -> Iterator[Dot]:
    """The mean of each image set, which are no draws of one thing."""
    for source in dict.fromkeys(data["source"].values.tolist()):
        runs = data.isel(replicate=np.flatnonzero(data["source"].values == source))
        values = measured(runs, *labels)
        if values.size:
            yield Dot(row, *estimate_of(values), image_set(source))


def _kept(data: xr.Dataset) -> xr.Dataset:
    """The replicates of which no run diverged, if there are some."""
    diverged = data["diverged"].any(["labels", "treated"]).values
    return data if diverged.all() else data.isel(replicate=np.flatnonzero(~diverged))


def draw(data: xr.Dataset) -> Figure:
    """A panel a statement, a row a setting, and a dot an image set."""
    data = _kept(data)
    inputs = data["inputs"].values.tolist()
    sooner = [
        dot
        for each, (done, words) in itertools.product(inputs, DONE.items())
        for dot in _dots(data, f"{words} of the loss, {each}", _sooner, done, each)
    ]
    sharper = [dot for each in inputs for dot in _dots(data, f"{each} inputs", _sharper, each)]
    closer = [dot for name, words in LABELS.items() for dot in _dots(data, words, _closer, name)]
    panels = [
        Dots("(a) one class is learned sooner", "share of pairs", sooner, {EVEN: 0.5}),
        Dots(
            "(b) peak sharpness",
            "log$_2$ of one class over equal shares",
            sharper,
            {EVEN: 0.0},
        ),
        Dots(
            "(c) spread of the layers' largest singular values at the end",
            "log$_2$ of the edge of stability over a small rate",
            closer,
            {EVEN: 0.0},
        ),
    ]
    return forest(panels)


def caption(data: xr.Dataset) -> str:
    """The text that says how to read the panels, and the setting."""
    return (
        f"{data.sizes['replicate']} pairs of trainings; a dot an image set, with 95 % intervals. "
        "(a) How often one class takes fewer epochs. (b) Right of the line one class peaks higher. "
        "(c) Left of the line the edge of stability leaves the layers closer."
    )

"""The sharpness over both squared norms' larger one, and over their sum, by the size."""

from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.drawing.variables import Panel, banded, named, picture
from hessian_papers.studies.correlations.ensembles import (
    PARAMETRISATIONS,
    TIMES,
    counted_teachers,
    positions,
)
from hessian_spectra.pictures import style

FORMULAS = {"maximum": "larger of both norms", "sum": "sum of both norms"}
COLOURS = {"sp": style.BLUE, "mup": style.VERMILION, "ntp": style.GREEN}
ONE: dict[str, Any] = {"color": style.BLACK, "linewidth": 0.8, "linestyle": "--"}


def _equal(axes: Axes) -> None:
    axes.axhline(1.0, **ONE)


def draw(data: xr.Dataset) -> Figure:
    """A panel a formula and a time: the quotient's median and range over networks."""
    along = str(positions(data).name)
    other = next(name for name in ("size", "depth") if name != along)
    panels = []
    for formula, words in FORMULAS.items():
        for time in data["time"].values.tolist():
            ratio = data["ratio"].sel(formula=formula, time=time).isel({other: 0}, drop=True)
            ratio = ratio.assign_coords({along: ratio[along].astype(float)})
            low, middle, high = (ratio.sel(level=level, drop=True) for level in (0.0, 0.5, 1.0))
            curves = named(banded(middle, low, high), "sharpness over formula")
            panels.append(Panel(f"{words}, {TIMES[time]}", along, [curves], _equal))
    looks = {
        name: {"label": label, "color": COLOURS[name], "marker": "o"}
        for name, label in PARAMETRISATIONS.items()
    }
    entry = style.entry("equal", **ONE)
    return picture(panels, looks, columns=2, entries=[entry])


def caption(data: xr.Dataset) -> str:
    """The text that says how to read the panels, and the setting."""
    return (
        "Above: sharpness over the larger squared spectral norm; below: over their sum. Lines: the "
        f"median network; bands: all of them. {counted_teachers(data)}, width {int(data['width'])}."
    )

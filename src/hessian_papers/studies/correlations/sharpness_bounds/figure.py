"""Formulas of the sharpness: how far each is from it, by the size and the time."""

import warnings

import xarray as xr
from matplotlib.figure import Figure

from hessian_papers.drawing.variables import Panel, banded, named, picture
from hessian_papers.studies.correlations.ensembles import (
    PARAMETRISATIONS,
    TIMES,
    counted_teachers,
    positions,
)
from hessian_spectra.pictures import style

LOOKS = {
    "maximum": {"label": "larger squared spectral norm", "color": style.VERMILION, "marker": "s"},
    "sum": {"label": "sum of both squared spectral norms", "color": style.BLUE, "marker": "o"},
    "Gauss-Newton": {"label": "Gauss-Newton eigenvalue", "color": style.GREEN, "marker": "^"},
}


def draw(data: xr.Dataset) -> Figure:
    """A panel a time and a parametrisation: a formula's miss, its median and range."""
    along = str(positions(data).name)
    other = next(name for name in ("size", "depth") if name != along)
    miss = data["miss"].isel({other: 0}, drop=True)
    miss = miss.assign_coords({along: miss[along].astype(float)})
    # Where all networks of all teachers diverged there is no number.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        low, middle, high = (miss.quantile(q, "teacher", skipna=True) for q in (0.0, 0.5, 1.0))
    panels = []
    for time in data["time"].values.tolist():
        for name in data["parametrisation"].values.tolist():
            parts = [
                each.sel(time=time, parametrisation=name).drop_vars("quantile")
                for each in (middle, low, high)
            ]
            curves = named(banded(*parts), "|sharpness / formula − 1|")
            panels.append(Panel(f"{PARAMETRISATIONS[name]}, {TIMES[time]}", along, [curves]))
    return picture(panels, LOOKS)


def caption(data: xr.Dataset) -> str:
    """The text that says how to read the panels, and the setting."""
    return (
        "How far three formulas are from the sharpness: median over a teacher's networks; lines: "
        f"the median teacher, bands: all of them. {counted_teachers(data)}, width "
        f"{int(data['width'])}. At least squares the Gauss-Newton eigenvalue is the sharpness."
    )

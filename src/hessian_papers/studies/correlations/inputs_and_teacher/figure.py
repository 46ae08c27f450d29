"""Correlations with the sharpness, a line for each kind of inputs or teacher."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.drawing.bands import draw_mean
from hessian_papers.studies.correlations.ensembles import PARAMETRISATIONS, TIMES, of_the_time
from hessian_papers.studies.correlations.inputs_and_teacher.derived import (
    ALIGNMENT,
    alike,
    drawn_inputs,
    lead,
    said,
    usual_scale,
)
from hessian_spectra.pictures import style

QUANTITIES = {"first matrix": "$W_1$", "second matrix": "$W_2$", ALIGNMENT: "alignment"}
LEAD = "lead"


def _quantities(data: xr.Dataset) -> Mapping[str, xr.DataArray]:
    """The panels of a column: spectral norms, the spectral alignment, and the lead."""
    r = data["correlation"].sel(norm="spectral")
    shown = {title: r.sel(factor=name, drop=True) for name, title in QUANTITIES.items()}
    return {**shown, LEAD: lead(data)}


def _mark_alike(axes: Axes, similar: xr.DataArray) -> None:
    """A mark below each size at which the matrices are alike."""
    sizes = similar["size"].values[similar.values]
    place = axes.get_xaxis_transform()
    axes.plot(sizes, np.full(len(sizes), 0.03), "^", color=style.BLACK, ms=3, transform=place)


def _panels(data: xr.Dataset, along: str, labels: Sequence[str]) -> Figure:
    """A column for each parametrisation, a row for each quantity, a line for each label."""
    names = data["parametrisation"].values.tolist()
    sizes = data["size"].values.tolist()
    figure, grid = style.panels(
        4, len(names), height=1.6, width=4.5, squeeze=False, sharex=True, sharey=True
    )
    colours = colormaps["viridis"](np.linspace(0.0, 0.85, len(labels)))
    looks = [{"color": colour, "marker": "o", "markersize": 3.0} for colour in colours]
    if along == "inputs":
        looks[-1] |= {"color": style.VERMILION, "marker": "*", "markersize": 6.0}
    letters = iter(style.letters())
    for name, column in zip(names, grid.T, strict=True):
        of_name = data.sel(parametrisation=name)
        for axes, (title, values) in zip(column, _quantities(of_name).items(), strict=True):
            for entry, look in enumerate(looks):
                draw_mean(axes, values.isel({along: entry}), "size", **look)
            axes.axhline(0, color=style.BLACK, linewidth=0.6)
            style.letter(axes, f"({next(letters)}) {PARAMETRISATIONS[name]}, {title}")
            _mark_alike(axes, alike(of_name))
            if sizes[-1] >= 10 * sizes[0]:
                axes.set_xscale("log")
            style.mark(axes.xaxis, sizes)
    for axes in grid[:, 0]:
        axes.set_ylabel("correlation $r$")
        # Of few teachers Student's intervals go beyond what a correlation can be.
        axes.set_ylim(-1.05, 1.05)
    for axes in grid[-1]:
        axes.set_xlabel("size $D$")
    handles = [style.entry(label, **look) for label, look in zip(labels, looks, strict=True)]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(labels))
    return figure


def draw(data: xr.Dataset) -> Figure:
    """Each kind of inputs a line, at the usual scale of the teacher and the last time."""
    labels = [said(name) for name in data["inputs"].values.tolist()]
    return _panels(_at_last(data.sel(scale=usual_scale(data))), "inputs", labels)


def _at_last(data: xr.Dataset) -> xr.Dataset:
    """The last time, of those teachers that have it."""
    return of_the_time(data.isel(time=-1))


def _last(data: xr.Dataset) -> str:
    return TIMES[data["time"].values[-1]]


def caption(data: xr.Dataset) -> str:
    """The text below the figure."""
    teachers, width = _at_last(data).sizes["teacher"], data["width"].item()
    each = data["networks"].item() // data.sizes["teacher"]
    marks = " Triangles: matrices alike." if alike(data).any() else ""
    return (
        f"Pearson's r {_last(data)} of the sharpness with squared spectral norms and absolute "
        "alignment, and the best alignment's lead over norms; teacher's scale "
        f"{usual_scale(data):g}. Bands: 95 %, Student's t over {teachers} teachers of "
        f"{each} networks of width {width}.{marks}"
    )


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """Each scale of the teacher a line, for the inputs of fewest samples, at the last time."""
    few = drawn_inputs(data)[0]
    labels = [f"teacher's scale {scale:g}" for scale in data["scale"].values]
    picture = _panels(_at_last(data.sel(inputs=few)), "scale", labels)
    return picture, f"The same by the scale of the teacher, with {few} samples of each input."

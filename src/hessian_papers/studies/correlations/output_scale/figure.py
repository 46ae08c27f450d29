"""The size of a network's outputs at initialisation, by its width."""

from functools import partial

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.drawing.variables import Panel, banded, named, picture
from hessian_papers.studies.correlations.output_scale.claims import NAMES, PRINTED
from hessian_spectra.pictures import style
from hessian_spectra.statistics import student_mean

COLOURS = {
    "sp": style.BLUE, "mup": style.VERMILION, "ntp": style.GREEN, PRINTED: style.PURPLE
}  # fmt: skip


def _widths(axes: Axes, data: xr.Dataset) -> None:
    style.mark(axes.xaxis, data["width"].values.tolist())


def draw(data: xr.Dataset) -> Figure:
    """A panel an activation: the mean over draws at the greatest depth, by the width."""
    output = data["output"].isel(depth=-1, drop=True)
    output = output.assign_coords(width=output["width"].astype(float))
    ticks = partial(_widths, data=data)
    panels = []
    for name in output["activation"].values.tolist():
        chosen = output.sel(activation=name, drop=True).transpose("draw", "scale", "width")
        mean = chosen.mean("draw")
        value, low, high = (mean.copy(data=part) for part in student_mean(chosen.values))
        values = named(banded(value, low, high), "root mean square of an output")
        panels.append(Panel(f"{NAMES[name]} networks", "width", [values], ticks))
    looks = {
        name: {"label": NAMES.get(name, "μP as printed"), "color": color, "marker": "o"}
        for name, color in COLOURS.items()
    }
    return picture(panels, looks, columns=2)


def caption(data: xr.Dataset) -> str:
    """The text that says how to read the panels, and the setting."""
    return (
        f"Networks of {int(data['depth'].max())} layers at initialisation, normal inputs. Lines: "
        f"mean over {data.sizes['draw']} draws of weights, with 95 % bands."
    )

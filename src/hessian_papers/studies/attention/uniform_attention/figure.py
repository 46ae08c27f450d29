"""The distance of attention, second moment and bulk from uniform attention, by d_K."""

import xarray as xr
from matplotlib.figure import Figure

from hessian_papers.drawing.variables import Panel, banded, named, picture
from hessian_spectra.pictures import style

QUANTITIES = {
    "distance": ("attention", "total variation from uniform"),
    "second_moment": ("second moment of the tokens", "distance from their variance"),
    "bulk_error": ("bulk eigenvalue", "|γ/γ$_u$ − 1|"),
    "bulk": ("bulk eigenvalue itself", "|γ|"),
}
LOOKS = {
    "xavier": {"label": "variance 2/(1 + $d_K$)", "color": style.BLUE, "marker": "o"},
    "unit": {"label": "norms of 1", "color": style.GREEN, "marker": "s"},
    "sp": {"label": "variance 1/3", "color": style.VERMILION, "marker": "D"},
}
KEYS = "$d_K$"


def draw(data: xr.Dataset) -> Figure:
    """A panel a quantity: the median draw at each d_K, and the middle half of all."""
    panels = []
    for name, (title, words) in QUANTITIES.items():
        quartiles = data[name].quantile([0.25, 0.5, 0.75], "draw").rename(key_dimension=KEYS)
        quartiles = quartiles.assign_coords({KEYS: quartiles[KEYS].astype(float)})
        low, middle, high = (quartiles.isel(quantile=k, drop=True) for k in range(3))
        panels.append(Panel(title, KEYS, [named(banded(middle, low, high), words)]))
    return picture(panels, LOOKS, columns=2)


def caption(data: xr.Dataset) -> str:
    """The text that says how to read the panels, and the setting."""
    return (
        "Attention at initialisation, as the key dimension grows. Lines: the median of "
        f"{data.sizes['draw']} draws of weights and sequences; bands: the middle half. Two ways to "
        "draw the weights tend to uniform attention; the standard parametrisation does not."
    )

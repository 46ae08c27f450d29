"""Two eigenvalues, exact and numerical."""

import xarray as xr
from matplotlib.figure import Figure

from hessian_spectra.pictures import style


def draw(data: xr.Dataset) -> Figure:
    """Both sides against the rank."""
    figure, grid = style.panels(1, 1, height=2.0, squeeze=False)
    axes = grid[0, 0]
    axes.plot([1, 2], data["numerical"], color=style.BLUE, **style.NUMERIC)
    axes.plot([1, 2], data["exact"], color=style.BLUE, **style.EXACT_RING)
    axes.set_xlabel("rank of the eigenvalue, ascending")
    axes.set_ylabel("eigenvalue")
    return figure


def caption(data: xr.Dataset) -> str:
    """The caption of the figure."""
    error = float(abs(data["exact"] - data["numerical"]).max())
    return f"Both eigenvalues; closed form and numbers differ by {error:.1e}."

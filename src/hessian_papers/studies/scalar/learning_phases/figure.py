"""The sign of the small outlier in each phase of learning, and that of a retarded head."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from hessian_papers.drawing.forest import Dot, Dots, draw_dots
from hessian_papers.ledger.bounds import estimate_of, needs
from hessian_papers.studies.spectra import group
from hessian_spectra.pictures import style

PHASES = {"early": style.BLUE, "late": style.ORANGE, "divergent": style.PURPLE}
# Where the phases change, as ⟨w, v⟩ over the solution.
CHANGES = (1 / 3, 1.0)


def draw(data: xr.Dataset) -> Figure:
    """The small outlier by how far the network has learned, and the shares of retarded heads."""
    signal = data.isel(network=np.flatnonzero(data["solution"] != 0))
    needs(signal.sizes["network"], "this configuration has no network with a signal")
    figure, (phases, heads) = style.panels(1, 2, height=2.5, width_ratios=(3, 2))
    small, large = group(signal, "outlier", of="numerical").transpose("rank", ...)
    learned, share = signal["alignment"] / signal["solution"], small / large
    for name, color in PHASES.items():
        chosen = (signal["phase"] == name).values
        look = {"color": color, "marker": "o", "linestyle": "none", "markersize": 2}
        phases.plot(learned[chosen], share[chosen], label=f"{name} phase", **look)
    for change in CHANGES:
        phases.axvline(change, color=style.BLACK, linewidth=0.8, linestyle=":")
    phases.axhline(0, color=style.BLACK, linewidth=0.6)
    phases.set_xlabel(r"$t = \langle w, v\rangle\,/\,\theta^*$")
    phases.set_ylabel(r"$\lambda_2\,/\,\lambda_1$")
    phases.legend()
    style.letter(phases, "(a) small outlier by phase")
    draw_dots(heads, _retarded(data))
    heads.set_xlim(-0.02, 1.02)
    heads.set_ylabel("initial weights")
    return figure


def _retarded(data: xr.Dataset) -> Dots:
    """The share of networks whose last head is negative when the first has learned, by scale."""
    rows = {
        f"{scale:g}": data["retarded"].sel(head_scale=scale) for scale in data["head_scale"].values
    }
    known = {row: values.dropna("draw") for row, values in rows.items()}
    dots = [Dot(row, *estimate_of(values < 0)) for row, values in known.items() if values.size]
    return Dots("(b) last head still negative", "share of networks", dots)


def caption(data: xr.Dataset) -> str:
    """The text that says how to read the panels, and the setting."""
    return (
        f"(a) The numerical outliers of {int((data['solution'] != 0).sum())} networks, a point "
        "each; dotted: where the phases change, at $t = 1/3$ and 1. (b) Share of networks whose "
        "last head has a negative small outlier when the first head has learned, with 95 % "
        "intervals, by the standard deviation of the initial weights."
    )

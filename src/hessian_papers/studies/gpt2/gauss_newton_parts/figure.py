"""The parts of the gap by operation through training, with and without attention."""

from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.studies.gpt2.drawing import LOOKS
from hessian_papers.studies.gpt2.gauss_newton_parts.derived import with_operations
from hessian_spectra.pictures import style

OPERATIONS: dict[str, dict[str, Any]] = {
    "softmax": {"color": style.VERMILION, "marker": "o"},
    "QK product": {"color": style.ORANGE, "marker": "s"},
    "AV product": {"color": style.YELLOW, "marker": "D"},
    "linear maps": {"color": style.SKY, "marker": "v"},
    "GELU": {"color": style.BLUE, "marker": "^"},
    "LayerNorm": {"color": style.GREEN, "marker": "P"},
    "head": {"color": style.PURPLE, "marker": "X"},
}
WHOLE: dict[str, Any] = {"color": style.BLACK, "linestyle": "--", "marker": "_"}


def _curve(axes: Axes, values: xr.DataArray, look: dict[str, Any]) -> None:
    """The mean over seeds at each kept step, and the range of them."""
    place = range(values.sizes["step"])
    mean, low, high = (getattr(values, of)("seed", skipna=False) for of in ("mean", "min", "max"))
    axes.plot(place, mean.values, markersize=3.5, linewidth=1.0, **look)
    axes.vlines(place, low.values, high.values, color=look["color"], linewidth=0.7)


def draw(data: xr.Dataset) -> Figure:
    """A panel for each architecture: the operations that it has, and their sum."""
    runs = with_operations(data)
    variants = runs["variant"].values.tolist()
    figure, (row,) = style.panels(1, len(variants), height=2.6, sharey=True, squeeze=False)
    for letter, axes, variant in zip(style.letters(), row, variants, strict=False):
        own = runs.sel(variant=variant)
        axes.axhline(0, color=style.GREY, linewidth=0.6)
        for name, look in OPERATIONS.items():
            part = own["operation_part"].sel(operation=name)
            if (part != 0).any():
                _curve(axes, part, look)
        _curve(axes, own["functional"], WHOLE)
        axes.set_xticks(range(own.sizes["step"]), own["step"].values.tolist())
        axes.set_xlabel("training step")
        title = LOOKS[variant][2].replace(", ", ",\n")
        style.letter(axes, f"({letter}) {title}")
    row[0].set_ylabel(r"part of $v^\top F v$ over $\lambda_{\max}(H)$")
    handles = [style.entry(name, **look) for name, look in OPERATIONS.items()]
    handles.append(style.entry("sum", **WHOLE))
    figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return figure


def caption(data: xr.Dataset) -> str:
    """The text that says how to read the figure."""
    seeds = with_operations(data).sizes["seed"]
    return (
        r"Parts of $v^⊤Fv$ by operation, over $λ_{\max}(H)$: $F = H - \operatorname{GGN}$, $v$ the "
        f"Hessian's top eigenvector. Means of {seeds} seeds, bars their range. Each part is what "
        "$v^⊤Fv$ loses when that operation alone is linearised."
    )

"""The three phases of learning as colours of a strip, the same in every figure."""

from collections.abc import Iterable, Mapping

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from hessian_spectra.pictures import style

COLOURS: Mapping[str, str] = {
    "early": style.SKY,
    "late": style.YELLOW,
    "divergent": style.ORANGE,
}
# Of a strip under the axis, as shares of the panel's height.
STRIP = (-0.075, -0.015)
# The sign of the small outlier in each phase.
SIGNS = {"early": "<", "late": ">", "divergent": "<"}


def strip(axes: Axes, name: str, left: float, right: float) -> None:
    """Colour a strip under the axis between two abscissae."""
    axes.axvspan(left, right, *STRIP, color=COLOURS[name], linewidth=0, clip_on=False, zorder=0)


def patches(alpha: float = 1.0) -> Iterable[Patch]:
    """Legend entries, which also say what sign the small outlier has."""
    for name, colour in COLOURS.items():
        label = f"{name} phase, $\\lambda_2{SIGNS[name]}0$"
        yield Patch(color=colour, alpha=alpha, label=label)

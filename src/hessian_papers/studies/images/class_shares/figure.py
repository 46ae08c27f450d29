"""The sharpness of trained networks against the share of the largest class, a panel each case.

The second picture has what the paper does not draw. For one case: the distance from the curve, how
it depends on the number of samples, and errors. For several: how far each is from the curve, and
which of the theory's assumptions it lacks.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

from hessian_papers.drawing.variables import Panel, named, picture
from hessian_papers.image_names import image_set
from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.images.class_shares.derived import (
    at_shares,
    by,
    converged,
    count_diverged,
    error,
    fitted,
    gauss_newton_error,
    last_defect,
    of_own_size,
    ratio,
)
from hessian_spectra.pictures import style

Look = dict[str, Any]

# One look for one image set, by the order in which they come.
SETS = ((style.BLUE, "o"), (style.VERMILION, "s"), (style.GREEN, "^"), (style.PURPLE, "D"))
PARTS = {"raw": "raw inputs", "kaiming": "Kaiming initialisation", "tanh": "Tanh layers"}
SHARE = r"share of the largest class $\alpha_{\max}$"
SHARPNESS = r"sharpness $\lambda_{\max}$"
RATIO = "sharpness / eq. (14)"
MARKERS: Look = {"linestyle": "none", "markersize": 3.8, "markeredgewidth": 0.8}
EQUATION: Look = {"color": style.BLACK, "linewidth": 1.4}
FIT: Look = {"color": style.GREY, "linewidth": 1}
EDGE: Look = {"color": style.BLACK, "linewidth": 0.9, "linestyle": "-."}
ONE = xr.DataArray(1.0, name="one")
# Of the second picture.
NOT_ALL = "(b) labels not fitted, (c) labels alone, eq. (14)"
LOOKS: dict[str, Look] = {
    "each": MARKERS | {"label": ""},
    "open": {**MARKERS, "markerfacecolor": "white", "label": NOT_ALL},
    "line": {"label": "", "marker": "None"},
    "residual": {"label": "solver's residual"},
    "one": EQUATION | {"label": "", "linestyle": "-"},
}
# An error that is rounding is drawn at the bottom of its axis.
SMALLEST = 1e-9


def case_name(case: str) -> str:
    """A case by what it lacks of the theory's assumptions.

    Example:
        >>> case_name("raw-kaiming-linear"), case_name("whitened-balanced-linear")
        ('raw inputs, Kaiming initialisation', 'whitened, balanced, linear')
    """
    changed = [PARTS[part] for part in case.split("-") if part in PARTS]
    return ", ".join(changed) or "whitened, balanced, linear"


def _image_sets(data: xr.Dataset) -> Iterator[tuple[str, xr.Dataset, str, str]]:
    """The name, the networks, the colour and the marker of each image set."""
    for place, (source, networks) in enumerate(by(data, "source").items()):
        yield image_set(source), networks, *SETS[place % len(SETS)]


def _label_curve(axes: Axes, data: xr.Dataset) -> None:
    """Eq. (14) between the shares of all networks, where it is a power of the share."""
    labels = at_shares(data, data["labels"])
    share = labels["share"].values
    x = np.geomspace(share[0], share[-1], 100)
    axes.plot(x, np.exp(np.interp(np.log(x), np.log(share), np.log(labels))), **EQUATION)


def _points(axes: Axes, data: xr.Dataset) -> None:
    """Each network's sharpness at its share, with the look of its image set."""
    for _, images, colour, marker in _image_sets(data):
        options = MARKERS | {"color": colour, "marker": marker, "alpha": 0.75}
        axes.plot(images["share"], images["sharpness"].clip(min=SMALLEST), **options)
    axes.set_xlim(0, 1.03)
    axes.xaxis.set_major_locator(FixedLocator([0, 0.2, 0.4, 0.6, 0.8, 1]))
    axes.set_xlabel(SHARE)


def _lines(axes: Axes, data: xr.Dataset, formula: str, linestyle: str = "-") -> None:
    """The mean over replicates of what a formula gives, one line an image set."""
    for _, images, colour, _ in _image_sets(data):
        means = at_shares(images, images[formula])
        axes.plot(means["share"], means, color=colour, linewidth=1, linestyle=linestyle)


def _scale(axes: Axes, data: xr.Dataset) -> bool:
    """A linear axis from 0 on, or a logarithmic one, with whose numbers as one writes them.

    Returns:
        Whether networks are so far from the curve that it is logarithmic.
    """
    if abs(np.log(ratio(data).where(converged(data)))).max() <= np.log(3):
        axes.set_ylim(bottom=0)
        return False
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    ticks = [float(f"{digit}e{power}") for power in range(-3, 6) for digit in (1, 2, 5)]
    style.mark(axes.yaxis, [tick for tick in ticks if low <= tick <= high])
    return True


def _sets(data: xr.Dataset) -> list[Line2D]:
    """The legend's entries of the image sets."""
    looks = ((name, {"color": c, "marker": m}) for name, _, c, m in _image_sets(data))
    return [style.entry(name, **MARKERS | look) for name, look in looks]


def _legend(figure: Figure, *groups: list[Line2D], rows: int) -> None:
    """A legend above the panels in columns of so many rows, each with entries of one group."""
    empty = style.entry(" ", linestyle="none")
    padded = [entry for group in groups for entry in [*group, *[empty] * (-len(group) % rows)]]
    figure.legend(handles=padded, loc="outside upper center", ncols=len(padded) // rows)


def _require_some(data: xr.Dataset) -> None:
    """Require that there is a network with a sharpness."""
    if not converged(data).any():
        diverged = f"{count_diverged(data)} of {data.sizes['network']} diverged"
        raise NothingToMeasure(f"no network has a sharpness: {diverged}")


def draw(data: xr.Dataset) -> Figure:
    """The sharpness of each network beside the curve, a panel for each case.

    Raises:
        NothingToMeasure: no network has a sharpness.
    """
    _require_some(data)
    cases = by(of_own_size(data), "case")
    columns = min(len(cases), 3)
    rows = -(-len(cases) // columns)
    width = style.FULL_WIDTH if columns > 1 else 4.5
    figure, grid = style.panels(rows, columns, height=2.6, width=width, squeeze=False)
    for axes, letter, (case, networks) in zip(
        grid.flat, style.letters(), cases.items(), strict=False
    ):
        _case_panel(axes, data, networks)
        axes.set_ylabel(SHARPNESS)
        style.letter(axes, f"({letter}) {case_name(case)}")
    for axes in grid.flat[len(cases) :]:
        axes.set_visible(False)
    formulas = [
        style.entry("labels alone, eq. (14)", **EQUATION),
        style.entry("least squares, balanced layers (in each set's colour)", **FIT),
        style.entry("bound at the weights, eq. (6)", **FIT | {"linestyle": ":"}),
        style.entry("first layer (raw inputs)", **FIT | {"linestyle": "--"}),
        style.entry(r"$2/\eta$ at the start (raw inputs)", **EDGE),
    ]
    drawn = {line.get_linestyle() for axes in grid.flat for line in axes.lines}
    formulas = [entry for entry in formulas if entry.get_linestyle() in drawn]
    _legend(figure, formulas, _sets(data), rows=max(2, len(_sets(data))))
    return figure


def _case_panel(axes: Axes, data: xr.Dataset, item: xr.Dataset) -> None:
    """One case; the curve is drawn between the shares of all."""
    _label_curve(axes, data)
    _lines(axes, item, "fit")
    # For balanced layers the bound is the sharpness of the least-squares solution.
    if not item["case"].str.contains("-balanced-").all():
        _lines(axes, item, "bound", ":")
    if item["fit"].isnull().all():
        _lines(axes, item, "first_layer", "--")
    _points(axes, item)
    if _scale(axes, item):
        axes.axhline(float(data["edge"]), **EDGE)
    if count_diverged(item):
        text = f"{count_diverged(item)} of {item.sizes['network']} diverged"
        axes.text(0.97, 0.04, text, transform=axes.transAxes, ha="right", fontsize=7)


def caption(data: xr.Dataset) -> str:
    """The marks of the figure, the networks that it shows, and those that it does not."""
    diverged = f"{count_diverged(data)} of {data.sizes['network']} networks diverged"
    main = of_own_size(data)
    text = (
        "Largest Hessian eigenvalue of trained networks (markers) on "
        f"{main['samples'].values[0]} images of {', '.join(map(image_set, by(data, 'source')))}, "
        "by the share of one class. Thick: eq. (14), from the labels alone."
    )
    if main["fit"].notnull().any():
        text += " Thin lines: from the part that the inputs fit."
    if count_diverged(data):
        return f"{text} {diverged} and are left out."
    return f"{text} None of {data.sizes['network']} networks diverged."


def _by_setting(data: xr.Dataset) -> xr.Dataset:
    """The networks by image set, case, size, share and replicate, a dimension each."""
    networks = data.set_index(network=["source", "case", "samples", "share", "replicate"])
    return networks.drop_duplicates("network").unstack("network").rename(share=SHARE)


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The distances from the curve, and where they come from.

    Raises:
        NothingToMeasure: no network has a sharpness.
    """
    _require_some(data)
    networks, size = _by_setting(data), int(data["samples"][0])
    looks = LOOKS | {case: {"label": case_name(case)} for case in by(data, "case")}
    looks |= {
        images["source"].values[0]: {"label": name, "color": colour, "marker": marker}
        for name, images, colour, marker in _image_sets(data)
    }
    if networks.sizes["case"] > 1:
        return picture(_compare_cases(networks.sel(samples=size)), looks), SEVERAL
    return picture(_compare_formulas(networks.squeeze("case", drop=True), size), looks), SINGLE


SINGLE = (
    "(a) Sharpness over eq. (14); lines: for the part of the labels that the inputs fit. "
    "(b) The same by number of samples; line: the share with the lowest mean. (c) The defect of "
    "balancedness counts to first order where equal shares are fitted, elsewhere to second. "
    "Dashed: an eigenvalue's error, about its squared residual."
)
SEVERAL = (
    "One assumption dropped at a time, networks as in the figure: the sharpness over eq. (14) "
    "(thick: 1), the layers' defect of balancedness, and the largest eigenvalue of the "
    "Gauss-Newton matrix relative to that of the Hessian."
)


def _compare_cases(main: xr.Dataset) -> list[Panel]:
    """Several cases, told apart by marker."""
    over, balance, error = (
        named(values.clip(min=SMALLEST).rename("each"), name)
        for values, name in (
            (ratio(main), RATIO),
            (last_defect(main), "defect of balancedness"),
            (gauss_newton_error(main), "relative error"),
        )
    )
    return [
        Panel("all, over eq. (14)", SHARE, [over, ONE]),
        Panel("balance of the layers", SHARE, [balance]),
        Panel("Gauss-Newton matrix", SHARE, [error]),
    ]


def _compare_formulas(data: xr.Dataset, size: int) -> list[Panel]:
    """One case: over the curve, at each number of samples, and errors."""
    ratios, fits = named(ratio(data), RATIO), fitted(data)
    fit = (data["fit"] / data["labels"]).mean("replicate").rename("line")
    own = [each.sel(samples=size) for each in (ratios.rename("each"), fit)]
    lowest = ratios.mean("replicate").min(SHARE).rename("line")
    each_size = [ratios.where(fits).rename("each"), ratios.where(~fits).rename("open")]
    errors = [
        named(error(data, formula).clip(min=SMALLEST).rename(name), "relative error of the formula")
        for formula, name in (("labels", "open"), ("fit", "each"))
    ]
    residual = data["residual"].max().rename("residual")
    return [
        Panel(f"n = {size}", SHARE, [*own, ONE]),
        Panel("each n", "samples", [*(each.drop_vars(SHARE) for each in each_size), lowest, ONE]),
        Panel("both formulas, all n", SHARE, [e.drop_vars("samples") for e in errors] + [residual]),
    ]

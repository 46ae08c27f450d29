"""The sharpness of trained networks against the share of the largest class, a panel each case.

The second picture has what the paper does not draw. For one case: the distance from the curve, how
it depends on the number of samples, and errors. For several: how far each is from the curve, and
which of the theory's assumptions it lacks.
"""

from collections.abc import Callable, Iterator
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

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
from hessian_papers.studies.images.drawing import image_set
from hessian_spectra.pictures import style

# A value of each network, from some of them.
Quantity = Callable[[xr.Dataset], xr.DataArray]
Look = dict[str, Any]

# One look for one image set, by the order in which they come.
SETS = ((style.BLUE, "o"), (style.VERMILION, "s"), (style.GREEN, "^"), (style.PURPLE, "D"))
# Of several cases each has a marker, and colours are the image sets' alone.
CASES = "osD^vPX*"
PARTS = {"raw": "raw inputs", "kaiming": "Kaiming initialisation", "tanh": "Tanh layers"}
SHARE = r"share of the largest class $\alpha_{\max}$"
SHARPNESS = r"sharpness $\lambda_{\max}$"
RATIO = "sharpness / eq. (14)"
MARKERS: Look = {"linestyle": "none", "markersize": 3.8, "markeredgewidth": 0.8}
GREY: Look = MARKERS | {"color": style.GREY, "marker": "o"}
OPEN: Look = {"markerfacecolor": "white"}
EQUATION: Look = {"color": style.BLACK, "linewidth": 1.4}
FIT: Look = {"color": style.GREY, "linewidth": 1}
EDGE: Look = {"color": style.BLACK, "linewidth": 0.9, "linestyle": "-."}
RESIDUAL: Look = {"color": style.BLACK, "linewidth": 0.8, "linestyle": "--"}
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


def _points(axes: Axes, data: xr.Dataset, quantity: Quantity, **look: Any) -> None:
    """Each network's value at its share, with the look of its image set."""
    for _, images, colour, marker in _image_sets(data):
        options = MARKERS | {"color": colour, "marker": marker, "alpha": 0.75} | look
        axes.plot(images["share"], quantity(images).clip(min=SMALLEST), **options)
    axes.set_xlim(0, 1.03)
    axes.xaxis.set_major_locator(FixedLocator([0, 0.2, 0.4, 0.6, 0.8, 1]))
    axes.set_xlabel(SHARE)


def _lines(axes: Axes, data: xr.Dataset, quantity: Quantity, **look: Any) -> None:
    """The mean over replicates of what a formula gives, one line an image set."""
    for _, images, colour, _ in _image_sets(data):
        means = at_shares(images, quantity(images))
        axes.plot(means["share"], means, color=colour, **look)


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
        style.entry("least squares, balanced layers", **FIT),
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
    _lines(axes, item, itemgetter("fit"), linewidth=1)
    # For balanced layers the bound is the sharpness of the least-squares solution.
    if not item["case"].str.contains("-balanced-").all():
        _lines(axes, item, itemgetter("bound"), linewidth=1, linestyle=":")
    if item["fit"].isnull().all():
        _lines(axes, item, itemgetter("first_layer"), linewidth=1, linestyle="--")
    _points(axes, item, itemgetter("sharpness"))
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
        "by the share of one class. Black: eq. (14), from the labels alone."
    )
    if main["fit"].notnull().any():
        text += " Thin lines: from the part that the inputs fit."
    if count_diverged(data):
        return f"{text} {diverged} and are left out."
    return f"{text} None of {data.sizes['network']} networks diverged."


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The distances from the curve, and where they come from.

    Raises:
        NothingToMeasure: no network has a sharpness.
    """
    _require_some(data)
    figure, panels = style.panels(1, 3, height=2.9)
    several = len(by(data, "case")) > 1
    titles = (_compare_cases if several else _compare_formulas)(figure, panels, data)
    for axes, letter, title in zip(panels, style.letters(), titles, strict=False):
        style.letter(axes, f"({letter}) {title}")
    return figure, SEVERAL if several else SINGLE


SINGLE = (
    "(a) Sharpness over eq. (14); thin lines: for the part of the labels that the inputs fit. "
    "(b) The same by number of samples; line: the share with the lowest mean. (c) The defect of "
    "balancedness counts to first order where equal shares are fitted, elsewhere to second. "
    "Dashed: an eigenvalue's error, about its squared residual."
)
SEVERAL = (
    "One assumption dropped at a time, networks as in the figure: the sharpness over eq. (14) "
    "(black: 1), the layers' defect of balancedness, and the largest eigenvalue of the "
    "Gauss-Newton matrix relative to that of the Hessian."
)


def _compare_cases(figure: Figure, panels: np.ndarray, data: xr.Dataset) -> tuple[str, ...]:
    """Several cases by marker in each panel; the panels' titles."""
    markers = dict(zip(by(data, "case"), CASES, strict=False))
    quantities: dict[str, Quantity] = {
        RATIO: ratio,
        "defect of balancedness": last_defect,
        "relative error": gauss_newton_error,
    }
    for axes, (label, quantity) in zip(panels, quantities.items(), strict=True):
        for case, networks in by(of_own_size(data), "case").items():
            _points(axes, networks, quantity, marker=markers[case])
        style.logarithmic(axes)
        axes.set_ylabel(label)
    panels[0].axhline(1, **EQUATION)
    sets = [style.entry(name, color=colour, lw=5) for name, _, colour, _ in _image_sets(data)]
    cases = [style.entry(case_name(c), **GREY | {"marker": m}) for c, m in markers.items()]
    _legend(figure, sets, cases, rows=2)
    return "all, over eq. (14)", "balance of the layers", "Gauss-Newton matrix"


def _compare_formulas(figure: Figure, panels: np.ndarray, data: xr.Dataset) -> tuple[str, ...]:
    """One case: over the curve, at each number of samples, and errors; the panels' titles."""
    over, by_samples, errors = panels
    main = of_own_size(data)
    over.axhline(1, **EQUATION)
    _lines(over, main, lambda main: main["fit"] / main["labels"], linewidth=1)
    _points(over, main, ratio)
    over.set_ylabel(RATIO)
    _by_samples(by_samples, data)
    _points(errors, data, partial(error, formula="labels"), **OPEN)
    _points(errors, data, partial(error, formula="fit"))
    errors.axhline(float(data["residual"].max()), **RESIDUAL)
    errors.set_yscale("log")
    errors.set_ylabel("relative error of the formula")
    keys = (
        [style.entry("least squares (mean)", **FIT), *_sets(data)],
        [
            style.entry("inputs fit all labels", **GREY),
            style.entry("they do not", **GREY | OPEN),
            style.entry("lowest mean of a share", **FIT),
        ],
        [
            style.entry("labels alone, eq. (14)", **GREY | OPEN),
            style.entry("least squares", **GREY),
            style.entry("solver's residual", **RESIDUAL),
        ],
    )
    for axes, handles in zip(panels, keys, strict=True):
        axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    return f"n = {main['samples'].values[0]}", "each n", "both formulas, all n"


def _by_samples(axes: Axes, data: xr.Dataset) -> None:
    """The ratio at each number of samples: all shares, and a line through the lowest."""
    image_sets = list(_image_sets(data))
    for place, (_, images, colour, marker) in enumerate(image_sets):
        # Image sets stand beside each other.
        aside = 1.035 ** (2 * place - len(image_sets) + 1)
        ratios, sizes = ratio(images), images["samples"] * aside
        for group, face in ((fitted(images), colour), (~fitted(images), "white")):
            look = MARKERS | {"color": colour, "marker": marker, "markerfacecolor": face}
            axes.plot(sizes[group], ratios[group], **look)
        by_size = sorted(by(images, "samples").items())
        lowest = [
            min(at_shares(sized, ratio(sized)).values, default=np.nan) for _, sized in by_size
        ]
        axes.plot([size * aside for size, _ in by_size], lowest, color=colour, lw=1, zorder=1)
    axes.set_xscale("log")
    all_sizes = np.unique(data["samples"]).tolist()
    style.mark(axes.xaxis, all_sizes)
    axes.set_xlim(all_sizes[0] / 1.3, all_sizes[-1] * 1.3)
    axes.axhline(1, **EQUATION)
    axes.set_xlabel("samples $n$")
    axes.set_ylabel(RATIO)

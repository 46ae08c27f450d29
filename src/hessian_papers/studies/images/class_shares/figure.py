"""The sharpness of trained networks against the share of the largest class.

For one case: the curve, how it depends on the number of samples, and errors. For several, each
with its own panel: how far each is from the curve, and which of the theory's assumptions it lacks.
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
from hessian_papers.studies.images.drawing import by_columns, case_name, image_set, plain_logarithm
from hessian_spectra.pictures import style

# A value of each network, from some of them.
Quantity = Callable[[xr.Dataset], xr.DataArray]

# One look for one image set, by the order in which they come.
SETS = ((style.BLUE, "o"), (style.VERMILION, "s"), (style.GREEN, "^"), (style.PURPLE, "D"))
# Of several cases each has a marker, and colours are the image sets' alone.
CASES = "osD^vPX*"
SHARE = r"share of the largest class $\alpha_{\max}$"
SHARPNESS = r"sharpness $\lambda_{\max}$"
RATIO = "sharpness / eq. (14)"
MARKERS: dict[str, Any] = {"linestyle": "none", "markersize": 3.8, "markeredgewidth": 0.8}
GREY: dict[str, Any] = MARKERS | {"color": style.GREY, "marker": "o"}
OPEN: dict[str, Any] = {"markerfacecolor": "white"}
EQUATION: dict[str, Any] = {"color": style.BLACK, "linewidth": 1.4}
EDGE: dict[str, Any] = {"color": style.BLACK, "linewidth": 0.9, "linestyle": "-."}
RESIDUAL: dict[str, Any] = {"color": style.BLACK, "linewidth": 0.8, "linestyle": "--"}
# An error that is rounding is drawn at the bottom of its axis.
SMALLEST = 1e-9


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


# One case


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
    axes.axhline(1, color=style.BLACK, linewidth=0.8)
    axes.set_xlabel("samples $n$")
    axes.set_ylabel(RATIO)
    handles = [
        style.entry("inputs fit all labels", **GREY),
        style.entry("they do not", **GREY | OPEN),
        style.entry("lowest mean of a share", color=style.GREY, linewidth=1),
    ]
    axes.legend(handles=handles, loc="lower left", handletextpad=0.4)


def _errors(axes: Axes, data: xr.Dataset) -> None:
    _points(axes, data, partial(error, formula="labels"), **OPEN)
    _points(axes, data, partial(error, formula="fit"))
    axes.axhline(float(data["residual"].max()), **RESIDUAL)
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(low / 2, high * 40)
    axes.set_ylabel("relative error of the formula")
    handles = [
        style.entry("labels alone, eq. (14)", **GREY | OPEN),
        style.entry("least squares", **GREY),
        style.entry("solver's residual", **RESIDUAL),
    ]
    axes.legend(handles=handles, loc="upper center", ncols=2, columnspacing=1, handletextpad=0.4)


def _one_case(data: xr.Dataset) -> Figure:
    figure, ((sharpness, over), (by_samples, errors)) = style.panels(2, 2, height=2.45)
    main = of_own_size(data)
    size = main["samples"].values[0]
    _lines(sharpness, main, itemgetter("fit"), linewidth=1)
    _points(sharpness, main, itemgetter("sharpness"))
    _label_curve(sharpness, data)
    sharpness.set_ylim(bottom=0)
    sharpness.set_ylabel(SHARPNESS)
    _lines(over, main, lambda main: main["fit"] / main["labels"], linewidth=1)
    _points(over, main, ratio)
    over.axhline(1, **EQUATION)
    over.set_ylabel(RATIO)
    _by_samples(by_samples, data)
    _errors(errors, data)
    style.letter(sharpness, f"(a) after training, n = {size}")
    style.letter(over, f"(b) the same over eq. (14), n = {size}")
    style.letter(by_samples, "(c) all shares, each number of samples")
    style.letter(errors, "(d) both formulas, all n")
    handles = [
        style.entry("labels alone, eq. (14)", **EQUATION),
        style.entry("least squares (mean)", color=style.GREY, linewidth=1),
        *(style.entry(name, **MARKERS, color=c, marker=m) for name, _, c, m in _image_sets(data)),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=5, columnspacing=1.4)
    return figure


# Several cases


def _case_panel(axes: Axes, data: xr.Dataset, item: xr.Dataset, marker: str) -> None:
    """One case; the curve is drawn between the shares of all."""
    _label_curve(axes, data)
    # For balanced layers the bound is the sharpness of the least-squares solution.
    if item["bound"].notnull().any():
        _lines(axes, item, itemgetter("fit"), linewidth=0.9)
        _lines(axes, item, itemgetter("bound"), linewidth=1, linestyle=":")
    elif item["first_layer"].notnull().any():
        _lines(axes, item, itemgetter("first_layer"), linewidth=1, linestyle="--")
    _points(axes, item, itemgetter("sharpness"), marker=marker)
    if abs(np.log(ratio(item).where(converged(item)))).max() > np.log(3):
        axes.axhline(float(data["edge"]), **EDGE)
        plain_logarithm(axes)
    else:
        axes.set_ylim(bottom=0)
    if count_diverged(item):
        text = f"{count_diverged(item)} of {item.sizes['network']} diverged"
        axes.text(0.97, 0.04, text, transform=axes.transAxes, ha="right", fontsize=7)


def _several_cases(data: xr.Dataset) -> Figure:
    cases = by(of_own_size(data), "case")
    figure, grid = style.panels(-(-len(cases) // 3) + 1, 3, height=2.3)
    letters = iter("abcdefghijklmnopqrst")
    panels, bottom = grid[:-1].ravel(), grid[-1]
    for axes, (case, panel), marker in zip(panels, cases.items(), CASES, strict=False):
        _case_panel(axes, data, panel, marker)
        style.letter(axes, f"({next(letters)}) {case_name(case)}")
    for axes in grid[:-1, 0]:
        axes.set_ylabel(SHARPNESS)
    quantities: tuple[tuple[Quantity, str, str], ...] = (
        (ratio, "all, over eq. (14)", RATIO),
        (last_defect, "balance of the layers", "defect of balancedness"),
        (gauss_newton_error, "Gauss-Newton matrix", "relative error"),
    )
    for axes, (quantity, title, label) in zip(bottom, quantities, strict=False):
        for panel, marker in zip(cases.values(), CASES, strict=False):
            _points(axes, panel, quantity, marker=marker)
        axes.set_yscale("log")
        axes.set_ylabel(label)
        style.letter(axes, f"({next(letters)}) {title}")
    plain_logarithm(bottom[0])
    bottom[0].axhline(1, **EQUATION)
    for axes in (*panels[len(cases) :], *bottom[len(quantities) :]):
        axes.set_visible(False)
    figure.legend(handles=_several_handles(data), loc="outside upper center", ncols=3)
    return figure


def _several_handles(data: xr.Dataset) -> list[Line2D]:
    """A column each of formulas, of image sets by colour and of cases by marker."""
    formulas = [
        style.entry("labels alone, eq. (14)", **EQUATION),
        style.entry("least squares, balanced layers", color=style.GREY, linewidth=0.9),
        style.entry("bound at the weights, eq. (6)", color=style.GREY, linestyle=":"),
        style.entry("first layer (raw inputs)", color=style.GREY, linestyle="--"),
        style.entry(r"$2/\eta$ at the start (raw inputs)", **EDGE),
    ]
    sets = [style.entry(name, color=colour, lw=5) for name, _, colour, _ in _image_sets(data)]
    cases = [
        style.entry(case_name(case), **GREY | {"marker": marker})
        for case, marker in zip(by(data, "case"), CASES, strict=False)
    ]
    return by_columns(formulas, sets, cases)


def draw(data: xr.Dataset) -> Figure:
    """One case with its numbers of samples and errors, or several cases side by side."""
    if not converged(data).any():
        figure, axes = style.panels(1, 1, height=2.45)
        _label_curve(axes, data)
        axes.set(xlabel=SHARE, ylabel=SHARPNESS, title="eq. (14); no network has a sharpness")
        return figure
    return (_several_cases if len(by(data, "case")) > 1 else _one_case)(data)


def caption(data: xr.Dataset) -> str:
    """What is to be seen, and how to read it."""
    diverged = f"{count_diverged(data)} of {data.sizes['network']} networks diverged"
    if not converged(data).any():
        return f"Eq. (14). {diverged}; none is left."
    text = (_several_caption if len(by(data, "case")) > 1 else _one_caption)(data)
    if count_diverged(data):
        return f"{text} {diverged} and are left out."
    return f"{text} None of {data.sizes['network']} networks diverged."


def _one_caption(data: xr.Dataset) -> str:
    (case,) = by(data, "case")
    sizes = np.unique(data["samples"])
    return (
        "The more of the labels are of one class, the sharper the solution that is learnt. Largest "
        f"Hessian eigenvalue of trained networks ({case_name(case)}) on subsets of "
        f"{', '.join(map(image_set, by(data, 'source')))} in which one class has a given share. "
        "(a), (b) Markers: measured, each network; black: eq. (14), from the labels alone; thin "
        "lines: the same from the part of the labels that the inputs fit. (c) The numbers of "
        f"samples {', '.join(map(str, sizes))}: filled where the inputs fit all labels. "
        "Line: the share with the lowest mean, of those that the class has images for. (d) The "
        "relative error of eq. (14): where shares are equal and fitted, the labels' singular "
        "values tie, and what layers lack of balance counts to first order, elsewhere to second. "
        "Dashed: the largest residual of the numerical eigenvalues, whose error is of the order of "
        "its square."
    )


def _several_caption(data: xr.Dataset) -> str:
    return (
        "Without balance or linearity the labels still set the sharpness, with raw inputs these "
        "do. Top: markers, each network; black, eq. (14); where inputs are whitened and layers "
        "linear also the least-squares solution with balanced layers and the bound (6) at the "
        "trained weights; for raw inputs the first layer's part. Bottom: the sharpness over eq. "
        "(14), how far layers are from balance, and the Gauss-Newton matrix's from the Hessian's "
        f"largest eigenvalue. Trained networks on {data['samples'].values[0]} images of "
        f"{', '.join(map(image_set, by(data, 'source')))}, one assumption dropped at a time."
    )

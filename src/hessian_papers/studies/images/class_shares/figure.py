"""The sharpness of trained networks against the share of the largest class.

For one case: the curve, how it depends on the number of samples, and errors. For several, each
with its own panel: how far each is from the curve, and which of the theory's assumptions it lacks.
"""

from collections.abc import Callable, Iterator
from operator import attrgetter, itemgetter, methodcaller
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

from hessian_papers.studies.images.class_shares.reading import Reading
from hessian_papers.studies.images.drawing import by_columns, case_name, image_set, plain_logarithm
from hessian_spectra.pictures import style

# A value of each network, from some of them.
Quantity = Callable[[Reading], np.ndarray]

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


def _image_sets(reading: Reading) -> Iterator[tuple[str, Reading, str, str]]:
    """The name, the networks, the colour and the marker of each image set."""
    for place, (source, networks) in enumerate(reading.by("source").items()):
        yield image_set(source), networks, *SETS[place % len(SETS)]


def _label_curve(axes: Axes, reading: Reading) -> None:
    """Eq. (14) between the shares of all networks, where it is a power of the share."""
    share, labels = reading.mean_at_shares(reading["labels"])
    x = np.geomspace(share[0], share[-1], 100)
    axes.plot(x, np.exp(np.interp(np.log(x), np.log(share), np.log(labels))), **EQUATION)


def _points(axes: Axes, reading: Reading, quantity: Quantity, **look: Any) -> None:
    """Each network's value at its share, with the look of its image set."""
    for _, images, colour, marker in _image_sets(reading):
        options = MARKERS | {"color": colour, "marker": marker, "alpha": 0.75} | look
        axes.plot(images["share"], np.maximum(quantity(images), SMALLEST), **options)
    axes.set_xlim(0, 1.03)
    axes.xaxis.set_major_locator(FixedLocator([0, 0.2, 0.4, 0.6, 0.8, 1]))
    axes.set_xlabel(SHARE)


def _lines(axes: Axes, reading: Reading, quantity: Quantity, **look: Any) -> None:
    """The mean over replicates of what a formula gives, one line an image set."""
    for _, images, colour, _ in _image_sets(reading):
        axes.plot(*images.mean_at_shares(quantity(images)), color=colour, **look)


# One case


def _by_samples(axes: Axes, reading: Reading) -> None:
    """The ratio at each number of samples: all shares, and a line through the lowest."""
    image_sets = list(_image_sets(reading))
    for place, (_, images, colour, marker) in enumerate(image_sets):
        # Image sets stand beside each other.
        aside = 1.035 ** (2 * place - len(image_sets) + 1)
        for group, face in ((images.fitted, colour), (~images.fitted, "white")):
            look = MARKERS | {"color": colour, "marker": marker, "markerfacecolor": face}
            axes.plot(images["samples"][group] * aside, images.ratio[group], **look)
        sizes = [size * aside for size in images.by_size]
        means = [sized.mean_at_shares(sized.ratio)[1] for sized in images.by_size.values()]
        lowest = [min(mean, default=np.nan) for mean in means]
        axes.plot(sizes, lowest, color=colour, linewidth=1, zorder=1)
    axes.set_xscale("log")
    style.mark(axes.xaxis, reading.by_size)
    axes.set_xlim(min(reading.by_size) / 1.3, max(reading.by_size) * 1.3)
    axes.axhline(1, color=style.BLACK, linewidth=0.8)
    axes.set_xlabel("samples $n$")
    axes.set_ylabel(RATIO)
    handles = [
        style.entry("inputs fit all labels", **GREY),
        style.entry("they do not", **GREY | OPEN),
        style.entry("lowest mean of a share", color=style.GREY, linewidth=1),
    ]
    axes.legend(handles=handles, loc="lower left", handletextpad=0.4)


def _errors(axes: Axes, reading: Reading) -> None:
    _points(axes, reading, methodcaller("error", "labels"), **OPEN)
    _points(axes, reading, methodcaller("error", "fit"))
    axes.axhline(float(np.nanmax(reading["residual"])), **RESIDUAL)
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


def _one_case(reading: Reading) -> Figure:
    figure, ((sharpness, ratio), (by_samples, errors)) = style.panels(2, 2, height=2.45)
    main, size = reading.main, reading.own_size
    _lines(sharpness, main, itemgetter("fit"), linewidth=1)
    _points(sharpness, main, itemgetter("sharpness"))
    _label_curve(sharpness, reading)
    sharpness.set_ylim(bottom=0)
    sharpness.set_ylabel(SHARPNESS)
    _lines(ratio, main, lambda arrays: arrays["fit"] / arrays["labels"], linewidth=1)
    _points(ratio, main, attrgetter("ratio"))
    ratio.axhline(1, **EQUATION)
    ratio.set_ylabel(RATIO)
    _by_samples(by_samples, reading)
    _errors(errors, reading)
    style.letter(sharpness, f"(a) after training, n = {size}")
    style.letter(ratio, f"(b) the same over eq. (14), n = {size}")
    style.letter(by_samples, "(c) all shares, each number of samples")
    style.letter(errors, "(d) both formulas, all n")
    handles = [
        style.entry("labels alone, eq. (14)", **EQUATION),
        style.entry("least squares (mean)", color=style.GREY, linewidth=1),
        *(
            style.entry(name, **MARKERS, color=c, marker=m)
            for name, _, c, m in _image_sets(reading)
        ),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=5, columnspacing=1.4)
    return figure


# Several cases


def _case_panel(axes: Axes, reading: Reading, item: Reading, marker: str) -> None:
    """One case; the curve is drawn between the shares of all."""
    _label_curve(axes, reading)
    # For balanced layers the bound is the sharpness of the least-squares solution.
    if np.isfinite(item["bound"]).any():
        _lines(axes, item, itemgetter("fit"), linewidth=0.9)
        _lines(axes, item, itemgetter("bound"), linewidth=1, linestyle=":")
    elif np.isfinite(item["first_layer"]).any():
        _lines(axes, item, itemgetter("first_layer"), linewidth=1, linestyle="--")
    _points(axes, item, itemgetter("sharpness"), marker=marker)
    if np.abs(np.log(item.ratio[item.converged])).max(initial=0) > np.log(3):
        if item.edge is not None:
            axes.axhline(item.edge, **EDGE)
        plain_logarithm(axes)
    else:
        axes.set_ylim(bottom=0)
    if item.diverged:
        text = f"{item.diverged} of {len(item)} diverged"
        axes.text(0.97, 0.04, text, transform=axes.transAxes, ha="right", fontsize=7)


def _several_cases(reading: Reading) -> Figure:
    cases = reading.main.by("case")
    figure, grid = style.panels(-(-len(cases) // 3) + 1, 3, height=2.3)
    letters = iter("abcdefghijklmnopqrst")
    panels, bottom = grid[:-1].ravel(), grid[-1]
    for axes, (case, panel), marker in zip(panels, cases.items(), CASES, strict=False):
        _case_panel(axes, reading, panel, marker)
        style.letter(axes, f"({next(letters)}) {case_name(case)}")
    for axes in grid[:-1, 0]:
        axes.set_ylabel(SHARPNESS)
    quantities: tuple[tuple[Quantity, str, str], ...] = (
        (attrgetter("ratio"), "all, over eq. (14)", RATIO),
        (attrgetter("defect"), "balance of the layers", "defect of balancedness"),
        (attrgetter("gauss_newton_error"), "Gauss-Newton matrix", "relative error"),
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
    figure.legend(handles=_several_handles(reading), loc="outside upper center", ncols=3)
    return figure


def _several_handles(reading: Reading) -> list[Line2D]:
    """A column each of formulas, of image sets by colour and of cases by marker."""
    formulas = [
        style.entry("labels alone, eq. (14)", **EQUATION),
        style.entry("least squares, balanced layers", color=style.GREY, linewidth=0.9),
        style.entry("bound at the weights, eq. (6)", color=style.GREY, linestyle=":"),
        style.entry("first layer (raw inputs)", color=style.GREY, linestyle="--"),
    ]
    if reading.edge is not None:
        formulas.append(style.entry(r"$2/\eta$ at the start (raw inputs)", **EDGE))
    sets = [style.entry(name, color=colour, lw=5) for name, _, colour, _ in _image_sets(reading)]
    cases = [
        style.entry(case_name(case), **GREY | {"marker": marker})
        for case, marker in zip(reading.by("case"), CASES, strict=False)
    ]
    return by_columns(formulas, sets, cases)


def draw(reading: Reading) -> Figure:
    """One case with its numbers of samples and errors, or several cases side by side."""
    if not reading.converged.any():
        figure, axes = style.panels(1, 1, height=2.45)
        _label_curve(axes, reading)
        axes.set(xlabel=SHARE, ylabel=SHARPNESS, title="eq. (14); no network has a sharpness")
        return figure
    return (_several_cases if len(reading.by("case")) > 1 else _one_case)(reading)


def caption(reading: Reading) -> str:
    """What is to be seen, and how to read it."""
    if not reading.converged.any():
        return f"Eq. (14). {reading.diverged} of {len(reading)} networks diverged; none is left."
    text = (_several_caption if len(reading.by("case")) > 1 else _one_caption)(reading)
    if reading.diverged:
        return f"{text} {reading.diverged} of {len(reading)} networks diverged and are left out."
    return f"{text} None of {len(reading)} networks diverged."


def _one_caption(reading: Reading) -> str:
    (case,) = reading.by("case")
    return (
        "The more of the labels are of one class, the sharper the solution that is learnt. Largest "
        f"Hessian eigenvalue of trained networks ({case_name(case)}) on subsets of "
        f"{', '.join(map(image_set, reading.by('source')))} in which one class has a given share. "
        "(a), (b) Markers: measured, each network; black: eq. (14), from the labels alone; thin "
        "lines: the same from the part of the labels that the inputs fit. (c) The numbers of "
        f"samples {', '.join(map(str, reading.by_size))}: filled where the inputs fit all labels. "
        "Line: the share with the lowest mean, of those that the class has images for. (d) The "
        "relative error of eq. (14): where shares are equal and fitted, the labels' singular "
        "values tie, and what layers lack of balance counts to first order, elsewhere to second. "
        "Dashed: the largest residual of the numerical eigenvalues, whose error is of the order of "
        "its square."
    )


def _several_caption(reading: Reading) -> str:
    return (
        "Without balance or linearity the labels still set the sharpness, with raw inputs these "
        "do. Top: markers, each network; black, eq. (14); where inputs are whitened and layers "
        "linear also the least-squares solution with balanced layers and the bound (6) at the "
        "trained weights; for raw inputs the first layer's part. Bottom: the sharpness over eq. "
        "(14), how far layers are from balance, and the Gauss-Newton matrix's from the Hessian's "
        f"largest eigenvalue. Trained networks on {reading.own_size} images of "
        f"{', '.join(map(image_set, reading.by('source')))}, one assumption dropped at a time."
    )

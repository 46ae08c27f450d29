"""The sharpness of trained networks against the share of the largest class.

For one case: the curve, how it depends on the number of samples, and errors. For several, each
with its own panel: how far each is from the curve, and which of the theory's assumptions it lacks.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from hessian_spectra.drawing import style
from hessian_spectra.results import Arrays

# One look for one image set, by the order in which they come.
SETS = ((style.BLUE, "o"), (style.VERMILION, "s"), (style.GREEN, "^"), (style.PURPLE, "D"))
CASES = (style.ORANGE, style.SKY, style.PURPLE, style.GREY)
NAMES = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST", "digits": "digits"}
PARTS = {"raw": "raw inputs", "kaiming": "Kaiming initialisation", "tanh": "Tanh layers"}
SHARE = r"share of the largest class $\alpha_{\max}$"
RATIO = "sharpness / eq. (14)"
MARKERS: dict[str, Any] = {"linestyle": "none", "markersize": 3.8, "markeredgewidth": 0.8}
# A least-squares loss below this is rounding: the inputs fit all labels.
FITTED = 1e-12
# What rounding leaves out of an error is drawn at the bottom of its axis.
FLOOR = 1e-9


def _name(source: str) -> str:
    return "CIFAR-10" if source.startswith("cifar10") else NAMES.get(source, source)


def _case_name(case: str) -> str:
    changed = [PARTS[part] for part in case.split("-") if part in PARTS]
    return ", ".join(changed) or "whitened, balanced, linear"


def _looks(closed_form: Arrays) -> dict[str, tuple[str, str]]:
    """Colour and marker of each image set."""
    names = list(dict.fromkeys(closed_form["source"].tolist()))
    return {name: SETS[place % len(SETS)] for place, name in enumerate(names)}


def _cases(closed_form: Arrays) -> list[str]:
    return list(dict.fromkeys(closed_form["case"].tolist()))


def _main(closed_form: Arrays) -> np.ndarray:
    """The networks on subsets of the study's own size, which come first."""
    return np.asarray(closed_form["samples"] == closed_form["samples"][0])


def _means(x: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct abscissae and the mean value at each; NaN where no network has one."""
    places = np.unique(x)
    used = [values[(x == place) & np.isfinite(values)] for place in places]
    return places, np.array([one.mean() if one.size else np.nan for one in used])


def _label_curve(closed_form: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """Eq. (14) between the shares, where it is a power of the share."""
    share, labels = closed_form["share"], closed_form["labels"]
    places, first = np.unique(share, return_index=True)
    x = np.geomspace(places[0], places[-1], 100)
    return x, np.exp(np.interp(np.log(x), np.log(places), np.log(labels[first])))


def _share_axis(axes: Axes) -> None:
    axes.set_xlim(0, 1.03)
    axes.xaxis.set_major_locator(FixedLocator([0, 0.2, 0.4, 0.6, 0.8, 1]))
    axes.set_xlabel(SHARE)


def _plain_numbers(axes: Axes, ticks: list[float]) -> None:
    """A logarithmic axis with numbers as one writes them."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(FixedLocator([tick for tick in ticks if low <= tick <= high]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _points(
    axes: Axes, closed_form: Arrays, values: np.ndarray, rows: np.ndarray, **look: Any
) -> None:
    """Each network's value at its share, with the look of its image set."""
    for source, (colour, marker) in _looks(closed_form).items():
        of = rows & (closed_form["source"] == source)
        options = MARKERS | {"color": colour, "marker": marker, "alpha": 0.75} | look
        axes.plot(closed_form["share"][of], values[of], **options)


def _lines(
    axes: Axes, closed_form: Arrays, values: np.ndarray, rows: np.ndarray, **look: Any
) -> None:
    """The mean over replicates of what a formula gives, one line an image set."""
    for source, (colour, _) in _looks(closed_form).items():
        of = rows & (closed_form["source"] == source) & np.isfinite(values)
        axes.plot(*_means(closed_form["share"][of], values[of]), color=colour, **look)


# One case


def _by_samples(axes: Axes, closed_form: Arrays, ratio: np.ndarray) -> None:
    """The ratio at each number of samples: all shares, and a line through the lowest."""
    samples = closed_form["samples"].astype(float)
    fitted = closed_form["floor"] < FITTED
    looks = _looks(closed_form)
    for place, (source, (colour, marker)) in enumerate(looks.items()):
        # Image sets stand beside each other.
        aside = 1.035 ** (2 * place - len(looks) + 1)
        of = closed_form["source"] == source
        for group, face in ((of & fitted, colour), (of & ~fitted, "white")):
            axes.plot(
                samples[group] * aside,
                ratio[group],
                **MARKERS | {"color": colour, "marker": marker, "markerfacecolor": face},
            )
        means = []
        for size in np.unique(samples[of]):
            at = of & (samples == size)
            means.append((size * aside, np.nanmin(_means(closed_form["share"][at], ratio[at])[1])))
        axes.plot(*np.array(means).T, color=colour, linewidth=1, zorder=1)
    sizes = np.unique(closed_form["samples"]).tolist()
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlim(sizes[0] / 1.3, sizes[-1] * 1.3)
    axes.axhline(1, color=style.BLACK, linewidth=0.8)
    axes.set_xlabel("samples $n$")
    axes.set_ylabel(RATIO)
    look: dict[str, Any] = MARKERS | {"marker": "o", "color": style.GREY}
    axes.plot([], [], **look, label="inputs fit all labels")
    axes.plot([], [], **look | {"markerfacecolor": "white"}, label="they do not")
    axes.plot([], [], color=style.GREY, linewidth=1, label="lowest mean of a share")
    axes.legend(loc="lower left", handletextpad=0.4)


def _errors(axes: Axes, closed_form: Arrays, numerics: Arrays) -> None:
    everything = np.ones(len(closed_form["share"]), dtype=bool)
    sharpness = numerics["sharpness"]
    for formula, look in (("labels", {"markerfacecolor": "white"}), ("fit", {})):
        error = np.abs(sharpness / closed_form[formula] - 1)
        _points(axes, closed_form, np.maximum(error, FLOOR), everything, **look)
    residual = float(np.nanmax(numerics["residual"]))
    axes.axhline(residual, color=style.BLACK, linewidth=0.8, linestyle="--")
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(low / 2, high * 40)
    axes.set_ylabel("relative error of the formula")
    grey: dict[str, Any] = MARKERS | {"color": style.GREY, "marker": "o"}
    handles = [
        Line2D([], [], **grey | {"markerfacecolor": "white"}, label="labels alone, eq. (14)"),
        Line2D([], [], **grey, label="least squares"),
        Line2D([], [], color=style.BLACK, linewidth=0.8, linestyle="--", label="solver's residual"),
    ]
    axes.legend(handles=handles, loc="upper center", ncols=2, columnspacing=1, handletextpad=0.4)
    _share_axis(axes)


def _one_case(closed_form: Arrays, numerics: Arrays) -> Figure:
    figure, grid = style.panels(2, 2, height=2.45)
    rows, sharpness = _main(closed_form), numerics["sharpness"]
    labels = closed_form["labels"]
    for axes, scale in ((grid[0, 0], np.ones_like(labels)), (grid[0, 1], labels)):
        _lines(axes, closed_form, closed_form["fit"] / scale, rows, linewidth=1)
        _points(axes, closed_form, sharpness / scale, rows)
        _share_axis(axes)
    grid[0, 0].plot(*_label_curve(closed_form), color=style.BLACK, linewidth=1.4)
    grid[0, 0].set_ylim(bottom=0)
    grid[0, 0].set_ylabel(r"sharpness $\lambda_{\max}$")
    grid[0, 1].axhline(1, color=style.BLACK, linewidth=1.4)
    grid[0, 1].set_ylabel(RATIO)
    _by_samples(grid[1, 0], closed_form, sharpness / labels)
    _errors(grid[1, 1], closed_form, numerics)
    samples = int(closed_form["samples"][0])
    titles = [
        f"(a) after training, n = {samples}",
        f"(b) the same over eq. (14), n = {samples}",
        "(c) all shares, each number of samples",
        "(d) both formulas, all n",
    ]
    for axes, title in zip(grid.flat, titles, strict=True):
        style.letter(axes, title)
    handles = [
        Line2D([], [], color=style.BLACK, linewidth=1.4, label="labels alone, eq. (14)"),
        Line2D([], [], color=style.GREY, linewidth=1, label="least squares (mean)"),
        *_set_handles(closed_form),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=5, columnspacing=1.4)
    return figure


def _set_handles(closed_form: Arrays) -> list[Line2D]:
    return [
        Line2D([], [], **MARKERS, color=colour, marker=marker, label=_name(source))
        for source, (colour, marker) in _looks(closed_form).items()
    ]


# Several cases


def _case_panel(axes: Axes, closed_form: Arrays, numerics: Arrays, case: str) -> None:
    rows = _main(closed_form) & (closed_form["case"] == case)
    sharpness = numerics["sharpness"]
    axes.plot(*_label_curve(closed_form), color=style.BLACK, linewidth=1.4)
    # For balanced layers the bound is the sharpness of the least-squares solution.
    if np.isfinite(closed_form["bound"][rows]).any():
        _lines(axes, closed_form, closed_form["fit"], rows, linewidth=0.9)
        _lines(axes, closed_form, closed_form["bound"], rows, linewidth=1, linestyle=":")
    elif np.isfinite(closed_form["first_layer"][rows]).any():
        _lines(axes, closed_form, closed_form["first_layer"], rows, linewidth=1, linestyle="--")
    _points(axes, closed_form, sharpness, rows)
    _share_axis(axes)
    factors = np.abs(np.log(sharpness[rows] / closed_form["labels"][rows]))
    if np.nanmax(factors, initial=0) > np.log(3):
        _plain_numbers(axes, [float(f"{m}e{e}") for e in range(-3, 6) for m in (1, 2, 5)])
    else:
        axes.set_ylim(bottom=0)
    diverged = int((closed_form["diverged_at"][rows] >= 0).sum())
    if diverged:
        text = f"{diverged} of {int(rows.sum())} diverged"
        axes.text(0.97, 0.04, text, transform=axes.transAxes, ha="right", fontsize=7)


def _by_case(axes: Axes, closed_form: Arrays, values: np.ndarray) -> None:
    """Values against the share, a colour a case and a marker an image set."""
    for place, case in enumerate(_cases(closed_form)):
        rows = _main(closed_form) & (closed_form["case"] == case)
        _points(axes, closed_form, values, rows, color=CASES[place % len(CASES)])
    _share_axis(axes)


def _several_cases(closed_form: Arrays, numerics: Arrays) -> Figure:
    cases = _cases(closed_form)
    figure, grid = style.panels(2, max(3, len(cases)), height=2.3)
    letters = iter("abcdefghijklmnopqrst")
    for axes, case in zip(grid[0], cases, strict=False):
        _case_panel(axes, closed_form, numerics, case)
        style.letter(axes, f"({next(letters)}) {_case_name(case)}")
    sharpness = numerics["sharpness"]
    defect = np.where(np.isfinite(sharpness), closed_form["defect"][:, 1], np.nan)
    _by_case(grid[1, 0], closed_form, sharpness / closed_form["labels"])
    _plain_numbers(grid[1, 0], [float(f"{m}e{e}") for e in range(-3, 5) for m in (1, 2, 5)])
    grid[1, 0].axhline(1, color=style.BLACK, linewidth=1.4)
    _by_case(grid[1, 1], closed_form, np.maximum(defect, FLOOR))
    difference = np.abs(numerics["ggn"] / sharpness - 1)
    _by_case(grid[1, 2], closed_form, np.maximum(difference, FLOOR))
    for axes in grid[1, 1:3]:
        axes.set_yscale("log")
    grid[0, 0].set_ylabel(r"sharpness $\lambda_{\max}$")
    grid[1, 0].set_ylabel(RATIO)
    grid[1, 1].set_ylabel("defect of balancedness")
    grid[1, 2].set_ylabel("relative error")
    titles = ["all, over eq. (14)", "balance of the layers", "Gauss-Newton matrix"]
    for axes, title in zip(grid[1], titles, strict=False):
        style.letter(axes, f"({next(letters)}) {title}")
    for axes in (*grid[0, len(cases) :], *grid[1, 3:]):
        axes.set_visible(False)
    figure.legend(handles=_several_handles(closed_form), loc="outside upper center", ncols=3)
    return figure


def _several_handles(closed_form: Arrays) -> list[Line2D]:
    """A column each of formulas, image sets and cases."""
    formulas = [
        Line2D([], [], color=style.BLACK, linewidth=1.4, label="labels alone, eq. (14)"),
        Line2D([], [], color=style.GREY, linewidth=0.9, label="least squares, balanced layers"),
        Line2D([], [], color=style.GREY, linestyle=":", label="bound at the weights, eq. (6)"),
        Line2D([], [], color=style.GREY, linestyle="--", label="first layer (raw inputs)"),
    ]
    colours = {case: CASES[place % len(CASES)] for place, case in enumerate(_cases(closed_form))}
    cases = [
        Line2D([], [], **MARKERS, color=colour, marker="o", label=f"{_case_name(case)} (bottom)")
        for case, colour in colours.items()
    ]
    columns = [formulas, _set_handles(closed_form), cases]
    length = max(map(len, columns))
    empty = Line2D([], [], linestyle="none", label=" ")
    return [handle for one in columns for handle in one + [empty] * (length - len(one))]


def draw(closed_form: Arrays, numerics: Arrays) -> Figure:
    """One case with its numbers of samples and errors, or several cases side by side."""
    several = len(_cases(closed_form)) > 1
    return (_several_cases if several else _one_case)(closed_form, numerics)


def caption(closed_form: Arrays, numerics: Arrays) -> str:
    """What is to be seen, with the measured numbers."""
    several = len(_cases(closed_form)) > 1
    text = (_several_caption if several else _one_caption)(closed_form, numerics)
    diverged = int((closed_form["diverged_at"] >= 0).sum())
    total = len(closed_form["share"])
    if diverged:
        return f"{text} {diverged} of {total} networks diverged and are left out."
    return f"{text} None of {total} networks diverged."


def _sets_text(closed_form: Arrays) -> str:
    return ", ".join(_name(source) for source in _looks(closed_form))


def _one_caption(closed_form: Arrays, numerics: Arrays) -> str:
    fitted, sharpness = closed_form["floor"] < FITTED, numerics["sharpness"]
    labels, fit = (np.abs(sharpness / closed_form[name] - 1) for name in ("labels", "fit"))
    sizes = ", ".join(map(str, np.unique(closed_form["samples"]).tolist()))
    groups = {"where the inputs fit all labels": fitted, "where they do not": ~fitted}
    errors = " and ".join(
        f"{np.nanmax(labels[rows]):.1e} {where}" for where, rows in groups.items() if rows.any()
    )
    return (
        f"Largest Hessian eigenvalue of trained networks ({_case_name(_cases(closed_form)[0])}) on "
        f"subsets of {_sets_text(closed_form)} in which one class has a given share. (a), (b) "
        "Markers: measured, each network; black: eq. (14), from the labels alone; thin lines: the "
        "same from the part of the labels that the inputs fit. (c) The numbers of samples "
        f"{sizes}: filled where the inputs fit all labels. Line: the share with the lowest mean; "
        "which shares there are depends on how many images the class has. (d) The largest "
        f"relative error of eq. (14) is {errors}; that of least squares {np.nanmax(fit):.1e}. "
        "Dashed: the largest residual of the numerical eigenvalues, whose error is of the order of "
        "its square."
    )


def _several_caption(closed_form: Arrays, numerics: Arrays) -> str:
    ratio = numerics["sharpness"] / closed_form["labels"]
    main = _main(closed_form)
    parts = []
    for case in _cases(closed_form):
        rows = main & (closed_form["case"] == case) & np.isfinite(ratio)
        if rows.any():
            parts.append(
                f"{_case_name(case)} {ratio[rows].min():.2f} to {ratio[rows].max():.2f} times "
                f"eq. (14), defect at most {closed_form['defect'][rows, 1].max():.1e}"
            )
    difference = np.nanmax(np.abs(numerics["ggn"] / numerics["sharpness"] - 1))
    return (
        f"Largest Hessian eigenvalue of trained networks on {int(closed_form['samples'][0])} "
        f"images of {_sets_text(closed_form)}, where one assumption of the theory is dropped at a "
        "time. Top: markers, each network; black, eq. (14); where inputs are whitened and layers "
        "linear also the least-squares solution with balanced layers and the bound (6) at the "
        "trained weights; for raw inputs the first layer's part, their largest second moment times "
        f"σ_max²(W_L ... W_2). Bottom, after training: {'; '.join(parts)}. The Gauss-Newton matrix "
        f"alone has the Hessian's largest eigenvalue to {difference:.1e}."
    )

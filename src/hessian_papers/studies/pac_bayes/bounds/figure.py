"""Bounds by method, how they fall, and how posterior variances go with the curvature."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hessian_papers.studies.pac_bayes.bounds.reading import Reading, architecture, rows_of
from hessian_spectra.pictures import style

# A colour and a marker for each method.
LOOKS: dict[str, dict[str, Any]] = {
    "base": {"color": style.GREY, "marker": "o"},
    "approximate": {"color": style.ORANGE, "marker": "s"},
    "iterative": {"color": style.BLUE, "marker": "D"},
    "iterative, decaying": {"color": style.SKY, "marker": "^"},
    "iterative, printed output": {"color": style.VERMILION, "marker": "v"},
    "iterative, nearest": {"color": style.GREEN, "marker": "p"},
    "iterative, exact": {"color": style.PURPLE, "marker": "*"},
}
# How far apart methods stand beside each other.
ASIDE = 0.8
# Which quantile of the variances is the middle.
LOW, MIDDLE, HIGH = 0, 1, 2


def _places(reading: Reading) -> np.ndarray:
    """Where the methods stand around a network's tick."""
    count = len(reading.methods)
    return np.asarray(ASIDE * ((np.arange(count) + 0.5) / count - 0.5))


def _by_method(axes: Axes, reading: Reading, name: str, *, filled: bool = True) -> None:
    """One point a seed, by network and method."""
    for tick, network in enumerate(reading.networks):
        for aside, method in zip(_places(reading), reading.methods, strict=True):
            values = reading.of(name, network, method)
            look = LOOKS[method] | ({} if filled else {"markerfacecolor": "none"})
            axes.plot(
                np.full(len(values), tick + aside), values, linestyle="none", markersize=4,
                alpha=0.8, **look,
            )  # fmt: skip
    axes.set_xticks(range(len(reading.networks)), reading.networks)
    axes.set_xlim(-0.5, len(reading.networks) - 0.5)


def _printed(axes: Axes, reading: Reading) -> None:
    """A dash for each number that is printed."""
    places = _places(reading)
    for row in rows_of(reading):
        tick = reading.networks.index(architecture(row))
        middle = tick + places[reading.methods.index(row.method)]
        axes.hlines(row.bound, middle - 0.06, middle + 0.06, color=style.BLACK, linewidth=1.2)


def _paths(axes: Axes, reading: Reading, network: str) -> None:
    """How the divergence falls while a posterior is trained."""
    epochs = reading["path_epoch"]
    for method in reading.methods:
        values = reading.of("path_divergence", network, method)
        values = values[np.isfinite(values).all(axis=1)]
        if len(values):
            color = LOOKS[method]["color"]
            axes.plot(epochs, values.mean(axis=0), color=color, linewidth=1.2)
            axes.set_yscale("log")
    axes.set_xlabel("epochs of the posterior")
    axes.set_ylabel(r"$\mathrm{KL}(Q \, \| \, P)$")


def _variances(axes: Axes, reading: Reading, network: str) -> None:
    """Variances of the first layer by the curvature in their directions."""
    for method in reading.methods:
        values = reading.of("variances", network, method)[0, 0]
        if not np.isfinite(values).any():
            continue
        places = (np.arange(len(values)) + 0.5) / len(values)
        color = LOOKS[method]["color"]
        axes.plot(places, values[:, MIDDLE], color=color, linewidth=1.2)
        axes.fill_between(places, values[:, LOW], values[:, HIGH], color=color, alpha=0.12, lw=0)
        axes.set_yscale("log")
    axes.set_xlabel("directions by descending curvature, share")
    axes.set_ylabel("posterior variance")


def _top(values: Any) -> float:
    """Where an axis ends: above all that is finite."""
    result = np.concatenate([np.atleast_1d(part) for part in values])
    return 1.08 * float(result[np.isfinite(result)].max(initial=0.0)) or 1.0


def _repeated(reading: Reading) -> Figure:
    """Held-out errors against bounds, one point a network."""
    figure, axes = style.panels(1, 1, height=2.6)
    bounds, errors = reading["bound"].ravel(), reading["held_out_error"].ravel()
    axes.plot(bounds, errors, linestyle="none", markersize=3, alpha=0.7, **LOOKS["approximate"])
    ends = [0, _top([*bounds, *errors])]
    axes.plot(ends, ends, color=style.BLACK, linewidth=0.8)
    axes.set_xlim(*ends)
    axes.set_ylim(*ends)
    axes.set_xlabel("bound")
    axes.set_ylabel("error on held-out images")
    return figure


def draw(reading: Reading) -> Figure:
    """Bounds and errors by method; paths and variances of the first network."""
    assert reading.failures.size, "raises where every posterior diverged"
    if len(reading.networks) == len(reading.methods) == 1:
        return _repeated(reading)
    figure, grid = style.panels(2, 2, height=2.3)
    letters = style.letters()
    bounds, errors, paths, variances = grid.ravel()
    _by_method(bounds, reading, "bound")
    _printed(bounds, reading)
    bounds.set_ylabel("bound on the error")
    style.letter(bounds, f"({next(letters)})")
    _by_method(errors, reading, "error")
    _by_method(errors, reading, "held_out_error", filled=False)
    errors.set_ylabel("error of drawn networks")
    style.letter(errors, f"({next(letters)})")
    for axes in (bounds, errors):
        axes.set_ylim(0, _top([line.get_ydata() for line in axes.lines]))
    network = reading.networks[0]
    _paths(paths, reading, network)
    style.letter(paths, f"({next(letters)}) {network}")
    _variances(variances, reading, network)
    style.letter(variances, f"({next(letters)}) {reading.layer(network)}:{network}")
    handles = [
        Line2D([], [], linestyle="none", markersize=4, label=method, **LOOKS[method])
        for method in reading.methods
    ]
    if rows_of(reading):
        handles.append(Line2D([], [], color=style.BLACK, linewidth=1.2, label="printed"))
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    return figure


def caption(reading: Reading) -> str:
    """What is to be seen, how to read it, and the setting."""
    samples, held_out = (int(reading[name].flat[0]) for name in ("samples", "held_out"))
    confidence = f"{reading.confidence:g}"
    if len(reading.networks) == len(reading.methods) == 1:
        return (
            f"Bounds at confidence {confidence} and what they promise: errors of drawn networks "
            "on held-out images lie below the line, one point a network trained on "
            f"{samples} images of its own, {held_out} others held out."
        )
    return (
        "How tight a PAC-Bayes bound is depends on the basis in which the posterior's covariance "
        "is diagonal, and on how often that is renewed. (a) The bound, one point a network with "
        "initial weights and images of its own; dashes: Table 10. (b) What "
        "the error of drawn networks is at most on these images (filled), and their error on "
        f"{held_out} others (hollow). (c) The divergence while the posterior is trained, mean "
        "over networks. (d) Posterior variances in the first layer by the curvature of the "
        "Kronecker product in their directions: the middle and the band from the tenth to the "
        f"ninetieth percentile, of the first network. Confidence {confidence}, {samples} images."
    )

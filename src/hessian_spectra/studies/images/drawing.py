"""What figures of image networks through training share: columns, names, the axis of epochs."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from hessian_spectra.results import Arrays

NAMES = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST"}


def image_set(source: str) -> str:
    """The name of an image set as a title, without the split that a file's name tells.

    Example:
        >>> image_set("fashion-mnist"), image_set("cifar10-train"), image_set("my-own")
        ('Fashion-MNIST', 'CIFAR-10', 'my-own')
    """
    return "CIFAR-10" if source.startswith("cifar10") else NAMES.get(source, source)


def columns(closed_form: Arrays, numerics: Arrays) -> dict[str, list[tuple[Arrays, Arrays]]]:
    """Both sides of each network, by image set in their order."""
    found: dict[str, list[tuple[Arrays, Arrays]]] = {}
    for name, source in closed_form.items():
        number, _, field = name.partition("/")
        if field == "source":
            sides = _network(closed_form, number), _network(numerics, number)
            found.setdefault(str(source), []).append(sides)
    return found


def _network(arrays: Arrays, number: str) -> Arrays:
    start = f"{number}/"
    return {n.removeprefix(start): a for n, a in arrays.items() if n.startswith(start)}


def epoch_axis(axes: Axes, last: int, *, narrow: bool) -> None:
    """Epochs in the logarithm from 1 on, with the start, epoch 0, at a distance of its own."""
    axes.set_xscale("symlog", linthresh=1, linscale=0.4)
    decades = int(np.ceil(np.log10(max(last, 10))))
    step = 2 if narrow else 1
    axes.xaxis.set_major_locator(FixedLocator([0, *(10**d for d in range(0, decades + 1, step))]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(_power))
    axes.set_xlim(-0.3, last * 1.6)


def _power(epoch: float, _: int | None) -> str:
    return f"{epoch:.0f}" if epoch <= 1 else f"$10^{{{np.log10(epoch):.0f}}}$"

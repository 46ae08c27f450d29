"""The size of the outputs of networks at initialisation as they get wide (cracking, D.1.3).

The appendix prints the variance n_l/n_(l-1) for the maximal-update parametrisation, which it takes
from work that has another one. What both make of the outputs is measured here.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
import xarray as xr

from hessian_papers.constraints import AtLeast, Count, DifferentNumbers
from hessian_papers.labelled import Variable, Variables, data_set
from hessian_papers.models.parametrisation import parametrise
from hessian_papers.studies.base import StudyConfig
from hessian_spectra.seeding import generator

# The maximal-update parametrisation with the variance that is printed.
PRINTED = "mup_printed"
SCALES = ("sp", "ntp", "mup", PRINTED)
ACTIVATIONS = ("linear", "relu")


@dataclass(frozen=True, kw_only=True)
class Config(StudyConfig):
    """Settings of the study.

    Args:
        depths: numbers L of layers.
        widths: m, of all hidden layers.
        size: D, the number of inputs and of outputs.
        samples: normal inputs of each network.
        draws: of the weights at each width.
    """

    depths: Annotated[list[int], DifferentNumbers(2)]
    widths: Annotated[list[int], DifferentNumbers(2)]
    size: Count
    samples: Count
    draws: Annotated[int, AtLeast(2)]


def factors(scale: str, sizes: Sequence[int]) -> list[float]:
    """The standard deviation of each layer's weights times its multiplier.

    Args:
        scale: a parametrisation of the library, or the printed one: variance d_l/d_(l-1).
        sizes: d_0, ..., d_L.
    """
    if scale == PRINTED:
        return [math.sqrt(out / fan_in) for fan_in, out in itertools.pairwise(sizes)]
    of = parametrise(scale, sizes)
    return [a * b for a, b in zip(of.standard_deviations, of.multipliers, strict=True)]


def _sizes(config: Config, depth: int, width: int) -> list[int]:
    return [config.size, *[width] * (depth - 1), config.size]


def expected(activation: str, scale: str, sizes: Sequence[int]) -> float:
    """The root of the mean square of an output, over weights and normal inputs.

    A layer multiplies the mean square by its fan-in times its squared factor; a ReLU halves it.
    """
    of_layers = zip(factors(scale, sizes), sizes[:-1], strict=True)
    halves = len(sizes) - 2 if activation == "relu" else 0
    return math.sqrt(math.prod(factor**2 * fan_in for factor, fan_in in of_layers) / 2**halves)


VARIABLES: Variables = {
    "scale": Variable("scale", "the parametrisation, or the variance that is printed"),
    "activation": Variable("activation", "of the hidden layers"),
    "depth": Variable("depth", "number of layers L"),
    "width": Variable("width", "m, of all hidden layers"),
    "expected": Variable(
        "scale activation depth width",
        "root of the mean square of an output, over weights and normal inputs",
    ),
    "output": Variable(
        "width draw scale activation depth", "root of the mean square of a network's outputs"
    ),
}


def _labels(config: Config) -> dict[str, list[Any]]:
    return {
        "scale": list(SCALES),
        "activation": list(ACTIVATIONS),
        "depth": list(config.depths),
        "width": list(config.widths),
    }


def closed_form(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """The expected size of the outputs, see :func:`expected`."""
    labels = _labels(config)
    sizes = [
        expected(activation, scale, _sizes(config, depth, width))
        for scale, activation, depth, width in itertools.product(*labels.values())
    ]
    shape = [*map(len, labels.values())]
    return data_set({**labels, "expected": np.reshape(sizes, shape)}, VARIABLES)


def numerics(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """The size of the outputs of networks that are drawn."""
    labels = _labels(config)
    draws = itertools.product(config.widths, range(config.draws))
    sizes = [list(_of_draw(config, width, number)) for width, number in draws]
    *kinds, widths = map(len, labels.values())
    return data_set(
        {**labels, "output": np.reshape(sizes, (widths, config.draws, *kinds))}, VARIABLES
    )


def _of_draw(config: Config, width: int, number: int) -> Iterator[float]:
    """One draw of normal numbers, from which networks of all kinds and depths are made."""
    numbers = generator(config.seed, f"width {width}, draw {number}")

    def normal(rows: int, columns: int) -> torch.Tensor:
        return torch.randn(rows, columns, generator=numbers, dtype=torch.float64)

    x = normal(config.size, config.samples)
    first, last = normal(width, config.size), normal(config.size, width)
    hidden = [normal(width, width) for _ in range(max(config.depths) - 2)]
    *kinds, _ = _labels(config).values()
    for scale, activation, depth in itertools.product(*kinds):
        layers = [first, *hidden[: depth - 2], last]
        of = factors(scale, _sizes(config, depth, width))
        outputs = _outputs(layers, of, x, relu=activation == "relu")
        yield float(outputs.square().mean().sqrt())


def _outputs(
    layers: Sequence[torch.Tensor], of: Sequence[float], x: torch.Tensor, *, relu: bool
) -> torch.Tensor:
    """Outputs ``(D, n)`` of a network on inputs ``(D, n)``, its weights times their factors."""
    signal = x
    for place, (layer, factor) in enumerate(zip(layers, of, strict=True)):
        signal = factor * (layer @ signal)
        if relu and place < len(layers) - 1:
            signal = signal.relu()
    return signal

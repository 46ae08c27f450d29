"""The variances, scales and updates of a network's weights as its layers get wide."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from hessian_spectra.models import Activation, Ensemble
from hessian_spectra.seeding import generator

PARAMETRISATIONS = ("sp", "mup", "ntp")


@dataclass(frozen=True, kw_only=True)
class Parametrisation:
    """The numbers of a parametrisation for each layer, from the first to the last.

    Args:
        standard_deviations: of the Gaussian weights W_l at initialisation.
        multipliers: a_l, the fixed factor of W_l in the network.
        learning_rates: r_l, the learning rate of W_l relative to the base rate, for (stochastic)
            gradient descent.
    """

    standard_deviations: tuple[float, ...]
    multipliers: tuple[float, ...]
    learning_rates: tuple[float, ...]


def parametrise(name: str, sizes: Sequence[int]) -> Parametrisation:
    """Scales of the layers of f(x) = a_L W_L φ(⋯ φ(a_1 W_1 x)), with W_l ``(d_l, d_{l−1})``.

    ========  =====================================  ==============  ============
    name      variance of the weights                multiplier a_l  rate r_l
    ========  =====================================  ==============  ============
    ``sp``    1/(3 d_{l−1})                          1               1
    ``ntp``   1                                      1/√d_{l−1}      1
    ``mup``   min(1, d_l/d_{l−1}) / d_{l−1}          1               d_l/d_{l−1}
    ========  =====================================  ==============  ============

    As the hidden layers get wide, one step of gradient descent at a fixed base rate changes the
    outputs by an amount that grows with the width (``sp``), or by a fixed amount while the hidden
    features stay where they are (``ntp``, the kernel regime), or changes features and outputs by
    fixed amounts (``mup``).

    Args:
        name: ``sp``, the standard parametrisation; ``ntp``, the neural-tangent parametrisation; or
            ``mup``, the maximal-update parametrisation.
        sizes: d_0, ..., d_L.

    Source: singh2026cracking, appendix D.1.3. The constant of ``sp`` is left open there: 1/3 is the
    variance of PyTorch's default for linear layers, which D.1.3 names. The multiplier of ``ntp`` is
    written 1/√n_l there, fan-in or fan-out; Jacot et al. (2018) take the fan-in, without which the
    outputs would not stay finite. Variance d_l/d_{l−1} and rates 1/d_{l−1} are printed for ``mup``:
    between hidden layers that variance is 1, and every layer would multiply its signals by the
    square root of its width. The table has the condition of Yang, Simon and Bernstein (2023) on
    spectral norms, which is equivalent to Yang et al. (2022): standard deviation
    min(1, √(d_l/d_{l−1})) / √d_{l−1}.

    Example:
        >>> parametrise("mup", (1, 100, 1)).learning_rates
        (100.0, 0.01)
    """
    fan_ins = sizes[:-1]
    multipliers = rates = deviations = (1.0,) * len(fan_ins)
    if name == "sp":
        deviations = tuple(1 / math.sqrt(3 * fan_in) for fan_in in fan_ins)
    elif name == "ntp":
        multipliers = tuple(1 / math.sqrt(fan_in) for fan_in in fan_ins)
    else:
        rates = tuple(fan_out / fan_in for fan_in, fan_out in itertools.pairwise(sizes))
        scaled = zip(rates, fan_ins, strict=True)
        deviations = tuple(math.sqrt(min(1, rate) / fan_in) for rate, fan_in in scaled)
    return Parametrisation(
        standard_deviations=deviations, multipliers=multipliers, learning_rates=rates
    )


def draw(
    name: str,
    sizes: Sequence[int],
    activation: Activation,
    seed: int,
    networks: Sequence[int],
    dtype: torch.dtype = torch.float64,
) -> Ensemble:
    """Networks at initialisation, with Gaussian weights.

    Network k is the same in whatever company it is drawn, and in every precision up to rounding.

    Args:
        name: the parametrisation, see :func:`parametrise`.
        sizes: d_0, ..., d_L.
        activation: ``linear`` or ``relu``.
        seed: seed of the whole ensemble.
        networks: the numbers k of the networks to draw.
        dtype: precision of the result.

    Example:
        >>> two = draw("sp", (2, 3, 1), "linear", 0, [4, 7])
        >>> item = draw("sp", (2, 3, 1), "linear", 0, [7])
        >>> two.count, bool((two.weights[0][1] == item.weights[0][0]).all())
        (2, True)
    """
    scales = parametrise(name, sizes)
    draws = [generator(seed, f"weights {network}") for network in networks]
    return Ensemble(
        weights=tuple(
            torch.stack(
                [
                    deviation * torch.randn(rows, columns, dtype=torch.float64, generator=numbers)
                    for numbers in draws
                ]
            ).to(dtype)
            for deviation, rows, columns in zip(
                scales.standard_deviations, sizes[1:], sizes[:-1], strict=True
            )
        ),
        multipliers=scales.multipliers,
        activation=activation,
    )

"""The layer-wise Hessian of a two-layer ReLU classifier of growing width (wu2022dissecting, 4).

Networks at initialisation with n hidden units and d = n^(1+α) inputs; what the theorems and lemmas
say of them as n grows, and the forms that hold given the weights. Expectations over the inputs are
sampled: from the inputs themselves where they are rectified Gaussian, as in the paper, and exactly
from the law of the pre-activations given the weights where they are Gaussian.

The inputs come in two halves, whose products leave the squared error of the sampling out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import scipy

from hessian_papers.constraints import AtLeast, Different, Positive
from hessian_papers.studies.base import StudyConfig
from hessian_papers.studies.layerwise.infinite_width.quantities import (
    activation_errors,
    layer_quantities,
    output_quantities,
    softmax_errors,
    top_space,
)
from hessian_papers.studies.layerwise.infinite_width.sampling import Expectations, Network
from hessian_papers.work import FanOut, Item
from hessian_spectra import closed_form as cf
from hessian_spectra.files import Arrays
from hessian_spectra.seeding import generator
from hessian_spectra.validation import (
    require,
    require_at_least,
    require_different_numbers,
)

LAWS = ("rectified", "gaussian")
SMALLEST_WIDTH, LARGEST_LAYER = 8, 10**8


@dataclass(frozen=True, kw_only=True)
class Config(StudyConfig):
    """Settings of the study.

    Args:
        laws: some of ``LAWS``: how the entries of an input are distributed.
        widths: hidden units n.
        classes: c.
        alpha: α; there are d = n^(1+α) inputs, rounded.
        draws: draws of the weights, at each width and law.
        samples: inputs of each network, half of them a and half b.
        layer_samples: those of them, likewise in halves, that the Hessian of the first layer's
            weights is made of; its dual matrix has c times half as many rows.
    """

    laws: Annotated[list[str], Different(tuple(LAWS))]
    widths: list[int]
    classes: Annotated[int, AtLeast(2)]
    alpha: Positive
    draws: Annotated[int, AtLeast(2)]
    samples: int
    layer_samples: int

    def __post_init__(self) -> None:
        super().__post_init__()
        # Fewer units may all be inactive; the space of all units is no top space.
        require_different_numbers(max(self.classes + 1, SMALLEST_WIDTH), self, "widths")
        weights = max(width * _inputs(self, width) for width in self.widths)
        expected = f"at most {LARGEST_LAYER} weights n d of the first layer"
        require(weights <= LARGEST_LAYER, "alpha", expected, weights)
        require_at_least(4 * self.classes, self, "layer_samples")
        enough = self.samples >= self.layer_samples
        expected = f"at least the {self.layer_samples} layer_samples"
        require(enough, "samples", expected, self.samples)


def closed_form(config: Config, networks: Arrays) -> Arrays:
    """What the quantities tend to given the weights, and two integrals that are wrong in print.

    With rectified inputs a unit is active with probability ``π = Φ(g/√(π−1))``, ``g ~ N(0, 1)``, so
    that ``E π² = 1/4 + arcsin(1/π)/(2π)``; with Gaussian ones ``π = 1/2``.

    Returns:
        For each of the ``l`` laws: ``active_square`` ``(l,)``, E π²; ``printed_space`` ``(l,)``, of
        the overlap of the rows' space with the top space, ``(E π)²/E π²``; ``projected`` ``(l,)``,
        of ``‖W M Wᵀ‖²/‖M‖²``, its square. ``fourth`` and ``printed_fourth``, the fourth central
        moment of eq. (90); ``norm`` and ``printed_norm`` ``(w,)``, the squared Frobenius norm of
        eq. (186) for each width's d.
    """
    squares = {"rectified": 0.25 + np.arcsin(1 / np.pi) / (2 * np.pi), "gaussian": 0.25}
    square = np.array([squares[law] for law in config.laws])
    common = (6 * np.pi**2 - 10 * np.pi - 3) * (np.pi - 1)
    d = np.array([_inputs(config, width) for width in config.widths], dtype=np.float64)
    leading = d**2 / (4 * np.pi**2)
    return {
        "active_square": square,
        "printed_space": 0.25 / square,
        "projected": (0.25 / square) ** 2,
        "fourth": np.array(common * (np.pi - 1) / (16 * np.pi**4)),
        "printed_fourth": np.array(common / (8 * np.pi**3)),
        "norm": leading + d * (np.pi**2 - 1) / (4 * np.pi**2),
        "printed_norm": leading + d * (np.pi - 1) / (2 * np.pi),
    }


def _inputs(config: Config, width: int) -> int:
    """The number d of inputs."""
    return round(float(width) ** min(1 + config.alpha, 16.0))


def _items(config: Config, networks: Arrays) -> list[Item]:
    common = ("classes", "samples", "layer_samples", "seed")
    return [
        {"law": law, "width": width, "inputs": _inputs(config, width), "draw": draw}
        | {name: getattr(config, name) for name in common}
        for law in config.laws
        for width in config.widths
        for draw in range(config.draws)
    ]


def measure(
    *,
    law: str,
    width: int,
    inputs: int,
    draw: int,
    classes: int,
    samples: int,
    layer_samples: int,
    seed: int,
) -> Arrays:
    """What is measured of one network; see :func:`_gather`."""
    purpose = f"{law} inputs, width {width}, {inputs} inputs, {classes} classes, draw {draw}"
    network = Network.drawn(law, width, inputs, classes, generator(seed, f"weights: {purpose}"))
    kept = layer_samples // 2 if law == "rectified" else 0
    halves = [
        Expectations.sampled(network, samples // 2, kept, generator(seed, f"{half}: {purpose}"))
        for half in ("a", "b")
    ]
    mean, variance = network.pre_activations
    moments = cf.rectified_moments(mean, variance.sqrt())
    values = softmax_errors(network, moments, halves) | activation_errors(moments.active, halves)
    spaces = [top_space(half.output, classes - 1) for half in halves]
    values |= output_quantities(network, moments.active, halves, spaces)
    if kept:
        values |= layer_quantities(halves, spaces)
    values["row_sum"] = network.second.sum(dim=1).square().mean()
    return {name: np.array(float(value)) for name, value in values.items()}


def _gather(config: Config, parts: Sequence[Arrays]) -> Arrays:
    """The arrays of all networks.

    Returns:
        ``law`` ``(l,)``, ``width`` and ``inputs`` ``(w,)``, ``classes``, ``samples`` and
        ``layer_samples``; ``fourth`` and ``norm`` as in :func:`closed_form`, by quadrature. Then,
        each ``(l, w, r)`` over the draws:

        One less an overlap: ``independence`` (S₁ and S₂ of Theorem 4.2), ``space`` and
        ``printed_space`` (S₁ and what is said of it), ``layer`` (V₁ and V₂ of Theorem 4.1).
        Ratios of eigenvalues λ_c/λ_(c−1): ``ratio`` (of M), ``layer_ratio`` (of H).
        Mean squares: ``formula`` and ``printed_formula`` (of M − M*, over ‖M‖²), ``softmax`` and
        ``printed_softmax`` (of E[A] less that of Gaussian logits, over ‖E[A]‖²), ``active`` and
        ``printed_active`` (of P(D_jj = 1) less what is said of it, mean over units), ``row_sum``
        (of Σ_j W_ij, mean over classes).
        Ratios of squared norms: ``norms`` (‖M‖² over ‖M*‖²), ``projections`` (the same of W M Wᵀ
        and W M* Wᵀ), ``projected`` (‖W M Wᵀ‖² over ‖M‖²), ``projected_copy`` (likewise of M*).
        What the sampling alone would add to estimates from all inputs at once: ``space_noise``,
        ``layer_noise`` and ``softmax_noise``. What is about H is NaN for Gaussian inputs, whose
        E[xxᵀ] is not near rank one.
    """
    shape = len(config.laws), len(config.widths), config.draws
    names = list(dict.fromkeys(name for part in parts for name in part))
    missing = np.array(np.nan)
    sizes = [_inputs(config, width) for width in config.widths]
    return (
        {name: np.array(getattr(config, name)) for name in ("classes", "samples", "layer_samples")}
        | {"law": np.array(config.laws), "width": np.array(config.widths)}
        | {"inputs": np.array(sizes)}
        | _integrals(np.array(sizes, dtype=np.float64))
        | {n: np.array([p.get(n, missing) for p in parts]).reshape(shape) for n in names}
    )


def _integrals(inputs: np.ndarray) -> Arrays:
    """The fourth central moment of eq. (90) and the squared norm of eq. (186), by quadrature."""

    def mean(power: int, deviation: float, centre: float = 0.0) -> float:
        """``E (relu(s ξ) − centre)^power``."""
        density = scipy.stats.norm.pdf
        integral = scipy.integrate.quad(
            lambda x: (deviation * x - centre) ** power * density(x), 0, 12, epsabs=1e-13
        )
        return float(integral[0]) + (-centre) ** power / 2

    deviation = np.sqrt((np.pi - 1) / (2 * np.pi))
    fourth = mean(4, deviation, mean(1, deviation))
    first, second = mean(1, 1.0), mean(2, 1.0)
    norm = inputs * second**2 + inputs * (inputs - 1) * first**4
    return {"fourth": np.array(fourth), "norm": norm}


def _cost(item: Item) -> float:
    """Roughly the operations of drawing the inputs and their pre-activations."""
    columns = item["inputs"] if item["law"] == "rectified" else item["width"]
    products = (columns + item["classes"] * item["width"]) * item["width"]
    return float(item["samples"]) * float(products + 20 * columns) + 1e8


def _probe(item: Item) -> Item:
    return {**item, "samples": item["layer_samples"]}


numerics = FanOut(items=_items, compute=measure, gather=_gather, cost=_cost, probe=_probe)

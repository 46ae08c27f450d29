"""The layer-wise Hessian of a two-layer ReLU classifier of growing width (wu2022dissecting, 4).

Networks at initialisation with n hidden units and d = n^(1+α) inputs; what the theorems and lemmas
say of them as n grows, and the forms that hold given the weights. Expectations over the inputs are
sampled: from the inputs themselves where they are rectified Gaussian, as in the paper, and exactly
from the law of the pre-activations given the weights where they are Gaussian.

The inputs come in two halves, whose products leave the squared error of the sampling out. The
square of its mean stays: of H, of 256 inputs each, some 1e-4.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import xarray as xr

from hessian_papers.constraints import AtLeast, Different, DifferentNumbers, PositiveNumbers
from hessian_papers.labelled import Variable, Variables, assembled, data_set
from hessian_papers.studies.base import StudyConfig
from hessian_papers.studies.layerwise.infinite_width.quantities import (
    activation_errors,
    conditioned_softmax,
    layer_quantities,
    output_quantities,
    softmax_errors,
    top_space,
    weight_quantities,
)
from hessian_papers.studies.layerwise.infinite_width.sampling import Expectations, Network
from hessian_papers.theorems import rectified
from hessian_papers.work import FanOut, Item
from hessian_spectra import closed_form as cf
from hessian_spectra.files import Arrays
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require

LAWS = ("rectified", "gaussian")
SMALLEST_WIDTH, LARGEST_LAYER = 8, 2 * 10**8
AXES = ("law", "classes", "alpha", "width", "draw")


@dataclass(frozen=True, kw_only=True)
class Config(StudyConfig):
    """Settings of the study.

    Args:
        laws: some of ``LAWS``: how the entries of an input are distributed.
        widths: hidden units n.
        classes: numbers of classes c.
        alpha: exponents α; there are d = n^(1+α) inputs, rounded. With some α a width is left out:
            its first layer would have more than ``LARGEST_LAYER`` weights.
        draws: draws of the weights, of each width with each law, c and α.
        samples: inputs of each network, half of them a and half b.
        layer_samples: those of them, likewise in halves, that the Hessian of the first layer's
            weights is made of; its dual matrix has c times half as many rows.
    """

    laws: Annotated[list[str], Different(tuple(LAWS))]
    widths: list[int]
    classes: Annotated[list[int], DifferentNumbers(2)]
    alpha: PositiveNumbers
    draws: Annotated[int, AtLeast(2)]
    samples: int
    layer_samples: int

    def __post_init__(self) -> None:
        super().__post_init__()
        # Fewer units may all be inactive; the space of all units is no top space.
        different = DifferentNumbers(max(max(self.classes) + 1, SMALLEST_WIDTH))
        require(different.fits(self.widths), "widths", different.expected, self.widths)
        # Each α has a width, and each width an α.
        extremes = (max(self.alpha), min(self.widths)), (min(self.alpha), max(self.widths))
        weights = max(width * _inputs(alpha, width) for alpha, width in extremes)
        expected = f"at most {LARGEST_LAYER} weights n d of the first layer"
        require(weights <= LARGEST_LAYER, "alpha", expected, weights)
        least = 4 * max(self.classes)
        enough = self.layer_samples >= least
        require(enough, "layer_samples", f"at least {least}", self.layer_samples)
        enough = self.samples >= self.layer_samples
        expected = f"at least the {self.layer_samples} layer_samples"
        require(enough, "samples", expected, self.samples)


# Of each network. What is about H is NaN for Gaussian inputs, whose E[xxᵀ] is not near rank one,
# and so is what is about the weights and about two active units.
QUANTITIES = {
    "independence": "one less the overlap of S₁ and S₂ of Theorem 4.2",
    "space": "one less the overlap of S₁ with its form",
    "printed_space": "one less the overlap of S₁ with what is said of it",
    "layer": "one less the overlap of V₁ and V₂ of Theorem 4.1",
    "ratio": "λ_c/λ_(c−1) of M",
    "layer_ratio": "λ_c/λ_(c−1) of H",
    "formula": "‖M − M*‖² over ‖M‖²",
    "printed_formula": "‖M − M*‖² over ‖M‖², M* as printed",
    "softmax": "squared distance of E[A] from that of Gaussian logits, over ‖E[A]‖²",
    "printed_softmax": "squared distance of E[A] from that of logits as printed, over ‖E[A]‖²",
    "active": "P(D_jj = 1) less its form, mean square over units",
    "printed_active": "P(D_jj = 1) less 1/2, mean square over units",
    "row_sum": "Σ_j W_ij, mean square over classes",
    "row_norms": "largest | ‖W_i‖² − 1 | of the second layer",
    "first_gram": "‖W Wᵀ − I‖ of the first layer, spectral norm",
    "second_gram": "‖W Wᵀ − I‖ of the second layer",
    "largest_first": "largest entry of the first layer over 2 d^(−1/3)",
    "largest_second": "largest entry of the second layer over 2 n^(−1/3)",
    "columns": "largest norm of a column of the first layer over 5 n^(−α/2)",
    "conditioned": "‖E[A | two units are active] − E[A]‖² over ‖E[A]‖²",
    "norms": "‖M‖² over ‖M*‖²",
    "projections": "‖W M Wᵀ‖² over ‖W M* Wᵀ‖²",
    "projected": "‖W M Wᵀ‖² over ‖M‖²",
    "projected_copy": "‖W M* Wᵀ‖² over ‖M*‖²",
}
VARIABLES: Variables = {
    "law": Variable("law", "how the entries of an input are distributed"),
    "width": Variable("width", "hidden units n"),
    "draw": Variable("draw", "of the weights"),
    "inputs": Variable("alpha width", "inputs d"),
    "classes": Variable("classes", "classes c"),
    "alpha": Variable("alpha", "α of the d = n^(1+α) inputs"),
    "samples": Variable("", "inputs of each network"),
    **{name: Variable(" ".join(AXES), meaning) for name, meaning in QUANTITIES.items()},
    "space_limit": Variable("law", "(E π)²/E π², of the rows' space and the top space, π a unit's"),
    "projected_limit": Variable("law", "its square, of ‖W M Wᵀ‖²/‖M‖²"),
    "fourth": Variable("", "fourth central moment of eq. (90), by quadrature"),
    "exact_fourth": Variable("", "its closed form"),
    "printed_fourth": Variable("", "its closed form as printed"),
    "norm": Variable("alpha width", "squared Frobenius norm of eq. (186), by quadrature"),
    "exact_norm": Variable("alpha width", "its closed form"),
    "printed_norm": Variable("alpha width", "its closed form as printed"),
}


def closed_form(config: Config, networks: xr.Dataset) -> xr.Dataset:
    """The limits of the quantities given the weights, and two integrals that are wrong in print."""
    inputs = _all_inputs(config)
    labels = {"law": config.laws, "alpha": config.alpha, "width": config.widths, "inputs": inputs}
    theory = rectified.limits(config.laws) | rectified.stated(inputs)
    return data_set(labels | theory, VARIABLES)


def _inputs(alpha: float, width: int) -> int:
    """The number d of inputs."""
    return round(float(width) ** min(1 + alpha, 16.0))


def _all_inputs(config: Config) -> np.ndarray:
    """The numbers of inputs, ``(alpha, width)``."""
    rows = [[_inputs(alpha, width) for width in config.widths] for alpha in config.alpha]
    return np.array(rows, dtype=np.float64)


def _items(config: Config, networks: xr.Dataset) -> list[Item]:
    common = {name: getattr(config, name) for name in ("samples", "layer_samples", "seed")}
    sizes = [
        (alpha, width)
        for alpha in config.alpha
        for width in config.widths
        if width * _inputs(alpha, width) <= LARGEST_LAYER
    ]
    every = itertools.product(config.laws, config.classes, sizes, range(config.draws))
    return [
        {"labels": dict(zip(AXES, (law, classes, *size, draw), strict=True)), **common}
        for law, classes, size, draw in every
    ]


def measure(labels: Mapping[str, Any], samples: int, layer_samples: int, seed: int) -> Arrays:
    """The labels and :data:`QUANTITIES` of one network."""
    law, classes, alpha, width, draw = (labels[name] for name in AXES)
    inputs = _inputs(alpha, width)
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
        values |= layer_quantities(halves, spaces) | weight_quantities(network)
        values |= conditioned_softmax(halves)
    values["row_sum"] = network.second.sum(dim=1).square().mean()
    numbers = {name: float(value) for name, value in values.items()} | {"samples": samples}
    return {name: np.array(value) for name, value in {**labels, **numbers}.items()}


def _gather(config: Config, parts: Sequence[Arrays]) -> xr.Dataset:
    """The data set of all networks."""
    # Widths come in the order of the first α, which may lack some.
    data = assembled(parts, VARIABLES, AXES).sel(width=config.widths)
    return data.assign(data_set(rectified.by_quadrature(_all_inputs(config)), VARIABLES))


def _cost(item: Item) -> float:
    """Roughly the operations of drawing the inputs and their pre-activations."""
    law, classes, alpha, width, _ = (item["labels"][name] for name in AXES)
    columns = _inputs(alpha, width) if law == "rectified" else width
    products = (columns + classes * width) * width
    return float(item["samples"]) * float(products + 20 * columns) + 1e8


def _probe(item: Item) -> Item:
    return {**item, "samples": item["layer_samples"]}


numerics = FanOut(items=_items, compute=measure, gather=_gather, cost=_cost, probe=_probe)

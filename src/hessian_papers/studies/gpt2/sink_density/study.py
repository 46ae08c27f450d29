"""Attention sinks that are forced upon a trained language model, and its Hessian's spectrum.

singh2026cracking (section 4.3, D.1.6) adds a bias to the scores of the first token in the first
head of every block. That edit raises the loss as well, so two others stand beside it: the same
attention on a token in the middle, and a random change of the weights with the same rise of the
loss. The edges of the spectrum are extreme Ritz values with residuals: a kernel shows where the
mass of the spectrum is, but an outlier's move only where it is larger than the kernel is wide.
"""

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated, Any

import numpy as np
import torch
import xarray as xr
from torch import nn

from hessian_papers.constraints import Above, Ascending, AtLeast, Between, Count, Each
from hessian_papers.labelled import Variable, Variables, gathering
from hessian_papers.models import gpt2 as architectures
from hessian_papers.networks.base import shared
from hessian_papers.networks.tools.divergence import surviving
from hessian_papers.networks.tools.kept_models import KeptModel, kept_model
from hessian_papers.networks.tools.memory import Megabytes, product_memory
from hessian_papers.studies.base import EnsembleStudyConfig
from hessian_papers.studies.gpt2.extremes import Extremes
from hessian_papers.studies.gpt2.functional_parts import by_operation
from hessian_papers.studies.gpt2.released_hessian import ReleasedHessian
from hessian_papers.studies.gpt2.seeds import ATTENTION, OPERATIONS
from hessian_papers.studies.gpt2.sink_density.derived import SINK
from hessian_papers.studies.gpt2.sink_density.edits import EDITS, edited, loss_of, mass_on, middle
from hessian_papers.work import FanOut, Item
from hessian_spectra import curvature as cv
from hessian_spectra.curvature import Which
from hessian_spectra.files import Arrays
from hessian_spectra.validation import require

ENDS: dict[str, Which] = {"largest": "largest algebraic", "smallest": "smallest algebraic"}
GGN = "ggn"
# The control of which there are several directions, what is averaged over them, and how far apart
# their seeds are: those of the networks follow each other.
RANDOM = "random-weights"
AVERAGED = ("strength", "mass", "loss", "eigenvalue", "residual")
BETWEEN = 1000
# Products that an extreme eigenvalue takes, about, as a unit of cost.
PRODUCTS = 25
# The most products of curvlinops for each of its extreme eigenvalues.
RELEASED_PRODUCTS = 10
Masses = Each("shares of the attention in (0, 1), ascending", lambda mass: 0 < mass < 1)


@dataclass(frozen=True, kw_only=True)
class LadderMeasurement:
    """The settings that the measurement of a ladder depends on.

    Args:
        seed: of the random vectors.
        masses: the mean attention on the token in the edited heads, ascending, after the model's
            own, with which each ladder begins; those that are not above it are left out.
        directions: random directions in which the weights are changed, for a control.
        tolerance: relative residual of the extreme eigenvalues.
        probes: random vectors of the density.
        products: Hessian-vector products for each of them.
        points: of the density's grid.
        kappa: how far the density's kernel falls between two points of a grid as fine as it has
            products; with these it decides the kernel's width, see :func:`kernel_width`.
        memory: megabytes that a product may take, about; null: most of what is free on its device.
    """

    seed: int
    masses: Annotated[list[float], Masses, Ascending(Masses.expected)]
    directions: Count
    tolerance: Annotated[float, Between(1e-6, 0.1, "a relative residual from 1e-6 to 0.1")]
    probes: Annotated[int, AtLeast(2)]
    products: int
    points: Annotated[int, AtLeast(2)]
    kappa: Annotated[float, Above(1.0, "a number above 1")]
    memory: Megabytes


@dataclass(frozen=True, kw_only=True)
class Config(LadderMeasurement, EnsembleStudyConfig):
    """The study's configuration."""

    def __post_init__(self) -> None:
        super().__post_init__()
        narrow = self.products >= 2 and kernel_width(self.kappa, self.products) < 1
        expected = "so many that the kernel is narrower than the spectrum"
        require(narrow, "products", expected, self.products)

    def require_networks(self, networks: Any) -> None:
        """Refuse networks without attention, or of which no weights are kept."""
        suited = ATTENTION in getattr(networks, "variants", ()) and len(networks.kept) > 0
        expected = f"networks with the variant {ATTENTION!r} and steps that are kept"
        require(suited, "ensemble", expected, self.ensemble)


def kernel_width(kappa: float, products: int) -> float:
    """The standard deviation of curvlinops' kernel, as a share of the spectrum's range.

    With m products it is ``2 / ((m − 1) √(8 ln κ))`` on [−1, 1], onto which the range is mapped
    with a margin of 5 % at either side: half-way between two of m points, the kernels on these have
    fallen by κ.

    Source: curvlinops 3.0.1, ``lanczos_approximate_spectrum``, after Papyan (2020), appendix D.2.

    Example:
        >>> round(kernel_width(3.0, 1024), 6)
        0.000363
    """
    return 1.1 / ((products - 1) * math.sqrt(8 * math.log(kappa)))


def _edges(operator: cv.SymmetricOperator, top: Extremes) -> Arrays:
    """``eigenvalue`` and ``residual`` of the largest and the smallest one."""
    for end, which in ENDS.items():
        top.search(end, operator, which=which)
    return dict(zip(("eigenvalue", "residual"), top.columns(ENDS), strict=True))


def _gauss_newton(problem: cv.Problem, top: Extremes) -> Arrays:
    """``ggn`` and ``ggn_residual``, at first from the Hessian's eigenvector."""
    top.search(GGN, cv.ggn(problem), "largest")
    return dict(zip((GGN, f"{GGN}_residual"), map(np.array, top.pairs[GGN]), strict=True))


def _released(problem: cv.Problem, top: Extremes) -> Arrays:
    """Top eigenpairs by the product of curvlinops as it is released, from those found last."""
    operator, scale = ReleasedHessian(problem), float(np.abs(top.columns(ENDS)[0]).max())
    names = {end: f"released {end}" for end in ENDS}
    for end, name in names.items():
        how: Any = {"largest": end == "largest", "products": RELEASED_PRODUCTS, "scale": scale}
        top.search_released(name, operator, end, **how)
    columns = top.columns(names.values())
    return dict(zip(("released_eigenvalue", "released_residual"), columns, strict=True))


def _density(operator: cv.SymmetricOperator, settings: LadderMeasurement) -> Arrays:
    """The density with its error bars, and the quadratures behind it."""
    density = cv.spectral_density(
        operator,
        probes=settings.probes,
        steps=settings.products,
        width=kernel_width(settings.kappa, settings.products),
        points=settings.points,
        seed=settings.seed,
    )
    return {
        "grid": density.grid.numpy(),
        "density": density.density.numpy(),
        "density_error": density.standard_error.numpy(),
        "node": density.nodes.numpy(),
        "weight": density.weights.numpy(),
        "width": np.array(density.width),
    }


def measure(
    edit: str, kept: KeptModel, facts: Mapping[str, Any], settings: LadderMeasurement
) -> Arrays:
    """One ladder of one network from no edit to the strongest, or the strongest edit of a control.

    Args:
        edit: one of :data:`EDITS`.
        kept: the network, and the sequences that the loss is of.
        facts: what else is to be kept.
        settings: the rest.

    Returns:
        What :data:`VARIABLES` declares, without the dimensions ``seed`` and ``edit``. Of a control,
        at the last rung alone, what stands before the density; random weights have the mass of the
        first token, and of each number the mean over directions.
    """
    if edit == RANDOM:
        seeds = [settings.seed + number * BETWEEN for number in range(settings.directions)]
        each = [_measured(edit, kept, facts, replace(settings, seed=seed)) for seed in seeds]
        means = {name: np.mean([arrays[name] for arrays in each], axis=0) for name in AVERAGED}
        return each[0] | means
    return _measured(edit, kept, facts, settings)


def _measured(
    edit: str, kept: KeptModel, facts: Mapping[str, Any], settings: LadderMeasurement
) -> Arrays:
    """The result of :func:`measure`, with one direction of random weights."""
    model = kept.load()
    data = torch.from_numpy(kept.tokens).to(next(model.parameters()).device)
    # The released product passes while the graph of ours is kept.
    memory = product_memory(settings.memory, data.device, operators=2)

    def problem_of(network: nn.Module) -> cv.Problem:
        loss = architectures.language_loss
        return cv.Problem(network, loss_fn=loss, data=[data], weights=len, memory=memory)

    problem = problem_of(model)
    token = middle(data) if edit == "middle-token" else 0
    first, last = edit == SINK, len(settings.masses)
    targets = settings.masses if first else settings.masses[-1:]
    steps = chain([0.0] if first else [], edited(edit, model, data, targets, settings.seed))
    top = Extremes(tol=settings.tolerance, seed=settings.seed)
    rungs: dict[int, dict[str, Any]] = {}
    released: dict[int, dict[str, Any]] = {}
    for rung, strength in enumerate(steps, 0 if first else last):
        if math.isnan(strength):
            continue
        operator, mass = cv.hessian(problem), mass_on(model, data, token)
        rungs[rung] = {"strength": strength, "mass": mass, "loss": loss_of(model, data)}
        rungs[rung] |= _edges(operator, top)
        if first:
            rungs[rung] |= _density(operator, settings) | _gauss_newton(problem, top)
            exact, value = problem_of(copy.deepcopy(model).double()), rungs[rung]["eigenvalue"][0]
            rungs[rung] |= by_operation(exact, top.vectors["largest"], float(value))
        if first and rung in (0, last):
            released[rung] = _released(problem, top)
    arrays = _on_rungs(rungs, last + 1)
    if first:
        # The model still has the strongest sink.
        density = _density(ReleasedHessian(problem), settings)
        quadrature = {f"released_{name}": density[name] for name in ("node", "weight")}
        arrays |= _on_rungs(released, last + 1) | quadrature
        arrays["operation"] = np.array(OPERATIONS)
    sequences, length = data.shape
    more = {
        **facts,
        "edit": edit,
        "end": [*ENDS],
        "rung": range(last + 1),
        "target": [np.nan, *settings.masses],
        "parameters": problem.size,
        "sequences": sequences,
        "length": length - 1,
    }
    return arrays | {name: np.array(value) for name, value in more.items()}


def _on_rungs(parts: Mapping[int, Mapping[str, Any]], count: int) -> Arrays:
    """The arrays of some rungs, with NaN at all others."""
    absent = {
        name: np.full(np.shape(values), np.nan)
        for part in parts.values()
        for name, values in part.items()
    }
    return {
        name: np.stack([parts.get(rung, absent)[name] for rung in range(count)]) for name in absent
    }


def _items(config: Config, networks: xr.Dataset) -> list[Item]:
    """Each edit of each network: the weights at the end of its training."""
    items: list[Item] = []
    _, seeds = surviving(networks, "variant", [ATTENTION])
    for seed in seeds:
        kept = kept_model(networks, ATTENTION, seed, networks["kept"][-1].item())
        training = {
            "step": networks["step"].values,
            "training_mass": networks["mass"].sel(variant=ATTENTION, seed=seed).values,
        }
        items += [
            {
                "edit": edit,
                "kept": kept,
                "facts": {"seed": seed} | (training if edit == SINK else {}),
                # Other random vectors for each network.
                "settings": LadderMeasurement(
                    **shared(LadderMeasurement, config) | {"seed": config.seed + seed}
                ),
            }
            for edit in EDITS
        ]
    return items


def _cost(item: Item) -> float:
    """The products that it takes, about."""
    settings: LadderMeasurement = item["settings"]
    each = 2.0 * PRODUCTS
    if item["edit"] == SINK:
        # Those of curvlinops take twice as long.
        density = settings.probes * settings.products
        # A product of the GGN, or one in float64, takes about as long as one of the Hessian.
        return (len(settings.masses) + 1) * (1.5 * each + density) + 2 * (each + density)
    return 2 * each * (settings.directions if item["edit"] == RANDOM else 1)


def _probe(item: Item) -> Item:
    """The study with the strongest edit alone, one direction and a coarse density."""
    settings: LadderMeasurement = item["settings"]
    few = replace(settings, masses=settings.masses[-1:], directions=1, probes=2, products=5)
    return {**item, "settings": few}


# What each edit has at each rung.
EDITED = "seed edit rung"
VARIABLES: Variables = {
    "seed": Variable("seed", "seed of the network's training"),
    "edit": Variable("edit", "the sink on the first token, a control beside it, or none left"),
    "rung": Variable("rung", "which strength of the edit; 0 is none"),
    "end": Variable("end", "which end of the spectrum"),
    "step": Variable("step", "training step of a measurement"),
    "target": Variable("rung", "mean attention on the token that is asked for"),
    "parameters": Variable("", "number of weights"),
    "sequences": Variable("", "number of sequences"),
    "length": Variable("", "tokens of a sequence"),
    "strength": Variable(EDITED, "the bias, or the relative length of the change of weights"),
    "mass": Variable(EDITED, "mean attention on the token in the edited heads"),
    "loss": Variable(EDITED, "loss of the edited model", "nats"),
    "eigenvalue": Variable(f"{EDITED} end", "extreme eigenvalue of the Hessian"),
    "residual": Variable(f"{EDITED} end", "relative residual of the eigenvalue"),
    GGN: Variable("seed rung", "largest eigenvalue of the Gauss-Newton matrix with the sink"),
    f"{GGN}_residual": Variable("seed rung", "relative residual of that eigenvalue"),
    "operation": Variable("operation", "the operation of the network"),
    "operation_part": Variable(
        "seed rung operation", "its part of vᵀFv over the Hessian's largest eigenvalue"
    ),
    "functional": Variable("seed rung", "vᵀFv over the Hessian's largest eigenvalue"),
    "released_eigenvalue": Variable("seed rung end", "the same by curvlinops' released product"),
    "released_residual": Variable("seed rung end", "relative residual by the released product"),
    "grid": Variable("seed rung point", "eigenvalues at which there is a density"),
    "density": Variable("seed rung point", "spectral density"),
    "density_error": Variable("seed rung point", "standard error of the density over the probes"),
    "width": Variable("seed rung", "standard deviation of the density's kernel"),
    "node": Variable("seed rung probe rank", "Ritz values behind the density"),
    "weight": Variable("seed rung probe rank", "their weights"),
    "released_node": Variable("seed probe rank", "Ritz values by the released product, last rung"),
    "released_weight": Variable("seed probe rank", "their weights"),
    "training_mass": Variable("seed step layer head", "mean attention on the first token"),
}

gpt2 = FanOut(
    items=_items,
    compute=measure,
    gather=gathering(VARIABLES, "seed", "edit"),
    cost=_cost,
    probe=_probe,
)

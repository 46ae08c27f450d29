"""Attention sinks that are forced upon a trained language model, and its Hessian's spectrum.

singh2026cracking (section 4.3, D.1.6) adds a bias to the scores of the first token in the first
head of every block. That edit raises the loss as well, so two others stand beside it: the same
attention on a token in the middle, and a random change of the weights with the same rise of the
loss. The edges of the spectrum are extreme Ritz values with residuals: a kernel shows where the
mass of the spectrum is, but an outlier's move only where it is larger than the kernel is wide.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor

from hessian_papers.constraints import AtLeast, Count
from hessian_papers.models import gpt2
from hessian_papers.networks.base import shared
from hessian_papers.networks.tools.divergence import surviving
from hessian_papers.networks.tools.kept_models import KeptModel, kept_model
from hessian_papers.networks.tools.result import Networks
from hessian_papers.results import stacked
from hessian_papers.studies.base import EnsembleStudyConfig
from hessian_papers.studies.gpt2.arnoldi import extreme_eigenvalue
from hessian_papers.studies.gpt2.released_hessian import ReleasedHessian
from hessian_papers.studies.gpt2.seeds import ATTENTION
from hessian_papers.studies.gpt2.sink_density.edits import EDITS, edited, loss_of, mass_on, middle
from hessian_papers.work import FanOut, Item
from hessian_spectra import curvature as cv
from hessian_spectra.curvature import Which
from hessian_spectra.files import Arrays
from hessian_spectra.validation import require

ENDS: dict[str, Which] = {"largest": "largest algebraic", "smallest": "smallest algebraic"}
# Products that an extreme eigenvalue takes, about, as a unit of cost.
PRODUCTS = 25
# The most products of curvlinops for each of its extreme eigenvalues.
RELEASED_PRODUCTS = 10


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the measurement of a ladder depends on.

    Args:
        seed: of the random vectors.
        masses: the mean attention on the token in the edited heads, ascending, after the model's
            own, with which each ladder begins.
        tolerance: relative residual of the extreme eigenvalues.
        probes: random vectors of the density.
        products: Hessian-vector products for each of them.
        points: of the density's grid.
        kappa: how far the density's kernel falls between two points of a grid as fine as it has
            products; with these it decides the kernel's width, see :func:`kernel_width`.
        memory: megabytes that a product may take, about.
    """

    seed: int
    masses: list[float]
    tolerance: float
    probes: Annotated[int, AtLeast(2)]
    products: int
    points: Annotated[int, AtLeast(2)]
    kappa: float
    memory: Count


@dataclass(frozen=True, kw_only=True)
class Config(Settings, EnsembleStudyConfig):
    """The study's configuration."""

    def __post_init__(self) -> None:
        super().__post_init__()
        masses = list(self.masses)
        ascending = all(a < b for a, b in pairwise(masses))
        fits = bool(masses) and ascending and all(0 < mass < 1 for mass in masses)
        require(fits, "masses", "shares of the attention in (0, 1), ascending", masses)
        fits = 1e-6 <= self.tolerance <= 0.1
        require(fits, "tolerance", "a relative residual from 1e-6 to 0.1", self.tolerance)
        require(self.kappa > 1, "kappa", "a number above 1", self.kappa)
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


class _Edges:
    """The extreme eigenvalues, each search started from what the one before found."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.vectors: dict[str, Tensor] = {}
        self.scale = 0.0

    def __call__(self, operator: cv.SymmetricOperator) -> Arrays:
        """``<end>`` and ``<end>_residual`` of the largest and the smallest eigenvalue."""
        arrays: Arrays = {}
        for end, which in ENDS.items():
            pair = cv.top_eigenpairs(
                operator,
                k=1,
                tol=self._settings.tolerance,
                which=which,
                start=self.vectors.get(end),
                seed=self._settings.seed,
            )
            assert pair.residuals is not None
            self.vectors[end] = pair.eigenvectors()[:, 0]
            arrays[end] = np.array(float(pair.eigenvalues[0]))
            arrays[f"{end}_residual"] = np.array(float(pair.residuals[0]))
        self.scale = max(abs(float(arrays[end])) for end in ENDS)
        return arrays


def _density(operator: cv.SymmetricOperator, settings: Settings) -> Arrays:
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
        "nodes": density.nodes.numpy(),
        "weights": density.weights.numpy(),
        "width": np.array(density.width),
    }


def _released(problem: cv.Problem, edges: _Edges, settings: Settings) -> Arrays:
    """The extreme eigenvalues by the product of curvlinops as it is released."""
    operator = ReleasedHessian(problem)
    arrays: Arrays = {}
    for end in ENDS:
        value, residual = extreme_eigenvalue(
            operator,
            edges.vectors[end],
            largest=end == "largest",
            tol=settings.tolerance,
            scale=edges.scale,
            products=RELEASED_PRODUCTS,
        )
        arrays[f"released_{end}"] = np.array(value)
        arrays[f"released_{end}_residual"] = np.array(residual)
    return arrays


def measure(edit: str, kept: KeptModel, training: Arrays, settings: Settings) -> Arrays:
    """One ladder of one network from no edit to the strongest, or the strongest edit of a control.

    Args:
        edit: one of :data:`EDITS`.
        kept: the network, and the sequences that the loss is of.
        training: what is to be kept of the network's training.
        settings: the rest.

    Returns:
        Of the sink on the first token, with ``r`` rungs of which the first is no edit:
        ``strength``, ``mass`` of the token, ``loss``, the extreme eigenvalues and their residuals
        (r,), the density (r, ...), ``released_<end>`` (2,) at the first and the last rung and the
        density's ``released_nodes`` and ``released_weights`` at the last one, ``parameters``,
        ``sequences`` and what was to be kept. Of a control, at the last rung alone, all that stands
        before the density (1,); random weights have the mass of the first token.
    """
    model = kept.load()
    data = torch.from_numpy(kept.tokens).to(next(model.parameters()).device)
    memory = settings.memory << 20
    problem = cv.Problem(model, loss_fn=gpt2.language_loss, data=[data], weights=len, memory=memory)
    token = middle(data) if edit == "middle-token" else 0
    first = edit == EDITS[0]
    targets = settings.masses if first else settings.masses[-1:]
    ladder = edited(edit, model, data, targets, settings.seed)
    edges = _Edges(settings)
    rungs: list[Arrays] = []
    released: list[Arrays] = []
    for strength in chain([0.0] if first else [], ladder):
        facts = {"strength": strength, "mass": mass_on(model, data, token)}
        facts["loss"] = loss_of(model, data)
        operator = cv.hessian(problem)
        rung = {name: np.array(value) for name, value in facts.items()} | edges(operator)
        rungs.append(rung | (_density(operator, settings) if first else {}))
        if first and len(rungs) in (1, len(targets) + 1):
            released.append(_released(problem, edges, settings))
    if not first:
        return stacked(rungs)
    # The model still has the strongest sink.
    wrong = ReleasedHessian(problem)
    density = _density(wrong, settings)
    quadrature = {f"released_{name}": density[name] for name in ("nodes", "weights")}
    sequences = np.array(data.shape) - (0, 1)
    arrays = {"parameters": np.array(problem.size), "sequences": sequences}
    return stacked(rungs) | stacked(released) | quadrature | arrays | training


def _items(config: Config, networks: Arrays) -> list[Item]:
    """Each edit of each network: the weights at the end of its training."""
    assert isinstance(networks, Networks)
    variant = networks["variant"].tolist().index(ATTENTION)
    items: list[Item] = []
    _, seeds = surviving(networks, "variant", [ATTENTION])
    for number, seed in enumerate(networks["seed"].tolist()):
        if seed not in seeds:
            continue
        kept = kept_model(networks, ATTENTION, seed, networks["kept"][-1].item())
        training = {
            "training_step": networks["step"],
            "training_mass": networks["mass"][variant, number],
            "training_largest": networks["hessian"][variant, number],
        }
        items += [
            {
                "edit": edit,
                "kept": kept,
                "training": training if edit == EDITS[0] else {},
                # Other random vectors for each network.
                "settings": Settings(**shared(Settings, config) | {"seed": config.seed + seed}),
            }
            for edit in EDITS
        ]
    return items


def _cost(item: Item) -> float:
    """The products that it takes, about."""
    settings: Settings = item["settings"]
    each = 2.0 * PRODUCTS
    if item["edit"] == EDITS[0]:
        # Those of curvlinops take twice as long.
        density = settings.probes * settings.products
        return (len(settings.masses) + 1) * (each + density) + 2 * (each + density)
    return 2 * each


def _probe(item: Item) -> Item:
    """The study with the strongest edit alone and a coarse density."""
    settings: Settings = item["settings"]
    few = replace(settings, masses=settings.masses[-1:], probes=2, products=5)
    return {**item, "settings": few}


def _gather(config: Config, parts: Sequence[Arrays]) -> Arrays:
    """The ladders of all networks, ``s`` of them, with ``r`` rungs, and ``c`` controls.

    Returns:
        What :func:`measure` gives of the sinks, the networks first; ``control_<name>`` (s, c) of
        what it gives of the controls; ``control`` (c,); ``target`` (r − 1,) of the mass.
    """
    arrays = stacked(parts[:: len(EDITS)])
    for name in parts[1]:
        values = [part[name][0] for number, part in enumerate(parts) if number % len(EDITS)]
        arrays[f"control_{name}"] = np.reshape(values, (-1, len(EDITS) - 1))
    return arrays | {
        "control": np.array(EDITS[1:]),
        "target": np.array(config.masses),
    }


correlation = FanOut(items=_items, compute=measure, gather=_gather, cost=_cost, probe=_probe)

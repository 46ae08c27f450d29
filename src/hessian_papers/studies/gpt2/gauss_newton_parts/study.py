"""The part of the Hessian that the GGN of language models misses: by operation, weights and loss.

The Hessian is ``H = G + F``, where the functional part ``F`` sums the second derivatives of the
outputs, each by the loss's derivative with respect to it. At kept weights of a pre-training stand
here:

- the largest eigenvalues of ``H`` and ``G``, of ``H`` also by the product of curvlinops as it is
  released, which is wrong for the weights of layer norms, and both for the squared loss instead of
  the cross-entropy;
- the parts ``vᵀ F_o v`` of ``vᵀ F v``, where ``F = Σ_o F_o`` sums over the operations ``o`` of the
  network: each has the second derivative of its own; in float64;
- the parts ``v_gᵀ (F v)_g`` of ``vᵀ F v`` in which each group ``g`` of weights has its share, ``v``
  the top eigenvector of ``H``;
- the squared Frobenius norms of the rows of ``H``, ``F`` and the released product's error that
  belong to a group: the mean of ``|(A z)_g|²`` over vectors ``z`` of random signs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor, nn

from hessian_papers.constraints import AtLeast, Between
from hessian_papers.labelled import Variable, Variables, gathering
from hessian_papers.models import gpt2 as architectures
from hessian_papers.networks.base import shared
from hessian_papers.networks.tools.divergence import surviving
from hessian_papers.networks.tools.kept_models import KeptModel, kept_model
from hessian_papers.networks.tools.memory import Megabytes, product_memory
from hessian_papers.studies.base import EnsembleStudyConfig
from hessian_papers.studies.gpt2.arnoldi import extreme_eigenvalue
from hessian_papers.studies.gpt2.functional_parts import by_operation
from hessian_papers.studies.gpt2.released_hessian import ReleasedHessian
from hessian_papers.studies.gpt2.seeds import OPERATIONS
from hessian_papers.studies.layerwise.ensembles import top_of
from hessian_papers.work import FanOut, Item
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require

# The groups of weights, by what is in the name of a parameter.
GROUPS = {"attention": ".attn.", "MLP": ".mlp.", "norm": "ln_", "embedding": ".w"}
# The most products of a search that starts from the eigenvector of the right matrix.
RELEASED_PRODUCTS = 30


@dataclass(frozen=True, kw_only=True)
class PartsMeasurement:
    """The settings that the measurement of a network depends on.

    Args:
        seed: of the random vectors.
        tolerance: relative residual of the eigenvalues.
        probes: random vectors of the Frobenius norms.
        memory: megabytes that a product may take, about; null: most of what is free on its device.
    """

    seed: int
    tolerance: Annotated[float, Between(1e-6, 0.1, "a relative residual from 1e-6 to 0.1")]
    probes: Annotated[int, AtLeast(2)]
    memory: Megabytes


@dataclass(frozen=True, kw_only=True)
class Config(PartsMeasurement, EnsembleStudyConfig):
    """The study's configuration."""

    def require_networks(self, networks: Any) -> None:
        """Refuse networks that are no language models, or of which no weights are kept."""
        suited = hasattr(networks, "variants") and bool(getattr(networks, "kept", ()))
        require(suited, "ensemble", "language models of which weights are kept", self.ensemble)


def group_of(name: str) -> str:
    """The group that a parameter of GPT-2 belongs to.

    Example:
        >>> [group_of(f"transformer.{name}") for name in ("h.0.attn.c_attn.weight", "wte.weight")]
        ['attention', 'embedding']
        >>> group_of("transformer.h.3.ln_2.bias"), group_of("transformer.ln_f.weight")
        ('norm', 'norm')
    """
    return next(group for group, part in GROUPS.items() if part in name)


def _sums(problem: cv.Problem, values: Tensor) -> np.ndarray:
    """The sum of a vector ``(p,)`` over each group of weights, ``(g,)``, in float64."""
    rows = dict.fromkeys(GROUPS, 0.0)
    for name, part in zip(problem.names, problem.split(values), strict=True):
        rows[group_of(name)] += float(part.double().sum())
    return np.array(list(rows.values()))


class _Top:
    """Largest eigenvalues of several matrices, and their relative residuals."""

    def __init__(self, settings: PartsMeasurement) -> None:
        self._settings = settings
        self.pairs: dict[str, tuple[float, float]] = {}

    def __call__(
        self, name: str, operator: cv.SymmetricOperator, start: Tensor | None = None
    ) -> Tensor:
        """Keep the eigenvalue of a matrix; its eigenvector ``(p,)``."""
        settings = self._settings
        top = top_of(operator, 1, tol=settings.tolerance, start=start, seed=settings.seed)
        self.pairs[name] = float(top.values[0]), float(top.residuals[0])
        return top.vectors[:, 0]

    def released(self, operator: cv.SymmetricOperator, start: Tensor) -> None:
        """Keep that of the released product, searched from the right matrix's eigenvector."""
        self.pairs["released hessian"] = extreme_eigenvalue(
            operator,
            start,
            largest=True,
            tol=self._settings.tolerance,
            scale=self.pairs["hessian"][0],
            products=RELEASED_PRODUCTS,
        )


def _squares(
    problem: cv.Problem, matrices: Sequence[cv.SymmetricOperator], settings: PartsMeasurement
) -> Iterator[np.ndarray]:
    """For each probe ``|(A z)_g|²``, ``(3, g)``: of H, F and the released product's error."""
    hessian, ggn, released = matrices
    draws = generator(settings.seed, "probes")
    for _ in range(settings.probes):
        signs = torch.randint(0, 2, (problem.size,), generator=draws, dtype=torch.int8)
        probe = signs.to(problem.device, problem.dtype).mul_(2).sub_(1)
        image = hessian @ probe
        rows = (image, image - ggn @ probe, released @ probe - image)
        yield np.stack([_sums(problem, row.square()) for row in rows])


def measure(kept: KeptModel, facts: Mapping[str, Any], settings: PartsMeasurement) -> Arrays:
    """The part of one network's Hessian that the GGN misses.

    Args:
        kept: the network, and the sequences that the loss is of.
        facts: what else is to be kept.
        settings: the rest.

    Returns:
        What :data:`VARIABLES` declares, with the facts in place of their dimensions.
    """
    model = kept.load()
    # The graphs of Hessian and GGN are kept at once.
    memory = product_memory(settings.memory, next(model.parameters()).device, operators=2)

    def problem_of(loss: Callable[[nn.Module, Tensor], Any]) -> cv.Problem:
        # The problem brings its batches to where the model is.
        data = [torch.from_numpy(kept.tokens)]
        return cv.Problem(model, loss_fn=loss, data=data, weights=len, memory=memory)

    problem, top = problem_of(architectures.language_loss), _Top(settings)
    hessian, ggn = cv.hessian(problem), cv.ggn(problem)
    released = ReleasedHessian(problem)
    vector = top("hessian", hessian)
    top.released(released, vector)
    top("ggn", ggn, vector)
    missed = _sums(problem, vector * (hessian @ vector - ggn @ vector))
    rows = np.stack([*_squares(problem, (hessian, ggn, released), settings)], axis=1)
    del hessian, ggn, released  # the graphs that they hold
    squared = problem_of(architectures.squared_loss)
    # The network was checked with the other loss, and either loss with dense matrices in tests.
    start = top("squared hessian", cv.hessian(squared, check=False), vector)
    top("squared ggn", cv.ggn(squared, check=False), start)
    model.double()
    exact = problem_of(architectures.language_loss)
    eigenvalues, residuals = zip(*top.pairs.values(), strict=True)
    arrays = {
        **facts,
        "matrix": [*top.pairs],
        "group": [*GROUPS],
        "eigenvalue": eigenvalues,
        "residual": residuals,
        "missed": missed / eigenvalues[0],
        "operation": OPERATIONS,
        **by_operation(exact, vector, top.pairs["hessian"][0]),
        **dict(zip(("hessian_rows", "functional_rows", "released_rows"), rows, strict=True)),
    }
    return {name: np.array(values) for name, values in arrays.items()}


def _items(config: Config, networks: xr.Dataset) -> list[Item]:
    """Each variant with each seed at each step whose weights are kept."""
    settings = PartsMeasurement(**shared(PartsMeasurement, config))
    labels = *surviving(networks, "variant"), networks["kept"].values.tolist()
    return [
        {
            "kept": kept_model(networks, variant, seed, step),
            "facts": {"variant": variant, "seed": seed, "step": step},
            "settings": settings,
        }
        for variant, seed, step in product(*labels)
    ]


ROWS = "variant seed step probe group"
VARIABLES: Variables = {
    "variant": Variable("variant", "the architecture"),
    "seed": Variable("seed", "seed of the training"),
    "step": Variable("step", "training step whose weights are kept"),
    "matrix": Variable("matrix", "Hessian or GGN, with which product and loss"),
    "group": Variable("group", "the kind of weights"),
    "eigenvalue": Variable("variant seed step matrix", "largest eigenvalue"),
    "residual": Variable("variant seed step matrix", "relative residual of the eigenvalue"),
    "operation": Variable("operation", "the operation of the network"),
    "operation_part": Variable(
        "variant seed step operation", "its part of vᵀFv over the Hessian's eigenvalue"
    ),
    "functional": Variable("variant seed step", "vᵀFv over the Hessian's eigenvalue"),
    "missed": Variable("variant seed step group", "part of vᵀFv over the Hessian's eigenvalue"),
    "hessian_rows": Variable(ROWS, "|(Hz)_g|² of random signs z"),
    "functional_rows": Variable(ROWS, "|(Fz)_g|² of random signs z"),
    "released_rows": Variable(ROWS, "|(Ez)_g|² of random signs z, E the released product's error"),
}

gpt2 = FanOut(items=_items, compute=measure, gather=gathering(VARIABLES, "variant", "seed", "step"))

"""The part of the Hessian that the GGN of language models misses: by operation and loss.

The Hessian is ``H = G + F``, where the functional part ``F`` sums the second derivatives of the
outputs, each by the loss's derivative with respect to it. At kept weights of a pre-training stand
here:

- the largest eigenvalues of ``H`` and ``G``, of ``H`` also by the product of curvlinops as it is
  released, which is wrong for the weights of layer norms, and both for the squared loss instead of
  the cross-entropy;
- the parts ``vᵀ F_o v`` of ``vᵀ F v``, where ``F = Σ_o F_o`` sums over the operations ``o`` of the
  network: each has the second derivative of its own; in float64.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor, nn

from hessian_papers.constraints import Between
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
from hessian_papers.studies.gpt2.seeds import OPERATIONS
from hessian_papers.work import FanOut, Item
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.validation import require

# The most products of a search that starts from the eigenvector of the right matrix.
RELEASED_PRODUCTS = 30


@dataclass(frozen=True, kw_only=True)
class PartsMeasurement:
    """The settings that the measurement of a network depends on.

    Args:
        seed: of the vector that the Hessian's eigenvector is searched from.
        tolerance: relative residual of the eigenvalues.
        memory: megabytes that a product may take, about; null: most of what is free on its device.
    """

    seed: int
    tolerance: Annotated[float, Between(1e-6, 0.1, "a relative residual from 1e-6 to 0.1")]
    memory: Megabytes


@dataclass(frozen=True, kw_only=True)
class Config(PartsMeasurement, EnsembleStudyConfig):
    """The study's configuration."""

    def require_networks(self, networks: Any) -> None:
        """Refuse networks that are no language models, or of which no weights are kept."""
        suited = hasattr(networks, "variants") and bool(getattr(networks, "kept", ()))
        require(suited, "ensemble", "language models of which weights are kept", self.ensemble)


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

    problem = problem_of(architectures.language_loss)
    top = Extremes(tol=settings.tolerance, seed=settings.seed)
    hessian, ggn = cv.hessian(problem), cv.ggn(problem)
    top.search("hessian", hessian)
    (largest, _), vector = top.pairs["hessian"], top.vectors["hessian"]
    how: Any = {"largest": True, "products": RELEASED_PRODUCTS, "scale": largest}
    top.search_released("released hessian", ReleasedHessian(problem), "hessian", **how)
    top.search("ggn", ggn, "hessian")
    del hessian, ggn  # the graphs that they hold
    squared = problem_of(architectures.squared_loss)
    # The network was checked with the other loss, and either loss with dense matrices in tests.
    top.search("squared hessian", cv.hessian(squared, check=False), "hessian")
    top.search("squared ggn", cv.ggn(squared, check=False), "squared hessian")
    model.double()
    exact = problem_of(architectures.language_loss)
    eigenvalues, residuals = top.columns(top.pairs)
    arrays = {
        **facts,
        "matrix": [*top.pairs],
        "eigenvalue": eigenvalues,
        "residual": residuals,
        "operation": OPERATIONS,
        **by_operation(exact, vector, largest),
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


VARIABLES: Variables = {
    "variant": Variable("variant", "the architecture"),
    "seed": Variable("seed", "seed of the training"),
    "step": Variable("step", "training step whose weights are kept"),
    "matrix": Variable("matrix", "Hessian or GGN, with which product and loss"),
    "eigenvalue": Variable("variant seed step matrix", "largest eigenvalue"),
    "residual": Variable("variant seed step matrix", "relative residual of the eigenvalue"),
    "operation": Variable("operation", "the operation of the network"),
    "operation_part": Variable(
        "variant seed step operation", "its part of vᵀFv over the Hessian's eigenvalue"
    ),
    "functional": Variable("variant seed step", "vᵀFv over the Hessian's eigenvalue"),
}

gpt2 = FanOut(items=_items, compute=measure, gather=gathering(VARIABLES, "variant", "seed", "step"))

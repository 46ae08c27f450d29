"""What the GGN of language models misses: by kind of weights, by loss, with which product.

The Hessian is ``H = G + F``, where the functional part ``F`` sums the second derivatives of the
outputs, each by the loss's derivative with respect to it. At kept weights of a pre-training stand
here:

- the largest eigenvalues of ``H`` and ``G``, of ``H`` also by the product of curvlinops as it is
  released, which is wrong for the weights of layer norms, and both for the squared loss instead of
  the cross-entropy;
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
from torch import Tensor, nn

from hessian_papers.constraints import AtLeast, Count
from hessian_papers.models import gpt2
from hessian_papers.networks.base import shared
from hessian_papers.networks.tools.divergence import surviving
from hessian_papers.networks.tools.kept_models import KeptModel, kept_model
from hessian_papers.networks.tools.result import Networks
from hessian_papers.studies.base import EnsembleStudyConfig
from hessian_papers.studies.gpt2.arnoldi import extreme_eigenvalue
from hessian_papers.studies.gpt2.released_hessian import ReleasedHessian
from hessian_papers.studies.layerwise.ensembles import top_of
from hessian_papers.studies.layerwise.gathering import gathered
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
class Settings:
    """What the measurement of a network depends on.

    Args:
        seed: of the random vectors.
        tolerance: relative residual of the eigenvalues.
        probes: random vectors of the Frobenius norms.
        memory: megabytes that a product may take, about.
    """

    seed: int
    tolerance: float
    probes: Annotated[int, AtLeast(2)]
    memory: Count


@dataclass(frozen=True, kw_only=True)
class Config(Settings, EnsembleStudyConfig):
    """The study's configuration."""

    def __post_init__(self) -> None:
        super().__post_init__()
        fits = 1e-6 <= self.tolerance <= 0.1
        require(fits, "tolerance", "a relative residual from 1e-6 to 0.1", self.tolerance)

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
    """Largest eigenvalues of several matrices."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.arrays: Arrays = {}

    def __call__(
        self, name: str, operator: cv.SymmetricOperator, start: Tensor | None = None
    ) -> Tensor:
        """Keep ``<name>`` and ``<name>_error``, its relative residual; the eigenvector ``(p,)``."""
        settings = self._settings
        top = top_of(operator, 1, tol=settings.tolerance, start=start, seed=settings.seed)
        self.arrays[name] = np.array(float(top.values[0]))
        self.arrays[f"{name}_error"] = np.array(float(top.residuals[0]))
        return top.vectors[:, 0]

    def released(self, operator: cv.SymmetricOperator, start: Tensor) -> None:
        """Keep ``released`` and its residual, searched from the right matrix's eigenvector."""
        value, residual = extreme_eigenvalue(
            operator,
            start,
            largest=True,
            tol=self._settings.tolerance,
            scale=float(self.arrays["hessian"]),
            products=RELEASED_PRODUCTS,
        )
        self.arrays |= {"released": np.array(value), "released_error": np.array(residual)}


def _squares(
    problem: cv.Problem, matrices: Sequence[cv.SymmetricOperator], settings: Settings
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


def measure(kept: KeptModel, facts: Mapping[str, Any], settings: Settings) -> Arrays:
    """What the GGN misses of the Hessian of one network.

    Args:
        kept: the network, and the sequences that the loss is of.
        facts: what else is to be kept.
        settings: the rest.

    Returns:
        With the groups :data:`GROUPS`, g of them, and n probes: ``hessian``, ``released``, ``ggn``,
        ``squared_hessian``, ``squared_ggn`` and ``<name>_error``, largest eigenvalues and their
        relative residuals; ``missed (g,)``, the parts of vᵀFv over the eigenvalue;
        ``hessian_rows``, ``functional_rows``, ``released_rows (n, g)``, squares of rows.
    """
    model = kept.load()

    def problem_of(loss: Callable[[nn.Module, Tensor], Any]) -> cv.Problem:
        # The problem brings its batches to where the model is.
        data, memory = [torch.from_numpy(kept.tokens)], settings.memory << 20
        return cv.Problem(model, loss_fn=loss, data=data, weights=len, memory=memory)

    problem, top = problem_of(gpt2.language_loss), _Top(settings)
    hessian, ggn = cv.hessian(problem), cv.ggn(problem)
    released = ReleasedHessian(problem)
    vector = top("hessian", hessian)
    top.released(released, vector)
    top("ggn", ggn, vector)
    missed = _sums(problem, vector * (hessian @ vector - ggn @ vector))
    rows = np.stack([*_squares(problem, (hessian, ggn, released), settings)], axis=1)
    del hessian, ggn, released  # the graphs that they hold
    squared = problem_of(gpt2.squared_loss)
    vector = top("squared_hessian", cv.hessian(squared))
    top("squared_ggn", cv.ggn(squared), vector)
    names = ("hessian_rows", "functional_rows", "released_rows")
    values = dict(zip(names, rows, strict=True)) | {"missed": missed / top.arrays["hessian"]}
    return top.arrays | values | {name: np.array(fact) for name, fact in facts.items()}


def _items(config: Config, networks: Arrays) -> list[Item]:
    """Each variant with each seed at each step whose weights are kept."""
    assert isinstance(networks, Networks)
    settings = Settings(**shared(Settings, config))
    labels = *surviving(networks, "variant"), networks["kept"].tolist()
    return [
        {
            "kept": kept_model(networks, variant, seed, step),
            "facts": {"variant": variant, "seed": seed, "step": step},
            "settings": settings,
        }
        for variant, seed, step in product(*labels)
    ]


def _gather(config: Config, parts: Sequence[Arrays]) -> Arrays:
    """The arrays of all networks, ``(V, S, k, ...)`` for V variants, S seeds and k kept steps.

    Returns:
        Those of :func:`measure`; ``variant (V,)``, ``seed (S,)``, ``step (k,)``, ``group (g,)``.
    """
    return gathered(parts, ("variant", "seed", "step")) | {"group": np.array(list(GROUPS))}


correlation = FanOut(items=_items, compute=measure, gather=_gather)

"""Linear layers, one after the other: what anon2026data says of them, and of their products.

Weights are ``W_1, ..., W_L``, inputs ``x (n, d_0)``: the paper's X is the transpose.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from hessian_papers.theorems.errors import basis_error, excess, relative
from hessian_papers.theorems.instances import BRUTE_FORCE, Instance
from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form import instances

GAUSS_NEWTON = BRUTE_FORCE.replace("dense Hessian", "Gauss-Newton matrix")


def largest(values: Tensor, count: int) -> Tensor:
    """The largest ``count`` of values of 0 or more, descending; zeros if there are fewer."""
    kept = values.sort(descending=True).values[:count]
    return torch.cat([kept, kept.new_zeros(count - len(kept))])


@dataclass(eq=False, kw_only=True)
class Deep(Instance, instances.Deep):
    """Deep linear networks with any weights, ``x (n, d_0)``, ``y (n, d_L)``."""

    @property
    def inputs(self) -> int:
        """The number d_0 of inputs."""
        return self.weights[0].shape[1]

    @property
    def outlets(self) -> int:
        """The number d_L of outputs."""
        return len(self.weights[-1])

    @property
    def input_scale(self) -> float:
        """σ_x of whitened inputs."""
        return float(self.x.square().mean().sqrt())

    @cached_property
    def second_moments(self) -> Tensor:
        """Σ = E[xxᵀ]."""
        return self.x.mT @ self.x / len(self.x)

    @property
    def white(self) -> bool:
        """True where the inputs are whitened."""
        eye = torch.eye(self.inputs, dtype=torch.float64)
        gap = (self.second_moments - self.input_scale**2 * eye).abs().max()
        return bool(gap < 1e-12 * self.input_scale**2)

    @property
    def norms(self) -> Tensor:
        """‖W_l‖_2² of each layer."""
        return torch.stack([torch.linalg.matrix_norm(w, ord=2).square() for w in self.weights])

    @property
    def factors(self) -> list[tuple[Tensor, Tensor]]:
        """``P_l = W_{l-1} ... W_1``, without the inputs, and ``S_l = W_L ... W_{l+1}``."""
        before = [torch.eye(self.inputs, dtype=torch.float64)]
        after = [torch.eye(self.outlets, dtype=torch.float64)]
        for weight, last in zip(self.weights[:-1], self.weights[:0:-1], strict=True):
            before.append(weight @ before[-1])
            after.append(after[-1] @ last)
        return list(zip(before, reversed(after), strict=True))

    def kernel_error(self, terms: Sequence[tuple[Tensor, Tensor]]) -> float:
        """The error of the eigenvalues of ``Σ_l (XᵀA_l X / n) ⊗ B_l``, with or without zeros."""
        products = [
            torch.kron((self.x @ a @ self.x.mT / len(self.x)).contiguous(), b.contiguous())
            for a, b in terms
        ]
        return self.spectrum_error(torch.linalg.eigvalsh(torch.stack(products).sum(0)))

    def spectrum_error(self, values: Tensor) -> float:
        """The error of the Gauss-Newton matrix's eigenvalues; what is not mentioned is 0."""
        stated = largest(values, len(self.ggn_eigenvalues))
        return relative(stated.flip(0), self.ggn_eigenvalues)

    def basis_error(self) -> float:
        """The error of the library's eigenvectors of the Gauss-Newton matrix."""
        return basis_error(self.ggn, self.spectrum.eigenvectors(), self.spectrum.eigenvalues)

    def pairs_error(self, printed: bool, inputs: int, outputs: int) -> float:
        """The error of eq. (9), (15), or of the print: pairs of indices up to the last ones."""
        if not printed:
            return relative(self.spectrum.eigenvalues, self.ggn_eigenvalues)
        first, last = (torch.linalg.svdvals(self.weights[k]) for k in (0, -1))
        return self.spectrum_error(
            self.pairs(first[:inputs], last[:outputs], inputs, outputs, index_set="printed")
        )

    def pairs(self, first: Tensor, last: Tensor, inputs: int, outputs: int, **how: Any) -> Tensor:
        """Eq. (9) by the library, for the singular values of the first and the last layer."""
        depth, scale = len(self.weights), self.input_scale
        of = cf.pair_eigenvalues(
            first, last, inputs, outputs, depth=depth, input_scale=scale, **how
        )
        return of.eigenvalues

    def count_error(self, printed: int | None) -> float:
        """The error of the number of positive eigenvalues, or its excess over the print's."""
        values = self.ggn_eigenvalues
        # Those that are not round-off.
        positive = max(int((values > 1e-10 * values[-1]).sum()), 1)
        if printed is not None:
            return excess(positive, printed, over=positive)
        stated = sum(len(self.spectrum.select(kind)) for kind in ("outlier", "bulk"))
        return relative(stated, positive)

    def trace_error(self, stated: Tensor) -> float:
        """The error of the Hessian's trace, over the Gauss-Newton matrix's."""
        return relative(stated, self.trace, over=self.ggn_eigenvalues.sum().clamp_min(0) or 1.0)

    @property
    def sharpness(self) -> Tensor:
        """The largest eigenvalue that the library states."""
        return cf.deep_linear_sharpness(list(self.weights), self.input_scale)

    @property
    def bound(self) -> Tensor:
        """Eq. (6)."""
        return cf.deep_linear_bound(list(self.weights), self.input_scale)

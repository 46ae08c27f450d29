"""Two-layer ReLU classifiers with random weights, and expectations over their inputs, sampled."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
import torch
from torch import Tensor

from hessian_spectra.closed_form import rectified_moments

# Inputs that are drawn at once: what is held of them is (CHUNK, d) and (CHUNK, c, n).
CHUNK = 256


@dataclass(frozen=True, kw_only=True)
class Network:
    """A network at initialisation, and how its inputs are distributed.

    Args:
        law: ``rectified``: entries ``max(ξ, 0)`` with standard Gaussian ``ξ``; ``gaussian``: ``ξ``.
        first: ``(n, d)`` the first layer's weights; for Gaussian inputs ``(n, n)``, a factor L of
            their ``W Wᵀ = L Lᵀ``, since ``W x`` has the law of ``L ξ`` then.
        second: ``(c, n)`` the second layer's weights W.
    """

    law: str
    first: Tensor
    second: Tensor

    @classmethod
    def drawn(
        cls, law: str, width: int, inputs: int, classes: int, draws: torch.Generator
    ) -> "Network":
        """Weights ``N(0, 1/d)`` and ``N(0, 1/n)``."""
        options: Any = {"dtype": torch.float64, "generator": draws}
        second = torch.randn(classes, width, **options) / width**0.5
        if law == "rectified":
            first = torch.randn(width, inputs, **options)
        else:
            first = _factor(width, inputs, draws)
        return cls(law=law, first=first / inputs**0.5, second=second)

    @property
    def entry(self) -> tuple[float, float]:
        """Mean and variance of an entry of the inputs."""
        if self.law == "gaussian":
            return 0.0, 1.0
        moments = rectified_moments(0.0, 1.0)
        return float(moments.mean), float(moments.variance)

    @property
    def pre_activations(self) -> tuple[Tensor, Tensor]:
        """Mean and variance ``(n,)`` of ``u = W x`` given the weights, exactly."""
        mean, variance = self.entry
        return mean * self.first.sum(dim=1), variance * self.first.square().sum(dim=1)

    def inputs(self, count: int, draws: torch.Generator) -> Iterator[tuple[Tensor, Tensor]]:
        """Inputs ``(s, d)``, of Gaussian ones ``ξ`` ``(s, n)``, and pre-activations ``(s, n)``."""
        for start in range(0, count, CHUNK):
            size = min(CHUNK, count - start), self.first.shape[1]
            x = torch.randn(size, generator=draws, dtype=torch.float64)
            x = x.clamp_min_(0.0) if self.law == "rectified" else x
            yield x, x @ self.first.T


def _factor(width: int, inputs: int, draws: torch.Generator) -> Tensor:
    """A factor L ``(n, n)`` of ``W Wᵀ = L Lᵀ`` for ``W`` ``(n, d)`` of standard Gaussian entries.

    By Bartlett's decomposition the entries of the Cholesky factor are independent: ``N(0, 1)``
    below the diagonal, and on it roots of chi-squared ones, of ``d − i`` degrees of freedom, i = 0,
    1, ... from the top.
    """
    below = torch.randn(width, width, generator=draws, dtype=torch.float64).tril(-1)
    uniform = 1 - torch.rand(width, generator=draws, dtype=torch.float64).numpy()
    squares = scipy.special.chdtri(inputs - np.arange(width), uniform)
    return below + torch.diag(torch.from_numpy(np.sqrt(squares)))


@dataclass(frozen=True, kw_only=True)
class Expectations:
    """Means over some inputs.

    Args:
        softmax: ``E[A]`` ``(c, c)``.
        output: ``M = E[D Wᵀ A W D]`` ``(n, n)``.
        both: ``E[D_i D_j]`` ``(n, n)``; its diagonal is how often each unit is active.
        roots: ``R_s`` ``(k, c, n)`` with ``R_sᵀ R_s = D Wᵀ A W D``, of the first k inputs.
        inputs: these inputs, ``(k, d)``.
        conditioned: ``E[A]`` of the inputs at which two units are active, those that are most
            nearly active half of the time ``(c, c)``.
    """

    softmax: Tensor
    output: Tensor
    both: Tensor
    roots: Tensor
    inputs: Tensor
    conditioned: Tensor

    @classmethod
    def sampled(
        cls, network: Network, count: int, kept: int, draws: torch.Generator
    ) -> "Expectations":
        """Over ``count`` inputs, of which ``kept`` are kept."""
        classes, width = network.second.shape
        softmax, output, both = (
            torch.zeros(size, size, dtype=torch.float64) for size in (classes, width, width)
        )
        mean, variance = network.pre_activations
        units = (mean.square() / variance).argsort()[:2]
        conditioned, hits = torch.zeros_like(softmax), 0.0
        roots: list[Tensor] = []
        inputs: list[Tensor] = []
        for x, u in network.inputs(count, draws):
            on = (u > 0).double()
            p = torch.softmax((on * u) @ network.second.T, dim=1)
            centred = network.second - (p @ network.second)[:, None]
            root = p.sqrt()[:, :, None] * centred * on[:, None]
            rows = root.flatten(0, 1)
            output += rows.T @ rows
            both += on.T @ on
            softmax += torch.diag(p.sum(dim=0)) - p.T @ p
            chosen = p[on[:, units].prod(dim=1) > 0]
            conditioned += torch.diag(chosen.sum(dim=0)) - chosen.T @ chosen
            hits += len(chosen)
            # None of those beyond: a slice of length 0.
            missing = kept - sum(len(item) for item in roots)
            roots.append(root[:missing])
            inputs.append(x[:missing])
        return cls(
            softmax=softmax / count,
            output=output / count,
            both=both / count,
            roots=torch.cat(roots),
            inputs=torch.cat(inputs),
            conditioned=conditioned / hits if hits else torch.full_like(softmax, torch.nan),
        )

    def independent(self, second: Tensor) -> Tensor:
        """``M* = E[D' Wᵀ A W D']``, D' a copy of D: ``E[D_i D_j] (Wᵀ E[A] W)_ij``."""
        return self.both * (second.T @ self.softmax @ second)

"""Measurements of one network from two halves of its inputs, as ``study.py`` names them.

A squared distance ``‖X − Y‖²`` of two expected matrices, or of the projectors on their top spaces,
is ``⟨X_a − Y_a, X_b − Y_b⟩``: the squared error of the sampling, which would be added to it,
averages out.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
import torch
from torch import Tensor

from hessian_papers.studies.layerwise.infinite_width.sampling import Expectations, Network
from hessian_papers.studies.layerwise.rows import without_the_sum
from hessian_spectra import closed_form as cf
from hessian_spectra.curvature import subspace_overlap

# Points of the low-discrepancy sequence that stand for a Gaussian law of logits: 1e-4 of E[A].
POINTS = 2**13

# Tensors ``()`` and numbers by name.
Numbers = dict[str, Any]


def top_space(matrix: Tensor, count: int) -> Tensor:
    """An orthonormal basis ``(n, count)`` of the top eigenspace."""
    return torch.linalg.eigh(matrix).eigenvectors[:, -count:]


def _product(tensor: Tensor, other: Tensor) -> Tensor:
    """``⟨X_a, X_b⟩``, which estimates ``‖X‖²`` without the sampling's squared error."""
    return (tensor * other).sum()


def spaces_apart(ones: Sequence[Tensor], others: Sequence[Tensor]) -> float:
    """One less the overlap of two expected spaces, each given by a basis of both halves."""
    (a, b), (c, d) = ones, others
    between = (subspace_overlap(a, d) + subspace_overlap(b, c)) / 2
    within = (subspace_overlap(a, b) + subspace_overlap(c, d)) / 2
    return within - between


def softmax_errors(
    network: Network, moments: cf.RectifiedMoments, halves: list[Expectations]
) -> Numbers:
    """The distance of E[A] from that of Gaussian logits: with moments given W, or as printed.

    Given the weights they are ``W m`` and ``W diag(v) Wᵀ`` with the mean m and the variance v of
    each activation; in print the mean is 0 and the covariance a multiple of the identity.
    """
    second = network.second
    printed = cf.rectified_moments(0.0, network.entry[1] ** 0.5).variance
    laws = {
        "softmax": (second @ moments.mean, (second * moments.variance) @ second.T),
        "printed_softmax": (torch.zeros(len(second)).double(), printed * torch.eye(len(second))),
    }
    a, b = (half.softmax for half in halves)
    return {
        name: _product(a - expected, b - expected) / _product(a, b)
        for name, law in laws.items()
        for expected in [_softmax_of_gaussian_logits(*law)]
    }


def _softmax_of_gaussian_logits(mean: Tensor, covariance: Tensor) -> Tensor:
    """``E[diag(p) − ppᵀ]``, ``p = softmax(z)`` and ``z ~ N(mean, covariance)``, by Sobol points."""
    points = torch.quasirandom.SobolEngine(len(mean), scramble=True, seed=0)
    uniform = points.draw(POINTS, dtype=torch.float64).clamp(1e-12, 1 - 1e-12)
    z = mean + torch.special.ndtri(uniform) @ torch.linalg.cholesky(covariance.double()).T
    p = torch.softmax(z, dim=1)
    return torch.diag(p.mean(dim=0)) - p.T @ p / POINTS


def activation_errors(active: Tensor, halves: list[Expectations]) -> Numbers:
    """The distance of the units' shares of active inputs from Φ(mean/deviation), and from 1/2."""
    a, b = (half.both.diagonal() for half in halves)
    return {
        name: ((a - expected) * (b - expected)).mean()
        for name, expected in (("active", active), ("printed_active", torch.tensor(0.5)))
    }


def weight_quantities(network: Network) -> Numbers:
    """The distance of the weights from what a wide network's tend to, and from lemmas' bounds."""
    first, second = network.first, network.second
    (n, d), grams = first.shape, [
        torch.linalg.matrix_norm(W @ W.T - torch.eye(len(W)).to(W), 2) for W in (first, second)
    ]  # fmt: skip
    # n^(−α/2) is the root of n / d.
    return {
        "row_norms": (second.square().sum(dim=1) - 1).abs().max(),
        "first_gram": grams[0],
        "second_gram": grams[1],
        "largest_first": first.abs().max() * d ** (1 / 3) / 2,
        "largest_second": second.abs().max() * n ** (1 / 3) / 2,
        "columns": first.norm(dim=0).max() * (d / n) ** 0.5 / 5,
    }


def conditioned_softmax(halves: Sequence[Expectations]) -> Numbers:
    """The squared distance of E[A], given that two units are active, from E[A], relative."""
    a, b = (half.conditioned - half.softmax for half in halves)
    return {"conditioned": _product(a, b) / _product(*(half.softmax for half in halves))}


def output_quantities(
    network: Network, active: Tensor, halves: list[Expectations], spaces: list[Tensor]
) -> Numbers:
    """The output Hessian M, with an independent copy of D, its forms and its top space."""
    second, classes = network.second, len(network.second)
    stars = [half.independent(second) for half in halves]
    copies = [top_space(star, classes - 1) for star in stars]
    readings = (cf.decoupled_top_space(second, torch.ones_like(active)), _complement(second))
    candidate = cf.decoupled_top_space(second, active)
    values = torch.linalg.eigvalsh((halves[0].output + halves[1].output) / 2)
    square = _product(halves[0].output, halves[1].output)

    def projected(*matrices: Tensor) -> Tensor:
        return _product(*(second @ matrix @ second.T for matrix in matrices))

    def error(probabilities: Tensor) -> Tensor:
        forms = (cf.decoupled_output_hessian(second, h.softmax, probabilities) for h in halves)
        return _product(*(h.output - m for h, m in zip(halves, forms, strict=True))) / square

    star = _product(*stars)
    own, copied = projected(*(half.output for half in halves)), projected(*stars)
    return {
        "independence": spaces_apart(spaces, copies),
        "ratio": values[-classes] / values[1 - classes],
        "space": spaces_apart(spaces, [candidate] * 2),
        # Of the two ways to take the sum of the rows out of their span, what is nearer.
        "printed_space": min(spaces_apart(spaces, [reading] * 2) for reading in readings),
        "formula": error(active),
        "printed_formula": error(torch.full_like(active, 0.5)),
        "norms": square / star,
        "projections": own / copied,
        "projected": own / square,
        "projected_copy": copied / star,
    }


def _complement(second: Tensor) -> Tensor:
    """The part of the rows' span that is orthogonal to the sum of the rows, ``(n, c − 1)``."""
    return torch.linalg.svd(without_the_sum(second).T, full_matrices=False).U[:, :-1]


def layer_quantities(halves: list[Expectations], spaces: list[Tensor]) -> Numbers:
    """The Hessian H of the first layer's weights beside its Kronecker approximation Ĥ.

    ``H = E[R_sᵀ R_s ⊗ x xᵀ]`` is known by the dual matrix ``⟨R_s, R_t⟩ ⟨x_s, x_t⟩`` of each half.
    The top space of Ĥ is that of M times ``1/√d``: the other eigenvalues of E[xxᵀ] are smaller by
    the factor ``(π−1)/(d+π−1)``, far less than those of M are apart.
    """
    classes = halves[0].roots.shape[1]
    tops = [dual_top(half, half, classes) for half in halves]
    vectors = [entries[1][:, 1:] for entries in tops]
    between = vectors[0].T @ _dual(*halves) @ vectors[1]
    own = float(between.square().sum()) / (classes - 1)
    crossed = []
    for half, vector, space in zip(halves, vectors, spaces[::-1], strict=True):
        along = half.inputs.sum(dim=1) / half.inputs.shape[1] ** 0.5
        rows = (half.roots @ space) * along[:, None, None]
        crossed.append(float((vector.T @ rows.flatten(0, 1)).square().sum()) / (classes - 1))
    within = (own + subspace_overlap(*spaces)) / 2
    return {
        "layer": within - sum(crossed) / 2,
        "layer_ratio": sum(float(entries[0][0] / entries[0][1]) for entries in tops) / 2,
    }


def _dual(expectations: Expectations, other: Expectations) -> Tensor:
    """``⟨R_s, R_t⟩ ⟨x_s, x_t⟩`` of two samples, ``(k c, k c)``."""
    classes = expectations.roots.shape[1]
    rows = expectations.roots.flatten(0, 1) @ other.roots.flatten(0, 1).T
    products = expectations.inputs @ other.inputs.T
    return rows * products.repeat_interleave(classes, 0).repeat_interleave(classes, 1)


def dual_top(expectations: Expectations, other: Expectations, count: int) -> tuple[Tensor, Tensor]:
    """The top eigenvalues, ascending, and eigenvectors over their roots, ``(k c, count)``."""
    dual = _dual(expectations, other).numpy()
    start = np.ones(len(dual))
    values, vectors = scipy.sparse.linalg.eigsh(dual, k=count, which="LA", v0=start, tol=1e-10)
    order = np.argsort(values)
    values, vectors = values[order], vectors[:, order]
    return torch.from_numpy(values), torch.from_numpy(vectors / np.sqrt(values))

"""Solutions, two layers and recipes: anon2026data, eq. (10) to (16) and appendix C."""

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Self

import torch
from torch import Tensor

from hessian_papers.data.tools.subsets import class_counts
from hessian_papers.data.tools.whitening import whiten
from hessian_papers.theorems.catalogue import Error, theorem
from hessian_papers.theorems.deep import Balanced, TwoLayers
from hessian_papers.theorems.errors import excess, pairs_error, relative, worst
from hessian_papers.theorems.layers import GAUSS_NEWTON, Deep, largest
from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form.instances import (
    ANY_TARGETS,
    LEAST_SQUARES,
    ZERO_LOSS,
    Draw,
    end_to_end,
    orthonormal,
    whitened,
)

BOTH = "both matrices, by automatic differentiation"
NO_BRUTE_FORCE = "the recipe's own purpose; no brute force is needed"
recipe = partial(theorem, of="recipe-weights", source=NO_BRUTE_FORCE)


@theorem(data="Equation 12")
def labels_solution(net: Balanced) -> Error:
    """$W_L ⋯ W_1 = YX^⊤/(n σ_x^2)$, at zero loss and at every least-squares solution.

    Measured by: the network's outputs
    """
    if net.kind == ANY_TARGETS:
        return None
    return relative(net.y.mT @ net.x / (len(net.y) * net.input_scale**2), net.map)


@theorem(of="labels-solution", data="Equation 13")
def labels_values(net: Balanced) -> Error:
    r"""At zero loss $σ_i^L(W) = σ_i(Y)/(\sqrt n σ_x)$.

    Measured by: the singular values of the network's first layer
    """
    if net.kind != ZERO_LOSS:
        return None
    stated = torch.linalg.svdvals(net.y) / (len(net.y) ** 0.5 * net.input_scale)
    return relative(stated, net.layer_values)


@theorem(data="Equation 14")
def labels_sharpness(net: Balanced) -> Error:
    r"""At zero loss $λ_{\max} = L σ_x^2(σ_{\max}(Y)/(\sqrt n σ_x))^{2(1-1/L)}$."""
    if net.kind != ZERO_LOSS:
        return None
    share = torch.linalg.svdvals(net.y)[0] ** 2 / len(net.y)
    stated = cf.sharpness_from_labels(share, len(net.weights), net.input_scale)
    return relative(stated, net.eigenvalues[-1])


@theorem(ours=True, data="Equation 14, beyond Assumption 1")
def labels_loss(net: Balanced) -> Error:
    r"""At a least-squares solution $λ_{\max} = L σ_x^2(σ_{\max}(YX^⊤)/(n σ_x^2))^{2(1-1/L)}$.

    Remark: Our addition: equation 14 assumes that the loss is near zero, and there both are equal.
        Labels count only as far as the inputs explain them.
    """
    if net.kind != LEAST_SQUARES:
        return None
    solution = cf.least_squares_singular_values(net.x.mT, net.y.mT)
    stated = cf.least_squares_sharpness(solution[0], len(net.weights), net.input_scale)
    return relative(stated, net.eigenvalues[-1])


@theorem(data="Section 4, below Equation 14")
def labels_shares(net: Balanced) -> Error:
    """For one-hot labels the $σ_i^2(Y)/n$ are the class shares.

    Remark: This fails for centred labels.
    Measured by: the singular values of the one-hot labels
    """
    shares = torch.bincount(net.labels, minlength=net.outlets).double() / len(net.labels)
    return relative(shares.sort(descending=True).values, net.one_hot_values)


@theorem(source=BOTH, data="Equation 3")
def labels_hessian(net: Balanced) -> Error:
    """At zero loss (Assumption 1) the Hessian is the Gauss-Newton matrix."""
    return relative(net.hessian, net.ggn) if net.kind == ZERO_LOSS else None


@theorem(of="labels-loss", ours=True, source=BOTH, data="Equation 3, beyond Assumption 1")
def least_squares_hessian(net: Balanced) -> Error:
    """The Hessian is the Gauss-Newton matrix at every least-squares solution, $(f(X) - Y)X^⊤ = 0$,
    whatever the loss.
    """
    return relative(net.hessian, net.ggn) if net.kind == LEAST_SQUARES else None


@theorem(source=GAUSS_NEWTON, data="Equation 10")
def two_layers_sharpness(net: TwoLayers) -> Error:
    r"""For $L = 2$ $λ_{\max} = σ_x^2(‖W_1‖_2^2 + ‖W_2‖_2^2)$, balanced or not.

    Remark: singh2026cracking, appendix D.3.3, has the maximum instead, which is wrong.
    """
    return relative(net.sharpness, net.ggn_eigenvalues[-1])


@theorem(ours=True, data="Equation 10, beyond Assumption 1")
def two_layers_range(net: TwoLayers) -> Error:
    r"""At any loss the Hessian's largest eigenvalue lies between $σ_x^2 \max(‖W_1‖_2^2, ‖W_2‖_2^2)$
    and $σ_x^2(‖W_1‖_2^2 + ‖W_2‖_2^2) + ‖(f(X) - Y)X^⊤‖_2/n$.

    Remark: Our addition.
    """
    residual = (net.x @ end_to_end(net.weights).mT - net.y).mT @ net.x / len(net.x)
    lower, total = net.input_scale**2 * net.norms.max(), net.input_scale**2 * net.norms.sum()
    upper, top = total + torch.linalg.matrix_norm(residual, ord=2), net.eigenvalues[-1]
    return worst(excess(top, upper, upper), excess(lower, top, upper))


@theorem(data="Equation 11")
def two_layers_trace(net: TwoLayers) -> Error:
    r"""$\operatorname{tr}(H) = σ_x^2(d_2‖W_1‖_F^2 + d_0‖W_2‖_F^2)$, at any loss."""
    first, last = (weight.square().sum() for weight in net.weights)
    return net.trace_error(net.input_scale**2 * (net.outlets * first + net.inputs * last))


@theorem(of="two-layers-pairs", source=GAUSS_NEWTON, data="Equation 16")
def two_layers_vectors(net: TwoLayers) -> Error:
    r"""With $q_{ij} = (X^⊤v_i/\sqrt n) ⊗ u_j$, $J^⊤q_{ij}$ is an eigenvector for
    $σ_i^2(W_1) + σ_j^2(W_2)$.
    """
    first, last = net.weights
    s_1, v = torch.linalg.svd(first)[1:]
    u, s_2, _ = torch.linalg.svd(last)
    sums = largest(s_1, len(v))[:, None] ** 2 + largest(s_2, len(u)) ** 2
    pairs = []
    for i, j in (sums > 1e-20 * sums[0, 0]).nonzero().tolist():
        parts = torch.outer(last.mT @ u[:, j], v[i]), torch.outer(u[:, j], first @ v[i])
        column = torch.cat([part.flatten() for part in parts])
        pairs.append((column, net.input_scale**2 * sums[i, j]))
    return pairs_error(net.ggn, pairs)


@theorem(of="two-layers-pairs", source=GAUSS_NEWTON, data="Equation 16, whole basis")
def two_layers_basis(net: TwoLayers) -> Error:
    """With a basis of the null space they form an orthonormal basis of the parameter space."""
    return net.basis_error()


@theorem("data eq. (15): i, j", source=GAUSS_NEWTON, data="Equation 15")
def two_layers_pairs(net: TwoLayers, printed: bool = False) -> Error:
    r"""The eigenvalues are $σ_x^2(σ_i^2(W_1) + σ_j^2(W_2))$ with $i ∈ [d_0]$ and $j ∈ [d_2]$, where
    singular values beyond the size of a layer are 0.

    In print: $i ∈ [\min\lbrace d_0, d_1\rbrace]$ and $j ∈ [\min\lbrace d_1, d_2\rbrace]$
    """
    return net.pairs_error(printed, *net.printed_ranges)


@theorem("data eq. (15): count", source=GAUSS_NEWTON, data="Appendix B, below Equation 16")
def two_layers_count(net: TwoLayers, printed: bool = False) -> Error:
    r"""$d_0 d_2 - (d_0 - r_1)(d_2 - r_2)$ eigenvalues are non-zero, $r_1$ and $r_2$ the ranks of
    $W_1$ and $W_2$.

    In print: at most $\min\lbrace d_0, d_1\rbrace × \min\lbrace d_1, d_2\rbrace$ may be non-zero
    """
    return net.count_error(math.prod(net.printed_ranges) if printed else None)


@dataclass(eq=False, kw_only=True)
class Recipes(Deep):
    """Appendix C: what its recipes for weights, inputs and subsets are given.

    ``values`` are the singular values of the weights that are made by the recipe; ``in_print`` are
    made by the recipe as printed, from the same numbers but for those that it draws once more.
    ``raw (n, d)`` are inputs of rank below ``d`` in every other instance. ``samples``, ``share``
    and ``classes`` tell which subset is asked for.
    """

    stream = "recipes"

    in_print: tuple[Tensor, ...]
    values: Tensor
    raw: Tensor
    samples: int
    share: float
    classes: int

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """Three layers or more."""
        widths = [draw.integer(2, cls.widest(draw) + 1) for _ in range(draw.integer(3, 5))]
        values = 0.3 + draw.uniform(min(widths))
        left = [orthonormal(draw.normal(width, len(values))) for width in widths]
        right = [orthonormal(draw.normal(width, len(values))) for width in widths[:-1]]
        x, y = cls.data(draw, widths, widths[0] + 3)
        raw, _ = draw.points(widths[0] + 6, widths[0])
        if number % 2 == 0:
            raw[:, draw.integer(0, widths[0] - 1)] = 0
        classes = draw.integer(3, 10)
        pairs = zip(right, left[1:], strict=True)
        return cls(
            weights=tuple(after * values @ before.mT for before, after in pairwise(left)),
            in_print=tuple(after * values @ before.mT for before, after in pairs),
            values=values.sort(descending=True).values,
            x=whitened(x, draw.scale()),
            y=y,
            raw=raw,
            samples=draw.integer(100, 5000),
            share=max(draw.integer(2, 17) / 20, 1.1 / classes),
            classes=classes,
        )


@theorem("data appendix C: weights", source=GAUSS_NEWTON, data="Appendix C, balanced weights")
def recipe_weights(net: Recipes, printed: bool = False) -> Error:
    """For balanced weights step 1 samples the left singular vectors of each layer; equation 9 then
    holds for the network.

    In print: step 1 samples the right singular vectors of each layer
    Remark: Step 3 already sets them. Networks of two layers do not need step 1.
    """
    made = replace(net, weights=net.in_print) if printed else net
    return made.spectrum_error(net.pairs(net.values, net.values, net.inputs, net.outlets))


@recipe("data appendix C: whitening", data="Appendix C, data whitening")
def recipe_whitening(net: Recipes, printed: bool = False) -> Error:
    r"""Whitened inputs are a linear map of the inputs. With one row per sample they are
    $\sqrt n σ_x$ times the left singular vectors of the non-zero singular values.

    In print: $X = \sqrt n σ_x Q$ from the QR decomposition
    Remark: For linearly dependent inputs (such as pixels that are always 0), QR adds directions
        unrelated to them. Assumption 2 holds either way.
    """
    white = whitened(net.raw) if printed else whiten(net.raw, 1.0)[0]
    left, values, _ = torch.linalg.svd(net.raw, full_matrices=False)
    span = left[:, values > 1e-10 * values[0]]
    return float((white - span @ (span.mT @ white)).norm() / white.norm())


@recipe("data appendix C: subsets", data="Appendix C, subsampling")
def recipe_subset(net: Recipes, printed: bool = False) -> Error:
    r"""$⌊(1 - α_{\max})n/(K - 1)⌋$ samples of each of the $K - 1$ other classes leave class 0 its
    share, up to one sample of each class.

    In print: $⌊(1 - α_{\max})n⌋$ samples of each of the other classes
    Remark: As printed there are more than n samples in total, for $α_{\max} < 1 - 1/(K - 1)$.
    """
    samples, share, others = net.samples, net.share, net.classes - 1
    first = class_counts(samples, share, net.classes)[0] / samples
    if printed:
        first = 1 - others * math.floor((1 - share) * samples) / samples
    # Counts are whole numbers.
    return max(abs(first - share) - others / samples, 0.0)

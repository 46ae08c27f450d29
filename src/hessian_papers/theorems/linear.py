"""The two-layer linear network: Theorems 3.1 to 3.3, Corollary 3.1, eq. (1) to (34) and (122).

Equations are those of singh2026cracking where no other paper is named.
"""

from dataclasses import replace
from functools import partial

import torch

from hessian_papers.theorems.catalogue import ROOT, Error, theorem
from hessian_papers.theorems.errors import basis_error, excess, relative, vectors_error, worst
from hessian_papers.theorems.two_layer import (
    Linear,
    block_hessian,
    gradient_error,
    pair,
)
from hessian_spectra import closed_form as cf

# Parts of Theorem 3.1, and of Theorem 3.2.
of_the_spectrum = partial(theorem, of="linear-spectrum")
of_the_vector = partial(theorem, of="linear-outlier-vector", poster="eigenvector structure")


@theorem(cracking="Theorem 3.1", closed="Theorem 1", poster="key result, linear network")
def linear_spectrum(net: Linear) -> Error:
    """The 2m eigenvalues of $f = ⟨w, v⟩x$ are $±δx$, each $m - 1$ times, and the two outliers
    $Λ_{1,2}$; for any $m ≥ 1$, any weights and data.
    """
    return relative(net.spectrum.eigenvalues, net.eigenvalues)


@of_the_spectrum(tolerance=ROOT, cracking="eq. (1), (33)", closed="eq. (1), (33)")
def linear_root(net: Linear) -> Error:
    r"""The outliers are $T/2 ± \frac12\sqrt{T^2 + 4(δx^2 + 2σ^2δx⟨w, v⟩)}$ with
    $T = σ^2(‖w‖^2 + ‖v‖^2)$.
    """
    of, dx = net.moments, net.moments.dx
    inside = of.trace.square() + 4 * (dx.square() + 2 * of.s2 * dx * of.inner)
    return relative(pair(of.trace, inside), net.outliers)


@theorem(tolerance=ROOT, cracking="eq. (2)", closed="section 1, on the semantics of sharpness")
def linear_squares(net: Linear) -> Error:
    """The root in the outliers is that of the sum of squares $(σ^2‖w‖^2 - σ^2‖v‖^2)^2 +
    4σ^4(‖w‖^2‖v‖^2 - ⟨w, v⟩^2) + 4(2⟨w, v⟩σ^2 - yx)^2$.
    """
    return relative(net.moments.outliers, net.outliers)


@theorem(tolerance=ROOT, cracking="eq. (122)", closed="eq. (2)")
def linear_trace_form(net: Linear) -> Error:
    r"""The outliers are $\operatorname{tr}/2 ± \sqrt{\operatorname{tr}^2/4 - λ_1λ_2}$."""
    of = net.moments
    return relative(pair(of.trace, of.trace.square() + 4 * of.product), net.outliers)


@theorem(of="linear-trace-form", cracking="section 4.1, appendix C", closed="section 1")
def linear_trace(net: Linear) -> Error:
    r"""The outliers sum to the trace, $\operatorname{tr}(H) = σ^2(‖w‖^2 + ‖v‖^2)$."""
    sums = torch.stack([net.outliers.sum(), net.moments.trace])
    return relative(sums, net.trace, over=net.size)


@theorem(cracking="appendix B.1, C", closed="section 1, appendix A")
def linear_product(net: Linear) -> Error:
    """$-λ_1λ_2 = (⟨w, v⟩σ^2 - yx)(3⟨w, v⟩σ^2 - yx)$."""
    return relative(net.moments.product, -net.outliers.prod(), over=net.size**2)


@theorem(cracking="section 3.1, below eq. (2)")
def linear_absorbed(net: Linear) -> Error:
    """The input variance can be absorbed in the parameters. Weights $σw$ and $σv$ have the same
    spectrum on inputs of variance 1 with the same $yx$.
    """
    scale = net.moments.s2.sqrt()
    if scale == 0:
        return None
    other = replace(net, w=scale * net.w, v=scale * net.v, x=net.x / scale, y=net.y * scale)
    return relative(other.eigenvalues, net.eigenvalues, over=net.size)


@theorem(cracking="section 3.1, below Corollary 3.1")
def linear_hidden_outlier(net: Linear) -> Error:
    """The small outlier is hidden within the bulk, $|λ_2| ≤ |δx|$, and the gradient lies in the
    span of both outlier eigenvectors. A "bulk subspace" that contains that of $λ_2$ contains a part
    of the gradient, which Corollary 3.1 does not contradict.
    """
    if not (net.regular and net.moments.dx.abs() > 1e-4 * net.size):
        return None
    unit = net.outlier_vectors / net.outlier_vectors.norm(dim=0)
    along = unit.mT @ net.gradient / net.gradient.norm()
    hidden = excess(net.outliers[1].abs(), net.moments.dx.abs(), net.size)
    return worst(relative(along.square().sum(), 1.0), hidden)


@of_the_spectrum(cracking="Theorem 3.1, footnote a")
def linear_order(net: Linear) -> Error:
    """The small outlier never leaves the bulk's range and the large one never enters it:
    $-|δx| ≤ λ_2 ≤ |δx| ≤ λ_1$.

    Remark: The paper says that this can happen; by Weyl's inequality it always does.
    """
    bulk, (high, low) = net.moments.dx.abs(), net.outliers
    return excess(torch.stack([-bulk, low, bulk]), torch.stack([low, bulk, high]), net.size)


@of_the_spectrum(cracking="eq. (5), (6)", closed="eq. (7), (8)")
def linear_gradient(net: Linear) -> Error:
    """$∇_w ℓ = δx v$ and $∇_v ℓ = δx w$."""
    return gradient_error(net)


@of_the_spectrum(cracking="eq. (7) to (9)", closed="eq. (9) to (11)")
def linear_hessian(net: Linear) -> Error:
    """The Hessian's blocks are $σ^2vv^⊤$, $σ^2ww^⊤$ and $δx I + σ^2vw^⊤$."""
    return relative(block_hessian(net.cells, len(net.w)), net.hessian)


@of_the_spectrum(cracking="eq. (12)")
def linear_hessian_gradient(net: Linear) -> Error:
    """$H∇ℓ = (δx T w + δx^2 v; δx T v + δx^2 w)$ with T the trace."""
    dx, swapped = net.moments.dx, torch.cat([net.w, net.v])
    stated = dx * net.moments.trace * swapped + dx**2 * net.theta
    over = net.size**2 * net.theta.abs().max()
    return relative(stated, net.hessian @ net.gradient, over=over or 1.0)


@of_the_spectrum(cracking="eq. (13) to (32)", closed="eq. (13) to (32)")
def linear_determinant(net: Linear) -> Error:
    """$|H - λI| = (λ^2 - δx^2)^{m-1} (λ^2 - Tλ - (δx^2 + 2σ^2δx⟨w, v⟩))$."""
    probe = net.probe
    powers = torch.stack([probe**2, probe, torch.ones_like(probe)])
    bulk = (probe**2 - net.moments.dx**2) ** (len(net.w) - 1)
    return relative(bulk * (net.moments.quadratic @ powers), net.at_probe)


@theorem(of="linear-bulk-sign", cracking="Theorems 3.2, 3.3", closed="Theorems 2, 3")
def linear_basis(net: Linear) -> Error:
    """The eigenvectors of both theorems, completed to an orthonormal basis of the whole space, are
    eigenvectors of the Hessian, in all edge cases.
    """
    return basis_error(net.hessian, net.spectrum.eigenvectors(), net.spectrum.eigenvalues)


@theorem(cracking="Theorem 3.2", closed="Theorem 2, eq. (3)", poster="eigenvector structure")
def linear_outlier_vector(net: Linear) -> Error:
    """$z = λ(w; v) + δx(v; w)$ is an eigenvector for the outlier $λ$ wherever it is not zero."""
    if not net.regular:
        return None
    return vectors_error(net.hessian, net.outlier_vectors, net.stated_outliers)


@of_the_vector(cracking="below Theorem 3.2", closed="below Theorem 2")
def linear_gradient_vector(net: Linear) -> Error:
    """Where the gradient does not vanish, $z = (λ/δx)∇ℓ + δx θ$."""
    dx = net.moments.dx
    if not (net.regular and dx.abs() > 1e-4 * net.size):
        return None
    gradient = dx * torch.cat([net.w, net.v])
    columns = [value / dx * gradient + dx * net.theta for value in net.stated_outliers]
    return vectors_error(net.hessian, torch.stack(columns, dim=1), net.stated_outliers)


@theorem(of="linear-constant-bulk", cracking="Corollary 3.1")
def linear_orthogonal_iterates(net: Linear) -> Error:
    """The parameters and the gradient are orthogonal to the bulk eigenspace."""
    if len(net.w) == 1:
        return None
    bulk = cf.gradient_descent_subspace(net.w, net.v).bulk
    iterates = net.theta, net.gradient
    return worst(*(float((bulk.mT @ z).norm() / (float(z.norm()) or 1.0)) for z in iterates))


@theorem(cracking="Corollary 3.1")
def linear_constant_bulk(net: Linear) -> Error:
    """A step of gradient descent, of any length, keeps the space that the bulk eigenvectors span;
    their eigenvalues become those of the new bulk.
    """
    if len(net.w) == 1:
        return None
    z, of, dx = cf.gradient_descent_subspace(net.w, net.v).bulk, net.next_hessian, net.moments.dx
    w, v = net.w - net.step * dx * net.v, net.v - net.step * dx * net.w
    after = replace(net, w=w, v=v).moments.dx.abs()
    inside, size = z.mT @ of @ z, float(torch.linalg.matrix_norm(of, 2)) or 1.0
    leak = float(torch.linalg.matrix_norm(of @ z - z @ inside, 2)) / size
    bulk = torch.cat([-after.expand(len(w) - 1), after.expand(len(w) - 1)])
    values = torch.linalg.eigvalsh((inside + inside.mT) / 2)
    return worst(leak, relative(bulk, values, over=size))


@theorem(cracking="eq. (34)", closed="eq. (34)")
def linear_loss_bound(net: Linear) -> Error:
    r"""$|δx| ≤ \sqrt{2ℓ}σ$, hence $λ_{\min} ≥ -\sqrt{2ℓ}σ$."""
    bound = -cf.smallest_eigenvalue_bound(net.w, net.v, net.x, net.y)
    below = torch.stack([net.moments.dx.abs(), -net.eigenvalues[0]])
    return excess(below, bound, net.size)


@theorem(cracking="appendix C", closed="section 1")
def linear_rank_one(net: Linear) -> Error:
    r"""At the solution, $δx = 0$, the Hessian has rank one and $λ_1 = \operatorname{tr}(H)$,
    whatever the loss.
    """
    trace = net.moments.trace
    if not net.moments.dx.abs() < 1e-13 * trace:
        return None
    zeros = torch.zeros_like(net.eigenvalues[1:])
    return relative(torch.cat([zeros, trace[None]]), net.eigenvalues)

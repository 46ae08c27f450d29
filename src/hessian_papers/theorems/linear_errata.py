"""What is wrong in print about the two-layer linear network."""

from dataclasses import replace

import torch
from torch import Tensor

from hessian_papers.theorems.catalogue import Error, theorem
from hessian_papers.theorems.errors import excess, relative, residual, roots_error, vectors_error
from hessian_papers.theorems.linear import linear_basis, of_the_spectrum, of_the_vector
from hessian_papers.theorems.two_layer import Linear, Moments, block_hessian, bulk_vector, pair
from hessian_spectra.closed_form.instances import numbers


@of_the_spectrum("poster: outliers", poster="key result, linear network")
def linear_poster(net: Linear, printed: bool = False) -> Error:
    """The last square under the root is $4(2⟨w, v⟩σ^2 - yx)^2$.

    In print: $4(2⟨w, v⟩ - yx)^2$
    Remark: The two agree only for $σ^2 = 1$.
    """
    of = net.moments
    in_print = pair(of.trace, of.squares(last=2 * of.inner - of.yx).sum())
    return relative(in_print if printed else net.stated_outliers, net.outliers)


@theorem("Theorem 3.3: sign", cracking="Theorem 3.3", closed="Theorem 3")
def linear_bulk_sign(net: Linear, printed: bool = False) -> Error:
    r"""$z_\text{bulk} = (ẑ; sẑ)$ with $s = λ_\text{bulk}/δx$, and $ẑ$ orthogonal to $w + sv$.

    In print: $s = \operatorname{sgn}(λ_\text{bulk})$
    Remark: The print is right for $δx > 0$; the proof has the right sign.
    """
    if len(net.w) == 1:
        return None
    # The two kinds of bulk vector: (a; a) for the eigenvalue δx and (a; -a) for -δx.
    values = torch.stack([net.moments.dx, -net.moments.dx])
    signs = values.sign().tolist() if printed else [1.0, -1.0]
    columns = [bulk_vector(net.w, net.v, sign, net.c) for sign in signs]
    return vectors_error(net.hessian, torch.stack(columns, dim=1), values)


@of_the_vector("Theorem 3.2: zero vector", cracking="Theorem 3.2", closed="Theorem 2")
def linear_zero_vector(net: Linear, printed: bool = False) -> Error:
    """Where $z = 0$ ($δx = 0$; $w = ±v$; coincident outliers) the eigenvector is another one: a
    null vector, or $(a; ∓a)$.

    In print: $z = λ(w; v) + δx(v; w)$ for both outliers, without exception
    """
    if not net.smaller_norm < 1e-12:
        return None
    # What is zero up to round-off has no direction.
    norms = net.outlier_vectors.norm(dim=0)
    z = torch.where(norms > norms.max() * 1e-9, net.outlier_vectors, 0.0)
    return residual(net.hessian, z, net.stated_outliers) if printed else linear_basis(net)


@theorem("Theorem 3.2: orthonormal", cracking="below Theorem 3.2", closed="below Theorem 2")
def linear_orthonormal(net: Linear, printed: bool = False) -> Error:
    """The two outlier eigenvectors are orthogonal.

    In print: They form an orthonormal basis of the span of (w; v) and (v; w)
    Remark: They have to be normalised; the error of the print is that of their norms.
    Measured by: inner product 0, and norm 1
    """
    if not net.regular:
        return None
    norms = net.outlier_vectors.norm(dim=0)
    if printed:
        return float(((norms - 1).abs() / norms.clamp_min(1)).max())
    return float(net.outlier_vectors.prod(dim=1).sum().abs() / (float(norms.prod()) or 1.0))


@theorem(
    "eq. (34): λ_min", of="linear-loss-bound", cracking="below eq. (34)", closed="below eq. (34)"
)
def linear_smallest(net: Linear, printed: bool = False) -> Error:
    r"""$λ_{\min} = -|δx|$ for $m ≥ 2$; for $m = 1$ it is the small outlier.

    In print: $λ_{\min} = -δx$
    """
    dx = net.moments.dx
    smallest = -dx.abs() if len(net.w) > 1 else net.stated_outliers[1]
    return relative(-dx if printed else smallest, net.eigenvalues[0], over=net.size)


@of_the_spectrum("eq. (10), (11)", cracking="eq. (10), (11)")
def linear_display(net: Linear, printed: bool = False) -> Error:
    """The upper right block of the displayed Hessian is $σ^2wv^⊤ + δx I$.

    In print: $σ^2vv^⊤ + δx I$
    Remark: Eq. (13) and (35) have it right. Possibly a flaw of the available copy and not of the
        paper.
    """
    block = torch.outer(net.v if printed else net.w, net.v)
    return relative(block_hessian(net.cells, len(net.w), block), net.hessian)


@of_the_spectrum("2024 eq. (12), (13)", closed="eq. (12), (13)")
def linear_display_2024(net: Linear, printed: bool = False) -> Error:
    """The upper right block of the displayed Hessian is $σ^2wv^⊤ + δx I$.

    In print: $σ^2vw^⊤ + δx I$
    Remark: Eq. (45) has it right.
    """
    block = torch.outer(net.w, net.v)
    displayed = block_hessian(net.cells, len(net.w), block.mT if printed else block)
    return relative(displayed, net.hessian)


@of_the_spectrum("eq. (30)", cracking="eq. (30)", closed="eq. (30)")
def linear_cubic(net: Linear, printed: bool = False) -> Error:
    """$-λ^3 + σ^2(‖w‖^2 + ‖v‖^2)λ^2 + (δx^2 + 2σ^2δx⟨w, v⟩)λ = 0$.

    In print: $… + δx^2‖v‖^2 + δx^2 …$ in place of $σ^2‖v‖^2λ^2 + δx^2λ$
    Remark: Eq. (31) has it right. Possibly a flaw of the available copy and not of the paper.
    """
    of, s2, dx2 = net.moments, net.moments.s2, net.moments.dx.square()
    cubic = torch.cat([-of.quadratic, numbers(0.0)])
    if printed:
        # Two terms of −(λ² − δx²)(λ − σ²‖v‖²) lost their powers of λ.
        constant = s2 * dx2 * of.v2 + dx2 * of.v2 + dx2 - s2 * dx2 * of.v2
        terms = [-torch.ones_like(s2), s2 * of.w2, 2 * s2 * of.dx * of.inner, constant]
        cubic = torch.stack(terms)
    return roots_error(cubic, net.outliers)


def _schur_error(net: Linear, left: Tensor, right: Tensor) -> float:
    """The Schur complement's determinant at the probe, with given outer products in B and C."""
    s2, eye = net.moments.s2, torch.eye(len(net.w), dtype=torch.float64)
    shift = net.moments.dx * eye
    lower = s2 * torch.outer(net.v, net.v) - net.probe * eye
    upper = s2 * torch.outer(net.w, net.w) - net.probe * eye
    complement = upper - (s2 * left + shift) @ torch.linalg.inv(lower) @ (s2 * right + shift)
    return relative(torch.linalg.det(complement), net.at_probe / torch.linalg.det(lower))


@of_the_spectrum("2024 eq. (14)", closed="eq. (14)")
def linear_schur_14(net: Linear, printed: bool = False) -> Error:
    """The Schur complement is $σ^2ww^⊤ - λI - (σ^2wv^⊤ + δx I) D^{-1} (σ^2vw^⊤ + δx I)$.

    In print: $(σ^2vw^⊤ + δx I)$ on both sides of $D^{-1}$
    """
    vw = torch.outer(net.v, net.w)
    return _schur_error(net, vw if printed else vw.mT, vw)


@of_the_spectrum("2024 eq. (16)", closed="eq. (16)")
def linear_schur_16(net: Linear, printed: bool = False) -> Error:
    """The factors around the inverse are $σ^2wv^⊤ + δx I$ and $σ^2vw^⊤ + δx I$.

    In print: $σ^2ww^⊤ + δx I$ and $σ^2vv^⊤ + δx I$
    Remark: Eq. (17) to (19) follow from the right ones. Possibly a flaw of the available copy and
        not of the paper.
    """
    w, v = net.w, net.v
    factors = (torch.outer(w, w), torch.outer(v, v))
    return _schur_error(net, *(factors if printed else (torch.outer(w, v), torch.outer(v, w))))


@of_the_spectrum("eq. (28): sign", cracking="eq. (28); likewise appendix B.5", closed="eq. (28)")
def linear_determinant_sign(net: Linear, printed: bool = False) -> Error:
    r"""$|σ^2zz^⊤ - νI| = (-1)^{m-1} ν^{m-1}(σ^2‖z‖^2 - ν)$, which is
    $(λ(λ - σ^2‖v‖^2))^m$ times the determinant of the Schur complement.

    In print: $ν^{m-1}(σ^2‖z‖^2 - ν)$, without the sign
    Remark: The roots are the same.
    """
    of, probe, m = net.moments, net.probe, len(net.w)
    # The Schur complement's determinant is |H − λ I| over that of D, σ²vvᵀ − λ I.
    factor = probe - of.s2 * of.v2
    measured = net.at_probe * (probe * factor) ** m / ((-probe) ** (m - 1) * -factor)
    nu = (probe**2 - of.dx**2) * factor
    z = probe * net.w + of.dx * net.v
    stated = nu ** (m - 1) * (of.s2 * (z @ z) - nu)
    return relative(stated if printed else (-1) ** (m - 1) * stated, measured)


@theorem("Corollary 3.1: dimension", of="linear-constant-bulk", cracking="below Corollary 3.1")
def linear_bulk_dimension(net: Linear, printed: bool = False) -> Error:
    r"""The eigenspace of a bulk eigenvalue can grow. After a step with $η δx = 1$ $w + v$ is 0, and
    the eigenvalue $δx$ has the multiplicity m. At $δx = 0$ the null space has $2m - 1$ dimensions.

    In print: The only possibility is that of a decrease in dimension
    Measured by: the number of eigenvalues, after such a step or at the solution
    """
    m, dx = len(net.w), net.moments.dx
    at_solution = bool(dx.abs() < 1e-13 * net.size)
    if m == 1 or not (at_solution or dx.abs() > 1e-3 * net.size):
        return None
    values, bulk, stated = net.eigenvalues, dx, 2 * m - 1
    if not at_solution:
        values, stated = torch.linalg.eigvalsh(replace(net, step=1 / dx).next_hessian), m
        w = net.w - net.v
        bulk = Moments.of(w, -w, net.x, net.y).dx
        if bulk.abs() < 1e-6 * values.abs().max():
            return None
    count = int(((values - bulk).abs() < 1e-9 * values.abs().max()).sum())
    before = 2 * m - 2 if at_solution else m - 1
    return excess(count, before, over=count) if printed else relative(stated, count)


@theorem("Corollary 3.1: inner product", of="linear-constant-bulk", cracking="Corollary 3.1")
def linear_iterate_and_half(net: Linear, printed: bool = False) -> Error:
    r"""Iterates $θ_t$ are orthogonal to the bulk eigenvectors $(ẑ; ±ẑ)$, also of 2m entries.

    In print: $⟨θ_t, ẑ⟩ = 0$, with m entries of $ẑ$ (taken with those of $v_t$)
    Measured by: one step by the gradient of automatic differentiation
    """
    m = len(net.w)
    if m == 1:
        return None
    theta = net.theta - net.step * net.gradient
    errors = []
    for sign in (1.0, -1.0):
        z = bulk_vector(net.w, net.v, sign, net.c)
        first, second = (theta[:m], z[:m]) if printed else (theta, z)
        errors.append(float((first @ second).abs() / (float(theta.norm() * z.norm()) or 1.0)))
    return max(errors)

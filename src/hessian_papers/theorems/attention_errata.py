"""What is wrong in print about the moments of attention, and on the way to Theorem 3.5.

All of it is in singh2026cracking, section 3.3 and appendices B.5 and D.5; symbols are those of
:mod:`hessian_papers.theorems.attention`.
"""

from dataclasses import replace

import torch
from torch import Tensor

from hessian_papers.theorems.attention import Attention, of_the_spectrum
from hessian_papers.theorems.catalogue import ROOT, Error, theorem
from hessian_papers.theorems.errors import excess, relative, worst
from hessian_papers.theorems.two_layer import pair


def _bulk(net: Attention) -> Tensor:
    """The bulk eigenvalue γ that is measured: aᵀH_QK a, a orthogonal to the keys' weights."""
    d = len(net.w_key)
    across = torch.linalg.svd(net.w_key[None]).Vh[-1]
    return across @ net.hessian[1 : 1 + d, 1 + d :] @ across


@theorem("section 3.3: γ", cracking="section 3.3")
def attention_gamma(net: Attention, printed: bool = False) -> Error:
    r"""$γ = w_V E[δ^⊤(x ⊙ m_2)]/(n\sqrt{d_K})$ depends on $w_K$ and $w_Q$ through $m_2$ and, in the
    residuals $δ = w_V m_1 - y$, through $m_1$.

    In print: only through the attention scores in $m_2$
    Remark: With two tokens $w_K → -w_K$ leaves $m_2$ as it is, and changes $γ$.
    """
    if net.x.shape[1] != 2 or not net.has_bulk:
        return None
    turned = replace(net, w_key=-net.w_key)
    if printed:
        return relative(_bulk(turned), _bulk(net), over=max(net.size, turned.size))
    errors = (relative(of.gamma, _bulk(of), over=of.size) for of in (net, turned))
    return worst(*errors)


@theorem(ours=True, cracking="appendix D.5, beyond its text")
def attention_second_moment(net: Attention) -> Error:
    """For two tokens (the task of appendix D.2) $m_2 = p(1 - p)(x_1 - x_2)^2$ is largest for
    uniform attention, $p = 1/2$. Small initial weights have it, so that $m_2$ can only fall.

    Remark: So its norm cannot grow along with the sharpness, as appendix D.5 has it; those of $m_1$
        and $m_3$ do.
    Measured by: attention of two tokens, from the network's outputs
    """
    gap = net.x[:, 1:] - net.x[:, :-1]
    if gap.shape[1] != 1 or bool((gap == 0).any()) or net.w_value == 0:
        return None
    p = (net.outputs / net.w_value - net.x[:, :1]) / gap
    m_2 = p * (1 - p) * gap**2
    scores = net.x[:, :, None] * net.x[:, None] * net.inner / len(net.w_key) ** 0.5
    weights, tokens = scores.softmax(dim=-1), net.x[:, None]
    mean = (weights * tokens).sum(-1, keepdim=True)
    central = (weights * (tokens - mean).square()).sum(-1)
    return worst(relative(central, m_2, over=(gap**2).max()), excess(m_2, gap**2 / 4, gap.max()))


def _singular(matrices: list[tuple[Tensor, Tensor]]) -> Error:
    """The smallest singular value of each matrix over the size of its terms, the largest of all."""
    if not matrices:
        return None
    least = torch.stack([torch.linalg.svdvals(matrix)[-1] / size for matrix, size in matrices])
    return float(least.max())


@of_the_spectrum("B.5: reduced matrix", cracking="appendix B.5, below eq. (120)")
def attention_reduced(net: Attention, printed: bool = False) -> Error:
    r"""At the outliers $ζww^⊤ - νI$ is singular, with $w = λw_Q + γw_K$, that is with
    $ζλ^2w_Qw_Q^⊤$.

    In print: $ζλ^{-2}w_Qw_Q^⊤$, and $w = λw_Q + tw_K$ with t undefined
    """
    (alpha, beta, gamma, zeta), key, query = net.coefficients, net.w_key, net.w_query
    crossed, matrices = torch.outer(query, key), []
    for value in net.outliers:
        divisor = zeta * value + beta**2 - alpha * zeta
        if value.abs() < 1e-6 * net.size or divisor.abs() < 1e-6 * (beta**2 + net.size**2):
            continue
        parts = torch.stack([value, -(beta**2) * value / divisor, -zeta * (key @ key)])
        nu = parts.sum() * (value**2 - gamma**2)
        terms = [
            zeta * value ** (-2 if printed else 2) * torch.outer(query, query),
            zeta * gamma * value * (crossed + crossed.mT),
            zeta * gamma**2 * torch.outer(key, key),
            -nu * torch.eye(len(key), dtype=torch.float64),
        ]
        size = sum(term.norm() for term in terms[:-1]) + parts.abs().sum() * (value**2 + gamma**2)
        matrices.append((torch.stack(terms).sum(0), size))
    return _singular(matrices)


@of_the_spectrum(
    "B.5: invertible", tolerance=ROOT, cracking="appendix B.5, below the Schur complement"
)
def attention_invertible(net: Attention, printed: bool = False) -> Error:
    r"""A is singular at the eigenvalues of the block of $w_V$ and $w_Q$, which are 0 and
    $\frac12(α + ζ‖w_K‖^2) ± \frac12\sqrt{(α + ζ‖w_K‖^2)^2 - 4(αζ - β^2)‖w_K‖^2}$. D is singular
    at 0 and $ζ‖w_Q‖^2$.

    In print: A is invertible as long as $λ ≠ 0$ and $λ ≠ α - β^2/ζ$. Hence $|D|$ is not zero
    Remark: The condition is that of E, and $|A|$ is the factor that must not vanish. The error of
        the print is how far the λ of a singular A or D is from both that are excluded.
    """
    (alpha, beta, _, zeta), d = net.coefficients, len(net.w_key)
    block, last = net.hessian[: 1 + d, : 1 + d], net.hessian[1 + d :, 1 + d :]
    measured = torch.cat([torch.linalg.eigvalsh(block), torch.linalg.eigvalsh(last)])
    if printed:
        excluded = torch.stack([0 * alpha, alpha - beta**2 / zeta if zeta != 0 else 0 * alpha])
        return float((measured[:, None] - excluded).abs().amin(dim=1).max() / net.size)
    keys = net.w_key @ net.w_key
    total = alpha + zeta * keys
    both = pair(total, total**2 - 4 * (alpha * zeta - beta**2) * keys)
    of_last = (zeta * (net.w_query @ net.w_query)).reshape(1)
    zeros = torch.zeros(d - 1, dtype=torch.float64)
    stated = [torch.cat([of, zeros]).sort().values for of in (both, of_last)]
    return relative(torch.cat(stated), measured, over=net.size)


@of_the_spectrum("B.5: Schur complement", cracking="appendix B.5, Schur complement")
def attention_schur(net: Attention, printed: bool = False) -> Error:
    r"""At the outliers $ζw_Qw_Q^⊤ - λI + (ζw_Qv^⊤ + G)(E - ζvv^⊤)^{-1}(ζvw_Q^⊤ + G^⊤)$ is singular.

    In print: the factors beside the inverse are exchanged, with $Gλ$ and $G^⊤λ$ for $G$ and $G^⊤$
    Remark: Exchanged factors have no product, so that the error is that of the λ alone.
    """
    (alpha, beta, gamma, zeta), key, query = net.coefficients, net.w_key, net.w_query
    eye, matrices = torch.eye(len(key), dtype=torch.float64), []
    corner = torch.cat([alpha.reshape(1), beta * key])
    below = torch.cat([beta * key[:, None], zeta * torch.outer(key, key)], dim=1)
    block = torch.cat([corner[None], below])
    for value in net.outliers:
        inside = value * torch.eye(1 + len(key), dtype=torch.float64) - block
        if torch.linalg.cond(inside) > 1e3:
            continue
        shift = gamma * value if printed else gamma
        left = torch.cat([beta * query[:, None], zeta * torch.outer(query, key) + shift * eye], 1)
        own, other = zeta * torch.outer(query, query), left @ torch.linalg.inv(inside) @ left.mT
        size = own.norm() + value.abs() + other.norm()
        matrices.append((own - value * eye + other, size))
    return _singular(matrices)

"""Closed forms of several inputs, outputs, bias, attention and depth under other losses."""

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from hessian_papers.theorems.catalogue import FAILS, Error, theorem
from hessian_papers.theorems.errors import basis_error, excess, relative, worst
from hessian_papers.theorems.instances import Instance
from hessian_papers.theorems.layers import GAUSS_NEWTON
from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form import instances


@dataclass(eq=False, kw_only=True)
class InputsLoss(Instance, instances.InputsLoss):
    """Several inputs under one loss after the other."""


@dataclass(eq=False, kw_only=True)
class BiasLoss(Instance, instances.BiasLoss):
    """Networks with bias under one loss after the other."""


@dataclass(eq=False, kw_only=True)
class OrthogonalLoss(Instance, instances.OrthogonalLoss):
    """An orthogonal first layer and white inputs under one loss after the other."""


@dataclass(eq=False, kw_only=True)
class AttentionLoss(Instance, instances.AttentionLoss):
    """Self-attention under one loss after the other."""


@dataclass(eq=False, kw_only=True)
class DeepLoss(Instance, instances.DeepLoss):
    """Deep linear networks whose outputs are the logits of a softmax."""

    source = GAUSS_NEWTON


@dataclass(eq=False, kw_only=True)
class OutputsLoss(Instance, instances.OutputsLoss):
    """Heads that are the logits of a softmax."""

    @property
    def probabilities(self) -> Tensor:
        """The softmax of the outputs ``(n, K)``."""
        return torch.softmax(self.outputs, dim=1)

    @property
    def slopes(self) -> Tensor:
        """δx_k = mean(x (p_k − y_k))."""
        return self.x @ (self.probabilities - self.y) / len(self.x)

    @property
    def small(self) -> Tensor:
        """The matrix ``(2K, 2K)`` of the outliers, heads one after the other."""
        p, squares = self.probabilities, self.x.square()
        coupling = torch.diag(squares @ p) - p.mT @ (squares[:, None] * p)
        lengths = [(self.w + self.v).norm(dim=1), (self.w - self.v).norm(dim=1)]
        u = torch.block_diag(*(torch.stack(lengths, dim=1) / 2**0.5)[:, :, None])
        bulk = torch.stack([self.slopes, -self.slopes], dim=1).flatten()
        return torch.diag(bulk) + u @ (coupling / len(p)) @ u.mT

    def together(self, outliers: Tensor) -> Tensor:
        """Outliers and bulk, ascending."""
        repeated = self.slopes.repeat_interleave(self.w.shape[1] - 1)
        return torch.cat([outliers, repeated, -repeated]).sort().values


@dataclass(eq=False, kw_only=True)
class Margins(Instance, instances.Margins):
    """Two-layer linear networks on labels of 0 and 1 under the logistic loss."""

    def slope(self, at: Tensor) -> Tensor:
        """g(c) = mean((σ(c x) − y) x)."""
        return ((torch.sigmoid(at * self.x) - self.y) * self.x).mean()


of_other_forms = partial(theorem, ours=True, of="inputs-any-loss")


@theorem(ours=True, cracking="Corollary B.1, beyond its loss")
def inputs_any_loss(net: InputsLoss) -> Error:
    r"""The closed forms of several inputs, bias, attention and depth hold for every loss with two
    derivatives. Moments are weighted by $l''$, and $l'$ replaces the residual. For separate inputs
    these are $E[l''xx^⊤]$ and $E[l'x]$.
    """
    return basis_error(net.hessian, net.spectrum.eigenvectors(), net.spectrum.eigenvalues)


@of_other_forms(cracking="Theorem B.1, beyond its loss")
def bias_any_loss(net: BiasLoss) -> Error:
    r"""With a bias $±\sqrt{E[l'x]^2 + E[l']^2}$ repeats $m - 2$ times each, 0 repeats $m - 1$
    times, and the $5 × 5$ matrix of the others takes $E[l'']$, $E[l''x]$ and $E[l''x^2]$.
    """
    spectrum, m = net.spectrum, len(net.w)
    slopes = net.gradient[m:].view(2, m) @ net.w  # those by v and by b are E[l'x] w and E[l'] w
    stated = [relative(spectrum.eigenvalues, net.eigenvalues)]
    if m > 2 and net.w.any():
        r = slopes.norm() / net.w.square().sum()
        stated.append(relative(spectrum.select("bulk").abs(), r.expand(2 * m - 4), over=net.size))
    return worst(*stated)


@of_other_forms(cracking="section 4.1, beyond its loss")
def orthogonal_any_loss(net: OrthogonalLoss) -> Error:
    """With any number of inputs and any first layer the bulk is $±‖E[l'x]‖$, each $m - D$ times,
    beside a matrix of $3D - 1$ rows.
    """
    return relative(net.spectrum.eigenvalues, net.eigenvalues)


@of_other_forms(cracking="Theorem 3.5, beyond its loss")
def attention_any_loss(net: AttentionLoss) -> Error:
    r"""Self-attention has $α = E[l''m_1^2]$, $β = E[(l''w_Vm_1 + l')xm_2]/\sqrt{d_K}$, $γ =
    E[w_Vl'xm_2]/\sqrt{d_K}$ and $ζ = E[l''w_V^2(xm_2)^2 + w_Vl'x^2m_3]/d_K$. All bounds from these
    four numbers hold as they are.
    """
    c = cf.attention_coefficients(**net.arguments, **net.options)
    lower, upper = cf.attention_largest_eigenvalue_bounds(c, net.w_query, net.w_key)
    largest = net.eigenvalues[-1]
    bounds = excess(torch.stack([lower, largest]), torch.stack([largest, upper]), net.size)
    return worst(relative(net.spectrum.eigenvalues, net.eigenvalues), bounds)


@of_other_forms(data="Equation 5, beyond its loss")
def deep_any_loss(net: DeepLoss) -> Error:
    r"""The Gauss-Newton matrix of a linear network of any depth has the non-zero eigenvalues of
    $E[M ⊗ xx^⊤]\sum_l S_lS_l^⊤ ⊗ P_l^⊤P_l$. The matrices $M$ are the second derivatives by the
    outputs, which the loss may couple.
    """
    if len(net.weights[-1]) == 1:  # the probability of one class is 1
        return None
    return relative(net.spectrum.eigenvalues, net.ggn_eigenvalues)


@theorem(ours=True, cracking="Corollary B.2, beyond its loss")
def heads_any_loss(net: OutputsLoss) -> Error:
    r"""Separate heads that are the logits of a softmax keep the bulk $±δx_k$, each $m - 1$ times,
    $δx_k = E[x(p_k - y_k)]$. The $2K$ outliers are the eigenvalues of $\operatorname{diag}(δx_k,
    -δx_k)$ plus $M_{jk}u_ju_k^⊤$, with $M = E[x^2(\operatorname{diag}(p) - pp^⊤)]$ and $u_k =
    (‖w_k + v_k‖, ‖w_k - v_k‖)/\sqrt2$.
    """
    stated = net.together(torch.linalg.eigvalsh(net.small))
    errors = [relative(values, net.eigenvalues) for values in (stated, net.spectrum.eigenvalues)]
    return worst(*errors)


@theorem(tolerance=FAILS, assumption=lambda net: 0, cracking="Corollary B.2, beyond its loss")
def uncoupled_heads(net: OutputsLoss) -> Error:
    """A loss that is a sum over outputs is needed. Under a softmax the union of the heads' spectra
    errs by at least 1 % of the largest eigenvalue.

    Statistic: largest error over the instances.

    Measured by: a round number far above round-off
    """
    pairs = [net.small[k : k + 2, k : k + 2] for k in range(0, len(net.small), 2)]
    apart = torch.cat([torch.linalg.eigvalsh(pair) for pair in pairs])
    return relative(net.together(apart), net.eigenvalues)


@theorem(tolerance=FAILS, assumption=lambda net: 0, cracking="Corollary B.1, beyond its loss")
def uncoupled_inputs(net: InputsLoss) -> Error:
    """Inputs are coupled by another loss. The sum over the coordinates, each with its own
    $E[l''x_d^2]$, errs by at least 1 % of the largest eigenvalue.

    Statistic: largest error over the instances.

    Measured by: a round number far above round-off
    """
    count, m = net.w.shape
    blocks = [net.hessian[2 * m * d : 2 * m * (d + 1)][:, 2 * m * d : 2 * m * (d + 1)]
              for d in range(count)]  # fmt: skip
    apart = torch.cat([torch.linalg.eigvalsh(block) for block in blocks]).sort().values
    return relative(apart, net.eigenvalues)


@theorem(ours=True, cracking="appendix C, beyond its loss", closed="section 1, beyond its loss")
def phases_any_loss(net: Margins) -> Error:
    r"""With $c = ⟨w, v⟩$ and $g(c) = E[l'(cx)x]$ the outliers' product is $-(cg^2)'(c)$, so that
    the late phase is where $cg^2$ decreases. Under the logistic loss separable data has no
    divergent phase.

    Measured by: the product of both outliers, and the sign of the small one
    """
    c, m = net.w @ net.v, len(net.w)
    small, large = net.eigenvalues[[m - 1, -1]]
    at = c.clone().requires_grad_()
    (rate,) = torch.autograd.grad(at * net.slope(at) ** 2, at)
    phase = cf.learning_phase(c, x=net.x, y=net.y, loss=net.objective)
    clear = min(small.abs(), (net.slope(c) ** 2) / net.size) > 1e-10 * net.size
    sign = clear and bool(small > 0) != (phase == "late")
    separable = bool(((2 * net.y - 1) * net.x > 0).all() or ((2 * net.y - 1) * net.x < 0).all())
    beyond = separable and phase == "divergent"
    product = relative(-rate, small * large, over=net.size**2)
    return worst(product, float(sign), float(beyond))

"""Deep linear networks with any and with balanced layers: anon2026data, eq. (4) to (9)."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import torch
from torch import Tensor

from hessian_papers.theorems.catalogue import Error, theorem
from hessian_papers.theorems.errors import excess, relative, worst
from hessian_papers.theorems.instances import measured
from hessian_papers.theorems.layers import GAUSS_NEWTON, Deep, largest
from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form import instances


@dataclass(eq=False, kw_only=True)
class AnyLayers(Deep, instances.AnyLayers):
    """Any weights and loss, with a probe; the inputs are whitened in every other instance."""

    @measured
    def jacobian_product(self) -> Tensor:
        """The derivative of all outputs along the probe ``(n, d_L)``, by autograd."""
        model = self.model()
        names, values = zip(*model.named_parameters(), strict=True)
        parts = self.probe.split([value.numel() for value in values])
        directions = tuple(part.view_as(value) for part, value in zip(parts, values, strict=True))

        def outputs(*weights: Tensor) -> Tensor:
            named = dict(zip(names, weights, strict=True))
            return torch.func.functional_call(model, named, (self.x,))

        plain = tuple(value.detach() for value in values)
        return torch.autograd.functional.jvp(outputs, plain, directions)[1]


@dataclass(eq=False, kw_only=True)
class TwoLayers(Deep, instances.TwoLayers):
    """Two layers that are not balanced, whitened inputs, any loss."""

    @property
    def printed_ranges(self) -> tuple[int, int]:
        """The last indices of eq. (15) as printed."""
        first, last = self.weights
        return min(first.shape), min(last.shape)


@dataclass(eq=False, kw_only=True)
class Balanced(Deep, instances.Balanced):
    """Balanced layers and whitened inputs, with targets of several kinds."""

    @property
    def narrowest(self) -> int:
        """The units of the narrowest layer, inputs and outputs among them."""
        return min(min(weight.shape) for weight in self.weights)

    @cached_property
    def values(self) -> Tensor:
        """The singular values of the first layer, with zeros for all inputs and outputs."""
        return largest(torch.linalg.svdvals(self.weights[0]), max(self.inputs, self.outlets))

    @property
    def close(self) -> bool:
        """Singular values so close that the quotient loses more digits than are asked for."""
        values = self.values[: self.narrowest] / self.values[0]
        gaps = (values[:, None] - values).abs()
        return bool(((gaps > 1e-14) & (gaps < 1e-3)).any())

    @measured
    def map(self) -> Tensor:
        """The network's map from inputs to outputs ``(d_L, d_0)``."""
        return self.model()(torch.eye(self.inputs, dtype=torch.float64)).detach().mT

    @measured
    def layer_values(self) -> Tensor:
        """The singular values of the first layer to the power L."""
        powers = torch.linalg.svdvals(self.weights[0]) ** len(self.weights)
        return largest(powers, min(self.y.shape))

    @measured
    def one_hot_values(self) -> Tensor:
        """The squared singular values of the one-hot labels over their number."""
        one_hot = torch.nn.functional.one_hot(self.labels, self.outlets).double()
        return largest(torch.linalg.svdvals(one_hot) ** 2 / len(one_hot), self.outlets)


@theorem(data="Equation 4")
def layers_jacobian(net: AnyLayers) -> Error:
    """$J_l = (P_l X)^⊤ ⊗ S_l$, for weights and outputs stacked column by column.

    Measured by: the derivative of all outputs along a random direction, by automatic
        differentiation
    """
    total = torch.zeros_like(net.y).flatten()
    parts = net.probe.split([weight.numel() for weight in net.weights])
    for weight, (p, s), part in zip(net.weights, net.factors, parts, strict=True):
        total += torch.kron(net.x @ p.mT, s) @ part.view_as(weight).mT.flatten()
    return relative(total, net.jacobian_product.flatten())


@theorem(of="layers-jacobian", source=GAUSS_NEWTON, data="Equation 5")
def layers_kernel(net: AnyLayers) -> Error:
    """$JJ^⊤/n = Σ_l (X^⊤P_l^⊤P_l X/n) ⊗ (S_l S_l^⊤)$, which shares its non-zero eigenvalues with
    the Gauss-Newton matrix, for any widths, depth and inputs.
    """
    return net.kernel_error([(p.mT @ p, s @ s.mT) for p, s in net.factors])


@theorem(source=GAUSS_NEWTON, data="Equation 6")
def layers_bound(net: AnyLayers) -> Error:
    r"""For whitened inputs $λ_{\max} ≤ σ_x^2 Σ_l σ_{\max}^2(P_l) σ_{\max}^2(S_l)$."""
    top = net.ggn_eigenvalues[-1]
    return excess(top, net.bound, over=top.clamp_min(0)) if net.white else None


@theorem(data="Equation 7")
def layers_trace(net: AnyLayers) -> Error:
    r"""For whitened inputs $\operatorname{tr}(H) = σ_x^2 Σ_l ‖P_l‖_F^2 ‖S_l‖_F^2$.

    Remark: The paper calls it an approximation of the Hessian's trace. It is exact at any loss: the
        network is linear in each layer, so the rest of the Hessian has trace 0.
    """
    if not net.white:
        return None
    norms = [p.square().sum() * s.square().sum() for p, s in net.factors]
    return net.trace_error(net.input_scale**2 * torch.stack(norms).sum())


@theorem(ours=True, data="Equation 7, beyond its assumption")
def layers_trace_any(net: AnyLayers) -> Error:
    r"""$\operatorname{tr}(H) = Σ_l \operatorname{tr}(P_l Σ P_l^⊤) ‖S_l‖_F^2$ for any inputs with
    second moments $Σ$, at any loss.

    Remark: Our addition.
    """
    return net.trace_error(cf.deep_linear_trace(list(net.weights), net.second_moments))


@theorem(of="layers-trace-any", ours=True, data="below Equation 7")
def layers_blocks(net: AnyLayers) -> Error:
    """The diagonal blocks of the Hessian are $S_l^⊤S_l ⊗ P_l Σ P_l^⊤$, for weights flattened by
    rows, at any loss.

    Remark: Our addition.
    """
    errors, start, over = [], 0, net.hessian.abs().max()
    for p, s in net.factors:
        hidden = (p @ net.second_moments @ p.mT).contiguous()
        block = torch.kron((s.mT @ s).contiguous(), hidden)
        rows = slice(start, start := start + len(block))
        errors.append(relative(block, net.hessian[rows, rows], over))
    return worst(*errors)


@theorem("data eq. (4): brace", of="layers-jacobian", data="Equation 4")
def layers_brace(net: AnyLayers, printed: bool = False) -> Error:
    """$P_l = W_{l-1} ⋯ W_1$, without the inputs.

    In print: $P_l = W_{l-1} ⋯ W_1 X$
    Remark: The size given for $P_l$, and equations 5 to 8, have it right. The errors are those of
        equation 7 with either $P_l$.
    """
    if not (net.white and printed):
        return layers_trace(net)
    norms = [(net.x @ p.mT).square().sum() * s.square().sum() for p, s in net.factors]
    return net.trace_error(net.input_scale**2 * torch.stack(norms).sum())


@theorem("data Assumption 3", data="Section 3, below Assumption 3")
def balanced_alignment(net: Balanced, printed: bool = False) -> Error:
    """The left singular vectors of a layer are the right ones of the next, and all layers share
    their singular values that are not 0.

    In print: the right singular vectors of a layer are aligned with the left ones of the next
    Remark: Step 3 of appendix C has it right.
    Measured by: the weights
    """
    errors = []
    for before, after in pairwise(net.weights):
        if not printed:
            errors.append(relative(after.mT @ after, before @ before.mT))
        elif before.shape[1] == len(after):
            errors.append(relative(after @ after.mT, before.mT @ before))
    return worst(*errors) if errors else None


@theorem(of="balanced-pairs", source=GAUSS_NEWTON, data="Equation 8")
def balanced_kernel(net: Balanced) -> Error:
    """For strongly balanced layers $JJ^⊤/n = Σ_l (X^⊤(W_1^⊤W_1)^{l-1}X/n) ⊗ (W_L W_L^⊤)^{L-l}$."""
    power, depth = torch.linalg.matrix_power, len(net.weights)
    first, last = net.weights[0].mT @ net.weights[0], net.weights[-1] @ net.weights[-1].mT
    return net.kernel_error([(power(first, k), power(last, depth - 1 - k)) for k in range(depth)])


@theorem(of="balanced-pairs", source=GAUSS_NEWTON, data="Section 3, eigenvectors")
def balanced_vectors(net: Balanced) -> Error:
    """The pairs $q_{ij}$ of a right singular vector of $W_1$ and a left one of $W_L$ give the
    eigenvectors $J^⊤q_{ij}$; they extend to an orthonormal basis of the parameter space.
    """
    return net.basis_error()


def quotients(first: Tensor, last: Tensor, depth: int) -> Tensor:
    """Eq. (9b) for all pairs; singular values that differ by round-off only count as equal."""
    i, j = first[:, None].expand(-1, len(last)), last.expand(len(first), -1)
    equal = (i - j).abs() <= 1e-9 * torch.maximum(i, j)
    divisor = torch.where(equal, 1.0, i**2 - j**2)
    unequal = (i ** (2 * depth) - j ** (2 * depth)) / divisor
    return torch.where(equal, depth * i ** (2 * (depth - 1)), unequal).flatten()


@theorem(of="balanced-pairs", source=GAUSS_NEWTON, data="Equation 9b")
def balanced_quotient(net: Balanced) -> Error:
    """The sum in equation 9a is $(σ_i^{2L} - σ_j^{2L})/(σ_i^2 - σ_j^2)$, or $Lσ^{2(L-1)}$ for equal
    singular values.

    Remark: Excluding instances of nearly equal ones, where the quotient loses digits to
        cancellation.
    """
    if net.close:
        return None
    first, last = net.values[: net.inputs], net.values[: net.outlets]
    return net.spectrum_error(net.input_scale**2 * quotients(first, last, len(net.weights)))


@theorem(of="balanced-pairs", source=GAUSS_NEWTON, data="Equation 9b, largest eigenvalue")
def balanced_sharpness(net: Balanced) -> Error:
    r"""$λ_{\max} = L σ_x^2‖W_1‖_2^{2(L-1)}$, and the bound of equation 6 is attained."""
    top = net.ggn_eigenvalues[-1]
    return worst(relative(net.sharpness, top), relative(net.bound, top))


@theorem("data eq. (9): i, j", source=GAUSS_NEWTON, data="Equation 9")
def balanced_pairs(net: Balanced, printed: bool = False) -> Error:
    r"""The eigenvalues are $σ_x^2 Σ_l σ_i^{2(L-l)} σ_j^{2(l-1)}$ with $i ∈ [d_L]$ and $j ∈ [d_0]$.
    Singular values beyond the common ones are 0, and $0^0 = 1$.

    In print: one eigenvalue for each pair of the $\min\lbrace d_0, …, d_L\rbrace$ common singular
        values
    Remark: Print and correction agree where neither the inputs nor the outputs outnumber the units
        of the narrowest layer.
    """
    return net.pairs_error(printed, net.narrowest, net.narrowest)


@theorem("data eq. (9): count", source=GAUSS_NEWTON, data="Section 3, below Equation 9")
def balanced_count(net: Balanced, printed: bool = False) -> Error:
    r"""For $L ≥ 2$ and layers of rank r there are $r d_0 + r d_L - r^2$ non-zero eigenvalues.

    In print: at most $(\min\lbrace d_0, …, d_L\rbrace)^2$ are non-zero
    """
    return net.count_error(net.narrowest**2 if printed else None)

"""Linear networks on inputs that are not whitened: anon2026data, beyond its Assumption 2."""

from dataclasses import dataclass

import torch

from hessian_papers.theorems.catalogue import FAILS, Error, theorem
from hessian_papers.theorems.errors import relative
from hessian_papers.theorems.layers import GAUSS_NEWTON, Deep, largest
from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form import instances
from hessian_spectra.closed_form.instances import LEAST_SQUARES, end_to_end


@dataclass(eq=False, kw_only=True)
class RawInputs(Deep, instances.RawInputs):
    """Balanced layers or two others, on inputs of any second moments, and targets of two kinds."""

    @property
    def fitted(self) -> bool:
        """Whether the network solves least squares."""
        return self.kind == LEAST_SQUARES

    @property
    def of_product(self) -> torch.Tensor:
        """The eigenvalues by the product of the layers, ``(d_L, d_0)``."""
        return cf.balanced_spectrum(
            end_to_end(self.weights), self.second_moments, len(self.weights)
        )


@theorem(ours=True, data="Equation 5, beyond Assumptions 1 to 3")
def raw_inputs(net: RawInputs) -> Error:
    r"""At least squares, $(f(X) - Y)X^⊤ = 0$, the Hessian of any layers has the non-zero
    eigenvalues of $Σ_l S_l S_l^⊤ ⊗ Σ^{1/2}P_l^⊤P_l Σ^{1/2}$. The inputs have any moments $Σ$.
    """
    return relative(net.spectrum.eigenvalues, net.eigenvalues) if net.fitted else None


@theorem(of="raw-inputs", ours=True, source=GAUSS_NEWTON, data="Section 3, beyond Assumption 2")
def raw_inputs_basis(net: RawInputs) -> Error:
    r"""For two layers, or balanced ones, these are $K$ problems $Σ_l ‖S_l^⊤u_j‖^2
    Σ^{1/2}P_l^⊤P_l Σ^{1/2}$, with the left singular vectors $u_j$ of $W_L$. An eigenvector $z$ has
    in layer $l$ the matrix $S_l^⊤u_j (P_l Σ^{1/2}z)^⊤$.
    """
    return net.basis_error()


@theorem(of="raw-inputs", ours=True, source=GAUSS_NEWTON, data="Section 3, beyond Assumption 2")
def raw_inputs_count(net: RawInputs) -> Error:
    r"""For these layers, $L ≥ 2$ and the rank $r$ of $W_L$ there are $r \operatorname{rank} Σ$
    outliers. The non-zero eigenvalues of $Σ^{1/2}P_L^⊤P_L Σ^{1/2}$ occur $K - r$ times each beside
    them.
    """
    if len(net.weights) == 1:
        return None
    last = int(torch.linalg.matrix_rank(net.weights[-1]))
    hidden = net.x @ end_to_end(net.weights[:-1]).mT
    values = largest(torch.linalg.svdvals(hidden) ** 2 / len(net.x), net.inputs)
    bulk = values[values > 1e-10 * values[0]].repeat(net.outlets - last)
    outliers = last * int(torch.linalg.matrix_rank(net.x))
    # Those of brute force that no bulk eigenvalue takes.
    rest = net.ggn_eigenvalues.tolist()
    size, missed = net.ggn_eigenvalues[-1], 0.0
    for value in bulk.tolist():
        nearest = min(rest, key=lambda other: abs(other - value))
        missed = max(missed, abs(nearest - value) / float(size))
        rest.remove(nearest)
    positive = sum(value > 1e-10 * float(size) for value in rest)
    return max(missed, relative(outliers, positive)) if float(size) > 0 else None


@theorem(ours=True, source=GAUSS_NEWTON, data="Equation 9, beyond Assumption 2")
def raw_product(net: RawInputs) -> Error:
    r"""For balanced layers the product $B = W_L ⋯ W_1$ tells the spectrum. For each singular value
    $s$ of $B$, zeros included, it has the eigenvalues of $Σ^{1/2}[Σ_l s^{2(L-l)/L}
    (B^⊤B)^{(l-1)/L}]Σ^{1/2}$, with $0^0 = 1$.
    """
    return net.spectrum_error(net.of_product.flatten()) if net.balanced else None


@theorem(of="raw-product", ours=True, data="Equation 9b, beyond Assumptions 1 and 2")
def raw_product_sharpness(net: RawInputs) -> Error:
    r"""Its largest eigenvalue, with $s = ‖B‖_2$, is the sharpness at least squares."""
    if not (net.balanced and net.fitted):
        return None
    product, depth = end_to_end(net.weights), len(net.weights)
    stated = cf.balanced_sharpness(product, net.second_moments, depth)
    return relative(stated, net.eigenvalues[-1], over=net.size)


@theorem(tolerance=FAILS, assumption=lambda net: net.fitted, data="Section 3, beyond Assumption 2")
def raw_inputs_needed(net: RawInputs) -> Error:
    r"""Least squares and balanced layers are needed. Elsewhere the Gauss-Newton matrix, or the
    product, gives another spectrum than the Hessian's, by at least 1 % of the largest eigenvalue.

    Statistic: largest error over the instances that break it; smallest over both assumptions.

    Measured by: a round number far above round-off
    """
    if not net.fitted:
        return relative(net.spectrum.eigenvalues, net.eigenvalues)
    if net.balanced:
        return None
    return relative(
        largest(net.of_product.flatten(), len(net.eigenvalues)), net.eigenvalues.flip(0)
    )

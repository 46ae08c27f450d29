"""Two linear layers at a random start: what of the spectrum is exact there."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from hessian_papers.theorems.catalogue import Error, theorem
from hessian_papers.theorems.deep import TwoLayers
from hessian_papers.theorems.errors import excess, relative
from hessian_papers.theorems.layers import GAUSS_NEWTON, largest
from hessian_papers.theorems.raw_inputs import RawInputs
from hessian_spectra import closed_form as cf


@theorem(ours=True, source=GAUSS_NEWTON, cracking="section 4.2, beyond white inputs")
def start_sharpness(net: RawInputs) -> Error:
    r"""For two layers of any weights the Gauss-Newton matrix has the largest eigenvalue of
    $Σ^{1/2}(W_1^⊤W_1 + ‖W_2‖_2^2 I)Σ^{1/2}$. No other property of $W_2$ enters it.
    """
    if len(net.weights) != 2:
        return None
    first, last = net.weights
    shift = torch.linalg.matrix_norm(last, 2).square()
    inner = first.mT @ first + shift * torch.eye(net.inputs, dtype=torch.float64)
    root = net.x / len(net.x) ** 0.5
    return relative(torch.linalg.eigvalsh(root @ inner @ root.mT)[-1], net.ggn_eigenvalues[-1])


@theorem(of="start-sharpness", ours=True, source=GAUSS_NEWTON, cracking="section 4.2")
def start_law(net: TwoLayers) -> Error:
    r"""For white inputs its $KD$ eigenvalues have nearly the law of sums of two Marchenko-Pastur
    variables. The distance of the two laws is at most the sum of those of both layers.
    """
    counts, bound, laws = (net.inputs, net.outlets), 0.0, []
    for weight, count in zip(net.weights, counts, strict=True):
        squares = largest(torch.linalg.svdvals(weight).square(), count)
        if not squares.any():
            return None
        laws.append((count / len(net.weights[0]), float(squares.mean())))
        bound += _distance(squares, partial(_marchenko_pastur, law=laws[-1]))
    ratios, scales = zip(*laws, strict=True)
    values = largest(net.ggn_eigenvalues, net.inputs * net.outlets) / net.input_scale**2
    values = torch.where(values < 1e-10 * values[0], 0.0, values)  # round-off is left of the atom
    return excess(_distance(values, lambda x: cf.pair_sum_cdf(x, ratios, scales)), bound, 1.0)


def _marchenko_pastur(values: Tensor, law: tuple[float, float]) -> Tensor:
    return cf.marchenko_pastur_cdf(values, *law)


def _distance(values: Tensor, cdf: Callable[[Tensor], Tensor]) -> float:
    """The largest difference between the law of values of at least 0 and one with an atom at 0."""
    values = values.sort().values
    after = torch.arange(1, len(values) + 1, dtype=torch.float64) / len(values)
    law = cdf(values)
    before = torch.where(values > 0, law, 0.0)
    return float(torch.maximum((after - law).abs(), (after - 1 / len(values) - before).abs()).max())

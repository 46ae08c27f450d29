"""Brute force itself: its Hessians against another library's."""

from torch import nn

from hessian_papers.theorems.catalogue import Error, theorem
from hessian_papers.theorems.errors import relative
from hessian_papers.theorems.instances import Instance
from hessian_spectra import curvature as cv


@theorem(ours=True, every=10, cracking="appendix D.1")
def second_library(net: Instance) -> Error:
    """The Hessian operator behind all eigenvalues agrees with the paper's own library,
    curvlinops.

    Measured by: curvlinops, on every tenth instance
    """
    if isinstance(net.objective, nn.HuberLoss | nn.SmoothL1Loss | nn.SoftMarginLoss):
        return None  # it differentiates forwards, which torch cannot do with these twice
    operator = cv.hessian(net.problem, backend="curvlinops", check=False)
    return relative(net.hessian, cv.dense_matrix(operator))

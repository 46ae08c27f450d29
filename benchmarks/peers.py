"""The same quantities from curvlinops, PyHessian and hessian-eigenthings."""

import warnings
from collections.abc import Callable

import numpy as np
import torch
from scipy.sparse.linalg import eigsh
from torch import Tensor, nn

Data = list[tuple[Tensor, Tensor]]
Pairs = tuple[Tensor, Tensor]  # eigenvalues (k,) and eigenvectors (p, k)

with warnings.catch_warnings():
    # Their imports meet torch's deprecations.
    warnings.simplefilter("ignore")
    import curvlinops
    from curvlinops.papyan2020traces.spectrum import lanczos_approximate_spectrum
    from hessian_eigenthings import HessianOperator, lanczos, supervised_loss
    from pyhessian.hessian import hessian as pyhessian
    from pyhessian.utils import hessian_vector_product

LOSS = nn.CrossEntropyLoss()


def curvlinops_hessian(
    model: nn.Module, data: Data, parameters: list[nn.Parameter] | None = None
) -> curvlinops.HessianLinearOperator:
    """The operator as released, without its check."""
    chosen = list(model.parameters()) if parameters is None else parameters
    return curvlinops.HessianLinearOperator(model, LOSS, chosen, data, check_deterministic=False)


def curvlinops_density(
    operator: curvlinops.HessianLinearOperator, steps: int, probes: int
) -> Pairs:
    """Grid and density, with bounds from its own eigsh."""
    return lanczos_approximate_spectrum(operator, steps, num_repeats=probes)


def scipy_top(operator: curvlinops.HessianLinearOperator, k: int, tol: float) -> Pairs:
    """ARPACK on curvlinops' operator, from a fixed start."""
    start = np.random.default_rng(0).standard_normal(operator.shape[0])
    values, vectors = eigsh(operator.to_scipy(), k=k, which="LA", tol=tol, v0=start)
    return torch.tensor(values, dtype=operator.dtype), torch.tensor(vectors, dtype=operator.dtype)


class PyHessian:
    """PyHessian on one batch, which keeps its graph."""

    def __init__(self, model: nn.Module, data: Data) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.inner = pyhessian(model, LOSS, data=data[0], cuda=False)
        self.shapes = [parameter.shape for parameter in self.inner.params]

    def product(self, vector: Tensor) -> Tensor:
        """H v."""
        pieces = vector.split([shape.numel() for shape in self.shapes])
        parts = [piece.view(shape) for piece, shape in zip(pieces, self.shapes, strict=True)]
        result = hessian_vector_product(self.inner.gradsH, self.inner.params, parts)
        return torch.cat([part.reshape(-1) for part in result])

    def top(self, k: int, tol: float) -> Pairs:
        """Power iteration with deflation; ``tol`` is the change of an eigenvalue."""
        torch.manual_seed(0)
        values, vectors = self.inner.eigenvalues(maxIter=500, tol=tol, top_n=k)
        flat = [torch.cat([part.reshape(-1) for part in vector]) for vector in vectors]
        return torch.tensor(values), torch.stack(flat, dim=1)


class HessianEigenthings:
    """hessian-eigenthings on one batch, which builds the graph for each product."""

    def __init__(self, model: nn.Module, data: Data) -> None:
        self.operator = HessianOperator(model, data, supervised_loss(LOSS))

    def product(self, vector: Tensor) -> Tensor:
        """H v."""
        return self.operator.matvec(vector)

    def top(self, k: int, steps: int) -> Pairs:
        """Its Lanczos with a given number of steps; it does not stop on a residual."""
        found = lanczos(
            self.operator, k=k, max_iter=steps, which="LA", reorthogonalize=True, seed=0
        )
        return found.eigenvalues, found.eigenvectors.T

    def steps_for(self, k: int, good: Callable[[Pairs], bool], start: int) -> int:
        """The fewest steps, in tenths, that are good enough."""
        steps = start
        while not good(self.top(k, steps)) and steps < 600:
            steps = int(1.1 * steps) + 1
        return steps

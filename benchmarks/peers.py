"""The same quantities from our library and from curvlinops, hessian-eigenthings and PyHessian."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from scipy.sparse.linalg import eigsh
from torch import Tensor, nn

from hessian_spectra import curvature as cv

Data = list[tuple[Tensor, Tensor]]
Pair = tuple[Tensor, Tensor]  # of a layer the factors (m, m) and (d, d)
Pairs = tuple[Tensor, Tensor]  # eigenvalues (k,) and eigenvectors (p, k)

with warnings.catch_warnings():
    # Their imports meet torch's deprecations.
    warnings.simplefilter("ignore")
    import curvlinops
    import hessian_eigenthings as eigenthings
    from curvlinops.papyan2020traces.spectrum import lanczos_approximate_spectrum
    from hessian_eigenthings.algorithms.lanczos import lanczos_tridiagonal
    from pyhessian.hessian import hessian as pyhessian
    from pyhessian.utils import hessian_vector_product

LOSS = nn.CrossEntropyLoss()


class Library(ABC):
    """One library's Hessian of a network on one batch.

    Args:
        model: the network.
        data: one batch.
        layer: the only parameter that varies, by name, where the library can do that.
    """

    @abstractmethod
    def __init__(self, model: nn.Module, data: Data, layer: str | None = None) -> None:
        """Build the operator."""

    @abstractmethod
    def product(self, vector: Tensor) -> Tensor:
        """H v."""

    @abstractmethod
    def top(self, k: int, setting: Any) -> Pairs:
        """The k largest eigenvalues, with a setting of how long to go on."""

    def tracker(self, setting: Any) -> Callable[[], float]:
        """A function that gives the largest eigenvalue at the parameters of the moment."""
        return lambda: float(self.top(1, setting)[0][0])

    @abstractmethod
    def settings(self, k: int, tol: float) -> Sequence[Any]:
        """Settings to try for residuals of ``tol``, the cheapest first."""

    @abstractmethod
    def density(self, steps: int, probes: int) -> Pairs:
        """Grid and spectral density."""

    @abstractmethod
    def trace(self, products: int, seed: int) -> float:
        """An estimate of the trace by the library's best method."""


class Ours(Library):
    """The tools that this project has, with its check on.

    Args:
        model: the network.
        data: one batch.
        layer: the only parameter that varies, by name.
        check: whether the operator is checked.
    """

    def __init__(
        self, model: nn.Module, data: Data, layer: str | None = None, check: bool = True
    ) -> None:
        self.model, self.data = model, data
        problem = cv.Problem(model, LOSS, data, None if layer is None else [layer])
        self.operator = cv.hessian(problem, check="once" if check else False)

    def product(self, vector: Tensor) -> Tensor:
        """H v, with the graph kept."""
        return self.operator @ vector

    def top(self, k: int, setting: Any) -> Pairs:
        """Lanczos until the residuals are small."""
        pairs = cv.top_eigenpairs(self.operator, k, setting)
        return pairs.eigenvalues, pairs.eigenvectors()

    def tracker(self, setting: Any) -> Callable[[], float]:
        """It starts from the last eigenvector."""
        tracker = cv.SharpnessTracker(self.model, LOSS, self.data, tol=setting)

        def look() -> float:
            record = tracker.step(len(tracker.history))
            assert record is not None
            return record.sharpness

        return look

    def settings(self, k: int, tol: float) -> Sequence[Any]:
        """It stops on the residual."""
        return [tol]

    def density(self, steps: int, probes: int) -> Pairs:
        """Stochastic Lanczos quadrature."""
        density = cv.spectral_density(self.operator, probes=probes, steps=steps)
        return density.grid, density.density

    def trace(self, products: int, seed: int) -> float:
        """Layer by layer, by XTrace or Hutchinson's mean."""
        return cv.trace(self.operator, probes=products, seed=seed).value


class Curvlinops(Library):
    """The operator as released, without its check, and scipy's ARPACK."""

    def __init__(self, model: nn.Module, data: Data, layer: str | None = None) -> None:
        named = dict(model.named_parameters())
        chosen = list(named.values()) if layer is None else [named[layer]]
        self.operator = curvlinops.HessianLinearOperator(
            model, LOSS, chosen, data, check_deterministic=False
        )

    def product(self, vector: Tensor) -> Tensor:
        """H v, which builds the graph anew."""
        return self.operator @ vector

    def top(self, k: int, setting: Any, start: Tensor | None = None) -> Pairs:
        """ARPACK in the network's type, from a fixed start or a given one."""
        dtype = self.operator.dtype
        scipy = self.operator.to_scipy(dtype=torch.zeros(0, dtype=dtype).numpy().dtype)
        draws = np.random.default_rng(0)
        first = draws.standard_normal(self.operator.shape[0]) if start is None else start.numpy()
        values, vectors = eigsh(scipy, k=k, which="LA", tol=setting, v0=first.astype(scipy.dtype))
        return torch.tensor(values, dtype=dtype), torch.tensor(vectors, dtype=dtype)

    def tracker(self, setting: Any) -> Callable[[], float]:
        """It reads the parameters at each product, and can start from the last eigenvector."""
        last: list[Tensor] = []

        def look() -> float:
            values, vectors = self.top(1, setting, last.pop() if last else None)
            # As ours: subnormal numbers would slow it down.
            last.append(vectors[:, 0].where(vectors[:, 0].abs() > 1e-14, 0.0))
            return float(values[0])

        return look

    def settings(self, k: int, tol: float) -> Sequence[Any]:
        """It looks at the residuals when its space is full, and then they are smaller."""
        return [1000 * tol, 100 * tol, 10 * tol, tol, tol / 10]

    def density(self, steps: int, probes: int) -> Pairs:
        """Stochastic Lanczos quadrature, with bounds from its own eigsh."""
        return lanczos_approximate_spectrum(self.operator, steps, num_repeats=probes)

    def trace(self, products: int, seed: int) -> float:
        """XTrace."""
        torch.manual_seed(seed)
        return float(curvlinops.xtrace(self.operator, products))


class HessianEigenthings(Library):
    """It builds the graph for each product, and its Lanczos goes a given number of steps."""

    def __init__(self, model: nn.Module, data: Data, layer: str | None = None) -> None:
        chosen = None if layer is None else eigenthings.match_names(layer)
        self.operator = eigenthings.HessianOperator(
            model, data, eigenthings.supervised_loss(LOSS), param_filter=chosen
        )

    def product(self, vector: Tensor) -> Tensor:
        """H v."""
        return self.operator.matvec(vector)

    def top(self, k: int, setting: Any) -> Pairs:
        """Lanczos with all vectors kept orthogonal."""
        result = eigenthings.lanczos(
            self.operator, k=k, max_iter=setting, which="LA", reorthogonalize=True, seed=0
        )
        return result.eigenvalues, result.eigenvectors.T

    def settings(self, k: int, tol: float) -> Sequence[Any]:
        """The steps after which its residuals are small, from one long run, and some more."""
        p, limit = self.operator.size, 2 * k + 20
        start = torch.randn(p, generator=torch.Generator().manual_seed(0), dtype=torch.float32)
        while True:
            run = lanczos_tridiagonal(self.operator, start.to(self.operator.dtype), limit)
            alphas, betas = run.alphas.double(), run.betas.double()
            for steps in range(k + 1, run.iterations):
                matrix = torch.diag(alphas[:steps])
                matrix += torch.diag(betas[: steps - 1], 1) + torch.diag(betas[: steps - 1], -1)
                values, vectors = torch.linalg.eigh(matrix)
                residuals = betas[steps - 1] * vectors[-1, -k:].abs()
                if float(residuals.max()) <= tol * float(values.abs().max()):
                    return [steps, steps + 1, steps + 2, int(1.1 * steps) + 3]
            limit *= 2

    def density(self, steps: int, probes: int) -> Pairs:
        """Stochastic Lanczos quadrature."""
        density = eigenthings.spectral_density(
            self.operator, num_runs=probes, lanczos_steps=steps, seed=0
        )
        return density.grid, density.density

    def trace(self, products: int, seed: int) -> float:
        """Hutch++."""
        return eigenthings.trace(self.operator, num_matvecs=products, seed=seed).estimate


class PyHessian(Library):
    """It keeps its graph, and iterates powers."""

    def __init__(self, model: nn.Module, data: Data, layer: str | None = None) -> None:
        if layer is not None:
            raise NotImplementedError("it has no layers")
        self.model, self.data = model, data
        # Gradients that are there already would be added.
        model.zero_grad()
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

    def tracker(self, setting: Any) -> Callable[[], float]:
        """It keeps the graph of parameters that were, so that each time has one of its own."""
        return lambda: float(PyHessian(self.model, self.data).top(1, setting)[0][0])

    def top(self, k: int, setting: Any) -> Pairs:
        """Power iteration with deflation; the setting is the change of an eigenvalue."""
        torch.manual_seed(0)
        values, vectors = self.inner.eigenvalues(maxIter=500, tol=setting, top_n=k)
        flat = [torch.cat([part.reshape(-1) for part in vector]) for vector in vectors]
        return torch.tensor(values), torch.stack(flat, dim=1)

    def settings(self, k: int, tol: float) -> Sequence[Any]:
        """An eigenvalue's error is about the square of the residual; many take long to try."""
        return [tol, tol / 10, tol / 100, tol / 1000] if k == 1 else [tol / 100]

    def density(self, steps: int, probes: int) -> Pairs:
        """It calls what is gone from torch."""
        nodes, _ = self.inner.density(iter=steps, n_v=probes)
        return torch.tensor(nodes), torch.tensor(nodes)

    def trace(self, products: int, seed: int) -> float:
        """Hutchinson's mean, of as many products as all: where it is negative, tol=0 would stop."""
        torch.manual_seed(seed)
        return float(np.mean(self.inner.trace(maxIter=products, tol=-np.inf)))


LIBRARIES: dict[str, Callable[..., Library]] = {
    "ours": Ours,
    "curvlinops": Curvlinops,
    "hessian-eigenthings": HessianEigenthings,
    "PyHessian": PyHessian,
}


def layerwise_factors(model: nn.Module, data: Data, times: int) -> list[Pair]:
    """E[M] and E[x xᵀ] of each layer, by one pass of ours over the data, so many times."""
    problem = cv.Problem(model, LOSS, data * times)
    layers = cv.layerwise(problem).values()
    return [(layer.output_hessian, layer.input_autocorrelation) for layer in layers]


def kfac_factors(model: nn.Module, data: Data, times: int) -> list[Pair]:
    """The same matrices up to a scale between the two, from curvlinops' KFAC."""
    weights = [parameter for parameter in model.parameters() if parameter.ndim > 1]
    result = curvlinops.KFACLinearOperator(
        model, LOSS, weights, data * times, fisher_type="type-2", kfac_approx="expand",
        check_deterministic=False,
    )  # fmt: skip
    result.compute_kronecker_factors()
    outputs, inputs = result._gradient_covariances, result._input_covariances
    return [(outputs[name], inputs[name]) for name in inputs]


def held_products(model: nn.Module, data: Data, number: int) -> list[Tensor]:
    """Products of each layer's Gauss-Newton matrix with a vector, one after the other, of ours."""
    layers = cv.layerwise(cv.Problem(model, LOSS, data)).values()
    return [_powers(layer.gauss_newton, number) for layer in layers]


def ggn_products(model: nn.Module, data: Data, number: int) -> list[Tensor]:
    """Products of curvlinops' operator of each layer's weight, likewise."""
    weights = [parameter for parameter in model.parameters() if parameter.ndim > 1]
    return [
        _powers(curvlinops.GGNLinearOperator(model, LOSS, [weight], data,
                                             check_deterministic=False), number)
        for weight in weights
    ]  # fmt: skip


def _powers(matrix: Any, number: int) -> Tensor:
    """``A^k v`` over its norm for a random vector, by so many products."""
    draws = torch.Generator().manual_seed(0)
    vector = torch.randn(matrix.shape[0], generator=draws).to(matrix.dtype)
    for _ in range(number):
        vector = matrix @ vector
        vector = vector / vector.norm()
    return vector

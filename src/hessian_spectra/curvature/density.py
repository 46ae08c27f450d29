"""The density of all eigenvalues, from a few Lanczos runs."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from tqdm import tqdm

from hessian_spectra.curvature.interface import (
    SymmetricOperator,
    in_own_type,
    require_moderate,
    size_of,
)
from hessian_spectra.curvature.probes import rademacher
from hessian_spectra.seeding import generator
from hessian_spectra.statistics import mean_skewness, student_interval
from hessian_spectra.validation import is_count, require


@dataclass(frozen=True, eq=False, kw_only=True)
class SpectralDensity:
    """``φ(t) = (1/p) Σ_i g(t − λ_i)`` with a Gaussian kernel ``g``, estimated over probes.

    Args:
        grid: ``(g,)`` the points t, ascending.
        density: ``(g,)`` the mean over the probes; its integral over the grid is one.
        standard_error: ``(g,)`` the standard deviation of that mean.
        nodes: ``(probes, steps)`` the Ritz values of each probe.
        weights: ``(probes, steps)`` their quadrature weights, which sum to one for each probe.
        width: the standard deviation of the kernel, in units of the eigenvalues.
    """

    grid: Tensor
    density: Tensor
    standard_error: Tensor
    nodes: Tensor
    weights: Tensor
    width: float

    def moment(self, order: int) -> tuple[float, float]:
        """``tr(Aᵏ) / p`` for ``k = order``, and the standard error of the estimate.

        For one probe ``Σ_j w_j θ_j^k = zᵀ Aᵏ z / p`` holds exactly up to ``k = 2 steps − 1``.
        """
        return self.mean(lambda nodes: nodes**order)

    def mean(self, function: Callable[[Tensor], Tensor]) -> tuple[float, float]:
        """``(1/p) Σ_i f(λ_i)`` over all eigenvalues, and the standard error of the estimate.

        It is as near as ``steps`` nodes resolve ``f``: exact for polynomials up to
        ``2 steps − 1``. :func:`trace_of_function` says how much that leaves open.

        Raises:
            ValueError: ``f`` is not finite at a node.

        Example:
            >>> density = spectral_density(2 * torch.eye(50), probes=2)
            >>> round(density.mean(torch.exp)[0], 4), round(math.exp(2), 4)
            (7.3891, 7.3891)
        """
        samples = quadrature(self.nodes, self.weights, function)
        return float(samples.mean()), _standard_error(samples).item()

    def negative_mass(self) -> tuple[float, float]:
        """``Σ_{λ<0} |λ| / Σ |λ|`` and the standard error of the estimate; zero of a zero matrix.

        Example:
            >>> density = spectral_density(torch.diag(torch.tensor([-1.0, 1.0, 2.0])))
            >>> round(density.negative_mass()[0], 6)
            0.25
        """
        parts = (self.weights * self.nodes.clamp(max=0.0).abs()).sum(dim=1)
        wholes = (self.weights * self.nodes.abs()).sum(dim=1)
        whole = float(wholes.mean())
        if not whole > 0:
            return 0.0, 0.0
        ratio = float(parts.mean()) / whole
        return ratio, _standard_error((parts - ratio * wholes) / whole).item()

    def effective_rank(self, size: int) -> tuple[float, float]:
        """``exp(−Σ_i q_i ln q_i)`` with ``q_i = |λ_i| / Σ |λ|``, and its standard error.

        ``k`` equal eigenvalues beside zeros have the effective rank ``k``.

        Args:
            size: ``p``, how many eigenvalues there are.

        Source: Roy and Vetterli (2007), "The effective rank", section 2.

        Example:
            >>> density = spectral_density(torch.diag(torch.tensor([0.0, 0.0, 3.0, 3.0])))
            >>> round(density.effective_rank(4)[0], 6)
            2.0
        """
        scale = float(self.nodes.abs().max()) or 1.0
        magnitudes = self.nodes.abs() / scale
        # Σ q ln q = Σ m ln m / S − ln S with m the magnitudes and S their sum.
        sums = size * (self.weights * magnitudes).sum(dim=1)
        logs = size * (self.weights * torch.special.xlogy(magnitudes, magnitudes)).sum(dim=1)
        total, log = float(sums.mean()), float(logs.mean())
        if not total > 0:
            return 0.0, 0.0
        rank = math.exp(math.log(total) - log / total)
        # The derivatives of its logarithm in both sums.
        slope = sums * (1 / total + log / total**2) - logs / total
        return rank, rank * _standard_error(slope).item()

    def interval(self, level: float = 0.95) -> tuple[Tensor, Tensor]:
        """Intervals ``(g,)``, ``(g,)`` that hold the density of each point by itself.

        By Student's t with ``probes − 1`` degrees of freedom, stretched where the probes' densities
        are skewed, as at single outliers; for the error of the probes alone, with steps enough to
        resolve the kernel. Of intervals at 0.95, with ten probes or more, 90 to 98 % held the
        density; with two or three, which cannot show how skewed they are, 82 to 87 % did at the
        outliers of some spectra.

        Raises:
            ValueError: the level is not in (0, 1).
        """
        samples = _smooth(self.grid, self.nodes, self.weights, self.width).numpy()
        low, high = student_interval(
            self.density.numpy(),
            self.standard_error.numpy(),
            len(samples) - 1,
            mean_skewness(samples),
            level,
        )
        return torch.from_numpy(low).clamp(min=0.0), torch.from_numpy(high)


@in_own_type
def spectral_density(
    operator: SymmetricOperator,
    *,
    probes: int = 10,
    steps: int = 40,
    width: float = 0.01,
    points: int = 1000,
    seed: int = 0,
) -> SpectralDensity:
    """The smoothed density of the eigenvalues, by stochastic Lanczos quadrature.

    Each probe is a vector of random signs; ``steps`` Lanczos steps from it give the nodes θ (the
    eigenvalues of the tridiagonal matrix) and weights (the squared first components of its
    eigenvectors) of a quadrature for the density. There is no reorthogonalisation: copies of
    converged eigenvalues share their weight, so that it changes nothing. The largest and smallest
    node over all probes bound the spectrum; no product is spent on the bounds.

    Args:
        operator: a symmetric operator ``(p, p)``; a dense tensor is one.
        probes: how many random vectors, at least two for an error bar.
        steps: Lanczos steps for each, at most ``p`` are done. About 20 resolve a kernel width of
            0.01 and 40 one of 0.003; beyond that more probes help, not more steps.
        width: standard deviation of the kernel, as a fraction of the spectrum's range.
        points: how many points the grid has, between the bounds and four kernel widths beyond.
        seed: seed of the probes.

    Returns:
        Grid, density, standard error over the probes, and the quadratures behind them, in float64
        on the CPU.

    Raises:
        ValueError: an argument is out of its range.
        NotFiniteError: a product is not finite, or too large to be squared.

    Source: Golub and Welsch (1969) for the quadrature; Ghorbani, Krishnan and Xiao (2019) for its
    use on networks.

    Example:
        >>> density = spectral_density(2 * torch.eye(50), probes=2)
        >>> density.weights.sum(dim=1)
        tensor([1., 1.], dtype=torch.float64)
        >>> round(density.moment(2)[0], 5)  # all eigenvalues are 2
        4.0
    """
    p = size_of(operator)
    for name, value, least in (("probes", probes, 2), ("steps", steps, 1), ("points", points, 2)):
        require(is_count(value, least), name, f"at least {least}", value)
    require(0 < width < 1, "width", "a fraction of the range in (0, 1)", width)
    draws = generator(seed, "probes")
    nodes, weights = gauss(tridiagonals(operator, probes, min(steps, p), draws, "spectral density"))
    low, high = float(nodes.min()), float(nodes.max())
    # A multiple of the identity has no range; any small width will do.
    kernel = width * ((high - low) or abs(high) or 1.0)
    grid = torch.linspace(low - 4 * kernel, high + 4 * kernel, points, dtype=torch.float64)
    densities = _smooth(grid, nodes, weights, kernel)
    return SpectralDensity(
        grid=grid,
        density=densities.mean(dim=0),
        standard_error=_standard_error(densities),
        nodes=nodes,
        weights=weights,
        width=kernel,
    )


def tridiagonals(
    operator: SymmetricOperator, probes: int, steps: int, draws: torch.Generator, what: str
) -> Tensor:
    """The matrices ``(probes, steps, steps)`` of Lanczos runs from vectors of random signs."""
    blocks = rademacher(operator, probes, draws)
    with tqdm(total=probes * steps, desc=what, unit="product", disable=None, leave=False) as bar:
        return torch.cat([_tridiagonal(operator, signs.T, steps, bar) for signs in blocks])


def gauss(matrices: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes and weights of the Gauss quadratures that belong to tridiagonal matrices."""
    nodes, vectors = torch.linalg.eigh(matrices)
    return nodes, vectors[:, 0, :].square()


def quadrature(nodes: Tensor, weights: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    """``Σ_j w_j f(θ_j)`` of each probe, over the nodes that have a weight.

    Raises:
        ValueError: ``f`` is not finite at such a node.
    """
    # Where a Krylov space ends early, what is left of the matrix has zeros as nodes of no weight.
    counted = weights > torch.finfo(weights.dtype).eps ** 2
    values = function(nodes).to(nodes.dtype)
    expected = f"a value for each eigenvalue, shape {tuple(nodes.shape)}"
    require(values.shape == nodes.shape, "f", expected, tuple(values.shape))
    wrong = counted & ~values.isfinite()
    if wrong.any():
        raise ValueError(
            f"f: expected finite values between the smallest and the largest eigenvalue, got "
            f"{float(values[wrong][0])} at {float(nodes[wrong][0]):.3g}; f(A) does not exist "
            "there; operator.shift(s) moves the eigenvalues"
        )
    return torch.where(counted, weights * values, 0.0).sum(dim=1)


def _tridiagonal(operator: SymmetricOperator, start: Tensor, steps: int, bar: tqdm) -> Tensor:
    """The tridiagonal matrices ``(c, steps, steps)`` of Lanczos runs from ``c`` columns.

    The columns are overwritten.
    """
    # Random signs: the squared length is p.
    vector = start.div_(start.shape[0] ** 0.5)
    previous = torch.zeros_like(vector)
    matrices = torch.zeros(vector.shape[1], steps, steps, dtype=torch.float64)
    beta = torch.zeros(vector.shape[1], dtype=vector.dtype, device=vector.device)
    scale = torch.zeros_like(beta)
    for step in range(steps):
        image = operator @ vector
        require_moderate(image)
        image = torch.addcmul(image, previous, beta, value=-1)
        bar.update(vector.shape[1])
        alpha = (vector * image).sum(dim=0)
        matrices[:, step, step] = alpha.double().cpu()
        if step + 1 == steps:
            break
        image.addcmul_(vector, alpha, value=-1)
        beta = image.square().sum(dim=0).sqrt()
        scale = torch.maximum(scale, alpha.abs() + beta)
        # An invariant space: what follows must stay apart from it, at weight zero.
        beta = torch.where(beta > 10 * torch.finfo(beta.dtype).eps * scale, beta, 0.0)
        matrices[:, step, step + 1] = matrices[:, step + 1, step] = beta.double().cpu()
        previous, vector = vector, image.div_(torch.where(beta > 0, beta, torch.inf))
    return matrices


def _smooth(grid: Tensor, nodes: Tensor, weights: Tensor, width: float) -> Tensor:
    """The smoothed quadrature ``(probes, g)`` of each probe."""
    densities = []
    for theta, weight in zip(nodes, weights, strict=True):
        distances = (grid[:, None] - theta) / width
        densities.append((-distances.square() / 2).exp() @ weight)
    return torch.stack(densities) / (width * math.sqrt(2 * math.pi))


def _standard_error(samples: Tensor) -> Tensor:
    """The standard deviation of the mean over the first axis."""
    return samples.std(dim=0) / len(samples) ** 0.5

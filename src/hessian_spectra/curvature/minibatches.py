"""The variation from one batch to the next: sharpness, and the noise of the gradient."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from hessian_spectra.curvature.composition import Operator
from hessian_spectra.curvature.eigenpairs import top_eigenpairs
from hessian_spectra.curvature.interface import in_own_type
from hessian_spectra.curvature.operators import hessian
from hessian_spectra.curvature.problem import Problem, require_problem
from hessian_spectra.statistics import student_interval


@dataclass(frozen=True, eq=False, kw_only=True)
class BatchSharpness:
    """The sharpness of each batch's own loss.

    Args:
        eigenvalues: ``(b,)`` the largest eigenvalue of each batch's Hessian ``H_b``.
        residuals: ``(b,)`` ``‖H z − λ z‖ / |λ_max|`` of each.
        along_gradient: ``(b,)`` ``g_bᵀ H_b g_b / ‖g_b‖²``, the curvature along the batch's own
            gradient; NaN where that is zero.
    """

    eigenvalues: Tensor
    residuals: Tensor
    along_gradient: Tensor

    @property
    def value(self) -> float:
        """The mean of the eigenvalues."""
        return float(self.eigenvalues.mean())

    @property
    def standard_error(self) -> float:
        """The mean's standard error, for batches drawn at random; NaN of a single one."""
        return float(self.eigenvalues.std()) / len(self.eigenvalues) ** 0.5

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval for the mean over all batches of this size, by Student's t.

        Raises:
            ValueError: the level is not in (0, 1), or there is a single batch.
        """
        count = len(self.eigenvalues)
        if count < 2:
            raise ValueError("interval: expected at least two batches, got one")
        low, high = student_interval(self.value, self.standard_error, count - 1.0, 0.0, level)
        return float(low), float(high)


def batch_sharpness(problem: Problem, *, tol: float = 1e-4, seed: int = 0) -> BatchSharpness:
    """The sharpness that each step of a stochastic training meets: that of the batches one by one.

    The mean over batches is at least the sharpness of the mean over batches; by how much tells how
    small the batches are.

    Args:
        problem: network, loss and data; its batches are those of the training.
        tol: the largest relative residual accepted.
        seed: seed of the starting vectors.

    Raises:
        OperatorError: a batch's Hessian does not stand its check.

    Warns:
        ConvergenceWarning: a residual is above ``tol``.

    Source: Andreyev and Beneventano (2024), "Edge of stochastic stability", for the curvature along
    the gradient, which settles at 2 over the learning rate.

    Example:
        >>> from torch import nn
        >>> model = nn.Linear(1, 1, bias=False, dtype=torch.float64)
        >>> x = torch.tensor([[1.0], [3.0]], dtype=torch.float64)
        >>> batches = [(x[:1], x[:1]), (x[1:], x[1:])]
        >>> sharpness = batch_sharpness(Problem(model, nn.MSELoss(), batches))
        >>> sharpness.eigenvalues, round(sharpness.value, 9)  # 2 x²
        (tensor([ 2., 18.], dtype=torch.float64), 10.0)
    """
    rows = []
    for batch, _ in _separate(problem):
        operator = hessian(batch)
        sharpness = top_eigenpairs(operator, 1, tol, seed=seed)
        assert sharpness.residuals is not None
        gradient = batch.gradient()
        along = gradient @ (operator @ gradient) / (gradient @ gradient)
        rows.append((float(sharpness.values[0]), float(sharpness.residuals[0]), float(along)))
    values, residuals, along_gradient = torch.tensor(rows, dtype=torch.float64).T
    return BatchSharpness(eigenvalues=values, residuals=residuals, along_gradient=along_gradient)


@in_own_type
def gradient_noise(problem: Problem) -> "GradientNoise":
    """The covariance ``C = Σ_b c_b (g_b − g)(g_b − g)ᵀ / Σ_b c_b`` of the batches' gradients.

    ``g_b`` is the gradient of batch ``b``, ``g`` their mean. It is the noise of one step of a
    stochastic training with these batches. With batches of one sample it is the covariance of the
    samples' gradients, and the noise of batches of ``n`` drawn with replacement is a share
    ``1 / n`` of it.

    Args:
        problem: network, loss and data. The gradients of its batches are kept, ``b`` vectors of
            length ``p``.

    Returns:
        An operator ``(p, p)`` of rank ``b − 1`` at most, for all that takes one.

    Raises:
        ValueError: there is a single batch, which has no noise.

    Example:
        >>> from torch import nn
        >>> model = nn.Linear(1, 1, bias=False, dtype=torch.float64)
        >>> _ = model.weight.data.zero_()
        >>> x = torch.tensor([[1.0], [2.0]], dtype=torch.float64)  # gradients -2 x²
        >>> noise = gradient_noise(Problem(model, nn.MSELoss(), [(x[:1], x[:1]), (x[1:], x[1:])]))
        >>> round(noise.trace, 9), noise.mean
        (9.0, tensor([-5.], dtype=torch.float64))
    """
    require_problem(problem)
    if problem.batch_count < 2:
        raise ValueError(
            "problem: expected at least two batches, whose gradients differ, got one; cut the data "
            "into batches as the training does"
        )
    batches = [(batch.gradient(), weight) for batch, weight in _separate(problem)]
    gradients = torch.stack([gradient for gradient, _ in batches])
    shares = gradients.new_tensor([weight for _, weight in batches])
    return GradientNoise(gradients, shares / shares.sum())


class GradientNoise(Operator):
    """The covariance of some gradients, as :func:`gradient_noise` makes it.

    Args:
        gradients: ``(b, p)``.
        shares: ``(b,)`` their weights, which sum to one.

    Attributes:
        mean: ``(p,)`` the weighted mean of the gradients.
    """

    def __init__(self, gradients: Tensor, shares: Tensor) -> None:
        super().__init__(gradients.shape[1], gradients.dtype, gradients.device)
        self.mean = shares @ gradients
        self._rows = (gradients - self.mean) * shares.sqrt()[:, None]

    def _matmat(self, columns: Tensor) -> Tensor:
        return self._rows.T @ (self._rows @ columns)

    @property
    def trace(self) -> float:
        """``tr C``, the mean squared distance of a gradient from the mean one; exact."""
        return float(self._rows.double().square().sum())

    @property
    def scale(self) -> float:
        """``tr C / ‖g‖²``: above one, noise prevails in a step.

        Times the size of a batch it is the simple noise scale of McCandlish et al. (2018),
        equation 2.9, for ``g`` the gradient over all data; infinite where that is zero.
        """
        signal = float(self.mean.double().square().sum())
        return self.trace / signal if signal else float("inf")


def _separate(problem: Problem) -> Iterator[tuple[Problem, float]]:
    """The batches as problems of their own, with their weights."""
    require_problem(problem)
    for batch, weight in problem.batches():
        model, loss, loss_fn = problem.model, problem.loss, problem.loss_fn
        # Of a single batch any weight drops out, and none needs to be measured.
        alone = Problem(model, loss, [batch], problem.names, loss_fn=loss_fn, weights=[1.0])
        # The check of one is that of all.
        alone.checked = problem.checked
        yield alone, weight

"""The top of the Hessian's spectrum while a network is trained."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from hessian_spectra.curvature.batches import Batch
from hessian_spectra.curvature.eigenpairs import top_eigenpairs
from hessian_spectra.curvature.largest_eigenvalue import CountedProducts
from hessian_spectra.curvature.network import Objective, private_copies
from hessian_spectra.curvature.operators import ggn, hessian
from hessian_spectra.curvature.preconditioning import (
    diagonal_of,
    has_stepped,
    preconditioned,
    preconditioner,
)
from hessian_spectra.curvature.problem import Problem
from hessian_spectra.curvature.selection import Selection, named_parameters, selected
from hessian_spectra.curvature.undisturbed import undisturbed, users_code
from hessian_spectra.validation import is_count, require, require_word


@dataclass(frozen=True, kw_only=True)
class SharpnessRecord:
    """The spectrum at one step.

    Args:
        step: the number of the step.
        eigenvalues: the largest ones, ascending; NaN where a parameter is not finite.
        residuals: ``‖H z − λ z‖ / |λ_max|`` of each.
        converged: whether all residuals are below the tolerance.
        products: how many products with the matrix it took.
        seconds: how long it took.
        preconditioned: the largest eigenvalue of ``P^{-1/2} H P^{-1/2}`` with the optimiser's
            diagonal ``P``; NaN before its first step, ``None`` where the tracker has no optimiser.
        also: what the tracker's own measurements returned, by their names.
    """

    step: int
    eigenvalues: tuple[float, ...]
    residuals: tuple[float, ...]
    converged: bool
    products: int
    seconds: float
    preconditioned: float | None = None
    also: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sharpness(self) -> float:
        """The largest eigenvalue."""
        return self.eigenvalues[-1]


class SharpnessTracker:
    """The largest eigenvalues of the Hessian, at every ``every``-th step of a training.

    Each time starts from the eigenvectors of the time before, which saves most of the products.
    What is measured is the loss **in eval mode, on the batches given here**, at the parameters and
    buffers of the moment: dropout is off and batch norm uses its running statistics, whatever mode
    the network is in. Nothing of the training is changed: the network is copied once, and
    parameters, gradients, mode, optimiser and random numbers stay bit for bit what they are without
    a tracker. Between two steps it holds that copy and the eigenvectors, no graph.

    Example:
        >>> model = nn.Linear(1, 1, bias=False)
        >>> x = torch.tensor([[1.0], [3.0]])
        >>> optimiser = torch.optim.SGD(model.parameters(), lr=0.05)
        >>> tracker = SharpnessTracker(model, nn.MSELoss(), [(x, -x)], every=2)
        >>> for step in range(5):
        ...     optimiser.zero_grad()
        ...     nn.functional.mse_loss(model(x), -x).backward()
        ...     optimiser.step()
        ...     record = tracker.step(step)
        >>> [(record.step, round(record.sharpness, 4)) for record in tracker.history]
        [(0, 10.0), (2, 10.0), (4, 10.0)]

    Args:
        model: the network that is trained.
        loss: from outputs and targets to a scalar.
        data: a list of batches, or a loader that gives the same batches each time.
        parameters: which parameters vary, as for a :class:`Problem`.
        loss_fn: instead of ``loss``: from the model and a batch to a scalar.
        num_batches: how many batches to take of data without an end, as for a :class:`Problem`.
        every: steps whose number is a multiple of this are measured.
        k: how many eigenvalues, at least.
        threshold: such as 2 over the learning rate. So many eigenvalues are computed that one of
            them is below, if that takes no more than ``k_max``.
        k_max: how many eigenvalues, at most.
        matrix: ``"hessian"``, or ``"ggn"`` for the Gauss-Newton matrix.
        tol: the largest relative residual accepted.
        optimizer: that of the training, of a kind that :func:`preconditioner` knows, such as Adam:
            each record then has the preconditioned sharpness, too.
        also: further measurements by name, functions of the problem at the moment (the copy in eval
            mode, and the batches), such as :func:`batch_sharpness`,
            ``lambda problem: spectral_density(hessian(problem))``,
            ``lambda problem: gradient_noise(problem).trace``, or
            ``lambda problem: {name: layer.value for name, layer in
            layer_sharpness(problem).items()}``. What they return is kept in each record.
        log: a run of W&B, or a function, that gets each record as ``log({"sharpness": ..., ...},
            step=step)``; of other measurements it gets numbers, mappings of numbers and what has
            a ``value``.

    Raises:
        ValueError: an argument is out of its range, or the problem refuses model, loss or data.
        TypeError: the optimiser is of a kind whose diagonal is not known.
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Callable[..., Any] | None = None,
        data: Iterable[Batch] | None = None,
        parameters: Selection | None = None,
        *,
        loss_fn: Callable[..., Any] | None = None,
        num_batches: int | None = None,
        every: int = 1,
        k: int = 1,
        threshold: float | None = None,
        k_max: int = 20,
        matrix: Literal["hessian", "ggn"] = "hessian",
        tol: float = 1e-4,
        optimizer: Optimizer | None = None,
        also: Mapping[str, Callable[[Problem], Any]] | None = None,
        log: Any = None,
    ) -> None:
        require(is_count(every, 1), "every", "at least 1 step", every)
        require(is_count(k, 1, k_max), "k", f"1 to k_max = {k_max} eigenvalues", k)
        require_word("matrix", matrix, ("hessian", "ggn"))
        self._log = getattr(log, "log", log)
        if log is not None and not callable(self._log):
            raise ValueError(f"log: expected a W&B run or a function, got {type(log).__name__}")
        self._model = getattr(model, "_orig_mod", model)
        names = selected(self._model, parameters)
        objective = Objective(self._model, loss, loss_fn, names)
        twin, own_loss, own_loss_fn = private_copies(objective)
        # A network in training mode has no loss that stays the same from one pass to the next.
        self._twin = twin.eval()
        self._problem = Problem(
            self._twin, own_loss, data, names, loss_fn=own_loss_fn, num_batches=num_batches
        )
        if optimizer is not None:
            diagonal_of(optimizer)
        self._operator = hessian if matrix == "hessian" else ggn
        self._every, self._threshold, self._tol = every, threshold, tol
        self._least, self._most = min(k, self._problem.size), min(k_max, self._problem.size)
        self._k = self._least
        self._start: Tensor | None = None
        self._optimizer, self._also = optimizer, dict(also or {})
        self._preconditioned_start: Tensor | None = None
        self.history: list[SharpnessRecord] = []

    def step(self, step: int) -> SharpnessRecord | None:
        """Measure if it is time to.

        Call it after the optimiser's step, with the number of the step.

        Returns:
            What was found, which is also the last entry of ``history``; ``None`` if this step is
            not measured, or was before.

        Raises:
            ValueError: ``step`` is no whole number.
        """
        require(isinstance(step, Integral), "step", "the number of the step, a whole one", step)
        if step % self._every or (self.history and self.history[-1].step == step):
            return None
        record = self._record(step)
        self.history.append(record)
        if self._log is not None:
            self._log(_entries(record), step=step)
        return record

    @undisturbed()
    def _record(self, step: int) -> SharpnessRecord:
        began = time.perf_counter()
        self._follow()
        finite = all(bool(part.isfinite().all()) for part in self._twin.parameters())
        matrix = CountedProducts(self._operator(self._problem)) if finite else None
        values, residuals = self._measure(matrix) if matrix else self._nothing()
        seen = self._after_preconditioning(matrix)
        products = matrix.count if matrix else 0
        # Each measurement has a graph of its own; this one's goes before.
        matrix = None
        with users_code(self._problem.device, foreign=True):
            also = {key: measure(self._problem) for key, measure in self._also.items() if finite}
        return SharpnessRecord(
            step=step,
            eigenvalues=values,
            residuals=residuals,
            converged=all(residual <= self._tol for residual in residuals),
            products=products,
            seconds=time.perf_counter() - began,
            preconditioned=seen,
            also=also,
        )

    @torch.no_grad()
    def _follow(self) -> None:
        """Give the copy the parameters and buffers of the moment."""
        pairs = (
            (self._twin.parameters(), self._model.parameters()),
            (self._twin.buffers(), self._model.buffers()),
        )
        for ours, peer in pairs:
            for own, other in zip(ours, peer, strict=True):
                own.copy_(other)

    def _measure(self, operator: CountedProducts) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Eigenvalues and residuals; more of them while all are above the threshold."""
        while True:
            pairs = top_eigenpairs(operator, self._k, self._tol, start=self._start)
            self._start = pairs.eigenvectors()
            values = pairs.eigenvalues
            if self._threshold is None:
                break
            above = int((values > self._threshold).sum())
            if above < self._k or self._k == self._most:
                # Next time as many as are above and one more.
                self._k = min(max(above + 1, self._least), self._most)
                break
            self._k = min(2 * self._k, self._most)
        assert pairs.residuals is not None
        return tuple(values.tolist()), tuple(pairs.residuals.tolist())

    def _after_preconditioning(self, matrix: CountedProducts | None) -> float | None:
        """The largest eigenvalue that the optimiser sees, if there is one."""
        if self._optimizer is None:
            return None
        if matrix is None or not has_stepped(self._optimizer):
            return float("nan")
        named = named_parameters(self._model)
        diagonal = preconditioner(self._optimizer, [named[name] for name in self._problem.names])
        pairs = top_eigenpairs(
            preconditioned(matrix, diagonal), 1, self._tol, start=self._preconditioned_start
        )
        self._preconditioned_start = pairs.eigenvectors()
        return float(pairs.eigenvalues[0])

    def _nothing(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The eigenvalues and residuals of a training that has diverged."""
        self._start = self._preconditioned_start = None
        return (float("nan"),), (float("nan"),)


def _entries(record: SharpnessRecord) -> dict[str, float]:
    """A record as a logger takes it; the largest eigenvalue is number 1."""
    entries = {
        "sharpness": record.sharpness,
        "sharpness/residual": max(record.residuals),
        "sharpness/products": float(record.products),
        "sharpness/seconds": record.seconds,
    }
    if record.preconditioned is not None:
        entries["sharpness/preconditioned"] = record.preconditioned
    entries |= dict(_numbers("sharpness", record.also))
    for number, value in enumerate(reversed(record.eigenvalues[:-1]), start=2):
        entries[f"sharpness/eigenvalue {number}"] = value
    return entries


def _numbers(name: str, measured: Any) -> Iterator[tuple[str, float]]:
    """The numbers of a measurement, by names with slashes."""
    at = getattr(measured, "value", measured)
    if isinstance(at, Mapping):
        for key, part in at.items():
            yield from _numbers(f"{name}/{key}", part)
    elif isinstance(at, Real):
        yield name, float(at)

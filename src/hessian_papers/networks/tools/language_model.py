"""Measurements of a language model while it is trained, and the weights of it that are kept."""

import copy
import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from hessian_papers.models.gpt2 import attention_mass, language_loss, residual_norm, save, shape_of
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.training import Observer, add_up, rank_and_count
from hessian_spectra.validation import require

MATRICES = {"hessian": cv.hessian, "ggn": cv.ggn}


def measured_steps(schedule: Sequence[Sequence[int]]) -> list[int]:
    """The steps of a schedule: every so many up to some step, then others, in rising order.

    Args:
        schedule: pairs ``[every, until]``, the steps until rising.

    Example:
        >>> measured_steps([[10, 30], [100, 200]])
        [0, 10, 20, 30, 100, 200]
    """
    steps, start = {0}, 0
    for every, until in schedule:
        steps |= {step for step in range(0, until + 1, every) if step >= start}
        start = until
    return sorted(steps)


class Measurements(Observer):
    """Loss, residual, sharpness and attention sinks of a language model in ``eval()``, by step.

    The largest eigenvalues of Hessian and Gauss-Newton matrix are those of the cross-entropy on
    some sequences, each found from the eigenvector of the measurement before. What diverged, or was
    not reached, is NaN, and so is an eigenvalue where products overflow.

    Args:
        model: the network that is trained.
        sequences: tokens ``(n, T + 1)`` that it is measured on, on its device; of several processes
            each measures its share, and all find the same.
        steps: those that are measured, m of them.
        kept: the steps whose weights are kept.
        folder: where the weights are kept, as ``<step>.safetensors``; ``None``: nowhere.
        tolerance: relative residual of an eigenvalue.
        memory: bytes that a product may take, about.
    """

    def __init__(
        self,
        model: nn.Module,
        sequences: Tensor,
        steps: Sequence[int],
        *,
        kept: Collection[int],
        folder: Path | None,
        tolerance: float,
        memory: int,
    ) -> None:
        self._rank, self._count = rank_and_count()
        expected = f"at least one for each of {self._count} processes"
        require(len(sequences) >= self._count, "sequences", expected, len(sequences))
        own = sequences[self._rank :: self._count]
        self._share = len(own) / len(sequences)
        self._model, self._steps, self._tolerance = model, list(steps), tolerance
        self._kept, self._folder = frozenset(kept), folder
        # A problem holds its network: one copy, which follows the one that is trained.
        self._twin = copy.deepcopy(model).eval()
        self._problem = cv.Problem(
            self._twin, loss_fn=language_loss, data=[own], weights=len, memory=memory
        )
        self._starts: dict[str, Tensor] = {}
        shape, count = shape_of(model), len(self._steps)
        names = ["loss", "residual", *MATRICES, *(f"{matrix}_error" for matrix in MATRICES)]
        self.arrays = {name: np.full(count, np.nan) for name in names}
        self.arrays["mass"] = np.full((count, shape.layers, shape.heads), np.nan)
        self._attends = shape.variant != "no attention"

    @property
    def observed(self) -> frozenset[int]:
        """The steps at which the network is looked at."""
        return self._kept | {*self._steps}

    def __call__(self, step: int) -> None:
        """Measure and keep the network after ``step`` updates, whichever is due."""
        if step in self._kept and self._folder is not None and self._rank == 0:
            save(self._model, self._folder, str(step))
        if step not in self._steps:
            return
        with torch.no_grad():
            for own, other in zip(self._twin.parameters(), self._model.parameters(), strict=True):
                own.copy_(other)
        place = self._steps.index(step)
        self._look(place)
        if np.isfinite(self.arrays["loss"][place]):
            for name in MATRICES:
                self._search(name, place)

    @torch.no_grad()
    def _look(self, place: int) -> None:
        """Loss, residual and attention on the first token."""
        loss, residual = (torch.zeros((), dtype=torch.float64) for _ in range(2))
        mass = torch.zeros(self.arrays["mass"].shape[1:], dtype=torch.float64)
        for sequences, weight in self._problem.batches():
            share = self._share * weight
            own, logits = language_loss(self._twin, sequences)
            loss += share * own.cpu()
            residual += share * residual_norm(logits, sequences)
            if self._attends:
                mass += share * attention_mass(self._twin, sequences).cpu()
        entries = {"loss": loss, "residual": residual, "mass": mass}
        add_up(entries.values(), self._problem.device)
        for name, value in entries.items():
            self.arrays[name][place] = value.numpy()
        if not self._attends:
            self.arrays["mass"][place] = np.nan

    def _search(self, name: str, place: int) -> None:
        """The largest eigenvalue of a matrix, from the eigenvector of the measurement before."""
        own = MATRICES[name](self._problem)
        operator = cv.data_parallel(own) if self._count > 1 else own
        with warnings.catch_warnings(), suppress(cv.NotFiniteError):
            # Its residual stands beside each eigenvalue.
            warnings.simplefilter("ignore", cv.ConvergenceWarning)
            top = cv.top_eigenpairs(operator, 1, self._tolerance, start=self._starts.get(name))
            assert top.residuals is not None
            self._starts[name] = top.eigenvectors()[:, 0]
            self.arrays[name][place] = float(top.eigenvalues[0])
            self.arrays[f"{name}_error"][place] = float(top.residuals[0])

    def metrics(self, step: int) -> Mapping[str, float]:
        """The numbers of a measured step."""
        if step not in self._steps:
            return {}
        place = self._steps.index(step)
        shown = {name: float(self.arrays[name][place]) for name in ("loss", "residual", *MATRICES)}
        return {f"measured/{name}": value for name, value in shown.items()}

    def state(self) -> Arrays:
        """All measurements so far, and where the next ones start from."""
        starts = {f"start/{name}": start.cpu().numpy() for name, start in self._starts.items()}
        return {**self.arrays, **starts}

    def restore(self, state: Arrays) -> None:
        """Go on from the ``state`` of an interrupted training."""
        device = self._problem.device
        for name in self.arrays:
            self.arrays[name] = state[name]
        self._starts = {
            name: torch.from_numpy(state[f"start/{name}"]).to(device)
            for name in MATRICES
            if f"start/{name}" in state
        }

"""Time to find the sharpness of an ensemble over that of its networks one by one, in one run.

``python -m benchmarks.ensemble_curvature [--quick] [--rounds N]``: one thread, CPU time, methods in
random order, medians of ratios within a round. The other way is curvlinops' Hessian with scipy's
``eigsh``, in float32 and at the same tolerance, on a few networks; its time is given for all.
"""

import os
import statistics
from dataclasses import dataclass

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from curvlinops import HessianLinearOperator
from scipy.sparse.linalg import eigsh
from torch import Tensor, nn

from benchmarks.table import bar_cells, print_table
from benchmarks.timing import rounds
from hessian_papers.models.parametrisation import draw
from hessian_papers.models.teacher import teacher_data
from hessian_papers.training.ensemble import train_ensemble
from hessian_spectra.curvature.ensemble import SecondMoments, ensemble_sharpness
from hessian_spectra.models import Ensemble

NETWORKS, WIDTH, SAMPLES, TOLERANCE = 200, 100, 1024, 1e-5
# One by one, time does not depend on how many networks wait for their turn.
ALONE = 3


@dataclass(frozen=True)
class Task:
    """Networks to measure, and by how many times we mean to be faster at least."""

    activation: str
    size: int
    depth: int = 2
    epochs: int = 0
    bar: float | None = None

    def __str__(self) -> str:
        state = f"after {self.epochs} epochs" if self.epochs else "initial"
        return f"{self.activation}, {self.depth} layers, D = {self.size}, {state}"


TASKS = (
    Task("linear", 10, bar=100),
    Task("linear", 10, epochs=20, bar=100),
    Task("relu", 10, bar=5),
    Task("relu", 10, epochs=4, bar=5),
    Task("linear", 1),
    Task("linear", 2),
    Task("linear", 5),
    Task("linear", 20),
    Task("linear", 50),
    Task("linear", 100),
    Task("linear", 10, depth=4),
    Task("linear", 10, depth=6),
    Task("relu", 1),
    Task("relu", 2),
    Task("relu", 5),
    Task("relu", 20),
    Task("relu", 50),
    Task("relu", 100),
)
HEADER = (
    f"| {'task':<40} | {'ours, s':>8} | {'one by one, s':>13} | {'ratio':>6} | {'bar':>4} | met "
    f"| {'residual':>8} | {'difference':>10} |\n"
    f"|{'-' * 42}|{'-' * 10}|{'-' * 15}|{'-' * 8}|{'-' * 6}|-----|{'-' * 10}|{'-' * 12}|"
)


def networks(task: Task, x: Tensor, y: Tensor) -> Ensemble:
    """The networks of a task, initial or after some training."""
    sizes = (task.size, *(WIDTH,) * (task.depth - 1), task.size)
    drawn = draw("sp", sizes, task.activation, 0, range(NETWORKS), torch.float32)
    if not task.epochs:
        return drawn
    return train_ensemble(
        drawn, x, y, learning_rate=0.01, factors=(1.0,) * task.depth, networks=range(NETWORKS),
        seed=0, epochs=task.epochs, batch_size=128,
    ).ensemble  # fmt: skip


def one_by_one(ensemble: Ensemble, x: Tensor, y: Tensor) -> list[float]:
    """The sharpness of the first networks, by the libraries that one would take."""
    values = []
    for index in range(ALONE):
        network = ensemble.network(index)
        operator = HessianLinearOperator(
            network, nn.MSELoss(), list(network.parameters()), [(x, y)], check_deterministic=False
        )
        matrix = operator.to_scipy(dtype=np.float32)
        top = eigsh(matrix, k=1, which="LA", tol=TOLERANCE, return_eigenvectors=False)
        # Their loss is the mean over all elements; ours has half the sum over outputs.
        values.append(float(top[0]) * y.shape[1] / 2)
    return values


def measure(task: Task, count: int) -> str:
    """One row of the table."""
    x, y = teacher_data(SAMPLES, task.size, task.size, task.activation, 0)
    x, y = x.float(), y.float()
    ensemble = networks(task, x, y)
    data = SecondMoments.of(x, y) if task.activation == "linear" else (x, y)
    seconds = rounds(
        {
            "ours": lambda: ensemble_sharpness(ensemble, data, TOLERANCE),
            "alone": lambda: one_by_one(ensemble, x, y),
        },
        count,
    )
    alone = [time * NETWORKS / ALONE for time in seconds["alone"]]
    ratio = statistics.median(b / a for a, b in zip(seconds["ours"], alone, strict=True))
    sharpness = ensemble_sharpness(ensemble, data, TOLERANCE)
    assert bool(sharpness.converged.all())
    other = torch.tensor(one_by_one(ensemble, x, y), dtype=torch.float64)
    difference = float(((sharpness.values[:ALONE] - other) / other).abs().max())
    bar, met = bar_cells(task.bar, ratio)
    return (
        f"| {task!s:<40} | {statistics.median(seconds['ours']):>8.2f} "
        f"| {statistics.median(alone):>13.1f} | {ratio:>6.1f} | {bar:>4} | {met:>3} "
        f"| {float(sharpness.residuals.max()):>8.0e} | {difference:>10.0e} |"
    )


def main(command: list[str] | None = None) -> None:
    """Measure and print the table, each row as soon as it is there."""
    print_table(__doc__, HEADER, TASKS, measure, rounds=3, command=command)


if __name__ == "__main__":
    main()

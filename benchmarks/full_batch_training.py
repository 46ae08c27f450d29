"""Time of an epoch of full-batch descent, beside a plain loop of autograd and ``torch.optim.SGD``.

``python -m benchmarks.full_batch_training [--quick] [--rounds N]``: one thread, CPU time per epoch,
methods in random order, medians of ratios within a round.
"""

import os
import statistics
from dataclasses import dataclass

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import Tensor, nn

from benchmarks.table import bar_cells, print_table
from benchmarks.timing import ratio, rounds
from hessian_papers.data.tools.reduction import reduce_regression
from hessian_papers.data.tools.whitening import principal_components
from hessian_papers.models.initialisation import kaiming_uniform
from hessian_papers.training.full_batch import full_batch_descent
from hessian_papers.training.objectives import LinearObjective, SampleObjective
from hessian_spectra.models import HalfSquaredError, Perceptron
from hessian_spectra.models.ensemble import Activation
from hessian_spectra.seeding import generator

# As in Figures 1 to 4 of anon2026data: 5000 images of 10 classes, on inputs of 784 pixels.
SAMPLES, FEATURES, CLASSES = 5000, 784, 10
RATE = 0.01
PLAIN_EPOCHS = 3


@dataclass(frozen=True)
class Task:
    """A network to train, and by how many times we mean to be faster at least."""

    activation: Activation
    width: int
    depth: int
    dtype: torch.dtype
    epochs: int
    bar: float | None = None

    def __str__(self) -> str:
        precision = str(self.dtype).removeprefix("torch.")
        return f"{self.activation}, {self.depth} layers of width {self.width}, {precision}"


TASKS = (
    Task("linear", 64, 4, torch.float64, 300, 50),
    Task("linear", 256, 4, torch.float64, 100),
    Task("linear", 256, 2, torch.float64, 100),
    Task("tanh", 64, 4, torch.float64, 6),
    Task("tanh", 64, 4, torch.float32, 12),
)
HEADER = (
    f"| {'task':<38} | {'ours, ms':>8} | {'plain, ms':>9} | {'ratio':>6} | {'bar':>4} | met |"
    f" {'difference':>10} |\n|{'-' * 40}|{'-' * 10}|{'-' * 11}|{'-' * 8}|{'-' * 6}|-----|"
    f"{'-' * 12}|"
)


def plain(task: Task, weights: list[Tensor], x: Tensor, y: Tensor) -> list[Tensor]:
    """A few epochs as one would write them: all samples, autograd and an optimizer."""
    model = Perceptron(weights, [1.0] * len(weights), task.activation)
    optimizer, loss = torch.optim.SGD(model.parameters(), lr=RATE), HalfSquaredError("sample")
    for _ in range(PLAIN_EPOCHS):
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()
    return [weight.detach() for weight in model.parameters()]


def measure(task: Task, count: int) -> str:
    """One row of the table."""
    draws = generator(0, "benchmark")
    x = torch.randn(SAMPLES, FEATURES, dtype=torch.float64, generator=draws)
    labels = torch.randint(CLASSES, (SAMPLES,), generator=draws)
    y = nn.functional.one_hot(labels, CLASSES).double()
    sizes = (FEATURES, *[task.width] * (task.depth - 1), CLASSES)
    weights = [weight.to(task.dtype) for weight in kaiming_uniform(sizes, draws)]
    components = principal_components(x)
    inputs, targets = components.inputs(1.0).to(task.dtype), y.to(task.dtype)
    objective: LinearObjective | SampleObjective
    if task.activation == "linear":
        reduced = reduce_regression(components, y, 1.0)
        objective = LinearObjective(reduced.root, reduced.target, reduced.floor)
    else:
        objective = SampleObjective(inputs, targets, task.activation)

    def ours(epochs: int = task.epochs) -> tuple[Tensor, ...]:
        return full_batch_descent(
            objective, weights, learning_rate=RATE, epochs=epochs, record=[epochs]
        ).weights[-1]

    entries = rounds({"ours": ours, "plain": lambda: plain(task, weights, inputs, targets)}, count)
    each = {
        "ours": [seconds / task.epochs * 1e3 for seconds in entries["ours"]],
        "plain": [seconds / PLAIN_EPOCHS * 1e3 for seconds in entries["plain"]],
    }
    faster = ratio(each, "plain", "ours")
    difference = max(
        float((own - other).norm() / other.norm())
        for own, other in zip(
            ours(PLAIN_EPOCHS), plain(task, weights, inputs, targets), strict=True
        )
    )
    bar, met = bar_cells(task.bar, faster)
    own, other = (statistics.median(each[name]) for name in ("ours", "plain"))
    return (
        f"| {task!s:<38} | {own:>8.3f} | {other:>9.1f} | {faster:>6.1f} | {bar:>4} | {met:>3} "
        f"| {difference:>10.1e} |"
    )


def main(command: list[str] | None = None) -> None:
    """Measure and print the table, each row as soon as it is there."""
    print_table(__doc__, HEADER, TASKS, measure, rounds=5, quick_rounds=3, command=command)


if __name__ == "__main__":
    main()

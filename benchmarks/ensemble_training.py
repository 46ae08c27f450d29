"""Time to train an ensemble over that of training its networks one by one, in one run.

``python -m benchmarks.ensemble_training [--quick] [--rounds N]``: one thread, CPU time per step of
a network, methods in random order, medians of ratios within a round.
"""

import os
import statistics
from dataclasses import dataclass

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import Tensor, nn

from benchmarks.table import bar_cells, print_table
from benchmarks.timing import rounds
from hessian_papers.models.parametrisation import draw
from hessian_papers.models.teacher import teacher_data
from hessian_papers.training.ensemble import train_ensemble
from hessian_spectra.models import Ensemble
from hessian_spectra.models.ensemble import Activation
from hessian_spectra.seeding import generator

WIDTH, SAMPLES, BATCH = 100, 1024, 128
STEPS = SAMPLES // BATCH  # per epoch
RATE = 0.01
# The plain loop's time does not depend on how many networks wait for their turn.
PLAIN_NETWORKS, PLAIN_EPOCHS = 2, 2


@dataclass(frozen=True)
class Task:
    """Networks to train, and by how many times we mean to be faster at least."""

    activation: Activation
    size: int
    order: str
    networks: int
    epochs: int
    bar: float | None = None

    def __str__(self) -> str:
        return f"{self.activation}, D = {self.size}, {self.networks} networks, {self.order} order"


TASKS = (
    Task("linear", 10, "own", 200, 20, 50),
    Task("linear", 10, "shared", 200, 20, 100),
    Task("relu", 10, "own", 200, 4, 7),
    Task("linear", 10, "own", 50, 20),
    Task("relu", 10, "own", 50, 8),
    Task("linear", 60, "own", 50, 4),
    Task("linear", 60, "shared", 50, 4),
    Task("relu", 60, "own", 50, 2),
    Task("linear", 100, "own", 50, 2),
    Task("linear", 100, "shared", 50, 2),
    Task("relu", 100, "own", 50, 1),
)
HEADER = (
    f"| {'task':<45} | {'ours, µs':>8} | {'plain, µs':>9} | {'ratio':>6} | {'bar':>4} | met |"
    f" {'difference':>10} |\n|{'-' * 47}|{'-' * 10}|{'-' * 11}|{'-' * 8}|{'-' * 6}|-----|"
    f"{'-' * 12}|"
)


def plain(module: nn.Module, x: Tensor, y: Tensor, epochs: int, order: torch.Generator) -> None:
    """A network trained as one would without an ensemble: autograd, SGD and a scheduler."""
    optimizer = torch.optim.SGD(module.parameters(), lr=RATE)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    loss = nn.MSELoss(reduction="sum")
    for _ in range(epochs):
        for chosen in torch.randperm(len(x), generator=order).split(BATCH):
            optimizer.zero_grad()
            (loss(module(x[chosen]), y[chosen]) / (2 * len(chosen))).backward()
            optimizer.step()
        with torch.no_grad():
            scheduler.step(loss(module(x), y).item() / (2 * len(x)))


def modules(task: Task, ensemble: Ensemble) -> list[nn.Sequential]:
    """The first networks of an ensemble, from PyTorch's own layers."""
    between = [nn.ReLU()] if task.activation == "relu" else []
    networks = []
    for number in range(PLAIN_NETWORKS):
        first, second = (nn.Linear(*weight[0].T.shape, bias=False) for weight in ensemble.weights)
        for layer, weight in zip((first, second), ensemble.weights, strict=True):
            layer.weight.data.copy_(weight[number])
        networks.append(nn.Sequential(first, *between, second))
    return networks


def measure(task: Task, count: int) -> str:
    """One row of the table."""
    x, y = teacher_data(SAMPLES, task.size, task.size, task.activation, 0)
    x, y = x.float(), y.float()
    sizes, networks = (task.size, WIDTH, task.size), range(task.networks)
    ensemble = draw("sp", sizes, task.activation, 0, networks, torch.float32)

    def ours(epochs: int = task.epochs) -> tuple[Tensor, ...]:
        return train_ensemble(
            ensemble, x, y, learning_rate=RATE, factors=(1.0, 1.0), networks=networks, seed=0,
            epochs=epochs, batch_size=BATCH, order=task.order,
        ).ensemble.weights  # fmt: skip

    def one_by_one() -> list[nn.Sequential]:
        trained = modules(task, ensemble)
        for number, module in enumerate(trained):
            # The orders that the ensemble draws.
            order = generator(0, "order" if task.order == "shared" else f"order {number}")
            plain(module, x, y, PLAIN_EPOCHS, order)
        return trained

    seconds = rounds({"ours": ours, "plain": one_by_one}, count)
    steps = {
        "ours": task.networks * task.epochs * STEPS,
        "plain": PLAIN_NETWORKS * PLAIN_EPOCHS * STEPS,
    }
    each = {name: [t / steps[name] * 1e6 for t in times] for name, times in seconds.items()}
    times = {name: statistics.median(values) for name, values in each.items()}
    ratio = statistics.median(b / a for a, b in zip(each["ours"], each["plain"], strict=True))
    result = ours(PLAIN_EPOCHS)
    error = max(
        float((weights[number] - weight).norm() / weight.norm())
        for number, module in enumerate(one_by_one())
        for weights, weight in zip(result, module.parameters(), strict=True)
    )
    bar, met = bar_cells(task.bar, ratio)
    return (
        f"| {task!s:<45} | {times['ours']:>8.2f} | {times['plain']:>9.1f} | {ratio:>6.1f} "
        f"| {bar:>4} | {met:>3} | {error:>10.1e} |"
    )


def main(command: list[str] | None = None) -> None:
    """Measure and print the table, each row as soon as it is there."""
    print_table(__doc__, HEADER, TASKS, measure, rounds=9, quick_rounds=3, command=command)


if __name__ == "__main__":
    main()

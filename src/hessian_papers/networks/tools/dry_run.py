"""The time and memory of trainings of language models, from one sequence of random tokens."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from hessian_papers.models.gpt2 import language_loss
from hessian_papers.networks.tools.language_model import MATRICES
from hessian_spectra import curvature as cv
from hessian_spectra.progress import duration, three_digits

R = TypeVar("R")

# Products until an eigenvalue has converged, about: from nothing, and from the one before.
FIRST, LATER = 30, 10
# What a training holds besides, in vectors as long as θ: weights, gradient, two moments, the copy
# that is measured, and two eigenvectors to start from. A product takes four more.
STANDING, PASSING = 7, 4
# The most that the basis of a search takes: what `top_eigenpairs` has by default.
BASIS = 2 << 30
WORDS = {"hessian": "the Hessian", "ggn": "the GGN"}
# What is faster is timed again: its first call loads and finds its way.
QUICK_SECONDS = 1.0


class Cost(NamedTuple):
    """The seconds of a computation with one sequence, and bytes of its tensors at their peak."""

    seconds: float
    memory: int


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """The costs of all that a training repeats.

    Args:
        parameters: number of weights.
        gradient: of the loss, in the precision of the updates.
        graphs: by matrix, the graph that its products need; the memory is what it keeps.
        products: by matrix, a product; the memory is with the graph.
    """

    parameters: int
    gradient: Cost
    graphs: Mapping[str, Cost]
    products: Mapping[str, Cost]


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """The time and memory of a training.

    Args:
        seconds: of the updates and of the measurements.
        memory: bytes of an update and of a measurement at their peaks.
        products: with each matrix.
        together: sequences that a product takes at once.
        micro_batch: the largest whose update fits into the memory, of as many sequences; 0: none.
    """

    seconds: Mapping[str, float]
    memory: Mapping[str, int]
    products: int
    together: int
    micro_batch: int


def extrapolated(plan: Any, pieces: Pieces, *, free: int, limit: int) -> Forecast:
    """The time and memory of a whole training.

    Where all sequences fit into one product, a search keeps their graph; else each product makes
    the graphs anew.

    Args:
        plan: the settings of the training, a ``LanguageModelTraining``.
        pieces: what it costs.
        free: bytes that the device has.
        limit: bytes that a product may take.
    """
    vector = 4 * pieces.parameters
    peak = max(cost.memory for cost in pieces.products.values())
    together = max(1, min(plan.sequences, (limit - PASSING * vector) // peak))
    products = FIRST + LATER * (len(plan.measured_at) - 1)
    graphs = len(plan.measured_at) if together == plan.sequences else products
    each = sum(
        graphs * pieces.graphs[name].seconds + products * cost.seconds
        for name, cost in pieces.products.items()
    )
    size, standing = plan.batch_size * plan.accumulation, STANDING * vector
    sequence = max(1, pieces.gradient.memory - vector)
    most = (free - standing) // sequence
    basis = min(BASIS, FIRST * vector)
    return Forecast(
        seconds={
            "updates": plan.steps * size * pieces.gradient.seconds,
            "measurements": plan.sequences * each,
        },
        memory={
            "updates": standing + plan.batch_size * sequence,
            "measurements": standing + basis + PASSING * vector + together * peak,
        },
        products=products,
        together=together,
        micro_batch=max((n for n in range(1, size + 1) if size % n == 0 and n <= most), default=0),
    )


def pieces_of(model: nn.Module, sequence: Tensor, *, reduced: bool) -> Pieces:
    """The costs of a language model and one sequence ``(1, T + 1)``, on the model's device.

    Args:
        model: the network; its weights stay as they are.
        sequence: of tokens.
        reduced: whether the updates compute in bfloat16.
    """
    device = sequence.device

    def gradient() -> None:
        with torch.autocast(device.type, torch.bfloat16, enabled=reduced):
            loss, _ = language_loss(model, sequence)
        loss.backward()
        model.zero_grad(set_to_none=True)

    _, costs, _ = _measured(gradient, device)
    problem = cv.Problem(model.eval(), loss_fn=language_loss, data=[sequence], weights=len)
    vector = torch.ones(problem.size, device=device) / problem.size**0.5
    graphs, products = {}, {}
    for name, matrix in MATRICES.items():
        operator, graph, kept = _measured(partial(matrix, problem, check=False), device)
        graphs[name] = Cost(graph.seconds, kept)
        _, product, _ = _measured(partial(operator.__matmul__, vector), device)
        # The graph stays while the product passes.
        products[name] = Cost(product.seconds, max(graph.memory, kept + product.memory))
        del operator
    return Pieces(parameters=problem.size, gradient=costs, graphs=graphs, products=products)


def _measured(compute: Callable[[], R], device: torch.device) -> tuple[R, Cost, int]:
    """A function's result, its cost, and the bytes of tensors that it leaves."""
    with cv.PeakMemory() as memory:
        result, seconds = _timed(compute, device)
    held = memory.held
    if seconds < QUICK_SECONDS:
        seconds = min(_timed(compute, device)[1] for _ in range(3))
    return result, Cost(seconds, memory.peak), held


def _timed(compute: Callable[[], R], device: torch.device) -> tuple[R, float]:
    started = time.perf_counter()
    result = compute()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return result, time.perf_counter() - started


def described(title: str, plan: Any, pieces: Pieces, forecast: Forecast) -> list[str]:
    """The lines of one network: its pieces, and the whole."""
    rows = [("gradient of a sequence", pieces.gradient)]
    for name, word in WORDS.items():
        rows.append((f"graph of {word}", pieces.graphs[name]))
        rows.append((f"product with {word}", pieces.products[name]))
    updates = f"{plan.steps:,} updates of {plan.batch_size * plan.accumulation} sequences"
    measured = f"{len(plan.measured_at)} measurements on {plan.sequences} sequences"
    for name, text in (("updates", updates), ("measurements", measured)):
        rows.append((text, Cost(forecast.seconds[name], forecast.memory[name])))
    whole = Cost(sum(forecast.seconds.values()), max(forecast.memory.values()))
    return [
        f"{title}: {pieces.parameters:,} weights, {forecast.products} products with each matrix, "
        f"sequences of a product: {forecast.together}",
        *(
            f"  {text:<36}{duration(cost.seconds):>12}{size_of(cost.memory):>12}"
            for text, cost in [*rows, ("the training", whole)]
        ),
    ]


def size_of(memory: int) -> str:
    """A number of bytes in words.

    Example:
        >>> size_of(3_210_000_000), size_of(45_600)
        ('3.21 GB', '0.0456 MB')
    """
    unit, size = ("GB", 1e9) if memory >= 1e9 else ("MB", 1e6)
    return f"{three_digits(memory / size)} {unit}"


def conclusion(
    path: str, plan: Any, forecasts: Mapping[str, Forecast], *, seeds: int, workers: int, free: int
) -> list[str]:
    """The lines below the networks: all trainings, the largest part, and what does not fit.

    Args:
        path: of their settings.
        plan: the settings of each training, a ``LanguageModelTraining``.
        forecasts: by variant.
        seeds: trainings of each.
        workers: trainings at once on the device.
        free: bytes that it has.
    """
    count, each = seeds * len(forecasts), [*forecasts.values()]
    workers, parts = min(workers, count), [*each[0].seconds]
    times = {name: seeds * sum(forecast.seconds[name] for forecast in each) for name in parts}
    need = {name: max(forecast.memory[name] for forecast in each) for name in parts}
    total, most = sum(times.values()), max(need.values())
    longest = max(sum(forecast.seconds.values()) for forecast in each)
    largest = max(times, key=lambda name: times[name])
    text = [
        f"{count} trainings, {workers} at once: {duration(max(total / workers, longest))}, "
        f"{size_of(workers * most)} of {size_of(free)} that are free",
        f"largest part: {largest}, {times[largest] / total:.0%} of the time; "
        f"of the memory: {max(need, key=lambda name: need[name])}",
    ]
    smaller = min(forecast.micro_batch for forecast in each)
    if need["measurements"] > free or not smaller:
        lacking = need["measurements"] if smaller else most
        return [*text, f"it does not fit: take a device with {size_of(lacking)} or more"]
    changes = []
    if need["updates"] > free:
        pieces = plan.batch_size * plan.accumulation // smaller
        changes += [f"{path}.batch_size={smaller}", f"{path}.accumulation={pieces}"]
        most = free
    if workers * most > free:
        changes += [f"launcher.workers={max(1, free // most)}"]
    return [*text, f"it does not fit: set {' '.join(changes)}" if changes else "it fits"]

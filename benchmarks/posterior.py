"""Time of a PAC-Bayes posterior's updates and draws, beside the plain way to write them.

``python -m benchmarks.posterior [--quick] [--rounds N]``: one thread, CPU time per update or draw,
methods in random order, medians of ratios within a round. A posterior of 784-600-2, batches of 128.
"""

import copy
import math
import os
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from benchmarks.table import print_table
from benchmarks.timing import ratio
from hessian_spectra.pac_bayes import (
    BoundDescent,
    GaussianPosterior,
    error_of_draws,
    minimise_bound,
)
from hessian_spectra.pac_bayes.bases import layer_bases
from hessian_spectra.seeding import generator
from hessian_spectra.training import Order

# T-600 of wu2022dissecting, appendix H: two classes of MNIST.
FEATURES, WIDTH, CLASSES = 784, 600, 2
BATCH, EPOCHS = 128, 2
SAMPLES = 40 * BATCH
LOOPED = 40
SETTINGS = BoundDescent(
    epochs=EPOCHS,
    batch_size=BATCH,
    learning_rate=1e-3,
    decay_every=400,
    smoothing=0.9,
    basis="kronecker",
    refresh=0,
    refresh_grows=False,
    delta=0.025,
    grid_precision=100.0,
    largest_variance=0.1,
)
HEADER = (
    f"| {'task':<46} | {'ours, ms':>8} | {'plain, ms':>9} | {'ratio':>6} | {'bar':>4} | met |"
    f" {'difference':>10} |\n|{'-' * 48}|{'-' * 10}|{'-' * 11}|{'-' * 8}|{'-' * 6}|-----|"
    f"{'-' * 12}|"
)

Milliseconds = Callable[[], float]


@dataclass(frozen=True)
class Task:
    """A timed task, and the share of the plain way's time that we mean to stay below."""

    name: str
    measure: Callable[[], tuple[Mapping[str, Milliseconds], float]]
    bar: float | None = None


def case() -> tuple[nn.Module, Mapping[str, Tensor], Tensor, Tensor]:
    """A network, weights of before, and samples of two classes."""
    draws = generator(0, "benchmark")
    x = torch.rand(SAMPLES, FEATURES, generator=draws)
    y = (x[:, :300].sum(dim=1) > 150).long()
    networks = [
        nn.Sequential(nn.Linear(FEATURES, WIDTH), nn.ReLU(), nn.Linear(WIDTH, CLASSES))
        for _ in range(2)
    ]
    for network in networks:
        for value in network.parameters():
            nn.init.normal_(value, std=0.04, generator=draws)
    model, before = networks
    return model, before.state_dict(), x, y


class Plain(nn.Module):
    """Algorithm 1 as one would write it: every U E Vᵀ is formed, autograd does the rest."""

    def __init__(self, posterior: GaussianPosterior, model: nn.Module) -> None:
        super().__init__()
        self._model, self._bases = model, posterior.bases
        state, spread = model.state_dict(), posterior.log_deviation.detach()
        self.names = [f"{layer}.{kind}" for layer in posterior.names for kind in ("weight", "bias")]
        sizes = [state[name].numel() for name in self.names]
        shapes = [state[name].shape for name in self.names]
        parts = [part.view(shape) for part, shape in zip(spread.split(sizes), shapes, strict=True)]
        before = posterior.prior.split(sizes)
        self.prior = [part.view(shape) for part, shape in zip(before, shapes, strict=True)]
        self.mean = nn.ParameterList(state[name].clone() for name in self.names)
        self.spread = nn.ParameterList(part.clone() for part in parts)
        self.half_logarithm = nn.Parameter(posterior.half_log_variance.detach().clone())

    def drawn(self, noise: Tensor) -> dict[str, Tensor]:
        """The weights of one network, from normal numbers for all of them."""
        rows, start = {}, 0
        for name, mean, spread in zip(self.names, self.mean, self.spread, strict=True):
            part = noise[start : start + mean.numel()].view_as(mean) * spread.exp()
            start += mean.numel()
            basis = self._bases[name.rpartition(".")[0]]
            part = basis.outputs @ part
            rows[name] = mean + (part @ basis.inputs.T if part.ndim == 2 else part)
        return rows

    def forward(self, x: Tensor, y: Tensor, noise: Tensor) -> Tensor:
        """The objective: surrogate error and ``(B_RE/2)^½``."""
        scores = functional_call(self._model, self.drawn(noise), (x,))
        surrogate = functional.cross_entropy(scores, y) / math.log(2)
        distance = sum((a - b).square().sum() for a, b in zip(self.mean, self.prior, strict=True))
        variances = sum((2 * spread).exp().sum() for spread in self.spread)
        logarithms = sum(2 * spread.sum() for spread in self.spread)
        number, variance = len(noise), (2 * self.half_logarithm).exp()
        divergence = (distance + variances) / variance - number + 2 * number * self.half_logarithm
        index = SETTINGS.grid_precision * (
            math.log(SETTINGS.largest_variance) - 2 * self.half_logarithm
        )
        union = 2 * index.log() + math.log(math.pi**2 * SAMPLES / (6 * SETTINGS.delta))
        complexity = ((divergence - logarithms) / 2 + union) / (SAMPLES - 1)
        return surrogate + (complexity / 2).sqrt()


def descended(plain: Plain, x: Tensor, y: Tensor, steps: int) -> float:
    """So many updates; the mean of what is minimised."""
    optimizer = torch.optim.RMSprop(
        plain.parameters(), lr=SETTINGS.learning_rate, alpha=SETTINGS.smoothing
    )
    order = Order(SAMPLES, BATCH, seed=0)
    numbers, total = sum(mean.numel() for mean in plain.mean), 0.0
    for step in range(steps):
        chosen = order.samples(step)
        noise = torch.empty(numbers).normal_(generator=generator(0, f"network {step}"))
        optimizer.zero_grad()
        loss = plain(x[chosen], y[chosen], noise)
        loss.backward()
        optimizer.step()
        total += float(loss)
    return total / steps


def updates() -> tuple[Mapping[str, Milliseconds], float]:
    """An update in the eigenbasis; the difference is that of what is minimised, relative."""
    model, before, x, y = case()
    steps = EPOCHS * SAMPLES // BATCH
    bases = layer_bases(model, x, y, SETTINGS.basis)

    def ours() -> tuple[float, float]:
        posterior = GaussianPosterior(model, before)
        clock: list[tuple[int, float]] = []

        def log(step: int, metrics: Mapping[str, float]) -> None:
            # The first is told when the bases are there.
            clock.append((step, time.process_time()))

        twin = copy.deepcopy(model)
        certificate = minimise_bound(posterior, twin, x, y, SETTINGS, seed=0, log=log)
        (first, start), *_, (last, end) = clock
        return 1e3 * (end - start) / (last - first), float(certificate["surrogate"].mean())

    def started() -> Plain:
        posterior = GaussianPosterior(model, before)
        posterior.bases = dict(bases)
        return Plain(posterior, model)

    def plain() -> float:
        made, start = started(), time.process_time()
        descended(made, x, y, steps)
        return 1e3 * (time.process_time() - start) / steps

    own, other = ours()[1], descended(started(), x, y, steps)
    difference = abs(own - other) / other
    return {"ours": lambda: ours()[0], "plain": plain}, difference


def pairs(of_each: int) -> tuple[Mapping[str, Milliseconds], float]:
    """A draw of a network, where the loop has so many samples of each and ours has one.

    The bound counts independent draws, whatever their samples. The difference is that of the two
    errors, which are estimates.
    """
    model, before, x, y = case()
    posterior = GaussianPosterior(model, before)
    posterior.bases = dict(layer_bases(model, x, y, SETTINGS.basis))
    draws = 10_000

    def ours() -> float:
        start = time.process_time()
        error_of_draws(posterior, x, y, draws=draws, seed=0)
        return 1e3 * (time.process_time() - start) / draws

    def loop(networks: int = LOOPED) -> float:
        numbers, wrong = generator(1, "loop"), 0
        start = time.process_time()
        with torch.no_grad():
            for _ in range(networks):
                state = posterior.model_state(torch.randn(len(posterior.mean), generator=numbers))
                chosen = torch.randint(SAMPLES, (of_each,), generator=numbers)
                scores = functional_call(model, state, (x[chosen],))
                wrong += int((scores.argmax(dim=1) != y[chosen]).sum())
        taken = time.process_time() - start
        errors.append(wrong / (networks * of_each))
        return 1e3 * taken / networks

    errors: list[float] = []
    loop(400 if of_each == 1 else LOOPED)
    difference = abs(errors[0] - error_of_draws(posterior, x, y, draws=draws, seed=0))
    return {"ours": ours, "plain": loop}, difference


TASKS = (
    Task("an update in the eigenbasis, batch 128", updates, 0.42),
    Task("a draw, the loop with 128 samples of each", lambda: pairs(BATCH), 0.20),
    Task("a draw, the loop with one sample of each", lambda: pairs(1), 0.20),
)


def measure(task: Task, count: int) -> str:
    """One row of the table."""
    methods, difference = task.measure()
    order, names = random.Random(0), list(methods)
    entries: dict[str, list[float]] = {name: [] for name in names}
    for number in range(count + 1):
        order.shuffle(names)
        for name in names:
            taken = methods[name]()
            # The first round warms up.
            entries[name] += [taken] if number else []
    own, other = (statistics.median(entries[name]) for name in ("ours", "plain"))
    share = ratio(entries, "ours", "plain")
    bar = "" if task.bar is None else f"{task.bar:.2f}"
    met = "" if task.bar is None else ("yes" if share <= task.bar else "NO")
    return (
        f"| {task.name:<46} | {own:>8.3f} | {other:>9.3f} | {share:>6.3f} | {bar:>4} | {met:>3} "
        f"| {difference:>10.1e} |"
    )


def main(command: list[str] | None = None) -> None:
    """Measure and print the table, each row as soon as it is there."""
    print_table(__doc__, HEADER, TASKS, measure, rounds=5, quick_rounds=3, command=command)


if __name__ == "__main__":
    main()

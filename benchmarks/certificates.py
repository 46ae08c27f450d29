"""Bounds on MNIST by seconds of one core, by local reparametrisation and by Algorithm 1.

``python -m benchmarks.certificates --root data [--seconds 180] [--epochs 20] [--seeds 1] [--only
T-600]``: one thread, CPU time of all that ``bound`` does, its two starts and the draws of the
certificate beside the seconds of the training. T-600 is that of wu2022dissecting, appendix H: two
classes, 784-600-2, confidence 0.965. Learnt priors are trained on one half of the ten classes, with
images shifted by up to two pixels, and bounded on the other.
"""

import argparse
import copy
import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import Tensor, nn
from torch.nn import functional
from torchvision.datasets import MNIST

from benchmarks.curvature import hardware
from hessian_spectra import pac_bayes
from hessian_spectra.seeding import generator

HEADER = (
    f"| {'network':<8} | {'prior saw':<9} | {'method':<20} | seed | CPU s | {'bound':>6} | error"
    f"  | {'KL':>7} | held out | printed |\n|{'-' * 10}|{'-' * 11}|{'-' * 22}|------|-------|"
    f"{'-' * 8}|--------|{'-' * 9}|----------|---------|"
)
# Passes of networks, and of priors; samples of an update; the largest shift of an image in pixels.
PASSES, LEARNT_PASSES, BATCH, SHIFT = 20, 40, 128, 2
LOCAL = {"method": "local"}
PAPER = {"method": "paper", "epochs": 20}


@dataclass(frozen=True)
class Row:
    """A network, its prior, and a way to find the posterior."""

    network: str
    make: Callable[[], nn.Module]
    classes: int
    learnt: bool
    printed: str = ""
    settings: Mapping[str, Any] = field(default_factory=lambda: LOCAL)
    draws: int = 200_000

    @property
    def method(self) -> str:
        """The way, in words."""
        return ", ".join(str(value) for value in self.settings.values())


def connected(classes: int) -> nn.Module:
    """784-600-c, from weights as Dziugaite and Roy (2017) have them."""
    layers = [nn.Linear(784, 600), nn.Linear(600, classes)]
    for layer in layers:
        nn.init.trunc_normal_(layer.weight, std=0.04, a=-0.08, b=0.08)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(nn.Flatten(), layers[0], nn.ReLU(), layers[1])


def convolutional() -> nn.Module:
    """Two convolutions and two linear layers, 35 thousand weights."""
    return nn.Sequential(
        nn.Conv2d(1, 12, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(12, 24, 5), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(384, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip


ROWS = (
    Row("T-600", lambda: connected(2), 2, learnt=False, printed=".1432, .1198"),
    Row("T-600", lambda: connected(2), 2, learnt=False, printed=".154",
        settings=LOCAL | {"basis": "standard"}),
    Row("T-600", lambda: connected(2), 2, learnt=False, printed=".1432", settings=PAPER),
    Row("F-600", lambda: connected(10), 10, learnt=True, draws=400_000),
    Row("CNN", convolutional, 10, learnt=True, draws=400_000),
)  # fmt: skip


def samples(root: Path, classes: int, *, train: bool) -> tuple[Tensor, Tensor]:
    """Images ``(n, 1, 28, 28)`` in [0, 1], and labels, of two classes the digits' halves."""
    data = MNIST(root, train=train)
    labels = data.targets if classes == 10 else data.targets // 5
    return data.data[:, None] / 255, labels


def shifted(images: Tensor, draws: torch.Generator) -> Tensor:
    """Images ``(n, 1, 28, 28)``, each moved by up to two pixels either way."""
    count, size = len(images), images.shape[-1]
    padded = functional.pad(images[:, 0], (SHIFT,) * 4)
    rows, columns = (
        torch.randint(0, 2 * SHIFT + 1, (count, 1), generator=draws) + torch.arange(size)
        for _ in range(2)
    )
    return padded[torch.arange(count)[:, None, None], rows[:, :, None], columns[:, None]][:, None]


def trained(
    network: nn.Module, images: Tensor, labels: Tensor, draws: torch.Generator, *, shifts: bool
) -> nn.Module:
    """A copy of a network after SGD; with shifts for longer, at a rate that falls as a cosine."""
    model = copy.deepcopy(network)
    rate, passes = (0.05, LEARNT_PASSES) if shifts else (0.05, PASSES)
    more = {"momentum": 0.9, "nesterov": True, "weight_decay": 5e-4} if shifts else {}
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, **more)
    steps, step = passes * math.ceil(len(labels) / BATCH), 0
    for _ in range(passes):
        for chosen in torch.randperm(len(labels), generator=draws).split(BATCH):
            x = images[chosen]
            if shifts:
                x = shifted(x, draws)
                optimizer.param_groups[0]["lr"] = rate * (1 + math.cos(math.pi * step / steps)) / 2
            optimizer.zero_grad()
            functional.cross_entropy(model(x), labels[chosen]).backward()
            optimizer.step()
            step += 1
    return model


def measure(row: Row, root: Path, budget: Mapping[str, Any], seed: int) -> str:
    """One row of the table, ``local`` with a budget of seconds or epochs."""
    images, labels = samples(root, row.classes, train=True)
    draws = generator(seed, "benchmark")
    torch.manual_seed(seed)
    prior, saw = row.make(), "nothing"
    if row.learnt:
        seen = torch.randperm(len(labels), generator=draws)[: len(labels) // 2]
        prior = trained(prior, images[seen], labels[seen], draws, shifts=True)
        model, given = prior, {"prior_saw": seen}
        saw = "one half"
    else:
        model, given = trained(prior, images, labels, draws, shifts=False), {"prior_saw": "nothing"}
    budget = budget if row.settings["method"] == "local" else {}
    began = time.process_time()
    # A budget is one of CPU time, whatever else the machine does.
    with mock.patch("time.monotonic", time.process_time):
        certificate = pac_bayes.bound(model, (images, labels), prior=prior, draws=row.draws,
                                      seed=seed, **given, **row.settings, **budget)  # fmt: skip
    taken = time.process_time() - began
    held_out = pac_bayes.error_of_draws(
        certificate.posterior, *samples(root, row.classes, train=False), draws=20_000, seed=seed + 1
    )
    return (
        f"| {row.network:<8} | {saw:<9} | {row.method:<20} | {seed:>4} | {taken:>5.0f} "
        f"| {certificate.bound:>6.4f} | {certificate.mean_error:>6.4f} "
        f"| {certificate.prior.kl:>7.1f} | {held_out:>8.4f} | {row.printed} |"
    )


def main(command: list[str] | None = None) -> None:
    """Measure and print the table, each row as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--root", type=Path, required=True, help="holds MNIST as torchvision does")
    parser.add_argument("--seconds", type=float, default=180.0, help="of CPU, of each training")
    parser.add_argument("--epochs", type=int, help="of each training, in place of seconds")
    parser.add_argument("--seeds", type=int, default=1, help="networks of each row")
    parser.add_argument("--only", default="", help="rows: T-600, or T-600: local")
    options = parser.parse_args(command)
    torch.set_num_threads(1)
    budget = {"epochs": options.epochs} if options.epochs else {"seconds": options.seconds}
    print(hardware(), HEADER, sep="\n\n", flush=True)
    for row in ROWS:
        for seed in range(options.seeds):
            if options.only in ("", row.network, f"{row.network}: {row.method}"):
                print(measure(row, options.root, budget, seed), flush=True)


if __name__ == "__main__":
    main()

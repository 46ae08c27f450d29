"""Errors of traces from 60 products, ours and the peers', beside exact ones: small networks.

``python -m benchmarks.traces [--seeds N]``: root mean squares over seeds, and the processor time of
an estimate over that of the fastest. Ours takes 60 products with each layer's block.
"""

import argparse
import warnings
from time import process_time

import torch
from torch import nn

from benchmarks.peers import LIBRARIES, Data, Ours
from benchmarks.problems import SmallGPT, digits, sequences, train
from hessian_spectra import curvature as cv

PRODUCTS = 60


def networks() -> dict[str, tuple[nn.Module, Data]]:
    """Each with one batch, in float64."""
    images, classes = digits(300, 8)
    images = images.double()
    flat = [(images.flatten(1), classes)]
    made: dict[str, tuple[nn.Module, Data]] = {}
    for name, steps in (("random MLP", 0), ("trained MLP", 500)):
        torch.manual_seed(0)
        layers = [nn.Linear(64, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 10)]
        made[name] = nn.Sequential(*layers).double(), flat
        train(*made[name], steps)
    torch.manual_seed(0)
    convolutional = nn.Sequential(
        nn.Conv2d(1, 6, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 12, 3), nn.ReLU(),
        nn.Flatten(), nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 10),
    )  # fmt: skip
    made["random CNN"] = convolutional.double(), [(images, classes)]
    made["tiny GPT-2"] = SmallGPT(2, 16, 2).double(), [sequences(8, 16)]
    return made


def main(command: list[str] | None = None) -> None:
    """Print a row for each network and library."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--seeds", type=int, default=30, help="estimates of each")
    seeds = parser.parse_args(command).seeds
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print("| traces of | trace | method | rms error | time |\n|---|---|---|---|---|")
    for network, (model, data) in networks().items():
        exact = cv.trace(Ours(model, data).operator, "exact").value
        entries = {}
        for name, build in LIBRARIES.items():
            library, start = build(model, data), process_time()
            values = torch.tensor([library.trace(PRODUCTS, seed) for seed in range(seeds)])
            error = float((values.double() - exact).square().mean().sqrt())
            entries[name] = error, process_time() - start
        least = min(time for _, time in entries.values())
        for name, (error, time) in entries.items():
            print(f"| {network} | {exact:.4g} | {name} | {error:.3g} | {time / least:.1f} |")


if __name__ == "__main__":
    main()

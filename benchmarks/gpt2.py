"""Time and memory of one product with the Hessian and one with the Gauss-Newton matrix of GPT-2.

``python -m benchmarks.gpt2 [--layers 12] [--context 1024] [--sequences 1] [--memory 20]``: random
weights and tokens, float32, one thread, CPU time; the memory limit is in GiB. The sequences are cut
into as many batches as fit, and what a product takes at its peak is that of one such batch.
"""

import argparse
import multiprocessing
import os
import time
from collections.abc import Sequence

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from benchmarks.curvature import hardware
from benchmarks.memory import give_back, peak
from hessian_spectra import curvature as cv
from hessian_spectra.models.gpt2 import Shape, gpt2, language_loss
from hessian_spectra.seeding import generator

KINDS = {"Hessian": cv.hessian, "Gauss-Newton": cv.ggn}
HEADER = (
    "| matrix       | sequences | batches | build CPU s | product CPU s | peak MB |\n"
    "|--------------|-----------|---------|-------------|---------------|---------|"
)


def problem(shape: Shape, sequences: int, memory: float) -> cv.Problem:
    """The language loss of random weights on random tokens, cut to a memory in bytes."""
    draws = generator(0, "benchmark tokens")
    tokens = torch.randint(0, shape.vocabulary, (sequences, shape.context + 1), generator=draws)
    model = gpt2(shape, seed=0).eval()
    return cv.Problem(model, loss_fn=language_loss, data=[tokens], weights=len, memory=int(memory))


def row(name: str, at: cv.Problem, sequences: int) -> str:
    """Build an operator and multiply once, in a process of its own; a line of the table.

    With one batch the graph is built with the operator and kept, so that further products take as
    long as this one; with several it is built within each product.
    """
    vector = torch.ones(at.size)
    seconds = multiprocessing.RawArray("d", 2)

    def use() -> None:
        start = time.process_time()
        operator = KINDS[name](at, check=False)
        seconds[0] = time.process_time() - start
        product = operator @ vector
        seconds[1] = time.process_time() - start - seconds[0]
        if not torch.isfinite(product).all():
            raise ValueError(f"{name}: the product is not finite")

    memory = peak(use)
    taken = f"{memory:.0f}" if isinstance(memory, float) else memory
    return (
        f"| {name:<12} | {sequences:>9} | {at.batch_count:>7} | {seconds[0]:>11.1f} "
        f"| {seconds[1]:>13.1f} | {taken:>7} |"
    )


def main(command: Sequence[str] | None = None) -> None:
    """Measure and print the table, each row as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768, help="64 a head")
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--vocabulary", type=int, default=50257)
    parser.add_argument("--sequences", type=int, default=1)
    parser.add_argument("--memory", type=float, default=20.0, help="GiB that a product may take")
    parser.add_argument("--variant", default="attention")
    options = parser.parse_args(command)
    torch.set_num_threads(1)
    shape = Shape(
        layers=options.layers,
        width=options.width,
        heads=max(1, options.width // 64),
        context=options.context,
        vocabulary=options.vocabulary,
        variant=options.variant,
    )
    at = problem(shape, options.sequences, options.memory * 2**30)
    # What it took to measure how much fits would stand beside each row's.
    give_back()
    held = 4 * at.size / 1e6
    print(hardware(), f"{at.size} weights ({held:.0f} MB, beside the peak)", HEADER, sep="\n\n")
    for name in KINDS:
        print(row(name, at, options.sequences), flush=True)


if __name__ == "__main__":
    main()

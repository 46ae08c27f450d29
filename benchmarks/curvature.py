"""Time and memory of products, eigenpairs, densities, traces and factors, ours and the peers'.

``python -m benchmarks.curvature [--quick] [--k200] [--rounds N] [--only NETWORK] [--rows FOLDER]``:
one thread, CPU time, methods in random order, medians of ratios within a round; memory in a process
of its own. What the folder has already is not measured again. ``benchmarks/README.md`` has the
results.
"""

import argparse
import multiprocessing
import os
import platform
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from benchmarks.problems import NETWORKS
from benchmarks.rows import Record, Row, table
from benchmarks.tasks import (
    PRODUCT_BARS,
    density,
    factors,
    layer_products,
    products,
    top,
    trace,
    tracking,
)

FOLDER = Path("build/benchmarks")


@dataclass(frozen=True)
class Job:
    """A task on a network.

    Args:
        kind: of task, as in ``"top 10"``.
        network: its name.
        measure: gives the rows, from the network, how many samples, ``arguments`` and rounds.
        arguments: what else it takes.
        rounds: how many.
    """

    kind: str
    network: str
    measure: Callable[..., list[Row]]
    arguments: tuple[object, ...] = ()
    rounds: int = 3


def planned(options: argparse.Namespace) -> list[Job]:
    """The tasks that are measured, in order."""
    quick, first = options.quick, 3 if options.quick else options.rounds
    # Of GPT-2 of 124M weights an eigenpair takes a basis that fills the memory.
    small = [name for name in NETWORKS if name != "gpt2"]
    multiplied = PRODUCT_BARS if quick else NETWORKS
    jobs = [Job("H v", name, products, (), first) for name in multiplied]
    some = ["mlp"] if quick else small
    jobs += [Job(f"top {k}", name, top, (k, None)) for k in (1, 5, 10) for name in some]
    jobs += [Job("density", name, density) for name in some]
    if not quick:
        jobs += [Job("trace", name, trace, (), 1) for name in small]
        jobs += [Job("factors", name, factors) for name in ("mlp", "lenet5")]
        jobs += [Job("layers", name, layer_products) for name in ("mlp", "lenet5")]
        # The small GPT is not trained.
        jobs += [Job("tracking", name, tracking) for name in small if NETWORKS[name].steps]
    if options.k200:
        jobs.append(Job("top 200", "mlp", top, (200, "0.weight")))
    return [job for job in jobs if options.only in (None, job.network)]


def main(command: list[str] | None = None) -> None:
    """Measure what is missing, each task's rows kept as soon as they are there; print the table."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--quick", action="store_true", help="small data, three rounds, few tasks")
    parser.add_argument("--k200", action="store_true", help="also 200 eigenpairs of one layer")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of the products")
    parser.add_argument("--only", choices=list(NETWORKS), help="one network")
    parser.add_argument("--rows", type=Path, help=f"where rows are kept, {FOLDER} by default")
    options = parser.parse_args(command)
    folder = options.rows or FOLDER / ("quick" if options.quick else "full")
    samples = 200 if options.quick else 1000
    jobs = planned(options)
    records = {job.network: Record(folder / f"{job.network}.json") for job in jobs}
    print(hardware(), flush=True)
    # A process for each, because how often memory is mapped anew depends on what went before.
    context = multiprocessing.get_context("spawn")
    for job in jobs:
        record = records[job.network]
        if job.kind in record.rows:
            continue
        with ProcessPoolExecutor(1, mp_context=context, initializer=prepare) as pool:
            result = pool.submit(job.measure, job.network, samples, *job.arguments, job.rounds)
            record.add(job.kind, result.result())
        print(*record.rows[job.kind], sep="\n", flush=True)
    print(table(records, list(dict.fromkeys(job.kind for job in jobs))))


def prepare() -> None:
    """Settings of each process."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")


def hardware() -> str:
    """The machine and versions that the numbers were measured on."""
    names = ["torch", "numpy", "scipy", "curvlinops-for-pytorch", "PyHessian"]
    names.append("hessian-eigenthings")
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as lines:
            model = next(line.split(":")[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        pass
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    return f"{model}, one thread; Python {platform.python_version()}, {versions}"


if __name__ == "__main__":
    main()

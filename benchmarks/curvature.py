"""Time of products, eigenpairs and densities over the peers', in one run.

``python -m benchmarks.curvature [--quick] [--k200] [--rounds N]``: one thread, CPU time, methods in
random order, medians of ratios within a round. ``benchmarks/README.md`` has the results.
"""

import argparse
import copy
import math
import multiprocessing
import os
import platform
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import Tensor, nn

from benchmarks import peers
from benchmarks.problems import make, train
from benchmarks.timing import ratio, rounds
from hessian_spectra import curvature as cv

# Upper bounds for our time over the peer's.
PRODUCT_BARS = {"mlp": 0.40, "lenet5": 0.48, "gpt": 0.48}
TOP_BARS = {1: 0.28, 10: 0.55}
TOP_BAR_LAYER = 0.28
DENSITY_BAR = 0.30
RESIDUAL = 1e-4


@dataclass(frozen=True)
class Row:
    """One line of the table: a method, its time over the peer's, and how accurate it is."""

    task: str
    method: str
    ratio: float
    bar: float | None
    accuracy: str

    def __str__(self) -> str:
        bar = "" if self.bar is None else f"{self.bar:.2f}"
        met = "" if self.bar is None else ("yes" if self.ratio <= self.bar else "NO")
        return (
            f"| {self.task:<34} | {self.method:<26} | {self.ratio:>6.3f} | {bar:>4} | {met:>3} "
            f"| {self.accuracy:<42} |"
        )


HEADER = (
    f"| {'task':<34} | {'method':<26} | {'ratio':>6} | {'bar':>4} | {'met':>3} "
    f"| {'accuracy':<42} |\n"
    f"|{'-' * 36}|{'-' * 28}|{'-' * 8}|{'-' * 6}|{'-' * 5}|{'-' * 44}|"
)


def problem(model: nn.Module, data: peers.Data, parameters: list[str] | None = None) -> cv.Problem:
    return cv.Problem(model, peers.LOSS, data, parameters)


def in_float64(model: nn.Module, data: peers.Data) -> tuple[nn.Module, peers.Data]:
    twin = copy.deepcopy(model).double()
    return twin, [(x.double() if x.is_floating_point() else x, y) for x, y in data]


def products(name: str, samples: int, count: int) -> list[Row]:
    """Hessian-vector products, and the gradient as the unit that all need."""
    model, data = make(name, samples)
    ours = cv.hessian(problem(model, data))
    vector = torch.randn(ours.shape[0], generator=torch.Generator().manual_seed(1))
    exact = cv.hessian(problem(*in_float64(model, data))) @ vector.double()
    others = {
        "curvlinops": peers.curvlinops_hessian(model, data).__matmul__,
        "PyHessian": peers.PyHessian(model, data).product,
        "hessian-eigenthings": peers.HessianEigenthings(model, data).product,
    }
    methods = {"ours": ours.__matmul__, **others}
    seconds = rounds(
        {
            # Three in a row: eigen-solvers do not pause between products.
            **{key: thrice(lambda m=method: m(vector)) for key, method in methods.items()},
            "one gradient": thrice(lambda: gradient(model, data)),
            "ours, built and checked": thrice(lambda: cv.hessian(problem(model, data))),
        },
        count,
    )
    rows = []
    for key in seconds:
        error = ""
        if key in methods:
            product = methods[key](vector).detach().double()
            error = f"error {float((product - exact).norm() / exact.norm()):.1e}"
        bar = PRODUCT_BARS[name] if key == "ours" else None
        rows.append(
            Row(
                f"H v, {name}, p = {len(vector)}",
                key,
                ratio(seconds, key, "curvlinops"),
                bar,
                error,
            )
        )
    return rows


def thrice(method: Callable[[], object]) -> Callable[[], object]:
    return lambda: [method() for _ in range(3)]


def gradient(model: nn.Module, data: peers.Data) -> tuple[Tensor, ...]:
    inputs, targets = data[0]
    return torch.autograd.grad(peers.LOSS(model(inputs), targets), list(model.parameters()))


def top(name: str, samples: int, k: int, count: int, layer: str | None = None) -> list[Row]:
    """The top k eigenpairs of a trained network, or of one layer of it."""
    model, data = make(name, samples)
    train(model, data, 100)
    parameters = None if layer is None else [dict(model.named_parameters())[layer]]
    ours = cv.hessian(problem(model, data, None if layer is None else [layer]))
    exact = cv.hessian(problem(*in_float64(model, data), None if layer is None else [layer]))
    reference = peers.curvlinops_hessian(model, data, parameters)
    # Eigenvalues of one layer fall far below the largest; the residual has to follow.
    tol = RESIDUAL if layer is None else RESIDUAL / 100

    def residual(pairs: peers.Pairs) -> float:
        values, vectors = (part.double() for part in pairs)
        return float(((exact @ vectors) - vectors * values).norm(dim=0).max() / values.abs().max())

    def own() -> peers.Pairs:
        found = cv.top_eigenpairs(ours, k, tol)
        return found.eigenvalues, found.eigenvectors()

    methods: dict[str, Callable[[], peers.Pairs]] = {
        "ours": own,
        "eigsh on curvlinops": lambda: peers.scipy_top(reference, k, RESIDUAL),
    }
    if layer is None:
        other = peers.HessianEigenthings(model, data)
        steps = other.steps_for(k, lambda pairs: residual(pairs) <= tol, max(10, 2 * k))
        methods["hessian-eigenthings"] = lambda: other.top(k, steps)
        power = peers.PyHessian(model, data)
        methods["PyHessian"] = lambda: power.top(k, tol / 10)
    seconds = rounds(methods, count)
    task = f"top {k}, {name}{'' if layer is None else ' ' + layer}, p = {ours.shape[0]}"
    exact_values = methods["eigsh on curvlinops"]()[0]
    rows = []
    for key, method in methods.items():
        pairs = method()
        error = float((pairs[0].sort().values - exact_values).abs().max() / exact_values.max())
        bar = (TOP_BARS[k] if layer is None else TOP_BAR_LAYER) if key == "ours" else None
        accuracy = f"residual {residual(pairs):.1e}, eigenvalues {error:.1e}"
        rows.append(Row(task, key, ratio(seconds, key, "eigsh on curvlinops"), bar, accuracy))
    return rows


def density(name: str, samples: int, count: int, steps: int = 40, probes: int = 2) -> list[Row]:
    """The spectral density with as many probes and steps on both sides."""
    model, data = make(name, samples)
    train(model, data, 100)
    ours = cv.hessian(problem(model, data))
    reference = peers.curvlinops_hessian(model, data)
    seconds = rounds(
        {
            "ours": lambda: cv.spectral_density(ours, probes=probes, steps=steps),
            "curvlinops": lambda: peers.curvlinops_density(reference, steps, probes),
        },
        count,
    )
    errors = density_errors(steps, probes)
    task = f"density, {name}, p = {ours.shape[0]}"
    return [
        Row(task, key, ratio(seconds, key, "curvlinops"), DENSITY_BAR if key == "ours" else None,
            f"L1 error {errors[key]:.3f} (small net)")
        for key in seconds
    ]  # fmt: skip


def density_errors(steps: int, probes: int) -> dict[str, float]:
    """How far each estimate is from the exact spectrum of a small net under the same kernel."""
    (images, classes), *_ = make("mlp", 200)[1]
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 10))
    data = [(images[:, :: 784 // 16][:, :16].contiguous(), classes)]
    train(model, data, 100)
    operator = cv.hessian(problem(model, data))
    exact = cv.dense_spectrum(operator).eigenvalues.double()
    ours = cv.spectral_density(operator, probes=probes, steps=steps)
    torch.manual_seed(0)
    grid, density = peers.curvlinops_density(peers.curvlinops_hessian(model, data), steps, probes)
    # Their kernel: kappa = 3 on an interval that is mapped to [-1, 1].
    width = float(grid[-1] - grid[0]) / (steps - 1) / (8 * math.log(3)) ** 0.5
    estimates = {
        "ours": (ours.grid, ours.density, ours.width),
        "curvlinops": (grid.double(), density.double(), width),
    }
    errors = {}
    for key, (points, found, kernel) in estimates.items():
        distances = (points[:, None] - exact) / kernel
        truth = (-distances.square() / 2).exp().mean(dim=1) / (kernel * (2 * math.pi) ** 0.5)
        errors[key] = float(torch.trapezoid((found - truth).abs(), points))
    return errors


def hardware() -> str:
    """What the numbers were measured on."""
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


def main(command: list[str] | None = None) -> None:
    """Measure and print the table, each row as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--quick", action="store_true", help="small data, three rounds")
    parser.add_argument("--k200", action="store_true", help="also 200 eigenpairs of one layer")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of the products")
    options = parser.parse_args(command)
    samples, count = (200, 3) if options.quick else (1000, options.rounds)
    few = 3 if options.quick else max(3, options.rounds // 3)
    print(hardware(), HEADER, sep="\n\n", flush=True)
    jobs: list[tuple[Callable[..., list[Row]], tuple[object, ...]]] = [
        *((products, (name, samples, count)) for name in PRODUCT_BARS),
        *((top, ("mlp", samples, k, few)) for k in TOP_BARS),
        (density, ("mlp", samples, few)),
    ]
    if options.k200:
        jobs.append((top, ("mlp", samples, 200, 2, "0.weight")))
    # A process for each, because how often memory is mapped anew depends on what went before.
    context = multiprocessing.get_context("spawn")
    for function, arguments in jobs:
        with ProcessPoolExecutor(1, mp_context=context, initializer=prepare) as pool:
            print(*pool.submit(function, *arguments).result(), sep="\n", flush=True)


def prepare() -> None:
    """Settings of each process."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")


if __name__ == "__main__":
    main()

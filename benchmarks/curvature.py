"""Time and memory of products, eigenpairs, densities and traces beside the peers', in one run.

``python -m benchmarks.curvature [--quick] [--k200] [--rounds N] [--only NETWORK]``: one thread, CPU
time, methods in random order, medians of ratios within a round; memory in a process of its own.
``benchmarks/README.md`` has the results.
"""

import argparse
import copy
import functools
import math
import multiprocessing
import os
import platform
import statistics
import warnings
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from importlib.metadata import version

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import Tensor, nn

from benchmarks import peers
from benchmarks.memory import peak
from benchmarks.peers import LIBRARIES, Library, Ours
from benchmarks.problems import make, train, trained
from benchmarks.timing import ratio, rounds
from hessian_spectra import curvature as cv

# Upper bounds for our time over the reference's.
PRODUCT_BARS = {"mlp": 0.40, "lenet5": 0.48, "gpt": 0.48}
TOP_BARS = {1: 0.28, 10: 0.55}
TOP_BAR_LAYER = 0.28
DENSITY_BAR = 0.30
RESIDUAL = 1e-4
REFERENCE = "curvlinops"
# Seconds after which a method is run once, not once a round.
PATIENCE = 3.0
TRAINING_STEPS = 25


@dataclass(frozen=True)
class Row:
    """One line of the table: a method, its time and memory beside others', how accurate it is."""

    task: str
    method: str
    seconds: float
    ratio: float
    bar: float | None
    memory: float | str
    accuracy: str

    def __str__(self) -> str:
        bar = "" if self.bar is None else f"{self.bar:.2f}"
        met = "" if self.bar is None else ("yes" if self.ratio <= self.bar else "NO")
        memory = f"{self.memory:.0f}" if isinstance(self.memory, float) else self.memory
        return (
            f"| {self.task:<30} | {self.method:<26} | {self.seconds:>8.3f} | {self.ratio:>6.3f} "
            f"| {bar:>4} | {met:>3} | {memory:>6} | {self.accuracy:<38} |"
        )


HEADER = (
    f"| {'task':<30} | {'method':<26} | {'CPU s':>8} | {'ratio':>6} | {'bar':>4} | {'met':>3} "
    f"| {'MB':>6} | {'accuracy':<38} |\n"
    f"|{'-' * 32}|{'-' * 28}|{'-' * 10}|{'-' * 8}|{'-' * 6}|{'-' * 5}|{'-' * 8}|{'-' * 40}|"
)
Method = Callable[[], object]


def measured(
    task: str,
    methods: Mapping[str, Method],
    accuracy: Mapping[str, str],
    count: int,
    *,
    bar: float | None = None,
    memory: Mapping[str, float | str] | None = None,
) -> list[Row]:
    """The rows of one task, from its methods by name.

    Args:
        task: what they all do.
        methods: the reference among them.
        accuracy: what is said of each.
        count: how many rounds.
        bar: the ratio that ours is to stay below.
        memory: megabytes of each at its peak.
    """
    seconds = rounds(methods, count, limit=PATIENCE)
    return [
        Row(
            task,
            name,
            statistics.median(seconds[name]),
            ratio(seconds, name, REFERENCE),
            bar if name == "ours" else None,
            (memory or {}).get(name, ""),
            accuracy.get(name, ""),
        )
        for name in methods
    ]


def peaks(
    names: Iterable[str],
    model: nn.Module,
    data: peers.Data,
    use: Callable[[str, Library], object],
    layer: str | None = None,
) -> dict[str, float | str]:
    """The memory that it takes to build an operator and to use it, of libraries by name."""
    return {
        name: peak(lambda name=name: use(name, LIBRARIES[name](model, data, layer)))
        for name in names
    }


def in_float64(model: nn.Module, data: peers.Data) -> tuple[nn.Module, peers.Data]:
    twin = copy.deepcopy(model).double()
    return twin, [(x.double() if x.is_floating_point() else x, y) for x, y in data]


def reference(
    model: nn.Module, data: peers.Data, layer: str | None = None
) -> Callable[[Tensor], Tensor]:
    """Products that all are compared with: in float64, but for networks that fill the memory."""
    size = sum(parameter.numel() for parameter in model.parameters())
    at = (model, data) if size > 5e7 else in_float64(model, data)
    problem = cv.Problem(at[0], peers.LOSS, at[1], None if layer is None else [layer])
    operator = cv.hessian(problem, check=False)
    return lambda vectors: (operator @ vectors.to(operator.dtype)).double()


def products(name: str, samples: int, count: int) -> list[Row]:
    """Hessian-vector products, and the gradient as the unit that all need."""
    model, data = trained(name, samples)
    size = sum(parameter.numel() for parameter in model.parameters())
    vector = torch.randn(size, generator=torch.Generator().manual_seed(1))
    memory = peaks(LIBRARIES, model, data, lambda _, library: library.product(vector))
    built = "ours, built and checked"
    memory[built] = memory["ours"]
    memory["ours"] = peak(lambda: unchecked(model, data) @ vector)
    memory["one gradient"] = peak(lambda: gradient(model, data))
    libraries = {name: build(model, data) for name, build in LIBRARIES.items()}
    exact = reference(model, data)(vector)
    accuracy = {
        key: f"error {float((library.product(vector) - exact).norm() / exact.norm()):.1e}"
        for key, library in libraries.items()
    }
    # Three in a row: eigen-solvers do not pause between products.
    methods = {
        **{key: thrice(library.product, vector) for key, library in libraries.items()},
        "one gradient": thrice(gradient, model, data),
        built: thrice(Ours, model, data),
    }
    rows = measured(
        f"H v, {name}, p = {size}", methods, accuracy, count,
        bar=PRODUCT_BARS.get(name), memory=memory,
    )  # fmt: skip
    return [replace(row, seconds=row.seconds / 3) for row in rows]


def unchecked(model: nn.Module, data: peers.Data) -> cv.SymmetricOperator:
    return cv.hessian(cv.Problem(model, peers.LOSS, data), check=False)


def thrice(method: Callable[..., object], *arguments: object) -> Method:
    return lambda: [method(*arguments) for _ in range(3)]


def gradient(model: nn.Module, data: peers.Data) -> tuple[Tensor, ...]:
    inputs, targets = data[0]
    return torch.autograd.grad(peers.LOSS(model(inputs), targets), list(model.parameters()))


def top(name: str, samples: int, k: int, count: int, layer: str | None = None) -> list[Row]:
    """The top k eigenpairs of a trained network, or of one layer of it, to equal residuals."""
    model, data = trained(name, samples)
    names = [key for key in LIBRARIES if layer is None or key in ("ours", REFERENCE)]
    if k > 1 and name in ("gpt", "resnet20", "decoder"):
        # It would take thousands of products.
        names.remove("PyHessian")
    exact = reference(model, data, layer)
    # Eigenvalues of one layer fall far below the largest; the residual has to follow.
    tol = RESIDUAL if layer is None else RESIDUAL / 100

    libraries = {key: LIBRARIES[key](model, data, layer) for key in names}
    tried = {key: chosen(libraries[key], k, tol, exact) for key in names}
    settings = {key: setting for key, (setting, _, _) in tried.items()}
    true = min(tried.values(), key=lambda one: one[2])[1][0].double().sort().values
    accuracy = {
        key: f"residual {residual:.1e}, eigenvalues "
        f"{float((found[0].double().sort().values - true).abs().max() / true.max()):.1e}"
        for key, (_, found, residual) in tried.items()
    }
    methods = {
        key: functools.partial(library.top, k, settings[key]) for key, library in libraries.items()
    }
    size = len(tried["ours"][1][1])
    task = f"top {k}, {name}{'' if layer is None else ' ' + layer}, p = {size}"
    bar = (TOP_BARS.get(k) if layer is None else TOP_BAR_LAYER) if name == "mlp" else None
    rows = measured(task, methods, accuracy, count, bar=bar)
    del libraries, methods, tried
    memory = peaks(names, model, data, lambda key, library: library.top(k, settings[key]), layer)
    return [replace(row, memory=memory[row.method]) for row in rows]


def chosen(
    library: Library, k: int, tol: float, exact: Callable[[Tensor], Tensor]
) -> tuple[object, peers.Pairs, float]:
    """The cheapest setting whose true residual is small enough, or the last; with what it gives."""
    for setting in library.settings(k, tol):
        pairs = library.top(k, setting)
        values, vectors = (part.double() for part in pairs)
        lengths = (exact(vectors) - vectors * values).norm(dim=0)
        residual = float(lengths.max() / values.abs().max())
        if residual <= tol:
            break
    return setting, pairs, residual


def density(name: str, samples: int, count: int, steps: int = 40, probes: int = 2) -> list[Row]:
    """The spectral density with as many probes and steps on all sides."""
    model, data = trained(name, samples)
    names = [key for key in LIBRARIES if key != "PyHessian"]
    errors = density_errors(steps, probes) if name == "mlp" else {}
    accuracy = {key: f"L1 error {error:.3f} (small net)" for key, error in errors.items()}
    memory = peaks(names, model, data, lambda _, library: library.density(steps, probes))
    libraries = {key: LIBRARIES[key](model, data) for key in names}
    methods = {
        key: functools.partial(library.density, steps, probes) for key, library in libraries.items()
    }
    size = sum(parameter.numel() for parameter in model.parameters())
    bar = DENSITY_BAR if name == "mlp" else None
    return measured(
        f"density, {name}, p = {size}", methods, accuracy, count, bar=bar, memory=memory
    )


def density_errors(steps: int, probes: int) -> dict[str, float]:
    """How far each estimate is from the exact spectrum of a small net under the same kernel."""
    (images, classes), *_ = make("mlp", 200)[1]
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 10))
    data = [(images[:, :: 784 // 16][:, :16].contiguous(), classes)]
    train(model, data, 100)
    operator = cv.hessian(cv.Problem(model, peers.LOSS, data))
    exact = cv.dense_spectrum(operator).eigenvalues.double()
    ours = cv.spectral_density(operator, probes=probes, steps=steps)
    torch.manual_seed(0)
    grid, density = peers.Curvlinops(model, data).density(steps, probes)
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


def trace(name: str, samples: int, count: int, number: int = 60) -> list[Row]:
    """The trace from equally many products, each method's best, and its error over some seeds."""
    model, data = trained(name, samples)
    memory = peaks(LIBRARIES, model, data, lambda _, library: library.trace(number, 0))
    libraries = {key: build(model, data) for key, build in LIBRARIES.items()}
    true = cv.trace(unchecked(model, data), probes=5 * number, seed=100)
    estimates: dict[str, list[float]] = {key: [] for key in libraries}

    def once(key: str) -> None:
        found = estimates[key]
        found.append(libraries[key].trace(number, len(found)))

    methods = {key: functools.partial(once, key) for key in libraries}
    size = sum(parameter.numel() for parameter in model.parameters())
    rows = measured(f"trace, {name}, p = {size}", methods, {}, count, memory=memory)
    errors = {
        key: math.sqrt(statistics.fmean((value - true.value) ** 2 for value in found))
        for key, found in estimates.items()
    }
    known = f"(known to {true.standard_error / abs(true.value):.0e})"
    return [
        replace(row, accuracy=f"error {errors[row.method] / abs(true.value):.1e} {known}")
        for row in rows
    ]


def tracking(name: str, samples: int, count: int) -> list[Row]:
    """The largest eigenvalue after each step of a training, each library as well as it can."""
    model, data = trained(name, samples)
    start = copy.deepcopy(model.state_dict())
    tol = 10 * RESIDUAL

    def run(key: str, setting: object, steps: int) -> list[float]:
        """Train from the same weights, and look after each step."""
        model.load_state_dict(start)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        look = LIBRARIES[key](model, data).tracker(setting)
        values = []
        for _ in range(steps):
            optimizer.zero_grad()
            peers.LOSS(model(data[0][0]), data[0][1]).backward()
            optimizer.step()
            optimizer.zero_grad()
            values.append(look())
        return values

    exact = reference(model, data)
    # As long as it takes at the first step.
    settings = {
        key: chosen(build(model, data), 1, tol, exact)[0] for key, build in LIBRARIES.items()
    }
    few = {key: functools.partial(run, key, at, 3) for key, at in settings.items()}
    memory = {key: peak(method) for key, method in few.items()}
    true = torch.tensor(run("ours", tol / 100, TRAINING_STEPS))
    found: dict[str, list[float]] = {}

    def timed(key: str) -> None:
        found[key] = run(key, settings[key], TRAINING_STEPS)

    methods = {key: functools.partial(timed, key) for key in LIBRARIES}
    size = sum(parameter.numel() for parameter in model.parameters())
    rows = measured(f"tracking, {name}, p = {size}", methods, {}, count, memory=memory)
    errors = {key: float((torch.tensor(values) / true - 1).abs().max())
              for key, values in found.items()}  # fmt: skip
    return [replace(row, accuracy=f"eigenvalues {errors[row.method]:.1e}") for row in rows]


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


Job = tuple[Callable[..., list[Row]], tuple[object, ...]]


def planned(options: argparse.Namespace) -> list[Job]:
    """What is measured, in order: a function that gives rows, and its arguments."""
    samples, count = (200, 3) if options.quick else (1000, options.rounds)
    jobs: list[Job] = [(products, (name, samples, count)) for name in PRODUCT_BARS]
    jobs += [(top, ("mlp", samples, k, 3)) for k in TOP_BARS]
    jobs += [(density, ("mlp", samples, 3))]
    if not options.quick:
        jobs += [(products, (name, samples, 3)) for name in ("resnet20", "decoder")]
        jobs += [(products, ("gpt2", samples, 1)), (top, ("mlp", samples, 5, 3))]
        larger = ("lenet5", "gpt", "resnet20", "decoder")
        jobs += [(top, (name, samples, k, 1)) for name in larger for k in (1, 5, 10)]
        jobs += [(density, (name, samples, 1)) for name in larger]
        jobs += [(trace, (name, samples, 1)) for name in ("mlp", *larger)]
        # ResNet-20 diverges at this rate, with the running statistics of its norms.
        jobs += [(tracking, (name, samples, 1)) for name in ("mlp", "lenet5", "decoder")]
    if options.k200:
        jobs.append((top, ("mlp", samples, 200, 2, "0.weight")))
    return [job for job in jobs if options.only in (None, job[1][0])]


def main(command: list[str] | None = None) -> None:
    """Measure and print the table, each row as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--quick", action="store_true", help="small data, three rounds, few tasks")
    parser.add_argument("--k200", action="store_true", help="also 200 eigenpairs of one layer")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of the products")
    parser.add_argument("--only", help="one network, such as decoder")
    print(hardware(), HEADER, sep="\n\n", flush=True)
    # A process for each, because how often memory is mapped anew depends on what went before.
    context = multiprocessing.get_context("spawn")
    for function, arguments in planned(parser.parse_args(command)):
        with ProcessPoolExecutor(1, mp_context=context, initializer=prepare) as pool:
            print(*pool.submit(function, *arguments).result(), sep="\n", flush=True)


def prepare() -> None:
    """Settings of each process."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")


if __name__ == "__main__":
    main()

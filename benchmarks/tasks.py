"""The tasks: products, eigenpairs, densities, traces, factors, tracking, ours and peers'.

Each task gives the rows of all libraries for one network.
"""

import copy
import functools
import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks import peers
from benchmarks.memory import peak
from benchmarks.peers import LIBRARIES, Library, Ours
from benchmarks.problems import NETWORKS, make, train, trained
from benchmarks.rows import Row
from benchmarks.timing import ratio, rounds
from hessian_spectra import curvature as cv

# Upper bounds for our time over the reference's.
PRODUCT_BARS = {"mlp": 0.40, "lenet5": 0.48, "gpt": 0.48}
TOP_BARS = {1: 0.28, 10: 0.55}
TOP_BAR_LAYER = 0.28
DENSITY_BAR = 0.30
FACTORS_BAR = 0.38
RESIDUAL = 1e-4
REFERENCE = "curvlinops"
# Seconds after which a method is run once, not once a round.
PATIENCE = 3.0
TRAINING_STEPS = 25
# How often the factors' data, a batch, is passed.
BATCHES = 60


Method = Callable[[], object]
# Of a network, its data and further arguments.
Use = Callable[..., object]


def measured(
    task: str,
    methods: Mapping[str, Method],
    accuracy: Mapping[str, str],
    memory: Mapping[str, float | str],
    count: int,
    *,
    bar: float | None = None,
    patience: float = PATIENCE,
    known: Mapping[str, float] | None = None,
) -> list[Row]:
    """The rows of one task, from its methods by name.

    Args:
        task: what they all do.
        methods: the reference among them.
        accuracy: what is said of each.
        memory: megabytes of each at its peak.
        count: how many rounds.
        bar: the ratio that ours is to stay below.
        patience: seconds after which a method is run once, not once a round.
        known: CPU seconds that methods took before.
    """
    seconds = rounds(methods, count, limit=patience, known=known)
    return [
        Row(
            task,
            name,
            statistics.median(seconds[name]),
            ratio(seconds, name, REFERENCE),
            bar if name == "ours" else None,
            memory[name],
            accuracy.get(name, ""),
        )
        for name in methods
    ]


def peaks(name: str, samples: int, uses: Mapping[str, tuple[Any, ...]]) -> dict[str, float | str]:
    """The memory that each use of a network takes: a function and its further arguments."""
    return {key: peak(prepared, name, samples, *use) for key, use in uses.items()}


def prepared(name: str, samples: int, use: Use, *arguments: object) -> Method:
    return functools.partial(use, *trained(name, samples), *arguments)


def called(
    model: nn.Module, data: peers.Data, key: str, layer: str | None, task: str, *arguments: object
) -> object:
    """Build a library's operator and call a method of it."""
    return getattr(LIBRARIES[key](model, data, layer), task)(*arguments)


def in_float64(model: nn.Module, data: peers.Data) -> tuple[nn.Module, peers.Data]:
    twin = copy.deepcopy(model).double()
    return twin, [(x.double() if x.is_floating_point() else x, y) for x, y in data]


def reference(
    model: nn.Module, data: peers.Data, layer: str | None = None
) -> Callable[[Tensor], Tensor]:
    """Products that all are compared with, in float64."""
    twin, doubles = in_float64(model, data)
    problem = cv.Problem(twin, peers.LOSS, doubles, None if layer is None else [layer])
    operator = cv.hessian(problem, check=False)
    return lambda vectors: (operator @ vectors.to(operator.dtype)).double()


def products(name: str, samples: int, count: int) -> list[Row]:
    """Hessian-vector products, and the gradient as the unit that all need."""
    model, data = trained(name, samples)
    vector = direction(model)
    built = "ours, built and checked"
    uses: dict[str, tuple[Any, ...]]
    uses = {key: (multiplied, build) for key, build in LIBRARIES.items()}
    uses |= {
        "ours": (multiplied, functools.partial(Ours, check=False)),
        "one gradient": (gradient,),
        built: (multiplied, Ours),
    }
    memory = peaks(name, samples, uses)
    libraries = {key: build(model, data) for key, build in LIBRARIES.items()}
    exact = reference(model, data)(vector)
    accuracy = {
        key: f"error {float((library.product(vector) - exact).norm() / exact.norm()):.1e}"
        for key, library in libraries.items()
    }
    # Three in a row: eigen-solvers do not pause between products.
    methods = {key: thrice(library.product, vector) for key, library in libraries.items()}
    methods["one gradient"] = thrice(gradient, model, data)
    task = f"H v, {name}, p = {len(vector)}"
    bar = PRODUCT_BARS.get(name)
    rows = measured(task, methods, accuracy, memory, count, bar=bar)
    rows = [replace(row, seconds=row.seconds / 3) for row in rows]
    (unit,) = (row.seconds for row in rows if row.method == REFERENCE)
    taken = rounds({built: functools.partial(Ours, model, data)}, count, limit=PATIENCE)
    seconds = statistics.median(taken[built])
    return [*rows, Row(task, built, seconds, seconds / unit, None, memory[built], "")]


def direction(model: nn.Module) -> Tensor:
    size = sum(parameter.numel() for parameter in model.parameters())
    return torch.randn(size, generator=torch.Generator().manual_seed(1))


def multiplied(model: nn.Module, data: peers.Data, build: Callable[..., Library]) -> Tensor:
    """Build an operator and multiply once."""
    return build(model, data).product(direction(model))


def thrice(method: Callable[..., object], *arguments: object) -> Method:
    return lambda: [method(*arguments) for _ in range(3)]


def gradient(model: nn.Module, data: peers.Data) -> tuple[Tensor, ...]:
    inputs, targets = data[0]
    return torch.autograd.grad(peers.LOSS(model(inputs), targets), list(model.parameters()))


def top(name: str, samples: int, k: int, layer: str | None, count: int) -> list[Row]:
    """The top k eigenpairs of a trained network, or of one layer of it, to equal residuals."""
    model, data = trained(name, samples)
    names = list(LIBRARIES)
    if layer is not None or (k > 1 and name in ("gpt", "resnet20", "decoder")):
        # It would take thousands of products, and for 200 pairs of a layer a hundred thousand.
        names.remove("PyHessian")
    exact = reference(model, data, layer)
    # Eigenvalues of one layer fall far below the largest; the residual has to follow.
    tol = RESIDUAL if layer is None else RESIDUAL / 100

    libraries = {key: LIBRARIES[key](model, data, layer) for key in names}
    tried = {key: chosen(libraries[key], k, tol, exact) for key in names}
    true = min(tried.values(), key=lambda item: item.residual).values
    accuracy = {
        key: f"residual {item.residual:.1e}, eigenvalues "
        f"{float((item.values - true).abs().max() / true.max()):.1e}"
        for key, item in tried.items()
    }
    methods = {key: functools.partial(libraries[key].top, k, tried[key].setting) for key in names}
    memory = peaks(
        name, samples, {key: (called, key, layer, "top", k, tried[key].setting) for key in names}
    )
    size = sum(p.numel() for key, p in model.named_parameters() if layer in (None, key))
    task = f"top {k}, {name}{'' if layer is None else ' ' + layer}, p = {size}"
    bar = (TOP_BARS.get(k) if layer is None else TOP_BAR_LAYER) if name == "mlp" else None
    known = {key: item.seconds for key, item in tried.items()}
    return measured(task, methods, accuracy, memory, count, bar=bar, known=known)


@dataclass(frozen=True)
class Chosen:
    """A library's setting, the eigenvalues that it gives, their residual and the CPU seconds."""

    setting: object
    values: Tensor
    residual: float
    seconds: float


def chosen(library: Library, k: int, tol: float, exact: Callable[[Tensor], Tensor]) -> Chosen:
    """The cheapest setting whose true residual is small enough, or the last that may help."""
    for setting in library.settings(k, tol):
        start = time.process_time()
        pairs = library.top(k, setting)
        seconds = time.process_time() - start
        values, vectors = (part.double() for part in pairs)
        residual = largest_residual(exact(vectors), values, vectors)
        own = torch.stack([library.product(column) for column in pairs[1].T], dim=1)
        # Where its own products see so much less, it is they that are wrong.
        if residual <= tol or residual - largest_residual(own.double(), values, vectors) > tol:
            break
    return Chosen(setting, values.sort().values, residual, seconds)


def largest_residual(images: Tensor, values: Tensor, vectors: Tensor) -> float:
    return float((images - vectors * values).norm(dim=0).max() / values.abs().max())


def density(name: str, samples: int, count: int, steps: int = 40, probes: int = 2) -> list[Row]:
    """The spectral density with as many probes and steps on all sides."""
    model, data = trained(name, samples)
    names = [key for key in LIBRARIES if key != "PyHessian"]
    errors = density_errors(steps, probes) if name == "mlp" else {}
    accuracy = {key: f"L1 error {error:.3f} (small net)" for key, error in errors.items()}
    memory = peaks(
        name, samples, {key: (called, key, None, "density", steps, probes) for key in names}
    )
    libraries = {key: LIBRARIES[key](model, data) for key in names}
    methods = {
        key: functools.partial(library.density, steps, probes) for key, library in libraries.items()
    }
    size = sum(parameter.numel() for parameter in model.parameters())
    bar = DENSITY_BAR if name == "mlp" else None
    return measured(f"density, {name}, p = {size}", methods, accuracy, memory, count, bar=bar)


def density_errors(steps: int, probes: int) -> dict[str, float]:
    """The error of each estimate of the exact spectrum of a small net under the same kernel."""
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
    for key, (points, result, kernel) in estimates.items():
        distances = (points[:, None] - exact) / kernel
        truth = (-distances.square() / 2).exp().mean(dim=1) / (kernel * (2 * math.pi) ** 0.5)
        errors[key] = float(torch.trapezoid((result - truth).abs(), points))
    return errors


def trace(name: str, samples: int, count: int, number: int = 60) -> list[Row]:
    """The trace from equally many products, each method's best, and its error over some seeds."""
    model, data = trained(name, samples)
    memory = peaks(
        name, samples, {key: (called, key, None, "trace", number, 0) for key in LIBRARIES}
    )
    libraries = {key: build(model, data) for key, build in LIBRARIES.items()}
    true = cv.trace(Ours(model, data, check=False).operator, probes=5 * number, seed=100)
    estimates: dict[str, list[float]] = {key: [] for key in libraries}

    def once(key: str) -> None:
        result = estimates[key]
        result.append(libraries[key].trace(number, len(result)))

    methods = {key: functools.partial(once, key) for key in libraries}
    size = sum(parameter.numel() for parameter in model.parameters())
    # The error is that of as many seeds, of a slow method too.
    rows = measured(f"trace, {name}, p = {size}", methods, {}, memory, count, patience=math.inf)
    errors = {
        key: math.sqrt(statistics.fmean((value - true.value) ** 2 for value in result))
        for key, result in estimates.items()
    }
    known = f"(known to {true.standard_error / abs(true.value):.0e})"
    return [
        replace(row, accuracy=f"error {errors[row.method] / abs(true.value):.1e} {known}")
        for row in rows
    ]


def factors(name: str, samples: int, count: int) -> list[Row]:
    """The two Kronecker factors of all layers, exact, from passes over many batches."""
    model, data = trained(name, samples)
    uses = {"ours": peers.layerwise_factors, REFERENCE: peers.kfac_factors}
    memory = peaks(name, samples, {key: (use, BATCHES) for key, use in uses.items()})
    methods = {key: functools.partial(use, model, data, BATCHES) for key, use in uses.items()}
    exact = peers.layerwise_factors(*in_float64(model, data), 1)
    accuracy = {
        key: f"error {max(map(product_error, use(model, data, 1), exact)):.1e}"
        for key, use in uses.items()
    }
    task = f"factors, {name}, n = {BATCHES * len(data[0][0])}"
    bar = FACTORS_BAR if name == "mlp" else None
    return measured(task, methods, accuracy, memory, count, bar=bar, patience=math.inf)


def layer_products(name: str, samples: int, count: int, number: int = 50) -> list[Row]:
    """Many products with the Gauss-Newton matrix of each layer, with what it takes to build it."""
    model, data = trained(name, samples)
    uses = {"ours": peers.held_products, REFERENCE: peers.ggn_products}
    memory = peaks(name, samples, {key: (use, number) for key, use in uses.items()})
    methods = {key: functools.partial(use, model, data, number) for key, use in uses.items()}
    exact = peers.held_products(*in_float64(model, data), 3)
    accuracy = {}
    for key, use in uses.items():
        pairs = zip(use(model, data, 3), exact, strict=True)
        error = max(float((own.double() - true).norm()) for own, true in pairs)
        accuracy[key] = f"error {error:.1e}"
    task = f"{number} products a layer, {name}"
    return measured(task, methods, accuracy, memory, count, patience=math.inf)


def product_error(pair_of_ours: peers.Pair, exact: peers.Pair) -> float:
    """``‖B ⊗ C − B' ⊗ C'‖ / ‖B' ⊗ C'‖``, to 1e-8: whichever factor has the scale."""
    (b, c), (p, q) = ([part.double() for part in pair] for pair in (pair_of_ours, exact))
    own, square = (b.norm() * c.norm()) ** 2, (p.norm() * q.norm()) ** 2
    shared = (b * p).sum() * (c * q).sum()
    return math.sqrt(max(0.0, float((own - 2 * shared + square) / square)))


def tracking(name: str, samples: int, count: int) -> list[Row]:
    """The largest eigenvalue after each step of a training, each library as well as it can."""
    model, data = trained(name, samples)
    start = copy.deepcopy(model.state_dict())
    tol = 10 * RESIDUAL
    exact, rate = reference(model, data), NETWORKS[name].rate
    # As long as it takes at the first step.
    settings = {
        key: chosen(build(model, data), 1, tol, exact).setting for key, build in LIBRARIES.items()
    }
    memory = peaks(
        name, samples, {key: (followed, key, setting, rate, 3) for key, setting in settings.items()}
    )

    def run(key: str, setting: object) -> Tensor:
        """From the same weights."""
        model.load_state_dict(start)
        return torch.tensor(followed(model, data, key, setting, rate, TRAINING_STEPS))

    true = run("ours", tol / 100)
    entries: dict[str, Tensor] = {}

    def timed(key: str) -> None:
        entries[key] = run(key, settings[key])

    methods = {key: functools.partial(timed, key) for key in LIBRARIES}
    size = sum(parameter.numel() for parameter in model.parameters())
    rows = measured(f"tracking, {name}, p = {size}", methods, {}, memory, count)
    errors = {key: float((values / true - 1).abs().max()) for key, values in entries.items()}
    return [replace(row, accuracy=f"eigenvalues {errors[row.method]:.1e}") for row in rows]


def followed(
    model: nn.Module, data: peers.Data, key: str, setting: object, rate: float, steps: int
) -> list[float]:
    """Train the network, and look after each step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    look = LIBRARIES[key](model, data).tracker(setting)
    values = []
    for _ in range(steps):
        optimizer.zero_grad()
        peers.LOSS(model(data[0][0]), data[0][1]).backward()
        optimizer.step()
        optimizer.zero_grad()
        values.append(look())
    return values

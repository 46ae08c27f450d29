"""Two eigenvalues that sum to tr(H)/D, or to nearly that (singh2026cracking, figures 3, 10 to 13).

Networks with D inputs and one output at initialisation, all their Hessian eigenvalues, and the
smallest and second smallest |λ_i + λ_j − tr(H)/D|. Among many eigenvalues some pair comes close to
any number: what chance alone would reach is measured on spectra whose eigenvalues are moved at
random by about the distance of their neighbours.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from hessian_papers.constraints import AtLeast, Count, Different, DifferentNumbers
from hessian_papers.data.base import SEVERAL_FEATURES
from hessian_papers.labelled import Variable, Variables, assembled
from hessian_papers.models.parametrisation import draw
from hessian_papers.studies.base import DataStudyConfig
from hessian_papers.studies.correlations.pair_sums import (
    closest_pair_sums,
    distinct_values,
    jittered,
)
from hessian_papers.work import FanOut, Item
from hessian_spectra import closed_form as cf
from hessian_spectra.curvature.ensemble import (
    LARGEST_DENSE,
    SecondMoments,
    ensemble_trace,
    exact_spectra,
)
from hessian_spectra.files import Arrays
from hessian_spectra.models import Ensemble, require_piecewise_linear
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require

# How the weights are drawn and what is done to the data, as ``<parametrisation>-<data>``.
CASES = ("orthogonal-decorrelated", "orthogonal-normalised", "sp-decorrelated", "sp-normalised")


@dataclass(frozen=True, kw_only=True)
class Config(DataStudyConfig):
    """Settings of the study of paired eigenvalues.

    Args:
        activation: ``linear`` or ``relu``.
        depth: number of layers L.
        cases: some of ``CASES``. ``orthogonal``: all matrices but the last have orthonormal columns
            (rows and columns where they are square), the last one is drawn as for ``sp``, the
            standard parametrisation. ``decorrelated``: features and target centred, uncorrelated
            with each other, of variance 1; ``normalised``: centred and of variance 1.
        widths: hidden units m of each hidden layer.
        samples: number of points n for each width; the data set's first ones.
        sizes: input sizes D; each is taken at those widths that are at least as large.
        networks: networks N of each point, that is of each case, width and input size.
        jitters: for each network, spectra with eigenvalues moved at random that it is compared to;
            19 or more, for one of them to be 5 %.
        networks_per_item: networks that one item of the fan-out computes together.
    """

    takes = SEVERAL_FEATURES

    activation: str
    depth: Annotated[int, AtLeast(2)]
    cases: Annotated[list[str], Different(tuple(CASES))]
    widths: Annotated[list[int], DifferentNumbers(1)]
    samples: list[int]
    sizes: Annotated[list[int], DifferentNumbers(1)]
    networks: Count
    jitters: Annotated[int, AtLeast(19)]
    networks_per_item: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        require_piecewise_linear(self.activation)
        expected = "one number for each of widths"
        require(len(self.samples) == len(self.widths), "samples", expected, self.samples)
        several = any(1 < size <= max(self.widths) for size in self.sizes)
        require(several, "sizes", "one above 1 and of at most the largest width", self.sizes)
        for width, samples in zip(self.widths, self.samples, strict=True):
            sizes = [size for size in self.sizes if size <= width]
            require(bool(sizes), "sizes", f"one of at most the width {width}", self.sizes)
            expected = f"at least D + 2 = {max(sizes) + 2} at width {width}, to decorrelate"
            require(samples >= max(sizes) + 2, "samples", expected, samples)
            parameters = width * (max(sizes) + (self.depth - 2) * width + 1)
            reduced = self.activation == "linear" or self.depth == 2
            expected = (
                f"at most {LARGEST_DENSE} parameters in a ReLU network of more than two layers, "
                "whose whole Hessian is taken"
            )
            require(reduced or parameters <= LARGEST_DENSE, "widths", expected, parameters)

    def require_shape(self, *shape: int) -> None:
        """Refuse data with too few samples or features."""
        largest = max(size for size in self.sizes if size <= max(self.widths))
        most, (samples, features) = max(self.samples), shape
        expected = f"at least {most} points with {largest} features"
        require(samples >= most and features >= largest, "data", expected, self.data)


@dataclass(frozen=True, kw_only=True)
class Point:
    """Networks of one case, width and input size, with their data.

    Args:
        case: one of ``CASES``.
        activation: ``linear`` or ``relu``.
        depth: number of layers.
        width: hidden units.
        seed: of the weights.
        x: features ``(n, D)``.
        y: target ``(n,)``.
    """

    case: str
    activation: str
    depth: int
    width: int
    seed: int
    x: np.ndarray
    y: np.ndarray

    @property
    def size(self) -> int:
        """The input size D."""
        return self.x.shape[1]

    @property
    def labels(self) -> Arrays:
        """The labels that tell it from other points."""
        return {name: np.array(getattr(self, name)) for name in AXES}

    @property
    def exact(self) -> bool:
        """True where the spectrum is known."""
        assumed = self.case == "orthogonal-decorrelated"
        return self.activation == "linear" and self.depth == 2 and (assumed or self.size == 1)

    def networks(self, numbers: Sequence[int]) -> Ensemble:
        """Some of its networks: ``size`` inputs, ``depth − 1`` hidden layers and one output.

        Every width and size has draws of its own; both parametrisations start from the same ones,
        of which the orthogonal one takes the Q factors.
        """
        width, depth = self.width, self.depth
        purpose = f"networks of width {width}, {self.size} inputs, {depth} layers"
        own = int(torch.randint(2**62, (), generator=generator(self.seed, purpose)))
        sizes = (self.size, *[width] * (depth - 1), 1)
        is_relu = self.activation == "relu"
        ensemble = draw("sp", sizes, "relu" if is_relu else "linear", own, numbers)
        if self.case.startswith("sp"):
            return ensemble
        *inner, last = ensemble.weights
        return replace(ensemble, weights=(*map(_orthonormal, inner), last))


def _points(config: Config, data: xr.Dataset) -> Iterator[Point]:
    """All points: cases, then widths, then input sizes, ascending."""
    x, y = data["x"].values, data["y"].values
    common: dict[str, Any] = {n: getattr(config, n) for n in ("activation", "depth", "seed")}
    for case in config.cases:
        _, kind = case.split("-")
        for width, samples in zip(config.widths, config.samples, strict=True):
            for size in sorted(size for size in config.sizes if size <= width):
                inputs, targets = prepared(kind, x[:samples, :size], y[:samples])
                yield Point(case=case, width=width, x=inputs, y=targets, **common)


def prepared(kind: str, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Features ``(n, D)`` and target ``(n,)``, centred and of variance 1, or decorrelated, too.

    Decorrelated features are orthogonal to each other and to the target, which is possible for D ≤
    n − 2: the target first, then each feature less its part in the ones before.

    Source: singh2026cracking, appendix D.1.2.
    """
    table = np.column_stack([y, x])
    table = table - table.mean(axis=0)
    if kind == "decorrelated":
        q, r = np.linalg.qr(table)
        table = q * np.sign(np.diag(r))
    table = table / np.sqrt(np.mean(table**2, axis=0))
    return table[:, 1:], table[:, 0]


def _orthonormal(matrices: Tensor) -> Tensor:
    """The Q factors with positive diagonal of R, uniformly distributed for Gaussian matrices."""
    q, r = torch.linalg.qr(matrices)
    return q * r.diagonal(dim1=1, dim2=2).sign()[:, None]


NETWORK = "case width size network"
VARIABLES: Variables = {
    "case": Variable("case", "how the weights are drawn and what is done to the data"),
    "width": Variable("width", "hidden units m of each hidden layer"),
    "size": Variable("size", "input size D; at most the width, there are no networks beyond"),
    "pair": Variable("pair", "the pair whose sum is nearest to tr(H)/D, or the second one"),
    "activation": Variable("", "of the hidden layers"),
    "depth": Variable("", "number of layers"),
    "exact_target": Variable(NETWORK, "tr(H)/D without any eigenvalue"),
    "exact_mean": Variable(NETWORK, "mean eigenvalue, without any"),
    "exact_distance": Variable(f"{NETWORK} pair", "distances, where the spectrum is known"),
    "target": Variable(NETWORK, "tr(H)/D, by all eigenvalues"),
    "mean": Variable(NETWORK, "mean eigenvalue"),
    "largest": Variable(NETWORK, "largest magnitude of an eigenvalue"),
    "single": Variable(NETWORK, "sum of the eigenvalues that occur once"),
    "distance": Variable(f"{NETWORK} pair", "|λ_i + λ_j − tr(H)/D|"),
    "chance": Variable(f"{NETWORK} jitter", "smallest distance in jittered spectra, ascending"),
}
AXES = ("case", "width", "size")
PAIRS = np.array(["best", "second"])


def closed_form(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """The trace, the mean eigenvalue and, where it is known, the spectrum, without brute force.

    Spectra are known in two-layer linear networks, with one input or with orthonormal first layer
    and decorrelated data.
    """
    points = _points(config, samples)
    return assembled([_theory(point, range(config.networks)) for point in points], VARIABLES, AXES)


def _theory(point: Point, numbers: Sequence[int]) -> Arrays:
    x, y = torch.from_numpy(point.x), torch.from_numpy(point.y)
    ensemble = point.networks(numbers)
    linear = point.activation == "linear"
    data = SecondMoments.of(x, y[:, None]) if linear else (x, y[:, None])
    trace = ensemble_trace(ensemble, data)
    distance = torch.full((len(numbers), 2), torch.nan, dtype=torch.float64)
    if point.exact:
        rows = [
            _distances(*_known_spectrum(v, w[0], x, y), float(t) / point.size)
            for v, w, t in zip(*ensemble.weights, trace, strict=True)
        ]
        distance = torch.stack(rows)
    parameters = sum(weight[0].numel() for weight in ensemble.weights)
    return point.labels | {
        "pair": PAIRS,
        "activation": np.array(point.activation),
        "depth": np.array(point.depth),
        "exact_target": (trace / point.size).numpy(),
        "exact_mean": (trace / parameters).numpy(),
        "exact_distance": distance.numpy(),
    }


def _known_spectrum(v: Tensor, w: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues and multiplicities by Theorem 3.1, or by its form for an orthonormal layer."""
    width, size = v.shape
    if size == 1:
        values = cf.two_layer_linear(w, v[:, 0], x[:, 0], y).eigenvalues
        return values, torch.ones(len(values), dtype=torch.int64)
    rho = (v.T @ w).norm()
    pair, triple = cf.pair_and_triple(w @ w, v.square().sum() / size, rho, rho)
    values = torch.cat([pair, triple, torch.stack([rho, -rho, torch.zeros_like(rho)])])
    counts = [1] * 2 + [size - 1] * 3 + [width - size] * 2 + [(size - 1) * (width - 1)]
    return values, torch.tensor(counts)


def _distances(eigenvalues: Tensor, multiplicities: Tensor, target: float) -> Tensor:
    values, counts = distinct_values(eigenvalues, multiplicities)
    return closest_pair_sums(values[None], counts[None] > 1, target)[0]


def _items(config: Config, samples: xr.Dataset) -> list[Item]:
    numbers, each = range(config.networks), config.networks_per_item
    return [
        {"point": point, "networks": [*numbers[first : first + each]], "jitters": config.jitters}
        for point in _points(config, samples)
        for first in numbers[::each]
    ]


def measure(*, point: Point, networks: list[int], jitters: int) -> Arrays:
    """The pairs of some networks of one point, from all their eigenvalues."""
    x, y = torch.from_numpy(point.x), torch.from_numpy(point.y)
    spectra = exact_spectra(point.networks(networks), x, y)
    names = (point.case.replace("-", " "), point.width, point.size, point.depth)
    total = int(spectra.multiplicities.sum())
    traces = spectra.eigenvalues @ spectra.multiplicities.to(spectra.eigenvalues)
    distances, chances, singles = [], [], []
    for network, eigenvalues, trace in zip(networks, spectra.eigenvalues, traces, strict=True):
        target = float(trace) / point.size
        values, counts = distinct_values(eigenvalues, spectra.multiplicities)
        repeated = counts > 1
        distances.append(closest_pair_sums(values[None], repeated[None], target)[0])
        singles.append(values[~repeated].sum())
        purpose = " ".join(map(str, ("jitter", *names, point.activation, network)))
        moved = jittered(values, repeated, jitters, generator(point.seed, purpose))
        chances.append(closest_pair_sums(*moved, target, 1)[:, 0].sort().values)
    return point.labels | {
        "pair": PAIRS,
        "distance": torch.stack(distances).numpy(),
        "chance": torch.stack(chances).numpy(),
        "target": (traces / point.size).numpy(),
        "mean": (traces / total).numpy(),
        "largest": spectra.eigenvalues.abs().amax(dim=1).numpy(),
        "single": torch.stack(singles).numpy(),
    }


def _gather(config: Config, parts: Sequence[Arrays]) -> xr.Dataset:
    """The networks of each point, which come in several parts one after the other."""
    chunks = -(-config.networks // config.networks_per_item)
    points = []
    for start in range(0, len(parts), chunks):
        own, first = parts[start : start + chunks], parts[start]
        along = [name for name in first if "network" in VARIABLES[name].dims]
        points.append(first | {name: np.concatenate([p[name] for p in own]) for name in along})
    return assembled(points, VARIABLES, AXES)


def _cost(item: Item) -> float:
    """Roughly the operations of the eigenvalues: the cube of what the matrix is reduced to."""
    point: Point = item["point"]
    width, depth, (samples, size) = point.width, point.depth, point.x.shape
    parameters = width * (size + (depth - 2) * width + 1)
    if point.activation == "linear":
        dense = 3 * size if depth == 2 else 2 * width * (depth - 1) + size
    else:
        dense = 2 * width + samples if depth == 2 else parameters
    rows = min(parameters, dense) + 30
    return float(len(item["networks"])) * float(rows) ** 3


def _probe(item: Item) -> Item:
    return {**item, "networks": item["networks"][:2]}


numerics = FanOut(items=_items, compute=measure, gather=_gather, cost=_cost, probe=_probe)

"""Self-attention's spectrum against weight norms and attention sinks."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from hessian_papers.constraints import AtLeast, Count, Scale
from hessian_papers.data.base import SCALAR_TOKENS
from hessian_papers.labelled import Variable, Variables, arrays_of, assembled, data_set, joined
from hessian_papers.studies.base import DataStudyConfig
from hessian_papers.studies.training import require_dense
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.models import HalfSquaredError, SelfAttention
from hessian_spectra.seeding import generator
from hessian_spectra.spectrum import Spectrum
from hessian_spectra.validation import require

# What each sweep varies; the last one is the third on sequences with a massive first token.
SWEEPS = ("query_key", "value", "sink", "massive_sink")


@dataclass(frozen=True, kw_only=True)
class Config(DataStudyConfig):
    """Settings of the attention-scale study.

    Args:
        key_dimension: d_K, the length of w_Q and w_K.
        weight_norm: norm of each of w_V, w_Q, w_K where it is not varied.
        smallest_norm: where the sweeps over norms start.
        largest_norm: where they end.
        largest_sink_bias: where the sweeps over the sink's bias end; they start at 0.
        massive_activation: factor of the first token in the sweep with a massive activation.
        points: points of each sweep at which the closed form is evaluated.
        numeric_points: at how many of them the numerical eigenvalues are computed.
        dense_points: at how many of these all eigenvalues come from the dense matrix as well.
        draws: how many other networks are looked at, each with directions, sequences and targets of
            its own.
        draw_points: points of each of their sweeps.
        small_norm: end of the smaller one of two ranges of norms that are told apart in them.
    """

    takes = SCALAR_TOKENS

    key_dimension: Annotated[int, AtLeast(3)]
    weight_norm: Scale
    smallest_norm: Scale
    largest_norm: Scale
    largest_sink_bias: Scale
    massive_activation: Scale
    points: Annotated[int, AtLeast(2)]
    numeric_points: int
    dense_points: int
    draws: Count
    draw_points: Annotated[int, AtLeast(2)]
    small_norm: Scale

    def __post_init__(self) -> None:
        # A bulk eigenvalue occurs d_K − 1 times, and the bulk is found as what repeats.
        super().__post_init__()
        expected = f"more than smallest_norm = {self.smallest_norm}"
        fits = self.largest_norm > self.smallest_norm
        require(fits, "largest_norm", expected, self.largest_norm)
        for field, least, limit in (
            ("numeric_points", 2, "points"),
            ("dense_points", 0, "numeric_points"),
        ):
            value, most = getattr(self, field), getattr(self, limit)
            require(least <= value <= most, field, f"from {least} to {limit} = {most}", value)
        if self.dense_points:
            require_dense(2 * self.key_dimension + 1, "key_dimension")


@dataclass(frozen=True)
class Network:
    """One network of a sweep, and its data.

    Args:
        w_value: ``()``.
        w_query: ``(d_K,)``.
        w_key: ``(d_K,)``.
        sink_bias: added to the scores of the first token.
        x: ``(batch, length)``.
        y: ``(batch, length)``.
        varied: the norm, or the bias, that the sweep varies.
    """

    w_value: Tensor
    w_query: Tensor
    w_key: Tensor
    sink_bias: float
    x: Tensor
    y: Tensor
    varied: float

    @property
    def score_bias(self) -> Tensor:
        """The sink as a bias on each token's scores, ``(length,)``."""
        bias = torch.zeros(self.x.shape[1], dtype=torch.float64)
        bias[0] = self.sink_bias
        return bias

    def layer(self) -> SelfAttention:
        """The network as a module."""
        return SelfAttention(self.w_value, self.w_query, self.w_key, self.sink_bias)


def sweep(
    config: Config, name: str, data: Arrays, varied: np.ndarray, purpose: str = "weights"
) -> Iterator[Network]:
    """The networks of one sweep; all of them point in the same directions.

    Args:
        config: of the study.
        name: of the sweep.
        data: sequences ``x`` and targets ``y``.
        varied: the norms, or the sink's biases.
        purpose: of the generator that draws the directions.
    """
    x, y = torch.from_numpy(data["x"]).clone(), torch.from_numpy(data["y"])
    if name == "massive_sink":
        x[:, 0] *= config.massive_activation
    draws = torch.randn(
        2, config.key_dimension, generator=generator(config.seed, purpose), dtype=torch.float64
    )
    query, key = draws / draws.norm(dim=1, keepdim=True)
    norm = config.weight_norm
    value = torch.tensor(norm, dtype=torch.float64)
    network = Network(value, norm * query, norm * key, 0.0, x, y, 0.0)
    for at in varied.tolist():
        if name == "query_key":
            changed = replace(network, w_query=at * query, w_key=at * key)
        elif name == "value":
            changed = replace(network, w_value=torch.tensor(at, dtype=torch.float64))
        else:
            changed = replace(network, sink_bias=at)
        yield replace(changed, varied=at)


def varied_in(config: Config, name: str, points: int) -> np.ndarray:
    """The values of a sweep: norms, evenly spaced in logarithms, or biases, evenly spaced."""
    if name in ("query_key", "value"):
        return np.geomspace(config.smallest_norm, config.largest_norm, points)
    return np.linspace(0.0, config.largest_sink_bias, points)


def _own_sweep(config: Config, name: str, samples: xr.Dataset) -> Iterator[Network]:
    return sweep(config, name, arrays_of(samples), varied_in(config, name, config.points))


POINTS, NUMBERS, DRAWS = "sweep point", "sweep numerical_point", "sweep draw draw_point"
VARIABLES: Variables = {
    "sweep": Variable("sweep", "what is varied, the others being held"),
    "point": Variable("point", "number of the point of the sweep"),
    "numerical_point": Variable("numerical_point", "points with numerical eigenvalues"),
    "dense_point": Variable("dense_point", "points with all numerical eigenvalues"),
    "draw": Variable("draw", "number of the draw of directions, sequences and targets"),
    "draw_point": Variable("draw_point", "number of the point of a draw's sweep"),
    "key_dimension": Variable("", "d_K"),
    "massive_activation": Variable("", "factor of the first token in the sweep massive_sink"),
    "small_norm": Variable("", "end of the smaller one of two ranges of norms"),
    "varied": Variable(POINTS, "norm, or bias of the sink"),
    "attention": Variable(POINTS, "mean attention on the first token"),
    "exact": Variable(f"{POINTS} rank", "distinct eigenvalues by the closed form, ascending"),
    "kind": Variable(f"{POINTS} rank", "outlier or bulk"),
    "multiplicity": Variable(f"{POINTS} rank", "how often the eigenvalue occurs"),
    "trace": Variable(POINTS, "trace by the closed form"),
    "zeta": Variable(POINTS, "ζ"),
    "lower": Variable(POINTS, "lower bound on all outliers"),
    "upper": Variable(POINTS, "upper bound on all outliers"),
    "largest_lower": Variable(POINTS, "lower bound on the largest eigenvalue"),
    "largest_upper": Variable(POINTS, "upper bound on the largest eigenvalue"),
    "condition_number": Variable(POINTS, "condition number, infinite for a singular Hessian"),
    "condition_bound": Variable(POINTS, "lower bound on the condition number"),
    "draw_varied": Variable("sweep draw_point", "norm, or bias of the sink"),
    "draw_bulk": Variable(DRAWS, "|γ|"),
    "draw_largest": Variable(DRAWS, "largest eigenvalue by the closed form"),
    "draw_moment_1": Variable(DRAWS, "norm of the first moments m_1"),
    "draw_moment_2": Variable(DRAWS, "norm of the second, central moments m_2"),
    "draw_moment_3": Variable(DRAWS, "norm of the third, central moments m_3"),
    "draw_condition_number": Variable(DRAWS, "condition number"),
    "draw_condition_bound": Variable(DRAWS, "lower bound on the condition number"),
    "numerical": Variable(f"{NUMBERS} numerical_rank", "distinct eigenvalues of the Hessian"),
    "repeated": Variable(f"{NUMBERS} numerical_rank", "whether the eigenvalue repeats"),
    "residual": Variable(NUMBERS, "residual of the eigenpairs"),
    "numerical_condition_number": Variable(NUMBERS, "condition number of the Hessian"),
    "dense": Variable("sweep dense_point dense_rank", "all eigenvalues of the Hessian, ascending"),
}


def closed_form(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """Theorem 3.5 and the bounds at each point of each sweep, and of each sweep of the draws."""
    settings = ("key_dimension", "massive_activation", "small_norm")
    points = [
        {"sweep": np.array(name), "point": np.array(point)} | _exact(network)
        for name in SWEEPS
        for point, network in enumerate(_own_sweep(config, name, samples))
    ]
    draws = [part for name in SWEEPS for part in _draws(config, name, samples["x"].shape)]
    parts = [
        data_set({name: getattr(config, name) for name in settings}, VARIABLES),
        assembled(points, VARIABLES, POINTS.split()),
        assembled(draws, VARIABLES, DRAWS.split()),
    ]
    return joined(parts)


def _draws(config: Config, name: str, shape: tuple[int, ...]) -> Iterator[Arrays]:
    """One sweep of other networks, on sequences and targets of normal numbers of that shape."""
    varied = varied_in(config, name, config.draw_points)
    if name in ("query_key", "value") and varied[0] < config.small_norm < varied[-1]:
        varied = np.union1d(varied, [config.small_norm])
    for draw in range(config.draws):
        numbers = generator(config.seed, f"sequences of draw {draw}")
        tokens = torch.randn(2, *shape, generator=numbers, dtype=torch.float64).numpy()
        data = dict(zip("xy", tokens, strict=True))
        networks = sweep(config, name, data, varied, f"weights of draw {draw}")
        for point, network in enumerate(networks):
            labels = dict(zip(DRAWS.split(), map(np.array, (name, draw, point)), strict=True))
            yield labels | _summary(network)


def _summary(network: Network) -> Arrays:
    """Bulk, largest eigenvalue and condition of one network, by the closed form."""
    query, key = network.w_query, network.w_key
    bias = network.score_bias
    coefficients = cf.attention_coefficients(
        network.w_value, query, key, network.x, network.y, score_bias=bias
    )
    moments = cf.attention_moments(query, key, network.x, score_bias=bias)
    norms = {f"draw_moment_{order}": m.norm().numpy() for order, m in enumerate(moments, 1)}
    values = cf.attention_spectrum(coefficients, query, key).values.numpy()
    return norms | {
        "draw_varied": np.array(network.varied),
        "draw_bulk": coefficients.gamma.abs().numpy(),
        "draw_largest": np.array(values.max()),
        "draw_condition_number": _condition_number(values),
        "draw_condition_bound": cf.condition_number_bound(coefficients, query, key).numpy(),
    }


def _exact(network: Network) -> Arrays:
    """The closed form of one network."""
    query, key = network.w_query, network.w_key
    arguments = (network.w_value, query, key, network.x, network.y)
    spectrum = cf.self_attention(*arguments, score_bias=network.score_bias)
    coefficients = cf.attention_coefficients(*arguments, score_bias=network.score_bias)
    outer = cf.attention_outlier_bounds(coefficients, query, key)
    largest = cf.attention_largest_eigenvalue_bounds(coefficients, query, key)
    return _distinct(spectrum) | {
        "varied": np.array(network.varied),
        "attention": network.layer().attention(network.x)[..., 0].mean().detach().numpy(),
        "trace": (coefficients.alpha + coefficients.zeta * (query @ query + key @ key)).numpy(),
        "zeta": coefficients.zeta.numpy(),
        "lower": outer.lower.numpy(),
        "upper": outer.upper.numpy(),
        "largest_lower": largest.lower.numpy(),
        "largest_upper": largest.upper.numpy(),
        "condition_number": _condition_number(spectrum.values.numpy()),
        "condition_bound": cf.condition_number_bound(coefficients, query, key).numpy(),
    }


def _distinct(spectrum: Spectrum) -> Arrays:
    """A closed form's eigenvalues, each once, and how often it occurs."""
    once = replace(spectrum, multiplicities=[1] * len(spectrum.kinds)).arrays()
    often = dict(zip(spectrum.kinds, spectrum.multiplicities, strict=True))
    number = np.array([often[kind] for kind in once["kind"].tolist()])
    return {"exact": once["eigenvalues"], "kind": once["kind"], "multiplicity": number}


def _condition_number(eigenvalues: np.ndarray) -> np.ndarray:
    sizes = np.abs(eigenvalues)
    # Beyond the quotient of the largest and the smallest float64 there is none.
    with np.errstate(over="ignore", divide="ignore"):
        return np.array(sizes.max() / sizes.min())


def numerics(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """The eigenvalues of the automatically differentiated Hessian at some points of each sweep.

    The bulk are the eigenvalues that repeat, as in the paper.
    """
    index = _spread(np.arange(config.points), config.numeric_points)
    dense_index = _spread(index, config.dense_points)
    sweeps = {name: [*_own_sweep(config, name, samples)] for name in SWEEPS}
    parts = [
        {"sweep": np.array(name), "numerical_point": np.array(point)}
        | _numbers(swept[point], config.seed)
        for name, swept in sweeps.items()
        for point in index
    ]
    dense = [
        torch.linalg.eigvalsh(cv.dense_matrix(_hessian(swept[point]))).numpy()
        for swept in sweeps.values()
        for point in dense_index
    ]
    shape = len(SWEEPS), config.dense_points, 2 * config.key_dimension + 1
    arrays = {"sweep": SWEEPS, "dense_point": dense_index, "dense": np.reshape(dense, shape)}
    return joined([assembled(parts, VARIABLES, NUMBERS.split()), data_set(arrays, VARIABLES)])


def _numbers(network: Network, seed: int) -> Arrays:
    """The distinct eigenvalues of one Hessian, and which of them repeat."""
    eigenvalues = cv.distinct_eigenvalues(_hessian(network), seed=seed)
    return {
        "numerical": eigenvalues.values.numpy(),
        "repeated": eigenvalues.repeated.numpy(),
        "residual": np.array(eigenvalues.residual),
        "numerical_condition_number": _condition_number(eigenvalues.values.numpy()),
    }


def _spread(index: np.ndarray, count: int) -> np.ndarray:
    """``count`` of the entries, evenly spread, the first and the last included."""
    return index[np.linspace(0, len(index) - 1, count).round().astype(int)]


def _hessian(network: Network) -> cv.SymmetricOperator:
    problem = cv.Problem(network.layer(), HalfSquaredError("element"), [(network.x, network.y)])
    return cv.hessian(problem)

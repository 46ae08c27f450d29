"""Attention sinks and the spectrum of self-attention with vector tokens."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from hessian_papers.constraints import Ascending, AtLeast, Between, Constraint, Count, Each
from hessian_papers.data.base import VECTOR_TOKENS, Form
from hessian_papers.labelled import Variable, Variables, data_set
from hessian_papers.studies.base import DataStudyConfig
from hessian_papers.studies.training import require_dense
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.models import HalfSquaredError, VectorSelfAttention
from hessian_spectra.seeding import generator
from hessian_spectra.spectrum import Spectrum
from hessian_spectra.validation import require

# Eigenvalues closer than this share of the largest are the same; round-off is below 1e-14.
SAME = 1e-11
# Of the largest eigenvalues of draws it is known to this share which of two is larger.
DECIDED = 1e-2
# Outside, eigenvalues that differ in exact numbers are equal in float64: the attention is uniform,
# or each token's is on a single one, and the bulk is lost beside the rest.
ValueNorm = Between(0.01, 100.0, "a number from 0.01 to 100")
QueryKeyNorm = Between(0.01, 20.0, "a number from 0.01 to 20")
Pairs = Each(
    "one pair of norms or more, of W_V from 0.01 to 100 and of W_Q and W_K from 0.01 to 20",
    lambda pair: len(pair) == 2 and ValueNorm.fits(pair[0]) and QueryKeyNorm.fits(pair[1]),
)
Biases = Each("at least two finite numbers, ascending", math.isfinite, least=2)


@dataclass(frozen=True, kw_only=True)
class Config(DataStudyConfig):
    """Settings of the attention-sinks study.

    Args:
        key_dimension: d_K, the number of columns of W_Q and W_K.
        value_norm: Frobenius norm of W_V.
        query_key_norm: Frobenius norm of each of W_Q and W_K.
        sink_biases: the biases on the first token's scores with a numerical spectrum, ascending.
        points: number of biases, from the first of these to the last, with a closed form.
        outlier_share: the share of the eigenvalues that do not repeat which is shown, the largest.
        replicates: how many other networks are shown, each with other weights and with another
            token of the sequences as the first.
        draws: how many networks are looked at without and with the largest sink, each with weights,
            sequences and targets of its own.
        draw_norms: the Frobenius norms of W_V, and of W_Q and W_K, at each of which that is done.
    """

    takes = VECTOR_TOKENS

    key_dimension: Count
    value_norm: Annotated[float, ValueNorm]
    query_key_norm: Annotated[float, QueryKeyNorm]
    sink_biases: Annotated[list[float], Biases, Ascending(Biases.expected)]
    points: Annotated[int, AtLeast(2)]
    outlier_share: Annotated[float, Constraint("a share in (0, 1]", lambda share: 0 < share <= 1)]
    replicates: Count
    draws: Count
    draw_norms: Annotated[list[list[float]], Pairs]

    def __post_init__(self) -> None:
        super().__post_init__()
        apart = len({query_key for _, query_key in self.draw_norms}) == len(self.draw_norms)
        expected = "pairs that differ in the norm of W_Q and W_K"
        require(apart, "draw_norms", expected, self.draw_norms)

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest of the biases."""
        return self.sink_biases[0], self.sink_biases[-1]

    def require_data(self, form: Form) -> None:
        """Refuse other data than vectors, and those with which no eigenvalue would repeat."""
        super().require_data(form)
        # Each value of the bulk occurs d_K − 2 d + 1 times.
        least = 2 * form.shape[2] + 1
        expected = f"at least 2 d + 1 = {least} for a bulk"
        require(self.key_dimension >= least, "key_dimension", expected, self.key_dimension)
        require_dense(form.shape[2] * (form.shape[2] + 2 * self.key_dimension), "key_dimension")


@dataclass(frozen=True)
class Network:
    """Weights, and the data that they see.

    Args:
        W_value: ``(d, d)``.
        W_query: ``(d, d_K)``.
        W_key: ``(d, d_K)``.
        x: ``(batch, length, d)``.
        y: ``(batch, length, d)``.
    """

    W_value: Tensor
    W_query: Tensor
    W_key: Tensor
    x: Tensor
    y: Tensor

    def layer(self, sink_bias: float) -> VectorSelfAttention:
        """The network as a module, with a sink."""
        return VectorSelfAttention(self.W_value, self.W_query, self.W_key, sink_bias)

    def attention(self, sink_biases: Sequence[float]) -> np.ndarray:
        """The mean attention on the first token, ``(s,)``."""
        attention = (self.layer(bias).attention(self.x).detach() for bias in sink_biases)
        return np.array([float(on_all[..., 0].mean()) for on_all in attention])

    def spectrum(self, sink_bias: float) -> Spectrum:
        """The bulk by the closed form."""
        bias = torch.zeros(self.x.shape[1], dtype=torch.float64)
        bias[0] = sink_bias
        weights = self.W_value, self.W_query, self.W_key
        return cf.vector_attention_bulk(*weights, self.x, self.y, score_bias=bias)

    def bulk(self, sink_biases: Sequence[float]) -> np.ndarray:
        """The distinct eigenvalues of the bulk, ascending, ``(s, 2 d)``."""
        spectra = map(self.spectrum, sink_biases)
        return np.array([np.sort(spectrum.values.numpy()) for spectrum in spectra])

    def hessian(
        self, sink_bias: float, check: Literal["once", False] = "once"
    ) -> cv.SymmetricOperator:
        """The Hessian of half the squared error, averaged over all entries.

        Args:
            sink_bias: added to the scores of the first token.
            check: whether it checks itself, see :func:`hessian_spectra.curvature.hessian`.
        """
        problem = cv.Problem(self.layer(sink_bias), HalfSquaredError("element"), [(self.x, self.y)])
        return cv.hessian(problem, check=check)


def networks_of(config: Config, data: xr.Dataset) -> Iterator[Network]:
    """The network of the figure and its replicates; replicate ``k`` has token ``k + 1`` first."""
    key_dimension = config.key_dimension
    for replicate in range(config.replicates + 1):
        purpose = "weights" if replicate == 0 else f"weights of replicate {replicate}"
        numbers = generator(config.seed, purpose)
        # Attention does not see the order of the tokens: rolled, another one becomes the sink.
        x, y = (
            torch.from_numpy(np.roll(data[name].values, -replicate, axis=1).copy())
            for name in ("x", "y")
        )
        yield _drawn(key_dimension, (config.value_norm, config.query_key_norm), numbers, x, y)


def _drawn(
    key_dimension: int, norms: Sequence[float], numbers: torch.Generator, x: Tensor, y: Tensor
) -> Network:
    """A network with normal weights of given norms, of W_V and of W_Q and W_K."""
    d, (value, query_key) = x.shape[2], norms
    weights = []
    for columns, norm in ((d, value), (key_dimension, query_key), (key_dimension, query_key)):
        draw = torch.randn(d, columns, generator=numbers, dtype=torch.float64)
        weights.append(norm * draw / draw.norm())
    return Network(weights[0], weights[1], weights[2], x, y)


def draws_of(config: Config, shape: tuple[int, ...]) -> Iterator[list[Network]]:
    """The draws at each pair of norms, on sequences and targets of normal numbers of that shape."""
    for norms in config.draw_norms:
        draws = []
        for number in range(config.draws):
            numbers = generator(config.seed, f"draw {number}")
            x, y = torch.randn(2, *shape, generator=numbers, dtype=torch.float64)
            draws.append(_drawn(config.key_dimension, norms, numbers, x, y))
        yield draws


VARIABLES: Variables = {
    "bias": Variable("bias", "bias on the first token's scores, with a closed form alone"),
    "sink_bias": Variable("sink_bias", "bias on the first token's scores, with numbers as well"),
    "query_key_norm": Variable("query_key_norm", "norm of W_Q and of W_K of the draws"),
    "value_norm": Variable("query_key_norm", "norm of W_V of the draws"),
    "sink": Variable("sink", "which of the biases: none, or the largest"),
    "outlier_share": Variable("", "share of the eigenvalues that do not repeat which is shown"),
    "copies": Variable("", "how often each value of the bulk occurs, by the closed form"),
    "attention": Variable("bias", "mean attention on the first token"),
    "bulk": Variable("bias bulk_rank", "distinct values of the bulk by the closed form, ascending"),
    "sink_attention": Variable("sink_bias", "mean attention on the first token"),
    "sink_bulk": Variable("sink_bias bulk_rank", "as bulk, at the biases with numbers"),
    "replicate_attention": Variable("replicate sink_bias", "mean attention on the first token"),
    "replicate_bulk": Variable("replicate sink_bias", "mean magnitude of the bulk, closed form"),
    "draw_bulk": Variable("query_key_norm draw sink", "mean magnitude of the bulk, closed form"),
    "numerical": Variable("sink_bias rank", "eigenvalues of the loss's Hessian, ascending"),
    "first_of_equals": Variable("sink_bias rank", "whether it is the first of its equals"),
    "equals": Variable("sink_bias rank", "how many equals it has, itself included"),
    "replicate_largest": Variable("replicate sink_bias", "largest eigenvalue of the Hessian"),
    "replicate_residual": Variable("replicate sink_bias", "residual of the largest eigenvalue"),
    "draw_largest": Variable("query_key_norm draw sink", "largest eigenvalue of the Hessian"),
    "draw_residual": Variable("query_key_norm draw sink", "residual of the largest eigenvalue"),
}


def _settings(config: Config) -> Arrays:
    """The labels that both sides have."""
    value, query_key = np.array(config.draw_norms, dtype=float).T
    return {
        "sink_bias": np.array(config.sink_biases),
        "sink": np.array(["none", "largest"]),
        "query_key_norm": query_key,
        "value_norm": value,
    }


def closed_form(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """The eigenvalues that repeat: an extension of Theorem 3.5, see ``vector_attention_bulk``."""
    first, *replicates = networks_of(config, samples)
    chosen, biases = config.sink_biases, np.linspace(*config.ends, config.points)
    draws = draws_of(config, samples["x"].shape)
    arrays = {
        "bias": biases,
        "attention": first.attention(biases.tolist()),
        "bulk": first.bulk(biases.tolist()),
        "copies": first.spectrum(0.0).multiplicities[0],
        "sink_bulk": first.bulk(chosen),
        "replicate_attention": [network.attention(chosen) for network in replicates],
        "replicate_bulk": [_magnitude(network, chosen) for network in replicates],
        "draw_bulk": [
            [_magnitude(network, config.ends) for network in of_norm] for of_norm in draws
        ],
    }
    return data_set(_settings(config) | arrays, VARIABLES)


def _magnitude(network: Network, sink_biases: Sequence[float]) -> np.ndarray:
    """The mean magnitude of the bulk for each sink, ``(s,)``."""
    return np.asarray(np.abs(network.bulk(sink_biases)).mean(axis=1))


def numerics(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """The whole spectrum for each sink, and the largest eigenvalue of replicates and draws."""
    first, *replicates = networks_of(config, samples)
    biases = config.sink_biases
    eigenvalues = np.array(
        [torch.linalg.eigvalsh(cv.dense_matrix(first.hessian(bias))).numpy() for bias in biases]
    )
    first_of_equals = _first_of_equals(eigenvalues)
    tops = np.array([_tops(network, biases, 1e-8) for network in replicates])
    drawn = draws_of(config, samples["x"].shape)
    draws = np.array(
        [
            [_tops(network, config.ends, DECIDED, check=False) for network in of_norm]
            for of_norm in drawn
        ]
    )
    arrays = {
        "outlier_share": config.outlier_share,
        "sink_attention": first.attention(biases),
        "numerical": eigenvalues,
        "first_of_equals": first_of_equals,
        "equals": [_copies(row) for row in first_of_equals],
        "replicate_largest": tops[..., 0],
        "replicate_residual": tops[..., 1],
        "draw_largest": draws[..., 0],
        "draw_residual": draws[..., 1],
    }
    return data_set(_settings(config) | arrays, VARIABLES)


def _tops(
    network: Network,
    biases: Sequence[float],
    tolerance: float,
    check: Literal["once", False] = "once",
) -> list[tuple[float, float]]:
    """The largest eigenvalue for each sink, and its residual."""
    operators = [network.hessian(bias, check) for bias in biases]
    pairs = [cv.top_eigenpairs(operator, k=1, tol=tolerance) for operator in operators]
    return [(float(top.eigenvalues[0]), _residual(top)) for top in pairs]


def _first_of_equals(spectra: np.ndarray) -> np.ndarray:
    """Which eigenvalues of ascending spectra ``(n, p)`` are larger than the one before."""
    largest = np.abs(spectra).max(axis=-1, keepdims=True)
    return np.diff(spectra, axis=-1, prepend=-np.inf) > SAME * largest


def _copies(first: np.ndarray) -> np.ndarray:
    """The multiplicity of each eigenvalue of a spectrum, itself included, ``(p,)``."""
    group = np.cumsum(first) - 1
    return np.bincount(group)[group]


def _residual(spectrum: Spectrum) -> float:
    assert spectrum.residuals is not None
    return float(spectrum.residuals[0])

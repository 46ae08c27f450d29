"""Attention sinks and the spectrum of self-attention with vector tokens."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
import torch
from torch import Tensor

from hessian_papers.constraints import AtLeast, Count
from hessian_papers.data.base import VECTOR_TOKENS, Form
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
    value_norm: float
    query_key_norm: float
    sink_biases: list[float]
    points: Annotated[int, AtLeast(2)]
    outlier_share: float
    replicates: Count
    draws: Count
    draw_norms: list[list[float]]

    def __post_init__(self) -> None:
        super().__post_init__()
        pairs = all(len(pair) == 2 for pair in self.draw_norms)
        expected = "one pair of norms or more, of W_V and of W_Q and W_K"
        require(pairs and len(self.draw_norms) > 0, "draw_norms", expected, self.draw_norms)
        own = self.value_norm, self.query_key_norm
        # Outside, eigenvalues that differ in exact numbers are equal in float64: the attention is
        # uniform, or each token's is on a single one, and the bulk is lost beside the rest.
        for norms, fields in (
            (own, ("value_norm", "query_key_norm")),
            *((pair, ("draw_norms", "draw_norms")) for pair in self.draw_norms),
        ):
            for norm, field, most in zip(norms, fields, (100, 20), strict=True):
                require(0.01 <= norm <= most, field, f"a number from 0.01 to {most}", norm)
        biases = list(self.sink_biases)
        ascending = len(biases) >= 2 and all(a < b for a, b in pairwise(biases))
        fits = ascending and all(map(math.isfinite, biases))
        require(fits, "sink_biases", "at least two finite numbers, ascending", biases)
        fits = 0 < self.outlier_share <= 1
        require(fits, "outlier_share", "a share in (0, 1]", self.outlier_share)

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

    def attention(self, sink_bias: float) -> float:
        """The mean attention on the first token."""
        return float(self.layer(sink_bias).attention(self.x)[..., 0].detach().mean())

    def bulk(self, sink_bias: float) -> Tensor:
        """The distinct eigenvalues of the bulk, ascending."""
        bias = torch.zeros(self.x.shape[1], dtype=torch.float64)
        bias[0] = sink_bias
        weights = self.W_value, self.W_query, self.W_key
        spectrum = cf.vector_attention_bulk(*weights, self.x, self.y, score_bias=bias)
        return spectrum.values.sort().values

    def copies(self) -> int:
        """How often each of them occurs."""
        weights = self.W_value, self.W_query, self.W_key
        return cf.vector_attention_bulk(*weights, self.x, self.y).multiplicities[0]

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


def networks_of(config: Config, data: Arrays) -> Iterator[Network]:
    """The network of the figure and its replicates; replicate ``k`` has token ``k + 1`` first.

    Raises:
        ValueError: the tokens of the data set are not vectors, or no eigenvalue would repeat.
    """
    if data["x"].ndim != 3:
        raise ValueError(
            f"data: expected sequences of vectors (batch, length, d), got {data['x'].shape}"
        )
    config.require_data(Form(VECTOR_TOKENS, data["x"].shape))
    key_dimension = config.key_dimension
    for replicate in range(config.replicates + 1):
        purpose = "weights" if replicate == 0 else f"weights of replicate {replicate}"
        numbers = generator(config.seed, purpose)
        # Attention does not see the order of the tokens: rolled, another one becomes the sink.
        x, y = (
            torch.from_numpy(np.roll(data[name], -replicate, axis=1).copy()) for name in ("x", "y")
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


def closed_form(config: Config, networks: Arrays) -> Arrays:
    """The eigenvalues that repeat: an extension of Theorem 3.5, see ``vector_attention_bulk``.

    Returns:
        ``bias`` and ``attention`` (s,), the mean attention on the first token; ``bulk`` (s, 2 d),
        the distinct eigenvalues of the bulk, ascending; ``copies``, how often each occurs;
        ``numeric_bulk`` (n, 2 d) at the biases with a numerical spectrum; ``replicate_attention``
        and ``replicate_bulk`` (k, n), the latter the mean magnitude of the bulk; ``draw_norms``
        (m, 2) and ``draw_bulk`` (m, N, 2), the same without and with the largest sink.
    """
    first, *replicates = networks_of(config, networks)
    biases = np.linspace(config.sink_biases[0], config.sink_biases[-1], config.points)

    def bulk(network: Network, chosen: list[float]) -> np.ndarray:
        return torch.stack([network.bulk(bias) for bias in chosen]).numpy()

    chosen = list(config.sink_biases)
    return {
        "bias": biases,
        "attention": np.array([first.attention(bias) for bias in biases.tolist()]),
        "bulk": bulk(first, biases.tolist()),
        "copies": np.array(first.copies()),
        "numeric_bulk": bulk(first, chosen),
        "replicate_attention": np.array(
            [[network.attention(bias) for bias in chosen] for network in replicates]
        ),
        "replicate_bulk": np.array(
            [np.abs(bulk(network, chosen)).mean(axis=1) for network in replicates]
        ),
        "draw_norms": np.array(config.draw_norms, dtype=float),
        "draw_bulk": np.array(
            [
                [np.abs(bulk(network, [chosen[0], chosen[-1]])).mean(axis=1) for network in draws]
                for draws in draws_of(config, networks["x"].shape)
            ]
        ),
    }


def numerics(config: Config, networks: Arrays) -> Arrays:
    """The whole spectrum for each sink, and the largest eigenvalue of each replicate.

    Returns:
        ``bias`` and ``attention`` (n,); ``eigenvalues`` (n, p), ascending; ``first`` (n, p),
        whether each is the first of its equals, and ``copies`` (n, p), how many these are;
        ``outlier_share``; ``replicate_largest`` (k, n), ``replicate_residual`` (k, n), and
        ``draw_largest``, ``draw_residual`` (m, N, 2) of the draws, without and with the largest
        sink.
    """
    first, *replicates = networks_of(config, networks)
    biases = list(config.sink_biases)
    eigenvalues = np.array(
        [torch.linalg.eigvalsh(cv.dense_matrix(first.hessian(bias))).numpy() for bias in biases]
    )
    first_of_equals = _first_of_equals(eigenvalues)
    tops = np.array([_tops(network, biases, 1e-8) for network in replicates])
    ends = [biases[0], biases[-1]]
    drawn = np.array(
        [
            [_tops(network, ends, DECIDED, check=False) for network in draws]
            for draws in draws_of(config, networks["x"].shape)
        ]
    )
    return {
        "bias": np.array(biases),
        "attention": np.array([first.attention(bias) for bias in biases]),
        "eigenvalues": eigenvalues,
        "first": first_of_equals,
        "copies": np.array([_copies(row) for row in first_of_equals]),
        "outlier_share": np.array(config.outlier_share),
        "replicate_largest": tops[..., 0],
        "replicate_residual": tops[..., 1],
        "draw_largest": drawn[..., 0],
        "draw_residual": drawn[..., 1],
    }


def _tops(
    network: Network, biases: list[float], tolerance: float, check: Literal["once", False] = "once"
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
    """How many equals each eigenvalue of a spectrum has, itself included, ``(p,)``."""
    group = np.cumsum(first) - 1
    return np.bincount(group)[group]


def _residual(spectrum: Spectrum) -> float:
    assert spectrum.residuals is not None
    return float(spectrum.residuals[0])

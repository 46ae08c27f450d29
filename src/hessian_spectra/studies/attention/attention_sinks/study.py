"""Attention sinks and the spectrum of self-attention with vector tokens."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.data.base import VECTOR_TOKENS, Form
from hessian_spectra.models import HalfSquaredError, VectorSelfAttention
from hessian_spectra.results import Arrays
from hessian_spectra.seeding import generator
from hessian_spectra.spectrum import Spectrum
from hessian_spectra.studies.base import DataStudyConfig
from hessian_spectra.studies.training import require_dense
from hessian_spectra.validation import require, require_at_least

# Eigenvalues closer than this share of the largest are the same; round-off is below 1e-14.
SAME = 1e-11


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
        replicates: how many other networks are looked at, each with other weights and with another
            token of the sequences as the first.
    """

    takes = VECTOR_TOKENS

    key_dimension: int
    value_norm: float
    query_key_norm: float
    sink_biases: list[float]
    points: int
    outlier_share: float
    replicates: int

    def __post_init__(self) -> None:
        require_at_least(1, self, "key_dimension", "replicates")
        require_at_least(2, self, "points")
        # Outside, eigenvalues that differ in exact numbers are equal in float64: the attention is
        # uniform, or each token's is on a single one, and the bulk is lost beside the rest.
        for field, most in (("value_norm", 100), ("query_key_norm", 20)):
            norm = getattr(self, field)
            require(0.01 <= norm <= most, field, f"a number from 0.01 to {most}", norm)
        biases = list(self.sink_biases)
        require(
            len(biases) >= 2
            and all(math.isfinite(bias) for bias in biases)
            and all(a < b for a, b in pairwise(biases)),
            "sink_biases",
            "at least two finite numbers, ascending",
            biases,
        )
        require(
            0 < self.outlier_share <= 1, "outlier_share", "a share in (0, 1]", self.outlier_share
        )

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

    def hessian(self, sink_bias: float) -> cv.SymmetricOperator:
        """The Hessian of half the squared error, averaged over all entries."""
        problem = cv.Problem(self.layer(sink_bias), HalfSquaredError("element"), [(self.x, self.y)])
        return cv.hessian(problem)


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
    d, key_dimension = data["x"].shape[2], config.key_dimension
    for replicate in range(config.replicates + 1):
        purpose = "weights" if replicate == 0 else f"weights of replicate {replicate}"
        draws = generator(config.seed, purpose)
        weights = []
        for columns, norm in (
            (d, config.value_norm),
            (key_dimension, config.query_key_norm),
            (key_dimension, config.query_key_norm),
        ):
            draw = torch.randn(d, columns, generator=draws, dtype=torch.float64)
            weights.append(norm * draw / draw.norm())
        # Attention does not see the order of the tokens: rolled, another one becomes the sink.
        x, y = (
            torch.from_numpy(np.roll(data[name], -replicate, axis=1).copy()) for name in ("x", "y")
        )
        value, query, key = weights
        yield Network(value, query, key, x, y)


def closed_form(config: Config, networks: Arrays) -> Arrays:
    """The eigenvalues that repeat: an extension of Theorem 3.5, see ``vector_attention_bulk``.

    Returns:
        ``bias`` and ``attention`` (s,), the mean attention on the first token; ``bulk`` (s, 2 d),
        the distinct eigenvalues of the bulk, ascending; ``copies``, how often each occurs;
        ``numeric_bulk`` (n, 2 d) at the biases with a numerical spectrum; ``replicate_attention``
        and ``replicate_bulk`` (k, n), the latter the mean magnitude of the bulk.
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
    }


def numerics(config: Config, networks: Arrays) -> Arrays:
    """The whole spectrum for each sink, and the largest eigenvalue of each replicate.

    Returns:
        ``bias`` and ``attention`` (n,); ``eigenvalues`` (n, p), ascending; ``first`` (n, p),
        whether each is the first of its equals, and ``copies`` (n, p), how many these are;
        ``outlier_share``; ``replicate_largest`` (k, n), ``replicate_residual`` (k, n).
    """
    first, *replicates = networks_of(config, networks)
    biases = list(config.sink_biases)
    eigenvalues = np.array(
        [torch.linalg.eigvalsh(cv.dense_matrix(first.hessian(bias))).numpy() for bias in biases]
    )
    first_of_equals = _first_of_equals(eigenvalues)
    tops = [
        [cv.top_eigenpairs(network.hessian(bias), k=1, tol=1e-8) for bias in biases]
        for network in replicates
    ]
    return {
        "bias": np.array(biases),
        "attention": np.array([first.attention(bias) for bias in biases]),
        "eigenvalues": eigenvalues,
        "first": first_of_equals,
        "copies": np.array([_copies(row) for row in first_of_equals]),
        "outlier_share": np.array(config.outlier_share),
        "replicate_largest": np.array([[float(top.eigenvalues[0]) for top in row] for row in tops]),
        "replicate_residual": np.array([[_residual(top) for top in row] for row in tops]),
    }


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

"""Sequences of standard normal tokens for the self-attention layers."""

from dataclasses import dataclass
from typing import Annotated

import xarray as xr

from hessian_papers.constraints import Count, OneOf
from hessian_papers.data.base import (
    OFFLINE,
    SCALAR_TOKENS,
    VECTOR_TOKENS,
    DataConfig,
    Form,
    Storage,
)
from hessian_papers.data.tools.draws import gaussian
from hessian_papers.data.tools.pairs import SEQUENCES, VECTOR_SEQUENCES
from hessian_papers.labelled import data_set

TARGETS = ("gaussian", "reversal")


@dataclass(frozen=True, kw_only=True)
class Config(DataConfig):
    """Settings of the sequences.

    Args:
        batch: number of sequences.
        length: tokens in a sequence.
        embedding_dimension: entries of a token; 1 gives scalar tokens without an axis of their own.
        target: ``gaussian`` for standard normal targets, ``reversal`` for the sequence backwards.
    """

    batch: Count
    length: Count
    embedding_dimension: Count
    target: Annotated[str, OneOf(tuple(TARGETS))]

    @property
    def form(self) -> Form:
        """Numbers or vectors as tokens."""
        if self.embedding_dimension == 1:
            return Form(SCALAR_TOKENS, (self.batch, self.length))
        return Form(VECTOR_TOKENS, (self.batch, self.length, self.embedding_dimension))


def make(config: Config, storage: Storage = OFFLINE) -> xr.Dataset:
    """Sequences of independent standard normal tokens, and their targets.

    Returns:
        ``x`` and ``y``, both ``(batch, length)``, or ``(batch, length, embedding_dimension)`` if
        that is more than 1.

    Source: singh2026cracking, appendix D.1.1 (Figures 2 and 9: batch and length 10) and D.2
    (Figure 27: reversal of sequences of length 2). The print does not say how inputs and targets
    of Figures 2 and 9 are distributed; standard normal is our choice.

    Example:
        >>> config = Config(kind="sequences", seed=0, batch=3, length=2, embedding_dimension=1,
        ...                 target="reversal")
        >>> data = make(config)
        >>> bool((data["y"] == data["x"][:, ::-1]).all())
        True
    """
    shape, variables = [config.batch, config.length], SEQUENCES
    if config.embedding_dimension > 1:
        shape, variables = [*shape, config.embedding_dimension], VECTOR_SEQUENCES
    x = gaussian(config.seed, "inputs", *shape)
    y = x.flip(1) if config.target == "reversal" else gaussian(config.seed, "targets", *shape)
    return data_set({"x": x.numpy(), "y": y.numpy()}, variables)

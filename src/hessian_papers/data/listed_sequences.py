"""Sequences of scalar tokens that the configuration lists one by one."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from hessian_papers.data.base import OFFLINE, SCALAR_TOKENS, DataConfig, Form, Storage
from hessian_papers.data.tools.pairs import SEQUENCES
from hessian_papers.labelled import data_set
from hessian_spectra.validation import LARGEST_SCALE, SMALLEST_SCALE, require


@dataclass(frozen=True, kw_only=True)
class Config(DataConfig):
    """Settings of the listed sequences; the targets are the sequences backwards.

    Args:
        sequences: the tokens of each sequence, all of one length.
    """

    # Numbers, checked below: a nested list[list[float]] would refuse integers.
    sequences: list[Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        fits = all(isinstance(sequence, list) for sequence in self.sequences)
        require(fits, "sequences", "a list of lists of numbers", self.sequences)
        lengths = {len(sequence) for sequence in self.sequences}
        expected = "at least one sequence, all of one length that is not 0"
        require(len(lengths) == 1 and 0 not in lengths, "sequences", expected, self.sequences)
        fits = all(_is_number(token) for sequence in self.sequences for token in sequence)
        require(fits, "sequences", "finite numbers as tokens", self.sequences)
        largest = max(abs(token) for sequence in self.sequences for token in sequence)
        expected = f"a largest token from {SMALLEST_SCALE:g} to {LARGEST_SCALE:g} in size"
        fits = SMALLEST_SCALE <= largest <= LARGEST_SCALE
        require(fits, "sequences", expected, self.sequences)

    @property
    def form(self) -> Form:
        """Numbers as tokens."""
        return Form(SCALAR_TOKENS, (len(self.sequences), len(self.sequences[0])))


def _is_number(token: Any) -> bool:
    return isinstance(token, int | float) and math.isfinite(token)


VARIABLES = SEQUENCES


def make(config: Config, storage: Storage = OFFLINE) -> xr.Dataset:
    """The listed sequences, to be reversed.

    Returns:
        ``x`` and ``y``, both ``(batch, length)``; ``y`` is ``x`` read backwards.

    Source: singh2026cracking, appendix D.2: the target of (x_1, x_2) is (x_2, x_1).

    Example:
        >>> config = Config(kind="listed_sequences", seed=0, sequences=[[1.0, -0.5]])
        >>> make(config)["y"].values.tolist()
        [[-0.5, 1.0]]
    """
    x = np.array(config.sequences, dtype=np.float64)
    return data_set({"x": x, "y": x[:, ::-1].copy()}, VARIABLES)

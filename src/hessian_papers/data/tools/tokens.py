"""Batches of a text that is a long array of token numbers, in the memory or in a file."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from hessian_spectra.seeding import generator


def opened(tokens: np.ndarray) -> np.ndarray:
    """The tokens of one split of a text, of the array that the data set has for it.

    Args:
        tokens: the tokens themselves ``(N,)``; or, of a text that does not fit into the memory, the
            path of the file of their bytes (a string ``()``), whose ending is their type.

    Returns:
        ``(N,)``, integers; of a file read as they are needed.

    Raises:
        FileNotFoundError: the file is not there; the one line says what makes it anew.

    Example:
        >>> opened(np.array([3, 1, 2], dtype=np.uint16)).tolist()
        [3, 1, 2]
    """
    if tokens.dtype.kind != "U":
        return tokens
    path = Path(str(tokens))
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is missing: python -m pipelines.prepare only=text makes it, with the "
            "data.root and the settings of the text"
        )
    return np.memmap(path, dtype=path.suffix[1:], mode="r")


def batch(tokens: np.ndarray, *, step: int, size: int, length: int, seed: int) -> Tensor:
    """The batch of one training step: sequences from places drawn uniformly, each with its targets.

    It depends on the seed and the step alone, not on what was drawn before: so an interrupted
    training goes on with the batch that it would have had, and networks that differ in all else
    see the same text.

    Args:
        tokens: ``(N,)``, integers, :func:`opened`.
        step: of the training.
        size: sequences in the batch.
        length: tokens that the model sees of each.
        seed: of the draws.

    Returns:
        ``(size, length + 1)``, int64: the inputs are ``[:, :-1]``, the targets ``[:, 1:]``.

    Raises:
        ValueError: the text is shorter than one sequence with its targets.

    Example:
        >>> result = batch(np.arange(9), step=0, size=2, length=3, seed=0)
        >>> result.shape, (result - result[:, :1]).tolist()
        (torch.Size([2, 4]), [[0, 1, 2, 3], [0, 1, 2, 3]])
    """
    places = len(tokens) - length
    if places < 1:
        raise ValueError(
            f"tokens: expected at least {length + 1} for sequences of {length} and their targets, "
            f"got {len(tokens)}; take a longer text or shorter sequences"
        )
    draws = generator(seed, f"batch {step}")
    starts = torch.randint(places, (size, 1), generator=draws).numpy()
    return torch.from_numpy(tokens[starts + np.arange(length + 1)].astype(np.int64))

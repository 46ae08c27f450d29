"""The state of a training between two steps, as it is kept in a file."""

import hashlib
import time
from collections.abc import Callable
from pathlib import Path

from torch import Tensor

from hessian_spectra.files import Arrays, DamagedFileError, read_arrays

# How often the unfinished state is written; and at most this share of the time goes into that.
CHECKPOINT_SECONDS = 30.0
CHECKPOINT_SHARE = 0.05
# The file of the unfinished state in its folder.
STATE = "state.npz"


def read_unfinished(path: Path, digest: str) -> Arrays | None:
    """The arrays of an unfinished training, or ``None`` if there are none.

    Args:
        path: of the file.
        digest: what the training is told by, which stands in the array of that name.

    Raises:
        ValueError: the file is damaged, or that of another training; it is left as it is.
    """
    remedy = "give another folder, or remove the file to train from the start"
    try:
        arrays = read_arrays(path)
    except FileNotFoundError:
        return None
    except DamagedFileError as error:
        expected = "the whole state of an unfinished training, got a damaged file"
        reason = str(error.__cause__).partition("\n")[0]
        raise ValueError(f"{path}: expected {expected} ({reason}); {remedy}") from None
    if str(arrays.get("digest")) != digest:
        expected = "the unfinished state of this training, got that of another configuration"
        raise ValueError(f"{path}: expected {expected}; {remedy}")
    return arrays


class Saver:
    """Writes the unfinished state now and then.

    Args:
        write: writes it, whole or not at all.
    """

    def __init__(self, write: Callable[[], None]) -> None:
        self._write = write
        self._next = time.monotonic() + CHECKPOINT_SECONDS

    def __call__(self) -> None:
        """Write it if it is time to."""
        began = time.monotonic()
        if began < self._next:
            return
        self._write()
        ended = time.monotonic()
        self._next = ended + max(CHECKPOINT_SECONDS, (ended - began) / CHECKPOINT_SHARE)


def tensors_digest(words: str, *tensors: Tensor) -> str:
    """Equal for equal words and tensors, and for nothing else."""
    hasher = hashlib.sha256(words.encode())
    for tensor in tensors:
        hasher.update(f" {tensor.dtype} {tuple(tensor.shape)} ".encode())
        hasher.update(tensor.detach().cpu().contiguous().numpy().data)
    return hasher.hexdigest()

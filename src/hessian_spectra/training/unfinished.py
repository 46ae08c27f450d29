"""The state of a training between two steps, as it is kept in a file."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from hessian_spectra.results import Arrays, DamagedFileError, read_arrays, write_arrays

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


@dataclass
class State:
    """Where a full-batch gradient descent stands.

    Args:
        weights: at present; changed in place.
        losses: ``(epochs + 1,)``, NaN where no epoch has come to yet.
        rates: ``(epochs + 1,)``, the same.
        epoch: the next one to be evaluated.
        rate: the present learning rate.
        halvings: the epochs at which it was lowered.
        kept: the recorded weights so far.
    """

    weights: tuple[Tensor, ...]
    losses: np.ndarray
    rates: np.ndarray
    epoch: int
    rate: float
    halvings: list[int] = field(default_factory=list)
    kept: list[tuple[Tensor, ...]] = field(default_factory=list)

    @classmethod
    def start(cls, weights: Sequence[Tensor], rate: float, epochs: int) -> "State":
        """Before the first epoch, with copies of the weights."""
        return cls(
            weights=tuple(
                weight.detach().clone(memory_format=torch.contiguous_format) for weight in weights
            ),
            losses=np.full(epochs + 1, np.nan),
            rates=np.full(epochs + 1, np.nan),
            epoch=0,
            rate=rate,
        )

    def keep(self) -> None:
        """Record the present weights."""
        self.kept.append(tuple(weight.clone() for weight in self.weights))

    def write(self, path: Path, digest: str) -> None:
        """Write the state of the training that ``digest`` stands for, whole or not at all."""
        arrays: Arrays = {
            "digest": np.array(digest),
            "epoch": np.array(self.epoch),
            "rate": np.array(self.rate),
            "losses": self.losses[: self.epoch],
            "rates": self.rates[: self.epoch],
            "halvings": np.array(self.halvings, dtype=np.int64),
            "kept": np.array(len(self.kept)),
        }
        for layer, weight in enumerate(self.weights):
            arrays[f"weights/{layer}"] = weight.cpu().numpy()
            if self.kept:
                stack = torch.stack([weights[layer] for weights in self.kept])
                arrays[f"kept/{layer}"] = stack.cpu().numpy()
        write_arrays(path, arrays)

    def read(self, path: Path, digest: str) -> bool:
        """Go on from a file, if there is a whole one and it is that of the same training."""
        try:
            arrays = read_unfinished(path, digest)
        except ValueError:
            return False
        if arrays is None:
            return False
        self.epoch, self.rate = int(arrays["epoch"]), float(arrays["rate"])
        self.losses[: self.epoch] = arrays["losses"]
        self.rates[: self.epoch] = arrays["rates"]
        self.halvings = arrays["halvings"].tolist()
        for layer, weight in enumerate(self.weights):
            weight.copy_(torch.from_numpy(arrays[f"weights/{layer}"]))
        self.kept = [
            tuple(
                torch.from_numpy(arrays[f"kept/{layer}"][place]).to(weight)
                for layer, weight in enumerate(self.weights)
            )
            for place in range(int(arrays["kept"]))
        ]
        return True

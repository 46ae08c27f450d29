"""Where a full-batch gradient descent stands between two epochs, as it is kept in a file."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from hessian_spectra.files import Arrays, write_arrays
from hessian_spectra.training import read_unfinished


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
        """The state before the first epoch, with copies of the weights."""
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

"""Language models as they were at steps of their training whose weights are kept."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch import nn

from hessian_spectra.models import gpt2
from hessian_spectra.networks.tools.result import Networks
from hessian_spectra.training.ranks import join


@dataclass(frozen=True, kw_only=True)
class KeptModel:
    """A network at a step of its training, as an item of a computation that fans out holds it.

    Args:
        folder: that of the network.
        step: after how many updates.
        weights: the digest of its weights, by which an item is another one when they are.
        tokens: ``(n, length + 1)`` the sequences that it was measured on.
    """

    folder: str
    step: int
    weights: str
    tokens: np.ndarray

    def load(self) -> nn.Module:
        """The network in ``eval()``, on the device of this process."""
        return gpt2.load(Path(self.folder), str(self.step)).to(join())


def kept_model(networks: Networks, variant: str, seed: int, step: int) -> KeptModel:
    """A network of an ensemble.

    Args:
        networks: the arrays of :mod:`hessian_spectra.networks.gpt2`.
        variant: one of theirs.
        seed: one of theirs.
        step: one of those whose weights are kept.

    Raises:
        FileNotFoundError: the weights are not there.
    """
    variants, seeds = networks["variant"].tolist(), networks["seed"].tolist()
    number = seeds.index(seed)
    folder = networks.folder / str(variants.index(variant) * len(seeds) + number)
    return KeptModel(
        folder=str(folder),
        step=step,
        weights=hashlib.sha256((folder / f"{step}.safetensors").read_bytes()).hexdigest(),
        tokens=networks["measured_tokens"][number],
    )

"""Language models as they were at steps of their training whose weights are kept."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from torch import nn

from hessian_papers.models import gpt2
from hessian_papers.networks.tools.kept_weights import KeptWeights, kept_weights
from hessian_spectra.training import join


@dataclass(frozen=True, kw_only=True)
class KeptModel(KeptWeights):
    """A language model at a step of its training.

    Args:
        tokens: ``(n, length + 1)`` the sequences that it was measured on.
    """

    tokens: np.ndarray

    def load(self) -> nn.Module:
        """The network in ``eval()``, on the device of this process."""
        return gpt2.load(self.path.parent, self.path.stem).to(join())


def kept_model(networks: xr.Dataset, variant: str, seed: int, step: int) -> KeptModel:
    """A network of an ensemble.

    Args:
        networks: those of :mod:`hessian_papers.networks.gpt2`, kept in a folder.
        variant: one of theirs.
        seed: one of theirs.
        step: one of those whose weights are kept.

    Raises:
        FileNotFoundError: the weights are not there.
    """
    place = [("variant", variant), ("seed", seed)]
    return KeptModel(
        **kept_weights(networks, place, f"{step}.safetensors"),
        tokens=networks["measured_tokens"].sel(seed=seed).values,
    )

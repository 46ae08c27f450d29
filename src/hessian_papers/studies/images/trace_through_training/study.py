"""The trace of the Hessian through training, by formula and by random probes (anon2026data, 3)."""

from dataclasses import dataclass

import numpy as np
import torch

from hessian_papers.networks.tools.images import joined, split, training
from hessian_papers.studies.images.curvature import measure_trace, weights_at
from hessian_papers.studies.images.through_training import (
    ThroughTrainingConfig,
    at_each_epoch,
    facts,
    training_items,
)
from hessian_spectra import closed_form as cf
from hessian_spectra.files import Arrays
from hessian_spectra.validation import require


@dataclass(frozen=True, kw_only=True)
class Config(ThroughTrainingConfig):
    """Settings of the study of the trace.

    Args:
        probes: random vectors of Hutchinson's estimate.
    """

    probes: int

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.probes >= 2, "probes", "at least 2, for a standard error", self.probes)


train = training(lambda config, data: training_items(config, data, [config.width]))


def closed_form(config: Config, networks: Arrays) -> Arrays:
    """Equation (7) at each recorded epoch.

    Returns:
        For each network ``<number>/trace`` (t,), and what :func:`facts` says of it.
    """
    entries = []
    for network in split(networks):
        # White inputs: their second moments are a multiple of the identity.
        features = len(network["root"])
        moments = config.input_scale**2 * torch.eye(features, dtype=torch.float64)
        traces = [
            float(cf.deep_linear_trace(weights_at(network, at), moments))
            for at in range(len(network["epoch"]))
        ]
        entries.append(facts(network) | {"trace": np.array(traces)})
    return joined(entries)


numerics = at_each_epoch(
    measure_trace, lambda config: {"probes": config.probes, "seed": config.seed}
)

"""The trace of the Hessian through training, by formula and by random probes (anon2026data, 3)."""

from dataclasses import dataclass

import xarray as xr

from hessian_papers.labelled import Variable, Variables, assembled
from hessian_papers.networks.tools.images import training
from hessian_papers.studies.images import through_training
from hessian_papers.studies.images.curvature import measure_trace
from hessian_papers.studies.images.through_training import (
    AXES,
    ThroughTrainingConfig,
    at_each_epoch,
    at_epochs,
    trace_by_formula,
    training_items,
)
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


VARIABLES: Variables = {
    **through_training.VARIABLES,
    "trace": Variable(" ".join(AXES), "trace of the Hessian by equation (7)"),
    "estimate": Variable(" ".join(AXES), "trace of the Hessian by Hutchinson's method"),
    "standard_error": Variable(" ".join(AXES), "of the estimate"),
}

train = training(lambda config, data: training_items(config, data, [config.width]))


def closed_form(config: Config, networks: xr.Dataset) -> xr.Dataset:
    """Equation (7) at each recorded epoch."""
    parts = [
        facts | {"trace": trace_by_formula(config, weights)}
        for facts, weights in at_epochs(networks)
    ]
    return assembled(parts, VARIABLES, AXES)


numerics = at_each_epoch(
    measure_trace, lambda config: {"probes": config.probes, "seed": config.seed}, VARIABLES
)

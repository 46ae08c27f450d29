"""The top eigenvalues of two-layer networks through training (anon2026data, Figure 4).

Equation (15) takes sums of the squared singular values of both layers. In print their indices end
where the singular values do; the eigenvalues go on with zeros in place of those that are missing.
A narrow network, which has fewer hidden units than outputs, shows the difference.
"""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from hessian_papers.constraints import Count
from hessian_papers.labelled import Variable, Variables, assembled
from hessian_papers.networks.tools.images import training
from hessian_papers.studies.images import through_training
from hessian_papers.studies.images.curvature import measure_top
from hessian_papers.studies.images.pair_sums_through_training.derived import FORMS
from hessian_papers.studies.images.through_training import (
    AXES,
    ThroughTrainingConfig,
    at_each_epoch,
    at_epochs,
    trace_by_formula,
    training_items,
)
from hessian_spectra import closed_form as cf
from hessian_spectra.files import Arrays
from hessian_spectra.validation import require


@dataclass(frozen=True, kw_only=True)
class Config(ThroughTrainingConfig):
    """Settings of the study of the top eigenvalues.

    Args:
        narrow: hidden units of a second network, fewer than there are outputs; 0 for none.
        top: how many eigenvalues.
        tolerance: residual of the numerical ones, relative to the largest.
    """

    narrow: int
    top: Count
    tolerance: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.depth == 2, "depth", "2: equation (15) is about two layers", self.depth)
        require(self.narrow >= 0, "narrow", "a width, or 0 for none", self.narrow)
        # What the claims allow the solver, and what rounding lets it reach.
        fits = 1e-12 <= self.tolerance <= 1e-6
        require(fits, "tolerance", "a number from 1e-12 to 1e-06", self.tolerance)


def _widths(config: Config) -> list[int]:
    return [config.width, *([config.narrow] if config.narrow else [])]


_EACH = " ".join(AXES)
VARIABLES: Variables = {
    **through_training.VARIABLES,
    "form": Variable("form", "indices of equation (15), as printed or corrected"),
    "matrix": Variable("matrix", "Hessian or Gauss-Newton matrix"),
    "layer": Variable("layer", "layer, from the inputs on"),
    "spectral_norm": Variable(f"{_EACH} layer", "spectral norm of the layer"),
    "trace": Variable(_EACH, "trace of the Gauss-Newton matrix by equation (11)"),
    "exact": Variable(f"{_EACH} form rank", "largest eigenvalues by equation (15), ascending"),
    "sum": Variable(f"{_EACH} form", "sum of all eigenvalues by equation (15)"),
    "count": Variable(f"{_EACH} form", "number of positive eigenvalues by equation (15)"),
    "numerical": Variable(f"{_EACH} matrix rank", "largest eigenvalues of the matrix, ascending"),
    "residual": Variable(f"{_EACH} matrix rank", "of the numerical one, over the largest"),
}

train = training(lambda config, data: training_items(config, data, _widths(config)))


def closed_form(config: Config, networks: xr.Dataset) -> xr.Dataset:
    """Equation (15) at each recorded epoch, with the printed and with the corrected indices."""
    parts = [facts | _theory(config, *weights) for facts, weights in at_epochs(networks)]
    return assembled(parts, VARIABLES, AXES)


def _theory(config: Config, first: Tensor, last: Tensor) -> Arrays:
    of_first, of_last = torch.linalg.svdvals(first), torch.linalg.svdvals(last)
    spectra = [
        cf.pair_eigenvalues(
            of_first,
            of_last,
            inputs=first.shape[1],
            outputs=last.shape[0],
            input_scale=config.input_scale,
            index_set=form,
        ).eigenvalues.numpy()
        for form in FORMS
    ]
    # In print a narrow network has fewer of them than are asked for.
    top = min(config.top, first.numel() + last.numel())
    padded = [np.pad(each, (max(0, top - len(each)), 0))[-top:] for each in spectra]
    return {
        "form": np.array(FORMS),
        "layer": np.array([1, 2]),
        "spectral_norm": np.array([float(of_first[0]), float(of_last[0])]),
        "trace": trace_by_formula(config, [first, last]),
        "exact": np.stack(padded),
        "sum": np.array([each.sum() for each in spectra]),
        "count": np.array([(each > 0).sum() for each in spectra]),
    }


numerics = at_each_epoch(
    measure_top,
    lambda config: {"top": config.top, "tolerance": float(config.tolerance)},
    VARIABLES,
)

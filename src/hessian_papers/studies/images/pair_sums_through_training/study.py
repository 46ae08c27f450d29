"""The top eigenvalues of two-layer networks through training (anon2026data, Figure 4).

Equation (15) takes sums of the squared singular values of both layers. In print their indices end
where the singular values do; the eigenvalues go on with zeros in place of those that are missing.
A narrow network, which has fewer hidden units than outputs, shows the difference.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from hessian_papers.constraints import Count
from hessian_papers.networks.tools.images import joined, split, training
from hessian_papers.results import stacked
from hessian_papers.studies.images.curvature import measure_top, weights_at
from hessian_papers.studies.images.through_training import (
    ThroughTrainingConfig,
    at_each_epoch,
    facts,
    training_items,
)
from hessian_spectra import closed_form as cf
from hessian_spectra.files import Arrays
from hessian_spectra.validation import require

INDEX_SETS: tuple[Literal["printed", "corrected"], ...] = ("printed", "corrected")


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


train = training(lambda config, data: training_items(config, data, _widths(config)))


def closed_form(config: Config, networks: Arrays) -> Arrays:
    """Equation (15) at each recorded epoch, with the printed and with the corrected indices.

    Returns:
        For each network ``<number>/printed`` and ``<number>/corrected`` (t, k), the k largest
        eigenvalues, ascending, all if there are fewer; ``<number>/printed_sum`` and
        ``<number>/corrected_sum`` (t,) of all of them, and ``<number>/trace`` (t,) by eq. (11);
        ``printed_count`` and ``corrected_count`` (t,), how many are positive; ``spectral_norms``
        (t, 2) of both layers; ``width``; and what :func:`facts` says.
    """
    return joined([_theory(config, network) for network in split(networks)])


def _theory(config: Config, network: Arrays) -> Arrays:
    rows: list[Arrays] = []
    for at in range(len(network["epoch"])):
        first, last = weights_at(network, at)
        moments = config.input_scale**2 * torch.eye(first.shape[1], dtype=torch.float64)
        of_first, of_last = torch.linalg.svdvals(first), torch.linalg.svdvals(last)
        norms = np.array([float(of_first[0]), float(of_last[0])])
        row = {
            "spectral_norms": norms,
            "trace": np.array(float(cf.deep_linear_trace([first, last], moments))),
        }
        for indices in INDEX_SETS:
            spectrum = cf.pair_eigenvalues(
                of_first,
                of_last,
                inputs=first.shape[1],
                outputs=last.shape[0],
                input_scale=config.input_scale,
                index_set=indices,
            )
            eigenvalues = spectrum.eigenvalues.numpy()
            # In print a narrow network has fewer of them than are asked for.
            top = min(config.top, first.numel() + last.numel())
            missing = max(0, top - len(eigenvalues))
            row[indices] = np.pad(eigenvalues, (missing, 0))[-top:]
            row[f"{indices}_sum"] = eigenvalues.sum()
            row[f"{indices}_count"] = np.array((eigenvalues > 0).sum())
        rows.append(row)
    return facts(network) | stacked(rows) | {"width": np.array(len(first))}


numerics = at_each_epoch(
    measure_top, lambda config: {"top": config.top, "tolerance": float(config.tolerance)}
)

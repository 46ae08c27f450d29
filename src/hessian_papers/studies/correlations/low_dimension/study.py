"""The lead of the product without the last matrix, in networks of few and of many inputs.

singh2026cracking, section 4.2: of all products of all matrices but one that without the last
correlates most with the sharpness, especially near convergence and in low dimension.
"""

from dataclasses import dataclass

import numpy as np

from hessian_papers.results import stacked
from hessian_papers.studies.correlations.points import PointsConfig, outcomes, select
from hessian_papers.studies.correlations.resampling import (
    leads,
    over_teachers,
    require_bootstrap,
    with_intervals,
)
from hessian_spectra.files import Arrays
from hessian_spectra.validation import require


@dataclass(frozen=True, kw_only=True)
class Config(PointsConfig):
    """The study's configuration; ``seed`` is that of the bootstrap, ``sizes`` are two.

    Args:
        resamples: bootstrap resamples.
        confidence: level of the intervals.
    """

    resamples: int
    confidence: float

    def __post_init__(self) -> None:
        super().__post_init__()
        two = len(self.sizes) == 2 and self.sizes[0] < self.sizes[1]
        require(two, "sizes", "two, the smaller one first", self.sizes)
        require_bootstrap(self)


def correlation(config: Config, ensembles: Arrays) -> Arrays:
    """By how much the product without the last matrix leads at both sizes, and the difference.

    Axes: ``p`` parametrisations, ``x`` depths, 2 sizes D, 2 times.

    Args:
        config: the study's configuration.
        ensembles: the arrays of the ensemble.

    Returns:
        Statistics, each with its interval, ``<name>_low`` and ``<name>_high``: ``lead (p, x, 2,
        2)``, the correlation of ‖Ŵ_B‖₂² with the sharpness less the largest of those of the other
        products ‖Ŵ_b‖₂²; ``mean_lead (p, 2, 2)``, its mean over the depths; ``mean_difference (p,
        2)``, that at the smaller size less that at the larger. ``size (2,)``, and as in studies of
        one size ``parametrisation``, ``position``, ``time``, ``networks``, ``teachers``;
        ``diverged`` and ``epoch_limit (p, x)``, the larger one of both sizes.

    Raises:
        ValueError: the ensemble lacks what the configuration asks for.
    """
    points = select(config, ensembles)
    points = points.reshape(len(points), -1, 2)
    spectral = ensembles["norm"].tolist().index("spectral")
    depths = ensembles["depth"][points[0, :, 0]]
    rows: list[Arrays] = []
    for row in points:
        target = ensembles["sharpness"][row]  # (x, 2, 2, N)
        values = ensembles["products"][row][..., : depths.max(), spectral] ** 2
        flat = target.reshape(-1, target.shape[-1])
        means, _ = over_teachers(
            flat,
            values.reshape(*flat.shape, -1),
            ensembles["teacher"],
            config.resamples,
            config.seed,
        )
        over_others = leads(means.reshape(-1, *target.shape[:-1], values.shape[-1]), axis=-1)
        lead = np.stack(
            [over_others[:, x, ..., depth - 1] for x, depth in enumerate(depths)], axis=1
        )
        mean = lead.mean(axis=1)
        entries = {
            "lead": lead,
            "mean_lead": mean,
            "mean_difference": mean[:, 0] - mean[:, 1],
        }
        rows.append(with_intervals(entries, config.resamples, config.confidence))
    ends = outcomes(ensembles, points)
    return (
        stacked(rows)
        | ends
        | {name: ends[name].max(axis=-1) for name in ("diverged", "epoch_limit")}
        | {name: ensembles[name] for name in ("time", "width", "activation")}
        | {
            "parametrisation": np.array(config.parametrisations),
            "along": np.array("depth"),
            "position": depths,
            "size": np.array(config.sizes),
            "confidence": np.array(config.confidence),
            "resamples": np.array(config.resamples),
        }
    )

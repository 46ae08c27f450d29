"""Which norm of which weight matrix goes with the sharpness, over the networks of an ensemble.

A correlation is the mean over the teachers of Pearson's over the networks of each. Each statistic
has ``<name>_low`` and ``<name>_high``, a bootstrap interval over teachers and networks. All
statistics of a point share its resamples, so a difference of two correlations is resampled as one:
its interval is that of a paired comparison.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from hessian_papers.constraints import Different, OneOf
from hessian_papers.results import stacked
from hessian_papers.studies.correlations.norm_correlation.regions import (
    REGIONS,
    magnitude_ratio,
    means,
    shares,
)
from hessian_papers.studies.correlations.points import AlongConfig, labels, outcomes, select
from hessian_papers.studies.correlations.reading import NORMS
from hessian_papers.studies.correlations.resampling import (
    largest,
    leads,
    over_teachers,
    require_bootstrap,
    with_intervals,
    without_round_off,
)
from hessian_spectra import statistics
from hessian_spectra.files import Arrays
from hessian_spectra.validation import require

TARGETS = ("sharpness", "trace")
QUANTITIES = ("matrices", "products", "alignments")
SETTINGS = ("target", "quantities", "highlighted", "confidence", "resamples")


@dataclass(frozen=True, kw_only=True)
class Config(AlongConfig):
    """The study's configuration; ``seed`` is that of the bootstrap.

    Args:
        target: what the norms are held against, ``sharpness`` or ``trace``.
        quantities: groups of factors: ``matrices`` W_b and ``products`` of all matrices but W_b by
            their squared norms, ``alignments`` of the two matrices by their absolute values. The
            first group is studied, a second one is what it is compared with.
        norms: some of ``spectral``, ``frobenius`` and ``nuclear``.
        highlighted: that norm among them which the paper singles out.
        resamples: bootstrap resamples.
        confidence: level of the intervals.
    """

    target: Annotated[str, OneOf(tuple(TARGETS))]
    quantities: Annotated[list[str], Different(tuple(QUANTITIES))]
    norms: Annotated[list[str], Different(tuple(NORMS))]
    highlighted: str
    resamples: int
    confidence: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require(len(self.quantities) <= 2, "quantities", "at most two", self.quantities)
        among = f"one of {', '.join(self.norms)}"
        require(self.highlighted in self.norms, "highlighted", among, self.highlighted)
        two_layers = self.along == "size" and self.depths == [2]
        aligned = "alignments" in self.quantities
        require(two_layers or not aligned, "quantities", "alignments at depth 2 only", self.depths)
        require_bootstrap(self)


def correlation(config: Config, ensembles: Arrays) -> Arrays:
    """Correlations, paired differences of them, and of how many networks they are.

    Axes: ``p`` parametrisations, ``x`` positions (sizes or depths), 2 times, ``N`` networks, ``T``
    teachers, ``F`` factors (of all groups, in order), ``M`` norms, ``V`` regions of positions.

    Args:
        config: the study's configuration.
        ensembles: the arrays of the ensemble.

    Returns:
        Statistics, each with its interval, NaN where a quantity is compared with itself (at D = 1
        all norms are one): ``correlation`` and ``factor_lead (p, x, 2, F, M)``, over the best other
        factor of the group by this norm; ``last_lead (p, x, 2, M)``, that of the first group's last
        layer; ``best_correlation`` and ``best_norm_lead (p, x, 2, M)``, the first group's best by
        this norm, and that less its best by any other; ``best_norm_difference (p, x, 2, M, M)``,
        its best by the first norm less that by the second; ``group_lead (p, x, 2)``, the first
        group's best less the second's; ``best_norm_growth`` and ``last_growth``, a lead less that
        at initialisation. ``mean_<statistic> (p, V, 2, ...)``: the mean over all sizes
        or depths of a region, see ``shares``. ``each_<lead> (T, p, x, 2, ...)``: one teacher's.

        Counts: ``networks``, ``teachers``, ``used (p, x, 2)``, ``diverged (p, x)``,
        ``epoch_limit (p, x)``.
        ``magnitude_ratio (p, x)``: entries of the first matrix over those of the last, root mean
        square, at initialisation. It defines the regions: all positions; those where the first
        matrix is ``SIMILAR`` times larger, or the one where it is largest; those where the two are
        closer than that, or the one where they are closest; the former's mean less the latter's.

    Raises:
        ValueError: the ensemble lacks what the configuration asks for.
    """
    points = select(config, ensembles)
    target = ensembles[config.target][points]
    group, layer, values = _factors(config, ensembles, points)
    ratio = magnitude_ratio(ensembles, points)
    depths, teacher = ensembles["depth"][points[0]], ensembles["teacher"]
    axes = labels(config, ensembles, points)
    rows: list[Arrays] = []
    each_leads: list[Arrays] = []
    for of_target, of_factors, row in zip(target, values, ratio, strict=True):
        flat = of_target.reshape(-1, target.shape[-1])
        quantities = of_factors.reshape(*flat.shape, -1)
        r, each = (
            part.reshape(-1, *of_target.shape[:-1], *of_factors.shape[-2:])
            for part in over_teachers(flat, quantities, teacher, config.resamples, config.seed)
        )
        result = _statistics(r, group, layer, depths)
        regions = shares(row, axes["position"])
        result |= {f"mean_{name}": means(values, regions) for name, values in result.items()}
        used = statistics.members_used(flat, quantities).sum(axis=-1)
        rows.append(
            with_intervals(result, config.resamples, config.confidence)
            | {"used": used.reshape(of_target.shape[:-1])}
        )
        each_leads.append(_statistics(each, group, layer, depths))
    return (
        stacked(rows)
        | {
            f"each_{name}": np.round(np.stack([row[name] for row in each_leads], axis=1), 12)
            for name in each_leads[0]
            if name.endswith("lead")
        }
        | axes
        | outcomes(ensembles, points)
        | {"group": group, "layer": layer, "norm": np.array(config.norms)}
        | {"region": np.array(REGIONS), "magnitude_ratio": ratio}
        | {name: np.array(getattr(config, name)) for name in SETTINGS}
    )


def _factors(
    config: Config, ensembles: Arrays, points: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Squared norms of matrices and products, absolute alignments.

    Returns:
        The group of each of the ``F`` factors, its layer b (0 for the alignment), ``(F,)`` both,
        and the values ``(p, x, 2, N, F, M)``.
    """
    columns = [ensembles["norm"].tolist().index(norm) for norm in config.norms]
    depth = int(ensembles["depth"][points].max())
    squares = {"matrices": ensembles["norms"], "products": ensembles["products"]}
    result = {name: array[..., :depth, :] ** 2 for name, array in squares.items()}
    result["alignments"] = np.abs(ensembles["alignments"])[..., None, :]
    layers = dict.fromkeys(squares, range(1, depth + 1)) | {"alignments": range(1)}
    pairs = [(name, layer) for name in config.quantities for layer in layers[name]]
    values = [result[name][points][..., columns] for name in config.quantities]
    group, layer = map(np.array, zip(*pairs, strict=True))
    return group, layer, np.concatenate(values, axis=-2)


def _statistics(r: np.ndarray, group: np.ndarray, layer: np.ndarray, depth: np.ndarray) -> Arrays:
    """All statistics of correlations ``(R, x, 2, F, M)``, the sample's first; ``depth (x,)``."""
    first = group == group[0]
    factor_lead = np.empty_like(r)
    for name in np.unique(group):
        chosen = group == name
        factor_lead[..., chosen, :] = leads(r[..., chosen, :], axis=-2)
    last_lead = [
        largest(factor_lead[:, position][..., first & (layer == last), :], axis=-2)
        for position, last in enumerate(depth)
    ]
    best = largest(r[..., first, :], axis=-2)
    entries = {
        "correlation": r,
        "factor_lead": factor_lead,
        "last_lead": np.stack(last_lead, axis=1),
        "best_correlation": best,
        "best_norm_lead": leads(best, axis=-1),
        "best_norm_difference": best[..., :, None] - best[..., None, :],
    }
    if not first.all():
        entries["group_lead"] = largest(best, axis=-1) - largest(largest(r[..., ~first, :], -1), -1)
    for name, values in entries.items():
        if name.endswith(("lead", "difference")):
            without_round_off(values)
    for name in ("best_norm", "last"):
        lead = entries[f"{name}_lead"]
        entries[f"{name}_growth"] = lead - lead[:, :, :1]
    return entries

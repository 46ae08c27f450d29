"""Which norm of which weight matrix goes with the sharpness, over the networks of an ensemble.

Each statistic has ``<name>_low`` and ``<name>_high``, a bootstrap interval over the networks.
All statistics of a point share its resamples, so a difference of two correlations is resampled as
one: its interval is that of a paired comparison.
"""

from dataclasses import dataclass

import numpy as np

from hessian_spectra import statistics
from hessian_spectra.results import Arrays
from hessian_spectra.studies.correlations.norm_correlation.reading import SIMILAR
from hessian_spectra.studies.correlations.points import PointsConfig, labels, outcomes, select
from hessian_spectra.studies.correlations.reading import NORMS
from hessian_spectra.validation import require, require_at_least, require_different

TARGETS = ("sharpness", "trace")
QUANTITIES = ("matrices", "products", "alignments")
# A difference of correlations below this is one between names of the same quantity.
ROUND_OFF = 1e-6
SETTINGS = ("target", "quantities", "highlighted", "confidence", "resamples")
REGIONS = ("all", "larger first matrix", "similar matrices", "larger less similar")


@dataclass(frozen=True, kw_only=True)
class Config(PointsConfig):
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

    target: str
    quantities: list[str]
    norms: list[str]
    highlighted: str
    resamples: int
    confidence: float

    def __post_init__(self) -> None:
        require(self.target in TARGETS, "target", f"one of {', '.join(TARGETS)}", self.target)
        require_different(QUANTITIES, self, "quantities")
        require_different(NORMS, self, "norms")
        require(len(self.quantities) <= 2, "quantities", "at most two", self.quantities)
        among = f"one of {', '.join(self.norms)}"
        require(self.highlighted in self.norms, "highlighted", among, self.highlighted)
        super().__post_init__()
        two_layers = self.along == "size" and self.depths == [2]
        aligned = "alignments" in self.quantities
        require(two_layers or not aligned, "quantities", "alignments at depth 2 only", self.depths)
        require_at_least(100, self, "resamples")
        require_at_least(0, self, "seed")
        inside = 0 < self.confidence < 1
        require(inside, "confidence", "a number between 0 and 1", self.confidence)


def correlation(config: Config, ensembles: Arrays) -> Arrays:
    """Correlations, paired differences of them, and of how many networks they are.

    Axes: ``p`` parametrisations, ``x`` positions (sizes or depths), 2 times, ``N`` networks, ``F``
    factors (of all groups, in order), ``M`` norms, ``V`` regions of positions.

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
        group's best less the second's. ``mean_<statistic> (p, V, 2, ...)``: the mean over the
        positions of a region where it is defined.

        Counts: ``networks``, ``used (p, x, 2)``, ``diverged (p, x)``, ``epoch_limit (p, x)``.
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
    ratio = _magnitude_ratio(ensembles, points)
    networks = target.shape[-1]
    resamples = statistics.resample_counts(networks, config.resamples, config.seed)
    # The sample itself, its resamples, and the samples without one network each.
    counts = np.concatenate([np.ones((1, networks)), resamples, statistics.leave_one_out(networks)])
    rows: list[Arrays] = []
    for of_target, of_factors, row in zip(target, values, ratio, strict=True):
        flat = of_target.reshape(-1, networks)
        quantities = of_factors.reshape(*flat.shape, -1)
        r = statistics.correlations(flat, quantities, counts)
        r = r.reshape(len(counts), len(of_target), -1, *of_factors.shape[-2:])
        found = _statistics(r, group, layer, ensembles["depth"][points[0]])
        found |= {f"mean_{name}": _means(values, _regions(row)) for name, values in found.items()}
        used = statistics.members_used(flat, quantities).sum(axis=-1)
        rows.append(_with_intervals(found, config) | {"used": used.reshape(of_target.shape[:-1])})
    return (
        {name: np.stack([row[name] for row in rows]) for name in rows[0]}
        | labels(config, ensembles, points)
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
    found = {name: array[..., :depth, :] ** 2 for name, array in squares.items()}
    found["alignments"] = np.abs(ensembles["alignments"])[..., None, :]
    layers = dict.fromkeys(squares, range(1, depth + 1)) | {"alignments": range(1)}
    pairs = [(name, layer) for name in config.quantities for layer in layers[name]]
    values = [found[name][points][..., columns] for name in config.quantities]
    group, layer = map(np.array, zip(*pairs, strict=True))
    return group, layer, np.concatenate(values, axis=-2)


def _magnitude_ratio(ensembles: Arrays, points: np.ndarray) -> np.ndarray:
    """Root mean square of the first matrix's entries over the last's, at initialisation.

    Both have D·m entries, so it is the ratio of their Frobenius norms; the median over networks.
    """
    norms = ensembles["norms"][:, 0, ..., ensembles["norm"].tolist().index("frobenius")]
    depth = ensembles["depth"]
    last = norms[np.arange(len(depth)), :, depth - 1]
    return np.asarray(np.median(norms[..., 0] / last, axis=-1)[points])


def _regions(ratio: np.ndarray) -> np.ndarray:
    """Which positions belong to the first three regions, ``(3, x)``; none of them is empty."""
    distance = np.abs(np.log(ratio))
    similar = (ratio <= SIMILAR) & (ratio >= 1 / SIMILAR) | (distance == distance.min())
    larger = (ratio > SIMILAR) | (ratio == ratio.max())
    return np.stack([np.ones_like(similar), larger, similar])


def _best(r: np.ndarray, axis: int) -> np.ndarray:
    """The largest along an axis; NaN where there is none."""
    return np.asarray(np.fmax.reduce(r, axis=axis, initial=np.nan))


def _leads(r: np.ndarray, axis: int) -> np.ndarray:
    """Each entry along an axis less the largest of the others there."""
    others = [_best(np.delete(r, entry, axis), axis) for entry in range(r.shape[axis])]
    return np.asarray(r - np.stack(others, axis))


def _statistics(r: np.ndarray, group: np.ndarray, layer: np.ndarray, depth: np.ndarray) -> Arrays:
    """All statistics of correlations ``(R, x, 2, F, M)``, the sample's first; ``depth (x,)``."""
    first = group == group[0]
    factor_lead = np.empty_like(r)
    for name in np.unique(group):
        chosen = group == name
        factor_lead[..., chosen, :] = _leads(r[..., chosen, :], axis=-2)
    last_lead = [
        _best(factor_lead[:, position][..., first & (layer == last), :], axis=-2)
        for position, last in enumerate(depth)
    ]
    best = _best(r[..., first, :], axis=-2)
    found = {
        "correlation": r,
        "factor_lead": factor_lead,
        "last_lead": np.stack(last_lead, axis=1),
        "best_correlation": best,
        "best_norm_lead": _leads(best, axis=-1),
        "best_norm_difference": best[..., :, None] - best[..., None, :],
    }
    if not first.all():
        found["group_lead"] = _best(best, axis=-1) - _best(_best(r[..., ~first, :], -1), -1)
    for name, values in found.items():
        # A lead of the sample's over the same quantity under another name.
        if name.endswith(("lead", "difference")):
            values[:, np.abs(values[0]) < ROUND_OFF] = np.nan
    return found


def _means(values: np.ndarray, regions: np.ndarray) -> np.ndarray:
    """Means ``(R, V, ...)`` of ``(R, x, ...)`` over each region, where the sample's is defined."""
    means = []
    for region in regions:
        chosen = np.isfinite(values[0, region])
        number = chosen.sum(axis=0)
        total = np.where(chosen, values[:, region], 0.0).sum(axis=1)
        means.append(np.where(number > 0, total / np.maximum(number, 1), np.nan))
    _, larger, similar = means
    return np.stack([*means, larger - similar], axis=1)


def _with_intervals(found: Arrays, config: Config) -> Arrays:
    """Each statistic of the sample and its interval."""
    intervals = {}
    for name, values in found.items():
        (sample,), replicates, jackknife = np.split(values, [1, 1 + config.resamples])
        interval = statistics.bootstrap_interval(sample, replicates, jackknife, config.confidence)
        for suffix, numbers in zip(("", "_low", "_high"), (sample, *interval), strict=True):
            # Beyond twelve digits it is the order of summation that one would see.
            intervals[name + suffix] = np.round(numbers, 12)
    return intervals

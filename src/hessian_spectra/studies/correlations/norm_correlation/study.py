"""Which norm of which weight matrix goes with the sharpness, over the networks of an ensemble.

Each statistic has ``<name>_low`` and ``<name>_high``, a bootstrap interval over the networks.
All statistics of a point share its resamples, so a difference of two correlations is resampled as
one: its interval is that of a paired comparison.
"""

from dataclasses import dataclass

import numpy as np

from hessian_spectra.results import Arrays
from hessian_spectra.statistics import (
    bootstrap_interval,
    correlations,
    leave_one_out,
    members_used,
    resample_counts,
)
from hessian_spectra.studies.correlations.norm_correlation.reading import SIMILAR
from hessian_spectra.studies.correlations.points import PointsConfig, labels, outcomes, select
from hessian_spectra.validation import require

TARGETS = ("sharpness", "trace")
QUANTITIES = ("matrices", "products", "alignments")
NORMS = ("spectral", "frobenius", "nuclear")
# A difference of correlations below this is one between names of the same quantity.
ROUND_OFF = 1e-6
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
        for field, known in (("quantities", QUANTITIES), ("norms", NORMS)):
            chosen = getattr(self, field)
            distinct = len(chosen) > 0 and len(set(chosen)) == len(chosen)
            expected = f"distinct ones of {', '.join(known)}"
            require(distinct and set(chosen) <= set(known), field, expected, chosen)
        require(len(self.quantities) <= 2, "quantities", "at most two", self.quantities)
        require(
            self.highlighted in self.norms,
            "highlighted",
            f"one of {', '.join(self.norms)}",
            self.highlighted,
        )
        super().__post_init__()
        two_layers = self.along == "size" and self.depths == [2]
        aligned = "alignments" in self.quantities
        require(two_layers or not aligned, "quantities", "alignments at depth 2 only", self.depths)
        require(self.resamples >= 100, "resamples", "at least 100", self.resamples)
        inside = 0 < self.confidence < 1
        require(inside, "confidence", "a number between 0 and 1", self.confidence)


@dataclass(frozen=True)
class _Factors:
    """What is correlated with the target: ``F`` factors, each by ``M`` norms.

    Args:
        group: to which of the config's quantities each factor belongs, ``(F,)``.
        layer: b of the matrix or of the one left out; 0 for the alignment, ``(F,)``.
        values: ``(p, x, 2, N, F, M)``.
    """

    group: np.ndarray
    layer: np.ndarray
    values: np.ndarray


def correlation(config: Config, ensembles: Arrays) -> Arrays:
    """Correlations, paired differences of them, and of how many networks they are.

    Axes: ``p`` parametrisations, ``x`` positions (sizes or depths), 2 times, ``N`` networks, ``F``
    factors (of all groups, in order), ``M`` norms, ``V`` regions of positions.

    Args:
        config: the study's configuration.
        ensembles: the arrays of the ensemble.

    Returns:
        Statistics, each with its interval: ``correlation (p, x, 2, F, M)``; ``factor_lead`` (the
        same shape): over the best other factor of the group by this norm; ``last_lead
        (p, x, 2, M)``: that of the first group's last layer; ``best_correlation (p, x, 2, M)``: the
        first group's best by this norm; ``best_norm_lead`` (the same shape): that, less its best by
        any other norm; ``best_norm_difference (p, x, 2, M, M)``: its best by the first norm less
        that by the second; ``group_lead (p, x, 2)``: the first group's best less the second's.
        What compares a quantity with itself is not defined (NaN): at D = 1 all norms are one.
        ``mean_<statistic> (p, V, 2, ...)``: the mean over the positions of a region where it is
        defined.

        Counts: ``networks``, ``used (p, x, 2)``, ``diverged (p, x)``, ``epoch_limit (p, x)``.
        ``magnitude_ratio (p, x)``: entries of the first matrix over those of the last, root mean
        square, at initialisation. It defines the regions: all positions; those where the first
        matrix is ``SIMILAR`` times larger, or the one where it is largest; those where the two are
        closer than that, or the one where they are closest; and the mean over the former less that
        over the latter.

    Raises:
        ValueError: the ensemble lacks what the configuration asks for.
    """
    points = select(config, ensembles)
    target = ensembles[config.target][points]
    factors = _factors(config, ensembles, points)
    ratio = _magnitude_ratio(ensembles, points)
    depth = ensembles["depth"][points[0]]
    counts = resample_counts(target.shape[-1], config.resamples, config.seed)
    weights = (np.ones_like(counts[:1]), counts, leave_one_out(target.shape[-1]))
    rows: list[Arrays] = []
    for row in range(len(points)):
        regions = _regions(ratio[row])
        versions = [
            _statistics(_correlate(target[row], factors.values[row], each), factors, depth)
            for each in weights
        ]
        _undefine(versions)
        for name in list(versions[0]):
            defined = np.isfinite(versions[0][name])
            for found in versions:
                found[f"mean_{name}"] = _means(found[name], defined, regions)
        rows.append(_with_intervals(versions, config.confidence))
    return (
        {name: np.stack([row[name] for row in rows]) for name in rows[0]}
        | labels(config, ensembles, points)
        | _labels(config, factors)
        | outcomes(ensembles, points)
        | {
            "used": _used(target, factors).sum(axis=-1),
            "magnitude_ratio": ratio,
        }
    )


def _factors(config: Config, ensembles: Arrays, points: np.ndarray) -> _Factors:
    """Squared norms of matrices and products, absolute alignments."""
    columns = [ensembles["norm"].tolist().index(norm) for norm in config.norms]
    depth = int(ensembles["depth"][points].max())
    group: list[str] = []
    layer: list[int] = []
    values = []
    for name in config.quantities:
        if name == "alignments":
            found, layers = np.abs(ensembles["alignments"])[..., None, :], [0]
        else:
            found = ensembles["norms" if name == "matrices" else "products"][..., :depth, :] ** 2
            layers = list(range(1, depth + 1))
        values.append(found[points][..., columns])
        group += [name] * len(layers)
        layer += layers
    return _Factors(np.array(group), np.array(layer), np.concatenate(values, axis=-2))


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
    similar = (ratio <= SIMILAR) & (ratio >= 1 / SIMILAR)
    larger = ratio > SIMILAR
    return np.stack(
        [
            np.ones_like(similar),
            larger if larger.any() else ratio == ratio.max(),
            similar if similar.any() else distance == distance.min(),
        ]
    )


def _correlate(target: np.ndarray, values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """``(R, x, 2, F, M)`` correlations of ``values (x, 2, N, F, M)`` with ``target (x, 2, N)``."""
    positions, times, networks, *shape = values.shape
    found = correlations(
        target.reshape(-1, networks), values.reshape(positions * times, networks, -1), counts
    )
    return found.reshape(len(counts), positions, times, *shape)


def _best_others(r: np.ndarray, axis: int) -> np.ndarray:
    """For each entry along an axis the largest of the others there; NaN where there is none."""
    best = np.full_like(r, np.nan)
    entries, others = np.moveaxis(best, axis, 0), np.moveaxis(r, axis, 0)
    for k in range(len(entries)):
        rest = np.delete(others, k, axis=0)
        if len(rest):
            entries[k] = np.fmax.reduce(rest, axis=0)
    return best


def _statistics(r: np.ndarray, factors: _Factors, depth: np.ndarray) -> Arrays:
    """All statistics of correlations ``(R, x, 2, F, M)``; ``depth (x,)``."""
    first = factors.group == factors.group[0]
    factor_lead = np.empty_like(r)
    for group in (first, ~first):
        factor_lead[..., group, :] = r[..., group, :] - _best_others(r[..., group, :], axis=-2)
    last_lead = np.full_like(r[..., 0, :], np.nan)
    for position, layers in enumerate(depth):
        (last,) = np.nonzero(first & (factors.layer == layers))
        if len(last):
            last_lead[:, position] = factor_lead[:, position, :, last[0]]
    best = np.fmax.reduce(r[..., first, :], axis=-2)
    found = {
        "correlation": r,
        "factor_lead": factor_lead,
        "last_lead": last_lead,
        "best_correlation": best,
        "best_norm_lead": best - _best_others(best, axis=-1),
        "best_norm_difference": best[..., :, None] - best[..., None, :],
    }
    if not first.all():
        second = np.fmax.reduce(r[..., ~first, :], axis=(-2, -1))
        found["group_lead"] = np.fmax.reduce(best, axis=-1) - second
    return found


def _undefine(versions: list[Arrays]) -> None:
    """Make leads NaN where the sample's is over the same quantity under another name."""
    for name in versions[0]:
        if name.endswith(("lead", "difference")):
            coincident = np.abs(versions[0][name][0]) < ROUND_OFF
            for found in versions:
                found[name][:, coincident] = np.nan


def _means(values: np.ndarray, defined: np.ndarray, regions: np.ndarray) -> np.ndarray:
    """Means ``(R, V, ...)`` of ``values (R, x, ...)`` over each region's defined positions."""
    means = []
    for region in regions:
        chosen = defined[0, region]
        number = chosen.sum(axis=0)
        total = np.where(chosen, values[:, region], 0.0).sum(axis=1)
        means.append(np.where(number > 0, total / np.maximum(number, 1), np.nan))
    _, larger, similar = means
    return np.stack([*means, larger - similar], axis=1)


def _with_intervals(versions: list[Arrays], confidence: float) -> Arrays:
    """Each statistic and its interval, from the sample's, the resamples' and the jackknife's."""
    found = {}
    for name in versions[0]:
        sample, replicates, jackknife = (version[name] for version in versions)
        low, high = bootstrap_interval(sample[0], replicates, jackknife, confidence)
        for suffix, numbers in (("", sample[0]), ("_low", low), ("_high", high)):
            # Beyond twelve digits it is the order of summation that one would see.
            found[name + suffix] = np.round(numbers, 12)
    return found


def _labels(config: Config, factors: _Factors) -> Arrays:
    return {
        "target": np.array(config.target),
        "quantities": np.array(config.quantities),
        "group": factors.group,
        "layer": factors.layer,
        "norm": np.array(config.norms),
        "highlighted": np.array(config.highlighted),
        "region": np.array(REGIONS),
        "confidence": np.array(config.confidence),
        "resamples": np.array(config.resamples),
    }


def _used(target: np.ndarray, factors: _Factors) -> np.ndarray:
    """``(p, x, 2, N)``."""
    networks = target.shape[-1]
    quantities = factors.values.reshape(target.size // networks, networks, -1)
    return members_used(target.reshape(-1, networks), quantities).reshape(target.shape)

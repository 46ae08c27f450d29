"""Which norm of which weight matrix goes with the sharpness, over the networks of an ensemble.

Each statistic comes with ``<name>_low`` and ``<name>_high``, a percentile bootstrap interval over
the networks. All statistics of a point share its resamples, so a difference of two correlations is
resampled as one: its interval is that of a paired comparison.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hessian_spectra.results import Arrays
from hessian_spectra.statistics import (
    correlations,
    members_used,
    percentile_interval,
    resample_counts,
)
from hessian_spectra.studies import base
from hessian_spectra.validation import require

TARGETS = ("sharpness", "trace")
QUANTITIES = ("matrices", "products", "alignments")
NORMS = ("spectral", "frobenius", "nuclear")
AXES = ("size", "depth")
# Two quantities that differ by less, relatively, for all networks are the same one.
ROUND_OFF = 1e-9
# Up to this ratio of their entries two matrices count as initialised with similar magnitude.
SIMILAR = 2.0
REGIONS = ("all", "larger first matrix", "similar matrices")


@dataclass(frozen=True, kw_only=True)
class Config(base.EnsembleStudyConfig):
    """The study's configuration; ``seed`` is that of the bootstrap.

    Args:
        target: what the norms are held against, ``sharpness`` or ``trace``.
        quantities: groups of factors: ``matrices`` W_b and ``products`` of all matrices but W_b by
            their squared norms, ``alignments`` of the two matrices by their absolute values. The
            first group is studied, a second one is what it is compared with.
        norms: some of ``spectral``, ``frobenius`` and ``nuclear``.
        highlighted: that norm among them which the paper singles out.
        parametrisations: some of those that the ensemble has.
        along: what varies, ``size`` (input and output size D) or ``depth``.
        depths: the depths to take; empty for all of the ensemble.
        sizes: the sizes to take; empty for all of the ensemble.
        resamples: bootstrap resamples.
        confidence: level of the intervals.
    """

    target: str
    quantities: list[str]
    norms: list[str]
    highlighted: str
    parametrisations: list[str]
    along: str
    depths: list[int]
    sizes: list[int]
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
        names = self.parametrisations
        once = len(names) > 0 and len(set(names)) == len(names)
        require(once, "parametrisations", "at least one, each once", names)
        require(self.along in AXES, "along", "size or depth", self.along)
        field = "depths" if self.along == "size" else "sizes"
        fixed = getattr(self, field)
        require(len(fixed) == 1, field, f"a single one along {self.along}", fixed)
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
        group: to which of the config's quantities each factor belongs.
        layer: b of the matrix or of the one left out; 0 for the alignment.
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
        Statistics, each with its interval: ``correlation (p, x, 2, F, M)``;
        ``norm_lead`` (the same shape): over the best other norm of the factor;
        ``factor_lead`` (the same shape): over the best other factor of the group;
        ``last_lead (p, x, 2, M)``: ``factor_lead`` of the first group's last layer;
        ``best_norm_lead (p, x, 2, M)``: the first group's best correlation by this norm, less its
        best by any other norm; ``group_lead (p, x, 2)``: the first group's best correlation less
        the second's. A lead over what coincides with it is not defined (NaN): at D = 1 all norms
        are one. ``mean_<statistic>``: the mean over the positions of a region where it is defined,
        ``(p, V, 2, ...)``.

        Counts: ``networks``, ``used (p, x, 2)``, ``diverged (p, x)``, ``epoch_limit (p, x)``.
        ``spread (p, x, 2, F, M)``: the quantity's standard deviation over that of the target.
        ``magnitude_ratio (p, x)``: entries of the first matrix over those of the last, root mean
        square, at initialisation; it defines the regions.

    Raises:
        ValueError: the ensemble lacks what the configuration asks for.
    """
    positions, points = _points(config, ensembles)
    target = ensembles[config.target][points]
    factors = _factors(config, ensembles, points)
    ratio = _magnitude_ratio(ensembles, points)
    networks = target.shape[-1]
    sample = np.ones((1, networks))
    counts = resample_counts(networks, config.resamples, config.seed)
    parts: list[Arrays] = []
    for row in range(len(points)):
        masks = _masks(factors, row)
        regions = _regions(ratio[row])
        estimate = _statistics(_correlate(target[row], factors, row, sample), factors, masks)
        resampled = _statistics(_correlate(target[row], factors, row, counts), factors, masks)
        estimate |= _means(estimate, estimate, regions)
        resampled |= _means(resampled, estimate, regions)
        parts.append(_with_intervals(estimate, resampled, config.confidence))
    found = {name: np.stack([part[name] for part in parts]) for name in parts[0]}
    return found | _labels(config, factors, positions) | _counts(
        ensembles, points, target, factors
    ) | {"magnitude_ratio": ratio, "spread": _spread(target, factors)}


def _points(config: Config, ensembles: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """The positions ``(x,)`` and the ensemble's points ``(p, x)`` that the study takes."""
    chosen: dict[str, list[int]] = {}
    for field, name in (("depths", "depth"), ("sizes", "size")):
        there = np.unique(ensembles[name]).tolist()
        asked = getattr(config, field)
        known = ", ".join(map(str, there))
        missing = sorted(set(asked) - set(there))
        require(not missing, field, f"some of the ensemble's, {known}", asked)
        chosen[name] = sorted(set(asked)) if asked else there
    there = sorted(set(ensembles["parametrisation"].tolist()))
    asked = config.parametrisations
    known = ", ".join(there)
    require(set(asked) <= set(there), "parametrisations", f"some of the ensemble's, {known}", asked)
    place = {
        key: point
        for point, key in enumerate(
            zip(*(ensembles[n].tolist() for n in ("parametrisation", "depth", "size")), strict=True)
        )
    }
    rows = [
        [(name, depth, size) for depth in chosen["depth"] for size in chosen["size"]]
        for name in asked
    ]
    lacking = [key for row in rows for key in row if key not in place]
    if lacking:
        raise ValueError(
            f"ensemble {config.ensemble}: expected every combination of parametrisation, depth and "
            f"size, it lacks {lacking[0]}"
        )
    points = np.array([[place[key] for key in row] for row in rows])
    return np.array(chosen[config.along]), points


def _factors(config: Config, ensembles: Arrays, points: np.ndarray) -> _Factors:
    """Squared norms of matrices and products, absolute alignments, ``(p, x, 2, N, F, M)``."""
    columns = [ensembles["norm"].tolist().index(norm) for norm in config.norms]
    depth = int(ensembles["depth"][points].max())
    values, groups, layers = [], [], []
    for name in config.quantities:
        if name == "alignments":
            values.append(np.abs(ensembles["alignments"][points])[..., None, columns])
            layers.append(0)
            groups.append(name)
            continue
        stored = ensembles["norms" if name == "matrices" else "products"][points]
        with np.errstate(over="ignore"):
            values.append(stored[..., :depth, :][..., columns] ** 2)
        layers += range(1, depth + 1)
        groups += [name] * depth
    return _Factors(np.array(groups), np.array(layers), np.concatenate(values, axis=-2))


def _magnitude_ratio(ensembles: Arrays, points: np.ndarray) -> np.ndarray:
    """Root mean square of the first matrix's entries over the last's, at initialisation.

    Both have D·m entries, so it is the ratio of their Frobenius norms; the median over networks.
    """
    column = ensembles["norm"].tolist().index("frobenius")
    norms = ensembles["norms"][..., column]  # (P, 2, N, B)
    last = ensembles["depth"] - 1
    ends = norms[np.arange(len(last)), 0, :, last]  # (P, N)
    return np.asarray(np.median(norms[:, 0, :, 0] / ends, axis=-1)[points])


def _masks(factors: _Factors, row: int) -> dict[str, np.ndarray]:
    """Where a lead would be over a coincident quantity: ``norm``, ``best`` and ``group``."""
    values = factors.values[row]  # (x, 2, N, F, M)
    norms = values.shape[-1]
    same = np.zeros((*values.shape[:2], *values.shape[3:]), dtype=bool)
    for one in range(norms):
        for other in range(norms):
            if one != other:
                same[..., one] |= _coincide(values[..., one], values[..., other])
    first = factors.group == factors.group[0]
    groups = [values[..., chosen, :] for chosen in (first, ~first)]
    both = np.zeros(values.shape[:2], dtype=bool)
    if not first.all():
        twin = np.stack(
            [
                _coincide(a[..., None, :], np.moveaxis(b, -2, -1)[..., None, :, :].swapaxes(-1, -2))
                for a, b in ()
            ]
        ) if False else _same_sets(*groups)
        both = twin
    return {"norm": same, "best": same[..., first, :].any(axis=-2), "group": both}

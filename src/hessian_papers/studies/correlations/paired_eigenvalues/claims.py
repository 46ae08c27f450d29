"""The statements about two eigenvalues that sum to tr(H)/D (figures 3 and 10 to 13)."""

import math

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import Estimate, at_least, at_most, needs, within
from hessian_papers.ledger.conditions import AT_INITIALISATION
from hessian_papers.ledger.statements import Cases, Statements, Study
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.correlations.paired_eigenvalues.derived import curved, distances

ASSUMED = "orthogonal-decorrelated"  # the theorem's case
# Jittered spectra that come at least as close, in at most this share of them: hardly chance.
LEVEL = 0.05
CONFIDENCE = 2.5758  # standard deviations: 99 %

ROUND_OFF = "round-off of an eigenvalue solver in float64, some 1e-15 of the largest eigenvalue"
NEARLY = reading_of("nearly")
REFERENCE = at_most(1.0, "the paper's figures plot the distances against the mean eigenvalue")
TOLD = at_least(0.95, "a true pair is missed as rarely as chance is mistaken for one")
MOST = at_least(
    0.5,
    "a hypothesis counts as holding if it holds for more than half of the networks, our choice: "
    f"chance alone gives {LEVEL:.0%}, a proved pair 100 %",
)
FEW = (
    "With two inputs and independently sampled weights, few pairs have sums near "
    r"$\operatorname{tr}(H)/D$. The best one misses it by as much as the best pair of a "
    "spectrum with randomly shifted eigenvalues. The distance falls as the number of pairs "
    "grows with D."
)
TOO_WIDE = (
    "Their Hessians have 45000 to 68000 rows and, unlike those of linear or two-layer "
    "networks, no reduction that we know of. All eigenvalues of one take hours, and a "
    "figure has thousands of networks. We run width 10."
)


def _place(study: Study) -> str:
    # The networks of Figure 3 are some of those of Figure 10.
    main_text = "section 4.1, Figure 3; " if study.config["artifact"] == "Figure 10" else ""
    return main_text + "appendix D.3.2, {artifact}"


def _about(depth: int, activation: str) -> Cases:
    """The part of the data set that these networks have."""
    wanted = (depth, activation)
    return lambda data: [{}] * ((data["depth"].item(), data["activation"].item()) == wanted)


def beyond(data: xr.Dataset) -> list[str]:
    """The cases of which no theorem says that a pair sums to tr(H)/D."""
    proved = bool(_about(2, "linear")(data))
    return [case for case in data["case"].values.tolist() if not (proved and case == ASSUMED)]


def _at(points: xr.Dataset, chosen: xr.DataArray, what: str) -> xr.Dataset:
    """Some points.

    Args:
        points: of the study.
        chosen: which.
        what: they are, for the message.

    Raises:
        NothingToMeasure: there are none.
    """
    needs(chosen.any(), f"this configuration leaves out {what}")
    return points.isel(point=chosen.values)


def _of(data: xr.Dataset, *cases: str, least: int = 1) -> xr.Dataset:
    """The points of some cases that have at least so many inputs, along ``point``."""
    points = data.stack(point=("case", "width", "size")).transpose("point", "network", ...)
    chosen = points["case"].isin(cases) & (points["size"] >= least)
    inputs = f" with D of at least {least}" if least > 1 else ""
    what = f"{' and '.join(cases) or 'what is beyond the assumptions'}{inputs}"
    return _at(points, chosen & (points["size"] <= points["width"]), what)


def _worst(points: xr.Dataset, errors: xr.DataArray) -> float:
    """The largest of errors over the network's largest eigenvalue, if it has one."""
    scale = points["largest"].where(curved(points), 1.0)
    return float((errors / scale).max(skipna=False))


def median(values: np.ndarray) -> Estimate:
    """The median of values ``(k,)``, between two of them in order (99 %).

    Example:
        >>> median(np.array([3.0, 1.0, 2.0]))
        Estimate(value=2.0, low=1.0, high=3.0)
    """
    ordered, half = np.sort(values), len(values) / 2
    half_width = CONFIDENCE * math.sqrt(len(ordered)) / 2
    low = max(math.floor(half - half_width), 0)
    high = min(math.ceil(half + half_width), len(ordered) - 1)
    return Estimate(float(np.median(ordered)), float(ordered[low]), float(ordered[high]))


def _ratios(points: xr.Dataset) -> np.ndarray:
    """The second smallest distance over the smallest, ``(k,)`` of those that have both."""
    smallest, second = (distances(points).sel(pair=pair).values for pair in ("best", "second"))
    both = np.isfinite(second)
    needs(both.any(), "this configuration has no network with two pairs of eigenvalues")
    return np.asarray(second[both] / smallest[both])


def _require_curved(points: xr.Dataset) -> None:
    needs(curved(points).any(), "this configuration has no network with a Hessian other than zero")


def _typical(points: xr.Dataset, yardstick: str) -> Estimate:
    """The median of the smallest distance, over all networks.

    Args:
        points: of the study.
        yardstick: what it is divided by, ``target``, that is tr(H)/D, or ``mean``, the mean
            eigenvalue.
    """
    _require_curved(points)
    quotients = points["distance"].sel(pair="best") / points[yardstick].where(curved(points))
    return median(quotients.values[curved(points).values])


def _share_beyond_chance(points: xr.Dataset) -> xr.DataArray:
    """The share of points at which the best pair of a draw's network is beyond chance.

    Few jittered spectra match it; of flat networks nothing is said.
    """
    _require_curved(points)
    matched = (points["chance"] <= points["distance"].sel(pair="best")).sum("jitter")
    closer = ((1 + matched) / (1 + points.sizes["jitter"]) <= LEVEL).where(curved(points))
    share = closer.mean([dim for dim in closer.dims if dim != "network"])
    return share.dropna("network").rename(network="draw")


statements = Statements()


def _figures(*numbers: int) -> Statements:
    about = statements.about("singh2026cracking", *(f"Figure {number}" for number in numbers))
    return about.having(state=AT_INITIALISATION)


figures, figure_10 = _figures(10, 11, 12, 13), _figures(10)


@statements.beyond.identity(
    _place, within(1e-10, ROUND_OFF, source="theorem"), id="trace-by-layers"
)
def trace(data: xr.Dataset) -> float:
    r"""$\operatorname{tr}(H)$ is the sum over the layers of $E[‖∂f/∂(W_l h)‖^2 ‖h‖^2]$, with h the
    layer's input. It gives $\operatorname{tr}(H)/D$ and the mean eigenvalue without computing any
    eigenvalue.

    Statistic: largest error over the largest eigenvalue.
    """
    points = _of(data, *data["case"].values)
    errors = (abs(points[f"exact_{name}"] - points[name]) for name in ("target", "mean"))
    return max(_worst(points, error) for error in errors)


@statements.identity(
    _place,
    within(1e-12, ROUND_OFF, source="theorem"),
    id="orthogonal-pair",
    each=_about(2, "linear"),
)
def pair(data: xr.Dataset) -> float:
    r"""In two-layer linear networks with an orthonormal first layer and decorrelated data, two
    eigenvalues sum to $\operatorname{tr}(H)/D$.

    Statistic: smallest distance over the largest eigenvalue, for the network where it is largest.
    """
    assumed = _of(data, ASSUMED)
    return _worst(assumed, assumed["distance"].sel(pair="best"))


@figure_10.everywhere(_place, reading_of("orders of magnitude"), each=_about(2, "linear"))
def pair_stands_out(data: xr.Dataset) -> float:
    r"""With an orthonormal first layer and decorrelated data, one pair of eigenvalues sums to
    $\operatorname{tr}(H)/D$ at every D. Its distance is orders of magnitude below both that of the
    next best pair and the mean eigenvalue.

    Statistic: the smaller of these two over the smallest distance, or over float64 rounding where
    that is larger; smallest ratio over all networks.

    Remark: The smallest distance is zero up to rounding; among very many networks the second
    smallest may be small by chance.
    """
    assumed = _of(data, ASSUMED)
    against_mean = assumed["mean"] / distances(assumed).sel(pair="best")
    return float(min(_ratios(assumed).min(), against_mean.min(skipna=False)))


@figures.typically(
    _place,
    at_most(
        10.0,
        "less than an order of magnitude; by chance the median is 2, as the smallest "
        "distance is uniform between 0 and the second smallest",
    ),
)
def no_pair_stands_out(data: xr.Dataset) -> Estimate:
    """Beyond the assumptions no pair stands out: the second best pair is close to the best one.

    Statistic: second smallest distance over the smallest, median over the networks with $D > 1$;
    interval: 99 %, between order statistics.
    """
    return median(_ratios(_of(data, *beyond(data), least=2)))


# How close "very close" is: the paper names no yardstick, and plots the mean eigenvalue beside it.
very_close = figures.having(id="sum-is-nearly-the-trace-over-d", otherwise=FEW, book="readings")


@very_close.left_open(_place, NEARLY)
def nearly(data: xr.Dataset) -> Estimate:
    r"""Beyond the assumptions the sum of two eigenvalues is very close to $\operatorname{tr}(H)/D$.
    The paper does not say compared with what. One reading: with that number.

    Statistic: smallest distance over $\operatorname{tr}(H)/D$, median over the networks with
    $D > 1$; interval: 99 %, between order statistics.
    """
    return _typical(_of(data, *beyond(data), least=2), "target")


@very_close.left_open(_place, REFERENCE)
def within_the_mean_eigenvalue(data: xr.Dataset) -> Estimate:
    """The other reading: the mean eigenvalue, which is in the paper's figures for reference.

    Statistic: smallest distance over the mean eigenvalue, median over the networks with $D > 1$;
    interval: 99 %, between order statistics.
    """
    return _typical(_of(data, *beyond(data), least=2), "mean")


@figures.beyond.typically(_place, MOST, id="sum-is-closer-than-by-chance")
def closer_than_chance(data: xr.Dataset) -> xr.DataArray:
    r"""Beyond the assumptions most networks have a pair that sums to $\operatorname{tr}(H)/D$ more
    closely than by chance.

    Statistic: fraction of networks with $D > 1$ whose best pair is matched by at most 5 % of their
    spectra with jittered eigenvalues; interval: Student's t over draws of the weights.

    Remark: The distance is small because there are many pairs: the sums of all pairs fill the range
    of the spectrum. If each eigenvalue is shifted at random by about the distance to its
    neighbours, the best pair comes as close to $\operatorname{tr}(H)/D$ as before.
    """
    return _share_beyond_chance(_of(data, *beyond(data), least=2))


@figure_10.beyond.typically(
    _place, TOLD, id="proved-pair-is-closer-than-by-chance", each=_about(2, "linear")
)
def told_from_chance_where_proved(data: xr.Dataset) -> xr.DataArray:
    """Where the pair is proved, the same statistic distinguishes it from chance: a control for the
    result beyond the assumptions.

    Statistic: fraction of networks with $D > 1$ whose best pair is matched by at most 5 % of their
    spectra with jittered eigenvalues; interval: Student's t over draws of the weights.
    """
    return _share_beyond_chance(_of(data, ASSUMED, least=2))


@statements.beyond.identity(
    _place,
    within(1e-10, ROUND_OFF, source="theorem"),
    id="single-eigenvalues-sum-to-the-trace-over-d",
    each=_about(4, "linear"),
)
def eigenvalues_that_occur_once(data: xr.Dataset) -> float:
    r"""Four-layer linear networks with decorrelated data, $2 < D < m - 2$ and orthonormal columns
    in all matrices but the last: no pair of eigenvalues sums to $\operatorname{tr}(H)/D$. All
    simple eigenvalues together do: the block invariant under rotations about the residual
    covariance has $1/D$ of the trace.

    Statistic: largest error over the largest eigenvalue.
    """
    # With D = 2, or less than three hidden units beyond D, others occur once as well.
    several = _of(data, ASSUMED, least=3)
    fitting = _at(several, several["width"] >= several["size"] + 3, "$2 < D < m - 2$")
    return _worst(fitting, abs(fitting["exact_target"] - fitting["single"]))


@very_close.about("singh2026cracking", "Figure 13").left_open(
    _place, NEARLY, each=_about(4, "relu")
)
def width_150(data: xr.Dataset) -> Estimate:
    r"""In four-layer ReLU networks of width 150, too, two eigenvalues sum to nearly
    $\operatorname{tr}(H)/D$.
    """
    needs(150 in data["width"], TOO_WIDE)
    return _typical(_of(data.sel(width=[150]), *beyond(data), least=2), "target")

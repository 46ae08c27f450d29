"""What singh2026cracking says of two eigenvalues that sum to tr(H)/D (figures 3 and 10 to 13)."""

import numpy as np

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure, at_least, at_most, within
from hessian_papers.ledger.statements import Cases, Statements, Study
from hessian_papers.ledger.verdicts import everywhere, typically
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.correlations.paired_eigenvalues.reading import (
    ASSUMED,
    LEVEL,
    Reading,
    median,
)

NAMES = {
    "orthogonal-decorrelated": "orthogonal parametrisation, decorrelated data",
    "orthogonal-normalised": "orthogonal parametrisation, normalised data",
    "sp-decorrelated": "standard parametrisation, decorrelated data",
    "sp-normalised": "standard parametrisation, normalised data",
}

ROUND_OFF = "round-off of an eigenvalue solver in float64, some 1e-15 of the largest eigenvalue"
NEARLY = reading_of("nearly")
REFERENCE = at_most(
    1.0, "the mean eigenvalue is what the paper's figures draw the distances against"
)
TOLD = at_least(0.95, "a true pair is missed as rarely as chance is taken for one")
MOST = at_least(
    0.5,
    "that a hypothesis holds is read as that it does for more than half of the networks, a number "
    f"of ours: chance alone gives {LEVEL:.0%}, a pair that is proved 100 %",
)
MULTIPLY = (
    "The distance is small because there are many pairs: the sums of all pairs fill the range of "
    "the spectrum. Move each eigenvalue at random by about the distance of its neighbours, and the "
    "best pair comes as close to tr(H)/D as it did before."
)
FEW = (
    "With two inputs and weights drawn independently there are few pairs with sums near tr(H)/D; "
    "the best one misses it by as much as the best pair of a spectrum whose eigenvalues are moved "
    "at random. The distance falls as the pairs multiply with D."
)
TOO_WIDE = (
    "Their Hessians have 45000 to 68000 rows and, unlike those of linear or two-layer networks, no "
    "reduction that we know of; all eigenvalues of one take hours, and a figure has thousands of "
    "networks. Width 10 is run."
)


def _place(study: Study) -> str:
    first = study.config["artifact"] == "Figure 3"
    return "section 4.1, {artifact}" if first else "appendix D.3.2, {artifact}"


def _of(depth: int, activation: str) -> Cases:
    """The part of the arrays that these networks have."""
    return lambda reading: [{}] * ((reading.depth, reading.activation) == (depth, activation))


statements = Statements(Reading, values=NAMES)
figures = statements.about(
    "singh2026cracking", *(f"Figure {number}" for number in (3, 10, 11, 12, 13))
)
figures_3_and_10 = statements.about("singh2026cracking", "Figure 3", "Figure 10")
figure_10 = statements.about("singh2026cracking", "Figure 10")
# The networks of figure 3 are among those of figure 10.
figures_10_to_13 = statements.about("singh2026cracking", *(f"Figure {n}" for n in range(10, 14)))
figure_13 = statements.about("singh2026cracking", "Figure 13")


@statements.identity(
    _place,
    within(1e-10, ROUND_OFF, source="theorem"),
    id="trace-by-layers",
    book="beyond",
)
def trace(reading: Reading) -> float:
    """tr(H) is the sum over the layers of E[‖∂f/∂(W_l h)‖² ‖h‖²], h the layer's input; it gives
    tr(H)/D and the mean eigenvalue without any eigenvalue.

    Statistic: largest error over the largest eigenvalue.
    """
    errors = [
        np.abs(reading.closed_form[name] - reading.numerics[name]) for name in ("target", "mean")
    ]
    return reading.worst(np.maximum(*errors))


@statements.identity(
    _place, within(1e-12, ROUND_OFF, source="theorem"), id="orthogonal-pair", each=_of(2, "linear")
)
def pair(reading: Reading) -> float:
    """Two-layer linear networks with orthonormal first layer and decorrelated data: two eigenvalues
    sum to tr(H)/D.

    Statistic: smallest distance over the largest eigenvalue, the largest of all networks.
    """
    assumed = reading.of(ASSUMED)
    return assumed.worst(assumed.numerics["distance"][..., 0])


@statements.identity(
    _place,
    within(1e-10, ROUND_OFF, source="theorem"),
    id="second-pair-of-the-exact-spectrum",
    book="beyond",
    each=_of(2, "linear"),
)
def second_distance(reading: Reading) -> float:
    """The second smallest distance, too, is that of the exact spectrum: the pair, a triple D − 1
    times, the bulk ±‖Vᵀw‖ and zeros.

    Statistic: largest difference.
    """
    assumed = reading.of(ASSUMED)
    exact, result = (side["distance"][..., 1] for side in (assumed.closed_form, assumed.numerics))
    # Where neither side has a second pair, both are infinite.
    equal = exact == result
    return assumed.worst(np.abs(np.where(equal, 0.0, exact) - np.where(equal, 0.0, result)))


@figures_3_and_10.statement(
    _place,
    everywhere,
    reading_of("orders of magnitude"),
    otherwise="The smallest distance is zero but for rounding; among very many networks the second "
    "one may be small by chance.",
    each=_of(2, "linear"),
)
def pair_stands_out(reading: Reading) -> float:
    """With orthonormal first layer and decorrelated data one pair of eigenvalues sums to tr(H)/D
    orders of magnitude more closely than the next best one, and than the mean eigenvalue, at every
    D.

    Statistic: the smaller of these two over the smallest distance, or over float64's rounding where
    that is more; the smallest ratio of all networks.
    """
    assumed = reading.of(ASSUMED)
    against_mean = assumed.numerics["mean"] / assumed.distances[..., 0]
    return float(min(assumed.ratios.min(), against_mean.min()))


@figures.statement(
    _place,
    typically,
    at_most(
        10.0,
        "less than an order of magnitude; by chance the median is 2, the smallest distance being "
        "uniform between 0 and the second one",
    ),
)
def no_pair_stands_out(reading: Reading) -> Estimate:
    """Beyond the assumptions no pair stands out: the second best pair is close to the best one.

    Statistic: second smallest distance over the smallest, median over the networks with D > 1;
    interval: 99 %, between order statistics.
    """
    return median(reading.of(*reading.beyond, least=2).ratios)


@figures.statement(_place, typically, NEARLY, id="sum-is-nearly-the-trace-over-d", otherwise=FEW)
def nearly(reading: Reading) -> Estimate:
    """Beyond the assumptions two eigenvalues sum to nearly tr(H)/D.

    Statistic: smallest distance over tr(H)/D, median over the networks of a point, at the D > 1
    where it is largest; interval: 99 %, between order statistics at that point.
    """
    return reading.of(*reading.beyond, least=2).furthest("target")


@figures.statement(
    _place, typically, REFERENCE, id="sum-is-closer-than-the-mean-eigenvalue", otherwise=FEW
)
def within_the_mean_eigenvalue(reading: Reading) -> Estimate:
    """Beyond the assumptions two eigenvalues sum to tr(H)/D very closely, by the reference of the
    paper's figures: to within the mean eigenvalue.

    Statistic: smallest distance over the mean eigenvalue, median over the networks of a point, at
    the D > 1 where it is largest; interval: 99 %, between order statistics at that point.
    """
    return reading.of(*reading.beyond, least=2).furthest("mean")


@figures_10_to_13.statement(
    _place,
    typically,
    MOST,
    id="sum-is-closer-than-by-chance",
    book="beyond",
    otherwise=MULTIPLY,
)
def closer_than_chance(reading: Reading) -> Estimate:
    """Beyond the assumptions most networks have a pair that sums to tr(H)/D more closely than by
    chance.

    Statistic: fraction of the networks with D > 1 whose best pair is matched by at most 5 % of its
    spectra with jittered eigenvalues; interval: Wilson's, 99 %.
    """
    return reading.of(*reading.beyond, least=2).share_beyond_chance()


@figure_10.statement(
    _place,
    typically,
    TOLD,
    id="proved-pair-is-closer-than-by-chance",
    book="beyond",
    each=_of(2, "linear"),
)
def told_from_chance_where_proved(reading: Reading) -> Estimate:
    """Where the pair is proved the same statistic tells it from chance: the control of what it says
    beyond the assumptions.

    Statistic: fraction of the networks with D > 1 whose best pair is matched by at most 5 % of its
    spectra with jittered eigenvalues; interval: Wilson's, 99 %.
    """
    return reading.of(ASSUMED, least=2).share_beyond_chance()


@statements.identity(
    _place,
    within(1e-10, ROUND_OFF, source="theorem"),
    id="single-eigenvalues-sum-to-the-trace-over-d",
    book="beyond",
    each=_of(4, "linear"),
)
def eigenvalues_that_occur_once(reading: Reading) -> float:
    """Four-layer linear networks with orthonormal columns in all matrices but the last and
    decorrelated data, 2 < D < m − 2: no two eigenvalues, but all those that occur once sum to
    tr(H)/D, since the block that rotations about the residual covariance keep has the D-th part of
    the trace.

    Statistic: largest error over the largest eigenvalue.
    """
    # With D = 2, or less than three hidden units beyond D, others occur once as well.
    several = reading.of(ASSUMED, least=3)
    fitting = several.at(several["width"] >= several["size"] + 3, "2 < D < m − 2")
    return fitting.worst(np.abs(fitting.closed_form["target"] - fitting["single"]))


@figure_13.statement(
    _place,
    typically,
    NEARLY,
    id="sum-is-nearly-the-trace-over-d",
    otherwise=FEW,
    each=_of(4, "relu"),
)
def width_150(reading: Reading) -> Estimate:
    """The same in four-layer ReLU networks of width 150."""
    if 150 not in reading.widths:
        raise NothingToMeasure(TOO_WIDE)
    return (
        reading.at(reading["width"] == 150, "width 150")
        .of(*reading.beyond, least=2)
        .furthest("target")
    )

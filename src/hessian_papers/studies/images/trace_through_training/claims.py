"""What anon2026data says about the trace of the Hessian through training."""

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import NothingToMeasure, at_most, equal_to, within
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.verdicts import everywhere, typically
from hessian_papers.studies.images.derived import GROWTH, early_fall, is_early, networks, worst
from hessian_papers.studies.images.trace_through_training.derived import standardised

STUDENT = (
    "Known for few probes only: the standard error is then itself uncertain, and a difference over "
    "it has the heavy tails of Student's t."
)
FALLS = at_most(
    0.0, "a sign; the formula is exact to rounding", source="the paper, which says it of L = 2"
)

statements = Statements()
figure_3 = statements.about("anon2026data", "Figure 3")


@statements.statement(
    "{artifact}, eq. (7)",
    everywhere,
    equal_to(
        1.0,
        "of eight independent Gaussian errors, a network's epochs in the demo, it is between 0.33 "
        "and 1.81 in 998 of 1000 cases (chi-square); of more it is nearer to 1",
        tolerance=0.8,
        source="an unbiased estimate: the squares of its standardised errors have mean 1",
    ),
    id="trace-within-the-error-of-its-estimate",
    otherwise=STUDENT,
)
def trace(data: xr.Dataset) -> float:
    """Equation (7) is the trace of the Hessian within the error of Hutchinson's estimate, at every
    epoch.

    Statistic: root mean square over the epochs of their difference in standard errors, of the
    network for which it is furthest from 1.
    """
    spreads = [float(np.sqrt(np.mean(_known(network) ** 2))) for network in networks(data)]
    return max(spreads, key=lambda spread: abs(spread - 1))


def _known(data: xr.Dataset) -> np.ndarray:
    """All differences in standard errors, where there is an error."""
    values = standardised(data).values
    if not np.isfinite(values).any():
        raise NothingToMeasure("in this configuration all random probes give the same trace")
    return values[np.isfinite(values)]


@statements.statement(
    "{artifact}, eq. (7)",
    everywhere,
    equal_to(
        0.0,
        "a Gaussian error is larger once in 1000 times",
        tolerance=3.3,
        source="an unbiased estimate",
    ),
    id="estimates-of-the-trace-have-no-preferred-sign",
    otherwise=STUDENT,
    book="beyond",
)
def no_bias(data: xr.Dataset) -> float:
    """What Hutchinson's estimates differ from eq. (7) by has no preferred sign.

    Statistic: mean of the standardised differences over all image sets and epochs, whose probes are
    drawn anew, over its standard error.
    """
    differences = _known(data)
    return float(differences.mean() * np.sqrt(len(differences)))


@statements.statement(
    "text below eq. (7); {artifact}",
    typically,
    within(
        4.0,
        "a Gaussian error is larger once in 16000 times, one of 50 once in 300 times",
        source="tr H = tr GGN at any loss: each layer enters the network linearly",
    ),
    id="trace-is-exact-early-in-training",
    otherwise=STUDENT,
)
def early(data: xr.Dataset) -> float:
    """The approximation holds very well even early in training, when the loss is high.

    Statistic: largest difference in standard errors at epochs at which more than half of the loss
    that training can remove is still there.
    """
    differences = (abs(standardised(each).where(is_early(each))) for each in networks(data))
    return worst(float(values.max()) for values in differences)


@figure_3.statement(
    "text below eq. (11)", typically, FALLS, id="curvature-falls-early", otherwise=GROWTH
)
def falls_early(data: xr.Dataset) -> float:
    """The curvature falls early in training, as the weights shrink.

    Statistic: lowest trace by eq. (7) while more than half of the loss that training can remove is
    still there, relative to the start, minus 1, of the image set where it falls least.
    """
    return worst(early_fall(network, network["trace"]) for network in networks(data))

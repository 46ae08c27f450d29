"""What anon2026data says about the trace of the Hessian through training."""

from typing import Any

import numpy as np

from hessian_spectra.ledger.vocabulary import Claim
from hessian_spectra.results import Arrays
from hessian_spectra.studies.images.epochs import GROWTH, early, lowest_early, networks

TEST = "tests/claims/test_through_training_claims.py::"
STUDENT = (
    "Known for few probes only: the standard error is then itself uncertain, and a difference over "
    "it has the heavy tails of Student's t."
)


def standardised(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """(Hutchinson − eq. 7) / standard error at each epoch, ``(t,)``."""
    return np.asarray((numeric["trace"] - exact["trace"]) / numeric["standard_error"])


def spread(closed_form: Arrays, numerics: Arrays) -> float:
    """Root mean square of the differences over a network's epochs: the one furthest from 1."""
    found = [
        float(np.sqrt(np.mean(standardised(*sides) ** 2)))
        for sides in networks(closed_form, numerics)
    ]
    return max(found, key=lambda value: abs(value - 1))


def bias(closed_form: Arrays, numerics: Arrays) -> float:
    """Mean of all standardised differences, in units of its own standard error."""
    found = np.concatenate([standardised(*sides) for sides in networks(closed_form, numerics)])
    return float(found.mean() * np.sqrt(len(found)))


def largest_early(closed_form: Arrays, numerics: Arrays) -> float:
    """The largest difference while more than half of the loss is still to go."""
    return max(
        float(np.abs(standardised(exact, numeric)[early(exact)]).max())
        for exact, numeric in networks(closed_form, numerics)
    )


def early_fall(closed_form: Arrays, numerics: Arrays) -> float:
    """The lowest early trace over the start's, less 1, where it falls least."""
    return float(
        np.max(
            [lowest_early(exact["trace"], exact) for exact, _ in networks(closed_form, numerics)]
        )
    )


def claims(study: str) -> list[Claim]:
    """The claims of one study of this kind."""
    common: dict[str, Any] = {"paper": "anon2026data", "study": study}
    return [
        Claim(
            id=f"{study}/trace",
            location="Figure 3, eq. (7)",
            statement="Equation (7) is the trace of the Hessian within the error of Hutchinson's "
            "estimate, at every epoch. Statistic: root mean square over the epochs of their "
            "difference in standard errors, of the network for which it is furthest from 1",
            kind="value",
            test=f"{TEST}test_a_wrong_trace_is_noticed",
            measure=spread,
            expected=1.0,
            source="an unbiased estimate: the squares of its standardised errors have mean 1",
            relation="=",
            tolerance=0.8,
            reason="of eight independent Gaussian errors, a network's epochs in the demo, it is "
            "between 0.33 and 1.81 in 998 of 1000 cases (chi-square); of more it is nearer to 1",
            explanation=STUDENT,
            **common,
        ),
        Claim(
            id=f"{study}/no-bias",
            location="Figure 3, eq. (7)",
            statement="What Hutchinson's estimates differ from eq. (7) by has no preferred sign. "
            "Statistic: mean of the standardised differences over all image sets and epochs, whose "
            "probes are drawn anew, over its standard error",
            kind="value",
            test=f"{TEST}test_a_bias_is_noticed",
            measure=bias,
            source="an unbiased estimate",
            relation="=",
            tolerance=3.3,
            reason="a Gaussian error is larger once in 1000 times",
            explanation=STUDENT,
            **common,
        ),
        Claim(
            id=f"{study}/early",
            location="text below eq. (7); Figure 3",
            statement="The approximation holds very well even early in training, when the loss is "
            "high. Statistic: largest difference in standard errors at epochs at which more than "
            "half of the loss that training can remove is still there",
            kind="value",
            test=f"{TEST}test_only_early_epochs_are_early",
            measure=largest_early,
            source="tr H = tr GGN at any loss: each layer enters the network linearly",
            tolerance=4.0,
            reason="a Gaussian error is larger once in 16000 times, one of 50 once in 300 times",
            explanation=STUDENT,
            **common,
        ),
        Claim(
            id=f"{study}/falls-early",
            location="text below eq. (11)",
            statement="The curvature falls early in training, as the weights shrink. Statistic: "
            "lowest trace by eq. (7) while more than half of the loss that training can remove is "
            "still there, relative to the start, less 1, of the image set where it falls least",
            kind="trend",
            test=f"{TEST}test_an_early_fall_is_found",
            measure=early_fall,
            source="the paper, which says it of L = 2",
            reason="a sign; the formula is exact to rounding",
            explanation=GROWTH,
            **common,
        ),
    ]

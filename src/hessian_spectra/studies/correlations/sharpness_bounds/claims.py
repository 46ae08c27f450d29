"""What D.3.3 of singh2026cracking derives from a block-diagonal Hessian, beside the sharpness."""

from functools import partial

import numpy as np

from hessian_spectra.ledger.vocabulary import Claim, Estimate
from hessian_spectra.results import Arrays
from hessian_spectra.studies.correlations.norm_correlation.reading import NAMES, TIMES, claim

ARGUMENT = 'Appendix D.3.3, "Why Squared Spectral Norm?"'
TEST = "tests/claims/test_correlation_claims.py"
NORMAL = 1.959964  # the 97.5 % quantile of the standard normal distribution
SAMPLED = (
    "the second moments of so many Gaussian inputs are the identity up to some per cent only, and "
    "with them the terms"
)


def _pooled(correlation: Arrays, formula: str, parametrisation: str, time: str) -> np.ndarray:
    """Quantiles of the ratio over the networks of all sizes."""
    row = correlation["parametrisation"].tolist().index(parametrisation)
    when = correlation["time"].tolist().index(time)
    return np.asarray(correlation[f"pooled_{formula}"][row, when])


def smallest_ratio(correlation: Arrays) -> float:
    """The sharpness over the maximum, smallest over all networks and times."""
    return float(np.nanmin(correlation["pooled_maximum"]))


def typical_error(correlation: Arrays, formula: str, parametrisation: str, time: str) -> Estimate:
    """|ratio − 1| at the median network, and the range in which 95 % of the networks lie."""
    level = correlation["level"].tolist()
    quantiles = _pooled(correlation, formula, parametrisation, time)
    low, middle, high = (quantiles[level.index(q)] for q in (0.025, 0.5, 0.975))
    nearest = 0.0 if low <= 1 <= high else min(abs(low - 1), abs(high - 1))
    return Estimate(abs(middle - 1), nearest, max(abs(low - 1), abs(high - 1)))


def share_closer(correlation: Arrays, time: str) -> Estimate:
    """The share of networks for which the sum is nearer, with Wilson's 95 % interval."""
    when = correlation["time"].tolist().index(time)
    used = correlation["used"][..., when]
    closer = np.where(used > 0, correlation["closer"][..., when], 0.0)
    number = float(used.sum())
    share = float((closer * used).sum()) / number
    centre, scale = share + NORMAL**2 / (2 * number), 1 + NORMAL**2 / number
    half = NORMAL * float(np.sqrt(share * (1 - share) / number + (NORMAL / (2 * number)) ** 2))
    return Estimate(share, (centre - half) / scale, (centre + half) / scale)


def claims(study: str) -> list[Claim]:
    """The claims that a study of this kind measures."""
    return [
        claim(
            study,
            "lower-bound",
            ARGUMENT,
            "Whether or not the Hessian is block-diagonal, its largest eigenvalue is at least the "
            "larger squared spectral norm of the two matrices, whatever the loss. Statistic: "
            "smallest ratio over all networks, before and after training",
            smallest_ratio,
            kind="value",
            expected=1.0,
            tolerance=0.1,
            test="test_the_smallest_ratio_is_found",
            reason=f"exact for white inputs; {SAMPLED}",
            explanation="The bound is exact with the second moments S of the inputs, as "
            "max(λ_max(W_1 S W_1ᵀ), σ_max²(W_2) λ_max(S)). In print S is the identity; that of n "
            "Gaussian samples has eigenvalues down to about (1 − √(D/n))², well below 1 where D is "
            "not small beside n.",
        ),
        *(_value(study, name) for name in NAMES),
        *(
            claim(
                study,
                f"sum-closer-{time}",
                ARGUMENT,
                f"{TIMES[time].capitalize()} the sum of both squared spectral norms is closer to "
                "the sharpness than the larger of them. Statistic: share of the networks for which "
                "it is, in logarithms",
                partial(share_closer, time=time),
                kind="value",
                expected=0.5,
                test="test_the_sum_is_closer_where_it_is",
                source="anon2026data (10): the sum is exact for white inputs and no residual",
                reason="more often than not",
            )
            for time in TIMES
        ),
    ]


def _value(study: str, name: str) -> Claim:
    """The sum is what the maximum was meant to be; the maximum may be off by up to a half."""
    return Claim(
        id=f"{study}/value-{name}",
        paper="singh2026cracking",
        location=ARGUMENT,
        statement=(
            f"{NAMES[name]}, after training: the sharpness is the sum of both squared spectral "
            "norms. Statistic: |ratio − 1| of the median network over all D; interval: where "
            "95 % of the networks lie"
        ),
        kind="value",
        study=study,
        test=f"{TEST}::test_the_typical_error_is_found",
        measure=partial(typical_error, formula="sum", parametrisation=name, time="trained"),
        sides=("correlation",),
        relation="<=",
        tolerance=0.1,
        source="anon2026data (10)",
        reason=f"exact at zero loss for white inputs; {SAMPLED}",
        printed="The sharpness is the larger of the two squared spectral norms",
        measure_printed=partial(
            typical_error, formula="maximum", parametrisation=name, time="trained"
        ),
    )

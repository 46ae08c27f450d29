"""What D.3.3 of singh2026cracking derives from a block-diagonal Hessian, beside the sharpness."""

from hessian_spectra.ledger.bounds import Estimate, at_least, within
from hessian_spectra.ledger.claims import Claims, Print, over
from hessian_spectra.studies.correlations.reading import PARAMETRISATIONS, TIMES
from hessian_spectra.studies.correlations.sharpness_bounds.reading import Reading

ARGUMENT = 'Appendix D.3.3, "Why Squared Spectral Norm?"'
SAMPLED = (
    "the second moments of so many Gaussian inputs are the identity up to some per cent only, and "
    "with them the terms"
)
NOT_WHITE = (
    "The bound is exact with the second moments S of the inputs, as "
    "max(λ_max(W_1 S W_1ᵀ), σ_max²(W_2) λ_max(S)). In print S is the identity; that of n "
    "Gaussian samples has eigenvalues down to about (1 − √(D/n))², well below 1 where D is "
    "not small beside n."
)

claims = Claims(
    Reading, values=PARAMETRISATIONS | {name: text.capitalize() for name, text in TIMES.items()}
)
appendix = claims.about("singh2026cracking", "Appendix D.3.3")


@claims.value(
    ARGUMENT,
    at_least(1.0, f"exact for white inputs; {SAMPLED}", tolerance=0.1),
    otherwise=NOT_WHITE,
)
def lower_bound(reading: Reading) -> float:
    """Whether or not the Hessian is block-diagonal, its largest eigenvalue is at least the larger
    squared spectral norm of the two matrices, whatever the loss. Statistic: smallest ratio over all
    networks, before and after training
    """
    return reading.least_over_maximum


def _of_the_maximum(reading: Reading, parametrisation: str) -> Estimate:
    return reading.typical_error("maximum", parametrisation, "trained")


@appendix.value(
    ARGUMENT,
    within(0.1, f"exact at zero loss for white inputs; {SAMPLED}", source="anon2026data (10)"),
    each=over("parametrisation"),
    printed=Print("The sharpness is the larger of the two squared spectral norms", _of_the_maximum),
)
def value(reading: Reading, parametrisation: str) -> Estimate:
    """{parametrisation}, after training: the sharpness is the sum of both squared spectral norms.
    Statistic: |ratio − 1| of the median network over all D; interval: 95 %, of the median, by the
    quartiles
    """
    return reading.typical_error("sum", parametrisation, "trained")


@appendix.value(
    ARGUMENT,
    at_least(
        0.5,
        "more often than not",
        source="anon2026data (10): the sum is exact for white inputs and no residual",
    ),
    each=over("time"),
)
def sum_closer(reading: Reading, time: str) -> Estimate:
    """{time} the sum of both squared spectral norms is closer to the sharpness than the larger of
    them. Statistic: share of the networks for which it is, in logarithms
    """
    return reading.share_closer(time)

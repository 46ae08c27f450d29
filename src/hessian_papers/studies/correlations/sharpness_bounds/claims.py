"""What D.3.3 of singh2026cracking derives from a block-diagonal Hessian, beside the sharpness."""

from hessian_papers.ledger.bounds import Estimate, at_least, within
from hessian_papers.ledger.statements import Print, Statements, over
from hessian_papers.ledger.verdicts import always, everywhere, typically
from hessian_papers.studies.correlations.reading import PARAMETRISATIONS, TIMES
from hessian_papers.studies.correlations.sharpness_bounds.reading import Reading

ARGUMENT = 'Appendix D.3.3, "Why Squared Spectral Norm?"'
SAMPLED = "a tenth for the second moments of Gaussian inputs, which are only nearly the identity"
NOT_WHITE = (
    "With the second moments S of the inputs the bound is max(λ_max(W_1 S W_1ᵀ), "
    "σ_max²(W_2) λ_max(S)), and exact (study {study of Theorems 3.1 to 3.5, appendix B}). In print "
    "S is the identity; that of n Gaussian samples, as the paper's experiments have them, has "
    "eigenvalues from about (1 − √(D/n))² to (1 + √(D/n))²."
)

statements = Statements(
    Reading, values=PARAMETRISATIONS | {name: text.capitalize() for name, text in TIMES.items()}
)
appendix = statements.about("singh2026cracking", "Appendix D.3.3")


@statements.statement(
    ARGUMENT,
    always,
    at_least(1.0, "exact for the white inputs that the argument assumes"),
    id="larger-norm-bounds-the-sharpness",
    otherwise=NOT_WHITE,
)
def lower_bound(reading: Reading) -> float:
    """Whether or not the Hessian is block-diagonal, its largest eigenvalue is at least the larger
    squared spectral norm of the two matrices.

    Statistic: smallest ratio over all networks of the experiments, at initialisation and after
    training.
    """
    return reading.least_over_maximum


def _of_the_maximum(reading: Reading, parametrisation: str) -> Estimate:
    return reading.typical_error("maximum", parametrisation, "trained")


@appendix.statement(
    ARGUMENT,
    everywhere,
    within(0.1, f"exact at zero loss for white inputs; {SAMPLED}", source="anon2026data (10)"),
    otherwise=NOT_WHITE,
    id="sharpness-is-the-sum-of-both-norms",
    each=over("parametrisation"),
    printed=Print("The sharpness is the larger of the two squared spectral norms", _of_the_maximum),
)
def value(reading: Reading, parametrisation: str) -> Estimate:
    """After training the sharpness is the sum of both squared spectral norms.

    Statistic: |ratio − 1| of the median network at the D where it is largest; interval: 95 %, of
    the median, by the quartiles.
    """
    return reading.typical_error("sum", parametrisation, "trained")


@appendix.statement(
    ARGUMENT,
    typically,
    at_least(
        0.5,
        "more often than not",
        source="anon2026data (10): the sum is exact for white inputs and no residual",
    ),
    book="beyond",
    id="sum-of-norms-is-closer",
    each=over("time"),
)
def sum_closer(reading: Reading, time: str) -> Estimate:
    """The sum of both squared spectral norms is closer to the sharpness than the larger of them.

    Statistic: fraction of the networks for which it is, in logarithms.
    """
    return reading.share_closer(time)

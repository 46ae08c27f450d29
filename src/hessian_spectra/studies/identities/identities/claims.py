"""The claims behind every theorem, corollary, remark and bound, and the errata."""

from hessian_spectra.ledger.vocabulary import Claim
from hessian_spectra.studies.identities.identities.checks import WITHOUT_ASSUMPTIONS
from hessian_spectra.studies.identities.identities.statements_attention import ATTENTION
from hessian_spectra.studies.identities.identities.statements_bias import BIAS
from hessian_spectra.studies.identities.identities.statements_deep import DEEP
from hessian_spectra.studies.identities.identities.statements_linear import LINEAR, RELU
from hessian_spectra.studies.identities.identities.statements_text import (
    CRACKING,
    Statement,
    as_claims,
    least,
)
from hessian_spectra.studies.identities.identities.statements_wide import WIDE

NUMERICS = {
    "second-library": Statement(
        "The Hessian operator behind all eigenvalues agrees with the paper's own library, "
        "curvlinops.",
        {CRACKING: "appendix D.1"},
        source="curvlinops, on every tenth instance",
    ),
}

STATEMENTS = {**LINEAR, **RELU, **BIAS, **WIDE, **ATTENTION, **DEEP, **NUMERICS}

# Printed formulas where their assumption does not hold: they have to fail.
_ASSUMPTIONS = {
    "bias-assumptions": (
        "Theorem B.1",
        "Each assumption is needed by itself (on targets in the weaker form): without one of them "
        "the printed spectrum is off by 1 % of the largest eigenvalue or more. Statistic: "
        "largest error of the instances that break it, smallest of the five assumptions.",
    ),
    "decorrelation": (
        "Corollary B.1",
        "Decorrelated inputs are needed: for correlated ones the sum over the coordinates is off "
        "by 1 % of the largest eigenvalue or more. Statistic: largest error of the instances.",
    ),
}


def claims(study: str) -> list[Claim]:
    """The claims that the study of the identities measures.

    Args:
        study: its name.
    """
    return as_claims(study, STATEMENTS) + [
        Claim(
            id=f"{study}/{name}",
            paper=CRACKING,
            location=location,
            statement=statement,
            kind="value",
            study=study,
            test=f"tests/studies/test_identities.py::test_assumption_is_needed[{name}]",
            measure=least(WITHOUT_ASSUMPTIONS[name]),
            expected=0.01,
            source="a round number far above round-off",
            relation=">=",
            reason="a bound, with no tolerance",
            explanation="",
        )
        for name, (location, statement) in _ASSUMPTIONS.items()
    ]

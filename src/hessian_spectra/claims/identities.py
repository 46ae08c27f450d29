"""The claims behind every theorem, corollary, remark and bound, and the errata."""

from hessian_spectra.checks import WITHOUT_ASSUMPTIONS
from hessian_spectra.claims.identities_attention import ATTENTION
from hessian_spectra.claims.identities_bias import BIAS
from hessian_spectra.claims.identities_linear import LINEAR, RELU
from hessian_spectra.claims.identities_text import CRACKING, Statement, as_claims, middle
from hessian_spectra.claims.identities_wide import WIDE
from hessian_spectra.claims.ledger import Claim

NUMERICS = {
    "second-library": Statement(
        "The Hessian operator behind all eigenvalues agrees with the paper's own library, "
        "curvlinops.",
        {CRACKING: "appendix D.1"},
        source="curvlinops, on every tenth instance",
    ),
}

STATEMENTS = {**LINEAR, **RELU, **BIAS, **WIDE, **ATTENTION, **NUMERICS}

# Printed formulas where their assumption does not hold: they have to fail.
_ASSUMPTIONS = {
    "bias-assumptions": (
        "Theorem B.1",
        "The assumptions on weights and targets are needed: elsewhere the printed spectrum is off "
        "by at least 1 % of the largest eigenvalue. Statistic: median over the instances.",
    ),
    "decorrelation": (
        "Corollary B.1",
        "Decorrelated inputs are needed: for correlated ones the sum over the coordinates is off "
        "by at least 1 % of the largest eigenvalue. Statistic: median over the instances.",
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
            measure=middle(WITHOUT_ASSUMPTIONS[name]),
            expected=0.01,
            source="a round number far above round-off",
            relation=">=",
            reason="a bound, with no tolerance",
            explanation="",
        )
        for name, (location, statement) in _ASSUMPTIONS.items()
    ]

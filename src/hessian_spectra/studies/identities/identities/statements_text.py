"""How the statements about the identities are written down, and how they become claims."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hessian_spectra.ledger.vocabulary import Claim, Measure
from hessian_spectra.studies.identities.identities.checks import CHECKS
from hessian_spectra.studies.identities.identities.checks.check import Errors

CRACKING, CLOSED, POSTER = "singh2026cracking", "singh2024closed", "singh2024poster"
DATA = "anon2026data"
_SUFFIX = {CRACKING: "", CLOSED: "-2024", POSTER: "-poster", DATA: ""}

_TESTS = "tests/studies/test_identities.py"


@dataclass(frozen=True)
class Statement:
    """One statement of one or several papers, tied to a check.

    Args:
        text: the statement, for an erratum the corrected one.
        places: where each paper makes it.
        printed: for an erratum, what is in print.
        remark: what a reader should know about the difference.
        source: what the error is taken from, if not from brute force alone.
    """

    text: str
    places: Mapping[str, str]
    printed: str | None = None
    remark: str = ""
    source: str = "brute force: the dense Hessian of the network, by automatic differentiation"


def worst(errors: Errors) -> Measure:
    """The largest error of all instances; NaN if one of them is."""

    def measure(closed_form: dict, numerics: dict) -> float:
        return float(np.max(errors(closed_form, numerics)))

    return measure


def least(errors: Errors) -> Measure:
    """The smallest of several errors; NaN if one of them is."""

    def measure(closed_form: dict, numerics: dict) -> float:
        return float(np.min(errors(closed_form, numerics)))

    return measure


def as_claims(study: str, statements: Mapping[str, Statement]) -> list[Claim]:
    """The claims of a study; a statement of two papers is one claim for each."""
    found = []
    for name, statement in statements.items():
        check = CHECKS[name]
        if (check.printed is None) != (statement.printed is None):
            raise ValueError(f"{name}: an erratum needs both the print and its errors")
        test = "test_print_is_wrong" if statement.printed else "test_identity_holds"
        for paper, location in statement.places.items():
            found.append(
                Claim(
                    id=f"{study}/{name}{_SUFFIX[paper]}",
                    paper=paper,
                    location=location,
                    statement=statement.text,
                    kind="identity",
                    study=study,
                    test=f"{_TESTS}::{test}[{name}]",
                    measure=worst(check.errors),
                    source=statement.source,
                    tolerance=check.tolerance,
                    reason=check.reason,
                    printed=statement.printed,
                    measure_printed=None if check.printed is None else worst(check.printed),
                    explanation=statement.remark,
                )
            )
    return found

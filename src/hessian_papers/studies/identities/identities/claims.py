"""Every theorem, corollary, remark and bound against brute force, and the errata.

The statements stand in ``statements.yaml``; what is compared for each of them, in ``reading.py``.
"""

from collections.abc import Iterator

import numpy as np

from hessian_papers.ledger.bounds import Bound, at_least, within
from hessian_papers.ledger.statements import Labels, Print, Statements
from hessian_papers.ledger.verdicts import always
from hessian_papers.studies.identities.identities.comparison import REASONS, same
from hessian_papers.studies.identities.identities.reading import CHECKS, STATEMENTS, Reading

CRACKING = "singh2026cracking"
# A claim's name ends with its paper, where a statement is one of several papers.
SUFFIXES = {"singh2024closed": "-2024", "singh2024poster": "-poster"}
BRUTE_FORCE = "brute force: the dense Hessian of the network, by automatic differentiation"
# Printed formulas where their assumption does not hold have to fail.
FAILS = at_least(0.01, "a bound, with no tolerance", source="a round number far above round-off")

statements = Statements(Reading)


def _rows(reading: Reading) -> Iterator[Labels]:
    """The rows of the table, one for each paper that makes a statement."""
    for name, statement in STATEMENTS.items():
        row = {"printed": "", "remark": "", "source": BRUTE_FORCE} | statement
        del row["label"]
        for paper, place in row.pop("places").items():
            yield row | {
                "name": name,
                "paper": paper,
                "place": place,
                "suffix": SUFFIXES.get(paper, ""),
            }


def _bound(row: Labels) -> Bound:
    tolerance = CHECKS[row["name"]].tolerance
    return within(tolerance, REASONS[tolerance], source=row["source"])


def _in_print(reading: Reading, name: str, **row: str) -> float:
    return reading.worst(reading.printed_errors(name))


def _print(row: Labels) -> Print | None:
    return Print(row["printed"], _in_print) if row["printed"] else None


@statements.identity(
    "{place}",
    _bound,
    paper="{paper}",
    otherwise="{remark}",
    printed=_print,
    each=_rows,
    id="{name}",
    name="{name}{suffix}",
)
def identity(reading: Reading, name: str, **row: str) -> float:
    """{text}"""
    return reading.worst(reading.errors(name))


@statements.statement(
    "Theorem B.1",
    always,
    FAILS,
    id="each-assumption-of-bias-is-needed",
    paper=CRACKING,
    book="beyond",
)
def bias_assumptions(reading: Reading) -> float:
    """Each assumption is needed by itself (on targets in the weaker form): without one of them the
    printed spectrum is off by 1 % of the largest eigenvalue or more. Statistic: largest error of
    the instances that break it, smallest of the five assumptions.
    """
    return min(reading.without_assumption().values())


@statements.statement(
    "Corollary B.1", always, FAILS, id="decorrelation-is-needed", paper=CRACKING, book="beyond"
)
def decorrelation(reading: Reading) -> float:
    """Decorrelated inputs are needed: for correlated ones the sum over the coordinates is off by
    1 % of the largest eigenvalue or more. Statistic: largest error of the instances.
    """
    error, instances = same("decoupled", "eigenvalues"), reading.instances("correlated_input")
    return reading.worst(np.array([error(one) for one in instances]))

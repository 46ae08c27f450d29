"""The statements of the catalogue of theorems: a row each, and a case for each paper that has it.

All texts come from :mod:`hessian_papers.theorems`, by the arrays of the study.
"""

from collections.abc import Callable, Iterator

from hessian_papers.ledger.bounds import Bound, at_least, within
from hessian_papers.ledger.statements import Cases, Labels, Print, Statements
from hessian_papers.ledger.verdicts import always
from hessian_papers.studies.identities.identities.reading import Reading, Row, worst

# A case's name ends with its paper, where a statement is one of several papers.
SUFFIXES = {"singh2024closed": "-2024", "singh2024poster": "-poster"}
# What a statement about a needed assumption is cited by.
CITED = {
    "bias-assumptions": "each-assumption-of-bias-is-needed",
    "decorrelation": "decorrelation-is-needed",
}

statements = Statements(Reading)


def _rows(*, needed: bool) -> Cases:
    def cases(reading: Reading) -> Iterator[Labels]:
        for row in reading.rows.values():
            for paper, place in row.places.items() if row.needed == needed else ():
                suffix, cited = SUFFIXES.get(paper, ""), CITED.get(row.name, row.name)
                case = {"paper": paper, "place": place, "suffix": suffix, "cited": cited}
                yield case | {"row": row, "name": row.name, "text": row.statement}

    return cases


def _bound(relation: Callable[..., Bound]) -> Callable[[Labels], Bound]:
    return lambda case: relation(
        case["row"].tolerance, case["row"].reason, source=case["row"].source
    )


def _print(case: Labels) -> Print | None:
    row = case["row"]
    return Print(row.printed, lambda *_, **__: worst(row.printed_errors)) if row.printed else None


@statements.identity(
    "{place}",
    _bound(within),
    paper="{paper}",
    otherwise=lambda case: case["row"].remark,
    printed=_print,
    each=_rows(needed=False),
    id="{cited}",
    name="{name}{suffix}",
)
def identity(reading: Reading, row: Row, **case: str) -> float:
    """{text}"""
    return worst(row.errors)


@statements.statement(
    "{place}",
    always,
    _bound(at_least),
    paper="{paper}",
    each=_rows(needed=True),
    id="{cited}",
    name="{name}{suffix}",
    book="beyond",
)
def assumption(reading: Reading, row: Row, **case: str) -> float:
    """{text}"""
    return -worst(-row.errors)

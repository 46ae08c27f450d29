"""The sentence that stands over a figure: what one sees, said where its statements hold."""

from collections.abc import Mapping, Sequence
from typing import Any

from hessian_papers.ledger.record import StatementRecord
from hessian_papers.ledger.statements import ELSEWHERE
from hessian_spectra.validation import require

# By study: the ``sentence``, and the ids of the statements that it ``rests_on``.
Leads = Mapping[str, Mapping[str, Any]]
KEYS = ("sentence", "rests_on")


def require_lead(entry: Any, where: str) -> None:
    """Refuse what is no lead sentence.

    Args:
        entry: ``sentence``, a text, and ``rests_on``, the ids of at least one statement.
        where: it stands, for the message.

    Raises:
        ValueError: it is another thing.
    """
    fits = isinstance(entry, dict) and set(entry) == {*KEYS}
    fits = fits and isinstance(entry["sentence"], str) and isinstance(entry["rests_on"], list)
    require(fits and bool(entry["rests_on"]), where, "a sentence and the ids it rests_on", entry)


def lead(leads: Leads, statements: Sequence[StatementRecord], study: str, *, recorded: bool) -> str:
    """The lead sentence of a figure, or nothing where one of its statements does not hold.

    It is said of a run if each statement that it rests on has cases that were measured on that run
    of the study, and all of these hold; those that the paper does not have count with the others.

    Args:
        leads: the sentences by study.
        statements: the ledger.
        study: the figure's.
        recorded: whether the figure is of the recorded run.
    """
    if study not in leads:
        return ""
    names = leads[study]["rests_on"]
    outcomes: dict[str, set[str]] = {name: set() for name in names}
    for statement in statements:
        outcomes.get(statement.id.removesuffix(ELSEWHERE), set()).update(
            run.outcome
            for case in statement.cases
            for run in case.runs
            if (run.study, run.recorded) == (study, recorded)
        )
    holds = all(each - {"not measured"} == {"holds"} for each in outcomes.values())
    return str(leads[study]["sentence"]) if holds else ""

"""The sentence that stands over a figure: what one sees, said where its statements hold."""

from collections.abc import Mapping, Sequence
from typing import Any

from hessian_papers.ledger.record import StatementRecord, all_cases
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
    of the study, and all of these hold.

    Args:
        leads: the sentences by study.
        statements: the ledger.
        study: the figure's.
        recorded: whether the figure is of the recorded run.
    """
    if study not in leads:
        return ""
    outcomes: dict[str, set[str]] = {name: set() for name in leads[study]["rests_on"]}
    for statement in statements:
        if statement.id in outcomes:
            runs = (run for case in all_cases([statement]) for run in case.runs)
            outcomes[statement.id] |= {
                run.outcome for run in runs if (run.study, run.recorded) == (study, recorded)
            }
    holds = all(measured - {"not measured"} == {"holds"} for measured in outcomes.values())
    return str(leads[study]["sentence"]) if holds else ""

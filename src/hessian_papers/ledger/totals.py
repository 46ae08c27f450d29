"""The ledger in few numbers: how often each verdict was given, and how small round-off is."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from hessian_papers.ledger.bounds import VERDICTS
from hessian_papers.ledger.record import ClaimRecord

# The verdict of a statement that several papers make: the first of these that one of them has.
_LEAST_FAVOURABLE = ("differs", "undecided", "not run at this scale", "corrected", "reproduced")

# Round-off differs from processor to processor, and between zero and some 1e-13. It is shown as a
# power of ten, no smaller than this and with a margin.
ROUND_OFF = 1e-12
_MARGIN = 2.5
# A wider tolerance than this is that of an ill-conditioned quantity.
_WIDE = 1e-10


def round_off(error: float, tolerance: float = 0.0) -> float:
    """A bound on an error that is round-off, the same on other processors unless it really moves.

    Args:
        error: the largest that was measured.
        tolerance: the largest that is expected, which is wide where errors jump.

    Example:
        >>> round_off(0.0), round_off(4e-15), round_off(3e-9), round_off(4e-15, 1e-7)
        (1e-12, 1e-12, 1e-08, 1e-08)
    """
    least = tolerance / 10 if tolerance > _WIDE else ROUND_OFF
    return float(f"1e{math.ceil(math.log10(max(_MARGIN * abs(error), least)))}")


def statements(records: Iterable[ClaimRecord]) -> list[ClaimRecord]:
    """One record for each statement, the least favourable of the papers that make it.

    A paper may make a statement several times, of several studies: the k-th is then one with the
    k-th of the other papers.
    """
    groups: dict[tuple[str, int], list[ClaimRecord]] = {}
    made: Counter[tuple[str, str]] = Counter()
    for record in records:
        key = record.paper, record.statement
        groups.setdefault((record.statement, made[key]), []).append(record)
        made[key] += 1
    return [
        min(group, key=lambda record: _LEAST_FAVOURABLE.index(record.verdict))
        for group in groups.values()
    ]


def counts(records: Iterable[ClaimRecord]) -> dict[str, int]:
    """How many statements have each verdict."""
    found = Counter(record.verdict for record in statements(records))
    return {verdict: found[verdict] for verdict in VERDICTS}


def summary(records: Sequence[ClaimRecord]) -> str:
    """The ledger in one line: how many statements have each verdict, by the strongest run."""
    found = statements(records)
    verdicts = ", ".join(f"{number} {verdict}" for verdict, number in counts(records).items())
    kept = Counter(record.scale for record in found if record.recorded)
    by = ", ".join(f"{number} at scale {scale}" for scale, number in sorted(kept.items()))
    return f"{len(found)} claims: {verdicts}" + (f"; decided by recorded runs: {by}" if by else "")


def metrics(records: Sequence[ClaimRecord]) -> dict[str, Any]:
    """The ledger in few numbers, for ``dvc metrics`` and ``dvc exp show``.

    Returns:
        ``verdicts``: how many statements have each verdict, by the strongest run; ``this_run``: the
        same by today's runs alone; ``digits``: for each study to how many whole digits its
        identities hold today, see :func:`round_off`.
    """
    today = [run for record in records for run in record.runs if not run.recorded]
    return {"verdicts": counts(records), "this_run": counts(today), "digits": _digits(today)}


def _digits(records: Iterable[ClaimRecord]) -> dict[str, int]:
    found: dict[str, int] = {}
    for record in records:
        if record.kind == "identity" and record.study and record.expected is not None:
            # NaN and infinity are no number in a record.
            error = 1.0 if record.measured is None else record.measured
            digits = max(0, round(-math.log10(round_off(error))))
            found[record.study] = min(found.get(record.study, digits), digits)
    return found

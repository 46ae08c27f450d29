"""The statements of which two states of the project say something else."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from hessian_papers.ledger.bounds import Estimate
from hessian_papers.ledger.evaluation import Measurement, decided
from hessian_papers.ledger.record import CaseRecord, StatementRecord
from hessian_papers.ledger.statements import Heading
from hessian_papers.ledger.table import expected, measured, with_interval

# In place of a verdict, of what the papers themselves say.
IN_PRINT = "in print"
# What speaks neither for nor against what is in print.
_SILENT = ("reproduced", "not tested", "shown")
# Smaller numbers are errors of what is exact.
_ROUND_OFF = 1e-9
_ALL = "all cases together"
# A case by its id, on the recorded run or on today's.
_Key = tuple[str, bool]


@dataclass(frozen=True)
class Row:
    """A number of a statement in both states.

    Args:
        case: what tells it from the statement's others; its id if nothing does.
        numbers: the old and the new one, each with its interval.
        outcomes: what both say; of what is in print, which is no outcome, nothing.
        size: how far it moved, in units of both intervals, or else of the old number.
    """

    case: str
    numbers: tuple[str, str]
    outcomes: tuple[str, str]
    size: float

    @property
    def turned(self) -> bool:
        """Whether it says something else now."""
        return self.outcomes[0] != self.outcomes[1]


@dataclass(frozen=True)
class Move:
    """A statement of which the verdict, or a measured number, is another one.

    Args:
        statement: as the new state has it.
        verdicts: the old one and the new one.
        rows: the numbers that moved.
    """

    statement: StatementRecord
    verdicts: tuple[str, str]
    rows: Sequence[Row]

    @property
    def turned(self) -> bool:
        """Whether its verdict is another one."""
        return self.verdicts[0] != self.verdicts[1]

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """The order: verdicts first, then outcomes, then by how far the numbers moved."""
        outcome = any(row.turned for row in self.rows)
        return not self.turned, not outcome, -max((row.size for row in self.rows), default=0.0)


def moves(old: Sequence[StatementRecord], new: Sequence[StatementRecord]) -> list[Move]:
    """The statements whose verdict or measured number moved, verdicts first.

    Only cases that both have count, on runs that both have: where one state has more, verdicts are
    those of what is common, or of the whole where its cases were paired by replicates. Numbers that
    are written alike are the same, and so is all round-off.

    Args:
        old: a ledger.
        new: another one.
    """
    before = {statement.id: statement for statement in old}
    pairs = ((before[s.id], s) for s in new if s.id in before)
    moved = [move for each, other in pairs if (move := _move(each, other))]
    return sorted(moved, key=lambda move: move.rank)


def against_print(new: Sequence[StatementRecord]) -> list[Move]:
    """The statements of the papers that do not hold as printed, with what is expected of each case.

    Args:
        new: a ledger.
    """
    moved = []
    for statement in new:
        if statement.book == "beyond" or statement.verdict in _SILENT:
            continue
        rows = [
            Row(_name(case), (expected(case.bound), measured(case, statement.identity)),
                ("", case.outcome), _size(Estimate(case.bound.expected), case.estimate))
            for case in statement.cases if case.outcome in ("fails", "open")
        ]  # fmt: skip
        moved.append(Move(statement, (IN_PRINT, statement.verdict), rows))
    return sorted(moved, key=lambda move: move.rank)


def of_recorded(statements: Sequence[StatementRecord]) -> list[StatementRecord]:
    """The statements as recorded runs alone decide them, as if each were a run of today."""
    alone = []
    for statement in statements:
        runs = _runs(statement)
        known = {key: replace(run, recorded=False) for key, run in runs.items() if key[1]}
        if known:
            alone.append(_decided(statement, [*known.values()]))
    return alone


def _runs(statement: StatementRecord) -> dict[_Key, CaseRecord]:
    runs = (run for case in statement.cases for run in case.runs)
    return {(run.id, run.recorded): replace(run, beside=None) for run in runs}


def _decided(statement: StatementRecord, runs: Sequence[CaseRecord]) -> StatementRecord:
    """A statement as some of its runs decide it."""
    heading = Heading(**{each.name: getattr(statement, each.name) for each in fields(Heading)})

    def in_print_fails(run: CaseRecord) -> bool:
        if run.printed_error is None or run.expected is None:
            of_another = run.printed is None and any(case.printed for case in statement.cases)
            return statement.verdict == "corrected" and not of_another
        return run.bound.outcome(Estimate(run.printed_error)) == "fails"

    again = [
        Measurement(heading, run, run.estimate, run.bound, in_print_fails(run)) for run in runs
    ]
    (result,) = decided(again)
    return result


def _move(old: StatementRecord, new: StatementRecord) -> Move | None:
    """The numbers and the verdict of a statement that moved; ``None`` if none did."""
    before, after = _runs(old), _runs(new)
    common = [key for key in after if key in before]
    if not common:
        return None
    whole, sides = new, ((old, before), (new, after))
    # A record has no replicates: where cases were paired by them, it does not tell of a part.
    if before.keys() != after.keys() and all(
        _decided(s, [*runs.values()]).verdict == s.verdict for s, runs in sides
    ):
        old, new = (_decided(s, [runs[key] for key in common]) for s, runs in sides)
    rows = [*_rows(new, before, after, common)]
    pooled = tuple(with_interval(statement.estimate) for statement in (old, new))
    if pooled[0] != pooled[1] and len(common) > 1 and not _is_tiny(old.pooled, new.pooled):
        size = _size(old.estimate, new.estimate)
        rows.append(Row(_ALL, (pooled[0], pooled[1]), ("", ""), size))
    move = Move(
        whole, (old.verdict, new.verdict), sorted(rows, key=lambda r: (not r.turned, -r.size))
    )
    return move if rows or move.turned else None


def _rows(
    statement: StatementRecord,
    before: Mapping[_Key, CaseRecord],
    after: Mapping[_Key, CaseRecord],
    common: Sequence[_Key],
) -> Iterator[Row]:
    several = len({recorded for _, recorded in common}) > 1
    for key in common:
        old, new = before[key], after[key]
        numbers = measured(old, statement.identity), measured(new, statement.identity)
        outcomes = old.outcome, new.outcome
        alike = numbers[0] == numbers[1] or _is_round_off(statement, old, new)
        if outcomes[0] != outcomes[1] or not alike:
            name = f"{_name(new)}, recorded run" if several and key[1] else _name(new)
            yield Row(name, numbers, outcomes, _size(old.estimate, new.estimate))


def _is_round_off(statement: StatementRecord, old: CaseRecord, new: CaseRecord) -> bool:
    """Whether both numbers are zero up to rounding: those of an identity that holds are."""
    holds = statement.identity and old.outcome == new.outcome == "holds"
    return holds or _is_tiny(old.measured, new.measured)


def _is_tiny(*numbers: float | None) -> bool:
    return max(abs(number or 0.0) for number in numbers) < _ROUND_OFF


def _name(case: CaseRecord) -> str:
    return ", ".join(filter(None, case.labels.values())) or case.id


def _size(old: Estimate, new: Estimate) -> float:
    """The distance that a number moved; of what is not known it is nothing."""
    moved = abs(new.value - old.value)
    scale = sum(e.high - e.low for e in (old, new)) / 2
    scale = scale if scale > 0 else abs(old.value)
    return moved / scale if moved > 0 and scale > 0 else 0.0

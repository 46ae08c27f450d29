"""Maps every entry of the frozen ledger to its statement and case, or to why it left.

    python -m migration.compare

measures today's statements on the arrays in ``results/`` and ``reports/evidence/`` and fails on any
entry that is neither a case nor named in ``mapping.yaml``, on any value that is another, and on any
outcome that is another without a reason.
"""

import json
import lzma
import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from hessian_papers.ledger import evaluation
from hessian_papers.ledger.record import CaseRecord, StatementRecord
from hessian_papers.ledger.table import label
from pipelines import chain, inputs
from pipelines.stage import PARAMS, RESULTS
from pipelines.yaml_files import read_yaml

HERE = Path(__file__).parent
# What an old verdict says of a case.
OUTCOMES = {
    "reproduced": "holds",
    "corrected": "holds",
    "differs": "fails",
    "undecided": "open",
    "not run at this scale": "not measured",
}
TOLERANCE = 1e-12


def frozen() -> list[dict[str, Any]]:
    """The old ledger."""
    entries: list[dict[str, Any]] = json.loads(
        lzma.decompress((HERE / "ledger.json.xz").read_bytes())
    )
    return entries


def mapping() -> Mapping[str, Mapping[str, str]]:
    """The fate of entries that are no case by their own name.

    ``renamed``: pattern of old names -> the new name; ``left``: pattern -> why; ``outcomes``:
    pattern -> why the same value says something else; ``values``: pattern -> why it is another.
    """
    rules = yaml.safe_load((HERE / "mapping.yaml").read_text("utf-8")) or {}
    return {name: rules.get(name) or {} for name in ("renamed", "left", "outcomes", "values")}


def _rule(rules: Mapping[str, str], name: str) -> tuple[str, re.Match[str]] | None:
    matches = ((text, re.fullmatch(pattern, name)) for pattern, text in rules.items())
    return next(((text, match) for text, match in matches if match), None)


def _differ(old: float | None, new: float | None) -> bool:
    """Whether two values are not the same number, round-off apart."""
    if old is None or new is None:
        return old is not new
    scale = max(abs(old), abs(new))
    return not (math.isclose(old, new, rel_tol=TOLERANCE) or scale < TOLERANCE)


class Comparison:
    """The old ledger beside the new one.

    Args:
        statements: the new ledger, its values not rounded.
    """

    def __init__(self, statements: Sequence[StatementRecord]) -> None:
        self.cases = {case.id: (s, case) for s in statements for case in s.cases}
        self.problems: list[str] = []
        self.left: Counter[str] = Counter()
        self.old_verdicts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.mapped: set[str] = set()
        rules = mapping()
        for entry in frozen():
            self._map(entry, rules)

    def _map(self, entry: Mapping[str, Any], rules: Mapping[str, Mapping[str, str]]) -> None:
        name = entry["id"]
        if reason := _rule(rules["left"], name):
            self.left[reason[0]] += 1
            return
        renamed = _rule(rules["renamed"], name)
        new = renamed[1].expand(renamed[0]) if renamed else name
        if new not in self.cases:
            self.problems.append(f"{name}: no case {new}, and no reason why it left")
            return
        statement, case = self.cases[new]
        self.mapped.add(new)
        self.old_verdicts[statement.id][entry["verdict"]] += 1
        if not _rule(rules["values"], name):
            self.problems += [f"{name}: {text}" for text in self._values(entry, case)]
        changed = OUTCOMES[entry["verdict"]] != case.outcome
        if changed and not _rule(rules["outcomes"], name):
            self.problems.append(
                f"{name}: was {entry['verdict']}, {case.outcome} now, without a reason"
            )

    def _values(self, entry: Mapping[str, Any], case: CaseRecord) -> Iterator[str]:
        """A line for each number of a case that is another."""
        old = [entry["measured"], entry["printed_error"], *(entry["interval"] or [None, None])]
        new = [case.measured, case.printed_error, *(case.interval or [None, None])]
        names = ("value", "error in print", "lower end", "upper end")
        for name, before, after in zip(names, old, new, strict=True):
            if _differ(before, after):
                yield f"{name} was {before}, {after} now"

    def lines(self) -> Iterator[str]:
        """The table: what became of the entries of each statement."""
        statements = {statement.id: statement for statement, _ in self.cases.values()}
        yield "| statement | quantifier | book | were | verdict now |"
        yield "| --- | --- | --- | --- | --- |"
        for name, statement in statements.items():
            were = ", ".join(f"{n} {v}" for v, n in self.old_verdicts[name].items()) or "new"
            yield (
                f"| `{name}` | {statement.quantifier} | {statement.book} | {were} "
                f"| {statement.verdict} |"
            )
        new = [case for name, (_, case) in self.cases.items() if name not in self.mapped]
        mapped, number = len(self.mapped), len(statements)
        yield f"\n{len(frozen())} entries; {mapped} are cases of {number} statements"
        yield from (f"{number} left: {reason}" for reason, number in self.left.items())
        yield f"{len(new)} cases are new: {', '.join(map(label, new[:20]))}"


def compare() -> None:
    """Print the table.

    Raises:
        ValueError: an entry is lost, or another without a reason.
    """
    evaluation.rounded = lambda number: float(number) if math.isfinite(number) else None
    params = read_yaml(PARAMS)
    about = {name: inputs.about(params, name) for name in params["studies"]}
    runs = chain.measured(params["studies"], about, RESULTS)
    comparison = Comparison(evaluation.evaluate(runs))
    print(*comparison.lines(), sep="\n")
    if comparison.problems:
        print(*comparison.problems, sep="\n", file=sys.stderr)
        raise ValueError(
            f"{len(comparison.problems)} entries of the frozen ledger are not explained"
        )


if __name__ == "__main__":
    compare()

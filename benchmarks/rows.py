"""The rows of the table of times and memory: written to a file a network, and read again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

HEADER = (
    f"| {'task':<30} | {'method':<26} | {'CPU s':>8} | {'ratio':>6} | {'bar':>4} | {'met':>3} "
    f"| {'MB':>6} | {'accuracy':<38} |\n"
    f"|{'-' * 32}|{'-' * 28}|{'-' * 10}|{'-' * 8}|{'-' * 6}|{'-' * 5}|{'-' * 8}|{'-' * 40}|"
)


@dataclass(frozen=True)
class Row:
    """One line of the table: a method, its time and memory beside others', how accurate it is."""

    task: str
    method: str
    seconds: float
    ratio: float
    bar: float | None
    memory: float | str
    accuracy: str

    def __str__(self) -> str:
        bar = "" if self.bar is None else f"{self.bar:.2f}"
        met = "" if self.bar is None else ("yes" if self.ratio <= self.bar else "NO")
        memory = f"{self.memory:.0f}" if isinstance(self.memory, float) else self.memory
        return (
            f"| {self.task:<30} | {self.method:<26} | {self.seconds:>8.3f} | {self.ratio:>6.3f} "
            f"| {bar:>4} | {met:>3} | {memory:>6} | {self.accuracy:<38} |"
        )


class Record:
    """The measurements of a network so far: the rows of each kind of task, kept in a file.

    Args:
        path: of the file; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, list[Row]] = {}
        if path.exists():
            content = json.loads(path.read_text())
            self.rows = {kind: [Row(**row) for row in rows] for kind, rows in content.items()}

    def add(self, kind: str, rows: Sequence[Row]) -> None:
        """Take the rows of a kind of task in, and write all to the file."""
        self.rows[kind] = list(rows)
        text = {kind: [asdict(row) for row in rows] for kind, rows in self.rows.items()}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(text, indent=1) + "\n")


def table(records: Mapping[str, Record], kinds: Sequence[str]) -> str:
    """All rows, by kind of task and then by network, in the orders given."""
    entries = [
        str(row)
        for kind in kinds
        for record in records.values()
        for row in record.rows.get(kind, [])
    ]
    return "\n".join([HEADER, *entries])

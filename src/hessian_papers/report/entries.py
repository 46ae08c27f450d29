"""The content of the page by paper: its figures, each with its runs, files, commands, claims."""

import base64
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hessian_papers.drawing.record import FigureRecord, Picture
from hessian_papers.formulas import plain
from hessian_papers.ledger.leads import Leads, lead
from hessian_papers.ledger.record import StatementRecord
from hessian_papers.papers import Paper, paper, reading_order
from hessian_papers.report import runs
from hessian_papers.report.artifacts import Covered, covered
from hessian_papers.report.commands import Command, commands, cost
from hessian_papers.report.verdicts import Shown, of_papers
from hessian_papers.results import folder_of

# Where data sets are, from the repository.
RESULTS = Path("results")
# Of the facts of a recorded run, what its configuration is: in a file beside its arrays.
_SETTINGS = ("study", "ensemble", "data")
# Of a list of more values than this, the first ones and the last are shown.
_FEW = 8
# The columns of the overview, by how the name of an artifact begins.
_COLUMNS = {"Figure": "figures", "Table": "tables", "": "theorems and more"}
_SHORT = {
    **dict.fromkeys(("Figure", "Figures", "Table", "Tables"), ""),
    **{"Appendix": "App.", "Assumption": "Ass.", "Corollary": "Cor.", "Equation": "Eq."},
    **{"Remark": "Rem.", "Section": "Sec.", "Theorem": "Thm."},
}


@dataclass(frozen=True)
class Link:
    """A file: its name, where it is in the repository, and where from the page."""

    name: str
    path: str
    href: str


@dataclass(frozen=True)
class ShownRun:
    """One run of a study as the page shows it: a picture, its text, the files behind it."""

    key: str
    figure: FigureRecord
    files: Sequence[Link]
    lead: str
    numbers: Link | None

    @property
    def name(self) -> str:
        """The amount that was computed and when, in a few words."""
        return runs.name(self.figure.config, self.figure.provenance.facts, self.key == "recorded")

    @property
    def alt(self) -> str:
        """A description of the picture, for those who cannot see it."""
        return plain(f"{self.figure.artifact}, {self.name}: {self.figure.title}")

    @property
    def commit(self) -> str:
        """The commit of a recorded run's code."""
        return str(self.figure.provenance.facts.get("commit", ""))

    @property
    def facts(self) -> dict[str, str]:
        """The facts of a run besides its configuration, one line each."""
        facts = {k: v for k, v in self.figure.provenance.facts.items() if k not in _SETTINGS}
        return flat(facts)


@dataclass(frozen=True)
class Entry:
    """A figure with everything that belongs to it; of its runs the one that decides comes first."""

    figure: FigureRecord
    runs: Sequence[ShownRun]
    files: Sequence[Link]
    statements: Sequence[Shown]
    commands: Sequence[Command]
    cost: str

    @property
    def config(self) -> dict[str, str]:
        """The resolved configuration, one row each."""
        return flat(self.figure.config)


@dataclass(frozen=True)
class Section:
    """A paper with its figures, and those of its statements that stand under no figure."""

    key: str
    entries: Sequence[Entry]
    others: Sequence[Shown]
    artifacts: Sequence[Covered]

    @property
    def about(self) -> Paper:
        """The paper."""
        return paper(self.key)

    @property
    def credit(self) -> str:
        """The paper's authors, and what it is."""
        return ". ".join(part.rstrip(".") for part in (self.about.authors, self.about.note) if part)

    @property
    def costs(self) -> dict[str, str]:
        """The time that each of its figures takes, where that is known."""
        return {entry.figure.study: entry.cost for entry in self.entries if entry.cost}

    @property
    def statements(self) -> list[Shown]:
        """All of its statements that are shown on its page."""
        return [*(shown for entry in self.entries for shown in entry.statements), *self.others]

    @property
    def cells(self) -> dict[str, list[Covered]]:
        """Its artifacts that something covers, by the columns of the overview."""
        cells: dict[str, list[Covered]] = {column: [] for column in _COLUMNS.values()}
        for item in self.artifacts:
            kind = next(kind for kind in _COLUMNS if item.artifact.name.startswith(kind))
            if item.statements or item.studies:
                cells[_COLUMNS[kind]].append(item)
        return cells


def short(artifact: str) -> str:
    """An artifact's name in a cell whose column says whether it is a figure or a table.

    Example:
        >>> short("Figure 4"), short("Table 8"), short("Theorem 3.1")
        ('4', '8', 'Thm. 3.1')
    """
    first, _, rest = artifact.partition(" ")
    return f"{_SHORT.get(first, first)} {rest}".strip()


def shown(value: Any) -> str:
    """A setting as it is written; of a long list the beginning and the end.

    Example:
        >>> shown("x"), shown([1, 2]), shown(list(range(1, 101)))
        ('x', '[1, 2]', '[1, 2, 3, …, 100] (100 values)')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list) and len(value) > _FEW:
        first = ", ".join(map(shown, value[:3]))
        return f"[{first}, …, {shown(value[-1])}] ({len(value)} values)"
    return json.dumps(value, ensure_ascii=False)


def flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested mappings as one, their names joined by dots, their values as they are written.

    Example:
        >>> flat({"a": {"b": 1, "c": "d"}, "e": [2]})
        {'a.b': '1', 'a.c': 'd', 'e': '[2]'}
    """
    entries: dict[str, str] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            entries |= flat(value, f"{prefix}{name}.")
        else:
            entries[f"{prefix}{name}"] = shown(value)
    return entries


def anchor(kind: str, name: str) -> str:
    """The id of an element of the page, from a name that may hold slashes and spaces.

    Example:
        >>> anchor("claim", "thm-linear/eq. (1)")
        'claim-thm-linear--eq-x2e---x28-1-x29-'
    """

    def safe(character: str) -> str:
        if character.isascii() and (character.isalnum() or character in "-_"):
            return character
        # The code keeps names apart that differ in a special character only.
        return {"/": "--", " ": "-"}.get(character, f"-x{ord(character):x}-")

    return f"{kind}-" + "".join(safe(character) for character in name)


def data_uri(picture: FigureRecord | Picture) -> str:
    """The picture itself in place of its address."""
    return "data:image/png;base64," + base64.b64encode(picture.png).decode("ascii")


def _links(results: Path, *paths: str) -> list[Link]:
    """Files of the repository, seen from the page, which is as deep as the folder of results."""
    root = "../" * len(results.parts)
    return [Link(Path(path).name, path, root + path) for path in paths]


def _code(figure: FigureRecord, results: Path) -> list[Link]:
    """The code and the configuration of a study."""
    package = Path("src", *figure.package.split("."))
    # Not every kind has a figure of its own, or derives anything for figure and claims alike.
    parts = [package / f"{part}.py" for part in ("study", "derived", "figure", "claims")]
    known = [part for part in parts if part.is_file() or not package.is_dir()]
    return _links(
        results,
        *(part.as_posix() for part in known),
        f"conf/studies/{figure.paper}/{figure.study}.yaml",
    )


def _run(key: str, figure: FigureRecord, reports: Path, sentence: str, results: Path) -> ShownRun:
    """A run with its arrays, its facts if it is a recorded one, and its picture in all formats."""
    recorded = key == "recorded"
    today = folder_of(results, figure.paper, figure.study).as_posix()
    folder = f"reports/evidence/{figure.study}" if recorded else today
    names = [*figure.provenance.arrays] + ["facts.json"] * recorded
    links = _links(results, *(f"{folder}/{name}" for name in names))
    formats = {file.suffix[1:].upper(): file for file in (figure.image, figure.svg)}
    formats |= {"Vega-Lite": figure.vega}
    if figure.controls is not None:
        formats["controls"] = figure.controls.image

    def beside(name: str, file: Path) -> Link:
        path = file.relative_to(reports).as_posix()
        return Link(name, f"reports/{path}", path)

    links += [beside(name, file) for name, file in formats.items() if file.is_file()]
    # The script of the numbers that a reader can explore; a figure without curves has none.
    script = f"{figure.study}/{figure.js.stem}"
    numbers = beside(script, figure.js) if figure.js.is_file() else None
    return ShownRun(key, figure, links, sentence, numbers)


def _entry(
    figure: FigureRecord,
    statements: Sequence[StatementRecord],
    reports: Path,
    durations: Mapping[str, Any],
    leads: Leads,
    results: Path,
) -> Entry:
    said = [lead(leads, statements, figure.study, recorded=recorded) for recorded in (False, True)]
    runs = [_run("today", figure, reports, said[0], results)]
    if figure.recorded is not None:
        runs.insert(0, _run("recorded", figure.recorded, reports, said[1], results))
    own = _shown(statements, {figure.study})
    lines = commands(figure, durations)
    return Entry(figure, runs, _code(figure, results), own, lines, cost(figure, durations))


def _shown(statements: Sequence[StatementRecord], studies: Collection[str | None]) -> list[Shown]:
    """The statements that have cases of some studies, with these cases."""
    of_each = (
        Shown(statement, [case for case in statement.cases if case.study in studies])
        for statement in statements
    )
    return [shown for shown in of_each if shown.cases]


def sections(
    figures: Sequence[FigureRecord],
    statements: Sequence[StatementRecord],
    reports: Path,
    durations: Mapping[str, Any],
    leads: Leads,
    results: Path = RESULTS,
) -> list[Section]:
    """The papers in reading order, each with its figures.

    Args:
        figures: in the order in which they are shown.
        statements: the ledger.
        reports: the folder of the page, which its links start from.
        durations: how long figures took, see :func:`commands`.
        leads: the sentences that stand over figures, by study.
        results: the folder of data sets.
    """
    parts = []
    drawn = {figure.study for figure in figures}
    papers = {figure.paper for figure in figures} | {s.paper for s in statements}
    for key in sorted(papers, key=reading_order):
        of_paper = [figure for figure in figures if figure.paper == key]
        own = [
            _entry(figure, statements, reports, durations, leads, results) for figure in of_paper
        ]
        said = [statement for statement in statements if statement.paper == key]
        undrawn = {case.study for statement in said for case in statement.cases} - drawn
        stated = of_papers(Shown(s, s.cases) for s in statements if key in s.places)
        places = [(figure.artifact, figure.study) for figure in of_paper]
        index = covered(key, stated, places)
        parts.append(Section(key, _in_order(own, index), _shown(said, undrawn), index))
    return parts


def _in_order(entries: Sequence[Entry], index: Sequence[Covered]) -> list[Entry]:
    """Figures in the order of the paper; those that it does not have come last."""
    order = [study for item in index for study in item.studies]
    order += [entry.figure.study for entry in entries]
    return sorted(entries, key=lambda entry: order.index(entry.figure.study))

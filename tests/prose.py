"""The texts that people read, their sentences and words, for the tests of their language.

A word is what stands between blanks; a formula between dollars, a piece of code and a field in
braces are one word each. A semicolon ends a sentence, and so does a colon before a capital.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hessian_papers.ledger.bounds import Bound
from hessian_papers.ledger.statements import HEADINGS
from hessian_papers.theorems import THEOREMS
from pipelines import inputs, schema
from pipelines.yaml_files import read_yaml

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "hessian_papers"
# The most words of a sentence, and of a caption with the lead before it.
LONGEST_SENTENCE, LONGEST_CAPTION = 25, 60
# What is a text in a file of statements, whichever else it has.
TEXTS = ("sentence", "means", "otherwise", "explanation")

_END = re.compile(
    r"(?<=[.!?:])\s+(?=[A-Z(\"'“$`*[])|(?<=;)\s|\n\s*\n|" + "|".join(f"{x}:" for x in HEADINGS)
)
_WORD = re.compile(r"\w[\w.,'’\-–]*")
_FORMULA = re.compile(r"\$[^$]*\$")
# An abbreviation whose point ends no sentence.
_ABBREVIATION = re.compile(r"\b(eq|vs|e\.g|i\.e|al)\.")


def count_words(text: str) -> int:
    """The number of words of a text.

    Example:
        >>> count_words("At most $D + 1$ of {study} and `make test`, i.e. 2.")
        9
    """
    return len(_WORD.findall(_FORMULA.sub(" X ", re.sub(r"`[^`]*`|\{[^{}]*\}", " X ", text))))


def sentences(text: str) -> list[str]:
    """The sentences of a text, of which a blank line ends one.

    Example:
        >>> sentences("One holds; the other does not.  Statistic: its mean, eq. (7).")
        ['One holds;', 'the other does not.', 'its mean, eq (7).']
    """
    parts = _END.split(_ABBREVIATION.sub(lambda match: match[1], text))
    return [" ".join(part.split()) for part in parts if part.strip()]


def long_captions(lead: str, captions: Sequence[str]) -> list[str]:
    """The captions of a figure with too many words.

    Args:
        lead: the sentence that stands before the first.
        captions: of the figure, and of its second picture if it has one.
    """
    texts = [f"{lead} {captions[0]}".strip(), *captions[1:]]
    return [
        f"a caption has {count_words(text)} words, and {LONGEST_CAPTION} are read: {text}"
        for text in texts
        if count_words(text) > LONGEST_CAPTION
    ]


def texts_of(value: Any) -> Iterator[str]:
    """The texts in a field of a statement, those apart that depend on the case."""
    if isinstance(value, Bound):
        yield from (value.source, value.reason)
    elif isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, str):
        yield value


def stated() -> Iterator[str]:
    """The texts of statements and theorems."""
    for kind in schema.kinds("studies"):
        for said in schema.module_of("studies", kind, "", "claims").statements.all:
            yield said.function.__doc__
            for value in (said.place, said.bound, said.otherwise):
                yield from texts_of(value)
    for theorem in THEOREMS.values():
        yield from (theorem.statement, theorem.printed, theorem.remark, theorem.source)


def configured() -> Iterator[str]:
    """The texts that stand in files of settings: leads, findings, statements without a function."""
    yield from (lead["sentence"] for lead in inputs.leads().values())
    every = read_yaml(ROOT / "conf/findings.yaml")["findings"]
    yield from (each[key] for each in every for key in ("sentence", "setting", "would_change"))
    of_studies = (read_yaml(file).values() for file in PACKAGE.glob("studies/*/*/statements.yaml"))
    for entries in (*of_studies, read_yaml(PACKAGE / "ledger/not_run.yaml")):
        yield from (entry[key] for entry in entries for key in TEXTS if entry.get(key))


def written(file: Path) -> str:
    """The prose of a Markdown file: no code, tables or generated lists; a paragraph a block."""
    text = file.read_text("utf-8")
    text = re.sub(r"^(```|~~~).*?^\1`*$", "\n", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!--(?! end of).*?<!-- end of .*?-->", "\n", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"^\s*\|.*$", "", text, flags=re.MULTILINE)
    # Headings, and the items of lists, are paragraphs.
    text = re.sub(r"^(#+ .*|\s*(?:[-*]|\d+\.) )", r"\n\1", text, flags=re.MULTILINE)
    text = re.sub(r"^(#+ .*)$", r"\1\n", text, flags=re.MULTILINE)
    return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)


def guides() -> dict[str, str]:
    """The prose of the README and of the documentation, by file."""
    files = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    files += sorted((ROOT / "docs" / "guides").glob("*.md"))
    return {str(file.relative_to(ROOT)): written(file) for file in files}

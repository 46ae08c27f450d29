"""What identifiers and first lines of docstrings may not be, so that each can be read by itself."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "pipelines", "migration", "tests", "benchmarks")
# An identifier is a noun or a verb.
NO_NOUNS = {"found", "one", "told", "there", "theirs", "those"}
# A pronoun, or a part of a sentence whose subject stands elsewhere.
NO_SUBJECT = re.compile(r"(Those|Theirs|That (of|is)|The same (of|from|to|as|up|under|by|with)) ")
FRAGMENT = re.compile(r"(The same|Of [^,;:]*|As [^,;:]*)\.$")


def identifiers(tree: ast.AST) -> Iterator[str]:
    """The names that a module gives."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def first_lines(tree: ast.AST) -> Iterator[str]:
    """The first lines of a module's docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
            yield (ast.get_docstring(node) or "").partition("\n")[0]


def without_subject(line: str) -> bool:
    return bool(NO_SUBJECT.match(line) or FRAGMENT.match(line))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Those of an epoch.", True),
        ("The same of what it is not trained on.", True),
        ("The same.", True),
        ("That of the mean, for batches drawn at random.", True),
        ("Of an input, ``(C, H, W)``.", False),
        ("Of width 1.", True),
        ("As a user writes it.", True),
        ("The same networks in another precision.", False),
        ("As sinks emerge in training, the largest eigenvalue grows.", False),
        ("Of all norms the spectral norm correlates most with the sharpness, by far.", False),
        ("The updates of an epoch.", False),
    ],
)
def test_the_search_for_lines_without_subject_finds_them(line, expected):
    assert without_subject(line) is expected


def modules() -> Iterator[tuple[Path, ast.AST]]:
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            yield file.relative_to(ROOT), ast.parse(file.read_text("utf-8"))


def test_identifiers_are_nouns_or_verbs_and_first_lines_have_a_subject():
    wrong = [
        f"{file}: {text}"
        for file, tree in modules()
        for text in (
            *(name for name in identifiers(tree) if name in NO_NOUNS),
            *(line for line in first_lines(tree) if without_subject(line)),
        )
    ]
    assert wrong == []

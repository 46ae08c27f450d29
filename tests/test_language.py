"""Identifiers and first lines of docstrings can be read by themselves."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "pipelines", "tests", "benchmarks", "docs")
# An identifier is a noun or a verb.
NO_NOUNS = {"found", "one", "told", "there", "theirs", "those"}
# A pronoun, or a part of a sentence whose subject stands elsewhere.
NO_SUBJECT = re.compile(r"(Those|Theirs|That (of|is)|The same (of|from|to|as|up|under|by|with)) ")
FRAGMENT = re.compile(r"(The same|Of [^,;:]*|As [^,;:]*)\.$")
# A question in the place of its answer. A paper's sentence may be one: claims and theorems quote.
QUESTION = re.compile(r"(What|How) ")
QUOTING = ("claims", "theorems")


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


def is_refused(line: str, file: Path) -> bool:
    """Whether the first line of a docstring in a file has no subject, or is a question."""
    quotes = file.stem in QUOTING or file.parent.name in QUOTING
    return without_subject(line) or (not quotes and bool(QUESTION.match(line)))


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


@pytest.mark.parametrize(
    ("line", "file", "expected"),
    [
        ("What comes out of a layer.", "src/hessian_spectra/pac_bayes/posterior.py", True),
        ("How far a run is.", "tests/pages.py", True),
        ("The outputs of a layer.", "src/hessian_spectra/pac_bayes/posterior.py", False),
        ("Whatever comes out of a layer is finite.", "tests/pages.py", False),
        ("Those of an epoch.", "benchmarks/rows.py", True),
        ("How far a run is.", "benchmarks/rows.py", True),
        ("What makes the gap is softmax.", "studies/gpt2/gauss_newton_parts/claims.py", False),
        ("What W_1 lacks, W_2 has.", "src/hessian_papers/theorems/balance.py", False),
    ],
)
def test_a_question_is_no_first_line_but_where_it_is_quoted(line, file, expected):
    assert is_refused(line, Path(file)) is expected


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
            *(line for line in first_lines(tree) if is_refused(line, file)),
        )
    ]
    assert wrong == []

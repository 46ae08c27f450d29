"""The length of the rooms: lines without blank ones, comments, docstrings and imports."""

import ast
import io
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Where the rooms are, and how many names deep: src/<package>/<room>, tests/<side>.
SOURCES = {"src": 3, "pipelines": 1, "benchmarks": 1, "tests": 2}
_IMPORTS = (ast.Import, ast.ImportFrom)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip


def lines_of_code(text: str) -> int:
    """Count the lines of a program that are code.

    Example:
        >>> lines_of_code("import math\\n\\nx = 1  # one\\n")
        1
    """
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            node = node.body[0]
        elif not isinstance(node, _IMPORTS):
            continue
        left_out |= set(range(node.lineno, (node.end_lineno or 0) + 1))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = {
        line
        for token in tokens
        if token.type not in _LAYOUT
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(code - left_out)


@cache
def rooms() -> dict[str, int]:
    """The lines of code by room, in order; a file that is in no folder belongs to the one above."""
    lines: Counter[str] = Counter()
    for source, depth in SOURCES.items():
        for file in sorted((ROOT / source).rglob("*.py")):
            folder = file.relative_to(ROOT).parent
            # The studies are as long as all other rooms together: one room for each family.
            names = depth + 1 if folder.parts[2:3] == ("studies",) else depth
            lines["/".join(folder.parts[:names])] += lines_of_code(file.read_text())
    return dict(lines)

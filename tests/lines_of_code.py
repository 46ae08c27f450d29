"""The length of the rooms: lines without blank ones, comments, docstrings and imports.

    python -m tests.lines_of_code [commit]

says which rooms grew since a commit, or since this branch began, without a line in a commit of
their own: ``grows: <room>: <why, and what left>``. Exit code 1 if there are any.
"""

import ast
import io
import re
import shutil
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
# Where the rooms are, and how many names deep: src/<package>/<room>, tests/<side>.
SOURCES = {"src": 3, "pipelines": 1, "benchmarks": 1, "tests": 2}
# Lines are counted in steps.
STEP = 25
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
def rooms(root: Path = ROOT) -> dict[str, int]:
    """The lines of code by room, in order; a file that is in no folder belongs to the one above."""
    lines: Counter[str] = Counter()
    for source, depth in SOURCES.items():
        for file in sorted((root / source).rglob("*.py")):
            folder = file.relative_to(root).parent
            # The studies are as long as all other rooms together: one room for each family.
            names = depth + 1 if folder.parts[2:3] == ("studies",) else depth
            lines["/".join(folder.parts[:names])] += lines_of_code(file.read_text())
    return dict(lines)


def rounded(lines: int) -> int:
    """The lines of a room, rounded up, as MAP.md has them: no line more is worth a word."""
    return -(-lines // STEP) * STEP


def _git(*arguments: str) -> str:
    return subprocess.run(("git", *arguments), check=True, capture_output=True, text=True).stdout


def base() -> str:
    """The commit that this state is compared with: where its branch began, or the last landing.

    On the main branch itself that is the last commit of ``dvc.lock``, which a landing ends with,
    or the one before, if nothing came after it.
    """
    head = _git("rev-parse", "HEAD").strip()
    with suppress(subprocess.CalledProcessError):
        fork = _git("merge-base", "HEAD", "origin/main").strip()
        if fork != head:
            return fork
    landings = _git("log", "--format=%H", "-n", "2", "--", "dvc.lock").split()
    since = _git("diff", "--name-only", landings[0], "--", *SOURCES) if landings else ""
    return landings[0] if since else landings[-1] if landings else head


def grown(before: Mapping[str, int], after: Mapping[str, int], messages: str) -> list[str]:
    """The rooms that grew without a word, a line each.

    Args:
        before: the lines of each room.
        after: the same, now.
        messages: of the commits between.

    Example:
        >>> grown({"a": 10, "b": 10}, {"a": 60, "b": 60}, "grows: a: a new theorem; b left")
        ['b: 25 -> 75 lines of code']
    """
    words = {room.strip() for room in re.findall(r"^grows:([^:]+):\s*\S", messages, re.MULTILINE)}
    return [
        f"{room}: {rounded(before.get(room, 0))} -> {rounded(lines)} lines of code"
        for room, lines in after.items()
        if rounded(lines) > rounded(before.get(room, 0)) and room not in words
    ]


def main(reference: str) -> int:
    """Print the rooms that grew since a commit without a word; 1 if there are any, else 0."""
    with TemporaryDirectory() as folder:
        packed = Path(folder, "tree.tar")
        _git("archive", "--output", str(packed), reference)
        shutil.unpack_archive(packed, folder, filter="data")
        before = rooms(Path(folder))
    lines = grown(before, rooms(), _git("log", "--format=%B", f"{reference}..HEAD"))
    if lines:
        print(*lines, sep="\n")
        print(f"since {reference[:10]}; say in a commit: grows: <room>: <why, and what left>")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if sys.argv[1:] else base()))

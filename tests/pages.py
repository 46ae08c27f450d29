"""The pages that people read: their code, what it prints, and their commands."""

import contextlib
import io
import re
import shlex
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
START = ROOT / "docs" / "index.md"
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
# The library at a glance: what it says runs where nothing but the library is installed.
LIBRARY = ROOT / "docs" / "guides" / "library.md"


def blocks(page: Path) -> list[tuple[str, str]]:
    """The fenced blocks of a page, in order: language and content."""
    return re.findall(r"^```(\w+)\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def lines(block: str) -> list[str]:
    """The commands of a block, without comments; a backslash at the end continues a line."""
    continued = block.replace("\\\n", "")
    return [line.split("#")[0].strip() for line in continued.splitlines() if line]


def commands(page: Path) -> list[str]:
    """The commands that the page says to type in a shell."""
    shells = (block for language, block in blocks(page) if language == "bash")
    return [line for block in shells for line in lines(block)]


def overrides_of(command: str) -> list[str]:
    """The settings of a command, wherever they stand."""
    return [word for word in shlex.split(command) if "=" in word and not word[0].isupper()]


def follow(page: Path, shell: Callable[[str], None] = lambda command: None) -> str:
    """Do what a page says from top to bottom, and return what its Python prints.

    A block of text behind one of Python is what that prints.
    """
    namespace: dict[str, object] = {}
    actual = blocks(page)
    said = []
    for (language, block), (following, expected) in zip(
        actual, [*actual[1:], ("", "")], strict=True
    ):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(block, str(page), "exec"), namespace)
            said.append(printed.getvalue())
            if following == "text" and printed.getvalue() != expected:
                raise AssertionError(
                    f"{page.name}:\n{block}prints\n{printed.getvalue()}not\n{expected}"
                )
        elif language == "bash":
            for command in lines(block):
                shell(command)
    return "".join(said)

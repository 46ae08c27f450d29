"""The commands and stages by name: `hessian-papers <command> ...`, or `python -m pipelines`."""

import ast
import difflib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

USAGE = "usage: hessian-papers <command> [argument ...]; of each: hessian-papers <command> --help"


def commands() -> dict[str, str]:
    """The modules that are run by their names, and what each is for: the end of its first line."""
    known = {}
    for file in sorted(Path(__file__).parent.glob("[!_]*.py")):
        text = file.read_text("utf-8")
        kind, _, said = (ast.get_docstring(ast.parse(text)) or "").splitlines()[0].partition(": ")
        if kind.split()[0] in ("Command", "Stage", "Stages") and "__main__" in text:
            known[file.stem] = said
    return known


def main(arguments: Sequence[str]) -> int:
    """Become the process of a command; the exit code if there is none to become."""
    known = commands()
    name = arguments[0] if arguments else "--help"
    if name in ("--help", "-h", "help"):
        width = max(map(len, known))
        print(USAGE, "", *(f"  {each:{width}}  {said}" for each, said in known.items()), sep="\n")
        return 0 if arguments else 2
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {near[0]}?" if near else "; hessian-papers --help lists them"
        print(f"error: unknown command {name!r}{hint}", file=sys.stderr)
        return 2
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", f"pipelines.{name}", *arguments[1:]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

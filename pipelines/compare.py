"""Command compare: whether two reports say and show the same.

    python -m pipelines.compare <reports before> [<reports after>]

The ledger, without the name of the test behind each case, and every figure's image, byte by byte.
Exit code 1, and a line for each difference, if something differs.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hessian_spectra.files import DamagedFileError, read_json

REMEDY = "dvc repro"


def _ledger(reports: Path) -> dict[str, dict[str, Any]]:
    """The statements by id and in each its cases, without the name of the test behind a run."""
    ledger = {}
    for statement in read_json(reports / "claims.json", REMEDY):
        for case in statement["cases"]:
            for run in (case, case.get("beside") or {}):
                run.pop("test", None)
        statement["cases"] = {case["id"]: case for case in statement["cases"]}
        ledger[statement["id"]] = statement
    return ledger


def _images(reports: Path) -> dict[str, bytes]:
    """The figures of today's runs and of the recorded ones."""
    folder = reports / "figures"
    images = sorted(folder.rglob("*.png"))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in images}


def _differences(what: str, old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """One line for each entry that differs, is missing, or stands elsewhere."""
    for name in old | new:
        if name not in old or name not in new:
            yield f"{what} {name}: only {'before' if name in old else 'after'}"
        elif isinstance(old[name], dict):
            yield from _differences(f"{what} {name},", old[name], new[name])
        elif old[name] != new[name]:
            shown = (
                "other bytes" if isinstance(old[name], bytes) else f"{old[name]!r} -> {new[name]!r}"
            )
            yield f"{what} {name}: {shown}"
    if set(old) == set(new) and list(old) != list(new):
        yield f"{what}: in another order"


def compare(before: Path, after: Path) -> int:
    """Print the differences of two folders of reports; 1 if there are any, else 0."""
    result = 0
    for what, read in (("statement", _ledger), ("figure", _images)):
        old, new = read(before), read(after)
        lines = list(_differences(what, old, new))
        result += len(lines)
        print(
            *lines,
            f"{len(old)} {what}s before, {len(new)} after: {len(lines)} differences",
            sep="\n",
        )
    return int(result > 0)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python -m pipelines.compare <reports before> [<reports after>]")
    try:
        sys.exit(compare(Path(sys.argv[1]), Path(*sys.argv[2:3] or ["reports"])))
    except (DamagedFileError, FileNotFoundError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)

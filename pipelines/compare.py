"""Command compare: whether two reports say and show the same.

    python -m pipelines.compare <reports before> [<reports after>]

The ledger, less the name of the test behind each claim, and every figure's image, byte by byte.
Exit code 1, and a line for each difference, if something differs.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hessian_spectra.results import RecordError, read_record

REMEDY = "dvc repro"


def _ledger(reports: Path) -> list[dict[str, Any]]:
    found = read_record(reports / "claims.json", REMEDY)
    return [{name: value for name, value in entry.items() if name != "test"} for entry in found]


def _images(reports: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((reports / "figures").glob("*.png"))}


def claim_differences(before: Path, after: Path) -> Iterator[str]:
    """One line for each entry of the ledger that differs, or stands elsewhere."""
    old, new = ({entry["id"]: entry for entry in _ledger(reports)} for reports in (before, after))
    yield from (f"claim {name}: only before" for name in old if name not in new)
    yield from (f"claim {name}: only after" for name in new if name not in old)
    common = [name for name in old if name in new]
    for name in common:
        fields = sorted(k for k in old[name] | new[name] if old[name].get(k) != new[name].get(k))
        for field in fields:
            values = (json.dumps(one[name].get(field), ensure_ascii=False) for one in (old, new))
            yield f"claim {name}, {field}: {' -> '.join(values)}"
    if common != [name for name in new if name in old]:
        yield "claims: in another order"


def image_differences(before: Path, after: Path) -> Iterator[str]:
    """One line for each image that differs."""
    old, new = _images(before), _images(after)
    for name in sorted(old | new):
        if name not in new or name not in old:
            yield f"figure {name}: only {'before' if name in old else 'after'}"
        elif old[name] != new[name]:
            yield f"figure {name}: other bytes"


def compare(before: Path, after: Path) -> int:
    """Print the differences of two folders of reports; 1 if there are any, else 0."""
    claims = list(claim_differences(before, after))
    images = list(image_differences(before, after))
    print("\n".join([*claims, *images]), end="\n" if claims or images else "")
    print(
        f"{len(_ledger(before))} claims before, {len(_ledger(after))} after: "
        f"{len(claims)} differences; {len(_images(before))} figures before, "
        f"{len(_images(after))} after: {len(images)} differences"
    )
    return int(bool(claims or images))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python -m pipelines.compare <reports before> [<reports after>]")
    try:
        sys.exit(compare(Path(sys.argv[1]), Path(*sys.argv[2:3] or ["reports"])))
    except (RecordError, FileNotFoundError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)

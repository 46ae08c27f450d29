"""The papers' symbols beside ours: ``notation.yaml``."""

from importlib import resources
from typing import Any

import yaml

# Field of a symbol -> the heading of its column.
COLUMNS = {
    "closed": "singh2024closed",
    "poster": "singh2024poster",
    "cracking": "singh2026cracking",
    "data": "anon2026data",
}


def tables() -> dict[str, list[dict[str, Any]]]:
    """The tables of the page: ``groups`` of symbols, and ``ambiguities``.

    A group has a ``title``, its ``symbols``, each a ``meaning`` with what we and the papers write,
    and the ``papers`` that use one of them.
    """
    file = resources.files("hessian_papers.report").joinpath("notation.yaml")
    content = yaml.safe_load(file.read_text("utf-8"))
    groups = [
        {
            "title": title,
            "symbols": rows,
            "papers": {f: name for f, name in COLUMNS.items() if any(f in row for row in rows)},
        }
        for title, rows in content["symbols"].items()
    ]
    return {"groups": groups, "ambiguities": content["ambiguities"]}

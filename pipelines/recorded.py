"""Recorded runs: what was computed at the papers' own size, kept under ``reports/evidence``.

A recorded run is arrays and facts. Figure and claims are made of them by the code of today.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from hessian_spectra.results import read_json, select_fields

EVIDENCE = Path("reports") / "evidence"
PUBLISHED = Path(__file__).resolve().parent.parent / "conf" / "published.yaml"

REMEDY = "git checkout reports/evidence, which holds recorded runs"


@cache
def published() -> Mapping[str, Any]:
    """The settings of the papers: ``studies``, ``networks`` and ``data``, by name."""
    found = yaml.safe_load(PUBLISHED.read_text("utf-8"))
    assert isinstance(found, dict)
    return found


@dataclass(frozen=True)
class Recorded:
    """The recorded run of a study.

    Args:
        folder: holds ``<side>.npz`` and ``facts.json``.
        facts: the content of the latter.
    """

    folder: Path
    facts: Mapping[str, Any]

    @property
    def scale(self) -> str:
        """Its scale, as a rule ``paper``."""
        return str(self.facts["scale"])

    @property
    def config(self) -> Mapping[str, Any]:
        """The study's resolved configuration."""
        return dict(self.facts["study"])

    @property
    def networks(self) -> dict[str, Any]:
        """The settings of the networks that it is about, by name."""
        return self._named("ensemble")

    @property
    def data(self) -> dict[str, Any]:
        """The settings of its data set, or of that of its networks, by name."""
        return self._named("data")

    def _named(self, key: str) -> dict[str, Any]:
        sources = {**self.facts.get("ensemble", {}), **self.config}
        return {sources[key]: self.facts[key]} if key in self.facts else {}

    def digests(self) -> dict[str, str]:
        """The digest of each of its files, by name."""
        return {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16]
            for path in sorted(self.folder.iterdir())
        }


def read(study: str) -> Recorded | None:
    """The recorded run of a study, or ``None`` if there is none.

    Raises:
        MissingResultError: its facts are missing.
        DamagedFileError: they are broken.
    """
    folder = EVIDENCE / study
    if not folder.is_dir():
        return None
    path = folder / "facts.json"
    facts = read_json(path, REMEDY)
    select_fields(facts, ["scale", "commit", "study"], str(path), REMEDY)
    return Recorded(folder, facts)

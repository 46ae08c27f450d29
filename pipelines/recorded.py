"""Recorded runs: what was computed at the papers' own size, kept under ``reports/evidence``.

A recorded run is arrays and facts. Figure and claims are made of them by the code of today.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hessian_papers import labelled
from hessian_papers.memory import memory
from hessian_papers.results import select_fields
from hessian_spectra.files import DamagedFileError, MissingResultError, read_json
from pipelines.departures import Settings
from pipelines.folders import EVIDENCE


@dataclass(frozen=True)
class Recorded:
    """The recorded run of a study.

    Args:
        folder: holds ``data.nc`` and ``facts.json``.
        facts: the content of the latter.
        damage: what is wrong with one of these files and how to mend it, in one line; then nothing
            else is known of the run, and nothing is made of it.
    """

    folder: Path
    facts: Mapping[str, Any]
    damage: str = ""

    @property
    def settings(self) -> Settings:
        """All that it was made from."""
        return Settings.of(self.folder.name, dict(self.facts["study"]), self.facts)


def _facts(path: Path) -> dict[str, Any]:
    remedy = f"git checkout {path}"
    facts: dict[str, Any] = read_json(path, remedy)
    select_fields(facts, ["scale", "commit", "study"], str(path), remedy)
    for key in ("study", "ensemble", "data"):
        if not isinstance(settings := facts.get(key, {}), dict):
            expected = f"expected settings of {key}, got {settings!r}"
            raise DamagedFileError(f"{path}: {expected}; run {remedy}")
    return facts


def read(study: str) -> Recorded | None:
    """The recorded run of a study, or ``None`` if there is none; all of its files are looked at.

    A data set that was found whole is not read again while it is the same file.
    """
    folder = EVIDENCE / study
    if not folder.is_dir():
        return None
    try:
        facts = _facts(folder / "facts.json")
        whole = folder / labelled.WHOLE
        if not (whole.is_file() and memory().of(labelled.is_whole, whole)):
            labelled.read(whole, f"git checkout {whole}")  # raises, and says why
    except (DamagedFileError, MissingResultError) as error:
        return Recorded(folder, {}, f"{study}: its recorded run does not count: {error}")
    return Recorded(folder, facts)

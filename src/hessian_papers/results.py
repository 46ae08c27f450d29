"""The results of studies: which parts they compute, where they are, and where they come from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hessian_spectra.files import Arrays, DamagedFileError

# What a study may compute, each in a stage and a file of its own: theory and brute force; of the
# networks of an ensemble, all that its family of studies measures.
SIDES = ("closed_form", "numerics", "correlation", "gpt2", "layerwise", "pac_bayes")

# How large a run is: from the papers' own sizes to what a few minutes suffice for.
SCALES = ("paper", "workstation", "demo")

# Which trainings diverged, or how many, for each of some settings; not there if none did.
DIVERGED = "diverged"

# The times in the facts of a recorded run, by what each item was computed on.
TIMES = {unit: f"seconds of all items, one {unit} each" for unit in ("core", "GPU")}


def is_below(scale: str | None, other: str | None) -> bool:
    """Whether a run is at a lower one of the :data:`SCALES` than another, as far as both are known.

    Example:
        >>> is_below("demo", "paper"), is_below("paper", "demo"), is_below("demo", None)
        (True, False, False)
    """
    known = scale in SCALES and other in SCALES
    return known and SCALES.index(str(scale)) > SCALES.index(str(other))


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where the numbers of one run of a study come from: what all that is made of it says of them.

    Args:
        study: the study's name.
        config: its resolved configuration.
        scale: that its sizes reach, one of :data:`SCALES`.
        recorded: whether it is a recorded run, not today's.
        departs: the settings that are not the paper's: ``{key: [value here, the paper's]}``.
        overrides: the settings that are not those of `conf` at its scale, by key.
        facts: of today's run the versions of packages, the digests of a user's own files and the
            settings of its networks; of a recorded one configuration, hardware and seconds as well.
        arrays: the SHA-256 of each file of its data set, by name; of today's run once they are
            there.
        seconds: the time of one core that it takes, if that is known.
        damaged: what is wrong with the study's recorded run, in one line, if it counts for nothing.
    """

    study: str
    config: Mapping[str, Any]
    scale: str
    recorded: bool = False
    departs: Mapping[str, list[Any]] = field(default_factory=dict)
    overrides: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, str] = field(default_factory=dict)
    seconds: float | None = None
    damaged: str = ""


def folder_of(results: Path, paper: str, study: str) -> Path:
    """The folder of a study's data sets, in that of its paper.

    Example:
        >>> folder_of(Path("results"), "wu2022dissecting", "mine").as_posix()
        'results/wu2022dissecting/mine'
    """
    return results / paper / study


_STUDIES = Path(__file__).with_name("studies")
# The families whose stage is called otherwise.
_STAGES = {"correlations": "correlation"}


def stacked(rows: Sequence[Mapping[str, Any]]) -> Arrays:
    """Rows of equal names as arrays ``(rows, ...)``.

    Args:
        rows: for example one for each step of a training, at least one.

    Example:
        >>> stacked([{"loss": 2.0}, {"loss": 1.0}])["loss"].tolist()
        [2.0, 1.0]
    """
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def seconds_of(facts: Mapping[str, Any], unit: str = "core") -> float | None:
    """The time that the items of a recorded run took, one after the other; ``None`` if none did.

    Args:
        facts: of the run.
        unit: what they were computed on, one of :data:`TIMES`.

    Example:
        >>> seconds_of({"seconds of all items, one GPU each": {"gpt2": 60.0}}, "GPU")
        60.0
    """
    each = facts.get(TIMES[unit], {})
    return float(sum(each.values())) if each else None


def sides_of(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The sides that a study offers: of the networks of an ensemble the one of its family.

    Args:
        config: of the study.

    Example:
        >>> sides_of({"kind": "data_scale"}), sides_of({"kind": "bounds", "ensemble": "mine"})
        (('closed_form', 'numerics'), ('pac_bayes',))
    """
    if "ensemble" not in config:
        return SIDES[:2]
    family = next(_STUDIES.glob(f"*/{config['kind']}/study.py")).parents[1].name
    return (_STAGES.get(family, family),)


def select_fields(record: Any, known: Sequence[str], where: str, remedy: str) -> dict[str, Any]:
    """The entries of a record that are named in ``known``.

    Args:
        record: what a file holds.
        known: the names; all of them must be there.
        where: the file, for the message.
        remedy: what to run to get it, for the message.

    Raises:
        DamagedFileError: it is no object, or an entry is missing.
    """
    if not isinstance(record, dict):
        raise DamagedFileError(f"{where}: expected an object, got {record!r}; run {remedy}")
    missing = [name for name in known if name not in record]
    if missing:
        raise DamagedFileError(f"{where}: expected {', '.join(missing)}, found none; run {remedy}")
    return {name: record[name] for name in known}

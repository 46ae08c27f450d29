"""What studies hand on: the arrays of their sides, and records of known fields."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hessian_papers.labelled import plain_arrays
from hessian_spectra.files import (
    Arrays,
    DamagedFileError,
    MissingResultError,
    archive,
    missing_result,
    read_arrays,
)

# What a study may compute, each in a stage and a file of its own.
SIDES = ("closed_form", "numerics", "correlation")

# How large a run is: from the papers' own sizes to what a few minutes suffice for.
SCALES = ("paper", "workstation", "demo")

# What tells the eigenvalues of a closed form apart: their kind, and the part of the network.
KINDS = ("kind", "cell")

# Which trainings diverged, or how many, for each of some settings; not there if none did.
DIVERGED = "diverged"


def stacked(rows: Sequence[Mapping[str, Any]], prefix: str = "") -> Arrays:
    """Rows of equal names as arrays ``(rows, ...)``; the kinds of eigenvalues once if all agree.

    Args:
        rows: for example one for each step of a training, at least one.
        prefix: of the names.

    Example:
        >>> rows = [{"loss": 2.0, "kind": np.array(["bulk", "outlier"])} for _ in range(3)]
        >>> {name: array.shape for name, array in stacked(rows, "run/").items()}
        {'run/loss': (3,), 'run/kind': (2,)}
    """
    arrays = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    for name in KINDS:
        if name in arrays and (arrays[name] == arrays[name][0]).all():
            arrays[name] = arrays[name][0]
    return {f"{prefix}{name}": array for name, array in arrays.items()}


def sides_of(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The sides that a study offers: of the networks of an ensemble what goes with what.

    Args:
        config: of the study.
    """
    return SIDES[2:] if "ensemble" in config else SIDES[:2]


class Side(dict[str, np.ndarray]):
    """The arrays of one side of a study; one that is asked for and missing is a clear error.

    Args:
        arrays: by name.
        path: the file that they come from, for the message.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray], path: Path | str) -> None:
        super().__init__(arrays)
        self._path = path

    def __missing__(self, name: str) -> np.ndarray:
        raise MissingResultError(
            f"{self._path} holds no array {name!r}: it comes from an older version of the study, "
            "run its stage again"
        )


Part = TypeVar("Part", bound="StudyArrays")


class StudyArrays:
    """The arrays of a study, by side, or by name where one side alone has an array of that name.

    What a kind of studies reads from them is a subclass, in its ``reading.py``: figure and claims
    take that, and neither knows in which file an array stands.

    Args:
        sides: the arrays of each side.
        folder: where they were read, for messages.
        offered: the sides that the study offers, whether they were computed or not.

    Example:
        >>> arrays = StudyArrays({"closed_form": {"a": np.ones(2)}, "numerics": {"b": np.zeros(1)}})
        >>> arrays["a"].tolist(), arrays.numerics["b"].tolist(), "c" in arrays
        ([1.0, 1.0], [0.0], False)
    """

    def __init__(
        self,
        sides: Mapping[str, Mapping[str, Any]],
        folder: Path = Path(),
        offered: Sequence[str] = (),
    ) -> None:
        self._folder = folder
        self._offered = tuple(offered)
        self._sides = {name: Side(arrays, folder / f"{name}.npz") for name, arrays in sides.items()}

    @classmethod
    def read(cls, folder: Path, offered: Sequence[str] = ()) -> "StudyArrays":
        """The arrays of those sides that there are in a folder, ``<side>.npz`` each.

        Args:
            folder: of the study.
            offered: the sides that it offers, if they are known.

        Raises:
            DamagedFileError: a file is damaged.
        """
        paths = {name: folder / f"{name}.npz" for name in offered or SIDES}
        sides = {name: read_arrays(path) for name, path in paths.items() if path.exists()}
        paths = {name: folder / f"{name}.nc" for name in offered or SIDES}
        sides |= {name: plain_arrays(path) for name, path in paths.items() if path.exists()}
        return cls(sides, folder, offered)

    @property
    def sides(self) -> Mapping[str, Side]:
        """The arrays by side, of those sides that were computed."""
        return self._sides

    def side(self, name: str) -> Side:
        """The arrays of one side.

        Raises:
            MissingResultError: it was not computed; the message says which stage does.
        """
        if name not in self._sides:
            raise missing_result(self._folder / f"{name}.npz")
        return self._sides[name]

    @property
    def closed_form(self) -> Side:
        """What theory says."""
        return self.side("closed_form")

    @property
    def numerics(self) -> Side:
        """What brute force says."""
        return self.side("numerics")

    @property
    def correlation(self) -> Side:
        """What goes with what over many networks."""
        return self.side("correlation")

    @property
    def left_out(self) -> int:
        """How many trainings diverged and are left out."""
        counts = (side[DIVERGED] for side in self._sides.values() if DIVERGED in side)
        return max((int(np.sum(count)) for count in counts), default=0)

    def digests(self) -> dict[str, str]:
        """The SHA-256 of each side's file, hexadecimal."""
        return {
            name: hashlib.sha256(archive(arrays)).hexdigest()
            for name, arrays in self._sides.items()
        }

    def part(self, name: str, kind: type[Part]) -> Part:
        """The arrays ``<name>/...`` of all sides, without that prefix.

        Args:
            name: of the part, for example a training run or a network.
            kind: what is read from it.

        Example:
            >>> arrays = StudyArrays({"numerics": {"first/a": np.ones(1), "second/a": np.ones(2)}})
            >>> arrays.part("second", StudyArrays)["a"].tolist()
            [1.0, 1.0]
        """
        prefix = f"{name}/"
        sides = {
            side: {
                key.removeprefix(prefix): array
                for key, array in arrays.items()
                if key.startswith(prefix)
            }
            for side, arrays in self._sides.items()
        }
        return kind(sides, self._folder, self._offered)

    def select(
        self,
        kind: str,
        cell: str | None = None,
        prefix: str = "",
        of: np.ndarray | None = None,
    ) -> np.ndarray:
        """The closed form's eigenvalues of one kind (and one cell), ascending.

        Of spectra as :meth:`hessian_spectra.spectrum.Spectrum.arrays` keeps them, one or a stack;
        kinds and cells may stand once for all of it, as :func:`stacked` keeps them.

        Args:
            kind: for example ``outlier`` or ``bulk``.
            cell: the part of the network.
            prefix: of the arrays' names.
            of: other values, ``(..., k)`` like the eigenvalues, of which those at the same places
                are taken: numerical eigenvalues know no kinds.

        Returns:
            ``(..., count)``.

        Raises:
            ValueError: the spectra have different numbers of them.

        Example:
            >>> kinds = np.array(["bulk", "bulk", "outlier"])
            >>> spectrum = {"eigenvalues": np.array([-1.0, 1.0, 3.0]), "kind": kinds}
            >>> spectrum["cell"] = np.array([""] * 3)
            >>> StudyArrays({"closed_form": spectrum}).select("bulk").tolist()
            [-1.0, 1.0]
        """
        exact, kinds, cells = (
            self.closed_form[f"{prefix}{name}"] for name in ("eigenvalues", *KINDS)
        )
        values = exact if of is None else of
        chosen = (kinds == kind) & ((cells == cell) if cell is not None else True)
        chosen = np.broadcast_to(chosen, values.shape)
        counts = np.unique(chosen.sum(axis=-1))
        if len(counts) > 1:
            raise ValueError(f"expected as many {kind} eigenvalues everywhere, got {counts}")
        return values[chosen].reshape(*values.shape[:-1], int(counts[0]))

    def __contains__(self, name: str) -> bool:
        return any(name in arrays for arrays in self._sides.values())

    def __getitem__(self, name: str) -> np.ndarray:
        holding = [side for side, arrays in self._sides.items() if name in arrays]
        if len(holding) > 1:
            raise ValueError(
                f"array {name!r}: expected one side that holds it, got {' and '.join(holding)}; "
                "ask one of them"
            )
        absent = [side for side in self._offered if side not in self._sides]
        if holding or absent:
            return self.side((holding or absent)[0])[name]
        files = " or ".join(str(self._folder / f"{side}.npz") for side in self._sides)
        return Side({}, files or str(self._folder))[name]


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

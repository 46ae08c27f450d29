"""How arrays and records are written and read: npz and JSON, byte-stable and never half-written."""

import contextlib
import hashlib
import io
import json
import os
import platform
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

Arrays = dict[str, np.ndarray]

# What a study may compute, each in a stage and a file of its own.
SIDES = ("closed_form", "numerics", "correlation")

# What tells the eigenvalues of a closed form apart: their kind, and the part of the network.
KINDS = ("kind", "cell")

# What to run for a file, where nothing more is known of it.
STAGE = "the stage that writes it (dvc repro)"
# Which trainings diverged, or how many, for each of some settings; not there if none did.
DIVERGED = "diverged"


class MissingResultError(FileNotFoundError):
    """A result that another stage should have written is not there."""

    def __str__(self) -> str:
        """The message alone: OSError would print its arguments as a tuple."""
        return str(self.args[0])


class DamagedFileError(ValueError):
    """A file is not what was written there.

    The message is one line: which file, what is wrong with it, and how to mend it.
    """


def damaged(path: Path, reason: object, remedy: str) -> DamagedFileError:
    """The error of a damaged file, the reason in one line."""
    return DamagedFileError(f"{path} is damaged ({' '.join(str(reason).split())}): {remedy}")


def _is_running(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        return True
    return True


def write_bytes(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` through a temporary file and a rename.

    A killed process leaves the old file or the new, never a part of it. The temporary name holds
    the machine's name and the process's number: a stage that survived its killed parent cannot mix
    its bytes with its successor's, nor a job with one of another machine; and the successor clears
    away what a dead process of this machine left.

    Raises:
        OSError: it cannot be written; the file is named, and nothing is left of the attempt.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    own = f".{path.name}.{platform.node()}"
    for left in path.parent.glob(f"{own}.*.partial"):
        if not _is_running(left.name.split(".")[-2]):
            left.unlink(missing_ok=True)
    partial = path.with_name(f"{own}.{os.getpid()}.partial")
    try:
        partial.write_bytes(content)
        os.replace(partial, path)
    except OSError as error:
        # Of a full disk it does not say where, else it names the temporary file.
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def archive(arrays: Mapping[str, Any]) -> bytes:
    """Named arrays as the content of an ``.npz`` file; equal arrays give equal bytes.

    Raises:
        TypeError: an entry is not an array of numbers, booleans or strings.
    """
    plain = {}
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        if array.dtype.kind not in "biufU":
            raise TypeError(
                f"array {name!r}: expected numbers, booleans or strings, got dtype {array.dtype}"
            )
        plain[name] = array
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **plain)
    return buffer.getvalue()


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write named arrays to an ``.npz`` file, as :func:`archive` makes it.

    Raises:
        TypeError: see :func:`archive`.
    """
    write_bytes(path, archive(arrays))


def _arrays_of(file: BinaryIO) -> Arrays:
    # numpy takes other files than archives as well, and hands out the bytes of what is no array.
    if not zipfile.is_zipfile(file):
        raise ValueError("it is no npz archive, or one that was cut off")
    file.seek(0)
    with np.load(file, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise ValueError(f"{name!r} is no array")
    return arrays


def read_arrays(path: Path, remedy: str = STAGE) -> Arrays:
    """Read what :func:`write_arrays` wrote.

    Args:
        path: the file.
        remedy: what to run to get it, for the message.

    Raises:
        MissingResultError: there is no such file.
        DamagedFileError: it is no archive of arrays, or not as it was written.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise missing_result(path, remedy) from None
    with file:
        try:
            return _arrays_of(file)
        except MemoryError:
            raise
        except Exception as error:  # a torn archive raises one of many errors
            raise damaged(path, error, f"delete it and run {remedy}") from error


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


def missing_result(path: Path, remedy: str = STAGE) -> MissingResultError:
    """The error of a missing file, which says what to run to get it."""
    return MissingResultError(f"{path} is missing: run {remedy}")


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


def digest(record: Any) -> str:
    """The first 12 hexadecimal digits of the SHA-256 of a record, as JSON with sorted keys.

    Example:
        >>> digest({"width": 10, "seed": 0}) == digest({"seed": 0, "width": 10})
        True
    """
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def write_json(path: Path, record: Any) -> None:
    """Write a record as JSON with sorted keys; equal records give equal bytes.

    Raises:
        ValueError: a number is NaN or infinite, which JSON does not have.
    """
    text = json.dumps(record, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False)
    write_bytes(path, (text + "\n").encode())


def read_json(path: Path, remedy: str = STAGE) -> Any:
    """Read what :func:`write_json` wrote.

    Args:
        path: the file.
        remedy: what to run to get it, for the message.

    Raises:
        MissingResultError: there is no such file.
        DamagedFileError: it is no JSON.
    """
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise missing_result(path, remedy) from None
    except ValueError as error:  # no JSON, or no text
        raise DamagedFileError(f"{path} is no JSON ({error}): delete it and run {remedy}") from None


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

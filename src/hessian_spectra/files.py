"""Files of arrays and records: npz and JSON, byte-stable and never half-written.

An npz file holds what the code that wrote it reads again, such as the state of a training.
"""

import contextlib
import hashlib
import io
import json
import os
import platform
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

Arrays = dict[str, np.ndarray]

# What to run for a file, where nothing more is known of it.
STAGE = "the stage that writes it (dvc repro)"


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


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write named arrays to an ``.npz`` file; equal arrays give equal bytes.

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
    write_bytes(path, buffer.getvalue())


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


def missing_result(path: Path, remedy: str = STAGE) -> MissingResultError:
    """The error of a missing file, which says what to run to get it."""
    return MissingResultError(f"{path} is missing: run {remedy}")


def digest(record: Any) -> str:
    """The first 12 hexadecimal digits of the SHA-256 of a record, as JSON with sorted keys.

    Example:
        >>> digest({"width": 10, "seed": 0}) == digest({"seed": 0, "width": 10})
        True
    """
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def as_json(record: Any) -> str:
    """A record as JSON with sorted keys, an entry in each line.

    Raises:
        ValueError: a number is NaN or infinite, which JSON does not have.
    """
    return f"{json.dumps(record, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False)}\n"


def write_json(path: Path, record: Any) -> None:
    """Write a record :func:`as_json`; equal records give equal bytes.

    Raises:
        ValueError: a number is NaN or infinite, which JSON does not have.
    """
    write_bytes(path, as_json(record).encode())


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

"""How arrays and records are written and read: npz and JSON, byte-stable and never half-written."""

import hashlib
import io
import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]


class MissingResultError(FileNotFoundError):
    """A result that another stage should have written is not there."""

    def __str__(self) -> str:
        """The message alone: OSError would print its arguments as a tuple."""
        return str(self.args[0])


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
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


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


def read_arrays(path: Path) -> Arrays:
    """Read what :func:`write_arrays` wrote.

    Raises:
        MissingResultError: there is no such file; the message says which stage writes it.
    """
    try:
        # Opened here, so that a damaged file is closed, too.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise MissingResultError(
            f"{path} is missing: run the stage that writes it "
            f"(dvc repro, or python -m pipelines.{path.parent.name} with the same overrides)"
        ) from None


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


def read_json(path: Path) -> Any:
    """Read what :func:`write_json` wrote.

    Raises:
        MissingResultError: there is no such file.
    """
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise MissingResultError(
            f"{path} is missing: run the stage that writes it (dvc repro)"
        ) from None

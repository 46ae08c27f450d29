"""The folder of a computation: one file of arrays per item, and what became of the failed ones."""

import os
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hessian_spectra.results import (
    Arrays,
    read_arrays,
    read_json,
    write_arrays,
    write_bytes,
    write_json,
)


@dataclass(frozen=True)
class Shards:
    """The shards of one computation, each written whole or not at all.

    Args:
        folder: where they are: ``<key>.npz`` the arrays, ``<key>.json`` how long they took,
            ``<key>.error`` what the last attempt raised.
    """

    folder: Path

    def path(self, key: str) -> Path:
        """Where the arrays of an item are."""
        return self.folder / f"{key}.npz"

    def _facts(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def _error(self, key: str) -> Path:
        return self.folder / f"{key}.error"

    def present(self) -> set[str]:
        """The keys of all shards that are there."""
        # Listing the folder shows what other machines wrote sooner than asking for each file.
        try:
            with os.scandir(self.folder) as entries:
                names = [entry.name for entry in entries]
        except FileNotFoundError:
            return set()
        return {
            name.removesuffix(".npz")
            for name in names
            if name.endswith(".npz") and not name.startswith(".")
        }

    def has(self, key: str) -> bool:
        """Whether an item's shard is there."""
        return self.path(key).exists()

    def write(self, key: str, arrays: Arrays, seconds: float) -> None:
        """Write an item's shard; the arrays come last, because their file is what counts."""
        write_json(self._facts(key), {"seconds": seconds})
        write_arrays(self.path(key), arrays)
        self._error(key).unlink(missing_ok=True)

    def read(self, key: str) -> Arrays:
        """An item's arrays.

        Raises:
            Exception: whatever reading a damaged file raises.
        """
        return read_arrays(self.path(key))

    def discard(self, key: str) -> None:
        """Remove a shard, for example a damaged one."""
        self.path(key).unlink(missing_ok=True)

    def seconds(self, keys: Iterable[str]) -> float:
        """How long the computation of some shards took in all, on one worker."""
        total = 0.0
        for key in keys:
            facts = self._facts(key)
            total += read_json(facts)["seconds"] if facts.exists() else 0.0
        return total

    def write_error(self, key: str, error: BaseException) -> None:
        """Keep what an attempt at an item raised: a line for the report, then the traceback."""
        self.folder.mkdir(parents=True, exist_ok=True)
        message = str(error).strip().partition("\n")[0]
        line = f"{type(error).__name__}: {message}".removesuffix(": ")
        trace = "".join(traceback.format_exception(error))
        write_bytes(self._error(key), f"{line}\n\n{trace}".encode())

    def clear_error(self, key: str) -> None:
        """Forget an attempt at an item, before the next one."""
        self._error(key).unlink(missing_ok=True)

    def error(self, key: str) -> str:
        """What the last attempt at an item raised, in one line; empty if it raised nothing."""
        try:
            return self._error(key).read_text().partition("\n")[0]
        except FileNotFoundError:
            return ""

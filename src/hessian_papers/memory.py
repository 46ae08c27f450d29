"""A memory of what files say, by their sizes and times: no file is read twice for nothing.

Some four hundred modules and a user's own files are looked at before each run, and few of them have
changed since the last one.
"""

import contextlib
import hashlib
import json
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from hessian_spectra.files import write_bytes

KNOWN = Path("results") / "known.json"
# A file that changed less than these seconds ago may change again without another time stamp.
SETTLED_SECONDS = 2.0


def _always(_: Any) -> bool:
    return True


class Memory:
    """A memory of what was found out about files.

    Its loss or damage costs no more than a reading of the files.

    Args:
        path: where it is kept; its first line is a digest of the rest.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._is_new = path, False
        self._kept: dict[str, Any] = {}
        with contextlib.suppress(OSError, UnicodeDecodeError):
            checksum, _, text = path.read_text("utf-8").partition("\n")
            self._kept = json.loads(text) if checksum == _digest(_version(__name__), text) else {}

    def of(
        self, find_out: Callable[..., Any], *files: Path, lasts: Callable[[Any], bool] = _always
    ) -> Any:
        """The result of a function that reads files, which is plain JSON.

        It is not asked again while the size, times and place on the disk of each file are those of
        the last time, and while the function's own module and Python are the same.

        Args:
            find_out: takes the files.
            files: which.
            lasts: whether what was found depends on nothing else.

        Raises:
            OSError: a file cannot be read.
        """
        status = [file.stat() for file in files]
        known = [(s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino) for s in status]
        state = _digest(_version(find_out.__module__), [*map(str, files)], known)
        name = f"{find_out.__name__} {files[0]}"
        before, result = self._kept.get(name, ("", None))
        if before != state:
            result = find_out(*files)
            newest = max(max(s.st_mtime, s.st_ctime) for s in status)
            if time.time() - newest > SETTLED_SECONDS and lasts(result):
                self._kept[name], self._is_new = (state, result), True
        return result

    def keep(self) -> None:
        """Write down what is new, and forget the files that are gone."""
        if self._is_new:
            known = {k: v for k, v in self._kept.items() if Path(k.partition(" ")[2]).is_file()}
            text = json.dumps(known)
            write_bytes(self._path, f"{_digest(_version(__name__), text)}\n{text}".encode())
            self._is_new = False


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@cache
def _version(module: str) -> str:
    """A digest of the code of a module, and of the Python that runs it."""
    file = sys.modules[module].__file__
    assert file is not None
    return _digest(sys.version, Path(file).read_bytes())


@cache
def _memory(path: Path) -> Memory:
    return Memory(path)


def memory() -> Memory:
    """The memory of this process, in the folder where it runs."""
    return _memory(KNOWN.absolute())


def sha256(file: Path) -> str:
    """The SHA-256 of a file, hexadecimal."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()

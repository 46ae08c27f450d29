"""Digests of a user's own files: what tells whether one was changed in place."""

import hashlib
import time
from collections.abc import Iterable
from pathlib import Path

from hessian_spectra.files import read_json, write_json

# A file that changed less than these seconds ago may change again without another time stamp.
SETTLED_SECONDS = 2.0
MISSING = "missing"
# The digests with what they were taken of.
KNOWN = Path("results") / "digests.json"


def digests(files: Iterable[Path]) -> dict[str, str]:
    """The SHA-256 of files, hexadecimal, by path; ``missing`` for one that is not there.

    A file whose size, times and place on the disk are those of the last time is not read again.

    Args:
        files: which.

    Raises:
        OSError: a file cannot be read.
    """
    try:
        kept = read_json(KNOWN)
    except (FileNotFoundError, ValueError):
        kept = None
    # Its loss costs no more than a reading of the files.
    kept = kept if isinstance(kept, dict) else {}
    before, sums = dict(kept), {}
    for file in files:
        name = str(file)
        if not file.is_file():
            sums[name] = MISSING
            continue
        status = file.stat()
        state = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
        *seen, digest = kept.pop(name, [None])
        if seen != state:
            with file.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
        sums[name] = digest
        if time.time() - max(status.st_mtime, status.st_ctime) > SETTLED_SECONDS:
            kept[name] = [*state, digest]
    if kept != before:
        write_json(KNOWN, kept)
    return sums

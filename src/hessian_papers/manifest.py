"""Manifests: which files belong to a result, so that a half of it is not taken for the whole."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hessian_papers.memory import sha256

# By path below a folder: ``bytes``, how many there are, and ``sha256`` of them, hexadecimal.
Manifest = Mapping[str, Mapping[str, Any]]


def described(folder: Path, paths: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """The manifest of files as they are now.

    Args:
        folder: what their names in the manifest start from.
        paths: the files, and folders of files, in it.
    """
    lines = [path for item in paths for path in (item, *item.rglob("*")) if path.is_file()]
    return {
        path.relative_to(folder).as_posix(): {
            "bytes": path.stat().st_size,
            "sha256": sha256(path),
        }
        for path in sorted(lines)
    }


def fault(folder: Path, manifest: Manifest, *, digests: bool = False) -> str:
    """The fault of the first file that is not as its manifest says; nothing if all are.

    Args:
        folder: what the names in the manifest start from.
        manifest: see :func:`described`.
        digests: whether to look at what the files say, and not at their sizes alone.

    Example:
        >>> fault(Path("results"), {"none.npz": {"bytes": 3, "sha256": ""}})
        'none.npz is missing'
    """
    for name, written in manifest.items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        if (size := path.stat().st_size) != written["bytes"]:
            return f"{name} has {size} bytes, {written['bytes']} were written"
        if digests and sha256(path) != written["sha256"]:
            return f"{name} has other bytes than were written"
    return ""

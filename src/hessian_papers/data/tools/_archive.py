"""A user's own images: a plain ``.npz`` file with two arrays."""

import zipfile
import zlib
from pathlib import Path

import numpy as np

SCHEMA = "images uint8 N x H x W x C and labels integers N"

# A larger one is no class, and counts of all classes up to it would fill the memory.
LARGEST_LABEL = 65535


def load(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read and check a file of images.

    The schema, as ``numpy.savez(path, images=images, labels=labels)`` writes it:

    - ``images``: uint8, ``(N, H, W, C)``: N images of H rows, W columns and C channels (1 for
      grey), at least one image of at least one pixel;
    - ``labels``: integers, ``(N,)``, from 0 to 65535.

    Other arrays in the file are ignored. Nothing is unpickled.

    Args:
        path: the file.

    Returns:
        Images as they are, and labels as int64.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it cannot be read, or breaks the schema; one line says where.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: expected a file with {SCHEMA}")
    try:
        images, labels = _read(path)
    except KeyError as error:
        raise ValueError(f"{path}: expected {SCHEMA}, got no array {error}") from None
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} cannot be read as an .npz file: {reason}") from None
    _check(path, images, labels)
    return images, labels.astype(np.int64)


def _read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    # numpy takes other files than zip archives, too, and gives no archive for them.
    if not zipfile.is_zipfile(path):
        raise ValueError("it is no zip archive")
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        for name in ("images", "labels"):
            if name not in archive:
                raise KeyError(name)
        return archive["images"], archive["labels"]


def _check(path: Path, images: np.ndarray, labels: np.ndarray) -> None:
    if images.dtype != np.uint8:
        raise ValueError(f"{path}: images: expected dtype uint8 (0 to 255), got {images.dtype}")
    if images.ndim != 4:
        hint = "; grey images have C = 1" if images.ndim == 3 else ""
        raise ValueError(f"{path}: images: expected shape N x H x W x C, got {images.shape}{hint}")
    if 0 in images.shape:
        raise ValueError(f"{path}: images: expected at least one pixel, got shape {images.shape}")
    if labels.dtype.kind not in "iu":
        raise ValueError(f"{path}: labels: expected integers, got dtype {labels.dtype}")
    if labels.shape != images.shape[:1]:
        raise ValueError(
            f"{path}: labels: expected one for each of {len(images)} images, "
            f"got shape {labels.shape}"
        )
    for label in (labels.min(), labels.max()):
        if not 0 <= label <= LARGEST_LABEL:
            raise ValueError(
                f"{path}: labels: expected classes from 0 to {LARGEST_LABEL}, got {label}"
            )

"""OpenWebText as files of tokens, too large for an archive: some 9 billion of them, 18 GB.

The download itself is exercised by nothing but use: tests put documents of their own in its place.
"""

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hessian_papers.data.base import DOWNLOADS, Storage
from hessian_papers.data.tools import tokenizer
from hessian_papers.manifest import described, fault
from hessian_spectra.files import Arrays, read_json, write_json
from hessian_spectra.validation import require

NAME, PUBLISHED = "openwebtext", "Skylion007/openwebtext"
# What is published under that name may change: a state of it, and how many documents there are.
REVISION, PUBLISHED_DOCUMENTS = "f3808c30e817981b845ec549c43e82bb467d8144", 8_013_769
INSTEAD = "or name files of your own in data.sets.text.sources"
# The digest of the text, and what is written of the files of tokens.
DIGESTS = "digests.json"
# Documents that are in the memory at once.
DOCUMENTS = 1000


def make(known: Any, validation: float, storage: Storage) -> Arrays:
    """The files of tokens, written once for a vocabulary and a share, in ``openwebtext``.

    Args:
        known: the encoding.
        validation: share of the documents, the last ones, that are not trained on.
        storage: a folder below its root holds the files.

    Returns:
        ``train`` and ``validation``, the paths of the files, ``vocabulary`` and ``digest``, all
        ``()``.

    Raises:
        FileNotFoundError: they are not there, and nothing may be downloaded.
        ValueError: the package datasets is missing, the download failed or brought another text,
            or a file is not what was written.
    """
    settings = hashlib.sha256(f"{validation!r} {known.to_str()}".encode()).hexdigest()
    folder = storage.place(NAME) / settings[:16]
    if not folder.is_dir():
        if not storage.download:
            raise FileNotFoundError(
                f"{folder} is missing: data.download=true fetches OpenWebText (it takes hours, and "
                f"some 80 GB), {INSTEAD}"
            )
        _write(folder, known, validation)
    kind = tokenizer.encoded(known, "").dtype
    paths = {split: folder.absolute() / f"{split}.{kind}" for split in ("train", "validation")}
    digests = read_json(folder / DIGESTS)
    if reason := fault(folder, digests["files"], digests=True):
        raise ValueError(
            f"{folder} is damaged ({reason}): delete it, and data.download=true fetches it anew"
        )
    return {
        **{split: np.array(str(path)) for split, path in paths.items()},
        "vocabulary": np.array(known.get_vocab_size()),
        "digest": np.array(digests["text"]),
    }


def _write(folder: Path, known: Any, validation: float) -> None:
    """Write the files as a whole or not at all."""
    documents = _published(folder.parent / DOWNLOADS)
    kept = len(documents) - max(1, round(validation * len(documents)))
    splits = {"train": (0, kept), "validation": (kept, len(documents))}
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    hasher = hashlib.sha256()
    try:
        partial.mkdir(parents=True)
        kind = tokenizer.encoded(known, "").dtype
        for split, (first, last) in splits.items():
            with (partial / f"{split}.{kind}").open("wb") as file:
                for text in _texts(documents, first, last):
                    hasher.update(text.encode())
                    tokenizer.encoded(known, text).tofile(file)
        files = described(partial, [partial])
        write_json(partial / DIGESTS, {"files": files, "text": hasher.hexdigest()})
        os.replace(partial, folder)
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(partial)


def _texts(documents: Any, first: int, last: int) -> Iterator[str]:
    """Some documents at a time, each with its end."""
    for start in range(first, last, DOCUMENTS):
        some = documents[start : min(start + DOCUMENTS, last)]["text"]
        yield "".join(f"{text}{tokenizer.SEPARATOR}" for text in some)


def _published(downloads: Path) -> Any:
    try:
        import datasets
    except ModuleNotFoundError:
        raise ValueError(f"{NAME} needs datasets: pip install datasets, {INSTEAD}") from None
    try:
        documents = datasets.load_dataset(
            PUBLISHED, revision=REVISION, split="train", cache_dir=str(downloads)
        )
    except Exception as error:  # it raises whatever the network leads it into
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{NAME} could not be fetched: {reason}; {INSTEAD}") from None
    expected = f"{PUBLISHED_DOCUMENTS} documents, as {PUBLISHED} has at {REVISION[:12]}"
    require(len(documents) == PUBLISHED_DOCUMENTS, NAME, expected, len(documents))
    return documents

"""Text as tokens, for language models: Python's documentation, files, or OpenWebText."""

import hashlib
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import xarray as xr

from hessian_papers.constraints import AtLeast, Once, ProperFraction
from hessian_papers.data.base import OFFLINE, TEXT, DataConfig, Form, Storage
from hessian_papers.data.tools import _openwebtext, tokenizer
from hessian_papers.labelled import Variable, Variables, data_set
from hessian_spectra.validation import require

TOPICS, OPENWEBTEXT, TRAINED = "python-topics", "openwebtext", "bpe"
GPT2_TOKENS = 50257


@dataclass(frozen=True, kw_only=True)
class Config(DataConfig):
    """Settings of a text.

    Args:
        sources: ``python-topics``, the topics of Python's own ``help()``, offline; paths that end
            in ``.txt``, relative to ``data.root`` or absolute, UTF-8; or ``openwebtext`` alone.
        tokenizer: ``bpe``, a byte-level pair encoding trained on the training split; or a folder
            with ``vocab.json`` and ``merges.txt`` of GPT-2, relative to ``data.root`` or absolute.
        vocabulary: tokens of an encoding that is trained; without effect on one that is read.
        validation: share of the text, its end, that is not trained on.
    """

    sources: Annotated[list[str], Once()]
    tokenizer: str
    vocabulary: Annotated[int, AtLeast(tokenizer.SMALLEST)]
    validation: ProperFraction

    def __post_init__(self) -> None:
        super().__post_init__()
        require(len(self.sources) > 0, "sources", "at least one source", self.sources)
        for source in self.sources:
            known = source in (TOPICS, OPENWEBTEXT) or source.endswith(".txt")
            require(known, "sources", f"{TOPICS}, {OPENWEBTEXT} or a path to a .txt file", source)
        alone = OPENWEBTEXT not in self.sources or len(self.sources) == 1
        require(alone, "sources", f"{OPENWEBTEXT} alone or without it", self.sources)
        given = bool(self.tokenizer.strip())
        require(given, "tokenizer", f"{TRAINED} or a folder", self.tokenizer)
        fits = OPENWEBTEXT not in self.sources or self.tokenizer != TRAINED
        require(fits, "tokenizer", f"a folder, as {OPENWEBTEXT} is too large to train on", TRAINED)

    @property
    def known_vocabulary(self) -> int:
        """The number of different tokens, as far as it is known without the text.

        An encoding that is trained may find fewer; a folder's is taken for GPT-2's own.
        """
        return self.vocabulary if self.tokenizer == TRAINED else GPT2_TOKENS

    @property
    def form(self) -> Form:
        """Text; how much of it only the files say."""
        return Form(TEXT)

    @property
    def stored(self) -> list[str]:
        """All but Python's topics, and what has a place of its own."""
        named = {*self.sources, self.tokenizer} - {TOPICS, TRAINED}
        return sorted(name for name in named if not Path(name).expanduser().is_absolute())


_NUMBER = "number of a token of the text that is"
VARIABLES: Variables = {
    "train": Variable("train_position", f"{_NUMBER} trained on"),
    "validation": Variable("validation_position", f"{_NUMBER} not trained on"),
    "vocabulary": Variable("", "how many different tokens there are"),
    "digest": Variable("", "SHA-256 of the text"),
}
# Of a text that does not fit into the memory.
FILES: Variables = {
    **VARIABLES,
    "train": Variable("", "file of the tokens that are trained on"),
    "validation": Variable("", "file of the tokens that are not trained on"),
}


def make(config: Config, storage: Storage = OFFLINE) -> xr.Dataset:
    """The tokens of a text, in two splits.

    Documents (each topic, each file) follow each other in their order, with GPT-2's separator
    between them if the vocabulary has it, else an empty line. A separator within a file ends a
    document, too.

    Args:
        config: the settings.
        storage: where files and vocabularies are, and whether OpenWebText may be downloaded.

    Returns:
        ``train`` ``(N,)`` and ``validation`` ``(M,)``, uint16, or uint32 if the vocabulary is
        larger than that; of OpenWebText the paths of files of these ``()``: see
        :func:`hessian_papers.data.tools.tokens.opened`. ``vocabulary`` ``()``: how many different
        tokens there are; ``digest`` ``()``: the SHA-256 of the text, as Python's topics are others
        in each version.

    Raises:
        FileNotFoundError: a file is missing; one line says what was expected where.
        ValueError: a file is empty, no UTF-8, or damaged.

    Example:
        >>> config = Config(kind="text", seed=0, sources=["python-topics"], tokenizer="bpe",
        ...                 vocabulary=300, validation=0.1)
        >>> data = make(config)
        >>> int(data["vocabulary"]), int(data["train"].max()) < 300
        (300, True)
    """
    known = None
    if config.tokenizer != TRAINED:
        known = tokenizer.read(storage.place(config.tokenizer))
    if config.sources == [OPENWEBTEXT]:
        return data_set(_openwebtext.make(known, config.validation, storage), FILES)
    separated = known is None or known.token_to_id(tokenizer.SEPARATOR) is not None
    between = tokenizer.SEPARATOR if separated else "\n\n"
    text = between.join(
        document for source in config.sources for document in _documents(source, storage)
    )
    share = round((1 - config.validation) * len(text))
    cut = tokenizer.boundary(text, share)
    train, validation = text[:cut], text[cut:]
    if not train or not validation:
        raise ValueError(
            f"validation: expected a share that leaves each split some words of a text of "
            f"{len(text)} characters, got {config.validation}"
        )
    chosen = known or tokenizer.trained(train, config.vocabulary)
    arrays = {
        "train": tokenizer.encoded(chosen, train),
        "validation": tokenizer.encoded(chosen, validation),
        "vocabulary": np.array(chosen.get_vocab_size()),
        "digest": np.array(hashlib.sha256(text.encode()).hexdigest()),
    }
    return data_set(arrays, VARIABLES)


def _documents(source: str, storage: Storage) -> Iterator[str]:
    if source == TOPICS:
        topics = importlib.import_module("pydoc_data.topics").topics
        yield from (topics[name] for name in sorted(topics))
        return
    path = storage.place(source)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: expected a text in UTF-8; see data.root")
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}: expected text in UTF-8, got the byte 0x{error.object[error.start]:02x} at "
            f"{error.start}; convert it, for example with iconv -t UTF-8"
        ) from None
    if not text.strip():
        raise ValueError(f"{path}: expected some text, got {len(text)} characters of white space")
    yield text

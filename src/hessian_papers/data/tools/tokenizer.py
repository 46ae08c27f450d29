"""Text as token numbers: byte-level pair encoding as GPT-2 has it, from files or trained here.

Bytes are the first tokens, so that any text has an encoding, which can be undone.

Source: radford2019language, section 2.2.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hessian_spectra.validation import optional_import

# GPT-2's token between two documents; it is one token wherever it stands in a text.
SEPARATOR = "<|endoftext|>"
VOCABULARY, MERGES = "vocab.json", "merges.txt"
EXPECTED = f"cannot be read as {VOCABULARY} and {MERGES} of one vocabulary, whole"
# The separator and all bytes.
SMALLEST = 257

# The library needs some hundred bytes for each token of what it encodes at once, in threads.
PIECE, PIECES = 2**16, 64
# A token holds white space only at its beginning, or nothing else: between a word and the white
# space behind it one ends, whatever comes before and after.
_END = re.compile(r"(?<=\S)\s")


def trained(text: str, size: int) -> Any:
    """A byte-level pair encoding learned from a text: the same one each time.

    From bytes on, the pair of tokens that is most frequent becomes a token, until there are enough.

    Args:
        text: the text; no pair reaches across a separator.
        size: tokens in the vocabulary, the separator and 256 bytes among them; there are fewer if
            the text has no further pairs.

    Returns:
        The ``Tokenizer`` of the package tokenizers.

    Example:
        >>> tokenizer = trained("low lower lowest", 260)
        >>> [tokenizer.id_to_token(token) for token in encoded(tokenizer, "slow")]
        ['s', 'low']
    """
    tokenizers = optional_import("tokenizers", "huggingface")
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[SEPARATOR],
        initial_alphabet=sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer = _byte_level(tokenizers.models.BPE())
    tokenizer.train_from_iterator(text.split(SEPARATOR), trainer)
    return tokenizer


def read(folder: Path) -> Any:
    """GPT-2's encoding, or another of its form, from the two files that it is published in.

    Args:
        folder: it holds ``vocab.json``, the number of each token, and ``merges.txt``, the pairs
            that become tokens, in their order.

    Returns:
        The ``Tokenizer`` of the package tokenizers.

    Raises:
        FileNotFoundError: a file is not there.
        ValueError: a file is damaged, or they do not belong together; one line says what is wrong.
    """
    tokenizers = optional_import("tokenizers", "huggingface")
    files = [folder / name for name in (VOCABULARY, MERGES)]
    if missing := [file for file in files if not file.is_file()]:
        raise FileNotFoundError(
            f"{missing[0]} is missing: expected a folder with {VOCABULARY} and {MERGES} of "
            "GPT-2; tokenizer=bpe does without"
        )
    try:
        tokenizer = _byte_level(tokenizers.models.BPE.from_file(*map(str, files)))
    except Exception as error:  # the library has no kinds of them
        raise ValueError(f"{folder} {EXPECTED}: {error}") from None
    model = json.loads(tokenizer.to_str())["model"]
    tokens, made = model["vocab"], {*tokenizers.pre_tokenizers.ByteLevel.alphabet()}
    made |= {"".join(pair) for pair in model["merges"]}
    # Those in angle brackets stand for no text.
    of_text = {token for token in tokens if not (token.startswith("<") and token.endswith(">"))}
    if of_text != made:
        lost = min(of_text ^ made)
        raise ValueError(f"{folder} {EXPECTED}: only one of the two has {lost!r}")
    if sorted(tokens.values()) != list(range(len(tokens))):
        raise ValueError(f"{folder} {EXPECTED}: the numbers are not 0 to {len(tokens) - 1}")
    if SEPARATOR in tokens:
        tokenizer.add_special_tokens([SEPARATOR])
    return tokenizer


def encoded(tokenizer: Any, text: str) -> np.ndarray:
    """The tokens of a text.

    Args:
        tokenizer: :func:`read` or :func:`trained`.
        text: the text, in which a separator is one token.

    Returns:
        ``(N,)``, uint16 as long as that holds the numbers of the vocabulary, else uint32.
    """
    kind = np.uint16 if tokenizer.get_vocab_size() <= 2**16 else np.uint32
    pieces, values = list(_pieces(text)), [np.empty(0, kind)]
    for start in range(0, len(pieces), PIECES):
        some = pieces[start : start + PIECES]
        encodings = tokenizer.encode_batch_fast(some, add_special_tokens=False)
        values += [np.array(encoding.ids, kind) for encoding in encodings]
    return np.concatenate(values)


def boundary(text: str, place: int) -> int:
    """Where a text can be cut without a change of its tokens, from a place in it on.

    Example:
        >>> boundary("two words", 1), boundary("two words", 4)
        (3, 9)
    """
    match = _END.search(text, place)
    return match.start() if match else len(text)


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = boundary(text, start + PIECE)
        yield text[start:end]
        start = end


def _byte_level(model: Any) -> Any:
    tokenizers = optional_import("tokenizers", "huggingface")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return tokenizer

"""Our reading of the papers' words where they give no number: one bound for one word, everywhere.

A statement that rests on such a reading stands in a book of its own, and does not call a paper
wrong: the number stands, "by our reading of ...".
"""

from dataclasses import replace
from types import MappingProxyType
from typing import Any

from hessian_papers.ledger.bounds import Bound, at_least, at_most
from hessian_spectra.validation import require

# By word: the bound, and how it is said.
_READINGS = MappingProxyType(
    {
        "almost every": at_least(0.9, "nine in ten"),
        "almost surely": at_least(0.9, "nine draws in ten"),
        "approximately": at_most(0.25, "a quarter"),
        "breaks down": at_least(1.0, "a factor of two"),
        "intact": at_most(0.1, "a tenth"),
        "mainly": at_least(0.5, "at least half"),
        "many": at_least(0.5, "at least half"),
        "most": at_least(0.5, "at least half"),
        "nearly": at_most(0.25, "a quarter"),
        "orders of magnitude": at_least(100.0, "two of them"),
        "similar": at_most(0.25, "a quarter"),
        "slightly": at_most(0.2, "a fifth"),
        "strongly": at_least(0.5, "a correlation of a half"),
        "to the eye": at_most(0.05, "a twentieth"),
        "usually": at_least(0.9, "nine in ten"),
        "well": at_least(0.5, "a correlation of a half"),
    }
)

# What a figure shows of one draw, or what is said of all, is asked of most draws.
MOST = at_least(0.5, "more often than not", source="ours: of a sentence about one draw or all")


def reading_of(word: str, **of: Any) -> Bound:
    """The bound that we read a word as.

    Args:
        word: the paper's.
        of: further fields of :class:`~hessian_papers.ledger.bounds.Bound`, as ``relation`` of the
            opposite ("not strongly").

    Raises:
        ValueError: it is not among our readings.

    Example:
        >>> str(reading_of("nearly")), reading_of("nearly").word
        ('at most 0.25 (tolerance 0)', 'nearly')
    """
    require(word in _READINGS, "word", f"one of {', '.join(_READINGS)}", word)
    bound = _READINGS[word]
    reason = f"by our reading of '{word}': {bound.reason}"
    return replace(bound, word=word, source="ours", reason=reason, **of)


def one_by(word: str) -> Bound:
    """The bound of a ratio that a paper calls 1 by a word such as ``approximately``.

    Raises:
        ValueError: the word is not among our readings.

    Example:
        >>> one_by("approximately").range
        (0.75, 1.25)
    """
    reading = reading_of(word)
    return replace(reading, relation="=", expected=1.0, tolerance=reading.expected)

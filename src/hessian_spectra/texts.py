"""Texts for a terminal."""

from collections.abc import Sequence


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows of texts, their columns aligned.

    Example:
        >>> aligned([("a", "1"), ("bcd", "2")])
        ['a    1', 'bcd  2']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]

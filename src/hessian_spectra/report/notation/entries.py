"""What a row of the notation tables holds."""

from typing import NamedTuple


class Symbol(NamedTuple):
    """One quantity, as we and the papers write it."""

    meaning: str
    ours: str
    closed: str = ""
    poster: str = ""
    cracking: str = ""
    data: str = ""


class Ambiguity(NamedTuple):
    """One symbol or word that stands for several things."""

    symbol: str
    meanings: tuple[str, ...]
    ours: str

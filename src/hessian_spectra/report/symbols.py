"""The notation tables of the page."""

from hessian_spectra.report.html import Child, Html, cell, formula, join, table, tag
from hessian_spectra.report.notation import Ambiguity, Symbol, read_notation

# Field of a symbol -> the heading of its column.
_PAPERS = {
    "closed": "singh2024closed",
    "poster": "singh2024poster",
    "cracking": "singh2026cracking",
    "data": "anon2026data",
}


def _cell(name: str, text: str) -> Html:
    # A dash says "not used there" where an empty cell could be an omission.
    return cell(name, formula(text) if text else "–")


def _symbol_row(symbol: Symbol, papers: dict[str, str]) -> Html:
    cells = [_cell(name, getattr(symbol, field)) for field, name in papers.items()]
    meaning = tag("th", formula(symbol.meaning), scope="row")
    return tag("tr", meaning, _cell("ours", symbol.ours), *cells)


def _group(title: str, symbols: tuple[Symbol, ...]) -> Html:
    papers = {
        field: name
        for field, name in _PAPERS.items()
        if any(getattr(symbol, field) for symbol in symbols)
    }
    rows = (_symbol_row(symbol, papers) for symbol in symbols)
    return table(title, ("meaning", "ours", *papers.values()), rows, "notation")


def _ambiguity_row(entry: Ambiguity) -> Html:
    meanings: list[Child] = [tag("li", formula(meaning)) for meaning in entry.meanings]
    return tag(
        "tr",
        tag("th", formula(entry.symbol), scope="row"),
        tag("td", tag("ul", *meanings), data_label="stands for"),
        cell("ours", formula(entry.ours)),
    )


def notation_section() -> Html:
    """The papers' symbols beside ours, then what means more than one thing.

    Raises:
        ValueError: the file behind it is broken.
    """
    notation = read_notation()
    ambiguous = table(
        "Symbols and words that stand for several things",
        ("symbol", "stands for", "ours"),
        map(_ambiguity_row, notation.ambiguities),
        "notation ambiguous",
    )
    note = (
        "One quantity in each row. A dash: the paper does not use it; a paper without a column "
        "uses none of the table. A bar over an expression is its mean over the samples, not "
        "centred."
    )
    groups = join(*(_group(title, symbols) for title, symbols in notation.symbols.items()))
    return tag("section", tag("h2", "Notation"), tag("p", note), groups, ambiguous, id="notation")

"""The notation tables of the page."""

from hessian_spectra.report.html import Child, Html, formula, tag
from hessian_spectra.report.notation import AMBIGUITIES, SYMBOLS, Ambiguity, Symbol

_COLUMNS = ("meaning", "ours", "singh2024closed", "singh2024poster", "singh2026cracking")


def _symbol_row(symbol: Symbol) -> Html:
    # A dash says "not used there" where an empty cell could be an omission.
    cells = [
        tag("td", tag("div", formula(text) if text else "–"), data_label=name)
        for name, text in zip(_COLUMNS[1:], symbol[1:], strict=True)
    ]
    return tag("tr", tag("th", formula(symbol.meaning), scope="row"), *cells)


def _group(title: str, symbols: tuple[Symbol, ...]) -> Html:
    heading = tag("tr", tag("th", title, colspan=str(len(_COLUMNS)), scope="rowgroup"))
    return tag("tbody", heading, *map(_symbol_row, symbols))


def _ambiguity_row(entry: Ambiguity) -> Html:
    meanings: list[Child] = [tag("li", formula(meaning)) for meaning in entry.meanings]
    return tag(
        "tr",
        tag("th", formula(entry.symbol), scope="row"),
        tag("td", tag("ul", *meanings), data_label="stands for"),
        tag("td", tag("div", formula(entry.ours)), data_label="ours"),
    )


def notation_section() -> Html:
    """The papers' symbols beside ours, then the symbols that mean more than one thing."""
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in _COLUMNS)))
    symbols = tag(
        "table",
        tag("caption", "One quantity in each row; a dash: the paper does not use it"),
        head,
        *(_group(title, entries) for title, entries in SYMBOLS.items()),
        class_="notation",
    )
    columns = ("symbol", "stands for", "ours")
    ambiguous = tag(
        "table",
        tag("caption", "Symbols that stand for several things"),
        tag("thead", tag("tr", *(tag("th", name, scope="col") for name in columns))),
        tag("tbody", *map(_ambiguity_row, AMBIGUITIES)),
        class_="notation",
    )
    note = tag("p", "A bar over an expression is its mean over the samples, not centred.")
    return tag("section", tag("h2", "Notation"), note, symbols, ambiguous, id="notation")

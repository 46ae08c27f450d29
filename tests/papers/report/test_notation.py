import re
from dataclasses import astuple
from importlib import resources
from pathlib import Path

import pytest

from hessian_papers.papers import PAPERS
from hessian_papers.report.notation import tables

GROUPS, AMBIGUITIES = tables()
SYMBOLS = {group.title: group.symbols for group in GROUPS}

CELLS = [text for group in SYMBOLS.values() for symbol in group for text in astuple(symbol)] + [
    text for entry in AMBIGUITIES for text in (entry.symbol, *entry.meanings, entry.ours)
]


def test_every_cell_is_a_text_in_which_code_and_formulas_end() -> None:
    """That the formulas are LaTeX is tested with those of all other texts."""
    for cell in CELLS:
        assert isinstance(cell, str), cell
        assert cell.count("$") % 2 == cell.count("`") % 2 == 0, cell


def test_every_symbol_is_used_by_a_paper() -> None:
    for symbols in SYMBOLS.values():
        for symbol in symbols:
            assert symbol.meaning, symbol
            assert symbol.ours, symbol
            assert any(astuple(symbol)[2:]), symbol
    assert all(len(entry.meanings) > 1 for entry in AMBIGUITIES)


def test_no_quantity_and_no_ambiguity_is_listed_twice() -> None:
    for symbols in SYMBOLS.values():
        meanings = [symbol.meaning for symbol in symbols]
        assert len(meanings) == len(set(meanings))
    ambiguous = [entry.symbol for entry in AMBIGUITIES]
    assert len(ambiguous) == len(set(ambiguous))


def test_each_table_has_the_columns_of_the_papers_that_use_it() -> None:
    for group in GROUPS:
        used = {field for symbol in group.symbols for field in vars(symbol) if vars(symbol)[field]}
        assert used == {"meaning", "ours", *group.papers}
    columns = {name for group in GROUPS for name in group.papers.values()}
    assert columns == set(PAPERS) - {"wu2022dissecting"}


@pytest.mark.parametrize(
    ("title", "meaning", "cells"),
    [
        ("Data and loss", "number of samples", ("$n$", "$n$", "$n$", "$n$")),
        ("Deep linear networks", "depth: number of layers", ("", "", "$B$", "$L$")),
        ("Labels and the shares of classes", "number of classes", ("", "", "", "$d_L$")),
    ],
)
def test_symbols_stand_in_the_column_of_their_paper(
    title: str, meaning: str, cells: tuple[str, ...]
) -> None:
    actual = [symbol for symbol in SYMBOLS[title] if symbol.meaning == meaning]
    assert [astuple(symbol)[2:] for symbol in actual] == [cells]


def test_names_called_ours_are_names_in_the_library() -> None:
    packages = [Path(str(resources.files(f"hessian_{name}"))) for name in ("papers", "spectra")]
    files = [file for package in packages for file in package.rglob("*.py")]
    source = "\n".join(file.read_text("utf-8") for file in files)
    cells = [symbol.ours for group in SYMBOLS.values() for symbol in group]
    cells += [entry.ours for entry in AMBIGUITIES]
    code = " ".join(part for cell in cells for part in re.findall("`([^`]*)`", cell))
    names = set(re.findall(r"(?<![\w\"])[a-z_]{3,}", code)) - {"spectrum"}
    assert len(names) > 10
    assert {name for name in names if not re.search(rf"\b{name}\b", source)} == set()

import re
from importlib import resources
from pathlib import Path

import pytest

from hessian_papers.papers import PAPERS
from hessian_papers.report.notation import COLUMNS, tables

TABLES = tables()
GROUPS, AMBIGUITIES = TABLES["groups"], TABLES["ambiguities"]
SYMBOLS = [symbol for group in GROUPS for symbol in group["symbols"]]
CELLS = [text for symbol in SYMBOLS for text in symbol.values()] + [
    text for entry in AMBIGUITIES for text in (entry["symbol"], *entry["meanings"], entry["ours"])
]


def test_every_cell_is_a_text_in_which_code_and_formulas_end():
    """That the formulas are LaTeX is tested with those of all other texts."""
    for cell in CELLS:
        assert isinstance(cell, str), cell
        assert cell.count("$") % 2 == cell.count("`") % 2 == 0, cell


def test_every_symbol_is_used_by_a_paper():
    for symbol in SYMBOLS:
        assert symbol["meaning"], symbol
        assert symbol["ours"], symbol
        assert {*symbol} - {"meaning", "ours"} <= {*COLUMNS}, symbol
        assert len(symbol) > 2, symbol
    assert all(len(entry["meanings"]) > 1 for entry in AMBIGUITIES)


def test_no_quantity_and_no_ambiguity_is_listed_twice():
    lists = [[symbol["meaning"] for symbol in group["symbols"]] for group in GROUPS]
    for names in (*lists, [entry["symbol"] for entry in AMBIGUITIES]):
        assert len(names) == len({*names})


def test_each_table_has_the_columns_of_the_papers_that_use_it():
    for group in GROUPS:
        used = {field for symbol in group["symbols"] for field in symbol}
        assert used == {"meaning", "ours", *group["papers"]}
    columns = {name for group in GROUPS for name in group["papers"].values()}
    assert columns == set(PAPERS) - {"wu2022dissecting"}


@pytest.mark.parametrize(
    ("meaning", "cells"),
    [
        ("number of samples", ("$n$", "$n$", "$n$", "$n$")),
        ("depth: number of layers", ("", "", "$B$", "$L$")),
        ("number of classes", ("", "", "", "$d_L$")),
    ],
)
def test_symbols_stand_in_the_column_of_their_paper(meaning, cells):
    actual = [symbol for symbol in SYMBOLS if symbol["meaning"] == meaning]
    assert [tuple(symbol.get(name, "") for name in COLUMNS) for symbol in actual] == [cells]


def test_names_called_ours_are_names_in_the_library():
    packages = [Path(str(resources.files(f"hessian_{name}"))) for name in ("papers", "spectra")]
    files = [file for package in packages for file in package.rglob("*.py")]
    source = "\n".join(file.read_text("utf-8") for file in files)
    cells = [entry["ours"] for entry in (*SYMBOLS, *AMBIGUITIES)]
    code = " ".join(part for cell in cells for part in re.findall("`([^`]*)`", cell))
    names = set(re.findall(r"(?<![\w\"])[a-z_]{3,}", code)) - {"spectrum"}
    assert len(names) > 10
    assert {name for name in names if not re.search(rf"\b{name}\b", source)} == set()

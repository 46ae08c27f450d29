import re
from dataclasses import astuple
from importlib import resources
from pathlib import Path

import pytest

from hessian_papers.papers import PAPERS
from hessian_papers.report.notation import marked, read_notation, tables

NOTATION = read_notation()
SYMBOLS, AMBIGUITIES = NOTATION.symbols, NOTATION.ambiguities

CELLS = [text for group in SYMBOLS.values() for symbol in group for text in astuple(symbol)] + [
    text for entry in AMBIGUITIES for text in (entry.symbol, *entry.meanings, entry.ours)
]


def test_marks_nest_and_the_rest_is_escaped() -> None:
    made = marked("~{δx_{d}} < {1}")
    assert made == '<span class="mean">δx<sub>d</sub></span> &lt; {1}'
    with pytest.raises(ValueError, match="a brace is not closed"):
        marked("x_{1")


def test_notation_cells_are_unicode_and_well_formed() -> None:
    for cell in CELLS:
        made = marked(cell)
        assert made.count("<sub>") == cell.count("_{"), cell
        assert "\\" not in cell
        assert "$" not in cell


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
    shown = tables()
    assert [group.title for group in shown.groups] == list(SYMBOLS)
    for group in shown.groups:
        used = {field for symbol in group.symbols for field in vars(symbol) if vars(symbol)[field]}
        assert used == {"meaning", "ours", *group.papers}
    columns = {name for group in shown.groups for name in group.papers.values()}
    assert columns == set(PAPERS) - {"wu2022dissecting"}


@pytest.mark.parametrize(
    ("title", "meaning", "cells"),
    [
        ("Data and loss", "number of samples", ("n", "n", "n", "n")),
        ("Deep linear networks", "depth: number of layers", ("", "", "B", "L")),
        ("Labels and the shares of classes", "number of classes", ("", "", "", "d_{L}")),
    ],
)
def test_symbols_stand_in_the_column_of_their_paper(
    title: str, meaning: str, cells: tuple[str, ...]
) -> None:
    actual = [symbol for symbol in SYMBOLS[title] if symbol.meaning == meaning]
    assert [astuple(symbol)[2:] for symbol in actual] == [cells]


LOSS = "symbols: {Loss: [{meaning: loss, ours: L}]}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("symbols: [", "notation.yaml is no YAML: while parsing a flow node"),
        ("[]", "notation.yaml: expected a mapping, got []"),
        ("symbols: {}", "notation.yaml: expected ambiguities, got ['symbols']"),
        ("symbols: {}\nambiguities: []", "notation.yaml, symbols: expected groups, got {}"),
        ("symbols: {Loss: []}\nambiguities: []", "notation.yaml, Loss: expected a list, got []"),
        (
            "symbols: {Loss: [{meaning: loss}]}\nambiguities: []",
            "notation.yaml, Loss 1: expected ours, got ['meaning']",
        ),
        (
            "symbols: {Loss: [{meaning: loss, ours: L, cracked: L}]}\nambiguities: []",
            "notation.yaml, Loss 1: expected one of meaning, ours, closed, poster, cracking, data, "
            "got 'cracked'",
        ),
        (
            "symbols: {Loss: [{meaning: loss, ours: L, data: 1}]}\nambiguities: []",
            "notation.yaml, Loss 1, data: expected a text, got 1",
        ),
        (f"{LOSS}\nambiguities: [n]", "notation.yaml, ambiguities 1: expected a mapping, got 'n'"),
        (
            f"{LOSS}\nambiguities: [{{symbol: n, meanings: two, ours: n}}]",
            "notation.yaml, ambiguities 1, meanings: expected a list, got 'two'",
        ),
        (
            f"{LOSS}\nambiguities: [{{symbol: n, meanings: [one, null], ours: n}}]",
            "notation.yaml, ambiguities 1, meanings 2: expected a text, got None",
        ),
    ],
)
def test_a_broken_file_of_notation_is_one_line(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "notation.yaml"
    file.write_text(content, "utf-8")
    with pytest.raises(ValueError, match=f"^{re.escape(message)}") as caught:
        read_notation(file)
    assert "\n" not in str(caught.value)


def test_names_called_ours_are_names_in_the_library() -> None:
    packages = [Path(str(resources.files(f"hessian_{name}"))) for name in ("papers", "spectra")]
    files = [file for package in packages for file in package.rglob("*.py")]
    source = "\n".join(file.read_text("utf-8") for file in files)
    cells = [symbol.ours for group in SYMBOLS.values() for symbol in group]
    cells += [entry.ours for entry in AMBIGUITIES]
    code = " ".join(part for cell in cells for part in re.findall(r"`\{([^}]*)\}", cell))
    names = set(re.findall(r"(?<![\w\"])[a-z_]{3,}", code)) - {"spectrum"}
    assert len(names) > 10
    assert {name for name in names if not re.search(rf"\b{name}\b", source)} == set()

import re
from dataclasses import astuple
from importlib import resources
from pathlib import Path

import pytest

from hessian_spectra.papers import PAPERS
from hessian_spectra.report.html import Html, anchor, formula, join, number, prose, tag
from hessian_spectra.report.notation import read_notation
from hessian_spectra.report.symbols import notation_section

NOTATION = read_notation()
SYMBOLS, AMBIGUITIES = NOTATION.symbols, NOTATION.ambiguities

CELLS = [text for group in SYMBOLS.values() for symbol in group for text in astuple(symbol)] + [
    text for entry in AMBIGUITIES for text in (entry.symbol, *entry.meanings, entry.ours)
]


def test_strings_are_escaped_and_html_is_not() -> None:
    inner = tag("b", "<x> & 'y'")
    assert inner == "<b>&lt;x&gt; &amp; &#x27;y&#x27;</b>"
    assert tag("p", inner, None, "<") == f"<p>{inner}&lt;</p>"
    assert isinstance(join("a", inner), Html)


def test_attributes_are_quoted_or_left_out() -> None:
    made = tag("a", title='"><script>', hidden=True, id=None, data_show="x")
    assert made == '<a title="&quot;&gt;&lt;script&gt;" hidden data-show="x"></a>'


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (-3.0, "−3"),
        (999999.0, "999999"),
        (1e6, "1 × 10<sup>6</sup>"),
        (-1.5e-10, "−1.5 × 10<sup>−10</sup>"),
        (0.123456, "0.123"),
        (float("inf"), "inf"),
        (None, "–"),
    ],
)
def test_numbers(value: float | None, shown: str) -> None:
    assert number(value) == shown


def test_anchors_are_valid_and_keep_names_apart() -> None:
    names = ["thm-linear/eq. 1", "thm-linear/eq.1", "thm-linear eq.1", "λ", "μ", "a--b", "a/b c"]
    anchors = [anchor("claim", name) for name in names]
    assert len(set(anchors)) == len(names)
    assert all(re.fullmatch(r"claim-[A-Za-z0-9_-]+", found) for found in anchors)


def test_formula_nests_marks_and_escapes_the_rest() -> None:
    made = formula("~{δx_{d}} < {1}")
    assert made == '<span class="mean">δx<sub>d</sub></span> &lt; {1}'
    with pytest.raises(ValueError, match="a brace is not closed"):
        formula("x_{1")


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("σ_x² and n_+/n", "σ<sub>x</sub>² and n<sub>+</sub>/n"),
        ("σ_i(Y)^2", "σ<sub>i</sub>(Y)<sup>2</sup>"),
        ("x_{t-1}, Λ_{1,2}", "x<sub>t-1</sub>, Λ<sub>1,2</sub>"),
        ("½σ_x²(2λ_2 + σ_xδx)", "½σ<sub>x</sub>²(2λ<sub>2</sub> + σ<sub>x</sub>δx)"),
        (
            "‖W_1‖_F, ∇_v ℓ, yx_d, z^k",
            "‖W<sub>1</sub>‖<sub>F</sub>, ∇<sub>v</sub> ℓ, yx<sub>d</sub>, z<sup>k</sup>",
        ),
        ("λ_1 of z_bulk", "λ<sub>1</sub> of z<sub>bulk</sub>"),
        ("A^T b^{-1}", "A<sup>T</sup> b<sup>-1</sup>"),
        ("at most 9.9e-15.", "at most 9.9 × 10<sup>−15</sup>."),
        ("2e+06 or 1e-7)", "2 × 10<sup>6</sup> or 1 × 10<sup>−7</sup>)"),
        ("w_value, second_moment, test_x.py, a__b", "w_value, second_moment, test_x.py, a__b"),
        ("digest 1e5a, 3.1e, version 1.2e3.4", "digest 1e5a, 3.1e, version 1.2e3.4"),
        ("a < b_2 & c", "a &lt; b<sub>2</sub> &amp; c"),
        ("x_<i>", "x_&lt;i&gt;"),
    ],
)
def test_prose_sets_indices_and_powers_and_leaves_names_alone(text: str, made: str) -> None:
    assert prose(text) == made


def test_notation_cells_are_unicode_and_well_formed() -> None:
    for cell in CELLS:
        made = formula(cell)
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


def test_each_table_of_symbols_has_the_columns_of_the_papers_that_use_it() -> None:
    tables = notation_section().split("<table")[1:-1]
    assert len(tables) == len(SYMBOLS)
    shown = set()
    for table, (title, symbols) in zip(tables, SYMBOLS.items(), strict=True):
        assert f"<caption>{title}</caption>" in table
        heads = re.findall(r'<th scope="col">(.*?)</th>', table)
        assert heads[:2] == ["meaning", "ours"]
        shown |= set(heads[2:])
        rows = re.findall(r'<tr><th scope="row">(.*?)</tr>', table)
        assert len(rows) == len(symbols)
        labels = [re.findall('data-label="(.*?)"', row) for row in rows]
        assert labels == [heads[1:]] * len(rows)
        columns = zip(*(re.findall("<td.*?><div>(.*?)</div>", row) for row in rows), strict=True)
        assert all(set(column) != {"–"} for column in columns)
    assert shown == set(PAPERS) - {"wu2022dissecting"}


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
    found = [symbol for symbol in SYMBOLS[title] if symbol.meaning == meaning]
    assert [astuple(symbol)[2:] for symbol in found] == [cells]


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


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def schemes() -> dict[str, dict[str, str]]:
    """The colours of the light and the dark scheme, by their names."""
    css = resources.files("hessian_spectra.report").joinpath("style.css").read_text("utf-8")
    blocks = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    return {
        name: dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))
        for name, block in zip(("light", "dark"), blocks, strict=True)
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_that_wcag_aa_asks_for(scheme: str) -> None:
    colours = schemes()[scheme]
    pairs = [(f, b) for f in ("text", "quiet", "link") for b in ("page", "card", "code", "target")]
    pairs += [(name, f"{name}-back") for name in ("reproduced", "corrected", "differs", "open")]
    low = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    assert {pair: round(value, 2) for pair, value in low.items() if value < 4.5} == {}


def test_names_called_ours_are_names_in_the_library() -> None:
    package = Path(str(resources.files("hessian_spectra")))
    source = "\n".join(file.read_text("utf-8") for file in package.rglob("*.py"))
    cells = [symbol.ours for group in SYMBOLS.values() for symbol in group]
    cells += [entry.ours for entry in AMBIGUITIES]
    code = " ".join(part for cell in cells for part in re.findall(r"`\{([^}]*)\}", cell))
    names = set(re.findall(r"(?<![\w\"])[a-z_]{3,}", code)) - {"spectrum"}
    assert len(names) > 10
    assert {name for name in names if not re.search(rf"\b{name}\b", source)} == set()

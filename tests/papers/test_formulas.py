"""LaTeX in texts: as MathML, in plain signs, and that of all texts is such."""

import ast
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from hessian_papers.formulas import FORMULA, mathml, pieces, plain, prose

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "src" / "hessian_papers"
# Modules of a study whose strings are texts.
TEXTS = ("claims.py", "figure.py", "texts.py", "derived.py", "drawing.py")


@pytest.mark.parametrize(
    ("formula", "made"),
    [
        ("x_i", "<msub><mi>x</mi><mi>i</mi></msub>"),
        ("σ_x^2", "<msubsup><mi>σ</mi><mi>x</mi><mn>2</mn></msubsup>"),
        (r"\sqrt{0.9}", "<msqrt><mn>0.9</mn></msqrt>"),
        ("a < b ≤ c", "<mi>a</mi><mo>&lt;</mo><mi>b</mi><mo>≤</mo><mi>c</mi>"),
        ("W^{-1}", "<msup><mi>W</mi><mrow><mo>−</mo><mn>1</mn></mrow></msup>"),
        ("w^⊤", "<msup><mi>w</mi><mo>⊤</mo></msup>"),
        ("±|γ|", "<mo>±</mo><mi>|</mi><mi>γ</mi><mi>|</mi>"),
        (r"\operatorname{tr} H", "<mi>tr</mi><mi>H</mi>"),
        (r"\overline{x_d}", '<mrow class="mean"><msub><mi>x</mi><mi>d</mi></msub></mrow>'),
        (r"λ_{\max}", "<msub><mi>λ</mi><mi>max</mi></msub>"),
    ],
)
def test_a_formula_is_mathml(formula: str, made: str) -> None:
    assert mathml(formula) == f"<math>{made}</math>"


@pytest.mark.parametrize("formula", ["x_", "a^b^c", r"\sqrt", "x_{1", "x}", r"\foo x"])
def test_what_is_no_latex_is_refused_in_one_line_and_stays_text_on_the_page(formula: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"${formula}$")) as caught:
        mathml(formula)
    assert "\n" not in str(caught.value)
    assert prose(f"It is ${formula}$.") == f"It is ${formula}$."


def test_a_long_formula_may_break_behind_an_operator_and_nowhere_in_braces() -> None:
    assert pieces("λ_1 λ_2 = (⟨w, v⟩ E[x^2] - E[yx]) (3 ⟨w, v⟩ + 1)") == [
        *("λ_1 λ_2 =", "(⟨w,", "v⟩ E[x^2] -", "E[yx]) (3 ⟨w,", "v⟩ +", "1)"),
    ]
    root = r"\frac12\sqrt{S^2 + 12 r_{i + 1}^2 + 4 δx^2 + 2 σ^2 δx}"
    assert pieces(f"S/2 ± {root}") == ["S/2 ±", root]
    assert pieces("S = ‖v‖^2 + ‖w‖^2") == ["S = ‖v‖^2 + ‖w‖^2"]


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("no formula, 5 %, F-100^2, x_{1}", "no formula, 5 %, F-100^2, x_{1}"),
        ("$λ_1/θ^*$ of $D = 2$", "λ_1/θ* of D = 2"),
        (r"$\operatorname{diag}(p) - pp^⊤$", "diag(p) − ppᵀ"),
        (r"$\sqrt n σ_{\max}^2$", "√n σ_max²"),
        (r"$\sqrt{n_l/n_{l-1}}$", "√(n_l/n_{l−1})"),
        (r"$1\lbrace a > 0\rbrace$, $\frac12$", "1{a > 0}, (1/2)"),
        (r"$λ_\text{bulk} ≤ \text{largest outlier}$", "λ_bulk ≤ largest outlier"),
        ("$x^{2/L}$, $q_{ij}$, $W^{25}$", "x^(2/L), q_ij, W^25"),
    ],
)
def test_a_plain_reader_gets_signs(text: str, signs: str) -> None:
    assert plain(text) == signs


def test_text_is_escaped_beside_and_in_formulas() -> None:
    made = prose('$x < 1$ && "c" </script><img src=x onerror=alert(1)> $‖w‖^2$ $</math>$')
    assert "<img" not in made
    assert "<script" not in made
    assert made.count("</math>") == 3
    assert "<math><mi>x</mi><mo>&lt;</mo><mn>1</mn></math> &amp;&amp; &quot;c&quot;" in made


def test_beside_formulas_code_and_powers_are_set_as_such() -> None:
    assert prose("`x < y` of F-200^2, 1e-10") == (
        "<code>x &lt; y</code> of F-200<sup>2</sup>, 1 × 10<sup>−10</sup>"
    )


def test_a_text_without_dollars_loses_nothing() -> None:
    for text in ("", " ", "(", "=", "_", "√", "x_", "{", "⟨", "$", json.dumps({"a": [1]})):
        assert html.unescape(prose(text)) == text


def literals(tree: ast.AST) -> Iterator[str]:
    """The strings of a module; in the place of what is filled in stands a number."""
    parts = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts |= {id(part) for part in node.values}
            yield "".join(
                str(getattr(part, "value", "")) if isinstance(part, ast.Constant) else "0"
                for part in node.values
            )
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts
        ):
            yield node.value


def entries(content: Any) -> Iterator[str]:
    """The texts in a file of YAML."""
    if isinstance(content, dict | list):
        for value in content.values() if isinstance(content, dict) else content:
            yield from entries(value)
    elif isinstance(content, str):
        yield content


def written() -> Iterator[str]:
    """Every string of claims, figures and theorems, of the configuration, and of the notation."""
    for folder in ("studies", "theorems"):
        for file in (PAPERS / folder).rglob("*.py"):
            if folder == "theorems" or file.name in TEXTS:
                yield from literals(ast.parse(file.read_text("utf-8")))
    for folder in (PAPERS, ROOT / "conf"):
        for file in folder.rglob("*.yaml"):
            yield from entries(yaml.safe_load(file.read_text("utf-8")))


def problem(text: str) -> str:
    """A line on what is wrong with the formulas of a text; empty if nothing is."""
    if text.count("$") % 2:
        return f"a dollar without its partner in {' '.join(text.split())!r}"
    try:
        for formula in FORMULA.findall(text):
            for piece in pieces(" ".join(formula.split())):
                ElementTree.fromstring(mathml(piece))
    except (ValueError, ElementTree.ParseError) as error:
        return str(error)
    return ""


def test_a_wrong_text_is_told() -> None:
    assert problem("a $b") == "a dollar without its partner in 'a $b'"
    assert problem(r"$\foo$").startswith(r"$\foo$ has a command that is none")
    assert problem("$x_i$ and 2") == ""


def test_every_formula_is_latex() -> None:
    """The labels of figures count, which matplotlib reads; placeholders of settings do not."""
    texts = {text for text in written() if "$" in text and "${" not in text}
    assert len(texts) > 30
    assert sorted(filter(None, map(problem, texts))) == []

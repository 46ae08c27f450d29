import ast
import html
import json
import re
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hessian_papers.report.entries import anchor
from hessian_papers.report.formulas import number, prose
from hessian_papers.report.mathml import latex, mathml


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
    assert all(re.fullmatch(r"claim-[A-Za-z0-9_-]+", actual) for actual in anchors)


def marked(text: str) -> list[str]:
    """The formulas that are found in a sentence: what they say, without marks and spaces."""
    actual = re.findall(r"<math>(.*?)</math>", prose(text))
    return [html.unescape(re.sub("<[^>]+>", "", item)) for item in actual]


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        ("The pair is S/2 ± ½√(S² + 12r²), S = ‖v‖².", ["S/2±12S2+12r2", "S=‖v‖2"]),
        ("A step (λ_max > 2/η) of a network", ["(λmax>2/η)"]),
        ("at every D, and a x or b y, no formula stands.", []),
        ("the D − 1 others; I ⊗ W_1ΣW_1ᵀ", ["D−1", "I⊗W1ΣW1⊤"]),
        ("with ⟨w, v⟩ = 0, it is", ["⟨w,v⟩=0"]),
        ("F-100^2 of μP at n = 256: w_value, second_moment, a__b, test_x.py", ["n=256"]),
        ("tr(H)/D of E[x x'], S / 2^(L−p).", ["tr(H)/D", "E[xx′]", "S/2L−p"]),
        ("|λ₂| > 1e-12 λ₁", ["|λ2|>1×10−12λ1"]),
        ("without the last matrix, Ŵ_B, and of products Ŵ_b, no W", ["ŴB", "Ŵb"]),
        ("an open bracket (λ = 1 ends it", ["λ=1"]),
        ("a bar alone |x_1 = 2 is none", []),
    ],
)
def test_formulas_are_found_and_words_are_none(text: str, formulas: list[str]) -> None:
    assert marked(text) == formulas


@pytest.mark.parametrize(
    ("formula", "made"),
    [
        ("x_i", "<msub><mi>x</mi><mi>i</mi></msub>"),
        ("σ_x²", "<msubsup><mi>σ</mi><mi>x</mi><mn>2</mn></msubsup>"),
        ("√0.9", "<msqrt><mn>0.9</mn></msqrt>"),
        ("a < b", "<mi>a</mi><mo>&lt;</mo><mi>b</mi>"),
        ("W^{-1}", "<msup><mi>W</mi><mrow><mo>−</mo><mn>1</mn></mrow></msup>"),
    ],
)
def test_a_formula_is_mathml(formula: str, made: str) -> None:
    assert mathml(formula) == f"<math>{made}</math>"


@pytest.mark.parametrize("text", ["x_{1", "a^b^c", "½^"])
def test_what_is_no_formula_stays_text(text: str) -> None:
    assert mathml(text) is None


def test_latex_has_no_sign_that_ends_a_line_or_starts_a_command_of_its_own() -> None:
    assert latex("θ* ∈ {1, …}") == r"θ^{*} \in  \{ 1, \ldots \} "


def test_a_long_formula_may_break_after_an_operator_and_nowhere_in_a_root() -> None:
    assert marked("λ_1 λ_2 = (⟨w, v⟩ E[x²] − E[yx]) (3 ⟨w, v⟩ + 1)") == [
        *("λ1λ2=", "(⟨w,", "v⟩E[x2]−", "E[yx])(3⟨w,", "v⟩+", "1)"),
    ]
    assert marked("S/2 ± ½√(S² + 12 r² + 4 δx² + 2 σ² δx)") == ["S/2±", "12S2+12r2+4δx2+2σ2δx"]


def test_text_is_escaped_beside_and_in_formulas() -> None:
    made = prose('x < 1 && "c" </script><img src=x onerror=alert(1)> ‖w‖²')
    assert "<img" not in made
    assert "<script" not in made
    assert "<math><mi>x</mi><mo>&lt;</mo><mn>1</mn></math> &amp;&amp; &quot;c&quot;" in made


def statements() -> list[str]:
    """What all claims state."""
    package = Path(str(resources.files("hessian_papers.studies")))
    trees = [ast.parse(path.read_text("utf-8")) for path in package.rglob("claims.py")]
    actual = [node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]
    return sorted({ast.get_docstring(node) or "" for node in actual})


def letters(text: str) -> str:
    """What a text says, whatever is raised, lowered or under a root."""
    plain = text.translate(str.maketrans("−⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵀ₀₁₂₃₄₅₆₇₈₉⊤′", "-0123456789-T0123456789T'"))
    plain = plain.replace("½", "12").replace("⅓", "13").replace("⅔", "23")
    plain = re.sub(r"(\d)×10(-?\d)", r"\1e\2", re.sub(r"[\s_^{}()√]", "", plain))
    return re.sub(r"e([-+]?)0*(\d)", lambda match: f"e{match[1].strip('+')}{match[2]}", plain)


def test_nothing_of_a_claim_is_lost_and_every_formula_is_well_formed() -> None:
    texts = statements()
    assert len(texts) > 200
    formulas = 0
    for text in texts:
        made = prose(text)
        actual = re.findall(r"<math>.*?</math>", made)
        for item in actual:
            ElementTree.fromstring(item)
        formulas += len(actual)
        assert letters(html.unescape(re.sub("<[^>]+>", "", made))) == letters(text), text
    assert formulas > len(texts) / 2


def test_a_figures_caption_may_hold_any_text() -> None:
    for text in ("", " ", "(", "=", "_", "√", "x_", "{", "⟨", "λ" * 50, json.dumps({"a": [1]})):
        assert letters(html.unescape(re.sub("<[^>]+>", "", prose(text)))) == letters(text)

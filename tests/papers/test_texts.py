"""Formulas of statements stand between dollars, where a converter sets them."""

import re

from tests.prose import stated

# What is part of a formula wherever it stands: signs, an index of a single letter, an expectation.
FORMULA = re.compile(r"[²³⁴⁻ᵀ₀-₉½√⟨⟩‖∈⊗∇∂]|(?<!\w)[A-Za-zΑ-ω]_(?:\w\b|max|min|bulk|\{)|E\[")


def outside(text: str) -> str:
    """A text without what stands between dollars."""
    return re.sub(r"\$[^$]*\$", "", text)


def test_what_is_a_formula_is_seen() -> None:
    assert FORMULA.search(outside("$λ_1$ of W_1"))
    assert not FORMULA.search(outside("$λ_1$ of F-200^2 and w_value, at D"))


def test_no_formula_of_a_statement_stands_outside_dollars() -> None:
    texts = list(stated())
    assert len(texts) > 800
    assert sorted({text for text in texts if FORMULA.search(outside(text))}) == []

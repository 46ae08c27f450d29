"""Formulas of statements stand between dollars, where a converter sets them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hessian_papers.ledger.bounds import Bound
from hessian_papers.ledger.statements import Print
from hessian_papers.theorems import THEOREMS
from pipelines import schema

# What is part of a formula wherever it stands: signs, an index of a single letter, an expectation.
FORMULA = re.compile(r"[²³⁴⁻ᵀ₀-₉½√⟨⟩‖∈⊗∇∂]|(?<!\w)[A-Za-zΑ-ω]_(?:\w\b|max|min|bulk|\{)|E\[")


def texts_of(value: Any) -> Iterator[str]:
    """The texts in a field of a statement, those apart that depend on the case."""
    if isinstance(value, Print):
        yield value.text
    elif isinstance(value, Bound):
        yield from (value.source, value.reason)
    elif isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, str):
        yield value


def stated() -> Iterator[str]:
    """The texts of statements and theorems."""
    for kind in schema.kinds("studies"):
        for said in schema.module_of("studies", kind, "", "claims").statements.all:
            yield said.function.__doc__
            for value in (said.place, said.bound, said.otherwise, said.printed):
                yield from texts_of(value)
    for theorem in THEOREMS.values():
        yield from (theorem.statement, theorem.printed, theorem.remark, theorem.source)


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

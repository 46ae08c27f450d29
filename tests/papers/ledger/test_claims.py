"""A claim is a function: what its decorator, its docstring and the arrays make of it."""

import numpy as np
import pytest

from hessian_papers.ledger.bounds import at_least, at_most, equal_to, within
from hessian_papers.ledger.claims import Claims, Print, Study, over
from hessian_papers.results import StudyArrays

PAPER, OTHER = "singh2026cracking", "singh2024closed"
SMALL = within(1e-10, "round-off")


def zero(reading):
    """Nothing is off."""
    return 0.0


@pytest.fixture
def claims():
    return Claims(StudyArrays, values={"sp": "SP", "mup": "μP"})


def entries(claims, *, paper=PAPER, artifact="Figure 1", names=None, **arrays):
    config = {"paper": paper, "artifact": artifact}
    found = {"numerics": {name: np.array(values) for name, values in arrays.items()}}
    return list(statements.entries(Study("mine", config, names or {}), StudyArrays(found)))


def test_a_function_is_a_claim(claims):
    @claims.identity("Theorem 1", SMALL, otherwise="a remark")
    def two_words(reading):
        """Both sides
        agree: {1/2} of x^{2}.
        """
        return reading["a"].max()

    (entry,) = entries(claims, a=[1.0, 3.0])
    assert (entry.id, entry.paper, entry.location) == ("mine/two-words", PAPER, "Theorem 1")
    assert entry.statement == "Both sides agree: {1/2} of x^{2}."
    assert (entry.kind, entry.explanation, entry.printed) == ("identity", "a remark", None)
    assert entry.measure() == 3.0
    assert entry.problems() == []


def test_the_methods_are_the_kinds(claims):
    for kind in ("identity", "value", "trend", "correlation"):
        getattr(claims, kind)("Theorem 1", SMALL)(zero)
    assert [claim.kind for claim in statements.all] == ["identity", "value", "trend", "correlation"]


def test_a_claim_is_made_of_each_case_in_the_arrays(claims):
    @claims.trend("Figure 1", SMALL, each=over("name", "depth"))
    def rises(reading, name, depth):
        """{name} at depth {depth}."""
        return 10.0 * depth + len(name)

    found = entries(claims, name=["sp", "mup"], depth=[2, 3])
    assert [entry.id for entry in found] == [
        "mine/rises-sp-2", "mine/rises-sp-3", "mine/rises-mup-2", "mine/rises-mup-3",
    ]  # fmt: skip
    assert [entry.statement for entry in found][1:3] == ["SP at depth 3.", "μP at depth 2."]
    assert [entry.measure() for entry in found] == [22.0, 32.0, 23.0, 33.0]
    assert [entry.id for entry in entries(claims, name=["mup"], depth=[2])] == ["mine/rises-mup-2"]


def test_bound_print_and_name_may_depend_on_the_case(claims):
    wrong = Print("{row}x", lambda reading, row: 7.0)

    @claims.value(
        "eq. ({row})",
        lambda case: within(10.0 ** -case["row"], "a rule"),
        each=lambda reading: [{"row": 1}, {"row": 2}],
        printed=lambda case: wrong if case["row"] == 2 else None,
        name="equation-{row}",
    )
    def row_by_row(reading, row):
        """Equation {row}."""
        return 0.0

    first, second = entries(claims)
    assert (first.id, first.location, first.printed) == ("mine/equation-1", "eq. (1)", None)
    assert (second.printed, second.measure_printed()) == ("2x", 7.0)
    assert (first.bound.tolerance, second.bound.tolerance) == (0.1, 0.01)


def test_a_figures_claims_are_not_those_of_a_study_of_ones_own(claims):
    figure = claims.about(PAPER, "Figure 1", "Figure 2") | claims.about(OTHER, "Figure 3")
    figure.value("Figure", SMALL)(zero)
    assert len(entries(claims)) == len(entries(claims, artifact="Figure 2")) == 1
    assert len(entries(claims, paper=OTHER, artifact="Figure 3")) == 1
    assert entries(claims, artifact="Figure 3") == []
    assert entries(claims, artifact="My figure") == []
    assert entries(claims, paper=OTHER) == []


def test_claims_share_what_they_have_unless_they_say_others(claims):
    figure = claims.about(PAPER, "Figure 1").having(otherwise="often", paper=OTHER)
    figure.value("shared", SMALL)(zero)
    figure.value("own", SMALL, otherwise="once")(zero)
    claims.value("none", SMALL)(zero)
    found = [(entry.paper, entry.explanation) for entry in entries(claims)]
    assert found == [(OTHER, "often"), (OTHER, "once"), (PAPER, "")]
    assert len(entries(claims, artifact="My figure")) == 1


def test_a_statement_of_several_papers_is_that_of_the_studys(claims):
    claims.value({PAPER: "Theorem 3", OTHER: "Theorem 1"}, SMALL)(zero)
    claims.value("Lemma 2", SMALL, paper=OTHER, name="lemma")(zero)
    for paper, places in (
        (PAPER, [(PAPER, "Theorem 3"), (OTHER, "Lemma 2")]),
        (OTHER, [(OTHER, "Theorem 1"), (OTHER, "Lemma 2")]),
        ("mine2030", [(PAPER, "Theorem 3"), (OTHER, "Lemma 2")]),
    ):
        assert [(e.paper, e.location) for e in entries(claims, paper=paper)] == places


def test_texts_point_to_other_studies_by_what_these_are_about(claims):
    @claims.value("Figure 1", SMALL, otherwise="See {study of Figure 2}, {study of Figure 9}.")
    def points(reading):
        """Like {study of singh2024closed: Figure 2} in {artifact}."""
        return 0.0

    names = {(PAPER, "Figure 2"): "two", (OTHER, "Figure 2"): "older"}
    (entry,) = entries(claims, names=names)
    assert entry.explanation == "See two, Figure 9."
    assert entry.statement == "Like older in Figure 1."


def test_further_fields_are_read_from_the_arrays():
    claims = Claims(
        StudyArrays, values={"relu": "ReLU"}, fields=lambda reading: {"phi": str(reading["phi"])}
    )

    @claims.value("Figure 1", SMALL)
    def says(reading):
        """{phi} networks."""
        return 0.0

    assert entries(claims, phi="relu")[0].statement == "ReLU networks."


def test_an_open_field_is_a_problem(claims):
    @claims.value("Figure 1", SMALL)
    def says(reading):
        """Of {nobody}."""
        return 0.0

    assert entries(claims)[0].problems() == ["mine/says: statement has an open field {nobody}"]


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        (at_most(2.0, "r", tolerance=0.5), "at most 2 (tolerance 0.5)"),
        (at_least(-1.0, "r"), "at least -1 (tolerance 0)"),
        (equal_to(0.25, "r", tolerance=0.1), "equal to 0.25 (tolerance 0.1)"),
        (within(1e-10, "r"), "at most 0 (tolerance 1e-10)"),
    ],
)
def test_a_bound_says_what_is_expected(bound, text):
    assert str(bound) == text

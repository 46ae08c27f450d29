"""A statement is a function: what its decorator, its docstring and the arrays make of it."""

import numpy as np
import pytest
import xarray as xr

from hessian_papers.ledger.bounds import at_most, within
from hessian_papers.ledger.statements import Statements, Study
from hessian_papers.ledger.verdicts import QUANTIFIERS
from hessian_papers.ledger.words import reading_of

PAPER, OTHER = "singh2026cracking", "singh2024closed"
SMALL = within(1e-10, "round-off")


def zero(data):
    """Nothing is off."""
    return 0.0


@pytest.fixture
def statements():
    return Statements(values={"sp": "SP", "mup": "μP"})


def entries(statements, *, paper=PAPER, artifact="Figure 1", names=None, **arrays):
    config = {"paper": paper, "artifact": artifact}
    data = xr.Dataset({name: (name, np.array(values)) for name, values in arrays.items()})
    return list(statements.entries(Study("mine", config, names or {}), data))


def test_a_function_is_a_claim(statements):
    @statements.identity("Theorem 1", SMALL, otherwise="a remark")
    def two_words(data):
        """Both sides
        agree: {1/2} of x^{2}.

        Statistic: largest
        difference.
        """
        return data["a"].max()

    (entry,) = entries(statements, a=[1.0, 3.0])
    assert (entry.id, entry.heading.places) == ("mine/two-words", {PAPER: "Theorem 1"})
    assert entry.heading.sentence == "Both sides agree: {1/2} of x^{2}."
    assert entry.heading.statistic == "largest difference."
    assert (entry.heading.identity, entry.heading.quantifier) == (True, "always")
    assert (entry.explanation, entry.heading.printed) == ("a remark", None)
    assert entry.measure().value == 3.0
    assert entry.problems() == []


@pytest.mark.parametrize(
    ("quantifier", "bound", "of", "book"),
    [
        ("always", SMALL, {}, "theorems"),
        ("printed", SMALL, {}, "theorems"),
        ("everywhere", SMALL, {}, "observations"),
        ("typically", SMALL, {}, "observations"),
        ("typically", reading_of("nearly"), {}, "readings"),
        ("always", reading_of("nearly"), {}, "readings"),
        ("typically", SMALL, {"book": "beyond"}, "beyond"),
    ],
)
def test_the_book_follows_from_quantifier_and_bound(statements, quantifier, bound, of, book):
    statements.statement(quantifier, "Theorem 1", bound, **of)(zero)
    (entry,) = entries(statements)
    assert (entry.heading.quantifier, entry.heading.book) == (quantifier, book)
    assert not entry.heading.identity


def test_a_statement_cites_itself_by_its_id_or_its_functions_name(statements):
    statements.statement("typically", "Figure 1", SMALL)(zero)
    statements.statement("typically", "Figure 1", SMALL, id="another-one", name="other")(zero)
    assert [entry.heading.id for entry in entries(statements)] == ["zero", "another-one"]


def test_a_claim_is_made_of_each_case_in_the_arrays(statements):
    @statements.statement("everywhere", "Figure 1", SMALL, over=["name", "depth"])
    def rises(data):
        """It rises."""
        return 10.0 * data["depth"] + len(data["name"].item())

    actual = entries(statements, name=["sp", "mup"], depth=[2, 3])
    assert [entry.id for entry in actual] == [
        "mine/rises-sp-2", "mine/rises-sp-3", "mine/rises-mup-2", "mine/rises-mup-3",
    ]  # fmt: skip
    assert [entry.labels for entry in actual][1:3] == [
        {"name": "SP", "depth": "3"},
        {"name": "μP", "depth": "2"},
    ]
    assert [entry.measure().value for entry in actual] == [22.0, 32.0, 23.0, 33.0]
    assert [entry.id for entry in entries(statements, name=["mup"], depth=[2])] == [
        "mine/rises-mup-2"
    ]


def test_the_labels_along_a_dimension_may_be_chosen_of_the_data(statements):
    @statements.statement(
        "everywhere",
        "Figure 1",
        SMALL,
        over={"depth": lambda data: data["depth"].values[1:].tolist(), "name": lambda data: ["sp"]},
    )
    def rises(data):
        """It rises."""
        return data["depth"] + xr.zeros_like(data["seed"])

    actual = entries(statements, name=["sp", "mup"], depth=[2, 3, 5], seed=[0, 1])
    assert [entry.id for entry in actual] == ["mine/rises-3-sp", "mine/rises-5-sp"]
    assert actual[0].labels == {"depth": "3", "name": "SP"}
    assert [entry.measure() for entry in actual] == [(3.0, 3.0, 3.0), (5.0, 5.0, 5.0)]
    assert entries(statements, name=["sp"], depth=[2], seed=[0]) == []


def test_bound_print_and_name_may_depend_on_the_case(statements):
    @statements.statement(
        "everywhere",
        "eq. ({row})",
        lambda case: within(10.0 ** -case["row"], "a rule"),
        each=lambda data: [{"row": 1, "wrong": ""}, {"row": 2, "wrong": "2x"}],
        name="equation-{row}",
    )
    def row_by_row(data, row, wrong, printed=False):
        """Equation {row}.

        In print: {wrong}
        """
        return 7.0 if printed else 0.0

    first, second = entries(statements)
    assert (first.id, first.heading.places) == ("mine/equation-1", {PAPER: "eq. (1)"})
    assert first.heading.printed is None
    assert (second.heading.printed, second.measure_printed()) == ("2x", 7.0)
    assert (first.bound.tolerance, second.bound.tolerance) == (0.1, 0.01)


def test_a_figures_claims_are_not_those_of_a_study_of_ones_own(statements):
    figure = statements.about(PAPER, "Figure 1", "Figure 2") | statements.about(OTHER, "Figure 3")
    figure.statement("everywhere", "Figure", SMALL)(zero)
    assert len(entries(statements)) == len(entries(statements, artifact="Figure 2")) == 1
    assert len(entries(statements, paper=OTHER, artifact="Figure 3")) == 1
    assert entries(statements, artifact="Figure 3") == []
    assert entries(statements, artifact="My figure") == []
    assert entries(statements, paper=OTHER) == []


def test_claims_share_what_they_have_unless_they_say_others(statements):
    figure = statements.about(PAPER, "Figure 1").having(otherwise="often", paper=OTHER)
    figure.statement("everywhere", "shared", SMALL)(zero)
    figure.statement("everywhere", "own", SMALL, otherwise="once")(zero)
    statements.statement("everywhere", "none", SMALL)(zero)

    @figure.everywhere("remarked", SMALL)
    def remarked(data):
        """It vanishes. Remark: never"""
        return 0.0

    actual = [(*entry.heading.places, entry.explanation) for entry in entries(statements)]
    assert actual == [(OTHER, "often"), (OTHER, "once"), (PAPER, ""), (OTHER, "never")]
    assert len(entries(statements, artifact="My figure")) == 1


def test_each_quantifier_has_a_decorator(statements):
    for quantifier in QUANTIFIERS:
        getattr(statements.beyond, quantifier.replace(" ", "_"))("Figure 1", SMALL)(zero)
    headings = [entry.heading for entry in entries(statements)]
    assert [heading.quantifier for heading in headings] == list(QUANTIFIERS)
    assert {heading.book for heading in headings} == {"beyond"}


def test_a_statement_of_several_papers_stands_in_each(statements):
    places = {PAPER: "Theorem 3", OTHER: "Theorem 1"}
    statements.statement("everywhere", places, SMALL)(zero)
    statements.statement("everywhere", "Lemma 2", SMALL, paper=OTHER, name="lemma")(zero)
    for paper in (PAPER, OTHER, "mine2030"):
        own = [entry.heading.places for entry in entries(statements, paper=paper)]
        assert own == [places, {OTHER: "Lemma 2"}]


def test_texts_point_to_other_studies_by_what_these_are_about(statements):
    @statements.statement(
        "everywhere", "Figure 1", SMALL, otherwise="See {study of Figure 2}, {study of Figure 9}."
    )
    def points(data):
        """Like {study of
        singh2024closed: Figure 2} in {artifact}.
        """
        return 0.0

    names = {(PAPER, "Figure 2"): "two", (OTHER, "Figure 2"): "older"}
    (entry,) = entries(statements, names=names)
    assert entry.explanation == "See two, Figure 9."
    assert entry.heading.sentence == "Like older in Figure 1."


def test_a_place_may_depend_on_the_artifact_and_an_explanation_on_the_case(statements):
    statements.statement(
        "everywhere",
        lambda study: f"section {len(study.config['artifact'])}, {{artifact}}",
        at_most(0.0, "a reason"),
        otherwise=lambda case: "{name} alone" if case["name"] != "sp" else "",
        over=["name"],
    )(lambda data, name: 0.0)
    for artifact, number in (("Fig 1", 5), ("Figure 1", 8)):
        cases = entries(statements, artifact=artifact, name=["sp", "mup"])
        assert cases[0].heading.places == {PAPER: f"section {number}, {artifact}"}
        assert [case.explanation for case in cases] == ["", "μP alone"]


def test_cases_that_the_paper_does_not_have_are_a_statement_beyond_it(statements):
    of_rows = statements.having(over=["row"], elsewhere=lambda case: case["row"] == "new")

    @of_rows.everywhere("Table 1", SMALL)
    def rows_vanish(data, printed=False):
        """It vanishes.

        In print: It is one.
        """
        return float(printed)

    own, other = entries(statements, row=["old", "new"])
    assert (own.heading.id, own.heading.book) == ("rows-vanish", "observations")
    assert (other.heading.id, other.heading.book) == ("rows-vanish-elsewhere", "beyond")
    assert other.heading.sentence == "In settings that the paper does not have: It vanishes."
    assert (own.heading.printed, other.heading.printed) == ("It is one.", None)
    assert other.measure_printed is None

"""The whole ledger: what stands behind it is there, and each study states something."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import yaml

from hessian_papers.ledger.evaluation import (
    broken,
    decided,
    decided_by_records,
    measurements,
    unmeasured,
)
from hessian_papers.ledger.record import all_cases
from hessian_papers.ledger.table import table
from pipelines import chain, inputs, schema

ROOT = Path(__file__).resolve().parents[3]
PARAMS = yaml.safe_load((ROOT / "params.yaml").read_text())
KINDS = schema.kinds("studies")


def statements_of(kind):
    return schema.module_of("studies", kind, "", "claims").statements


@cache
def functions(path: str) -> set[str]:
    """The tests of a file: defined there, or named there as those that something else returns."""
    named = set()
    for node in ast.parse((ROOT / path).read_text()).body:
        if isinstance(node, ast.FunctionDef):
            named.add(node.name)
        elif isinstance(node, ast.Assign):
            named |= {actual.id for actual in ast.walk(node) if isinstance(actual, ast.Name)}
    return named


@pytest.mark.parametrize("kind", KINDS)
def test_the_test_behind_each_statement_exists(kind):
    for statement in statements_of(kind).all:
        path, _, name = statement.test.partition("::")
        assert (ROOT / path).is_file(), f"{statement.function_name}: there is no {path}"
        assert name.partition("[")[0] in functions(path), f"{statement.function_name}: no {name}"


@pytest.mark.parametrize("kind", KINDS)
def test_every_statement_is_about_a_study_that_there_is(kind):
    configs = [study for study in PARAMS["studies"].values() if study["kind"] == kind]
    for statement in statements_of(kind).all:
        assert any(statement.is_about(config) for config in configs), statement.function_name


@pytest.mark.parametrize("study", PARAMS["studies"])
def test_every_study_states_something(study):
    config = PARAMS["studies"][study]
    assert any(statement.is_about(config) for statement in statements_of(config["kind"]).all)


@pytest.fixture(scope="module")
def measured():
    """The cases on the recorded runs, and on those of today that were made."""
    names = chain.names_of(PARAMS["studies"])
    provenances = [inputs.provenances(PARAMS, name) for name in PARAMS["studies"]]
    runs = [run for each in provenances for run in chain.measured(each, ROOT / "results", names)]
    return [*measurements([run for run in runs if run.folder.is_dir()]), *unmeasured()]


@pytest.fixture(scope="module")
def ledger(measured):
    return decided(measured)


def test_every_statement_says_which_state_it_is_about_and_what_it_assumes(ledger):
    """Only an identity is about any weights without saying so; the table has both of each."""
    for name in ("state", "assumes"):
        silent = [each.id for each in ledger if not getattr(each, name)]
        assert not silent, f"{name}: {', '.join(silent)}"


def test_what_predicts_is_no_surrogate(ledger):
    """A prediction is out of sample: of the same networks sampling errors cancel."""
    wrong = [each.id for each in ledger if each.surrogate and "predict" in each.sentence]
    assert not wrong


def test_one_sentence_is_one_row(ledger):
    """Ids with the same sentence are one statement, or each says what the other does not."""
    said = Counter(each.sentence for each in ledger)
    assert not [sentence for sentence, count in said.items() if count > 1]


# Rows that go beyond eq. (14), which assumes zero loss: its print stands under its assumption.
LEAST_SQUARES = (
    "depth-amplifies-the-sharpness",
    "labels-give-all-eigenvalues",
    "sharpness-from-labels-at-least-squares",
    "sharpness-from-what-the-inputs-explain",
)


def test_an_extension_corrects_no_print(ledger):
    known = {statement.id: statement for statement in ledger}
    ours = [statement for statement in ledger if statement.book == "beyond"]
    for statement in (*(known[name] for name in LEAST_SQUARES), *ours):
        assert statement.verdict != "corrected", statement.id
        assert not statement.misprints, statement.id


# No paper says so: of what the papers say instead there are rows of other names.
NOT_SAID = {
    "last-most-everywhere",
    "softmax-makes-the-largest-part",
    "sum-is-closer-than-the-mean-eigenvalue",
}


def test_what_no_paper_says_is_no_row_of_theirs(ledger):
    own = {statement.id for statement in ledger if statement.book != "beyond"}
    assert not NOT_SAID & own
    assert {"last-well", "softmax-widens-the-gap", "sum-is-nearly-the-trace-over-d"} <= own


# What the fifth paper says in its appendices, by the number of an equation or of a lemma.
SAID = {
    *(f"({n})" for n in (1, 2, 10, 14, 23, 26, 27, 172, 183, 224, 255, 276, 277, 278, 280)),
    *(f"B.{n}" for n in (3, 4, 5, 7, 8, 11, 13, 18, 20, 23, 24, 25)),
    *("F.3", "G.3.1"),
}


def test_equations_and_lemmas_of_the_appendices_have_their_rows(ledger):
    """Places name ranges, as eq. (276) to (278)."""
    places = [statement.places.get("wu2022dissecting", "") for statement in ledger]
    text = "; ".join([*places, *(case.place for case in all_cases(ledger))])
    named = {*re.findall(r"\b[A-H](?:\.\d+)+", text)}
    for first, last in re.findall(r"\((\d+)\)(?: to \((\d+)\))?", text):
        named |= {f"({number})" for number in range(int(first), int(last or first) + 1)}
    assert SAID - named == set()


def rows(text):
    """The columns of a ledger that say what is measured and expected, by the statement."""
    return dict(re.findall(r"`([\w.-]+)`\|[^|]*\|([^|]*\|[^|]*)\|", text))


def test_what_recorded_runs_measure_is_what_was_committed(measured):
    """Each statistic of the kinds that have a recorded run gives the numbers that it gave."""
    recorded = [each for each in measured if each.record.recorded and not each.heading.identity]
    names = {each.heading.id for each in recorded if each.record.measured is not None}
    assert len(names) > 150
    committed = rows((ROOT / "reports" / "claims.md").read_text())
    actual = rows(table(decided_by_records(measured)))
    assert {name: actual[name] for name in names} == {name: committed[name] for name in names}


def test_the_numbers_beside_the_verdicts_are_those_of_cases_that_there_are(measured):
    """Of cases of studies that ran here, or were recorded; a few are of today's runs alone."""
    known = {each.record.id for each in measured}
    today = {each.record.study for each in measured if not each.record.recorded}
    cases = {entry["case"] for entry in inputs.headlines().values()}
    assert [case for case in cases - known if case.partition("/")[0] in today] == []
    assert {case.partition("/")[0] for case in cases} <= {*PARAMS["studies"]}
    assert len(cases & known) > len(cases) / 2


def test_every_difference_is_explained_or_was_set_otherwise(ledger):
    runs = [run for case in all_cases(ledger) for run in case.runs]
    assert {run.study for run in runs if run.recorded} >= {"cracking-fig4", "data-fig1c"}
    failing = [run for run in runs if run.outcome == "fails"]
    assert len(failing) >= 10
    assert [each.id for each in failing if not (each.explanation.strip() or each.departs)] == []


def test_every_case_is_measured_and_no_identity_is_broken(ledger):
    assert broken(ledger) == []
    unknown = [case.id for case in all_cases(ledger) if "could not be measured" in case.explanation]
    assert unknown == []


def test_functions_that_measure_one_statement_agree_on_what_it_is():
    headings = {}
    for statement in (each for kind in KINDS for each in statements_of(kind).all):
        if statement.id and "{" not in statement.id:
            headings.setdefault(statement.id, set()).add((statement.quantifier, statement.identity))
    assert [name for name, same in headings.items() if len(same) > 1] == []


def test_a_statement_without_an_id_is_named_by_one_function_alone():
    names = Counter(
        (statement.id or statement.function_name, statement.function.__module__)
        for kind in KINDS
        for statement in statements_of(kind).all
    )
    modules = Counter(name for name, _ in names)
    explicit = {each.id for kind in KINDS for each in statements_of(kind).all}
    assert [name for name, count in modules.items() if count > 1 and name not in explicit] == []

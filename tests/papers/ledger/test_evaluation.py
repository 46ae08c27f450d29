"""The outcome of a case, the run that decides, and numbers that JSON does not know."""

import json
import math
from dataclasses import asdict
from pathlib import Path

import pytest
import sample_reports
import xarray as xr

from hessian_papers import labelled
from hessian_papers.ledger import evaluation as module
from hessian_papers.ledger.bounds import Estimate, NothingToMeasure
from hessian_papers.ledger.evaluation import (
    collect,
    evaluate,
    not_run,
    outcome,
)
from hessian_papers.ledger.statements import LedgerError
from hessian_spectra.files import DamagedFileError, MissingResultError, digest
from tests.papers.ledger.entries import CONFIG, HEADING, OBSERVED, case, run_of, state

ROOT = Path(__file__).parents[3]
NAN = math.nan
# What is known, a value or one with its interval, by what it says of the relation.
WITHIN_A_TENTH_OF_A_HALF = {
    "<=": {
        "holds": [(0.4,), (0.5, -9.0, 0.6), (0.5, NAN, 0.9), (0.5, 0.7, NAN)],
        "open": [(0.5, 0.4, 0.8)],
        "fails": [(0.7,), (0.5, 0.61, 0.8)],
    },
    ">=": {
        "holds": [(0.6,), (0.5, 0.4, 9.0)],
        "open": [(0.5, 0.3, 0.5)],
        "fails": [(0.3,), (0.5, 0.1, 0.39)],
    },
    "=": {
        "holds": [(0.45,), (0.5, 0.4, 0.6)],
        "open": [(0.5, 0.3, 0.5), (0.5, 0.0, 1.0)],
        "fails": [(0.35,), (0.5, 0.61, 0.8), (0.5, 0.1, 0.39)],
    },
}


@pytest.fixture
def folder(tmp_path):
    labelled.write(tmp_path / "closed_form.nc", xr.Dataset({"a": ("row", [1.0, 2.0])}))
    both = {"b": ("row", [1.0, 2.0]), "c": 5.0}
    labelled.write(tmp_path / "numerics.nc", xr.Dataset(both))
    return tmp_path


@pytest.fixture
def left(monkeypatch, tmp_path):
    """A figure that no study measures."""
    file = tmp_path / "not_run.yaml"
    file.write_text(
        "- name: toy-fig9\n  id: it-grows\n  places: {singh2026cracking: Figure 9}\n"
        "  quantifier: typically\n"
        "  book: observations\n  sentence: It grows.\n  explanation: It takes a year.\n"
    )
    monkeypatch.setattr(module, "NOT_RUN", file)


class TestOutcome:
    @pytest.mark.parametrize(("measured", "says"), [(5e-11, "holds"), (0.5, "fails")])
    def test_an_identity_holds_within_its_tolerance(self, measured, says):
        assert outcome(case(), Estimate(measured)) == says

    def test_of_nan_nothing_is_known_but_an_identity_must_give_a_number(self):
        assert outcome(case(**OBSERVED), Estimate(math.nan)) == "not measured"
        assert outcome(case(), Estimate(math.nan)) == "fails"
        assert outcome(case(), Estimate(math.inf)) == "fails"

    @pytest.mark.parametrize("says", ["holds", "open", "fails"])
    @pytest.mark.parametrize("relation", ["<=", ">=", "="])
    def test_the_interval_decides_or_the_value_and_the_bound_is_widened(self, relation, says):
        entry = case(**OBSERVED, relation=relation, expected=0.5, tolerance=0.1)
        estimates = WITHIN_A_TENTH_OF_A_HALF[relation][says]
        assert {outcome(entry, Estimate(*numbers)) for numbers in estimates} == {says}


class TestErrata:
    @pytest.mark.parametrize(
        ("measured_", "in_print", "verdict"),
        [
            (1e-15, 0.4, "corrected"),
            (1e-15, math.nan, "corrected"),
            (1e-15, 0.0, "reproduced"),
            (0.2, 0.4, "differs"),
        ],
    )
    def test_it_is_corrected_if_the_print_fails_and_ours_holds(
        self, measured, measured_, in_print, verdict
    ):
        entry = case(printed="a = −b", measure=lambda: measured_, measure_printed=lambda: in_print)
        (statement,) = measured(entry)
        assert (statement.verdict, statement.printed) == (verdict, "a = −b")

    @pytest.mark.parametrize(("low", "verdict"), [(0.2, "corrected"), (-0.2, "reproduced")])
    def test_print_is_wrong_where_its_whole_interval_is(self, measured, low, verdict):
        entry = case(printed="a = −b", measure_printed=lambda: Estimate(0.4, low, 0.6))
        assert measured(entry)[0].verdict == verdict


class TestParts:
    def test_sentences_of_one_statement_are_its_cases_each_with_its_print(self, measured):
        """A misprint in one part corrects the statement; each part keeps what it says."""
        whole = case(sentence="The spectrum is known.")
        part = case(
            id="toy/part", sentence="The block is 2x.", printed="3x", measure_printed=lambda: 1.0
        )
        (statement,) = measured(whole, part)
        assert (statement.verdict, statement.sentence) == ("corrected", "The spectrum is known.")
        said = [(each.sentence, each.printed) for each in statement.cases]
        assert said == [("", None), ("The block is 2x.", "3x")]

    def test_a_place_is_said_once(self, measured):
        theorem = "Theorem 4 and Corollary 5"
        places = [{"singh2024closed": f"{theorem}; Figure {number}"} for number in (1, 2)]
        (statement,) = measured(case(places=places[0]), case(id="toy/2", places=places[1]))
        assert statement.places == {"singh2024closed": f"{theorem}; Figure 1; Figure 2"}

    def test_what_a_statement_presupposes_is_that_of_any_case_that_says_it(self, measured):
        """A case that was not measured need not, and comes first here."""
        (statement,) = measured(case(), case(id="toy/2", state="after training"))
        assert statement.state == "after training"
        with pytest.raises(LedgerError, match="expected one state for all its cases"):
            measured(case(state="any weights"), case(id="toy/2", state="after training"))


class TestEvaluate:
    @pytest.mark.parametrize(
        ("expected", "verdict"), [(-0.2, "reproduced"), (0.2, "open"), (1.0, "differs")]
    )
    def test_the_interval_decides(self, measured, expected, verdict):
        bound = {"relation": ">=", "expected": expected, "tolerance": 0.0}
        entry = case(**OBSERVED, **bound, measure=lambda: Estimate(0.5, -0.1, 0.9))
        (statement,) = measured(entry)
        assert statement.verdict == verdict
        (only,) = statement.cases
        assert (only.measured, only.interval) == (0.5, [-0.1, 0.9])

    def test_a_record_holds_everything_about_a_statement_and_its_cases(self, measured):
        (statement,) = measured(case(source="eq. (1)"))
        (only,) = statement.cases
        of = {"id": "toy/case", "labels": {"time": "trained"}, "source": "eq. (1)", "measured": 0.0}
        of |= {"digest": digest(CONFIG), "test": "tests/papers/ledger/test_evaluation.py"}
        of |= {"place": HEADING["places"]["singh2026cracking"]}
        assert vars(only) == sample_reports.case(0, "toy", **of)
        rest = {"verdict": "reproduced", "pooled": None, "pooled_interval": None, "printed": None}
        rest |= {"state": "", "assumes": "", "surrogate": False}
        assert vars(statement) == HEADING | rest | {"cases": [only]}

    def test_a_printed_form_without_a_number_is_null_in_json(self, measured):
        (statement,) = measured(case(printed="b = √−1", measure_printed=lambda: math.nan))
        assert statement.verdict == "corrected"
        written = json.loads(json.dumps(asdict(statement), allow_nan=False))
        assert written["cases"][0]["printed_error"] is None

    def test_cases_of_several_studies_and_papers_make_one_statement(self, measured):
        first, again = (
            case(id=f"toy/{name}", places={"singh2026cracking": f"Figure {number}"})
            for number, name in enumerate(("case", "again"), start=1)
        )
        other = case(id="toy/other", places={"singh2024closed": "Theorem 1"}, sentence="It is so.")
        (statement,) = measured(first, other, again)
        places = {"singh2026cracking": "Figure 1; Figure 2", "singh2024closed": "Theorem 1"}
        assert statement.places == places
        assert statement.sentence == HEADING["sentence"]
        assert [each.id for each in statement.cases] == ["toy/case", "toy/other", "toy/again"]

    @pytest.mark.parametrize(
        ("book", "departs", "verdict"),
        [
            ("observations", {}, "differs"),
            # A smaller setting refutes nothing; beyond the papers there is none.
            ("observations", {"networks": [20, 200]}, "not tested"),
            ("beyond", {"networks": [20, 200]}, "differs"),
            # A reading of a word calls no paper wrong.
            ("readings", {}, "depends"),
        ],
    )
    def test_a_case_that_fails_needs_no_explanation(self, measured, book, departs, verdict):
        entry = case(**OBSERVED | {"book": book, "measure": lambda: 0.5})
        (statement,) = measured(entry, departs=departs)
        (record,) = statement.cases
        assert (record.outcome, record.explanation, record.departs) == ("fails", "", departs)
        assert statement.verdict == verdict

    @pytest.mark.parametrize("of", ["measure", "measure_printed"])
    @pytest.mark.parametrize(
        ("error", "reason"),
        [
            (NothingToMeasure("no network has two layers"), "no network has two layers"),
            (
                ValueError("'mup' is not\nin list"),
                "could not be measured here: ValueError: 'mup' is not in list",
            ),
        ],
    )
    def test_what_breaks_a_function_is_the_reason_why_it_was_not_run(
        self, measured, of, error, reason
    ):
        def breaks():
            raise error

        (statement,) = measured(case(printed="a = −b", **{of: breaks}))
        (record,) = statement.cases
        assert (statement.verdict, record.outcome) == ("not tested", "not measured")
        assert (record.explanation, record.measured) == (reason, None)

    def test_a_damaged_file_is_no_matter_of_settings(self, folder, stated):
        (folder / "numerics.nc").write_bytes(b"no archive")
        remedy = r"delete it and run the stage that writes it \(dvc repro\)$"
        with pytest.raises(DamagedFileError, match=rf"/numerics\.nc is damaged \(.*\): {remedy}"):
            evaluate([run_of(stated, folder)])

    @pytest.mark.parametrize(
        ("config", "missing"),
        [
            ({}, "numerics"),
            ({}, "closed_form"),
            ({"kind": "norm_correlation", "ensemble": "mine"}, "correlation"),
        ],
    )
    def test_an_array_of_a_side_that_is_missing_names_that_side(
        self, folder, stated, config, missing
    ):
        state(stated, lambda data: data["of the missing side"])
        (folder / f"{missing}.nc").unlink(missing_ok=True)
        message = rf"/{missing}\.nc is missing: run the stage"
        with pytest.raises(MissingResultError, match=message) as caught:
            evaluate([run_of(stated, folder, config=CONFIG | config)])
        assert "\n" not in str(caught.value)

    def test_a_missing_variable_is_one_line_that_names_it(self, folder, stated):
        state(stated, lambda data: data["d"].max())
        with pytest.raises(MissingResultError, match="the run has no variable 'd': it comes from"):
            evaluate([run_of(stated, folder)])

    def test_the_same_results_give_the_same_records(self, measured):
        first, second = (measured(case(measure=lambda: 1 / 3e12)) for _ in range(2))
        assert first == second
        assert first[0].cases[0].measured == 3.33e-13

    def test_of_nan_the_reason_says_so(self, measured):
        entry = case(**OBSERVED, measure=lambda: math.nan, explanation="a remark")
        (record,) = measured(entry)[0].cases
        assert (record.outcome, record.measured) == ("not measured", None)
        assert record.explanation == "could not be measured here: it gave NaN"

    def test_arrays_that_do_not_tell_which_claims_there_are(self, folder, stated):
        state(stated, lambda data: 0.0, each=lambda data: data["c"].values.tolist())
        (statement,) = evaluate([run_of(stated, folder)])
        assert statement.id == "toy-as-a-whole"
        assert statement.places == {"singh2026cracking": "Figure 0"}
        (record,) = statement.cases
        assert (statement.verdict, record.id, record.study) == ("not tested", "toy/claim", "toy")
        assert record.explanation.startswith("could not be measured here: ")

    def test_what_no_study_measures_comes_last_and_has_no_run(self, left):
        (statement,) = evaluate([])
        assert (statement.id, statement.verdict) == ("it-grows", "not tested")
        (record,) = statement.cases
        assert (record.id, record.outcome) == ("toy-fig9/claim", "not measured")
        assert record.explanation == "It takes a year."
        assert (record.digest, record.scale, record.recorded, record.departs) == (None, None, 0, {})
        assert (record.expected, record.measured, record.interval) == (None, None, None)
        assert (record.relation, record.tolerance, record.reason) == ("<=", 0.0, "")

    @pytest.mark.parametrize(
        ("field", "other"), [("quantifier", "exists"), ("book", "beyond"), ("identity", True)]
    )
    def test_cases_of_one_statement_agree_on_what_it_is(self, measured, field, other):
        first = case(**OBSERVED)
        second = case(**OBSERVED | {field: other, "id": "toy/second"})
        message = f"{first.heading.id}: expected one {field} for all its cases, got .+, {other}"
        with pytest.raises(LedgerError, match=message):
            measured(first, second)


class TestCollect:
    def test_an_id_that_occurs_twice_is_named(self, folder, stated):
        for _ in range(2):
            state(stated, lambda data: 0.0)
        with pytest.raises(LedgerError, match="toy/small: more than one case"):
            collect(run_of(stated, folder))

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"sentence": ""}, "sentence is empty"),
            ({"sentence": "It is {nobody}."}, "sentence has an open field {nobody}"),
            ({"places": {}}, "it stands in no paper"),
            ({"reason": " "}, "reason is empty"),
            ({"tolerance": -1.0}, "tolerance is -1.0"),
            ({"tolerance": math.nan}, "tolerance is nan"),
            ({"measure": None}, "it is not measured, and explanation does not say why"),
            (
                {"surrogate": True, "sentence": "The terms predict r."},
                "a surrogate, computed of the same networks, predicts nothing",
            ),
        ],
    )
    def test_an_incomplete_entry_is_named(self, changes, words):
        assert case(**changes).problems() == [f"toy/case: {words}"]

    def test_what_no_study_measures_is_told_in_full(self):
        assert [problem for entry in not_run() for problem in entry.problems()] == []

    def test_what_no_study_measures_has_none(self):
        studies = {path.stem for path in (ROOT / "conf" / "studies").rglob("*.yaml")}
        assert not studies & {entry.heading.id for entry in not_run()}

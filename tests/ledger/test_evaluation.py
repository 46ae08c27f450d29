"""The verdicts, the messages of failures, and what becomes of numbers that JSON does not know."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from hessian_spectra.ledger import evaluation as module
from hessian_spectra.ledger.bounds import VERDICTS, Bound, Estimate, NothingToMeasure
from hessian_spectra.ledger.claims import Claims, Entry, LedgerError, Study
from hessian_spectra.ledger.evaluation import (
    ClaimError,
    collect,
    evaluate,
    metrics,
    not_run,
    rounded,
    verdict,
)
from hessian_spectra.ledger.table import table
from hessian_spectra.results import MissingResultError, StudyArrays, digest, write_arrays

CONFIG = {"paper": "singh2026cracking", "artifact": "Figure 0", "width": 10, "seed": 0}
BOUND = Bound(relation="<=", expected=10.0, tolerance=0.0, reason="a round number")
BOUND_FIELDS = ("relation", "expected", "tolerance", "reason", "source")


def claim(**changes):
    """An identity of the study ``toy`` that was measured as 0, with some fields changed."""
    bound = {"relation": "<=", "expected": 0.0, "tolerance": 1e-10, "reason": "round-off"}
    bound |= {name: changes.pop(name) for name in BOUND_FIELDS if name in changes}
    fields = {
        "id": "toy/identity",
        "paper": "singh2026cracking",
        "location": "Theorem 0",
        "statement": "Both sides agree: |a − b| = 0.",
        "kind": "identity",
        "study": "toy",
        "test": "tests/ledger/test_evaluation.py",
        "bound": Bound(**bound),
        "measure": lambda: 0.0,
    }
    return Entry(**(fields | changes))


def unmeasured(**changes):
    nothing = {"study": None, "test": None, "bound": None, "measure": None}
    return claim(id="toy/open", explanation="It takes a GPU.", **(nothing | changes))


@pytest.fixture
def folder(tmp_path):
    write_arrays(tmp_path / "closed_form.npz", {"a": np.array([1.0, 2.0])})
    write_arrays(tmp_path / "numerics.npz", {"b": np.array([1.0, 2.0]), "c": np.array(5.0)})
    return tmp_path


def studies(claims, folder):
    return [(claims, Study("toy", CONFIG), folder)]


@pytest.fixture
def measured(monkeypatch):
    """The records of some entries, which are the whole ledger."""

    def of(*entries):
        monkeypatch.setattr(module, "collect", lambda found: list(entries))
        return evaluate(studies(Claims(StudyArrays), Path("nowhere")))

    return of


@pytest.fixture
def stated(monkeypatch):
    """A kind's claims that a test fills; nothing else is in the ledger."""
    monkeypatch.setattr(module, "not_run", list)
    return Claims(StudyArrays)


class TestVerdict:
    def test_an_identity_within_its_tolerance_is_reproduced(self):
        assert verdict(claim(), Estimate(5e-11), None) == "reproduced"

    def test_an_identity_beyond_its_tolerance_raises(self):
        with pytest.raises(
            ClaimError, match=r"toy/identity: measured 0.5, expected at most 0 \(tol"
        ):
            verdict(claim(), Estimate(0.5), None)

    def test_an_explanation_does_not_save_an_identity(self):
        with pytest.raises(ClaimError, match="toy/identity"):
            verdict(claim(explanation="bad luck"), Estimate(0.5), None)

    def test_an_erratum_is_corrected_if_the_printed_form_fails(self):
        entry = claim(printed="a = −b", measure_printed=lambda: 1.0)
        assert verdict(entry, Estimate(1e-15), Estimate(0.4)) == "corrected"

    def test_an_erratum_whose_printed_form_gives_no_number_is_corrected(self):
        entry = claim(printed="a = √−1", measure_printed=lambda: math.nan)
        assert verdict(entry, Estimate(1e-15), Estimate(math.nan)) == "corrected"

    def test_an_erratum_that_the_data_do_not_show_is_reproduced(self):
        entry = claim(printed="a = −b", measure_printed=lambda: 0.0)
        assert verdict(entry, Estimate(1e-15), Estimate(0.0)) == "reproduced"

    def test_an_erratum_whose_corrected_form_fails_raises(self):
        entry = claim(printed="a = −b", measure_printed=lambda: 1.0)
        with pytest.raises(ClaimError, match=r"toy/identity: measured 0\.2"):
            verdict(entry, Estimate(0.2), Estimate(0.4))

    @pytest.mark.parametrize(
        ("relation", "measured"), [("<=", 0.4), (">=", 0.6), ("=", 0.45), ("=", 0.55)]
    )
    def test_a_value_in_its_relation_is_reproduced(self, relation, measured):
        entry = claim(kind="value", relation=relation, expected=0.5, tolerance=0.06)
        assert verdict(entry, Estimate(measured), None) == "reproduced"

    @pytest.mark.parametrize(
        ("relation", "measured", "words"),
        [("<=", 0.7, "at most"), (">=", 0.3, "at least"), ("=", 0.4, "equal to")],
    )
    def test_a_value_out_of_its_relation_needs_an_explanation(self, relation, measured, words):
        entry = claim(kind="trend", relation=relation, expected=0.5, tolerance=0.06)
        with pytest.raises(ClaimError, match=f"{words} 0.5.*no explanation"):
            verdict(entry, Estimate(measured), None)

    def test_an_explained_difference_differs(self):
        entry = claim(kind="trend", relation=">=", expected=0.5, explanation="a smaller network")
        assert verdict(entry, Estimate(0.3), None) == "differs"

    def test_blanks_explain_nothing(self):
        with pytest.raises(ClaimError, match="no explanation"):
            verdict(claim(kind="value", explanation="  "), Estimate(0.3), None)

    @pytest.mark.parametrize("kind", ["identity", "value", "trend", "correlation"])
    def test_nan_is_never_a_verdict(self, kind):
        with pytest.raises(ClaimError, match="toy/identity: measured NaN"):
            verdict(claim(kind=kind, explanation="we do not know"), Estimate(math.nan), None)

    def test_an_infinite_error_is_a_failure(self):
        with pytest.raises(ClaimError, match="measured inf"):
            verdict(claim(), Estimate(math.inf), None)


class TestEvaluate:
    @pytest.mark.parametrize(
        ("expected", "found"), [(-0.2, "reproduced"), (0.2, "undecided"), (1.0, "differs")]
    )
    def test_the_interval_decides(self, measured, expected, found):
        (record,) = measured(
            claim(
                kind="trend",
                measure=lambda: Estimate(0.5, -0.1, 0.9),
                relation=">=",
                expected=expected,
                tolerance=0.0,
                explanation="few networks",
            )
        )
        assert record.verdict == found
        assert (record.measured, record.interval) == (0.5, [-0.1, 0.9])
        assert "0.5 [-0.1, 0.9]" in table([record])

    def test_a_record_holds_everything_about_the_claim(self, measured):
        (record,) = measured(claim(source="eq. (1)"))
        assert vars(record) == {
            "id": "toy/identity",
            "paper": "singh2026cracking",
            "location": "Theorem 0",
            "statement": "Both sides agree: |a − b| = 0.",
            "kind": "identity",
            "expected": 0.0,
            "source": "eq. (1)",
            "measured": 0.0,
            "interval": None,
            "relation": "<=",
            "tolerance": 1e-10,
            "reason": "round-off",
            "verdict": "reproduced",
            "study": "toy",
            "digest": digest(CONFIG),
            "test": "tests/ledger/test_evaluation.py",
            "printed": None,
            "printed_error": None,
            "explanation": "",
        }

    def test_all_failing_identities_are_named_at_once(self, measured):
        with pytest.raises(ClaimError) as caught:
            measured(
                claim(),
                claim(id="toy/first", measure=lambda: 0.25),
                claim(id="toy/second", measure=lambda: math.nan),
            )
        message = str(caught.value)
        assert message.startswith(
            "2 claims do not hold: toy/first: measured 0.25, expected at most 0"
        )
        assert "tolerance 1e-10" in message
        assert "toy/second: measured NaN" in message
        assert "toy/identity" not in message

    def test_an_erratum_records_what_is_printed_and_its_error(self, measured):
        (record,) = measured(claim(printed="b = 2a", measure_printed=lambda: 2.0))
        found = (record.verdict, record.printed, record.printed_error)
        assert found == ("corrected", "b = 2a", 2.0)

    def test_a_printed_form_without_a_number_is_null_in_json(self, measured):
        (record,) = measured(claim(printed="b = √−1", measure_printed=lambda: math.nan))
        assert record.verdict == "corrected"
        assert json.loads(json.dumps(vars(record), allow_nan=False))["printed_error"] is None

    def test_a_claim_without_measurement_is_not_run(self, measured):
        (record,) = measured(unmeasured())
        assert record.verdict == "not run at this scale"
        assert record.measured is None
        assert record.digest is None

    def test_a_claim_about_what_a_configuration_leaves_out_is_not_run(self, measured):
        def measure():
            raise NothingToMeasure("no network has two layers")

        (record,) = measured(claim(kind="value", measure=measure))
        assert record.verdict == "not run at this scale"
        assert record.explanation == "no network has two layers"
        assert record.measured is None

    def test_a_missing_file_is_one_line_that_names_its_stage(self, folder, stated):
        @stated.value("Theorem 0", BOUND)
        def c(reading):
            """It is small."""
            return reading.numerics["c"]

        (folder / "numerics.npz").unlink()
        with pytest.raises(MissingResultError, match=r"numerics\.npz is missing: run") as caught:
            evaluate(studies(stated, folder))
        assert "\n" not in str(caught.value)

    def test_a_side_that_no_claim_needs_may_be_missing(self, folder, stated):
        @stated.value("Theorem 0", BOUND)
        def c(reading):
            """It is small."""
            return reading["c"]

        (folder / "closed_form.npz").unlink()
        assert [record.measured for record in evaluate(studies(stated, folder))] == [5.0]

    def test_a_missing_array_is_one_line_that_names_the_file(self, folder, stated):
        @stated.value("Theorem 0", BOUND)
        def b(reading):
            """It is small."""
            return reading.closed_form["b"].max()

        with pytest.raises(MissingResultError, match=r"closed_form\.npz holds no array 'b'"):
            evaluate(studies(stated, folder))

    def test_the_same_results_give_the_same_records(self, measured):
        first, second = (
            measured(claim(measure=lambda: 1 / 3e12)),
            measured(claim(measure=lambda: 1 / 3e12)),
        )
        assert first == second
        assert first[0].measured == 3.33e-13


class TestCollect:
    def test_an_id_that_occurs_twice_is_named(self, folder, stated):
        for _ in range(2):

            @stated.value("Theorem 0", BOUND)
            def c(reading):
                """It is small."""
                return 0.0

        with pytest.raises(LedgerError, match="toy/c: more than one claim"):
            collect(studies(stated, folder))

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"statement": ""}, "statement is empty"),
            ({"statement": "Of {nobody}."}, "statement has an open field {nobody}"),
            ({"reason": " "}, "reason is empty"),
            ({"tolerance": -1.0}, "tolerance is -1.0"),
            ({"tolerance": math.nan}, "tolerance is nan"),
            ({"measure": None}, "it is not measured, and explanation does not say why"),
        ],
    )
    def test_an_incomplete_entry_is_named(self, changes, words):
        assert claim(**changes).problems() == [f"toy/identity: {words}"]

    def test_what_was_not_run_says_what_it_takes(self):
        entries = not_run()
        assert {entry.location for entry in entries} == {f"Figure {n}" for n in (5, 6, 23, 24, 25)}
        for entry in entries:
            assert entry.problems() == []
            assert entry.measure is None
            assert entry.explanation.startswith("It takes ")


def test_metrics_count_verdicts_and_keep_the_largest_error_of_each_study(measured):
    numbers = metrics(
        measured(
            claim(),
            claim(id="toy/worse", measure=lambda: 2e-14),
            claim(id="toy/better", measure=lambda: 1e-15),
            claim(id="toy/value", kind="value", measure=lambda: 5.0, expected=5.0),
            unmeasured(),
        )
    )
    assert numbers["digits"] == {"toy": 13.7}
    assert numbers["verdicts"] == {
        "reproduced": 4,
        "corrected": 0,
        "differs": 0,
        "undecided": 0,
        "not run at this scale": 1,
    }
    assert tuple(numbers["verdicts"]) == VERDICTS


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (1.23456e-14, 1.23e-14),
        (5074.0, 5074.0),
        (0.123456, 0.123),
        (-math.inf, None),
        (1e300, 1e300),
    ],
)
def test_measured_values_have_three_significant_digits(number, shown):
    assert rounded(number) == shown


class TestTable:
    def rows(self, text, first):
        return [line for line in text.splitlines() if line.startswith(f"| {first} |")]

    def test_every_claim_is_one_row_under_its_paper(self, measured):
        records = measured(
            claim(),
            claim(id="toy/old", paper="singh2024closed", location="Theorem 1"),
            claim(id="toy/new", paper="nobody2030", location="Lemma 9"),
            claim(
                id="toy/print",
                location="eq. (7)",
                printed="b = 2a",
                measure_printed=lambda: 0.5,
            ),
            unmeasured(location="Figure 6"),
        )
        text = table(records)
        older, newer = (
            text.index("## singh2024closed: Closed form"),
            text.index("## singh2026cracking:"),
        )
        assert older < newer < text.index("## nobody2030")
        counts = (
            "5 claims: 3 reproduced, 1 corrected, 0 differs, 0 undecided, 1 not run at this scale"
        )
        assert f"**{counts}**" in text.splitlines()
        assert len(self.rows(text, "reproduced")) == 3
        (erratum,) = self.rows(text, "eq. (7)")
        assert "| b = 2a |" in erratum
        assert "| 0.5 | 0 |" in erratum
        (waiting,) = self.rows(text, "Figure 6")
        assert waiting.endswith("| It takes a GPU. |")

    def test_bars_and_line_breaks_do_not_break_a_cell(self, measured):
        text = table(measured(claim(statement="|a|\nis ‖b‖ | c")))
        (row,) = [row for row in self.rows(text, "reproduced") if "‖b‖" in row]
        assert r"| \|a\| is ‖b‖ \| c |" in row

    @pytest.mark.parametrize(
        ("changes", "cell"),
        [
            ({"tolerance": 1e-10}, "≤ 1e-10"),
            ({"kind": "value", "relation": ">=", "expected": -1.0, "tolerance": 0.0}, "≥ -1"),
            (
                {"kind": "value", "relation": "=", "expected": 0.25, "tolerance": 0.5},
                "= 0.25 ± 0.5",
            ),
            ({"kind": "value", "expected": 0.25, "tolerance": 0.5}, "≤ 0.25 + 0.5"),
        ],
    )
    def test_the_expected_value_is_written_with_its_tolerance(self, measured, changes, cell):
        entry = claim(explanation="a made-up difference", **changes)
        assert f"| {cell} |" in table(measured(entry))

    def test_a_printed_form_without_a_number_says_so(self, measured):
        entry = claim(printed="√−1", measure_printed=lambda: math.nan)
        assert "| not a number |" in table(measured(entry))

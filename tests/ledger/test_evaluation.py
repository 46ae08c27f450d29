"""The verdicts, the messages of failures, and what becomes of numbers that JSON does not know."""

import json
import math
import sys
from types import ModuleType

import numpy as np
import pytest

from hessian_spectra.ledger import evaluation as module
from hessian_spectra.ledger.evaluation import (
    ClaimError,
    collect,
    evaluate,
    metrics,
    rounded,
    table,
    verdict,
)
from hessian_spectra.ledger.vocabulary import VERDICTS, Claim, Estimate, NothingToMeasure
from hessian_spectra.results import MissingResultError, digest, write_arrays


def claim(**changes):
    """An identity that compares the two sides of a study, with some fields changed."""
    fields = {
        "id": "toy/identity",
        "paper": "singh2026cracking",
        "location": "Theorem 0",
        "statement": "Both sides agree: |a − b| = 0.",
        "kind": "identity",
        "study": "toy",
        "test": "tests/claims/test_evaluate.py",
        "measure": lambda exact, numeric: abs(exact["a"] - numeric["b"]).max(),
        "tolerance": 1e-10,
        "reason": "round-off",
    }
    return Claim(**(fields | changes))


STUDIES = {"toy": {"kind": "toy", "config": {"width": 10, "seed": 0}}}


@pytest.fixture
def results(tmp_path):
    write_arrays(tmp_path / "closed_form" / "toy.npz", {"a": np.array([1.0, 2.0])})
    write_arrays(tmp_path / "numerics" / "toy.npz", {"b": np.array([1.0, 2.0]), "c": np.array(5.0)})
    return tmp_path


@pytest.fixture
def ledger(monkeypatch):
    """Lets a test write the ledger of the kind ``toy``; nothing else is in it."""
    monkeypatch.setattr(module.not_run, "claims", list)
    entries = []
    toy = ModuleType("hessian_spectra.claims.toy")
    toy.claims = lambda study: entries
    toy.__spec__ = module.importlib.util.spec_from_loader(toy.__name__, loader=None)
    monkeypatch.setitem(sys.modules, toy.__name__, toy)
    return entries


class TestVerdict:
    def test_an_identity_within_its_tolerance_is_reproduced(self):
        assert verdict(claim(), 5e-11, None) == "reproduced"

    def test_an_identity_beyond_its_tolerance_raises(self):
        with pytest.raises(
            ClaimError, match=r"toy/identity: measured 0.5, expected at most 0 \(tol"
        ):
            verdict(claim(), 0.5, None)

    def test_an_explanation_does_not_save_an_identity(self):
        with pytest.raises(ClaimError, match="toy/identity"):
            verdict(claim(explanation="bad luck"), 0.5, None)

    def test_an_erratum_is_corrected_if_the_printed_form_fails(self):
        entry = claim(printed="a = −b", measure_printed=lambda exact, numeric: 1.0)
        assert verdict(entry, 1e-15, 0.4) == "corrected"

    def test_an_erratum_whose_printed_form_gives_no_number_is_corrected(self):
        entry = claim(printed="a = √−1", measure_printed=lambda exact, numeric: math.nan)
        assert verdict(entry, 1e-15, math.nan) == "corrected"

    def test_an_erratum_that_the_data_do_not_show_is_reproduced(self):
        entry = claim(printed="a = −b", measure_printed=lambda exact, numeric: 0.0)
        assert verdict(entry, 1e-15, 0.0) == "reproduced"

    def test_an_erratum_whose_corrected_form_fails_raises(self):
        entry = claim(printed="a = −b", measure_printed=lambda exact, numeric: 1.0)
        with pytest.raises(ClaimError, match=r"toy/identity: measured 0\.2"):
            verdict(entry, 0.2, 0.4)

    @pytest.mark.parametrize(
        ("relation", "measured"), [("<=", 0.4), (">=", 0.6), ("=", 0.45), ("=", 0.55)]
    )
    def test_a_value_in_its_relation_is_reproduced(self, relation, measured):
        entry = claim(kind="value", relation=relation, expected=0.5, tolerance=0.06)
        assert verdict(entry, measured, None) == "reproduced"

    @pytest.mark.parametrize(
        ("relation", "measured", "words"),
        [("<=", 0.7, "at most"), (">=", 0.3, "at least"), ("=", 0.4, "equal to")],
    )
    def test_a_value_out_of_its_relation_needs_an_explanation(self, relation, measured, words):
        entry = claim(kind="trend", relation=relation, expected=0.5, tolerance=0.06)
        with pytest.raises(ClaimError, match=f"{words} 0.5.*no explanation"):
            verdict(entry, measured, None)

    def test_an_explained_difference_differs(self):
        entry = claim(kind="trend", relation=">=", expected=0.5, explanation="a smaller network")
        assert verdict(entry, 0.3, None) == "differs"

    def test_blanks_explain_nothing(self):
        with pytest.raises(ClaimError, match="no explanation"):
            verdict(claim(kind="value", explanation="  "), 0.3, None)

    @pytest.mark.parametrize("kind", ["identity", "value", "trend", "correlation"])
    def test_nan_is_never_a_verdict(self, kind):
        with pytest.raises(ClaimError, match="toy/identity: measured NaN"):
            verdict(claim(kind=kind, explanation="we do not know"), math.nan, None)

    def test_an_infinite_error_is_a_failure(self):
        with pytest.raises(ClaimError, match="measured inf"):
            verdict(claim(), math.inf, None)


class TestEvaluate:
    @pytest.mark.parametrize(
        ("decides", "found"), [("value", "reproduced"), ("low", "differs"), ("high", "reproduced")]
    )
    def test_an_end_of_the_interval_may_decide(self, results, ledger, decides, found):
        ledger.append(
            claim(
                kind="trend",
                measure=lambda exact, numeric: Estimate(0.5, -0.1, 0.9),
                relation=">=",
                decides=decides,
                explanation="few networks",
            )
        )
        (record,) = evaluate(STUDIES, results)
        assert record["verdict"] == found
        assert (record["measured"], record["interval"]) == (0.5, [-0.1, 0.9])
        assert "0.5 [-0.1, 0.9]" in table([record])

    def test_a_claim_may_be_measured_on_other_sides(self, results, ledger):
        write_arrays(results / "correlation" / "toy.npz", {"r": np.array(0.25)})
        ledger.append(
            claim(
                kind="value",
                measure=lambda found: found["r"],
                sides=("correlation",),
                tolerance=1.0,
            )
        )
        assert evaluate(STUDIES, results)[0]["measured"] == 0.25

    def test_a_record_holds_everything_about_the_claim(self, results, ledger):
        ledger.append(claim(source="eq. (1)"))
        (record,) = evaluate(STUDIES, results)
        assert record == {
            "id": "toy/identity",
            "paper": "singh2026cracking",
            "location": "Theorem 0",
            "statement": "Both sides agree: |a − b| = 0.",
            "kind": "identity",
            "expected": 0.0,
            "source": "eq. (1)",
            "measured": 0.0,
            "interval": None,
            "decides": "value",
            "relation": "<=",
            "tolerance": 1e-10,
            "reason": "round-off",
            "verdict": "reproduced",
            "study": "toy",
            "digest": digest(STUDIES["toy"]["config"]),
            "test": "tests/claims/test_evaluate.py",
            "printed": None,
            "printed_error": None,
            "explanation": "",
        }

    def test_all_failing_identities_are_named_at_once(self, results, ledger):
        ledger += [
            claim(),
            claim(id="toy/first", measure=lambda exact, numeric: 0.25),
            claim(id="toy/second", measure=lambda exact, numeric: math.nan),
        ]
        with pytest.raises(ClaimError) as caught:
            evaluate(STUDIES, results)
        message = str(caught.value)
        assert message.startswith(
            "2 claims do not hold: toy/first: measured 0.25, expected at most 0"
        )
        assert "tolerance 1e-10" in message
        assert "toy/second: measured NaN" in message
        assert "toy/identity" not in message

    def test_an_erratum_records_what_is_printed_and_its_error(self, results, ledger):
        ledger.append(
            claim(
                printed="b = 2a", measure_printed=lambda exact, numeric: abs(2 * exact["a"][1] - 2)
            )
        )
        (record,) = evaluate(STUDIES, results)
        assert (record["verdict"], record["printed"], record["printed_error"]) == (
            "corrected",
            "b = 2a",
            2.0,
        )

    def test_a_printed_form_without_a_number_is_null_in_json(self, results, ledger):
        ledger.append(claim(printed="b = √−1", measure_printed=lambda exact, numeric: math.nan))
        (record,) = evaluate(STUDIES, results)
        assert record["verdict"] == "corrected"
        assert json.loads(json.dumps(record, allow_nan=False))["printed_error"] is None

    def test_a_claim_without_measurement_is_not_run(self, results, ledger):
        ledger.append(claim(study=None, test=None, measure=None, explanation="It takes a GPU."))
        (record,) = evaluate(STUDIES, results)
        assert record["verdict"] == "not run at this scale"
        assert record["measured"] is None
        assert record["digest"] is None

    def test_a_missing_file_is_one_line_that_names_its_stage(self, results, ledger):
        (results / "numerics" / "toy.npz").unlink()
        ledger.append(claim())
        with pytest.raises(
            MissingResultError, match=r"numerics/toy\.npz is missing: run"
        ) as caught:
            evaluate(STUDIES, results)
        assert "\n" not in str(caught.value)

    def test_a_side_that_no_claim_needs_may_be_missing(self, results, ledger):
        (results / "closed_form" / "toy.npz").unlink()
        ledger.append(
            claim(kind="value", measure=lambda exact, numeric: numeric["c"], expected=5.0)
        )
        (record,) = evaluate(STUDIES, results)
        assert record["measured"] == 5.0

    def test_a_missing_array_is_one_line_that_names_the_file(self, results, ledger):
        ledger.append(claim(measure=lambda exact, numeric: exact["b"]))
        with pytest.raises(MissingResultError, match=r"closed_form/toy\.npz holds no array 'b'"):
            evaluate(STUDIES, results)

    def test_the_same_results_give_the_same_records(self, results, ledger):
        ledger.append(claim(measure=lambda exact, numeric: 1 / 3e12))
        first, second = evaluate(STUDIES, results), evaluate(STUDIES, results)
        assert json.dumps(first) == json.dumps(second)
        assert first[0]["measured"] == 3.33e-13


class TestCollect:
    def test_a_kind_without_claims_is_named(self):
        with pytest.raises(ClaimError, match=r"study nine: .*hessian_spectra\.claims\.nothing"):
            collect({"nine": {"kind": "nothing"}})

    def test_an_id_that_occurs_twice_is_named(self, ledger):
        ledger += [claim(), claim()]
        with pytest.raises(ClaimError, match="toy/identity: more than one claim"):
            collect(STUDIES)

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"statement": ""}, "statement is empty"),
            ({"reason": " "}, "reason is empty"),
            ({"study": None}, "study is empty"),
            ({"test": None}, "test is empty"),
            ({"printed": "a"}, "printed and measure_printed belong together"),
            ({"tolerance": -1.0}, "tolerance is -1.0"),
            ({"tolerance": math.nan}, "tolerance is nan"),
            ({"measure": None}, "it is not measured, and explanation does not say why"),
        ],
    )
    def test_an_incomplete_entry_is_named(self, ledger, changes, words):
        ledger.append(claim(**changes))
        with pytest.raises(ClaimError, match=f"toy/identity: {words}"):
            collect(STUDIES)


def test_metrics_count_verdicts_and_keep_the_largest_error_of_each_study(results, ledger):
    ledger += [
        claim(),
        claim(id="toy/worse", measure=lambda exact, numeric: 2e-14),
        claim(id="toy/better", measure=lambda exact, numeric: 1e-15),
        claim(
            id="toy/value", kind="value", measure=lambda exact, numeric: numeric["c"], expected=5.0
        ),
        claim(id="toy/open", study=None, test=None, measure=None, explanation="It takes a GPU."),
    ]
    numbers = metrics(evaluate(STUDIES, results))
    assert numbers["digits"] == {"toy": 13.7}
    assert numbers["verdicts"] == {
        "reproduced": 4,
        "corrected": 0,
        "differs": 0,
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

    def test_every_claim_is_one_row_under_its_paper(self, results, ledger):
        ledger += [
            claim(),
            claim(id="toy/old", paper="singh2024closed", location="Theorem 1"),
            claim(id="toy/new", paper="nobody2030", location="Lemma 9"),
            claim(
                id="toy/print",
                location="eq. (7)",
                printed="b = 2a",
                measure_printed=lambda exact, numeric: 0.5,
            ),
            claim(
                id="toy/open",
                location="Figure 6",
                study=None,
                test=None,
                measure=None,
                explanation="It takes a GPU.",
            ),
        ]
        text = table(evaluate(STUDIES, results))
        older, newer = (
            text.index("## singh2024closed: Closed form"),
            text.index("## singh2026cracking:"),
        )
        assert older < newer < text.index("## nobody2030")
        counts = "5 claims: 3 reproduced, 1 corrected, 0 differs, 1 not run at this scale"
        assert f"**{counts}**" in text.splitlines()
        assert len(self.rows(text, "reproduced")) == 3
        (erratum,) = self.rows(text, "eq. (7)")
        assert "| b = 2a |" in erratum
        assert "| 0.5 | 0 |" in erratum
        (unmeasured,) = self.rows(text, "Figure 6")
        assert unmeasured.endswith("| It takes a GPU. |")

    def test_bars_and_line_breaks_do_not_break_a_cell(self, results, ledger):
        ledger.append(claim(statement="|a|\nis ‖b‖ | c"))
        (row,) = [
            r for r in self.rows(table(evaluate(STUDIES, results)), "reproduced") if "‖b‖" in r
        ]
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
    def test_the_expected_value_is_written_with_its_tolerance(self, results, ledger, changes, cell):
        ledger.append(claim(**changes))
        assert f"| {cell} |" in table(evaluate(STUDIES, results))

    def test_a_printed_form_without_a_number_says_so(self, results, ledger):
        ledger.append(claim(printed="√−1", measure_printed=lambda exact, numeric: math.nan))
        assert "| not a number |" in table(evaluate(STUDIES, results))


def test_a_claim_about_what_a_configuration_leaves_out_is_not_run(results, ledger):
    def measure(exact, numeric):
        raise NothingToMeasure("no network has two layers")

    ledger.append(claim(kind="value", measure=measure))
    (record,) = evaluate(STUDIES, results)
    assert record["verdict"] == "not run at this scale"
    assert record["explanation"] == "no network has two layers"
    assert record["measured"] is None

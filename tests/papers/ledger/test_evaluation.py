"""The verdicts, which run decides, and what becomes of numbers that JSON does not know."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hessian_papers.ledger import evaluation as module
from hessian_papers.ledger.bounds import Bound, Estimate, NothingToMeasure
from hessian_papers.ledger.claims import Claims, Entry, LedgerError, Study
from hessian_papers.ledger.evaluation import (
    Measured,
    broken,
    collect,
    evaluate,
    measure,
    not_run,
    rounded,
    verdict,
)
from hessian_papers.results import StudyArrays
from hessian_spectra.files import DamagedFileError, MissingResultError, digest, write_arrays

ROOT = Path(__file__).parents[3]
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
        "test": "tests/papers/ledger/test_evaluation.py",
        "bound": Bound(**bound),
        "measure": lambda: 0.0,
    }
    return Entry(**(fields | changes))


@pytest.fixture
def folder(tmp_path):
    write_arrays(tmp_path / "closed_form.npz", {"a": np.array([1.0, 2.0])})
    write_arrays(tmp_path / "numerics.npz", {"b": np.array([1.0, 2.0]), "c": np.array(5.0)})
    return tmp_path


def run_of(claims, folder=Path("nowhere"), *, scale="demo", study="toy", config=None, **fields):
    config = CONFIG if config is None else config
    return Measured(claims=claims, study=Study(study, config), folder=folder, scale=scale, **fields)


@pytest.fixture
def left(monkeypatch, tmp_path):
    """A figure that no study measures."""
    file = tmp_path / "not_run.yaml"
    file.write_text(
        "- id: toy-fig9/claim\n  paper: singh2026cracking\n  location: Figure 9\n  kind: trend\n"
        "  statement: It grows.\n  explanation: It takes a year.\n"
    )
    monkeypatch.setattr(module, "NOT_RUN", file)


@pytest.fixture
def alone(monkeypatch):
    """Nothing is in the ledger but what a test states."""
    monkeypatch.setattr(module, "not_run", list)


@pytest.fixture
def measured(alone, monkeypatch):
    """The records of some entries, which are the whole ledger."""

    def of(*entries, **fields):
        monkeypatch.setattr(module, "collect", lambda run: list(entries))
        return evaluate([run_of(Claims(StudyArrays), **fields)])

    return of


@pytest.fixture
def stated(alone):
    """A kind's claims that a test fills."""
    return Claims(StudyArrays)


class TestVerdict:
    def test_an_identity_within_its_tolerance_is_reproduced(self):
        assert verdict(claim(), Estimate(5e-11), None) == "reproduced"

    def test_an_identity_beyond_its_tolerance_differs_whatever_explains_it(self):
        assert verdict(claim(), Estimate(0.5), None) == "differs"
        assert verdict(claim(explanation="bad luck"), Estimate(0.5), None) == "differs"

    def test_an_erratum_is_corrected_if_the_printed_form_fails(self):
        entry = claim(printed="a = −b", measure_printed=lambda: 1.0)
        assert verdict(entry, Estimate(1e-15), Estimate(0.4)) == "corrected"

    def test_an_erratum_whose_printed_form_gives_no_number_is_corrected(self):
        entry = claim(printed="a = √−1", measure_printed=lambda: math.nan)
        assert verdict(entry, Estimate(1e-15), Estimate(math.nan)) == "corrected"

    def test_an_erratum_that_the_data_do_not_show_is_reproduced(self):
        entry = claim(printed="a = −b", measure_printed=lambda: 0.0)
        assert verdict(entry, Estimate(1e-15), Estimate(0.0)) == "reproduced"

    def test_an_erratum_whose_corrected_form_fails_differs(self):
        entry = claim(printed="a = −b", measure_printed=lambda: 1.0)
        assert verdict(entry, Estimate(0.2), Estimate(0.4)) == "differs"

    @pytest.mark.parametrize(
        ("low", "found"), [(0.2, "corrected"), (-0.2, "reproduced"), (0.0, "reproduced")]
    )
    def test_print_is_wrong_where_its_whole_interval_is(self, low, found):
        entry = claim(printed="a = −b", measure_printed=lambda: 1.0)
        assert verdict(entry, Estimate(1e-15), Estimate(0.4, low, 0.6)) == found

    @pytest.mark.parametrize(
        ("relation", "measured"), [("<=", 0.4), (">=", 0.6), ("=", 0.45), ("=", 0.55)]
    )
    def test_a_value_in_its_relation_is_reproduced(self, relation, measured):
        entry = claim(kind="value", relation=relation, expected=0.5, tolerance=0.06)
        assert verdict(entry, Estimate(measured), None) == "reproduced"

    @pytest.mark.parametrize(("relation", "measured"), [("<=", 0.7), (">=", 0.3), ("=", 0.4)])
    def test_a_value_out_of_its_relation_differs(self, relation, measured):
        entry = claim(kind="trend", relation=relation, expected=0.5, tolerance=0.06)
        assert verdict(entry, Estimate(measured), None) == "differs"

    @pytest.mark.parametrize("kind", ["value", "trend", "correlation"])
    def test_of_nan_nothing_is_known(self, kind):
        assert verdict(claim(kind=kind), Estimate(math.nan), None) == "not run at this scale"

    def test_an_identity_without_a_finite_number_does_not_hold(self):
        assert verdict(claim(), Estimate(math.nan), None) == "differs"
        assert verdict(claim(), Estimate(math.inf), None) == "differs"

    @pytest.mark.parametrize(
        ("relation", "low", "high", "found"),
        [
            ("<=", -9.0, 0.6, "reproduced"),
            ("<=", 0.4, 0.8, "undecided"),
            ("<=", 0.61, 0.8, "differs"),
            (">=", 0.4, 9.0, "reproduced"),
            (">=", 0.3, 0.5, "undecided"),
            (">=", 0.1, 0.39, "differs"),
            ("=", 0.4, 0.6, "reproduced"),
            ("=", 0.3, 0.5, "undecided"),
            ("=", 0.0, 1.0, "undecided"),
            ("=", 0.61, 0.8, "differs"),
            ("=", 0.1, 0.39, "differs"),
            ("<=", math.nan, 0.9, "reproduced"),
            ("<=", 0.7, math.nan, "reproduced"),
        ],
    )
    def test_the_interval_decides_and_the_bound_is_widened(self, relation, low, high, found):
        entry = claim(kind="value", relation=relation, expected=0.5, tolerance=0.1)
        assert verdict(entry, Estimate(0.5, low, high), None) == found


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
            "test": "tests/papers/ledger/test_evaluation.py",
            "printed": None,
            "printed_error": None,
            "explanation": "",
            "scale": "demo",
            "recorded": False,
            "departs": {},
            "beside": None,
        }

    def test_an_erratum_records_what_is_printed_and_its_error(self, measured):
        (record,) = measured(claim(printed="b = 2a", measure_printed=lambda: 2.0))
        found = (record.verdict, record.printed, record.printed_error)
        assert found == ("corrected", "b = 2a", 2.0)

    def test_a_printed_form_without_a_number_is_null_in_json(self, measured):
        (record,) = measured(claim(printed="b = √−1", measure_printed=lambda: math.nan))
        assert record.verdict == "corrected"
        assert json.loads(json.dumps(vars(record), allow_nan=False))["printed_error"] is None

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
            evaluate([run_of(stated, folder)])
        assert "\n" not in str(caught.value)

    def test_a_damaged_file_is_no_matter_of_settings(self, folder, stated):
        (folder / "numerics.npz").write_bytes(b"no archive")
        with pytest.raises(DamagedFileError) as caught:
            evaluate([run_of(stated, folder)])
        reason = "it is no npz archive, or one that was cut off"
        assert str(caught.value) == (
            f"{folder / 'numerics.npz'} is damaged ({reason}): "
            "delete it and run the stage that writes it (dvc repro)"
        )

    @pytest.mark.parametrize(
        ("config", "missing"),
        [({}, "numerics"), ({}, "closed_form"), ({"ensemble": "mine"}, "correlation")],
    )
    def test_an_array_of_a_side_that_is_missing_names_that_side(
        self, folder, stated, config, missing
    ):
        @stated.value("Theorem 0", BOUND)
        def other(reading):
            """It is small."""
            return reading["of the missing side"]

        (folder / f"{missing}.npz").unlink(missing_ok=True)
        with pytest.raises(MissingResultError, match=rf"/{missing}\.npz is missing: run the stage"):
            evaluate([run_of(stated, folder, config=CONFIG | config)])

    def test_a_side_that_no_claim_needs_may_be_missing(self, folder, stated):
        @stated.value("Theorem 0", BOUND)
        def c(reading):
            """It is small."""
            return reading["c"]

        (folder / "closed_form.npz").unlink()
        assert [record.measured for record in evaluate([run_of(stated, folder)])] == [5.0]

    def test_a_missing_array_is_one_line_that_names_the_file(self, folder, stated):
        @stated.value("Theorem 0", BOUND)
        def b(reading):
            """It is small."""
            return reading.closed_form["b"].max()

        with pytest.raises(MissingResultError, match=r"closed_form\.npz holds no array 'b'"):
            evaluate([run_of(stated, folder)])

    def test_the_same_results_give_the_same_records(self, measured):
        first, second = (
            measured(claim(measure=lambda: 1 / 3e12)),
            measured(claim(measure=lambda: 1 / 3e12)),
        )
        assert first == second
        assert first[0].measured == 3.33e-13

    def test_a_difference_needs_no_explanation_and_gets_none(self, measured):
        departs = {"networks": [20, 200]}
        (record,) = measured(claim(kind="trend", measure=lambda: 0.5), departs=departs)
        assert (record.verdict, record.explanation) == ("differs", "")
        assert record.departs == departs

    @pytest.mark.parametrize("of", ["measure", "measure_printed"])
    def test_what_breaks_a_function_is_the_reason_why_it_was_not_run(self, measured, of):
        def breaks():
            raise ValueError("'mup' is not\nin list")

        (record,) = measured(claim(printed="a = −b", **{of: breaks}))
        assert record.verdict == "not run at this scale"
        expected = "could not be measured here: ValueError: 'mup' is not in list"
        assert record.explanation == expected

    def test_of_nan_the_reason_says_so(self, measured):
        (record,) = measured(claim(kind="value", measure=lambda: math.nan, explanation="a remark"))
        assert (record.verdict, record.measured) == ("not run at this scale", None)
        assert record.explanation == "could not be measured here: it gave NaN"

    def test_arrays_that_do_not_tell_which_claims_there_are(self, folder, stated):
        @stated.value("Theorem 0", BOUND, each=lambda reading: reading["c"].tolist())
        def c(reading):
            """It is small."""
            return 0.0

        (record,) = evaluate([run_of(stated, folder)])
        assert (record.id, record.paper, record.location) == (
            "toy/claims", "singh2026cracking", "Figure 0"
        )  # fmt: skip
        assert (record.verdict, record.study) == ("not run at this scale", "toy")
        assert record.explanation.startswith("could not be measured here: TypeError: ")

    def test_what_no_study_measures_comes_last_and_has_no_run(self, left):
        records = evaluate([])
        assert [record.id for record in records] == ["toy-fig9/claim"]
        for record in records:
            assert (record.scale, record.recorded, record.departs) == (None, False, {})
            assert (record.digest, record.verdict) == (None, "not run at this scale")


class TestRuns:
    """Of several runs of a study the strongest decides."""

    @pytest.fixture
    def claims(self, stated):
        @stated.value("Theorem 0", BOUND, each=lambda reading: [{"row": r} for r in reading["b"]])
        def of_row(reading, row):
            """Row {row} is small."""
            if row == 9:
                raise NothingToMeasure("this configuration has no ninth row")
            return reading.numerics["c"]

        return stated

    @pytest.fixture
    def run(self, claims, tmp_path):
        def of(scale, value, *, rows=(1,), **fields):
            folder = tmp_path / f"run {len(list(tmp_path.iterdir()))}"
            folder.mkdir()
            arrays = {"b": np.array(rows), "c": np.array(value)}
            write_arrays(folder / "numerics.npz", arrays)
            return run_of(claims, folder, scale=scale, **fields)

        return of

    def test_the_papers_scale_decides_and_the_demo_stands_beside(self, run):
        departs = {"networks": [20, 200]}
        demo = run("demo", 5.0, departs=departs)
        config = CONFIG | {"width": 100}
        paper = run("paper", 50.0, recorded=True, config=config)
        for runs in ([demo, paper], [paper, demo]):
            (record,) = evaluate(runs)
            beside = record.beside
            found = (record.verdict, record.measured, record.scale, record.recorded, record.departs)
            assert found == ("differs", 50.0, "paper", True, {})
            found = (beside.verdict, beside.measured, beside.scale, beside.recorded, beside.departs)
            assert found == ("reproduced", 5.0, "demo", False, departs)
            assert (record.digest, beside.digest) == (digest(config), digest(CONFIG))
            assert (beside.id, beside.beside) == (record.id, None)

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ({"scale": "paper", "departs": {"a": [1, 2], "b": [1, 2]}}, {"scale": "demo"}),
            ({"scale": "paper"}, {"scale": "workstation"}),
            ({"scale": "workstation"}, {"scale": "demo"}),
            ({"scale": "demo"}, {"scale": "mine"}),
            ({"scale": "paper"}, {"scale": "paper", "departs": {"a": [1, 2]}}),
            ({"scale": "paper", "recorded": True}, {"scale": "paper", "departs": {"a": [1, 2]}}),
            ({"scale": "paper"}, {"scale": "paper", "recorded": True}),
        ],
    )
    def test_the_order_of_runs(self, run, first, second):
        first, second = run(value=1.0, **first), run(value=2.0, **second)
        for runs in ([first, second], [second, first]):
            (record,) = evaluate(runs)
            assert (record.measured, record.beside.measured) == (1.0, 2.0)

    def test_a_run_that_could_not_measure_it_decides_nothing(self, run):
        (record,) = evaluate([run("demo", 5.0, rows=[9]), run("paper", 5.0, rows=[9])])
        assert record.scale == "paper"
        nothing = run("paper", math.nan, recorded=True)
        (record,) = evaluate([run("demo", 5.0), nothing])
        assert (record.scale, record.verdict) == ("demo", "reproduced")
        assert (record.beside.scale, record.beside.verdict) == ("paper", "not run at this scale")

    def test_each_run_states_the_cases_of_its_own_arrays(self, run):
        runs = [
            run("demo", 5.0, rows=[1, 2]),
            run("demo", 5.0, rows=[1], study="other"),
            run("paper", 6.0, rows=[3, 2], recorded=True),
        ]
        found = {record.id: [one.scale for one in record.runs] for record in evaluate(runs)}
        assert list(found.items()) == [
            ("toy/of-row-1", ["demo"]),
            ("toy/of-row-2", ["paper", "demo"]),
            ("toy/of-row-3", ["paper"]),
            ("other/of-row-1", ["demo"]),
        ]

    def test_a_recorded_run_may_lack_what_a_new_claim_takes(self, run):
        old = run("paper", 5.0, recorded=True)
        write_arrays(old.folder / "numerics.npz", {"b": np.array([1])})
        (record,) = evaluate([run("demo", 5.0), old])
        assert (record.scale, record.beside.verdict) == ("demo", "not run at this scale")
        assert "holds no array 'c'" in record.beside.explanation


class TestBroken:
    def test_each_identity_that_does_not_hold_is_named(self, measured):
        records = measured(
            claim(),
            claim(id="toy/first", measure=lambda: 0.25),
            claim(id="toy/second", measure=lambda: math.nan),
            claim(id="toy/value", kind="value", measure=lambda: 0.25),
            claim(id="toy/left-out", measure=lambda: [][1]),
        )
        assert broken(records) == [
            "toy/first: measured 0.25, expected at most 0 (tolerance 1e-10)",
            "toy/second: measured no number, expected at most 0 (tolerance 1e-10)",
        ]

    def test_of_a_weaker_run_too(self, measured):
        (weaker,) = measured(claim(measure=lambda: 0.25), scale="paper", recorded=True)
        (record,) = measured(claim())
        assert broken([record]) == []
        (line,) = broken([replace(record, beside=weaker)])
        assert line.startswith("toy/identity (recorded run): measured 0.25")


class TestCollect:
    def test_an_id_that_occurs_twice_is_named(self, folder, stated):
        for _ in range(2):

            @stated.value("Theorem 0", BOUND)
            def c(reading):
                """It is small."""
                return 0.0

        with pytest.raises(LedgerError, match="toy/c: more than one claim"):
            collect(run_of(stated, folder))

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

    def test_what_was_not_run_says_what_it_takes(self, left):
        (entry,) = not_run()
        assert entry.problems() == []
        assert entry.measure is None
        assert entry.explanation == "It takes a year."

    def test_what_was_not_run_is_compared_with_nothing(self, left):
        (entry,) = not_run()
        record = measure(entry, None)
        assert record.verdict == "not run at this scale"
        assert (record.expected, record.measured, record.interval) == (None, None, None)
        assert (record.relation, record.tolerance, record.reason) == ("<=", 0.0, "")

    def test_what_no_study_measures_is_told_in_full(self):
        assert [problem for entry in not_run() for problem in entry.problems()] == []

    def test_what_no_study_measures_has_none(self):
        studies = {path.stem for path in (ROOT / "conf" / "studies").rglob("*.yaml")}
        assert not studies & {entry.id.partition("/")[0] for entry in not_run()}


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

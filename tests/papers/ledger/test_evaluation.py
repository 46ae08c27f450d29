"""The outcome of a case, the run that decides, and numbers that JSON does not know."""

import json
import math
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import xarray as xr

from hessian_papers import labelled
from hessian_papers.ledger import evaluation as module
from hessian_papers.ledger.bounds import Bound, Estimate, NothingToMeasure
from hessian_papers.ledger.evaluation import (
    Measured,
    broken,
    collect,
    evaluate,
    measure,
    not_run,
    outcome,
)
from hessian_papers.ledger.record import all_cases
from hessian_papers.ledger.statements import Entry, Heading, LedgerError, Statements
from hessian_papers.ledger.verdicts import everywhere
from hessian_papers.results import Provenance
from hessian_spectra.files import DamagedFileError, MissingResultError, digest

ROOT = Path(__file__).parents[3]
CONFIG = {"paper": "singh2026cracking", "artifact": "Figure 0", "width": 10, "seed": 0}
BOUND = Bound(relation="<=", expected=10.0, tolerance=0.0, reason="a round number")
BOUND_FIELDS = ("relation", "expected", "tolerance", "reason", "source")


HEADING = {
    "id": "agreement",
    "places": {"singh2026cracking": "Theorem 0"},
    "sentence": "Both sides agree: |a − b| = 0.",
    "statistic": "largest difference.",
    "quantifier": "always",
    "book": "theorems",
    "identity": True,
}
OBSERVED = {"quantifier": "everywhere", "book": "observations", "identity": False}


def case(**changes):
    """A case of the study ``toy`` that was measured as 0, of an identity, with changes."""
    bound = {"relation": "<=", "expected": 0.0, "tolerance": 1e-10, "reason": "round-off"}
    bound |= {name: changes.pop(name) for name in BOUND_FIELDS if name in changes}
    heading = HEADING | {
        name: changes.pop(name)
        for name in (*HEADING, "printed")
        if name in changes and name != "id"
    }
    heading |= {"id": changes.pop("statement", HEADING["id"])}
    fields = {
        "id": "toy/case",
        "heading": Heading(**heading),
        "labels": {"time": "trained"},
        "study": "toy",
        "test": "tests/papers/ledger/test_evaluation.py",
        "bound": Bound(**bound),
        "measure": lambda: 0.0,
    }
    return Entry(**(fields | changes))


@pytest.fixture
def folder(tmp_path):
    labelled.write(tmp_path / "closed_form.nc", xr.Dataset({"a": ("row", [1.0, 2.0])}))
    both = {"b": ("row", [1.0, 2.0]), "c": 5.0}
    labelled.write(tmp_path / "numerics.nc", xr.Dataset(both))
    return tmp_path


def run_of(statements, folder=Path("nowhere"), *, scale="demo", study="toy", config=None, **fields):
    config = CONFIG if config is None else config
    provenance = Provenance(study=study, config=config, scale=scale, **fields)
    return Measured(statements=statements, provenance=provenance, folder=folder)


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


@pytest.fixture
def alone(monkeypatch):
    """Nothing is in the ledger but what a test states."""
    monkeypatch.setattr(module, "not_run", list)


@pytest.fixture
def measured(alone, monkeypatch):
    """The statements of some cases, which are the whole ledger."""

    def of(*entries, **fields):
        monkeypatch.setattr(module, "collect", lambda run: list(entries))
        return evaluate([run_of(Statements(), **fields)])

    return of


@pytest.fixture
def stated(alone):
    """A kind's statements that a test fills."""
    return Statements()


class TestOutcome:
    @pytest.mark.parametrize(("measured", "says"), [(5e-11, "holds"), (0.5, "fails")])
    def test_an_identity_holds_within_its_tolerance(self, measured, says):
        assert outcome(case(), Estimate(measured)) == says

    @pytest.mark.parametrize(
        ("relation", "measured", "says"),
        [
            *[("<=", 0.4, "holds"), (">=", 0.6, "holds"), ("=", 0.45, "holds")],
            *[("<=", 0.7, "fails"), (">=", 0.3, "fails"), ("=", 0.4, "fails")],
        ],
    )
    def test_a_value_is_held_against_its_bound(self, relation, measured, says):
        entry = case(**OBSERVED, relation=relation, expected=0.5, tolerance=0.06)
        assert outcome(entry, Estimate(measured)) == says

    def test_of_nan_nothing_is_known_but_an_identity_must_give_a_number(self):
        assert outcome(case(**OBSERVED), Estimate(math.nan)) == "not measured"
        assert outcome(case(), Estimate(math.nan)) == "fails"
        assert outcome(case(), Estimate(math.inf)) == "fails"

    @pytest.mark.parametrize(
        ("relation", "low", "high", "says"),
        [
            ("<=", -9.0, 0.6, "holds"),
            ("<=", 0.4, 0.8, "open"),
            ("<=", 0.61, 0.8, "fails"),
            (">=", 0.4, 9.0, "holds"),
            (">=", 0.3, 0.5, "open"),
            (">=", 0.1, 0.39, "fails"),
            ("=", 0.4, 0.6, "holds"),
            ("=", 0.3, 0.5, "open"),
            ("=", 0.0, 1.0, "open"),
            ("=", 0.61, 0.8, "fails"),
            ("=", 0.1, 0.39, "fails"),
            ("<=", math.nan, 0.9, "holds"),
            ("<=", 0.7, math.nan, "holds"),
        ],
    )
    def test_the_interval_decides_and_the_bound_is_widened(self, relation, low, high, says):
        entry = case(**OBSERVED, relation=relation, expected=0.5, tolerance=0.1)
        assert outcome(entry, Estimate(0.5, low, high)) == says


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


class TestEvaluate:
    @pytest.mark.parametrize(
        ("expected", "verdict"), [(-0.2, "reproduced"), (0.2, "open"), (1.0, "differs")]
    )
    def test_the_interval_decides(self, measured, expected, verdict):
        (statement,) = measured(
            case(
                **OBSERVED,
                measure=lambda: Estimate(0.5, -0.1, 0.9),
                relation=">=",
                expected=expected,
                tolerance=0.0,
                explanation="few networks",
            )
        )
        assert statement.verdict == verdict
        (only,) = statement.cases
        assert (only.measured, only.interval) == (0.5, [-0.1, 0.9])

    def test_a_record_holds_everything_about_a_statement_and_its_cases(self, measured):
        (statement,) = measured(case(source="eq. (1)"))
        (only,) = statement.cases
        assert vars(only) == {
            "id": "toy/case",
            "labels": {"time": "trained"},
            "expected": 0.0,
            "source": "eq. (1)",
            "word": "",
            "measured": 0.0,
            "interval": None,
            "relation": "<=",
            "tolerance": 1e-10,
            "reason": "round-off",
            "outcome": "holds",
            "study": "toy",
            "digest": digest(CONFIG),
            "test": "tests/papers/ledger/test_evaluation.py",
            "printed_error": None,
            "explanation": "",
            "scale": "demo",
            "recorded": False,
            "departs": {},
            "seconds": None,
            "beside": None,
        }
        rest = {"verdict": "reproduced", "pooled": None, "pooled_interval": None, "printed": None}
        assert vars(statement) == HEADING | rest | {"cases": [only]}

    def test_a_printed_form_without_a_number_is_null_in_json(self, measured):
        (statement,) = measured(case(printed="b = √−1", measure_printed=lambda: math.nan))
        assert statement.verdict == "corrected"
        written = json.loads(json.dumps(asdict(statement), allow_nan=False))
        assert written["cases"][0]["printed_error"] is None

    def test_cases_of_several_studies_and_papers_make_one_statement(self, measured):
        other = {"places": {"singh2024closed": "Theorem 1"}, "sentence": "It is so."}
        first = case(places={"singh2026cracking": "Figure 1"})
        cases = [
            first,
            case(id="toy/other", **other),
            case(id="toy/again", places={"singh2026cracking": "Figure 2"}),
        ]
        (statement,) = measured(*cases)
        assert statement.places == {
            "singh2026cracking": "Figure 1; Figure 2",
            "singh2024closed": "Theorem 1",
        }
        assert statement.sentence == HEADING["sentence"]
        assert [each.id for each in statement.cases] == ["toy/case", "toy/other", "toy/again"]

    def test_what_is_beyond_the_papers_has_no_smaller_setting(self, measured):
        fails = OBSERVED | {"measure": lambda: 0.5}
        departs = {"networks": [20, 200]}
        assert measured(case(**fails), departs=departs)[0].verdict == "not tested"
        beyond = case(**fails | {"book": "beyond"})
        assert measured(beyond, departs=departs)[0].verdict == "differs"

    def test_a_reading_of_a_word_calls_no_paper_wrong(self, measured):
        fields = OBSERVED | {"measure": lambda: 0.5}
        assert measured(case(**fields))[0].verdict == "differs"
        assert measured(case(**fields | {"book": "readings"}))[0].verdict == "depends"

    def test_a_claim_about_what_a_configuration_leaves_out_is_not_run(self, measured):
        def measure():
            raise NothingToMeasure("no network has two layers")

        (statement,) = measured(case(**OBSERVED, measure=measure))
        (record,) = statement.cases
        assert (statement.verdict, record.outcome) == ("not tested", "not measured")
        assert record.explanation == "no network has two layers"
        assert record.measured is None

    def test_a_missing_file_is_one_line_that_names_its_stage(self, folder, stated):
        @stated.statement("Theorem 0", everywhere, BOUND)
        def c(data):
            """It is small."""
            return data["c"]

        (folder / "numerics.nc").unlink()
        with pytest.raises(MissingResultError, match=r"numerics\.nc is missing: run") as caught:
            evaluate([run_of(stated, folder)])
        assert "\n" not in str(caught.value)

    def test_a_damaged_file_is_no_matter_of_settings(self, folder, stated):
        (folder / "numerics.nc").write_bytes(b"no archive")
        with pytest.raises(DamagedFileError) as caught:
            evaluate([run_of(stated, folder)])
        assert str(caught.value).startswith(f"{folder / 'numerics.nc'} is damaged (")
        remedy = "): delete it and run the stage that writes it (dvc repro)"
        assert str(caught.value).endswith(remedy)

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
        @stated.statement("Theorem 0", everywhere, BOUND)
        def other(data):
            """It is small."""
            return data["of the missing side"]

        (folder / f"{missing}.nc").unlink(missing_ok=True)
        with pytest.raises(MissingResultError, match=rf"/{missing}\.nc is missing: run the stage"):
            evaluate([run_of(stated, folder, config=CONFIG | config)])

    def test_a_missing_variable_is_one_line_that_names_it(self, folder, stated):
        @stated.statement("Theorem 0", everywhere, BOUND)
        def b(data):
            """It is small."""
            return data["d"].max()

        with pytest.raises(MissingResultError, match="the run has no variable 'd': it comes from"):
            evaluate([run_of(stated, folder)])

    def test_the_same_results_give_the_same_records(self, measured):
        first, second = (
            measured(case(measure=lambda: 1 / 3e12)),
            measured(case(measure=lambda: 1 / 3e12)),
        )
        assert first == second
        assert first[0].cases[0].measured == 3.33e-13

    def test_a_difference_needs_no_explanation_and_gets_none(self, measured):
        departs = {"networks": [20, 200]}
        (statement,) = measured(case(**OBSERVED, measure=lambda: 0.5), departs=departs)
        (record,) = statement.cases
        assert (record.outcome, record.explanation, record.departs) == ("fails", "", departs)
        # A smaller setting refutes nothing.
        assert statement.verdict == "not tested"

    @pytest.mark.parametrize("of", ["measure", "measure_printed"])
    def test_what_breaks_a_function_is_the_reason_why_it_was_not_run(self, measured, of):
        def breaks():
            raise ValueError("'mup' is not\nin list")

        (statement,) = measured(case(printed="a = −b", **{of: breaks}))
        (record,) = statement.cases
        assert (statement.verdict, record.outcome) == ("not tested", "not measured")
        expected = "could not be measured here: ValueError: 'mup' is not in list"
        assert record.explanation == expected

    def test_of_nan_the_reason_says_so(self, measured):
        entry = case(**OBSERVED, measure=lambda: math.nan, explanation="a remark")
        (record,) = measured(entry)[0].cases
        assert (record.outcome, record.measured) == ("not measured", None)
        assert record.explanation == "could not be measured here: it gave NaN"

    def test_arrays_that_do_not_tell_which_claims_there_are(self, folder, stated):
        @stated.statement(
            "Theorem 0", everywhere, BOUND, each=lambda data: data["c"].values.tolist()
        )
        def c(data):
            """It is small."""
            return 0.0

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
        assert (record.id, record.digest) == ("toy-fig9/claim", None)
        assert (record.scale, record.recorded, record.departs) == (None, False, {})

    @pytest.mark.parametrize(
        ("field", "other"), [("quantifier", "exists"), ("book", "beyond"), ("identity", True)]
    )
    def test_cases_of_one_statement_agree_on_what_it_is(self, measured, field, other):
        first = case(**OBSERVED)
        second = case(**OBSERVED | {field: other, "id": "toy/second"})
        message = f"{first.heading.id}: expected one {field} for all its cases, got .+, {other}"
        with pytest.raises(LedgerError, match=message):
            measured(first, second)


class TestRuns:
    """The strongest of several runs of a study decides."""

    @pytest.fixture
    def statements(self, stated):
        @stated.statement(
            "Theorem 0", everywhere, BOUND, each=lambda data: [{"row": r} for r in data["b"].values]
        )
        def of_row(data, row):
            """Row {row} is small."""
            if row == 9:
                raise NothingToMeasure("this configuration has no ninth row")
            return data["c"]

        return stated

    @pytest.fixture
    def run(self, statements, tmp_path):
        def of(scale, value, *, rows=(1,), **fields):
            folder = tmp_path / f"run {len(list(tmp_path.iterdir()))}"
            folder.mkdir()
            data = xr.Dataset({"b": ("row", list(rows)), "c": value})
            labelled.write(folder / labelled.WHOLE, data)
            return run_of(statements, folder, scale=scale, **fields)

        return of

    def test_the_papers_scale_decides_and_the_demo_stands_beside(self, run):
        departs = {"networks": [20, 200]}
        demo = run("demo", 5.0, departs=departs)
        config = CONFIG | {"width": 100}
        paper = run("paper", 50.0, recorded=True, config=config)
        for runs in ([demo, paper], [paper, demo]):
            (statement,) = evaluate(runs)
            assert statement.verdict == "differs"
            (record,) = statement.cases
            beside = record.beside
            facts = [
                (each.outcome, each.measured, each.scale, each.recorded, each.departs)
                for each in record.runs
            ]
            assert facts[0] == ("fails", 50.0, "paper", True, {})
            assert facts[1] == ("holds", 5.0, "demo", False, departs)
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
            ({"scale": "demo", "recorded": True}, {"scale": "demo"}),
        ],
    )
    def test_the_order_of_runs(self, run, first, second):
        first, second = run(value=1.0, **first), run(value=2.0, **second)
        for runs in ([first, second], [second, first]):
            (record,) = all_cases(evaluate(runs))
            assert (record.measured, record.beside.measured) == (1.0, 2.0)

    def test_a_run_that_could_not_measure_it_decides_nothing(self, run):
        (record,) = all_cases(evaluate([run("demo", 5.0, rows=[9]), run("paper", 5.0, rows=[9])]))
        assert record.scale == "paper"
        nothing = run("paper", math.nan, recorded=True)
        (record,) = all_cases(evaluate([run("demo", 5.0), nothing]))
        assert (record.scale, record.outcome) == ("demo", "holds")
        assert (record.beside.scale, record.beside.outcome) == ("paper", "not measured")

    def test_each_run_states_the_cases_of_its_own_arrays(self, run):
        runs = [
            run("demo", 5.0, rows=[1, 2]),
            run("demo", 5.0, rows=[1], study="other"),
            run("paper", 6.0, rows=[3, 2], recorded=True),
        ]
        scales = [
            (record.id, [run.scale for run in record.runs]) for record in all_cases(evaluate(runs))
        ]
        assert scales == [
            ("toy/of-row-1", ["demo"]),
            ("toy/of-row-2", ["paper", "demo"]),
            ("other/of-row-1", ["demo"]),
            ("toy/of-row-3", ["paper"]),
        ]

    def test_a_recorded_run_may_lack_what_a_new_claim_takes(self, run):
        old = run("paper", 5.0, recorded=True)
        labelled.write(old.folder / labelled.WHOLE, xr.Dataset({"b": ("row", [1])}))
        (record,) = all_cases(evaluate([run("demo", 5.0), old]))
        assert (record.scale, record.beside.outcome) == ("demo", "not measured")
        assert "no variable 'c'" in record.beside.explanation


class TestBroken:
    def test_each_identity_that_does_not_hold_is_named(self, measured):
        statements = measured(
            case(),
            case(id="toy/first", measure=lambda: 0.25),
            case(id="toy/second", measure=lambda: math.nan),
            case(id="toy/value", statement="value", **OBSERVED, measure=lambda: 0.25),
            case(id="toy/left-out", measure=lambda: [][1]),
        )
        assert broken(statements) == [
            "toy/first: measured 0.25, expected at most 0 (tolerance 1e-10)",
            "toy/second: measured no number, expected at most 0 (tolerance 1e-10)",
        ]

    def test_of_a_weaker_run_too(self, measured):
        (weaker,) = all_cases(measured(case(measure=lambda: 0.25), scale="paper", recorded=True))
        (statement,) = measured(case())
        assert broken([statement]) == []
        beside = [replace(statement.cases[0], beside=weaker)]
        (line,) = broken([replace(statement, cases=beside)])
        assert line.startswith("toy/case (recorded run): measured 0.25")


class TestCollect:
    def test_an_id_that_occurs_twice_is_named(self, folder, stated):
        for _ in range(2):

            @stated.statement("Theorem 0", everywhere, BOUND)
            def c(data):
                """It is small."""
                return 0.0

        with pytest.raises(LedgerError, match="toy/c: more than one case"):
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
        ],
    )
    def test_an_incomplete_entry_is_named(self, changes, words):
        assert case(**changes).problems() == [f"toy/case: {words}"]

    def test_what_was_not_run_says_what_it_takes(self, left):
        (entry,) = not_run()
        assert entry.problems() == []
        assert entry.measure is None
        assert entry.explanation == "It takes a year."

    def test_what_was_not_run_is_compared_with_nothing(self, left):
        (entry,) = not_run()
        record = measure(entry, None).record
        assert record.outcome == "not measured"
        assert (record.expected, record.measured, record.interval) == (None, None, None)
        assert (record.relation, record.tolerance, record.reason) == ("<=", 0.0, "")

    def test_what_no_study_measures_is_told_in_full(self):
        assert [problem for entry in not_run() for problem in entry.problems()] == []

    def test_what_no_study_measures_has_none(self):
        studies = {path.stem for path in (ROOT / "conf" / "studies").rglob("*.yaml")}
        assert not studies & {entry.heading.id for entry in not_run()}

"""Of several runs of a study the strongest decides, and an identity has to hold on each."""

import math
from dataclasses import replace

import pytest
import xarray as xr

from hessian_papers import labelled
from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.ledger.evaluation import broken, evaluate
from hessian_papers.ledger.record import all_cases
from hessian_spectra.files import digest
from tests.papers.ledger.entries import BOUND, CONFIG, OBSERVED, case, run_of


class TestRuns:
    """The strongest of several runs of a study decides."""

    @pytest.fixture
    def statements(self, stated):
        rows = {"each": lambda data: [{"row": row} for row in data["b"].values]}

        @stated.statement("everywhere", "Theorem 0", BOUND, **rows)
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
            names = ("outcome", "measured", "scale", "recorded", "departs", "digest", "id")
            facts = [tuple(getattr(each, name) for name in names) for each in record.runs]
            assert facts == [
                ("fails", 50.0, "paper", True, {}, digest(config), record.id),
                ("holds", 5.0, "demo", False, departs, digest(CONFIG), record.id),
            ]

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

    def test_a_case_of_a_lower_scale_than_the_recorded_run_stands_beside(self, run):
        """A statement beyond the papers has no setting of theirs to be smaller than."""
        recorded = run("workstation", 5.0, recorded=True)
        (statement,) = evaluate([recorded, run("demo", 50.0, rows=[2])])
        assert statement.verdict == "reproduced"
        (statement,) = evaluate([recorded, run("workstation", 50.0, rows=[2])])
        assert statement.verdict == "differs"

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

"""The commands beside a figure: what they change, and how long it takes."""

from unittest.mock import Mock

import pytest

from hessian_papers.drawing.record import FigureRecord
from hessian_papers.report.commands import cost, override
from hessian_papers.results import TIMES


@pytest.mark.parametrize(
    ("here", "core", "gpu", "expected"),
    [
        ({}, None, None, ""),
        ({"mine": 46}, None, None, "46 s"),
        ({"mine": 46, "x": 9}, {"mine": 120.0, "y": 3600.0}, {}, "46 s, recorded 62 min"),
        ({}, {"mine": 5400.0}, {}, "recorded 2 h"),
        ({}, {}, {}, ""),
        ({}, {"x": 120.0}, {"y": 660.0}, "recorded 2 min, recorded 11 min of a GPU"),
    ],
)
def test_a_figure_costs_what_it_takes_and_its_recorded_run_took(here, core, gpu, expected):
    facts = {TIMES["core"]: core, TIMES["GPU"]: gpu}
    run = None if core is None else Mock(spec=FigureRecord, provenance=Mock(facts=facts))
    figure = Mock(spec=FigureRecord, study="mine", recorded=run)
    assert cost(figure, {"seconds": here}) == expected


@pytest.mark.parametrize(
    ("config", "change"),
    [
        ({"width": 10}, "studies.s.width=20"),
        ({"width": True, "seed": 4}, "studies.s.seed=5"),
        ({"learning_rate": 0.5, "width": 10}, "studies.s.learning_rate=0.25"),
        ({"cases": ["base", "all, alone"]}, 'studies.s.cases=["all, alone"]'),
        ({"top": 300}, "studies.s.top=150"),
        ({"parametrisations": ["sp"], "ensemble": "e"}, "networks.e.seed=1"),
        ({"widths": [1, 2, 3]}, "studies.s.widths=[1,2]"),
        ({"depth": 0, "momentum": 0.0}, "studies.s.seed=1"),
    ],
)
def test_the_override_changes_what_says_most(config, change):
    assert override("s", config)[0] == change

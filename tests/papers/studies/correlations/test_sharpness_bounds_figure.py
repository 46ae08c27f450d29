"""The figure of the sharpness over two formulas shows every number."""

import pytest
from ensemble_arrays import ensemble

from hessian_papers.studies.correlations.sharpness_bounds import figure, study
from hessian_papers.studies.correlations.sharpness_bounds.reading import Reading


@pytest.fixture(scope="module")
def wide():
    return ensemble(sizes=(1, 2, 3, 10), noise=0.2)


def read(networks, **changes):
    fields = {
        "kind": "sharpness_bounds",
        "paper": "singh2026cracking",
        "artifact": "test",
        "title": "test",
        "ensemble": "test",
        "seed": 0,
        "parametrisations": ["sp", "ntp"],
        "along": "size",
        "depths": [2],
        "sizes": [],
    }
    config = study.Config(**(fields | changes))
    return Reading({"correlation": study.correlation(config, networks)})


def test_both_formulas_are_drawn(wide):
    reading = read(wide)
    panels = figure.draw(reading).axes
    assert len(panels) == 4
    median = study.LEVELS.index(0.5)
    for column in range(2):
        for time in range(2):
            lines = [tuple(line.get_ydata()) for line in panels[2 * time + column].lines]
            for name in ("maximum", "sum"):
                assert tuple(reading[f"ratio_{name}"][column, :, time, median]) in lines
    low, high = panels[0].get_ylim()
    assert low < min(reading["ratio_sum"].min(), 1)
    assert high > reading["ratio_maximum"].max()


def test_the_caption_holds_the_numbers(wide):
    reading = read(wide)
    quantiles = reading["pooled_maximum"][0, 1]
    expected = f"after training SP {quantiles[3]:.2f} [{quantiles[0]:.2f}, {quantiles[-1]:.2f}]"
    assert expected in figure.caption(reading)


def test_where_all_diverged_nothing_is_said(wide):
    sharpness = wide["sharpness"].copy()
    sharpness[wide["parametrisation"] == "ntp", 1] = float("nan")
    reading = read(wide | {"sharpness": sharpness})
    assert "NTP not defined and not defined" in figure.caption(reading)
    assert len(figure.draw(reading).axes) == 4


def test_depth_can_be_along_the_axis():
    deep = ensemble(depths=(2, 3, 4), sizes=(3,), noise=0.2)
    reading = read(deep, along="depth", depths=[], sizes=[3])
    assert figure.draw(reading).axes[-1].get_xlabel() == "depth $B$ (layers)"
    assert "D = K = 3, depths 2, 3, 4" in figure.caption(reading)

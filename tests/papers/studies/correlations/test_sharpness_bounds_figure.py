"""The figure of the sharpness over two formulas shows every number."""

import itertools

import pytest
from ensemble_arrays import ensemble
from point_studies import bounds_config as config

from hessian_papers.studies.correlations.sharpness_bounds import figure, study

NAMES = ("sp", "ntp")


@pytest.fixture(scope="module")
def wide():
    return ensemble(sizes=(1, 2, 3, 10), noise=0.2)


def read(networks, **changes):
    return study.correlation(config(**changes), networks)


def test_both_formulas_are_drawn(wide):
    data = read(wide)
    panels = figure.draw(data).axes
    assert len(panels) == 4
    medians = data["ratio"].sel(level=0.5).squeeze("depth")
    for axes, (time, name) in zip(panels, itertools.product(data["time"], NAMES), strict=True):
        lines = [tuple(line.get_ydata()) for line in axes.lines]
        for median in medians.sel(parametrisation=name, time=time).transpose("formula", "size"):
            assert tuple(median.values) in lines
    low, high = panels[0].get_ylim()
    assert low < min(data["ratio"].sel(formula="sum").min(), 1)
    assert high > data["ratio"].sel(formula="maximum").max()


def test_the_caption_holds_the_numbers(wide):
    data = read(wide)
    pooled = data["pooled"].sel(parametrisation="sp", time="trained", formula="maximum")
    middle, least, most = pooled.sel(level=[0.5, 0.0, 1.0]).values
    expected = f"after training SP {middle:.2f} [{least:.2f}, {most:.2f}]"
    assert expected in figure.caption(data)


def test_where_all_diverged_nothing_is_said(wide):
    sharpness = wide["sharpness"].copy()
    sharpness[wide["parametrisation"] == "ntp", 1] = float("nan")
    data = read(wide | {"sharpness": sharpness})
    assert "NTP not defined and not defined" in figure.caption(data)
    assert len(figure.draw(data).axes) == 4


def test_depth_can_be_along_the_axis():
    deep = ensemble(depths=(2, 3, 4), sizes=(3,), noise=0.2)
    data = read(deep, along="depth", depths=[], sizes=[3])
    assert figure.draw(data).axes[-1].get_xlabel() == "depth $B$ (layers)"
    assert "D = K = 3, depths 2, 3, 4" in figure.caption(data)

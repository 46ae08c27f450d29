"""The figures of the GGN's error show every run, and their captions hold the numbers."""

import numpy as np
import pytest
from language_models import ATTENTION, TWIN, pretrained, read

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.gpt2.gauss_newton_error import figure
from hessian_papers.studies.gpt2.gauss_newton_error.derived import contrast


def lines(axes):
    return [(tuple(line.get_xdata()), tuple(line.get_ydata())) for line in axes.lines]


@pytest.mark.parametrize("shown", ["mean", "runs"])
@pytest.mark.parametrize("along", ["residual", "step"])
def test_every_run_is_drawn_as_measured(along, shown):
    data = read(pretrained(), along=[along], shown=shown)
    second, _ = figure.controls(data)
    *_, errors = figure.draw(data).axes
    ratio = second.axes[-1]
    drawn = lines(errors)
    for place in np.ndindex(3, 3):
        run = data[["quantity", "measured"]].isel(along=0, variant=place[0], seed=place[1])
        assert tuple(tuple(values.values) for values in run.data_vars.values()) in drawn
    # An axis that runs backwards says so.
    turned = along == "residual"
    for axes in (ratio, errors):
        assert (
            axes.get_xlabel() == figure.AXES[along] + " (falls in training, to the right)" * turned
        )
        assert axes.xaxis_inverted() == turned


def test_means_and_their_ratio_are_drawn_at_the_levels():
    data = read(pretrained(), along=["loss"])
    (errors,), contrasts = figure.draw(data).axes, figure.controls(data)[0].axes
    means = [y for x, y in lines(errors) if len(x) == data.sizes["point"]]
    np.testing.assert_array_equal(means, data["error"][0].mean("seed", skipna=False))
    (axes,), actual = contrasts, contrast(data, "loss")
    assert (tuple(actual["level"].values), tuple(actual["value"].values)) in lines(axes)
    low, high = axes.get_ylim()
    assert low < min(actual["value"].min(), 0)
    assert high > actual["value"].max()


def test_each_pair_is_drawn_where_runs_are_shown():
    data = read(pretrained(), along=["loss"], shown="runs")
    first, other = (data["error"][0].sel(variant=name).values for name in (ATTENTION, TWIN))
    (axes,), expected = figure.controls(data)[0].axes, np.log(first / other)
    known = expected[:, np.isfinite(expected).any(axis=0)]
    pairs = [np.array(y) for _, y in lines(axes)[:-1]]
    np.testing.assert_allclose(pairs, known, atol=1e-12)


def test_the_loss_stands_above_the_steps_alone():
    data = read(pretrained(), along=["residual", "step"])
    panels = figure.draw(data).axes
    assert [axes.axison for axes in panels] == [False, *[True] * 3]
    drawn, steps = lines(panels[1]), tuple(data["step"].values)
    assert all((steps, tuple(run)) in drawn for run in data["loss"][0].values)


@pytest.mark.parametrize("shown", ["mean", "runs"])
def test_without_pairs_of_runs_there_is_no_second_picture(shown):
    data = read(pretrained(variants=(ATTENTION,)), shown=shown, along=["loss", "step"])
    assert figure.draw(data).axes
    with pytest.raises(NothingToMeasure, match="nothing is common to all runs"):
        figure.controls(data)


def test_the_caption_tells_sizes_and_how_runs_are_drawn():
    text = figure.caption(read(pretrained(), along=["residual"]))
    assert "210,000 weights without attention" in text
    assert "Mean over 3 seeds" in text
    runs = read(pretrained(), along=["residual"], shown="runs")
    assert "Each run as measured" in figure.caption(runs)

"""The trace and the top eigenvalues through training, against the loss of all samples."""

import numpy as np
import pytest
import torch
from small_images import CLASSES, image_sets, loss_and_hessian, whole_samples
from study_configs import both_sides as sides_of
from study_configs import configured

from hessian_papers.labelled import joined
from hessian_papers.networks.tools.images import split
from hessian_papers.studies.images.curvature import at_epoch, problem, weights_at
from hessian_papers.studies.images.through_training import figure, study
from hessian_papers.studies.images.through_training.derived import errors, networks
from hessian_papers.studies.spectra import error
from hessian_spectra import curvature as cv
from tests.pipelines.marks import undrawn

RANK = 8  # of nine pixels one is constant
SETS = image_sets(first=24, second=20)
WHOLE = image_sets(only=20)
BOTH = {
    "data": "test",
    "seed": 0,
    "samples": 20,
    "input_scale": 1.5,
    "initialisation": "kaiming",
    "initial_range": [0.3, 0.7],
    "precision": "float64",
    "tolerance": 1e-8,
}
# Three layers and random probes; two layers, of two widths, and their eigenvalues.
TRACE = {"replicates": 2, "depth": 3, "width": 5, "learning_rate": 0.02, "epochs": 40}
TRACE |= {"recorded": 4, "narrow": 0, "probes": 20, "top": 0}
PAIRS = {"replicates": 1, "depth": 2, "width": 6, "learning_rate": 0.05, "epochs": 1500}
PAIRS |= {"recorded": 3, "narrow": 3, "probes": 0, "top": 6}


def config(fields, **changes):
    return configured(study, BOTH | fields | changes)


def both_sides(settings, data=SETS):
    """The trained networks and the data set of a study."""
    trained = study.train(settings, data)
    return split(trained), joined([*sides_of(study, settings, trained).values()])


@pytest.fixture(scope="module")
def traces():
    return both_sides(config(TRACE))


@pytest.fixture(scope="module")
def pairs():
    return both_sides(config(PAIRS))


@pytest.mark.parametrize(
    "settings",
    [
        *(config(TRACE, depth=depth, replicates=1, width=3) for depth in (2, 4)),
        config(PAIRS, epochs=60),
    ],
    ids=lambda settings: f"depth {settings.depth}, top {settings.top}",
)
def test_the_reduced_problem_is_that_of_all_samples(settings):
    """Loss, trace and eigenvalues at each epoch, where the subset is the whole set."""
    trained, data = both_sides(settings, WHOLE)
    # The order of the subset's images is its own, on which nothing depends but signs of the SVD.
    inputs, targets = whole_samples(WHOLE, "only", settings.input_scale)
    for network, of_network in zip(trained, networks(data), strict=True):
        moments = targets.T @ inputs / (len(inputs) * settings.input_scale)
        signs = torch.sign((torch.from_numpy(network["target"]) * moments).sum(dim=0))
        np.testing.assert_allclose(network["target"], (moments * signs).numpy(), atol=1e-10)
        for at, item in enumerate(of_network.transpose("epoch", ...)["epoch"].values):
            weights = weights_at(network, at)
            loss, dense = loss_and_hessian([weights[0] * signs, *weights[1:]], inputs, targets)
            eigenvalues = torch.linalg.eigvalsh(dense).numpy()
            measured = of_network.sel(epoch=item)
            assert loss == pytest.approx(float(measured["loss"]), rel=1e-12)
            assert float(dense.trace()) == pytest.approx(float(measured["trace"]), rel=1e-12)
            if settings.top:
                top = measured["numerical"].sel(matrix="hessian")
                np.testing.assert_allclose(top, eigenvalues[-settings.top :], rtol=1e-9)
            operator = cv.hessian(problem(at_epoch(network, at), "linear"), backend="curvlinops")
            spectrum = cv.dense_spectrum(operator).eigenvalues.numpy()
            np.testing.assert_allclose(spectrum, eigenvalues, atol=1e-10 * eigenvalues[-1])


def test_hutchinson_is_within_its_error_of_the_trace(traces):
    trained, data = traces
    actual = (data["estimate"] - data["trace"]) / data["standard_error"]
    assert abs(actual).max() < 5
    assert 0.3 < np.sqrt((actual**2).mean()) < 2
    for network, item in zip(trained, networks(data), strict=True):
        for at in (0, -1):
            operator = cv.hessian(problem(at_epoch(network, at), "linear"))
            exact = float(item["trace"].isel(epoch=at))
            assert cv.trace(operator, "exact").value == pytest.approx(exact, rel=1e-12)


def test_each_epoch_has_probes_of_its_own(traces):
    item, settings = at_epoch(traces[0][0], 0), {"probes": 20, "top": 0, "tolerance": 1e-8}
    single, other, again = (
        study.measure({"epoch": np.array(epoch)}, item, seed=0, **settings) for epoch in (1, 2, 1)
    )
    assert single["estimate"] != other["estimate"]
    assert single == again


def test_a_network_that_diverges_keeps_what_came_before():
    _, data = both_sides(config(TRACE, learning_rate=20.0, replicates=1), WHOLE)
    assert data["diverged_at"] > 0
    assert (data["epoch"] < data["diverged_at"]).all()
    for name in ("trace", "estimate"):
        assert np.isfinite(data[name]).all()


def test_the_print_may_name_fewer_than_are_asked_for():
    settings = config(PAIRS, narrow=2, epochs=1)
    exact = study.closed_form(settings, study.train(settings, SETS))
    narrow = exact.sel(source="first", width=2, form="printed")
    assert narrow["count"].values.ravel().tolist() == [4, 4]
    assert (narrow["exact"].isel(rank=slice(2)) == 0).all()
    assert (narrow["exact"].isel(rank=slice(2, None)) > 0).all()


def test_all_eigenvalues_are_taken_where_there_are_fewer_than_asked_for():
    _, data = both_sides(config(PAIRS, top=50, width=3, narrow=1, epochs=30, recorded=1))
    parameters = {3: 3 * (RANK + CLASSES), 1: RANK + CLASSES}
    for network in networks(data.sel(form="corrected")):
        assert network.sizes["rank"] == parameters[int(network["width"])]
        assert (error(network.sel(matrix="ggn")) < 1e-10).all()
        # Of those that are zero there is no relative error, and the mean is of the others.
        unknown = errors(network.sel(matrix="ggn")).isnull()
        assert (unknown == (network["exact"] == 0)).all()
        assert np.isfinite(errors(network.sel(matrix="hessian")).mean("rank")).all()


def test_the_print_counts_too_few_and_fails_for_the_narrow_network_only(pairs):
    data = pairs[1]
    for width in (6, 3):
        first, last = min(width, RANK), min(width, CLASSES)
        count = RANK * CLASSES - (RANK - first) * (CLASSES - last)
        counts = data["count"].sel(width=width)
        assert (counts.sel(form="corrected") == count).all()
        assert (counts.sel(form="printed") == first * last).all()
    worst = errors(data).sel(form="printed", matrix="ggn").max(["replicate", "epoch", "rank"])
    assert (worst.sel(width=3) > 0.3).all()
    assert (worst.sel(width=6) < 1e-9).all()


def test_the_figure_shows_every_trace(traces):
    drawn, caption = figure.draw(traces[1]), figure.caption(traces[1])
    # An error bar and a line for each of two replicates.
    assert [[len(each) for each in axes.containers] for axes in drawn.axes] == [[3, 3]] * 2
    assert "(b) 20 images of 8 independent features" in caption
    assert undrawn(drawn, caption) == []
    second, text = figure.controls(traces[1])
    assert len(second.axes) == 2 * 2
    assert undrawn(second, text) == []
    exact = traces[1].assign(standard_error=0 * traces[1]["standard_error"])
    assert len(figure.draw(exact).axes) == 2
    assert len(figure.controls(exact)[0].axes) == 4
    assert "all random probes give the same trace" in figure.caption(exact)


def test_the_figure_shows_the_errors_of_the_widest_network_and_the_controls_all(pairs):
    drawn, caption = figure.draw(pairs[1]), figure.caption(pairs[1])
    # Two index sets; and the bound.
    assert [[len(line.get_xdata()) for line in axes.lines] for axes in drawn.axes] == [[4, 4]] * 2
    assert "over the 6 largest" in caption
    assert undrawn(drawn, caption) == []
    second, text = figure.controls(pairs[1])
    assert [len(axes.lines) for axes in second.axes] == [3, 3, 2, 2] * 2
    assert undrawn(second, text) == []

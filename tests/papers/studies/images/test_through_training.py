"""The trace and the top eigenvalues through training, against the loss of all samples."""

import numpy as np
import pytest
import torch
import xarray as xr
from samples import samples
from small_images import CLASSES, image_sets, loss_and_hessian, whole_samples
from study_configs import configured

from hessian_papers.labelled import joined
from hessian_papers.networks.tools.images import split
from hessian_papers.studies.images.curvature import at_epoch, problem, weights_at
from hessian_papers.studies.images.through_training import figure, study
from hessian_papers.studies.images.through_training.derived import errors, networks, weyl_bound
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
    sides = [study.closed_form(settings, trained), study.numerics(settings, trained)]
    return split(trained), joined(sides)


@pytest.fixture(scope="module")
def traces():
    return both_sides(config(TRACE))


@pytest.fixture(scope="module")
def pairs():
    return both_sides(config(PAIRS))


def test_networks_come_by_image_set_width_and_replicate(traces, pairs):
    trained, data = traces
    actual = [(item["source"].item(), int(item["replicate"])) for item in networks(data)]
    assert actual == [("first", 0), ("first", 1), ("second", 0), ("second", 1)]
    assert data["epoch"].values.tolist() == [0, 1, 3, 12, 40]
    for network, item in zip(trained, networks(data), strict=True):
        assert network["losses"].shape == (41,)
        assert network["target"].shape == (CLASSES, RANK)
        np.testing.assert_array_equal(item["loss"], network["losses"][item["epoch"]])
        assert (item["features"], item["samples"]) == (RANK, 20)
        assert (np.diff(item["loss"]) < 0).all()
        assert item["loss"].isel(epoch=-1) > item["floor"] > 0
    trained, data = pairs
    actual = [(item["source"].item(), int(item["width"])) for item in networks(data)]
    assert actual == [("first", 6), ("first", 3), ("second", 6), ("second", 3)]
    assert data["epoch"].values.tolist() == [0, 1, 39, 1500]
    assert data.sizes["rank"] == 6
    assert (data["residual"].sel(matrix="hessian") <= 1e-8).all()
    for network, item in zip(trained, networks(data), strict=True):
        assert network["weights 1"].shape == (4, item["width"], RANK)
    # Both widths see the same samples.
    np.testing.assert_array_equal(trained[0]["target"], trained[1]["target"])


def test_replicates_differ_and_a_study_is_reproducible(traces):
    trained, _ = traces
    for network, again in zip(trained, split(study.train(config(TRACE), SETS)), strict=True):
        for name, array in network.items():
            np.testing.assert_array_equal(array, again[name], err_msg=name)
    single, other = trained[:2]
    assert not np.allclose(single["weights 1"][0], other["weights 1"][0])
    assert not np.allclose(single["target"], other["target"])


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


def test_no_narrow_network_where_none_is_asked_for():
    settings = config(PAIRS, narrow=0, epochs=1)
    assert study.closed_form(settings, study.train(settings, SETS))["width"].values.tolist() == [6]


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


def test_corrected_sums_are_exact_for_the_gauss_newton_matrix(pairs):
    chosen = pairs[1].sel(form="corrected", matrix="ggn")
    np.testing.assert_allclose(*xr.broadcast(chosen["exact"], chosen["numerical"]), rtol=1e-9)
    np.testing.assert_allclose(chosen["sum"], chosen["trace"], rtol=1e-12)
    norms = (chosen["spectral_norm"] ** 2).sum("layer") * 1.5**2
    np.testing.assert_allclose(chosen["exact"].isel(rank=-1), norms, rtol=1e-12)


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


def test_a_network_of_too_low_rank_keeps_its_error(pairs):
    """The residual is not 0, and the Hessian therefore not its Gauss-Newton part."""
    trained, data = pairs
    mean = errors(data).sel(form="corrected", matrix="hessian").mean("rank")
    excess = data["loss"] - data["floor"]
    excess = (excess / excess.sel(epoch=0)).isel(epoch=-1)
    assert (excess.sel(width=3) > 0.01).all()
    assert (mean.sel(width=3).isel(epoch=-1) > 0.01).all()
    assert (excess.sel(width=6) < 1e-4).all()
    assert (mean.isel(epoch=-1) < 1e-4 * mean.sel(epoch=0)).sel(width=6).all()
    # At its minimum a network of three hidden units leaves the fourth singular value of YXᵀ/n.
    for network in trained[1::2]:
        target = network["target"] * network["root"]
        product = network["weights 2"][-1] @ network["weights 1"][-1]
        residual = np.linalg.svd(product * network["root"] ** 2 - target, compute_uv=False)
        (left,) = np.linalg.svd(target, compute_uv=False)[3:]
        assert residual[0] == pytest.approx(left, rel=0.02)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"probes": 1}, "probes: expected 0, or at least 2 for a standard error, got 1"),
        ({"recorded": 0}, "recorded: expected at least 1, got 0"),
        ({"initialisation": "xavier"}, "initialisation: expected one of balanced, kaiming, got 'x"),
        ({"depth": 3}, r"depth: expected 2: equation \(15\) is about two layers, got 3"),
        ({"narrow": -1}, "narrow: expected at least 0, got -1"),
        ({"top": -1}, "top: expected at least 0, got -1"),
        ({"top": 0}, "top: expected at least 1, as there are no probes, got 0"),
        ({"tolerance": 0.0}, "tolerance: expected a number from 1e-12 to 1e-06, got 0.0"),
        ({"tolerance": 1e-3}, "tolerance: expected a number from 1e-12"),
    ],
)
def test_a_bad_setting_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        config(PAIRS, **changes)


def test_data_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="samples: expected at most 20, all of second, got 24"):
        study.train(config(TRACE, samples=24), SETS)
    with pytest.raises(ValueError, match="data: expected a data set of images, got one of x, y"):
        study.train(config(TRACE), samples(np.ones(3), np.ones(3)))


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


def test_no_error_is_beyond_the_bound_that_is_drawn(pairs):
    narrow = pairs[1].sel(width=3)
    bound = figure.controls(pairs[1])[0].axes[4].lines[-1]
    assert bound.get_color() == figure.BOUND["color"]
    for data, drawn in ((narrow, bound), (pairs[1].sel(width=6), None)):
        hessian = data.sel(form="corrected", matrix="hessian")
        distance = abs(hessian["exact"] - hessian["numerical"]).max("rank")
        assert (distance <= weyl_bound(data) + 1e-7).all()
        if drawn:
            error = 100 * errors(networks(hessian)[0]).max("rank")
            assert (error <= drawn.get_ydata() + 1e-5).all()

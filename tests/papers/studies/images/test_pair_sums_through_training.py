"""Sums over pairs of singular values against the Hessian of all samples, wide and narrow."""

import numpy as np
import pytest
import torch
import xarray as xr
from small_images import CLASSES, image_sets, loss_and_hessian, whole_samples

from hessian_papers.labelled import joined
from hessian_papers.networks.tools.images import split
from hessian_papers.studies.images.pair_sums_through_training import figure, study
from hessian_papers.studies.images.pair_sums_through_training.derived import (
    errors,
    networks,
    weyl_bound,
)
from hessian_papers.studies.spectra import error

RANK = 8  # of nine pixels one is constant
SETS = image_sets(first=24, second=20)


def config(**changes):
    fields = {
        "kind": "pair_sums_through_training",
        "paper": "anon2026data",
        "artifact": "Figure 4",
        "title": "test",
        "data": "test",
        "seed": 0,
        "samples": 20,
        "replicates": 1,
        "depth": 2,
        "width": 6,
        "input_scale": 1.5,
        "initialisation": "kaiming",
        "initial_range": [0.3, 0.7],
        "learning_rate": 0.05,
        "epochs": 1500,
        "precision": "float64",
        "recorded": 3,
        "narrow": 3,
        "top": 6,
        "tolerance": 1e-8,
    }
    return study.Config(**(fields | changes))


@pytest.fixture(scope="module")
def trained():
    return study.train(config(), SETS)


def both_sides(settings, trained):
    return joined([study.closed_form(settings, trained), study.numerics(settings, trained)])


@pytest.fixture(scope="module")
def data(trained):
    return both_sides(config(), trained)


def test_networks_come_by_image_set_and_width(trained, data):
    actual = [(item["source"].item(), int(item["width"])) for item in networks(data)]
    assert actual == [("first", 6), ("first", 3), ("second", 6), ("second", 3)]
    assert data["epoch"].values.tolist() == [0, 1, 39, 1500]
    assert data.sizes["rank"] == 6
    assert (data["residual"].sel(matrix="hessian") <= 1e-8).all()
    for network, item in zip(split(trained), networks(data), strict=True):
        assert network["weights 1"].shape == (4, item["width"], RANK)


def test_no_narrow_network_where_none_is_asked_for():
    settings = config(narrow=0, epochs=1)
    assert study.closed_form(settings, study.train(settings, SETS))["width"].values.tolist() == [6]


def test_the_print_may_name_fewer_than_are_asked_for():
    settings = config(narrow=2, epochs=1)
    exact = study.closed_form(settings, study.train(settings, SETS))
    narrow = exact.sel(source="first", width=2, form="printed")
    assert narrow["count"].values.ravel().tolist() == [4, 4]
    assert (narrow["exact"].isel(rank=slice(2)) == 0).all()
    assert (narrow["exact"].isel(rank=slice(2, None)) > 0).all()


def test_all_eigenvalues_are_taken_where_there_are_fewer_than_asked_for():
    settings = config(top=50, width=3, narrow=1, epochs=30, recorded=1)
    data = both_sides(settings, study.train(settings, SETS))
    parameters = {3: 3 * (RANK + CLASSES), 1: RANK + CLASSES}
    for network in networks(data.sel(form="corrected")):
        assert network.sizes["rank"] == parameters[int(network["width"])]
        assert (error(network.sel(matrix="ggn")) < 1e-10).all()
        # Of those that are zero there is no relative error, and the mean is of the others.
        unknown = errors(network.sel(matrix="ggn")).isnull()
        assert (unknown == (network["exact"] == 0)).all()
        assert np.isfinite(errors(network.sel(matrix="hessian")).mean("rank")).all()
    assert len(figure.draw(data).axes) == 8
    assert "nan" not in figure.caption(data)


def test_both_widths_see_the_same_samples(trained):
    wide, narrow = split(trained)[:2]
    np.testing.assert_array_equal(wide["target"], narrow["target"])


def test_eigenvalues_are_those_of_all_samples():
    """Where the subset is the whole set; a rotation of the inputs leaves the spectrum alone."""
    settings = config(epochs=60)
    data = image_sets(only=20)
    trained = study.train(settings, data)
    numerics = study.numerics(settings, trained)
    inputs, targets = whole_samples(data, "only", settings.input_scale)
    eigenvalues = numerics["numerical"].sel(source="only", replicate=0, matrix="hessian")
    for network, width in zip(split(trained), (6, 3), strict=True):
        signs = np.sign((network["target"] * (targets.T @ inputs).numpy()).sum(axis=0))
        for at in range(len(network["epoch"])):
            first = torch.from_numpy(network["weights 1"][at] * signs)
            last = torch.from_numpy(network["weights 2"][at])
            loss, dense = loss_and_hessian([first, last], inputs, targets)
            assert loss == pytest.approx(float(network["loss"][at]), rel=1e-12)
            top = torch.linalg.eigvalsh(dense)[-6:].numpy()
            actual = eigenvalues.sel(width=width, epoch=network["epoch"][at])
            np.testing.assert_allclose(actual, top, rtol=1e-9)


def test_corrected_sums_are_exact_for_the_gauss_newton_matrix(data):
    chosen = data.sel(form="corrected", matrix="ggn")
    np.testing.assert_allclose(*xr.broadcast(chosen["exact"], chosen["numerical"]), rtol=1e-9)
    np.testing.assert_allclose(chosen["sum"], chosen["trace"], rtol=1e-12)
    norms = (chosen["spectral_norm"] ** 2).sum("layer") * config().input_scale ** 2
    np.testing.assert_allclose(chosen["exact"].isel(rank=-1), norms, rtol=1e-12)


def test_counts_of_both_index_sets(data):
    for width in (6, 3):
        first, last = min(width, RANK), min(width, CLASSES)
        count = RANK * CLASSES - (RANK - first) * (CLASSES - last)
        counts = data["count"].sel(width=width)
        assert (counts.sel(form="corrected") == count).all()
        assert (counts.sel(form="printed") == first * last).all()


def test_the_print_fails_for_the_narrow_network_only(data):
    worst = errors(data).sel(form="printed", matrix="ggn").max(["replicate", "epoch", "rank"])
    assert (worst.sel(width=3) > 0.3).all()
    assert (worst.sel(width=6) < 1e-9).all()


def test_a_network_of_too_low_rank_keeps_its_error(data):
    """The residual is not 0, and the Hessian therefore not its Gauss-Newton part."""
    mean = errors(data).sel(form="corrected", matrix="hessian").mean("rank")
    excess = data["loss"] - data["floor"]
    excess = (excess / excess.sel(epoch=0)).isel(epoch=-1)
    assert (excess.sel(width=3) > 0.01).all()
    assert (mean.sel(width=3).isel(epoch=-1) > 0.01).all()
    assert (excess.sel(width=6) < 1e-4).all()
    assert (mean.isel(epoch=-1) < 1e-4 * mean.sel(epoch=0)).sel(width=6).all()


def test_the_residual_of_least_rank_is_what_is_left(trained):
    """At its minimum a network of three hidden units leaves the fourth singular value of YXᵀ/n."""
    for network in split(trained):
        target = network["target"] * network["root"]
        product = network["weights 2"][-1] @ network["weights 1"][-1]
        residual = np.linalg.svd(product * network["root"] ** 2 - target, compute_uv=False)
        if len(network["weights 1"][-1]) == 3:
            (left,) = np.linalg.svd(target, compute_uv=False)[3:]
            assert residual[0] == pytest.approx(left, rel=0.02)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"depth": 3}, r"depth: expected 2: equation \(15\) is about two layers, got 3"),
        ({"narrow": -1}, "narrow: expected a width, or 0 for none, got -1"),
        ({"top": 0}, "top: expected at least 1, got 0"),
        ({"tolerance": 0.0}, "tolerance: expected a number from 1e-12 to 1e-06, got 0.0"),
        ({"width": 0}, "width: expected at least 1, got 0"),
        ({"tolerance": 1e-3}, "tolerance: expected a number from 1e-12"),
        ({"input_scale": 0.0}, "input_scale: expected a positive number from 1e-06"),
        ({"replicates": 0}, "replicates: expected at least 1, got 0"),
    ],
)
def test_a_bad_setting_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        config(**changes)


def test_the_figure_shows_every_network(data):
    drawn = figure.draw(data)
    assert len(drawn.axes) == 4 * 2
    hessian, gauss_newton = drawn.axes[0], drawn.axes[2]
    # Two index sets and the bound; two index sets.
    assert [len(line.get_xdata()) for line in hessian.lines] == [4, 4, 4]
    assert len(gauss_newton.lines) == 2
    texts = [text.get_text() for axes in drawn.axes for text in axes.texts]
    assert {"27 positive eigenvalues", "in print 9"} <= {*texts}
    assert "over the 6 largest" in figure.caption(data)


def test_no_error_is_beyond_the_bound_that_is_drawn(data):
    bound = figure.draw(data).axes[0].lines[-1]
    assert bound.get_color() == figure.BOUND["color"]
    hessian = data.sel(form="corrected", matrix="hessian")
    error = 100 * errors(networks(hessian)[0]).max("rank")
    assert (error <= bound.get_ydata() + 1e-5).all()
    distance = abs(hessian["exact"] - hessian["numerical"]).max("rank")
    assert (distance <= weyl_bound(data) + 1e-7).all()

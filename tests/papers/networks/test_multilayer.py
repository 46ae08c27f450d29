"""The ensembles' arrays: against brute force, in any chunks, with diverged networks counted."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr
from ensemble_arrays import SETTINGS

from hessian_papers.data.base import ONE_FEATURE, SEVERAL_FEATURES, TEXT, Form
from hessian_papers.models.parametrisation import draw
from hessian_papers.models.teacher import teacher_data
from hessian_papers.networks import multilayer
from hessian_papers.networks.multilayer import Config
from hessian_papers.training.ensemble import DIVERGED, EPOCH_LIMIT, NOT_TRAINED
from hessian_spectra import curvature as cv
from hessian_spectra.models import HalfSquaredError

CHANGES = {
    "depths": [2, 3],
    "sizes": [1, 3],
    "width": 4,
    "teachers": 1,
    "networks": 5,
    "learning_rates": {"sp": 0.01, "ntp": 0.01},
    "large_learning_rates": {"sp": 0.1, "ntp": 0.1},
    "smallest_learning_rate": 1e-5,
    "threshold": 1e-4,
    "epochs": 6,
    "tolerance": 1e-6,
    "networks_per_item": 3,
}
CONFIG = Config(kind="multilayer", samples=24, batch_size=8, **SETTINGS | CHANGES)


@pytest.fixture(scope="module", params=["linear", "relu"])
def made(request):
    config = replace(CONFIG, activation=request.param)
    return config, multilayer.train(config, xr.Dataset())


def test_every_point_and_network_is_there(made):
    config, networks = made
    for axis in multilayer.AXES:
        assert networks[axis].values.tolist() == getattr(config, f"{axis}s")
    each = {"parametrisation": 2, "depth": 2, "size": 2, "time": 2, "network": 5}
    assert dict(networks["sharpness"].sizes) == each
    of_layers = each | {"layer": 3, "norm": 3}
    assert dict(networks["norms"].sizes) == dict(networks["products"].sizes) == of_layers
    assert np.isfinite(networks["sharpness"]).all()
    assert (networks["residual"] <= config.tolerance).all()
    two, three = networks.sel(depth=2), networks.sel(depth=3)
    assert np.isnan(two["norms"].sel(layer=3)).all()
    assert np.isfinite(two["norms"].sel(layer=[1, 2])).all()
    assert np.isfinite(three["norms"]).all()
    assert np.isfinite(two["alignments"]).all()
    assert np.isnan(three["alignments"]).all()


def test_curvature_and_norms_at_initialisation_are_those_of_each_network(made):
    config, networks = made
    for name, depth, size in multilayer._points(config):
        x, y = teacher_data(config.samples, size, size, config.activation, config.seed)
        sizes = (size, *[config.width] * (depth - 1), size)
        drawn = draw(name, sizes, config.activation, config.seed, [4], torch.float32)
        network = drawn.to(torch.float64).network(0)
        problem = cv.Problem(network, HalfSquaredError(), [(x, y)])
        eigenvalues = cv.dense_spectrum(cv.hessian(problem)).eigenvalues
        place = {"parametrisation": name, "depth": depth, "size": size, "time": "initialisation"}
        actual = networks.sel(place).isel(network=4)
        assert float(actual["sharpness"]) == pytest.approx(float(eigenvalues[-1]), rel=1e-5)
        assert float(actual["trace"]) == pytest.approx(float(eigenvalues.sum()), rel=1e-9)
        loss = HalfSquaredError()(network(x), y).item()
        assert float(actual["loss"]) == pytest.approx(loss, rel=1e-9)
        frobenius = [float(w.detach().norm()) for w in network.parameters()]
        if config.activation == "linear" and depth == 2:
            gauss_newton = cv.dense_matrix(cv.ggn(problem))
            top = torch.linalg.eigvalsh(gauss_newton)[-1].item()
            assert float(actual["gauss_newton"]) == pytest.approx(top, rel=1e-9)
        if config.activation == "linear":
            # The diagonal blocks of the Hessian are those of the Gauss-Newton matrix.
            hessian, last = cv.dense_matrix(cv.hessian(problem)), 0
            for layer, weights in enumerate(network.parameters(), start=1):
                first, last = last, last + weights.numel()
                block = torch.linalg.eigvalsh(hessian[first:last, first:last])[-1].item()
                assert float(actual["sampled_terms"].sel(layer=layer)) == pytest.approx(block)
        norms = actual["norms"].sel(norm="frobenius", layer=slice(depth))
        assert norms.values == pytest.approx(frobenius, rel=1e-9)


def test_training_lowers_the_loss_and_its_end_is_told(made):
    config, networks = made
    loss = networks["loss"]
    assert (loss.sel(time="trained") < loss.sel(time="initialisation")).mean() > 0.9
    epochs, stopped = networks["epochs"].values, networks["status"].values == EPOCH_LIMIT
    assert (epochs <= config.epochs).all()
    assert (epochs[stopped] == config.epochs).all()


TABLE = xr.Dataset(
    {
        "x": (("sample", "feature"), np.random.default_rng(0).normal(size=(40, 5))),
        "y": (("sample", "target"), np.random.default_rng(1).normal(size=(40, 2))),
    }
)


@pytest.mark.parametrize("targets", ["own", "teacher"])
def test_each_teacher_has_rows_and_columns_of_a_data_set(targets):
    config = replace(CONFIG, data="houses", targets=targets, teachers=2, parametrisations=["sp"])
    networks = multilayer.train(replace(config, epochs=1), TABLE)
    assert (networks["data"].item(), networks["targets"].item()) == ("houses", targets)
    (item,) = (
        item
        for item in multilayer.items(config, TABLE)
        if (item["depth"], item["size"], item["teacher"], item["first"]) == (2, 3, 1, 5)
    )
    # The curvature is that of the samples which are taken: 24 of the rows, 3 of the columns.
    rows, columns = multilayer._taken((40, 5), config.seed, 1)
    x = torch.from_numpy(item["inputs"][rows[:24]][:, columns[:3]])
    assert (len({*rows}), len({*columns})) == (40, 5)
    y = torch.from_numpy(TABLE["y"].values[rows[:24]])
    if targets == "teacher":
        _, y = teacher_data(24, 3, 3, "linear", config.seed, config.noise_variance, 1, given=x)
    drawn = draw("sp", (3, 4, y.shape[1]), "linear", config.seed, [5], torch.float32)
    network = drawn.to(torch.float64).network(0)
    expected = cv.dense_spectrum(cv.hessian(cv.Problem(network, HalfSquaredError(), [(x, y)])))
    place = {"parametrisation": "sp", "depth": 2, "size": 3, "time": "initialisation"}
    actual = networks["sharpness"].sel(place).isel(network=5)
    assert float(actual) == pytest.approx(float(expected.eigenvalues[-1]), rel=1e-5)


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (Form(SEVERAL_FEATURES, (40, 2)), "sizes: expected at most 2, the input columns of houses"),
        (Form(ONE_FEATURE, (40,)), "sizes: expected at most 1, the input columns of houses, got 3"),
        (Form(SEVERAL_FEATURES, (20, 5)), "samples: expected at most 20, the rows of houses, got"),
        (Form(TEXT), "data: expected a data set with one feature per sample or several"),
    ],
)
def test_data_with_too_few_columns_or_rows_are_refused(form, message):
    config = replace(CONFIG, data="houses")
    config.require_data(Form(SEVERAL_FEATURES, (24, 3)))
    config.require_data(Form(SEVERAL_FEATURES))  # a file that is not read yet
    with pytest.raises(ValueError, match=message):
        config.require_data(form)


def test_the_chunks_do_not_matter():
    config = replace(CONFIG, parametrisations=["sp"], depths=[2], sizes=[3])
    whole = multilayer.train(replace(config, networks_per_item=5), xr.Dataset())
    for size in (1, 2):
        chunked = multilayer.train(replace(config, networks_per_item=size), xr.Dataset())
        for name, values in whole.items():
            if values.dtype.kind == "f":
                np.testing.assert_allclose(chunked[name], values, rtol=1e-4, atol=1e-6)
            else:
                assert (chunked[name] == values).all()


def test_another_point_leaves_the_items_of_the_others_as_they_are():
    before = multilayer.items(CONFIG, xr.Dataset())
    after = multilayer.items(replace(CONFIG, sizes=[1, 2, 3]), xr.Dataset())
    assert len(before) == 16
    assert len(after) == 24
    assert all(item in after for item in before)


def test_teachers_have_data_and_networks_of_their_own():
    config = replace(CONFIG, parametrisations=["sp"], depths=[2], sizes=[3], networks_per_item=2)
    single = multilayer.train(config, xr.Dataset())
    two = multilayer.train(replace(config, teachers=2), xr.Dataset())
    assert two["teacher"].values.tolist() == [0] * 5 + [1] * 5
    assert single["teacher"].values.tolist() == [0] * 5
    np.testing.assert_allclose(two["trace"][..., :5], single["trace"], rtol=1e-9)
    network = draw("sp", (3, CONFIG.width, 3), "linear", CONFIG.seed, [7]).network(0)
    first, second = (teacher_data(24, 3, 3, "linear", CONFIG.seed, number=t) for t in (0, 1))
    assert not np.isclose(first[0], second[0]).any()
    loss = HalfSquaredError()(network(second[0]), second[1]).item()
    at_start = two["loss"].sel(time="initialisation").isel(network=7)
    assert at_start.item() == pytest.approx(loss, rel=1e-6)


def test_networks_of_further_teachers_are_measured_as_they_are_drawn():
    config = replace(CONFIG, parametrisations=["sp"], depths=[2], sizes=[3], networks_per_item=2)
    trained = multilayer.train(replace(config, teachers=2), xr.Dataset())
    fewer = multilayer.train(replace(config, drawn_teachers=1), xr.Dataset())
    assert fewer["teacher"].values.tolist() == [0] * 5 + [1] * 5
    assert fewer["status"].values.ravel().tolist()[5:] == [NOT_TRAINED] * 5
    assert fewer["epochs"].values.ravel()[5:].max() == 0
    for name, values in trained.items():
        if "time" in values.dims:
            first, last = fewer[name].sel(time=["initialisation"]), fewer[name].sel(time="trained")
            np.testing.assert_array_equal(first, values.sel(time=["initialisation"]))
            of_first = {"network": slice(5)}
            np.testing.assert_array_equal(last.isel(of_first), values.sel(last.coords)[of_first])
            assert last.isel(network=slice(5, None)).isnull().all()


def test_large_networks_may_start_with_another_rate():
    made = multilayer.items(replace(CONFIG, large_size=3), xr.Dataset())
    assert {item["learning_rate"] for item in made if item["size"] == 1} == {0.01}
    assert {item["learning_rate"] for item in made if item["size"] == 3} == {0.1}


def test_diverged_networks_are_counted():
    rates = {"sp": 1e3, "ntp": 0.01}
    networks = multilayer.train(replace(CONFIG, learning_rates=rates, depths=[2]), xr.Dataset())
    gone, others = (networks.sel(parametrisation=name) for name in ("sp", "ntp"))
    assert (gone["status"] == DIVERGED).all()
    assert (others["status"] != DIVERGED).all()
    for name in ("sharpness", "trace", "loss", "alignments"):
        assert np.isnan(gone[name].sel(time="trained")).all()
        assert np.isfinite(gone[name].sel(time="initialisation")).all()
        assert np.isfinite(others[name]).all()


def test_a_probe_costs_less_than_its_item():
    for item in multilayer.items(replace(CONFIG, networks=60, networks_per_item=50), xr.Dataset()):
        assert multilayer.cost(multilayer.probe(item)) < multilayer.cost(item)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activation": "tanh"}, "activation: expected linear or relu, got 'tanh'"),
        ({"parametrisations": ["mup"]}, "learning_rates: expected .* for mup, got 0.0"),
        ({"batch_size": 25}, "batch_size: expected between 1 and samples, got 25"),
        ({"epochs": 0}, "epochs: expected at least 1, got 0"),
    ],
)
def test_bad_settings_are_refused_in_one_line(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(CONFIG, **changes)

"""Networks on subsets with a largest class: which there are, what is measured, what theory says."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from samples import samples
from small_images import data_of_images
from study_configs import configured
from torch.nn import functional

from hessian_papers.data.tools.subsets import imbalanced_subset
from hessian_papers.data.tools.whitening import principal_components
from hessian_papers.labelled import items_of
from hessian_papers.networks.tools.images import split
from hessian_papers.studies.images.class_shares import study as class_shares
from hessian_papers.studies.images.curvature import weights_at
from hessian_spectra import curvature as cv
from hessian_spectra.models import HalfSquaredError, Perceptron
from hessian_spectra.seeding import generator

BALANCED, RAW = "whitened-balanced-linear", "raw-balanced-linear"
KAIMING, TANH = "whitened-kaiming-linear", "whitened-balanced-tanh"
# Of class 0, and of each of the two others.
AVAILABLE = (40, 20, 20)


FIELDS = {
    "data": "test",
    "seed": 2,
    "cases": [BALANCED],
    "samples": 12,
    "shares": [0.5, 0.8],
    "other_samples": [],
    "further_replicates": 0,
    "replicates": 1,
    "depth": 3,
    "width": 5,
    "input_scale": 1.0,
    "initial_range": [0.5, 0.6],
    "learning_rate": 0.05,
    "epochs": 3000,
    "precision": "float64",
}


def config(**changes):
    return configured(class_shares, FIELDS | changes)


@pytest.fixture(scope="module")
def data():
    draw = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), AVAILABLE)
    images = draw.integers(0, 256, size=(len(labels), 4, 4, 1), dtype=np.uint8)
    return data_of_images(noise=(images, labels))


def sides(settings, data):
    networks = class_shares.train(settings, data)
    both = [side(settings, networks) for side in (class_shares.closed_form, class_shares.numerics)]
    # All that is looked at has one row a network.
    return networks, *({name: side[name].values for name in side.variables} for side in both)


@pytest.fixture(scope="module")
def balanced(data):
    """Images, as many as inputs fit, and more: 12 and 40 of 16 pixels."""
    return sides(config(other_samples=[40]), data)


@pytest.fixture(scope="module")
def ablations(data):
    return sides(config(cases=[RAW, KAIMING, TANH], samples=40, shares=[0.5], epochs=300), data)


def whole_samples(data, network, settings):
    """The subset of a network by itself: inputs as the network takes them, and targets."""
    source, share = str(network["source"]), 0.5
    chosen = items_of(data, "source")[source]
    labels = torch.from_numpy(chosen["labels"].values)
    draws = generator(settings.seed, f"subset {source} {int(network['replicate'])}")
    indices = imbalanced_subset(labels, int(network["counts"].sum()), share, draws)
    images = torch.from_numpy(chosen["images"].values)
    x = images[indices].flatten(1).double() / float(images.max())
    components = principal_components(x)
    raw = str(network["case"]).startswith("raw")
    inputs = x @ components.directions if raw else components.inputs(settings.input_scale)
    return inputs, functional.one_hot(labels[indices], 3).double()


def test_every_network_is_there_once(data):
    settings = config(cases=[RAW, TANH], other_samples=[24], replicates=2, further_replicates=1)
    items = list(class_shares.training_items(settings, data))
    actual = [(item["case"], len(item["indices"]), item["replicate"]) for item in items]
    # Other numbers of samples and a third network for the first case alone; two shares of each.
    wanted = [(RAW, 12, 3), (RAW, 24, 3), (TANH, 12, 2)]
    points = [(case, images, n) for case, images, count in wanted for n in range(count)]
    assert sorted(actual) == sorted(point for point in points for _ in "ab")
    assert actual[0] == (RAW, 12, 0)


def test_shares_that_cannot_be_had_are_left_out(data):
    # 60 of 80: class 0 has at least 20 and at most 40 of them.
    settings = config(shares=[1 / 3, 0.5, 0.66, 0.7, 1.0], samples=12, other_samples=[60, 70, 81])
    labels = torch.from_numpy(items_of(data, "source")["noise"]["labels"].values)
    actual = class_shares.subsets(settings, "noise", labels)
    assert actual == [(12, share) for share in settings.shares] + [
        *((60, share) for share in (1 / 3, 0.5, 0.66)),
        (70, 0.5),
    ]
    with pytest.raises(
        ValueError, match=r"shares: expected .* \[40, 20, 20\] images .* got \[0.9\]"
    ):
        class_shares.subsets(config(samples=60, shares=[0.9]), "noise", labels)


def test_other_data_are_refused():
    with pytest.raises(ValueError, match="expected a data set of images, got one of x, y"):
        class_shares.train(config(), samples(np.zeros(3), np.zeros(3)))


def test_labels_alone_tell_the_sharpness_where_they_are_fitted(balanced):
    _, theory, measured = balanced
    fitted = theory["samples"] == 12
    assert theory["floor"][fitted].max() < 1e-28
    np.testing.assert_allclose(measured["sharpness"][fitted], theory["labels"][fitted], rtol=1e-3)
    np.testing.assert_allclose(
        theory["labels"], 3 * theory["share"] ** (2 / 3), rtol=1e-12, err_msg="eq. (14)"
    )


def test_least_squares_tells_it_where_they_are_not(balanced):
    _, theory, measured = balanced
    over = theory["samples"] == 40
    assert theory["floor"][over].min() > 0.01
    assert theory["loss"][over] == pytest.approx(theory["floor"][over], rel=1e-2)
    np.testing.assert_allclose(measured["sharpness"][over], theory["fit"][over], rtol=1e-3)
    assert (measured["sharpness"][over] < 0.98 * theory["labels"][over]).all()


def test_balanced_layers_stay_balanced_but_for_the_size_of_the_steps(data, balanced):
    _, theory, _ = balanced
    assert theory["defect"][:, 0].max() < 1e-14
    shorter = config(learning_rate=0.005, epochs=6000)
    defect = class_shares.closed_form(shorter, class_shares.train(shorter, data))["defect"][:, 1]
    # A tenth of the rate leaves a tenth of the defect.
    np.testing.assert_allclose(theory["defect"][:2, 1] / defect, 10, rtol=0.2)


def test_the_bound_holds_and_is_reached_by_balanced_layers(balanced, ablations):
    _, theory, measured = balanced
    np.testing.assert_allclose(measured["ggn"], theory["bound"], rtol=1e-3)
    _, theory, measured = ablations
    kaiming = theory["case"].tolist().index(KAIMING)
    assert measured["ggn"][kaiming] < 0.99 * theory["bound"][kaiming]
    assert np.isnan(np.delete(theory["bound"], kaiming)).all()


def test_the_first_layer_has_its_part_of_the_sharpness(balanced, ablations):
    _, theory, measured = balanced
    np.testing.assert_allclose(theory["second_moment"], 1.0)
    np.testing.assert_allclose(theory["first_layer"], measured["ggn"] / 3, rtol=0.02)
    networks, theory, measured = ablations
    raw = theory["case"].tolist().index(RAW)
    weights = weights_at(split(networks)[raw], -1)
    after = torch.linalg.matrix_norm(weights[2] @ weights[1], 2) ** 2
    moment = theory["second_moment"][raw]
    assert theory["first_layer"][raw] == pytest.approx(moment * float(after))
    assert theory["first_layer"][raw] < measured["ggn"][raw]
    tanh = theory["case"].tolist().index(TANH)
    assert np.isnan(theory["first_layer"][tanh])
    assert np.isnan(theory["second_moment"][tanh])


def test_the_largest_second_moment_is_that_of_the_inputs(data, ablations):
    networks, theory, _ = ablations
    raw = theory["case"].tolist().index(RAW)
    x, _ = whole_samples(data, split(networks)[raw], config(samples=40))
    top = float(torch.linalg.eigvalsh(x.T @ x / len(x))[-1])
    assert theory["second_moment"][raw] == pytest.approx(top)


def test_the_reduced_problem_has_the_curvature_of_all_samples(data, ablations):
    settings = config(samples=40)
    networks, _, measured = ablations
    for number, network in enumerate(split(networks)):
        x, y = whole_samples(data, network, settings)
        activation = "tanh" if str(network["case"]) == TANH else "linear"
        weights = weights_at(network, -1)
        model = Perceptron(weights, [1.0] * len(weights), activation)
        problem = cv.Problem(model, HalfSquaredError("sample"), [(x, y)])
        for name, operator in (
            ("sharpness", cv.hessian(problem, backend="curvlinops")),
            ("ggn", cv.ggn(problem)),
        ):
            top = float(cv.dense_spectrum(operator).eigenvalues[-1])
            assert measured[name][number] == pytest.approx(top, rel=1e-8), (number, name)
        loss = float((model(x) - y).detach().square().sum()) / (2 * len(x))
        assert float(network["loss"][-1]) == pytest.approx(loss, rel=1e-10)


def test_networks_that_diverge_have_no_sharpness(data):
    settings = config(cases=[RAW], learning_rate=50.0, epochs=40)
    _, theory, measured = sides(settings, data)
    assert (theory["diverged_at"] >= 0).all()
    assert all(np.isnan(array).all() for name, array in measured.items() if name != "network")
    assert np.isfinite(theory["labels"]).all()


def test_replicates_are_other_subsets_and_weights(data):
    settings = config(shares=[0.5], replicates=2, epochs=1)
    first, other = split(class_shares.train(settings, data))
    assert not np.allclose(first["weights 1"][0], other["weights 1"][0])
    assert not np.allclose(first["target"], other["target"])
    alone = split(class_shares.train(replace(settings, replicates=1), data))[0]
    np.testing.assert_array_equal(first["weights 1"], alone["weights 1"])

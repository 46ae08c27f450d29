"""The measurement of what decouples, against dense matrices in float64."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fan_out_contract import contract
from study_configs import configured
from torch import nn

from hessian_papers.networks.classifiers import kept_classifier
from hessian_papers.studies.layerwise.decoupling import study
from hessian_papers.studies.layerwise.layers import layer_names, own_layers
from hessian_spectra.seeding import generator
from tests.papers.studies.layerwise import small_classifiers

FEW, NETWORKS = 24, ["F-6^2", "F-5-BN"]
# Network, seed and layer.
CASES = [("F-6^2", 0, "fc2"), ("F-6^2", 1, "fc3"), ("F-5-BN", 1, "fc2")]


def config(**changes):
    fields = {
        "ensemble": "small", "seed": 0, "networks": [], "top": 20, "tolerance": 1e-6, "probes": 3,
        "images": FEW, "shown": ["fc2:F-6^2", "fc1:F-5-BN"],
    }  # fmt: skip
    return configured(study, fields | changes)


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    return small_classifiers.ensemble(folder, networks=NETWORKS, seeds=2)


@pytest.fixture(scope="module")
def actual(networks):
    return study.layerwise(config(), networks)


def dense(networks, network, seed, layer, epoch=small_classifiers.EPOCHS, images=FEW):
    """A layer in float64, as arrays."""
    own = vars(
        small_classifiers.dense(networks, network, 3 + seed, layer, epoch=epoch, images=images)
    )
    return SimpleNamespace(**own | {k: own[k].numpy() for k in own if k != "shape"})


def descending(matrix):
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1], vectors[:, ::-1]


def of_layer(actual, network, seed, layer):
    return own_layers(actual.sel(network=network, seed=3 + seed)).sel(layer=layer)


@pytest.mark.parametrize(("network", "seed", "layer"), CASES)
def test_eigenpairs_are_those_of_dense_matrices(networks, actual, network, seed, layer):
    single, mine = dense(networks, network, seed, layer), of_layer(actual, network, seed, layer)
    first_pairs = mine.isel(rank=slice(5))
    values, vectors = descending(single.hessian)
    product = np.kron(single.output, single.input)
    others, basis = descending(product)
    first = descending(single.input)[1][:, 0]
    scale = {"rtol": 0, "atol": 3e-5 * values[0]}
    np.testing.assert_allclose(first_pairs["hessian"], values[:5], **scale)
    np.testing.assert_allclose(first_pairs["approximation"], others[:5], **scale)
    overlaps = [np.sum((vectors[:, :k].T @ basis[:, :k]) ** 2) / k for k in range(1, 6)]
    np.testing.assert_allclose(first_pairs["overlap"], overlaps, atol=1e-3)
    matrices = vectors.T.reshape(-1, *single.shape)[:5]
    ratios = [np.linalg.norm(matrix, 2) / np.linalg.norm(matrix) for matrix in matrices]
    np.testing.assert_allclose(first_pairs["rank_one"], ratios, atol=1e-3)
    along = [np.sum((matrix @ first) ** 2) for matrix in matrices]
    np.testing.assert_allclose(first_pairs["along_first"], along, atol=1e-3)
    difference = np.linalg.norm(single.hessian - product, 2) / values[0]
    assert float(mine["spectral"]) == pytest.approx(difference, rel=0.02)


@pytest.mark.parametrize("epoch", [0, small_classifiers.EPOCHS])
def test_what_is_measured_throughout_is_that_of_each_epoch(networks, actual, epoch):
    network, seed, layer = "F-6^2", 1, "fc2"
    single = dense(networks, network, seed, layer, epoch)
    mine = of_layer(actual, network, seed, layer).sel(epoch=epoch)
    for name in ("output", "input"):
        values = descending(getattr(single, name))[0]
        known, rest = np.split(mine[name].values, [len(values)])
        np.testing.assert_allclose(known, values, rtol=0, atol=1e-5 * values[0])
        assert np.isnan(rest).all()
    product = np.kron(single.output, single.input)
    signs = [z.double().numpy() for z in _signs(len(product))]
    squares = [np.sum((single.hessian @ z) ** 2) for z in signs]
    missed = [np.sum(((single.hessian - product) @ z) ** 2) for z in signs]
    np.testing.assert_allclose(mine["squares"], squares, rtol=1e-4)
    np.testing.assert_allclose(mine["missed"], missed, rtol=1e-3)


def _signs(size):
    draws = generator(0, "probes")
    return torch.randint(0, 2, (3, size), generator=draws, dtype=torch.int8) * 2 - 1


@pytest.mark.parametrize(("network", "seed", "layer"), CASES)
def test_tables_are_about_all_images(networks, actual, network, seed, layer):
    whole = networks.sizes["image"]
    assert whole > FEW
    single = dense(networks, network, seed, layer, images=whole)
    mine = of_layer(actual, network, seed, layer)
    values, vectors = descending(single.input)
    aligned = (vectors[:, 0] @ single.mean) ** 2 / (single.mean @ single.mean)
    assert float(mine["mean_aligned"]) == pytest.approx(aligned, abs=1e-5)
    assert float(mine["spectral_ratio"]) == pytest.approx(values[0] / values[1], rel=1e-4)


def test_of_a_convolution_the_mean_is_a_left_singular_vector(tmp_path):
    networks = small_classifiers.ensemble(
        tmp_path, shape=(16, 16), samples=6, networks=["LeNet5"], seeds=1, epochs=1, kept=[0, 1]
    )
    actual = study.layerwise(config(shown=["conv1:LeNet5"], images=0, top=4), networks)
    kept = kept_classifier(networks, "LeNet5", 3, 1)
    x, _ = kept.samples.trained()
    patches = nn.functional.unfold(x.double(), 5).numpy()  # (n, d, P)
    values, vectors = descending(np.einsum("nip,njp->ij", patches, patches) / len(patches))
    first = np.linalg.svd(patches.mean(axis=0))[0][:, 0]
    mine = of_layer(actual, "LeNet5", 0, "conv1")
    assert float(mine["mean_aligned"]) == pytest.approx((first @ vectors[:, 0]) ** 2, abs=1e-5)
    assert float(mine["spectral_ratio"]) == pytest.approx(values[0] / values[1], rel=1e-4)
    assert layer_names(actual, "LeNet5") == ["conv1", "conv2", "fc1", "fc2", "fc3"]
    assert of_layer(actual, "LeNet5", 0, "fc3")["output"][:, 3:].isnull().all()


def test_shares_are_those_of_the_shown_layers_of_the_first_seed(networks, actual):
    assert actual["shown"].values.tolist() == ["fc2:F-6^2", "fc1:F-5-BN"]
    single = dense(networks, "F-6^2", 0, "fc2")
    matrices = descending(single.hessian)[1].T.reshape(-1, *single.shape)[:4]
    for name, matrix in (("output", single.output), ("input", single.input)):
        basis = descending(matrix)[1]
        turned = matrices if name == "input" else matrices.transpose(0, 2, 1)
        shares = ((turned @ basis) ** 2).sum(axis=1)
        mine = actual[f"{name}_share"].sel(shown="fc2:F-6^2").values
        assert mine.shape == (20, 20)
        np.testing.assert_allclose(mine[:4, :3], shares[:, :3], atol=2e-3)
        assert np.isnan(mine[:, 6:]).all()


def test_of_layers_whose_networks_diverged_nothing_is_shown(networks):
    settings = config(networks=["F-5-BN"])
    parts = [study.measure(**item) for item in study._items(settings, networks)]
    shown = study._gather(config(shown=["fc1:F-6^2"]), parts)
    assert shown.sizes["shown"] == 0
    assert "output_share" not in shown


def test_layers_that_are_not_there_are_not_shown(networks):
    ensemble = small_classifiers.settings(networks=NETWORKS)
    config().require_networks(ensemble)
    with pytest.raises(ValueError, match=r"^shown: expected layers of F-6.2, F-5-BN, such as fc1:"):
        config(shown=["fc1:F-7"]).require_networks(ensemble)
    with pytest.raises(ValueError, match=r"^shown: expected layers fc1, fc2 of F-5-BN, got .fc3:F"):
        study.layerwise(config(shown=["fc3:F-5-BN"]), networks)


test_items_repeat_and_a_probe_costs_less = contract(study.layerwise, config)

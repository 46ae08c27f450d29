"""Spaces and forms of output Hessians from the weights behind a layer, against plain sums."""

import numpy as np
import pytest
import torch
from fan_out_contract import contract
from study_configs import configured
from torch import nn

from hessian_papers.studies.layerwise.output_spaces import study
from tests.papers.studies.layerwise import small_classifiers

CLASSES = 3


def network(seed):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, CLASSES)
    ).double()  # fmt: skip


def samples(seed, count=7):
    torch.manual_seed(seed)
    return torch.randn(count, 4, dtype=torch.float64), torch.randint(CLASSES, (count,))


def test_the_products_are_those_of_the_weights_behind():
    model = network(0)
    actual = study.products_behind(model)
    w2, w3 = model[2].weight, model[4].weight
    assert list(actual) == ["4", "2", "0"]
    torch.testing.assert_close(actual["0"], (w3 @ w2).detach())
    torch.testing.assert_close(actual["2"], w3.detach())
    torch.testing.assert_close(actual["4"], torch.eye(CLASSES, dtype=torch.float64))
    normed = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Linear(2, 2))
    assert list(study.products_behind(normed)) == ["2"]


@pytest.mark.parametrize("size", [2, 7])
def test_the_expectations_are_sums_over_samples(size):
    model, (x, y) = network(1), samples(2)
    batches = list(zip(x.split(size), y.split(size), strict=True))
    softmax, jacobians = study.expectations(model, batches, ["0", "2", "4"])
    wanted, rows = torch.zeros(CLASSES, CLASSES).double(), torch.zeros(CLASSES, 6).double()
    for sample in x:
        behind = model[1:]
        out = model[0](sample).detach()
        p = torch.softmax(behind(out), dim=0)
        wanted += torch.diag(p) - torch.outer(p, p)
        rows += torch.autograd.functional.jacobian(behind, out)
    torch.testing.assert_close(softmax, wanted / 7)
    torch.testing.assert_close(jacobians["0"], rows / 7)
    torch.testing.assert_close(jacobians["4"], torch.eye(CLASSES).double())


def output_hessian(model, place, x, y):
    """``E[M]`` of the layer at a place, by the second derivative of each sample's loss."""
    behind, loss = model[place + 1 :], nn.functional.cross_entropy
    outputs = model[: place + 1](x).detach()
    return sum(
        torch.autograd.functional.hessian(lambda z, label=label: loss(behind(z), label), out)
        for out, label in zip(outputs, y, strict=True)
    ) / len(x)


def measured(model, place, x, y):
    softmax, jacobians = study.expectations(model, [(x, y)], [str(place)])
    halved = study.products_behind(model)[str(place)] / 2 ** ((4 - place) // 2)
    matrix = output_hessian(model, place, x, y)
    return study.measure_layer(matrix, softmax, jacobians[str(place)], halved), matrix


def test_where_all_units_are_active_the_jacobian_gives_the_whole_output_hessian():
    model, (x, y) = network(3), samples(4)
    for layer, bias in ((model[0], 10.0), (model[2], 100.0)):
        nn.init.constant_(layer.bias, bias)
    with torch.no_grad():
        model[4].weight *= 0.01  # no score leads by so much that the softmax is round-off
    actual, matrix = measured(model, 0, x, y)
    assert actual["jacobian_error"] < 1e-12
    assert actual["jacobian"] == pytest.approx(1, abs=1e-9)
    # Of always active units the paper's factor 1/4 for each layer is off by 4.
    assert actual["printed_error"] == pytest.approx(15 / 16, abs=1e-9)
    assert float(matrix.norm()) > 0


def test_of_the_last_layer_everything_is_exact():
    actual, _ = measured(network(5), 4, *samples(6))
    errors = {name: actual.pop(name) for name in ("printed_error", "jacobian_error")}
    assert max(errors.values()) < 1e-12
    assert min(actual.values()) > 1 - 1e-9


def test_the_spaces_are_those_of_the_rows_and_the_errors_frobenius_norms():
    model, (x, y) = network(7), samples(8)
    actual, matrix = measured(model, 0, x, y)
    rows = (model[4].weight @ model[2].weight).detach()
    top = torch.linalg.eigh(matrix).eigenvectors[:, 1 - CLASSES :]
    differences = rows[1:] - rows[:1]
    projector = differences.T @ torch.linalg.inv(differences @ differences.T) @ differences
    overlap = float((top.T @ projector @ top).trace()) / (CLASSES - 1)
    assert actual["rows"] == pytest.approx(overlap, abs=1e-9)
    total = rows.sum(dim=0)
    rest = rows - torch.outer(rows @ total, total) / total.square().sum()
    projector = rest.T @ torch.linalg.pinv(rest @ rest.T, rtol=1e-9) @ rest
    overlap = float((top.T @ projector @ top).trace()) / (CLASSES - 1)
    assert actual["complement"] == pytest.approx(overlap, abs=1e-9)
    p = torch.softmax(model(x), dim=1).detach()
    softmax = torch.diag(p.mean(dim=0)) - p.T @ p / len(p)
    printed = rows.T @ softmax @ rows / 16
    wanted = float((printed - matrix).norm() / matrix.norm())
    assert actual["printed_error"] == pytest.approx(wanted, rel=1e-9)


def test_where_there_is_no_such_space_nothing_is_known():
    narrow = torch.eye(1, dtype=torch.float64)
    rows = torch.ones(3, 1, dtype=torch.float64)
    softmax = torch.eye(3, dtype=torch.float64) - 1 / 3
    actual = study.measure_layer(narrow, softmax, rows, rows)
    assert all(np.isnan(actual[name]) for name in ("rows", "complement", "jacobian"))
    assert np.isfinite(actual["printed_error"])


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    return small_classifiers.of_two_epochs(tmp_path_factory, "F-4", "F-5^2-BN")


def study_config(**changes):
    fields = {
        "seed": 0, "ensemble": "made", "images": 0,
    }  # fmt: skip
    return configured(study, fields | changes)


def test_the_arrays_of_an_ensemble(networks):
    config = study_config()
    parts = [study.measure(**item) for item in study.layerwise.items(config, networks)]
    data = study.layerwise.gather(config, parts)
    assert data["layer_name"].values.tolist() == [["fc1", "fc2"], ["fc3", ""]]
    assert data["epoch"].values.tolist() == [0, 2]
    assert data["seed"].values.tolist() == [3, 4]
    last, lacking = data["rows"].sel(network="F-5^2-BN").transpose("layer", ...).values
    np.testing.assert_allclose(last, 1, atol=1e-5)
    assert np.isnan(lacking).all()
    few = study.layerwise.items(study_config(images=7), networks)
    whole = data["printed_error"].sel(network="F-4", seed=3, epoch=0)
    assert study.measure(**few[0])["printed_error"][0] != whole[0]


test_items_repeat_and_a_probe_costs_less = contract(study.layerwise, study_config)

"""The study of Kronecker factors against dense matrices."""

import numpy as np
import pytest
import torch
from fan_out_contract import contract
from study_configs import configured
from torch import nn

from hessian_papers.studies.layerwise.kronecker_factors import study
from hessian_papers.studies.layerwise.kronecker_factors.quantities import (
    FORMS,
    FactorMeasurement,
    measured,
)
from hessian_spectra import curvature as cv
from tests.papers.studies.layerwise import small_classifiers


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    return small_classifiers.of_two_epochs(tmp_path_factory, "F-4", "F-5^2")


def config(**changes):
    fields = {
        "seed": 0, "ensemble": "made", "top": 3, "tolerance": 1e-6, "images": 0,
        "probes": 4, "dampings": [0.1, 0.001],
    }  # fmt: skip
    return configured(study, fields | changes)


SETTINGS = FactorMeasurement(
    seed=0, top=3, tolerance=1e-6, images=0, probes=600, dampings=[0.3, 0.01]
)


@pytest.mark.parametrize("name", ["0", "2"])
def test_all_is_that_of_dense_matrices(name):
    """A convolution at four positions, and the layer behind it."""
    draws = torch.Generator().manual_seed(1)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Conv2d(1, 2, 2), nn.Flatten(), nn.Linear(8, 3)).double()
    x = torch.randn(30, 1, 3, 3, generator=draws, dtype=torch.float64)
    y = torch.arange(30) % 3
    layer = cv.layerwise(cv.Problem(model, nn.CrossEntropyLoss(), [(x, y)]), name)
    matrix = cv.dense_matrix(layer.hessian)
    gradient = torch.randn(len(matrix), generator=draws, dtype=torch.float64)
    actual = measured(layer, gradient, convolution=name == "0", settings=SETTINGS)
    values, vectors = torch.linalg.eigh(matrix)
    assert actual["largest"] == pytest.approx(float(values[-1]))
    for place, form in enumerate(FORMS):
        if form == "reduce" and name == "2":
            assert all(np.isnan(actual[key][place]).all() for key in ("spectral", "decrease"))
            continue
        factors, _, corrected = form.partition(", ")
        pair = layer.factors(factors)
        product = torch.kron(*pair)
        if corrected:
            basis = torch.kron(*(torch.linalg.eigh(each).eigenvectors for each in pair))
            product = (basis * (basis * (matrix @ basis)).sum(dim=0)) @ basis.T
        norm = float(torch.linalg.matrix_norm(product - matrix, 2) / values[-1])
        assert actual["spectral"][place] == pytest.approx(norm, rel=1e-2)
        frobenius = float((product - matrix).norm() / matrix.norm())
        assert actual["frobenius"][place] == pytest.approx(frobenius, rel=0.15)
        first = torch.linalg.eigh(product).eigenvectors.flip(1)[:, :3]
        overlap = float((first.T @ vectors.flip(1)[:, :3]).square().sum()) / 3
        assert actual["overlap"][place, 2] == pytest.approx(overlap, abs=1e-4)
        for at, damping in enumerate(SETTINGS.dampings):
            eye = damping * values[-1] * torch.eye(len(matrix), dtype=torch.float64)
            exact = torch.linalg.solve(matrix + eye, gradient)
            step = torch.linalg.solve(product + eye, gradient)
            error = float((step - exact).norm() / exact.norm())
            assert actual["step_error"][place, at] == pytest.approx(error, rel=1e-3, abs=1e-5)
            best = (gradient @ step) / (step @ (matrix + eye) @ step)
            decrease = _decrease(matrix + eye, gradient, best * step)
            whole = _decrease(matrix + eye, gradient, exact)
            assert actual["decrease"][place, at] == pytest.approx(decrease / whole, rel=1e-4)


def _decrease(matrix, gradient, step):
    """By how much ``½ sᵀAs − gᵀs`` falls along a step."""
    return float(gradient @ step - step @ matrix @ step / 2)


def test_a_layer_without_curvature_has_no_numbers():
    """The units are off for all samples, so that nothing depends on their weights."""
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 3)).double()
    with torch.no_grad():
        model[0].bias.fill_(-100.0)
    x = torch.randn(6, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    problem = cv.Problem(model, nn.CrossEntropyLoss(), [(x, torch.arange(6) % 3)])
    layer, gradient = cv.layerwise(problem, "0"), torch.zeros(6, dtype=torch.float64)
    actual = measured(layer, gradient, convolution=False, settings=SETTINGS)
    assert actual["largest"] == 0
    assert all(np.isnan(actual[name]).all() for name in ("spectral", "overlap", "decrease"))
    assert actual["decrease"].shape == (len(FORMS), 2)


def test_no_direction_decreases_more_than_the_exact_step(networks):
    settings = config()
    parts = [study.measure(**item) for item in study.layerwise.items(settings, networks)]
    data = study.layerwise.gather(settings, parts)
    assert data.sizes == {
        "network": 2, "seed": 2, "epoch": 2, "layer": 3, "form": 6, "rank": 3, "damping": 2,
    }  # fmt: skip
    for name in ("decrease", "plain_decrease"):
        known = data[name].values[np.isfinite(data[name].values)]
        assert len(known) > 10
        assert (known > 0).all()
        assert (known <= 1 + 1e-6).all()
    losses = networks.sel(network="F-4", kept=2)["loss"].values
    np.testing.assert_allclose(data["loss"].sel(network="F-4", epoch=2), losses)
    assert not data["convolution"].any()


test_items_repeat_and_a_probe_costs_less = contract(study.layerwise, config)

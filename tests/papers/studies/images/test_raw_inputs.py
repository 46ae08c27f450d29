"""The study of raw inputs: its formulas, its Hessians, and what is learnt of each direction."""

import numpy as np
import pytest
import torch
from small_images import image_sets
from study_configs import configured

from hessian_papers.data.tools.reduction import reduce_regression
from hessian_papers.data.tools.whitening import principal_components
from hessian_papers.labelled import joined
from hessian_papers.studies.images.raw_inputs import study
from hessian_spectra import closed_form as cf
from hessian_spectra.models import balanced_weights

SAMPLED = {"data": "test", "seed": 0, "samples": 24, "replicates": 2, "shares": [0.25, 0.5]}
TRAINED = {"width": 6, "initial_range": [0.4, 0.8], "learning_rate": 0.02, "epochs": 200}
FORM = {"depth": 3, "other_depths": [2], "input_scale": 1.0, "precision": "float64", "recorded": 3}


def config(**changes):
    return configured(study, SAMPLED | TRAINED | FORM | changes)


def both_sides(settings, data):
    return joined([study.closed_form(settings, data), study.numerics(settings, data)])


@pytest.fixture(scope="module")
def images():
    return image_sets(digits=80)


@pytest.fixture(scope="module")
def networks(images):
    return both_sides(config(), images)


@pytest.mark.parametrize("depth", [2, 3, 5])
@pytest.mark.parametrize(("outputs", "inputs"), [(1, 4), (3, 5), (4, 2)])
def test_the_formula_is_that_of_the_library(outputs, inputs, depth):
    draws = torch.Generator().manual_seed(outputs + 10 * inputs + 100 * depth)
    product = torch.randn(outputs, inputs, dtype=torch.float64, generator=draws)
    root = torch.rand(inputs, dtype=torch.float64, generator=draws)
    expected = cf.balanced_sharpness(product, torch.diag(root**2), depth)
    actual = study.product_sharpness(product, root, depth)
    assert actual == pytest.approx(float(expected), rel=1e-11)


def test_the_sharpness_is_that_of_all_samples():
    """Of the Hessian on the samples themselves, far from least squares."""
    draws = torch.Generator().manual_seed(0)
    x = torch.randn(30, 5, dtype=torch.float64, generator=draws) + 1
    y = torch.randn(30, 3, dtype=torch.float64, generator=draws)
    parts = principal_components(x)
    problem = reduce_regression(parts, y, None)
    weights = balanced_weights((5, 4, 3), [0.9, 0.5, 0.2], draws)
    sizes = [weight.numel() for weight in weights]

    def loss(flat):
        outputs = (x @ parts.directions).mT
        for weight, part in zip(weights, flat.split(sizes), strict=True):
            outputs = part.view_as(weight) @ outputs
        return (outputs.mT - y).square().sum() / (2 * len(x))

    flat = torch.cat([weight.flatten() for weight in weights])
    expected = torch.autograd.functional.hessian(loss, flat)
    actual, residual = study.hessian_sharpness(problem, weights)
    assert actual == pytest.approx(float(torch.linalg.eigvalsh(expected)[-1]), rel=1e-10)
    assert residual <= study.TOLERANCE


def test_least_squares_has_the_sharpness_of_its_product(networks):
    np.testing.assert_allclose(networks["at_limit"], networks["limit"], rtol=1e-10)


def test_the_formula_comes_nearer_with_training(networks):
    deviation = abs(networks["product"] / networks["sharpness"] - 1).max(["share", "replicate"])
    first, last = deviation.isel(epoch=0), deviation.isel(epoch=-1)
    assert bool((last < first / 5).all())
    assert float(last.max()) < 0.02


def test_the_time_is_the_sum_of_the_rates(networks):
    assert networks["epoch"].values.tolist() == [0, 1, 14, 200]
    np.testing.assert_allclose(
        networks["time"].max(["share", "replicate", "depth"]).isel(source=0),
        0.02 * networks["epoch"],
    )


def test_what_is_learnt_is_told_by_the_decade():
    times = torch.tensor([1e-6, 0.02, 0.5, 0.9, 30.0], dtype=torch.float64)
    start = torch.tensor([1.0, 1.0, 1.0, 3.0, 2.0], dtype=torch.float64)
    left = torch.tensor([0.0, 0.9, 0.5, 2.5, 0.0], dtype=torch.float64)
    learnt = dict(zip(study.DECADES, study.by_decade(times, left, start), strict=True))
    expected = {-2: 0.1, -1: 0.25, 1: 1.0}
    assert {k: v for k, v in learnt.items() if not np.isnan(v)} == pytest.approx(expected)


def test_the_same_subsets_take_all_depths(networks, images):
    """Further depths do not change a network."""
    alone = both_sides(config(other_depths=[]), images)
    chosen = networks.sel(depth=[3])
    for name in ("sharpness", "limit", "labels"):
        np.testing.assert_array_equal(alone[name], chosen[name])


def test_a_training_that_diverges_has_no_sharpness(images):
    data = both_sides(config(learning_rate=50.0), images)
    assert data["diverged"].all()
    assert data["sharpness"].isnull().all()
    assert data["limit"].notnull().all()

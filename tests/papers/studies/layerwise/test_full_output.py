"""The study of the full Hessian's top against dense matrices."""

import numpy as np
import pytest
import torch
from fan_out_contract import contract
from study_configs import configured
from torch import nn

from hessian_papers.studies.layerwise.full_output import study
from hessian_spectra import curvature as cv
from tests.papers.studies.layerwise import small_classifiers


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    return small_classifiers.of_two_epochs(tmp_path_factory, "F-4", "F-5^2-BN")


def config(**changes):
    fields = {
        "seed": 0, "ensemble": "made", "top": 4, "tolerance": 1e-7, "images": 0,
    }  # fmt: skip
    return configured(study, fields | changes)


def test_the_top_is_that_of_the_dense_hessian(networks):
    items = study.layerwise.items(config(), networks)
    assert [item["labels"]["epoch"] for item in items] == [2] * 4
    actual = study.measure(**items[0])
    kept = items[0]["kept"]
    x, y = kept.samples.trained()
    model = kept.load().double()
    problem = cv.Problem(model, nn.CrossEntropyLoss(), [(x.double(), y)])
    matrix = cv.hessian(problem) @ torch.eye(problem.size, dtype=torch.float64)
    values, vectors = torch.linalg.eigh((matrix + matrix.T) / 2)
    np.testing.assert_allclose(actual["hessian"], values.flip(0)[:4], rtol=1e-6)
    full = cv.full_output_hessian(problem)
    top = full.approximation(4, "printed")
    np.testing.assert_allclose(actual["approximation"][0], top.eigenvalues.flip(0), rtol=1e-9)
    for k in (1, 3):
        first, other = vectors.flip(1)[:, :k], top.eigenvectors().flip(1)[:, :k]
        overlap = float((first.T @ other).square().sum()) / k
        assert actual["overlap"][0, k - 1] == pytest.approx(overlap, abs=1e-5)
    term = cv.dense_spectrum(cv.dense_matrix(cv.ggn(problem))).eigenvalues.flip(0)
    np.testing.assert_allclose(actual["approximation"][1], term[:4], rtol=1e-6)


def test_the_data_set_of_an_ensemble(networks):
    settings = config(top=20, tolerance=1e-3)
    parts = [study.measure(**item) for item in study.layerwise.items(settings, networks)]
    data = study.layerwise.gather(settings, parts)
    # No more eigenpairs than the layers have outputs: 4 + 3, and 5 + 5 + 3.
    assert data.sizes == {"network": 2, "seed": 2, "form": 2, "rank": 13}
    assert data["late_progress"].dims == data["loss"].dims == ("network", "seed")
    assert data["hessian"].notnull().sum("rank").values.tolist() == [[7, 7], [13, 13]]
    assert (data["epoch"], data["classes"]) == (2, 3)


test_items_repeat_and_a_probe_costs_less = contract(study.layerwise, config)

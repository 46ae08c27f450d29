"""Ensembles give the same numbers on a GPU, where there is one."""

import pytest
import torch
from torch.testing import assert_close

from hessian_spectra.curvature.ensemble import (
    ensemble_block_bounds,
    ensemble_sharpness,
    ensemble_trace,
    ensemble_weight_statistics,
    hessians,
)

from .ensembles import ACTIVATIONS, data, ensemble, normal

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
SIZES = [(1, 6, 1), (3, 8, 5, 3), (8, 40, 8)]


def moved(networks, samples):
    device = torch.device("cuda")
    return networks.to(device), tuple(part.to(device) for part in samples)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_curvature(sizes, activation):
    networks, samples = ensemble(sizes, activation, count=5), data(sizes, count=50)
    networks.weights[0][2] = torch.nan
    on_device, moved_samples = moved(networks, samples)
    vectors = normal(5, sum(weight[0].numel() for weight in networks.weights))
    pairs = [
        (
            hessians(networks, samples) @ vectors,
            hessians(on_device, moved_samples) @ vectors.cuda(),
        ),
        (ensemble_trace(networks, samples), ensemble_trace(on_device, moved_samples)),
    ]
    expected, actual = (
        ensemble_sharpness(networks, samples),
        ensemble_sharpness(on_device, moved_samples),
    )
    pairs += [(expected.values, actual.values)]
    assert expected.converged.tolist() == actual.converged.tolist()
    assert actual.values.device.type == "cuda"
    for here, moved_result in pairs:
        scale = float(here.nan_to_num().abs().max())
        assert_close(moved_result.cpu(), here, rtol=1e-8, atol=1e-10 * scale, equal_nan=True)


@pytest.mark.parametrize("sizes", [(8, 40, 8), (3, 6, 6, 3)], ids=str)
def test_norms(sizes):
    networks = ensemble(sizes, "linear", count=5)
    on_device = networks.to(torch.device("cuda"))
    for here, moved_result in zip(
        (*ensemble_weight_statistics(networks), *ensemble_block_bounds(networks)),
        (*ensemble_weight_statistics(on_device), *ensemble_block_bounds(on_device)),
        strict=True,
    ):
        assert_close(moved_result.cpu(), here, rtol=1e-10, atol=1e-12, equal_nan=True)

"""The study of output sizes: expectations against networks, and the scales that are printed."""

import numpy as np
import pytest
import torch
import xarray as xr
from output_scale_arrays import config, sides

from hessian_papers.models.parametrisation import draw
from hessian_papers.studies.correlations.output_scale import study


def test_networks_have_the_expected_size():
    squares = (sides()["numerics"]["output"] ** 2).mean("draw")
    expected = sides()["closed_form"]["expected"] ** 2
    np.testing.assert_allclose(squares.transpose(*expected.dims), expected, rtol=0.5)


@pytest.mark.parametrize("scale", ["sp", "ntp", "mup"])
def test_scales_are_those_of_the_library(scale):
    """Weights and multipliers of an ensemble of networks as the studies of correlations draw it."""
    sizes = (3, 50, 60, 3)
    ensemble = draw(scale, sizes, "linear", 0, range(20))
    for weights, multiplier, factor in zip(
        ensemble.weights, ensemble.multipliers, study.factors(scale, sizes), strict=True
    ):
        assert multiplier * weights.std().item() == pytest.approx(factor, rel=0.1)


def test_the_print_has_variance_one_between_hidden_layers():
    # √(8/2), √(8/8), √(2/8).
    assert study.factors("mup_printed", (2, 8, 8, 2)) == [2.0, 1.0, 0.5]
    # The mean square goes 1, then 2 · 4, then 8 · 1 · 8, then 8 · 1/4 · 64.
    assert study.expected("linear", "mup_printed", (2, 8, 8, 2)) ** 2 == pytest.approx(128)
    assert study.expected("relu", "mup_printed", (2, 8, 8, 2)) ** 2 == pytest.approx(32)


def test_outputs_are_those_of_the_layers():
    x = torch.tensor([[1.0], [2.0]], dtype=torch.float64)
    layers = [torch.tensor([[1.0, -1.0], [0.0, 1.0]]).double(), torch.tensor([[1.0, 1.0]]).double()]
    assert study._outputs(layers, [2.0, 3.0], x, relu=False).item() == 6.0
    assert study._outputs(layers, [2.0, 3.0], x, relu=True).item() == 12.0


def test_deeper_networks_share_their_draws_with_others():
    fewer, more = study.numerics(config(depths=[2]), xr.Dataset()), sides()["numerics"]
    xr.testing.assert_identical(fewer.sel(depth=2), more.sel(depth=2))

"""The standard parametrisation has the variances it says, and its generator decides the draw."""

import pytest
import torch

from hessian_papers.models.initialisation import kaiming_uniform, standard_parametrisation


@pytest.mark.parametrize("variance", [1 / 3, 1.0])
def test_variances_follow_the_fan_in(variance):
    width = 20000
    v, w = standard_parametrisation(width, variance, torch.Generator().manual_seed(0))
    # Three standard errors of a sample variance: 3 sqrt(2 / 20000).
    assert v.square().mean().item() == pytest.approx(variance, rel=0.03)
    assert w.square().mean().item() == pytest.approx(variance / width, rel=0.03)
    assert v.dtype == w.dtype == torch.float64
    assert abs(torch.corrcoef(torch.stack([v, w]))[0, 1].item()) < 0.022


def test_kaiming_uniform_is_the_default_of_linear_layers():
    drawn = kaiming_uniform((7, 5, 3), torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    for weight in drawn:
        rows, columns = weight.shape
        layer = torch.nn.Linear(columns, rows, bias=False, dtype=torch.float64)
        # torch computes its bound with more roundings.
        torch.testing.assert_close(weight, layer.weight.detach(), rtol=1e-15, atol=0)

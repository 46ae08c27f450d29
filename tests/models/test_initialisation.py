"""The standard parametrisation has the variances it says, and its generator decides the draw."""

import pytest
import torch

from hessian_spectra.models import standard_parametrisation


@pytest.mark.parametrize("variance", [1 / 3, 1.0])
def test_variances_follow_the_fan_in(variance):
    width = 20000
    v, w = standard_parametrisation(width, variance, torch.Generator().manual_seed(0))
    # Three standard errors of a sample variance: 3 sqrt(2 / 20000).
    assert v.square().mean().item() == pytest.approx(variance, rel=0.03)
    assert w.square().mean().item() == pytest.approx(variance / width, rel=0.03)
    assert v.dtype == w.dtype == torch.float64
    assert abs(torch.corrcoef(torch.stack([v, w]))[0, 1].item()) < 0.022


def test_pytorch_default_has_the_same_variance():
    torch.manual_seed(0)
    layer = torch.nn.Linear(50, 4000, bias=False)
    # Uniform in ±1/√50: its variance is 1/3 over the fan-in, within the error of 200000 draws.
    assert layer.weight.square().mean().item() == pytest.approx(1 / 3 / 50, rel=0.01)


def test_the_generator_decides():
    first, again, other = (
        standard_parametrisation(3, 1.0, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)
    )
    assert torch.equal(torch.stack(first), torch.stack(again))
    assert not torch.isclose(first[0], other[0]).any()

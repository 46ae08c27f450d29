"""The two-layer linear network with bias, and with one at its output."""

import pytest
import torch
from torch import nn

from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form.instances import FAMILIES
from hessian_spectra.models import HalfSquaredError, LinearWithBias

from .contract import DRAW, FORMS, brute_force, mapped, require_spectrum, unchecked

ARGUMENTS = FORMS["sextic"].arguments


class WithOutputBias(LinearWithBias):
    def __init__(self, w, v, b, c):
        super().__init__(w, v, b)
        self.c = nn.Parameter(c)

    def forward(self, x):
        return super().forward(x) + self.c


def check(net, bias, **keywords):
    actual = cf.linear_with_bias(**net.arguments, output_bias=bias, **keywords)
    model = WithOutputBias(net.w, net.v, net.b, bias)
    require_spectrum(actual, brute_force(model, net.x, net.y, HalfSquaredError("sample")))
    m = len(net.w)
    counts = {"outlier": 6 if m > 1 else 4, "bulk": 2 * max(m - 2, 0), "zero": m - 1}
    assert {kind: len(actual.select(kind)) for kind in counts} == counts


def test_networks_of_all_families_at_several_scales():
    nets = [*FAMILIES["sextic"].drawn(DRAW).values(), *FAMILIES["bias"].drawn(DRAW).values()]
    for number, net in enumerate(nets):
        factor = 10.0 ** (number % 7 - 3)
        bias = factor * net.w.sum()
        weights = mapped(net, lambda name, t: t * factor if name in "wvb" else t)  # noqa: B023
        check(mapped(weights, lambda name, t: t * factor**2 if name == "y" else t), bias)  # noqa: B023
        check(mapped(weights, lambda name, t: factor * t + 1 if name == "x" else t), bias,  # noqa: B023
              **unchecked(net))  # fmt: skip
        check(mapped(net, lambda name, t: t if name == "x" else t.round()), bias.round())


@pytest.mark.parametrize("power", [-400, 400])
def test_weights_of_any_size(power):
    """The derivative by the output bias is 1 whatever the weights are."""
    scaled = {**ARGUMENTS, **{name: ARGUMENTS[name] * 2.0**power for name in "wvb"}}
    scaled["y"] = 0 * scaled["y"]
    actual = cf.linear_with_bias(**scaled, output_bias=torch.zeros((), dtype=torch.float64))
    if power < 0:
        assert actual.eigenvalues[-1] == pytest.approx(1.0)
        # Beside 1: the mean of x, which is rounding, times weights of 1e-120.
        assert float(actual.eigenvalues[:-1].abs().max()) < 1e-130
    else:
        without = cf.linear_with_bias(**scaled)
        assert actual.eigenvalues[-1] == pytest.approx(float(without.eigenvalues[-1]))

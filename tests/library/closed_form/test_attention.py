"""Self-attention: its coefficients and moments, of many networks at once, and its bounds."""

import itertools
import math

import pytest
import torch
from torch.testing import assert_close

from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form.instances import FAMILIES, Attention, Draw, numbers

from .contract import DRAW

EXACT = 1e-12
NETS = FAMILIES["attention"].drawn(DRAW)
ARGUMENTS = Attention.of_size(DRAW, 2, 4, 3).arguments
WEIGHTS = ("w_query", "w_key")


def test_bounds_hold_of_the_spectrum():
    beyond, stronger = 0, 0
    for net in NETS.values():
        weighted = cf.attention_coefficients(**net.arguments), net.w_query, net.w_key
        outliers, values = net.spectrum.select("outlier"), net.spectrum.eigenvalues
        sizes = values.abs()
        room = EXACT * float(sizes.max())
        low, high = cf.attention_outlier_bounds(*weighted)
        assert low - room <= outliers[0] <= outliers[-1] <= high + room
        low, all_high = cf.attention_largest_eigenvalue_bounds(*weighted)
        assert low - room <= values[-1] <= all_high + room
        beyond += bool(values[-1] > high + room)
        if len(net.w_query) > 1 and sizes.min() > 0:
            bound = cf.condition_number_bound(*weighted)
            weaker = cf.condition_number_bound(*weighted, signed_trace=True)
            assert sizes.max() / sizes.min() >= bound * (1 - 1e-9)
            assert bound >= weaker
            stronger += bool(bound > weaker)
        without = weighted[0]._replace(gamma=0 * weighted[0].gamma), *weighted[1:]
        pair = cf.attention_outliers_without_bulk(*without)
        expected = torch.cat([pair, torch.zeros(2 * len(net.w_query) - 1).double()])
        away = cf.attention_spectrum(*without).eigenvalues - expected.sort().values
        assert float(away.abs().max()) <= EXACT * float(pair.abs().max())
    assert beyond > 0
    assert stronger > 0


def test_condition_number_bound_needs_a_bulk():
    c = cf.AttentionCoefficients(*torch.tensor([1.0, 0.0, 0.5, 0.0]))
    with pytest.raises(ValueError, match="at least 2 entries"):
        cf.condition_number_bound(c, [1.0], [1.0])
    without = c._replace(gamma=torch.tensor(0.0))
    assert math.isinf(cf.condition_number_bound(without, [1.0, 0.0], [1.0, 0.0]))


def test_cubics_come_in_batches_and_with_multiple_roots():
    matrices = Draw().normal(4, 3, 3)
    matrices = torch.cat(
        [
            matrices + matrices.mT,
            torch.stack(
                [torch.diag(numbers(*d)) for d in ((1.0,) * 3, (2.0, -1.0, -1.0), (0.0,) * 3)]
            ),
        ]
    )
    cubic, expected = cf.DepressedCubic.of(matrices), torch.linalg.eigvalsh(matrices).flip(-1)
    assert_close(cubic.roots()[:4], expected[:4], rtol=0, atol=1e-12)
    assert_close(cubic.roots(), expected, rtol=0, atol=1e-7)
    within = (expected - cubic.shift[:, None]).abs() <= cubic.half_width()[:, None] + 1e-15
    assert bool(within.all())


def test_moments_by_definition():
    bias = numbers(1.0, 0.0, 0.0, -2.0)
    query, key, x = (ARGUMENTS[name] for name in (*WEIGHTS, "x"))
    actual = cf.attention_moments(query, key, x, score_bias=bias)
    scores = query @ key / math.sqrt(3) * x[:, :, None] * x[:, None] + bias
    weights = torch.exp(scores) / torch.exp(scores).sum(-1, keepdim=True)
    mean = (weights * x[:, None]).sum(-1, keepdim=True)
    expected = [mean[..., 0], *((weights * (x[:, None] - mean) ** k).sum(-1) for k in (2, 3))]
    for moment, value in zip(actual, expected, strict=True):
        assert_close(moment, value, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("activation", [None, torch.tanh])
def test_many_networks_at_once_are_each_by_itself(activation):
    for leading in ((1,), (4,), (2, 3)):
        draw = Draw()
        many = {name: draw.normal(*leading, *of.shape) for name, of in ARGUMENTS.items()}
        actual = cf.attention_coefficients(**many, activation=activation)
        moments = cf.attention_moments(**{name: many[name] for name in (*WEIGHTS, "x")})
        assert all(several.shape == leading for several in actual)
        for place in itertools.product(*map(range, leading)):
            alone = {name: of[place] for name, of in many.items()}
            each = cf.attention_coefficients(**alone, activation=activation)
            for several, item in zip(actual, each, strict=True):
                assert_close(several[place], item, rtol=1e-12, atol=1e-15)
            each = cf.attention_moments(**{name: alone[name] for name in (*WEIGHTS, "x")})
            for several, item in zip(moments, each, strict=True):
                assert_close(several[place], item, rtol=1e-12, atol=1e-14)


def test_many_networks_need_as_many_of_each():
    twice = {name: torch.stack([of] * 2) for name, of in ARGUMENTS.items()}
    with pytest.raises(ValueError, match=r"^x: expected shape \(N_1, b, l\), got \(2, 4\)$"):
        cf.attention_coefficients(**twice | {"x": ARGUMENTS["x"]})
    with pytest.raises(ValueError, match=r"^y: expected .* with N_1 = 2 as in w_value, got \(1, 2"):
        cf.attention_coefficients(**twice | {"y": twice["y"][:1]})

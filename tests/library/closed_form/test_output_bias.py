"""The two-layer linear network with bias, and with one at its output."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hessian_spectra import closed_form as cf

from .cases import LinearWithBias, standardised
from .contract import Case, Draws, require_spectrum

FORM = LinearWithBias()


def check(case: Case):
    actual = cf.linear_with_bias(**case.arguments, **case.keywords)
    require_spectrum(actual, case.hessian())
    m = len(case.arguments["w"])
    counts = {"outlier": 6 if m > 1 else 4, "bulk": 2 * max(m - 2, 0), "zero": m - 1}
    assert {kind: len(actual.select(kind)) for kind in counts} == counts


@settings(max_examples=30, derandomize=True, database=None)
@given(data=st.data())
def test_random_network(data):
    sizes = {name: data.draw(st.integers(*ends), name) for name, ends in FORM.sizes.items()}
    power = st.integers(-3, 3)
    scales = {name: 10.0 ** data.draw(power, name) for name in ("weights", "inputs", "targets")}
    coarse = data.draw(st.booleans(), "coarse")
    seed = data.draw(st.integers(0, 2**32), "seed")
    draws = Draws(torch.Generator().manual_seed(seed), sizes, **scales, coarse=coarse)
    case, bias = FORM.draw(draws), draws.weights * draws.normal("")
    x = case.arguments["x"]
    check(FORM.case(**case.arguments, output_bias=bias))
    changed = {**case.arguments, "x": draws.inputs * x + draws.targets}
    check(FORM.case(**changed, output_bias=bias, check=False))


@pytest.mark.parametrize("power", [-400, 400])
def test_weights_of_any_size(power):
    """The derivative by the output bias is 1 whatever the weights are."""
    a = FORM.example(m=3, n=5).arguments
    scaled = {**a, **{name: a[name] * 2.0**power for name in "wvb"}, "y": 0 * a["y"]}
    zero = torch.zeros((), dtype=torch.float64)
    actual = cf.linear_with_bias(**scaled, output_bias=zero)
    if power < 0:
        assert actual.eigenvalues[-1] == pytest.approx(1.0)
        # Beside 1: the mean of x, which is rounding, times weights of 1e-120.
        assert float(actual.eigenvalues[:-1].abs().max()) < 1e-130
    else:
        without = cf.linear_with_bias(**scaled)
        assert actual.eigenvalues[-1] == pytest.approx(float(without.eigenvalues[-1]))


def test_inputs_are_standardised_with_it_as_well():
    a = FORM.example(m=3, n=5).arguments
    assert float(standardised(a["x"]).mean()) == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(cf.AssumptionError, match=r"mean\(x\) = 0"):
        cf.linear_with_bias(**{**a, "x": a["x"] + 0.1}, output_bias=0.5)

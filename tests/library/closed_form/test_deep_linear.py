"""Deep linear networks: what goes beyond the contract that all closed forms share."""

import math

import pytest
import torch

from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form.instances import FAMILIES, numbers
from hessian_spectra.models import balanced_weights

from .contract import DRAW

BALANCED = FAMILIES["balanced"].drawn(DRAW)


def test_pairs_are_those_of_the_spectrum():
    for net in (*BALANCED.values(), *FAMILIES["two_layers"].drawn(DRAW).values()):
        first, last = (torch.linalg.svdvals(net.weights[k]) for k in (0, -1))
        inputs, outputs = net.weights[0].shape[1], len(net.weights[-1])
        scale = float(net.x.square().mean().sqrt())
        depth = len(net.weights)
        sizes = {"inputs": inputs, "outputs": outputs, "depth": depth, "input_scale": scale}
        pairs = cf.pair_eigenvalues(first, last, **sizes)
        assert sum(pairs.multiplicities) == inputs * outputs
        positive = net.spectrum.eigenvalues[net.spectrum.eigenvalues > 0]
        size = float(positive[-1]) if len(positive) else 1.0
        top = pairs.eigenvalues[len(pairs.eigenvalues) - len(positive) :]
        torch.testing.assert_close(top, positive, rtol=0, atol=1e-12 * size)
        for kind in ("outlier", "bulk"):
            assert len(pairs.select(kind)) == len(net.spectrum.select(kind))


def test_layers_that_solve_least_squares():
    nets = [net for net in BALANCED.values() if net.kind == 1]
    assert len({len(net.weights) for net in nets}) > 1
    for net in nets:
        of_layers = cf.least_squares_singular_values(net.x.T, net.y.T, len(net.weights))
        for weight in net.weights:
            actual = torch.linalg.svdvals(weight)[: len(of_layers)]
            torch.testing.assert_close(actual, of_layers, rtol=1e-10, atol=1e-13)


def test_pairs_carry_the_names_of_their_singular_values():
    spectrum = cf.pair_eigenvalues([3.0, 1.0], [2.0], inputs=3, outputs=2)
    assert spectrum.eigenvalues.tolist() == [0.0, 1.0, 4.0, 5.0, 9.0, 13.0]
    assert spectrum.labels == [
        "zero", "bulk 2,0", "bulk 0,1", "outlier 2,1", "bulk 1,0", "outlier 1,1",
    ]  # fmt: skip
    # In print not a plain product: a singular value of 0 among those given is within the range.
    spectrum = cf.pair_eigenvalues([3.0, 0.0], [2.0], 5, 4, index_set="printed")
    assert spectrum.eigenvalues.tolist() == [4.0, 13.0]
    assert spectrum.labels == ["bulk 0,1", "outlier 1,1"]


@pytest.mark.parametrize("depth", [1, 2, 3, 50])
def test_close_singular_values_keep_their_digits(depth):
    # The quotient (9b) has no digit left here: both differences are of the size of their rounding.
    first, last = 1.0 + 2.0**-50, 1.0
    pairs = cf.pair_eigenvalues([first], [last], 1, 1, depth=depth)
    expected = math.fsum(first ** (2 * k) * last ** (2 * (depth - 1 - k)) for k in range(depth))
    assert float(pairs.eigenvalues[0]) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("small", [1e-3, 1e-8, 1e-15, 0.0])
def test_depth_beyond_the_range_of_powers(small):
    # 0.5^(2·599) underflows to 1e-361; its share in the sum is lost, the sum is not.
    pairs = cf.pair_eigenvalues([1.0], [small], 1, 1, depth=600)
    assert float(pairs.eigenvalues[0]) == pytest.approx(1 / (1 - small**2), rel=1e-14)


def test_balancedness_defect():
    weights = balanced_weights((3, 4, 5, 2), [2.0, 1.0], torch.Generator().manual_seed(3))
    weights = list(weights)
    assert cf.balancedness_defect(weights) < 1e-15
    assert cf.balancedness_defect(weights[:1]) == 0.0
    assert cf.balancedness_defect([0 * layer for layer in weights]) == 0.0
    # ‖(1.2² - 1) W W'‖ = 0.44 √17, and the largest squared norm is 1.44 · 5.
    scaled = [weights[0], 1.2 * weights[1], 1.2 * weights[2]]
    defect = 0.44 * 17**0.5 / 7.2
    assert cf.balancedness_defect(scaled) == pytest.approx(defect, rel=1e-12)
    assert cf.balancedness_defect([7 * layer for layer in scaled]) == pytest.approx(defect)
    assert cf.balancedness_defect([[[1.0]], [[0.0]]]) == 1.0


def test_assumptions_name_their_equation():
    x = numbers(1.0, 2.0)[:, None] * torch.eye(2)
    message = r"eq\. 12\) assumes x xᵀ / n = σ² I; violated by 0\.6 "
    with pytest.raises(cf.AssumptionError, match=message):
        cf.least_squares_singular_values(x, x)
    assert len(cf.least_squares_singular_values(x, x, check=False)) == 2


def test_layers_may_come_as_one_array():
    weights = torch.eye(2).double().expand(3, 2, 2)
    x = torch.eye(2).double()
    expected = cf.deep_linear(list(weights), x, x).eigenvalues
    assert torch.equal(cf.deep_linear(weights, x, x).eigenvalues, expected)
    assert torch.equal(cf.deep_linear(weights.numpy(), x, x).eigenvalues, expected)

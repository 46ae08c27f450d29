"""Linear networks on inputs that are not whitened: many instances, and what lies beyond."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form.instances import FAMILIES, LEAST_SQUARES, Draw, RawInputs, numbers
from hessian_spectra.closed_form.instances.deep import end_to_end
from hessian_spectra.models import HalfSquaredError

from .contract import TOLERANCE, brute_force, gauss_newton, require_spectrum
from .recognition_cases import linear
from .test_precision import LargestArray

NETS = RawInputs.drawn(Draw(seed=11, instances=400, width=6, size=8))


def moments(net: RawInputs) -> torch.Tensor:
    return net.x.T @ net.x / len(net.x)


def hessian(net: RawInputs) -> torch.Tensor:
    return brute_force(net.model(), net.x, net.y, HalfSquaredError())


def largest(values: torch.Tensor, count: int) -> torch.Tensor:
    """The largest of values that are not negative, ascending, with zeros where there are fewer."""
    values = torch.cat([values.flatten(), values.new_zeros(count)])
    return values.sort().values[-count:]


def test_two_hundred_networks_and_every_degenerate_one():
    fitted = [net for net in NETS.values() if net.kind == LEAST_SQUARES]
    others = [net for net in NETS.values() if net.kind != LEAST_SQUARES]
    assert len(NETS) >= 200
    assert min(len(fitted), len(others)) >= 90
    losses = [HalfSquaredError()(net.model()(net.x), net.y).item() for net in fitted]
    assert sum(loss > 1e-3 for loss in losses) >= 90
    for net in fitted:
        require_spectrum(net.spectrum, hessian(net))
    for net in others:
        require_spectrum(net.spectrum, gauss_newton(net.model(), net.x))


def test_moments_say_what_samples_say():
    for net in NETS.values():
        of_samples = net.spectrum
        of_moments = cf.deep_linear_from_moments(list(net.weights), moments(net))
        size = float(of_samples.eigenvalues[-1])
        error = (of_samples.eigenvalues - of_moments.eigenvalues).abs().max()
        assert float(error) <= TOLERANCE * size
    require_spectrum(of_moments, gauss_newton(net.model(), net.x))


def test_a_balanced_network_is_told_by_its_product():
    nets = [net for net in NETS.values() if net.balanced]
    assert len(nets) >= 100
    for net in nets:
        product, depth = end_to_end(net.weights), len(net.weights)
        matrix = hessian(net) if net.kind == LEAST_SQUARES else gauss_newton(net.model(), net.x)
        expected = torch.linalg.eigvalsh(matrix)
        values = cf.balanced_spectrum(product, moments(net), depth)
        assert values.shape == product.shape
        size = float(expected[-1])
        actual = largest(values, len(expected))
        assert float((actual - expected).abs().max()) <= TOLERANCE * size
        sharpness = cf.balanced_sharpness(product, moments(net), depth)
        assert float((sharpness - expected[-1]).abs()) <= TOLERANCE * size
        assert torch.equal(sharpness, values[0, -1])


def test_the_product_tells_nothing_of_other_layers():
    """Scaled against each other the layers have the same product, and another sharpness."""
    net = NETS["equal singular values"]
    first, *middle, last = net.weights
    weights = [2 * first, *middle, last / 2]
    stated = cf.balanced_sharpness(end_to_end(weights), moments(net), len(weights))
    actual = cf.deep_linear(weights, net.x.T, net.y.T).eigenvalues[-1]
    assert float(actual / stated) > 1.1


def test_balanced_layers_are_not_the_flattest_on_raw_inputs():
    """Σ = diag(1, 10) and B = (1, 0): 1/t + t and 10 t for W_2² = t, alike at t = 1/3."""
    second = numbers(1.0, 10.0).diag()
    balanced = cf.balanced_sharpness([[1.0, 0.0]], second, 2)
    flatter = cf.deep_linear_from_moments([[[3**0.5, 0.0]], [[3**-0.5]]], second)
    assert float(balanced) == pytest.approx(10.0)
    assert flatter.eigenvalues[-2:].tolist() == pytest.approx([10 / 3, 10 / 3])
    for size in (0.5, 0.9, 1.1, 2.0):  # on white inputs they are
        white = cf.deep_linear_from_moments([[[size, 0.0]], [[1 / size]]], torch.eye(2).double())
        assert float(white.eigenvalues[-1]) > 2.0


def test_away_from_least_squares_the_hessian_differs():
    net = NETS["inputs of lower rank"]
    off = replace(net, y=net.y + 0.3 * net.x[:, :1])
    actual, expected = torch.linalg.eigvalsh(hessian(off)), net.spectrum.eigenvalues
    assert float((actual - expected).abs().max()) > 0.01 * float(expected[-1])
    assert float(actual[0]) < -0.01 * float(expected[-1])  # a Gauss-Newton matrix has none


def test_the_best_of_narrow_networks_is_no_least_squares_solution():
    """One hidden unit fits the larger of two directions; what it leaves counts in the Hessian."""
    root = 2**0.5
    x, y = root * torch.eye(2).double(), root * numbers(1.0, 0.5).diag()
    unit = numbers(1.0, 0.0)[None]
    model = nn.Sequential(linear(unit), linear(unit.mT))
    hessian = torch.linalg.eigvalsh(brute_force(model, x, y, HalfSquaredError()))
    assert hessian.tolist() == pytest.approx([0.0, 0.5, 1.5, 2.0], abs=1e-15)
    stated = cf.deep_linear([unit, unit.mT], x.T, y.T).eigenvalues
    assert stated.tolist() == pytest.approx([0.0, 1.0, 1.0, 2.0], abs=1e-15)
    with pytest.raises(cf.AssumptionError, match="to the least-squares solution"):
        cf.of(model, (x, y))


def test_narrow_layers_have_fewer_eigenvalues_than_their_product_has_entries():
    """Six parameters and nine numbers, of which five are positive."""
    product = numbers(2.0, 0.0, 0.0).diag()
    values = cf.balanced_spectrum(product, torch.eye(3).double(), 2)
    unit = 2**0.5 * numbers(1.0, 0.0, 0.0)[None]
    weights = [unit, unit.mT]
    expected = cf.deep_linear_from_moments(weights, torch.eye(3).double()).eigenvalues
    assert len(expected) == 6
    torch.testing.assert_close(largest(values, 6), expected, rtol=1e-13, atol=1e-14)
    assert int((values > 1e-12).sum()) == 5


def test_of_the_layers_only_the_last_ones_have_to_commute():
    """Three layers of which only the last is special: one problem for each output."""
    draw = Draw(seed=2)
    x, y = draw.normal(4, 9), draw.normal(3, 9)
    turned = torch.linalg.qr(draw.normal(3, 3)).Q
    weights = [draw.normal(5, 4), draw.normal(3, 5), 2 * turned]
    for layers in (weights, [weights[0], weights[1], 0 * turned]):
        assert "numeric" not in cf.deep_linear(layers, x, y).kinds
    assert "numeric" in cf.deep_linear([*weights[:2], draw.normal(3, 3)], x, y).kinds
    single = [*weights[:2], draw.normal(1, 3)]
    assert "numeric" not in cf.deep_linear(single, x, y[:1]).kinds


def test_problems_of_the_size_of_the_inputs_need_no_more_memory():
    draw = Draw(seed=5)
    inputs, outputs = 60, 50
    net = RawInputs.of_widths(draw, (inputs, 55, 55, outputs), values=[1.0] * 50, points=80)
    with LargestArray() as arrays:
        values = net.spectrum.values
    assert torch.isfinite(values).all()
    # (d_0 d_L)² = 9 million; what is asked for is the stack of P_l F, and the parameters.
    assert arrays.entries < 20_000


def test_batches():
    draw = Draw(seed=6)
    products, inputs = draw.normal(2, 1, 3, 4), draw.normal(5, 4, 7)
    second = inputs @ inputs.mT / 7
    for depth in (1, 2, 5):
        values = cf.balanced_spectrum(products, second, depth)
        assert values.shape == (2, 5, 3, 4)
        sharpness = cf.balanced_sharpness(products, second, depth)
        assert torch.equal(sharpness, values[..., 0, -1])
        alone = cf.balanced_spectrum(products[1, 0], second[3], depth)
        torch.testing.assert_close(values[1, 3], alone, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("depth", [1, 2, 3, 600])
def test_products_and_moments_of_extreme_size(depth):
    product, second = numbers(3.0, 1.0).diag(), numbers(1.0, 2.0).diag()
    plain = cf.balanced_spectrum(product, second, depth)
    for factor, of_inputs in ((1e-200, 1e250), (1e200, 1e-250), (1e100, 1.0), (1.0, 1e-300)):
        scaled = cf.balanced_spectrum(factor * product, of_inputs * second, depth)
        unit = factor ** (1 - 1 / depth)
        torch.testing.assert_close(scaled, unit * of_inputs * unit * plain, rtol=1e-11, atol=0)
    with pytest.raises(ValueError, match="within the range of float64"):
        cf.balanced_sharpness(1e200 * product, 1e300 * second, max(depth, 2))


def test_a_zero_of_the_product_stays_one():
    """Rounding makes a singular value of 1e-17 of it, whose fifth root is 4e-4."""
    net = RawInputs.of_widths(Draw(seed=4), (4, 4, 4, 4, 4, 4), values=[1.5, 1.0, 0.5, 0.0])
    product = end_to_end(net.weights)
    assert 0 < float(torch.linalg.svdvals(product)[-1]) < 1e-14
    values = cf.balanced_spectrum(product, moments(net), 5)
    assert int((values[-1] > 1e-12 * values[-1].max()).sum()) == 3
    actual = cf.deep_linear(list(net.weights), net.x.T, net.y.T).eigenvalues
    stated = largest(values, len(actual))
    torch.testing.assert_close(stated, actual, rtol=0, atol=1e-12 * float(actual[-1]))


def test_refusals():
    eye = torch.eye(2).double()
    tilted = eye + numbers(0.0, 1.0).diag().flip(1)
    for function in (
        lambda second: cf.balanced_sharpness(eye, second, 3),
        lambda second: cf.deep_linear_from_moments([eye, eye], second),
    ):
        with pytest.raises(ValueError, match="second_moment: expected a symmetric matrix"):
            function(tilted)
        with pytest.raises(ValueError, match="second_moment: expected no negative eigenvalue"):
            function(numbers(1.0, -1.0).diag())
    with pytest.raises(ValueError, match="depth: expected at least 1 layer, got 0"):
        cf.balanced_sharpness(eye, eye, 0)
    with pytest.raises(ValueError, match=r"expected shape \(\.\.\., D, D\) with D = 2 as in produ"):
        cf.balanced_spectrum(eye, torch.eye(3).double(), 1)
    with pytest.raises(ValueError, match="expected leading dimensions that broadcast together"):
        cf.balanced_spectrum(eye.expand(2, 2, 2), eye.expand(3, 2, 2), 1)


def sequential(net: RawInputs) -> nn.Module:
    return nn.Sequential(*map(linear, net.weights))


def test_recognition_of_any_inputs():
    several = [net for net in NETS.values() if len(net.weights) > 2][:60]
    assert {net.kind == LEAST_SQUARES for net in several} == {True, False}
    for net in several:
        data = net.x, net.y
        matrix = gauss_newton(sequential(net), net.x)
        actual = cf.of(sequential(net), data, nn.MSELoss(), matrix="gauss-newton")
        require_spectrum(actual, 2 * matrix / net.y.shape[1])
        if net.kind == LEAST_SQUARES:
            require_spectrum(cf.of(sequential(net), data), hessian(net))
    net = next(net for net in several if net.kind != LEAST_SQUARES and len(net.x) > 5)
    with pytest.raises(cf.AssumptionError, match="to the least-squares solution") as caught:
        cf.of(sequential(net), (net.x, net.y))
    assert caught.value.assumption == "mean((f(x) - y) xᵀ) = 0"
    (candidate,) = cf.candidates(sequential(net), (net.x, net.y), matrix="gauss-newton")
    assert candidate.applies


def test_the_gauss_newton_matrix_of_other_networks_is_refused():
    model = nn.Sequential(nn.Linear(1, 3), nn.ReLU(), nn.Linear(3, 1))
    x = torch.ones(2, 1)
    with pytest.raises(cf.NoClosedFormError, match="no closed form applies"):
        cf.of(model, (x, x), matrix="gauss-newton")
    (candidate,) = cf.candidates(model, (x, x), matrix="gauss-newton")
    assert "has no activation" in candidate.reason


def test_the_family_is_what_it_says():
    nets = FAMILIES["raw_inputs"].drawn(Draw(seed=1)).values()
    assert {net.balanced for net in nets} == {True, False}
    for net in nets:
        if net.balanced:
            assert cf.balancedness_defect(list(net.weights)) < 1e-14
        if net.kind == LEAST_SQUARES:
            residual = net.x @ end_to_end(net.weights).T - net.y
            size = float(net.x.norm() * (net.y.norm() + net.x.norm()))
            assert float((residual.T @ net.x).norm()) <= 1e-13 * size

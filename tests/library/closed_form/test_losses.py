"""Losses that are not the squared error: their derivatives, and Theorems 3.1 to 3.4 under them."""

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form._losses import KnownDerivatives, derivatives
from hessian_spectra.closed_form.instances import FAMILIES, LOSSES, Draw, Linear, numbers

from .contract import brute_force, require_spectrum, truth

OUTPUTS, TARGETS = numbers(-1.2, 0.3, 0.5, 2.0), numbers(0.4, -2.0, 0.1, 1.0)


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives_are_those_on_paper_whatever_the_reduction(name):
    known = LOSSES[name]
    targets = known.targets(TARGETS)
    for reduction in ("mean", "sum", "none"):
        loss = copy.copy(known.module)
        loss.reduction = reduction
        first, second = derivatives(loss, OUTPUTS.reshape(2, 2), targets.reshape(2, 2))
        assert_close(first.flatten(), known.first(OUTPUTS, targets), rtol=1e-13, atol=1e-15)
        assert_close(second.flatten(), known.second(OUTPUTS, targets), rtol=1e-13, atol=1e-15)
        assert loss.reduction == reduction


def test_weights_of_a_loss_count():
    plain, targets = LOSSES["logistic"], (TARGETS > 0).double()
    weight, positive = numbers(1.0, 2.0, 0.0, 0.5), torch.tensor(3.0)
    weighted = nn.BCEWithLogitsLoss(weight=weight, pos_weight=positive)
    factor = weight * torch.where(targets == 1, 3.0, 1.0)
    expected = [factor * of(OUTPUTS, targets) for of in (plain.first, plain.second)]
    assert_close([*derivatives(weighted, OUTPUTS, targets)], expected)
    first, second = derivatives(nn.PoissonNLLLoss(log_input=False, eps=0.0), OUTPUTS.abs(), TARGETS)
    assert_close(first, 1 - TARGETS / OUTPUTS.abs())
    assert_close(second, TARGETS / OUTPUTS**2)


def test_a_linear_part_has_no_curvature():
    first, second = derivatives(nn.L1Loss(), OUTPUTS, TARGETS)
    assert torch.equal(first, (OUTPUTS - TARGETS).sign())
    assert torch.equal(second, 0 * OUTPUTS)


@pytest.mark.parametrize(
    ("name", "size"),
    [("logistic", 37.0), ("logistic", 500.0), ("log cosh", 19.0), ("log cosh", 40.0)],
)
def test_a_saturated_loss_has_no_kink(name, size):
    """Its second derivative is rounding of 1."""
    for at in numbers(size, -size):
        first, second = derivatives(LOSSES[name].module, at[None], numbers(1.0))
        assert float(second.abs()) < 1e-12
        assert float(first.abs()) <= 1


REFUSALS = {
    "a kink at output 0.4 with target 0.4": (nn.L1Loss(), TARGETS),
    "a kink at output 1.1 with target 0.4": (nn.HuberLoss(delta=0.7), TARGETS + 0.7),
    "a kink at output 0.9 with target 0.4": (nn.SmoothL1Loss(beta=0.5), TARGETS + 0.5),
    "a kink at output -2 with target -2": (
        lambda f, y: torch.maximum(0.9 * (f - y), 0.1 * (y - f)), numbers(1.0, -2.0, 1.0, 2.0)
    ),
    "<lambda>, which couples outputs": (lambda f, y: (f - f.mean() - y) ** 2, OUTPUTS),
    r"of shape \(4,\), got \(\) from <lambda>": (lambda f, y: ((f - y) ** 2).mean(), OUTPUTS),
    r"of shape \(4,\), got \(\) from CrossEntropyLoss": (nn.CrossEntropyLoss(), OUTPUTS),
    "<lambda> finite with two derivatives": (lambda f, y: torch.log(f), OUTPUTS),
    "<lambda> to depend on the outputs": (lambda f, y: f.detach() * y, OUTPUTS),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSALS)
def test_a_loss_without_two_derivatives_of_one_output_is_refused(message):
    loss, outputs = REFUSALS[message]
    with pytest.raises(ValueError, match=message) as caught:
        derivatives(loss, outputs, TARGETS)
    assert "\n" not in str(caught.value)


def test_known_derivatives_are_no_function():
    known = KnownDerivatives(OUTPUTS, TARGETS)
    assert torch.equal(derivatives(known, OUTPUTS, TARGETS)[1], TARGETS)
    with pytest.raises(ValueError, match="got derivatives at some"):
        known(OUTPUTS, TARGETS)


@pytest.mark.parametrize("family", ["linear_loss", "relu_loss"])
def test_many_networks_have_the_spectrum_of_their_loss(family):
    nets = FAMILIES[family].drawn(Draw(seed=7, instances=110, width=6, size=8))
    for net in nets.values():
        require_spectrum(net.spectrum, truth(net))
    assert {net.name for net in nets.values()} == {*LOSSES}


def test_a_negative_curvature_turns_the_order_of_the_outliers():
    net = FAMILIES["linear_loss"].drawn(Draw())["negative curvature"]
    values, (low, high) = torch.linalg.eigvalsh(truth(net)), net.spectrum.select("outlier")
    m = len(net.w)
    assert values.sum() < 0
    assert_close(low, values[0])
    # The larger outlier is beside the bulk, which has the largest eigenvalue.
    assert_close(high, values[m])
    assert high < values[-1]
    inner, squares = net.w @ net.v, (net.w @ net.w, net.v @ net.v)
    first, second = (
        of(inner * net.x, net.y) for of in (LOSSES[net.name].first, LOSSES[net.name].second)
    )
    moments = (second * net.x**2).mean(), (first * net.x).mean()
    assert_close(cf.outlier_pair(*squares, inner, *moments), torch.stack([high, low]))


def test_the_squared_error_is_one_case():
    for net in FAMILIES["linear"].drawn(Draw()).values():
        other = cf.two_layer_linear(**net.arguments, loss=nn.MSELoss()).eigenvalues / 2
        size = float(net.spectrum.eigenvalues.abs().max())
        assert_close(other, net.spectrum.eigenvalues, rtol=0, atol=1e-12 * size)


def spread(outputs, targets):
    """A loss that couples samples: the spread of the residuals."""
    return (outputs - targets).var()


def test_a_loss_that_couples_samples_keeps_the_bulk_and_joins_the_cells():
    """Of a linear network it is a function of the product alone, of which the theorem holds.

    Of a ReLU network it is a function of the slopes of both cells, and the outliers of one are not
    those of the other with none.
    """
    draw = Draw(seed=2)
    w, v, x, y = draw.normal(6), draw.normal(6), draw.normal(9), draw.normal(9)
    v = v.abs() * torch.tensor([1.0, -1.0]).repeat(3)
    net = Linear(w=w, v=v, x=x, y=y)
    along = torch.func.grad(lambda product: spread(product * x, y))
    slope, curvature = along(w @ v), torch.func.grad(along)(w @ v)
    values = torch.linalg.eigvalsh(brute_force(net.model(), x, y, spread))
    pair = cf.outlier_pair(w @ w, v @ v, w @ v, curvature, slope)
    expected = torch.cat([pair, slope.expand(5), -slope.expand(5)])
    assert_close(values, expected.sort().values)

    rectified = FAMILIES["relu"](w=w, v=v, x=x, y=y)
    matrix = brute_force(rectified.model(), x, y, spread)
    cell = torch.cat([v > 0, v > 0])
    joined, alone = torch.linalg.eigvalsh(matrix), matrix * (cell[:, None] == cell)
    apart = torch.linalg.eigvalsh(alone)
    assert (joined - apart).abs().max() > 0.01 * joined.abs().max()
    # Each cell's slope, twice of each sign, is an eigenvalue still.
    by_slope = torch.func.grad(lambda s: spread(torch.where(x > 0, s[0], s[1]) * x, y))
    slopes = by_slope(torch.stack([w[v > 0] @ v[v > 0], w[v < 0] @ v[v < 0]]))
    for bulk in torch.cat([slopes, -slopes]):
        assert int(((joined - bulk).abs() < 1e-12).sum()) == 2
    with pytest.raises(ValueError, match="which couples outputs"):
        cf.of(rectified.model(), (x, y), spread)

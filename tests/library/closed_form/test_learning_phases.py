"""The phases of learning under convex losses: signs of the outliers, their order and number."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form._losses import derivatives, name_of
from hessian_spectra.closed_form.instances import FAMILIES, Draw, numbers

DRAW = Draw(seed=9, instances=40, width=5, size=8)


def log_cosh(f, y):
    return functional.softplus(2 * (f - y)) - (f - y)


def quartic(f, y):
    return (f - y) ** 4 / 4


def margin(f, y):
    return functional.softplus(-f * y)


def exponential(f, y):
    return torch.exp(-f * y)


CONVEX = [None, nn.HuberLoss(delta=0.7), log_cosh, quartic, margin, nn.PoissonNLLLoss()]


def phases(x, y, loss, at):
    """The phase at each ``⟨w, v⟩``."""
    outputs = at[:, None] * x
    first, second = derivatives(loss, outputs, y.expand(outputs.shape))
    start, _ = derivatives(loss, 0 * x, y)
    rows = zip(at, (second * x * x).mean(1), (first * x).mean(1), strict=True)
    return [
        cf.learning_phase(c, moment, -(start * x).mean(), residual_covariance=residual)
        for c, moment, residual in rows
    ]


def course(x, y, loss, at):
    """The phases one after the other, without repetitions."""
    names = phases(x, y, loss, at)
    return [names[0], *(after for before, after in pairwise(names) if after != before)]


GRID = torch.from_numpy(np.geomspace(1e-5, 1e4, 2000))


@pytest.mark.parametrize("loss", CONVEX, ids=name_of)
def test_phases_tell_the_signs_of_both_outliers(loss):
    seen = set()
    for net in FAMILIES["linear"].drawn(DRAW).values():
        x = net.x / (1 + net.x.abs().max() * (net.w @ net.v).abs())
        # Both signs of the solution, and both sides of 0.
        for w, y in ((net.w, net.y), (-net.w, net.y), (net.w, -net.y)):
            y = y.abs() if isinstance(loss, nn.PoissonNLLLoss) else y
            spectrum = cf.two_layer_linear(w, net.v, x, y, loss=loss)
            smallest, largest = spectrum.select("outlier")
            size = float(spectrum.eigenvalues.abs().max())
            if min(abs(float(smallest)), size - abs(float(smallest))) <= 1e-10 * size:
                continue  # at an end, or no curvature: the sign is that of rounding
            phase = cf.learning_phase(w @ net.v, x=x, y=y, loss=loss)
            assert bool(smallest > 0) == (phase == "late")
            assert bool(largest < spectrum.eigenvalues.sum()) == (phase == "late")
            seen.add(phase)
    assert {"early", "divergent"} <= seen


def test_data_and_numbers_tell_the_same_of_the_squared_error():
    for net in FAMILIES["linear"].drawn(DRAW).values():
        if net.x.abs().max() == 0:
            continue
        inner, moment, target = net.w @ net.v, net.x.square().mean(), (net.x * net.y).mean()
        if abs(float(inner * moment - target)) < 1e-12 * float(target.abs() + inner.abs()):
            continue
        by_numbers = cf.learning_phase(inner, moment, target)
        assert cf.learning_phase(inner, x=net.x, y=net.y) == by_numbers
        residual = inner * moment - target
        assert by_numbers == cf.learning_phase(inner, moment, target, residual_covariance=residual)
        half = {"loss": lambda f, y: (f - y) ** 2 / 2}
        assert cf.learning_phase(inner, x=net.x, y=net.y, **half) == by_numbers


def power(p):
    """The error's ``p``-th power."""
    return lambda f, y: (y - f).abs() ** p


def margin_constant():
    """The margin ``t`` with ``t σ(t) = 1/2``."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle / (1 + math.exp(-middle)) < 0.5 else (low, middle)
    return low


@pytest.mark.parametrize(
    ("loss", "end"),
    [
        *((power(p), 1 / (2 * p - 1)) for p in (1.5, 2, 3, 4, 6)),
        (exponential, 0.5),
        (margin, margin_constant()),
        (nn.HuberLoss(delta=2.0), 1 / 3),
        (nn.HuberLoss(delta=0.25), 3 / 4),
    ],
)
def test_where_the_early_phase_of_one_sample_ends(loss, end):
    # The solution is at 1; a sample of another size scales it.
    for x in (1.0, -3.0, 0.1):
        a = {"x": [x], "y": [math.copysign(1.0, x)], "loss": loss}
        if isinstance(loss, nn.HuberLoss) or loss not in (exponential, margin):
            a["y"] = [1.0]
        ends = end / x if a["y"] == [1.0] else end / abs(x)
        assert cf.learning_phase(ends * (1 - 1e-7), **a) == "early"
        assert cf.learning_phase(ends * (1 + 1e-7), **a) == "late"


def test_two_phases_where_data_is_separable_and_three_where_not():
    """Inputs whose sizes differ by 7 at most, any labels: the late phase comes once."""
    lengths = set()
    draw = Draw(seed=11)
    for number in range(200):
        count = draw.integer(1, 9)
        share = draw.uniform(count)
        # Of every other data set the two sizes farthest apart alone.
        size = draw.scale() * (1 + 6 * (share.round() if number % 2 else share))
        y = torch.where(draw.normal(count) > -0.5, 1.0, -1.0).double()
        sign = torch.where(draw.normal(count) > 0, 1.0, -1.0).double()
        x = size * sign * y  # labels of x itself, some of which are turned
        y = y * torch.where(draw.uniform(count) < 0.2, -1.0, 1.0) * sign
        slope = float((x * y).mean())
        if slope <= 1e-3:
            continue
        # Up to where exponentials are numbers.
        names = course(x, y, margin, GRID[GRID < 300] / x.abs().max())
        separable = bool((x * y > 0).all())
        assert names == ["early", "late"] + ["divergent"] * (not separable)
        lengths.add(len(names))
    assert lengths == {2, 3}


def test_one_size_of_all_inputs_makes_the_course_that_of_all_labels():
    """Nearly balanced labels of equal sizes have one late phase, too."""
    for wrong in range(1, 10):
        y = torch.cat([torch.ones(20 - wrong), -torch.ones(wrong)]).double()
        assert course(torch.ones(20).double(), y, margin, GRID) == ["early", "late", "divergent"]


def test_sizes_far_apart_make_an_early_and_a_late_phase_each():
    sizes = (1.0, 1e2, 1e4, 1e6)
    for count in range(1, 5):
        x = numbers(*sizes[:count])
        at = torch.from_numpy(np.geomspace(1e-9, 1e2, 4000))
        assert course(x, torch.ones(count).double(), margin, at) == ["early", "late"] * count
    labels = numbers(1.0, 1.0, -1.0)
    names = course(numbers(1.0, 1e3, 0.1), labels, margin, GRID)
    assert names == [*["early", "late"] * 2, "divergent"]


@pytest.mark.parametrize(("ratio", "count"), [(7.0, 2), (7.2, 4)])
def test_two_sizes_under_the_logistic_loss_alternate_beyond_a_ratio(ratio, count):
    """That ratio is 7.0707, at weights for which the mean of ``t σ(t)`` is 1/2 in between."""
    x = 0.4446 * numbers(1.0, ratio)
    small, large = (x * torch.sigmoid(x)).tolist()
    share = (0.5 - small) / (large - small)
    mass = numbers(1 - share, share) / (x * torch.sigmoid(-x))
    at = torch.linspace(0.1, 3, 6000).double()
    assert len(course(x, mass, lambda f, m: m * functional.softplus(-f), at)) == count


@pytest.mark.parametrize(("ratio", "count"), [(9.7, 2), (11.0, 4)])
def test_two_sizes_under_the_exponential_loss_alternate_beyond_a_ratio(ratio, count):
    """That ratio is ``5 + 2√6``, at weights for which the mean of ``c x`` is 1/2 in between."""
    small = (1 + ratio) / (4 * ratio)
    share = (0.5 - small) / (small * (ratio - 1))
    x = numbers(small, ratio * small)
    mass = numbers(1 - share, share) / (x * torch.exp(-x))
    names = course(x, mass, lambda f, m: m * torch.exp(-f), torch.linspace(0.3, 3, 3000).double())
    assert len(names) == count


def test_a_quartic_loss_of_two_samples_has_five_phases():
    x, y = numbers(1.0, 1e-3), numbers(0.9, 1.0)
    names = course(x, y, quartic, torch.linspace(1e-3, 1.5, 4000).double())
    assert names == [*["early", "late"] * 2, "divergent"]


def test_a_loss_without_a_lower_bound_may_have_no_late_phase():
    assert course(numbers(1.0), numbers(1.0), lambda f, y: -y * f + 0 * f**2, GRID) == ["early"]
    slow = course(numbers(1.0), numbers(1.0), lambda f, y: -((1 + f) ** 0.75), GRID)
    assert slow == ["early"]
    faster = course(numbers(1.0), numbers(1.0), lambda f, y: -((1 + f) ** 0.25), GRID)
    assert faster == ["early", "late"]


def test_poisson_counts_of_positive_inputs_have_three_phases():
    draw = Draw(seed=12)
    for _ in range(50):
        x, y = draw.uniform(5) * draw.scale() + 0.01, 3 + draw.normal(5).abs()
        at = torch.linspace(1e-4, 1, 400).double() * 8 / x.max()
        assert course(x, y, nn.PoissonNLLLoss(), at) == ["early", "late", "divergent"]


def test_each_cell_of_a_relu_network_has_the_phases_of_its_samples():
    for name, net in FAMILIES["relu"].drawn(DRAW).items():
        if "random" not in name:
            continue
        x, y = net.x / 30, net.y.sign()
        loss = nn.SoftMarginLoss()
        spectrum = cf.two_layer_relu(net.w, net.v, x, y, loss=loss)
        for cell, sign in (("+", 1), ("-", -1)):
            neurons, samples = sign * net.v > 0, sign * x > 0
            pair = spectrum.select("outlier", cell)
            if len(pair) == 0 or not bool(samples.any()) or abs(pair[0]) < 1e-10 * pair[1]:
                continue
            inner = net.w[neurons] @ net.v[neurons]
            phase = cf.learning_phase(inner, x=x[samples], y=y[samples], loss=loss)
            assert bool(pair[0] > 0) == (phase == "late")


def test_there_is_no_early_phase_where_the_start_is_the_solution():
    a = {"x": [1.0, 1.0], "y": [1.0, -1.0], "loss": nn.SoftMarginLoss()}
    assert [cf.learning_phase(c, **a) for c in (-0.5, 0.0, 0.5)] == [
        "divergent", "late", "divergent",
    ]  # fmt: skip


def test_what_is_needed_is_asked_for():
    for given in ({}, {"second_moment": 1.0}, {"residual_covariance": 1.0}, {"x": [1.0]}):
        with pytest.raises(ValueError, match="expected second_moment and target_covariance, or x"):
            cf.learning_phase(0.5, **given)
    with pytest.raises(ValueError, match="second_moment: expected a positive number, got -"):
        cf.learning_phase(0.0, x=[1.0], y=[3.0], loss=lambda f, y: torch.log1p((f - y) ** 2))


def test_the_bound_of_the_smallest_eigenvalue_under_other_losses():
    reached = set()
    for loss, smoothness in ((margin, 0.25), (log_cosh, 1.0), (nn.HuberLoss(), 1.0)):
        for net in FAMILIES["linear"].drawn(DRAW).values():
            y = torch.where(net.y > 0, 1.0, -1.0).double() if loss is margin else net.y
            spectrum = cf.two_layer_linear(net.w, net.v, net.x, y, loss=loss)
            bound = float(cf.smallest_eigenvalue_bound(net.w, net.v, net.x, y, loss=loss))
            slack = 1e-10 * float(spectrum.eigenvalues.abs().max()) + 1e-300
            assert float(spectrum.eigenvalues[0]) >= bound - slack
            value = loss(net.model()(net.x).detach(), y).mean()
            weaker = -(2 * smoothness * value).sqrt() * net.x.square().mean().sqrt()
            assert float(weaker) <= bound + slack
            reached.add(bound < 0 and float(weaker) > 1.5 * bound)
    assert True in reached


def test_no_multiple_of_the_loss_bounds_an_exponential_one():
    """By ``√(2 loss) σ_x`` as for the squared error: the slope of one sample is its loss."""
    a = [3.0, 0.0], [-3.0, 0.0], [1.0], [1.0]
    smallest = float(cf.two_layer_linear(*a, loss=exponential).eigenvalues[0])
    assert smallest < -math.sqrt(2 * math.exp(9.0))
    assert smallest == pytest.approx(float(cf.smallest_eigenvalue_bound(*a, loss=exponential)))
    with pytest.raises(ValueError, match="expected a convex one"):
        cf.smallest_eigenvalue_bound(*a, loss=lambda f, y: torch.sin(-f))

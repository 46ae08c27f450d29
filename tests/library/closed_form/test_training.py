"""Training in closed form: against torch's optimisers and an integrator, and where it ends."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from torch import nn
from torch.testing import assert_close

from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form.instances import FAMILIES, Draw, numbers
from hessian_spectra.models import LinearWithBias

DRAW = Draw(seed=5, instances=40, width=6, size=8)
LINEAR = FAMILIES["linear"].drawn(DRAW)
RULES = {
    "plain": {},
    "heavy ball": {"momentum": 0.9},
    "Nesterov": {"momentum": 0.5, "nesterov": True},
    "decay": {"weight_decay": 0.1, "momentum": 0.3},
}


def log_cosh(f, y):
    """``log cosh(f - y) + log 2``, which has the curvature 1 at its minimum."""
    return nn.functional.softplus(2 * (f - y)) - (f - y)


LOSSES = {
    "squared": (None, lambda y: y),
    "logistic": (nn.BCEWithLogitsLoss(), lambda y: (y > 0).double()),
    "soft margin": (nn.SoftMarginLoss(), torch.sign),
    "Poisson": (nn.PoissonNLLLoss(), torch.abs),
    "log cosh": (log_cosh, lambda y: y),
}


def of_mean(loss):
    """The risk by which an optimiser is driven."""
    if loss is None:
        return lambda f, y: (f - y).square().mean() / 2
    return lambda f, y: loss(f, y).mean()


def trained(w, v, x, y, rate, steps, loss=None, relu=False, **rule):
    """Weights ``(steps + 1, ...)`` of a network on ``x (n,)``, or ``(n, D)``, by torch's SGD."""
    w, v = (layer.clone().requires_grad_() for layer in (w, v))
    optimizer = torch.optim.SGD([w, v], lr=rate, **rule)
    inputs, risk, path = x.reshape(len(x), -1, 1), of_mean(loss), []
    for _ in range(steps + 1):
        path.append((w.detach().clone(), v.detach().clone()))
        optimizer.zero_grad()
        hidden = v.reshape(-1, v.shape[-1]) * inputs
        hidden = torch.relu(hidden) if relu else hidden
        risk((w.reshape(-1, w.shape[-1]) * hidden).sum((1, 2)), y).backward()
        optimizer.step()
    return tuple(torch.stack(layer) for layer in zip(*path, strict=True))


def safe_rate(net):
    """A rate at which no optimiser diverges: below 1/10 of an inverse curvature."""
    size = net.x.square().mean() * (net.w @ net.w + net.v @ net.v) + (net.x * net.y).mean().abs()
    return 0.05 / max(float(size), 0.1)


def require_close(actual, expected, tolerance=1e-10):
    for part, other in zip(actual, expected, strict=True):
        size = max(float(other.abs().max()), 1e-300)
        assert float((part - other).abs().max()) <= tolerance * size


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", LOSSES)
def test_the_map_is_gradient_descent(rule, name):
    loss, of = LOSSES[name]
    for net in LINEAR.values():
        rate, targets, x = safe_rate(net), of(net.y), net.x
        if name == "Poisson":  # its slope is exponential in the output
            x = x / (x.abs().max() * (1 + net.w.norm() * net.v.norm()))
            targets = targets / (1 + targets.max())
        expected = trained(net.w, net.v, x, targets, rate, 12, loss, **RULES[rule])
        path = cf.gradient_descent(net.w, net.v, x, targets, rate, 12, loss=loss, **RULES[rule])
        require_close(path.weights(net.w, net.v), expected)


def test_a_path_has_the_spectrum_of_every_state():
    for net in LINEAR.values():
        path = cf.gradient_descent(net.w, net.v, net.x, net.y, safe_rate(net), 7)
        for step, (w, v) in enumerate(zip(*path.weights(net.w, net.v), strict=True)):
            spectrum = cf.two_layer_linear(w, v, net.x, net.y)
            size = float(spectrum.eigenvalues.abs().max()) or 1.0
            difference = path.outliers[step] - spectrum.select("outlier").flip(0)
            assert float(difference.abs().max()) <= 1e-12 * size
            residual = (w @ v) * net.x - net.y
            assert_close(path.loss[step], residual.square().mean() / 2)
            assert abs(path.trace[step] - spectrum.eigenvalues.sum()) <= 1e-12 * size
            dx = (net.x * residual).mean()
            assert abs(path.residual_covariance[step] - dx) <= 1e-12 * size


def test_twenty_thousand_steps():
    net = LINEAR["random 2"]
    w, v, x, y = (part.numpy().copy() for part in (net.w, net.v, net.x, net.y))
    rate, moment, covariance = safe_rate(net), (x * x).mean(), (x * y).mean()
    path = cf.gradient_descent(w, v, x, y, rate, 20_000)
    for _ in range(20_000):
        dx = moment * (w @ v) - covariance
        w, v = w - rate * dx * v, v - rate * dx * w
    require_close([layer[-1] for layer in path.weights(net.w, net.v)], map(torch.tensor, (w, v)))
    factors = 1 - (rate * path.residual_covariance[:-1]).square()
    require_close([path.invariant[1:]], [path.invariant[0] * factors.cumprod(0)])


def test_signs_turn_with_large_steps():
    w, v, x, y = numbers(1.0, 0.5), numbers(1.2, -0.3), numbers(1.0), numbers(0.1)
    path = cf.gradient_descent(w, v, x, y, 1.5, 6)
    assert bool((path.plus < 0).any())
    require_close(path.weights(w, v), trained(w, v, x, y, 1.5, 6))


def test_batches_of_networks_and_rates():
    w, v = torch.randn(2, 3, 1, 4, generator=torch.Generator().manual_seed(0)).double()
    x, y, rates = numbers(1.0, -2.0), numbers(0.5, 1.0), numbers(0.01, 0.02)
    for loss in (None, nn.HuberLoss(delta=100.0)):
        path = cf.gradient_descent(w, v, x, y, rates, 5, loss=loss)
        assert path.p.shape == path.loss.shape == (6, 3, 2)
        assert path.weights(w, v)[0].shape == (6, 3, 2, 4)
        alone = cf.gradient_descent(w[1, 0], v[1, 0], x, y, rates[1], 5)
        for part, other in zip(path, alone, strict=True):
            assert_close(part[:, 1, 1], other)


def test_mini_batches_are_steps_with_their_own_residual():
    net = LINEAR["random 1"]
    x, y = torch.randn(2, 6, generator=torch.Generator().manual_seed(0)).double()
    w, v, rate = net.w, net.v, safe_rate(net)
    first, plus, minus = (w, v), 1.0, 1.0
    for batch in ([0, 1], [4, 2], [3], [5, 1]):
        path = cf.gradient_descent(w, v, x[batch], y[batch], rate, 1)
        plus, minus = plus * path.plus[1], minus * path.minus[1]
        w, v = (layer[1] for layer in trained(w, v, x[batch], y[batch], rate, 1))
    require_close([w + v, w - v], [plus * (first[0] + first[1]), minus * (first[0] - first[1])])


@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_several_inputs_have_a_map_each(name):
    loss, of = LOSSES[name]
    for net in FAMILIES["correlated_input"].drawn(DRAW).values():
        rate = 0.02 / float(net.x.square().sum(1).mean() * (net.w.square() + net.v.square()).sum())
        path = cf.gradient_descent(net.w, net.v, net.x, of(net.y), rate, 9, loss=loss)
        expected = trained(net.w, net.v, net.x, of(net.y), rate, 9, loss)
        require_close(path.weights(net.w, net.v), expected)
        outputs = torch.einsum("tdm,tdm,nd->tn", *expected, net.x)
        risks = torch.stack([of_mean(loss)(at, of(net.y)) for at in outputs])
        assert_close(path.loss, risks, rtol=1e-10, atol=1e-20)


@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_relu_cells_are_linear_networks_until_a_neuron_changes_its_sign(name):
    loss, of = LOSSES[name]
    changed = 0
    for net in FAMILIES["relu"].drawn(DRAW).values():
        rate, y = 2 * safe_rate(net), of(net.y)
        w, v = trained(net.w, net.v, net.x, y, rate, 40, loss, relu=True)
        cells = cf.relu_cells(net.w, net.v, net.x)
        path = cf.gradient_descent(*cells, y, rate, 40, loss=loss)
        kept = path.keeps_signs(*cells[:2]).all(-1)
        # Up to the first state with another sign, which is still reached by a linear step.
        last = min(int(kept.sum()), len(kept) - 1)
        changed += not bool(kept.all())
        assert bool((torch.sign(v[: int(kept.sum())]) == torch.sign(v[0])).all())
        masks = torch.stack([net.v > 0, net.v < 0])
        for layer, cell in zip((w, v), path.weights(*cells[:2]), strict=True):
            require_close([(cell[: last + 1] * masks).sum(1)[:, net.v != 0]],
                          [layer[: last + 1][:, net.v != 0]])  # fmt: skip
        safe = net.w.abs() <= net.v.abs()
        assert not bool((torch.sign(v[0]) != torch.sign(v[-1]))[safe & (net.v != 0)].any())
    assert changed > 0


def integrated(w, v, x, y, times, slope=None):
    """The flow of the weights by an integrator at tolerance 1e-12."""
    moment, covariance = (x * x).mean(), (x * y).mean()
    slope = slope or (lambda product: moment * product - covariance)

    def field(_, theta):
        w, v = theta.reshape(2, -1)
        return -slope(w @ v) * np.concatenate([v, w])

    start = np.concatenate([w, v])
    solved = solve_ivp(field, (0, times[-1]), start, "DOP853", times, rtol=1e-12, atol=1e-14)
    return torch.from_numpy(solved.y.T.reshape(len(times), 2, -1).copy()).unbind(1)


def test_the_flow_is_the_integrators():
    for net in LINEAR.values():
        scale = 1 / safe_rate(net) * 0.05
        times = np.array([0.0, 0.1, 1.0, 5.0]) / scale
        path = cf.gradient_flow(net.w, net.v, net.x, net.y, times)
        expected = integrated(*(part.numpy() for part in (net.w, net.v, net.x, net.y)), times)
        require_close(path.weights(net.w, net.v), expected, 1e-10)
        size = float(path.invariant[0]) or 1.0
        assert float((path.invariant - path.invariant[0]).abs().max()) <= 1e-13 * size


def test_the_flow_ends_at_the_solution_or_at_the_saddle():
    for name, net in LINEAR.items():
        end = cf.gradient_flow(net.w, net.v, net.x, net.y)
        covariance, moment = (net.x * net.y).mean(), net.x.square().mean()
        p, q = ((net.w + sign * net.v).norm() / 2**0.5 for sign in (1, -1))
        if float(p if covariance > 0 else q) == 0:
            assert name in (
                "w = -v",
                "w = v",
                "equal outliers",
                "all weights 0",
                "width 1, equal layers",
            )
            assert float(end.inner_product) == float(end.trace) == 0
        else:
            sharpness = 2 * torch.hypot(covariance, moment * p * q)
            require_close([end.outliers[0, 0], end.trace[0]], [sharpness, sharpness], 1e-13)
            assert abs(end.inner_product[0] - covariance / moment) <= 1e-13 * sharpness / moment


def test_the_flow_of_special_starts():
    unit = numbers(1.0)
    # Against the saddle: w = -v never turns, w = 0 = v never moves.
    stuck = cf.gradient_flow([1.0], [-1.0], unit, unit, [1.0, math.inf])
    assert bool((stuck.p == 0).all())
    assert float(stuck.q[1]) == 0
    still = cf.gradient_flow([0.0], [0.0], unit, unit, [0.0, 1.0, math.inf])
    assert bool((still.inner_product == 0).all())
    # Without a target, w = v decays like 1/t: p² / (1 + p² t).
    decay = cf.gradient_flow([1.0], [1.0], unit, 0 * unit, [3.0, math.inf])
    assert_close(decay.inner_product, numbers(1 / 7, 0.0))
    # Inputs of 0 move nothing.
    kept = cf.gradient_flow([1.0], [0.5], 0 * unit, unit, [3.0, math.inf])
    assert_close(kept.plus, torch.ones(2).double())
    # At the solution, and long after it.
    assert_close(cf.gradient_flow([1.0], [1.0], unit, unit, 1e9).inner_product, unit)


@pytest.mark.parametrize("name", ["logistic", "soft margin", "Poisson", "log cosh"])
def test_the_flow_of_any_loss_ends_at_its_minimum(name):
    loss, of = LOSSES[name]
    x = numbers(1.0, -0.5, 2.0, 1.5)
    y = of(numbers(1.0, 1.0, 2.0, -1.0))
    generator = torch.Generator().manual_seed(1)
    w, v = torch.randn(2, 50, 3, generator=generator).double()
    end = cf.gradient_flow(w, v, x, y, loss=loss)
    start = cf.gradient_descent(w, v, x, y, 0.0, 0, loss=loss)
    assert float(end.residual_covariance.abs().max()) < 1e-14
    require_close([end.invariant], [start.invariant], 1e-13)
    assert float((end.inner_product - end.inner_product[0, 0]).abs().max()) < 1e-13
    solution = end.inner_product.flatten()[0]
    expected = 2 * end.second_moment * torch.hypot(solution, end.invariant)
    require_close([end.outliers[..., 0]], [expected], 1e-13)

    def slope(product):
        at = torch.tensor(product, dtype=torch.float64, requires_grad=True)
        return float(torch.autograd.grad(of_mean(loss)(at * x, y), at)[0])

    (w_end,), (v_end,) = integrated(w[0].numpy(), v[0].numpy(), x, y, [60.0], slope)
    require_close([layer[0, 0] for layer in end.weights(w, v)], [w_end, v_end], 1e-9)


def test_a_loss_without_a_minimum_is_refused():
    w, v, x = [1.0, 0.2], [0.5, 0.3], numbers(1.0, 2.0)
    for loss in (nn.BCEWithLogitsLoss(), lambda f, y: torch.exp(-f * y)):
        with pytest.raises(ValueError, match=r"loss: expected a minimum of .* grows for ever"):
            cf.gradient_flow(w, v, x, numbers(1.0, 1.0), loss=loss)
    # Descent goes on: the slope grows, the sharpness goes to 0, and p q keeps a share.
    path = cf.gradient_descent(w, v, x, numbers(1.0, 1.0), 1.0, 4000, loss=nn.BCEWithLogitsLoss())
    assert bool((path.inner_product.diff() > 0).all())
    assert float(path.outliers[-1, 0]) < 0.01 * float(path.outliers[0, 0])
    assert float(path.invariant[-1]) > 0.5 * float(path.invariant[0])


@dataclass
class Starts:
    """Many networks on one sample, x = y = 1, so that θ* = 1 and the rates are η yx."""

    w: torch.Tensor
    v: torch.Tensor
    x: torch.Tensor
    y: torch.Tensor

    @classmethod
    def of(cls, count, seed=0, width=3, scale=1.0):
        w, v = scale * torch.randn(2, count, width, generator=torch.Generator().manual_seed(seed))
        return cls(w.double(), v.double(), numbers(1.0), numbers(1.0))

    def descend(self, rate, steps):
        return cf.gradient_descent(self.w, self.v, self.x, self.y, rate, steps)

    @property
    def rates(self):
        return cf.learning_rates(self.w, self.v, self.x, self.y)


def uniform(count, low, high, seed=0):
    draws = torch.rand(count, generator=torch.Generator().manual_seed(seed)).double()
    return low + (high - low) * draws


def test_descent_converges_below_the_critical_rate_and_not_above():
    starts = Starts.of(2000)
    critical = starts.rates.critical
    below = starts.descend(uniform(2000, 0.02, 0.97) * critical, 3000)
    rate = uniform(2000, 0.02, 0.97) * critical
    assert float(below.residual_covariance[-1].abs().max()) < 1e-6
    assert bool((below.trace[-1] * rate <= 2 + 1e-5).all())
    above = starts.descend(uniform(2000, 1.02, 3.0, seed=1) * critical, 400)
    last = above.residual_covariance[-60:].abs().amax(0)
    assert bool((~torch.isfinite(last) | (last > 1e-2)).all())


def test_what_the_proof_of_convergence_rests_on():
    """V, which vanishes on the ellipse, and |q|^θ / |V|, which falls at every step."""
    theta = uniform(500, 0.0, 1.0)
    p, q = torch.randn(2, 500, generator=torch.Generator().manual_seed(2)).double() * 1.5
    for _ in range(3):
        a = (p.square() - q.square()) / 2 - theta
        equation = p.square() + q.square() - 4 - theta * a
        ellipse = (
            (4 - theta.square()) / 2 * (p.square() / (2 + theta) + q.square() / (2 - theta) - 2)
        )
        assert_close(ellipse, equation, rtol=1e-12, atol=1e-12)
        p, q, old = (1 - a) * p, (1 + a) * q, q
        after = (p.square() - q.square()) / 2 - theta
        now = p.square() + q.square() - 4 - theta * after
        assert_close(now, (1 + a * (a + theta)) * equation, rtol=1e-9, atol=1e-9)
        assert_close(after, a * (a.square() - 3 - equation), rtol=1e-9, atol=1e-9)
        falls = q.abs() ** theta * equation.abs() < old.abs() ** theta * now.abs()
        assert bool((falls | (a.abs() < 1e-7)).all())


def test_on_the_ellipse_a_step_triples_an_angle():
    rate, angle = 0.6, 0.7
    p, q = (2 * (2 + rate)) ** 0.5 * math.cos(angle), (2 * (2 - rate)) ** 0.5 * math.sin(angle)
    w, v = numbers((p + q) / 2**0.5), numbers((p - q) / 2**0.5)
    path = cf.gradient_descent(w, v, [1.0], [rate], 1.0, 6)
    for step in range(7):
        assert float(path.p[step]) == pytest.approx(
            (2 * (2 + rate)) ** 0.5 * math.cos(angle), abs=1e-9
        )
        angle = math.pi - 3 * angle
    assert float(cf.learning_rates(w, v, [1.0], [rate]).critical) == pytest.approx(1.0)


def test_beyond_the_inverse_covariance_descent_ends_in_a_cycle_of_two():
    """At 1 < η yx < √5 - 1, w = v in the end; p² takes 2r and 2/r, with r + 1/r = 1 + η yx."""
    starts, rate = Starts.of(40, scale=0.2), 1.15
    path = starts.descend(rate, 2000)
    r = (1 + rate + math.sqrt((1 + rate) ** 2 - 4)) / 2
    ends = (rate * path.p[-2:].square()).sort(0).values
    assert_close(ends, numbers(2 / r, 2 * r)[:, None].expand(2, 40))
    assert float(path.q[-1].abs().max()) < 1e-10


def test_up_to_the_monotone_rate_nothing_overshoots():
    starts = Starts.of(4000, scale=0.7)
    rates = starts.rates
    some = rates.monotone > 0
    assert 500 < int(some.sum()) < 3500
    starts = Starts(starts.w[some], starts.v[some], starts.x, starts.y)
    rate = uniform(int(some.sum()), 0.3, 1.0) * rates.monotone[some]
    path = starts.descend(rate, 400)
    assert bool((path.residual_covariance <= 1e-14).all())
    assert bool((path.trace.diff(dim=0) >= -1e-13).all())
    lower, upper = cf.final_sharpness_bounds(starts.w, starts.v, starts.x, starts.y, rate)
    assert bool((path.trace[-1] >= lower - 1e-6).all())
    assert bool((path.trace[-1] <= upper + 1e-12).all())
    assert float((upper / lower).median()) < 1.2


def test_at_the_edge_the_minimum_is_flatter_than_the_flows():
    starts = Starts.of(500, scale=1.2)
    rates = starts.rates
    at_edge = rates.edge < 0.9 * rates.critical
    assert int(at_edge.sum()) > 50
    rate = (rates.edge * 1.05)[at_edge]
    starts = Starts(starts.w[at_edge], starts.v[at_edge], starts.x, starts.y)
    ends = starts.descend(rate, 4000).trace[-1]
    lower, upper = cf.final_sharpness_bounds(starts.w, starts.v, starts.x, starts.y, rate)
    assert bool((ends <= upper + 1e-4).all())
    assert bool((ends >= lower).all())
    assert bool((ends < 2 / rates.edge[at_edge]).all())
    critical = cf.learning_rates([1.0], [0.0], [1.0], [1.0]).critical
    for rate in (critical, 5.0):
        above = cf.final_sharpness_bounds([1.0], [0.0], [1.0], [1.0], rate)
        assert all(math.isnan(bound) for bound in above)


def test_when_the_sharpness_grows():
    generator = torch.Generator().manual_seed(3)
    w, v = torch.randn(2, 4000, 2, generator=generator).double()
    for y in (-2.0, -0.5, 0.0, 0.3, 1.0, 5.0):
        x, y = numbers(1.0, -0.5), numbers(y, 0.0)
        start = cf.gradient_descent(w, v, x, y, 0.0, 0)
        end = cf.gradient_flow(w, v, x, y)
        solution = (x * y).mean() / x.square().mean()
        grows = cf.sharpness_grows(start.inner_product[0], start.invariant[0], solution)
        assert bool((grows == (end.outliers[0, :, 0] > start.outliers[0, :, 0])).all())
        more_trace = start.inner_product[0].abs() < solution.abs()
        assert bool((more_trace == (end.trace[0] > start.trace[0])).all())
        other = grows != more_trace
        assert bool((start.inner_product[0, other] * solution < 0).all())
        assert bool(other.any()) == (float(y[0]) != 0)


def test_nothing_grows_on_the_way_to_the_saddle():
    """From w = -v, w = v or 0 the flow does not reach a solution of the other sign."""
    for w, v, y in (([0.2], [-0.2], 1.0), ([0.2], [0.2], -1.0), ([0.0], [0.0], 1.0)):
        start = cf.gradient_descent(w, v, [1.0], [y], 0.0, 0)
        end = cf.gradient_flow(w, v, [1.0], [y])
        assert float(end.trace) == 0
        assert float(end.outliers[0, 0]) <= float(start.outliers[0, 0])
        assert not bool(cf.sharpness_grows(start.inner_product[0], start.invariant[0], y))
    # On the side of the solution it does.
    assert bool(cf.sharpness_grows(0.2, 0.0, 1.0))


def test_adam_leaves_the_plane_of_the_map():
    net = LINEAR["random 2"]
    w, v = (layer.clone().requires_grad_() for layer in (net.w, net.v))
    optimizer = torch.optim.Adam([w, v], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        of_mean(None)((w @ v) * net.x, net.y).backward()
        optimizer.step()
    sums = torch.stack([(w + v).detach(), net.w + net.v])
    assert float(torch.linalg.svdvals(sums)[1]) > 1e-2 * float(torch.linalg.svdvals(sums)[0])


def gram_after(layers, x, y, rate):
    """Scalar products of all layers of f = ⟨w, V x⟩ after a step; ``layers (D + 1, m)``."""
    layers = layers.clone().requires_grad_()
    of_mean(None)(x @ layers[1:] @ layers[0], y).backward()
    after = (layers - rate * layers.grad).detach()
    return after @ after.T


@pytest.mark.parametrize("biased", [False, True])
def test_a_shared_first_layer_or_a_bias_takes_all_scalar_products(biased):
    """⟨w, V_d⟩ and the norms do not determine the next ones; with ⟨V_1, V_2⟩ they do."""
    x = torch.tensor([[1.0, 0.3], [-0.5, 1.0], [0.2, 2.0]]).double()
    if biased:
        x[:, 1] = 1.0
    y = numbers(1.0, 2.0, -1.0)
    w = numbers(1.0, 0.0, 0.0)
    first = torch.stack([w, numbers(0.5, 1.0, 0.0), numbers(0.2, 0.7, 0.0)])
    other = torch.stack([w, numbers(0.5, 0.0, 1.0), numbers(0.2, 0.7, 0.0)])
    same = torch.stack([w, numbers(0.5, 0.0, 1.0), numbers(0.2, 0.0, 0.7)])
    before, changed, turned = (gram_after(layers, x, y, 0.1) for layers in (first, other, same))
    assert_close(before, turned)
    assert float((before[0, 0] - changed[0, 0]).abs()) > 1e-3
    if biased:
        w, v, b = first
        model = LinearWithBias(w, v, b)
        of_mean(None)(model(x[:, 0]), y).backward()
        steps = torch.stack([part - 0.1 * part.grad for part in (model.w, model.v, model.b)])
        assert_close((steps @ steps.T).detach(), before)


def test_the_critical_rate_is_that_of_the_squared_loss_alone():
    w, v, x, y = [2.0, 0.0], [0.3, 1.0], numbers(1.0), numbers(0.5)
    critical = float(cf.learning_rates(w, v, x, y).critical)
    flat = cf.gradient_descent(w, v, x, y, 1.5 * critical, 1000, loss=log_cosh)
    assert float(flat.residual_covariance[-1].abs()) < 1e-12
    steep = cf.gradient_descent(
        numbers(3.0),
        numbers(2.0),
        x,
        y,
        0.1,
        60,
        loss=lambda f, y: (f - y) ** 4 / 4 + (f - y) ** 2 / 2,
    )
    assert float(cf.learning_rates([3.0], [2.0], x, y).critical) > 0.1
    assert not bool(torch.isfinite(steep.loss[-1]))


def test_overlapping_inputs_have_no_flow_in_closed_form():
    rows = torch.eye(2).double(), torch.ones(2, 2).double()
    with pytest.raises(ValueError, match="x: expected inputs that do not overlap"):
        cf.gradient_flow(*rows, torch.ones(3, 2).double(), numbers(1.0, 2.0, 3.0))


def test_cells_flow_by_themselves():
    for net in FAMILIES["relu"].drawn(DRAW).values():
        cells = cf.relu_cells(net.w, net.v, net.x)
        path = cf.gradient_flow(*cells, net.y, [0.0, 0.3, math.inf])
        for cell in range(2):
            part = (layer[cell] for layer in cells[:2])
            alone = cf.gradient_flow(*part, cells[2][:, cell], net.y, [0.0, 0.3, math.inf])
            for name in ("p", "q", "residual_covariance"):
                assert_close(getattr(path, name)[:, cell], getattr(alone, name))


REFUSALS = [
    ({"steps": -1}, "steps: expected no negative number, got -1"),
    ({"x": torch.ones(2, 1, 1).double()}, r"x: expected shape \(2,\) or \(2, D\) as y has it"),
    ({"x": numbers(1.0)}, r"x: expected shape \(2,\)"),
    ({"v": numbers(1.0)}, r"w, v: expected one shape \(\.\.\., m\), got \(2,\) and \(1,\)"),
    ({"x": torch.ones(2, 3).double()}, r"w, v: expected one shape \(\.\.\., 3, m\)"),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "message"), REFUSALS)
def test_refusals(changed, message):
    pair = numbers(1.0, 2.0)
    given = {"w": pair, "v": pair, "x": pair, "y": pair, "learning_rate": 0.1, "steps": 1}
    with pytest.raises(ValueError, match=message):
        cf.gradient_descent(**{**given, **changed})


def test_the_flow_refuses_what_it_has_no_form_for():
    pair = numbers(1.0, 2.0)
    with pytest.raises(ValueError, match="times: expected infinite ones alone"):
        cf.gradient_flow(pair, pair, pair, pair, 1.0, loss=nn.HuberLoss())
    with pytest.raises(ValueError, match="times: expected"):
        cf.gradient_flow(pair, pair, pair, pair, [-1.0])
    with pytest.raises(ValueError, match="invariant: expected no negative value"):
        cf.sharpness_grows(1.0, -1.0, 1.0)

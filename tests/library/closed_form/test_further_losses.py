"""Closed forms of several inputs, outputs, bias and attention under losses of any kind."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from torch import nn
from torch.nn import functional

from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form import instances
from hessian_spectra.closed_form.instances import FAMILIES, Draw, numbers, whitened
from hessian_spectra.closed_form.instances.further_losses import small
from hessian_spectra.models import Perceptron, VectorSelfAttention

from .contract import DRAW, TOLERANCE, brute_force, evaluate, functions, require_spectrum


def log_cosh(outputs, targets):
    away = outputs - targets
    return functional.softplus(2 * away) - away


def quartic(outputs, targets):
    """Its second derivative grows with the residual, and is not 0 at the solution."""
    return (outputs - targets) ** 4 + (outputs - targets) ** 2


def welsch(outputs, targets):
    """It is not convex."""
    return -torch.exp(-((outputs - targets) ** 2) / 8)


def exponential(outputs, targets):
    return torch.exp((targets - outputs) / 50)


LOSSES = [
    nn.BCEWithLogitsLoss(), nn.HuberLoss(delta=0.5), nn.MSELoss(),
    log_cosh, quartic, welsch, exponential,
]  # fmt: skip
FURTHER = [
    "multi_input", "correlated_input", "multi_output", "bias", "sextic", "orthogonal", "attention",
    "rowwise",
]  # fmt: skip


def each(loss):
    """The loss with a number for each output."""
    return type(loss)(**{**options(loss), "reduction": "none"}) if options(loss) else loss


def options(loss):
    """The arguments of a module of torch."""
    if not isinstance(loss, nn.Module):
        return {}
    return {"reduction": "mean"} | ({"delta": loss.delta} if isinstance(loss, nn.HuberLoss) else {})


def risk(net, loss):
    """The mean over samples or tokens, for a dense Hessian."""

    def mean(outputs, targets):
        values = each(loss)(outputs, targets)
        several = isinstance(net, instances.MultiOutput) and values.ndim == 2
        return (values.sum(1) if several else values).mean()

    return mean


def dense(net, loss):
    return brute_force(net.model(), net.x, net.y, risk(net, loss))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: getattr(loss, "__name__", str(loss)))
@pytest.mark.parametrize("family", FURTHER)
def test_the_spectrum_is_that_of_the_dense_matrix(family, loss):
    # Every other instance, and the others for the next loss.
    for net in [*FAMILIES[family].drawn(DRAW).values()][LOSSES.index(loss) % 2 :: 2]:
        require_spectrum(evaluate(net, loss=loss), dense(net, loss))
        if family == "multi_input":
            wide = replace(net, x=100 * net.x)  # outputs at which losses are saturated
            require_spectrum(evaluate(wide, loss=loss), dense(wide, loss))


@pytest.mark.parametrize("family", FURTHER)
def test_half_the_squared_error_as_a_loss_is_the_default(family):
    for net in FAMILIES[family].drawn(DRAW).values():
        half = evaluate(net, loss=lambda f, y: (f - y) ** 2 / 2).eigenvalues
        size = float(half.abs().max())
        assert float((half - net.spectrum.eigenvalues).abs().max()) <= TOLERANCE * size


def test_an_output_bias_counts_at_any_loss():
    for net in FAMILIES["sextic"].drawn(DRAW).values():
        bias = numbers(0.7)[0]
        theta = torch.cat([net.w, net.v, net.b, bias[None]])

        def value(vector, net=net):
            w, v, b, c = vector.split([len(net.w)] * 3 + [1])
            outputs = (w @ v) * net.x + w @ b + c
            return functional.softplus(-net.y * outputs).mean()

        spectrum = cf.linear_with_bias(
            **net.arguments, output_bias=bias, loss=lambda f, y: functional.softplus(-y * f)
        )
        require_spectrum(spectrum, torch.autograd.functional.hessian(value, theta))


def classes(net):
    """Heads whose outputs are the logits of a softmax."""
    return replace(net, y=torch.softmax(2 * net.y, dim=1))


def test_a_softmax_couples_the_outliers_of_heads_and_leaves_their_bulk():
    draw = replace(DRAW, instances=200)
    for net in map(classes, FAMILIES["multi_output"].drawn(draw).values()):
        spectrum = evaluate(net, loss=nn.CrossEntropyLoss())
        require_spectrum(spectrum, dense(net, nn.CrossEntropyLoss()))
        outputs, heads = net.model()(net.x).detach(), len(net.w)
        slopes = net.x @ (torch.softmax(outputs, dim=1) - net.y) / len(net.x)
        bulk = torch.cat([slopes, -slopes]).repeat_interleave(net.w.shape[1] - 1).sort().values
        assert torch.allclose(spectrum.select("bulk"), bulk, rtol=1e-12, atol=1e-14)
        assert abs(float(slopes.sum())) < 1e-13  # a head's gradient is minus that of the others
        assert len(spectrum.select("outlier")) == 2 * heads


def test_heads_that_a_softmax_couples_are_not_their_sum():
    net = classes(FAMILIES["multi_output"].drawn(DRAW)["width 1"])
    probabilities = torch.softmax(net.model()(net.x).detach(), dim=1)
    pairs = [
        cf.outlier_pair(
            net.w[k].square().sum(),
            net.v[k].square().sum(),
            net.w[k] @ net.v[k],
            (net.x**2 * p * (1 - p)).mean(),
            (net.x * (p - net.y[:, k])).mean(),
        )
        for k, p in enumerate(probabilities.T)
    ]
    apart = torch.cat(pairs).sort().values - evaluate(net, loss=nn.CrossEntropyLoss()).eigenvalues
    assert float(apart.abs().max()) > 0.01 * float(torch.cat(pairs).abs().max())


def test_independent_inputs_are_coupled_by_another_loss():
    signs = numbers(1.0, 1.0, -1.0, -1.0), numbers(1.0, -1.0, 1.0, -1.0)
    x, y = torch.stack(signs, dim=1), numbers(1.0, 1.0, 1.0, -1.0)
    w, v = numbers(1.0, 0.5).reshape(2, 1), numbers(0.5, 2.0).reshape(2, 1)
    alone = cf.multi_input(w, v, x, y)
    assert {*alone.cells} == {"0", "1"}
    coupled = cf.multi_input(w, v, x, y, loss=nn.SoftMarginLoss())
    assert {*coupled.cells[:4]} == {""}
    curvatures = torch.sigmoid(x.sum(1)) * torch.sigmoid(-x.sum(1))
    slopes = -y * torch.sigmoid(-y * x.sum(1))
    pairs = [
        cf.outlier_pair(
            w[d] @ w[d], v[d] @ v[d], w[d] @ v[d], curvatures.mean(), (slopes * x[:, d]).mean()
        )
        for d in range(2)
    ]
    away = torch.cat(pairs).sort().values - coupled.eigenvalues
    assert float(away.abs().max()) > 0.05 * float(coupled.eigenvalues.max())


def test_whitened_inputs_do_not_give_a_pair_and_triples_under_another_loss():
    net = FAMILIES["orthogonal"].drawn(DRAW)["random 0"]
    assert {*net.spectrum.cells} >= {"pair", "triple"}
    assert not {"pair", "triple"} & {*evaluate(net, loss=nn.BCEWithLogitsLoss()).cells}


def test_normal_inputs_give_a_pair_and_triples_under_any_loss():
    """Targets are independent of the inputs; normal moments by a product rule of many nodes."""
    points, masses = (torch.from_numpy(part) for part in normal_rule(40))
    grid = torch.cartesian_prod(points, points)
    mass = torch.cartesian_prod(masses, masses).prod(dim=1) * len(grid)
    V = 0.4 * torch.eye(4, 2).double()
    w = numbers(0.3, 1.0, -0.5, 0.2)
    V = V @ rotation(0.4).T

    def weighted(f, y):
        return y * functional.softplus(f)

    spectrum = cf.orthogonal_first_layer(w, V, grid, mass, loss=weighted, check=False)
    assert sorted(spectrum.cells) == ["", "", "", *["pair"] * 2, *["triple"] * 3]
    # The moment along the outputs is another one than beside them.
    outputs = grid @ (V.T @ w)
    curvature = mass * torch.sigmoid(outputs) * torch.sigmoid(-outputs)
    along = outputs / outputs.square().mul(mass).mean().sqrt()
    assert float((curvature * along**2).mean() / curvature.mean()) < 0.95
    hessian = brute_force(instances.Orthogonal.network(V, w), grid, mass,
                          lambda f, y: weighted(f, y).mean())  # fmt: skip
    require_spectrum(spectrum, hessian)


def normal_rule(count):
    """Nodes and weights of Gauss and Hermite for the standard normal law."""
    from numpy.polynomial.hermite_e import hermegauss

    nodes, weights = hermegauss(count)
    return nodes, weights / weights.sum()


def rotation(angle):
    return numbers(math.cos(angle), -math.sin(angle), math.sin(angle), math.cos(angle)).reshape(
        2, 2
    )


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_sextic_under_inputs_that_a_loss_weights_to_standard_ones(sign):
    for net in FAMILIES["sextic"].drawn(DRAW).values():
        mass = sign * (1 + net.y**2)
        x = net.x - (mass * net.x).mean() / mass.mean()
        size = ((mass * x * x).mean() / mass.mean()).sqrt()
        if size < 1e-8:
            continue  # one point alone
        x = x / size

        def loss(f, y, mass=mass):
            return mass * f**2 / 2 + y * torch.cos(f * 0) * f

        coefficients = cf.bias_sextic(net.w, net.v, net.b, x, net.y, loss=loss)
        spectrum = cf.linear_with_bias(net.w, net.v, net.b, x, net.y, loss=loss)
        outliers = torch.cat([spectrum.select("outlier"), numbers(0.0)])[:6]
        if len(net.w) > 1:
            radius = float(outliers.abs().max())
            powers = (outliers[:, None] / radius) ** torch.arange(6, -1, -1)
            scaled = coefficients * radius ** torch.arange(6, -1, -1).double()
            assert float((powers @ scaled).abs().max()) <= 1e-9 * float(scaled.abs().max())


def test_standard_inputs_are_not_enough_for_the_sextic_of_another_loss():
    net = FAMILIES["sextic"].drawn(DRAW)["random 0"]
    with pytest.raises(cf.AssumptionError, match=r"assumes mean\(l'' x\) = 0"):
        cf.bias_sextic(**net.arguments, loss=nn.BCEWithLogitsLoss())
    loss = {"loss": nn.BCEWithLogitsLoss()}
    coefficients = cf.bias_sextic(**net.arguments, **loss, check=False)
    largest = cf.linear_with_bias(**net.arguments, **loss).eigenvalues[-1]
    terms = coefficients * largest ** torch.arange(6, -1, -1)
    assert float(terms.sum().abs()) > 1e-3 * float(terms.abs().max())


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: getattr(loss, "__name__", str(loss)))
def test_bounds_of_attention_hold_for_any_loss(loss):
    for net in FAMILIES["attention"].drawn(DRAW).values():
        values = evaluate(net, loss=loss).eigenvalues
        numbers_of = cf.attention_coefficients(**net.arguments, loss=loss)
        weights = net.w_query, net.w_key
        slack = TOLERANCE * float(values.abs().max())
        lower, upper = cf.attention_largest_eigenvalue_bounds(numbers_of, *weights)
        assert float(lower) - slack <= float(values[-1]) <= float(upper) + slack
        if len(net.w_query) > 1 and float(values.abs().min()) > slack:
            bound = float(cf.condition_number_bound(numbers_of, *weights))
            assert bound <= float(values.abs().max() / values.abs().min()) * (1 + TOLERANCE)


@pytest.mark.parametrize("loss", [log_cosh, welsch, nn.BCEWithLogitsLoss()])
def test_the_bulk_of_vector_attention_is_that_of_any_loss(loss):
    draw = Draw(seed=5)
    for width in (4, 5, 6):
        weights = draw.normal(2, 2), draw.normal(2, width), draw.normal(2, width)
        x, y = draw.normal(2, 3, 2), draw.normal(2, 3, 2)
        bulk = cf.vector_attention_bulk(*weights, x, y, loss=loss)
        hessian = brute_force(VectorSelfAttention(*weights), x, y,
                              lambda f, t: each(loss)(f, t).mean())  # fmt: skip
        vectors, values = bulk.eigenvectors(), bulk.eigenvalues
        assert len(values) == 4 * (width - 3)
        size = float(torch.linalg.matrix_norm(hessian, 2))
        assert float((hessian @ vectors - vectors * values).abs().max()) <= TOLERANCE * size
        assert not torch.allclose(values, cf.vector_attention_bulk(*weights, x, y).eigenvalues)


def test_labels_alone_say_nothing_of_other_losses():
    """Of the same inputs' and labels' moments one set has a logistic minimum, and one has none."""
    y = numbers(1.0, 1.0, 1.0, 0.0)
    same, turned = torch.ones(4).double(), numbers(1.0, 1.0, 1.0, -1.0)
    for x in (same, turned):
        assert float(x @ x) == 4
        assert float(x @ y) == 3
    c = numbers(3.0).log()[0]  # three of four labels are 1
    root = c.sqrt()
    layers = root[None], root[None]
    at = cf.two_layer_linear(*layers, same, y, loss=nn.BCEWithLogitsLoss())
    assert float(at.eigenvalues[-1]) == pytest.approx(2 * float(c) * 3 / 16, rel=1e-12)
    assert float(at.eigenvalues[0]) == pytest.approx(0, abs=1e-15)
    for c in (1.0, 10.0, 30.0):  # separable: the slope vanishes nowhere
        layer = [math.sqrt(c), 0.0]
        spectrum = cf.two_layer_linear(layer, layer, turned, y, loss=nn.BCEWithLogitsLoss())
        assert float(spectrum.select("bulk")[0]) < 0


def test_losses_of_a_shape_that_no_head_has():
    net = FAMILIES["multi_output"].drawn(DRAW)["random 1"]
    with pytest.raises(ValueError, match="one number for each output or each sample"):
        evaluate(net, loss=lambda f, y: ((f - y) ** 2).sum())
    with pytest.raises(ValueError, match="couples outputs"):
        evaluate(net, loss=lambda f, y: ((f - y).sum() * f).sum(1))
    with pytest.raises(ValueError, match="kink"):
        cf.multi_output([[1.0], [1.0]], [[1.0], [1.0]], [1.0, 2.0], [[0.0, 0.0]] * 2,
                        loss=lambda f, y: f.amax(1))  # fmt: skip


def test_the_gauss_newton_matrix_of_a_deep_network_takes_losses_that_couple_outputs():
    draw = Draw(seed=6)
    for number in range(200):
        widths = [draw.integer(1, 3) for _ in range(draw.integer(2, 5))]
        weights = [draw.scaled(after, before) for before, after in pairwise(widths)]
        weights[0] *= number % 9 > 0
        x, y = draw.normal(widths[0], 5), torch.softmax(draw.normal(5, widths[-1]), dim=1)
        # Of a saturated softmax float64 knows the second derivatives to few digits.
        weights[-1] *= small(instances.end_to_end(weights) @ x)
        model = Perceptron(weights, [1.0] * len(weights), "linear")
        loss = [nn.CrossEntropyLoss(), welsch, nn.BCEWithLogitsLoss()][number % 3]
        outputs, theta = functions(model, x.T)
        jacobian = torch.autograd.functional.jacobian(outputs, theta).flatten(0, 1)
        at = outputs(theta)

        def total(vector, at=at, y=y, loss=loss):
            return each(loss)(vector.view(at.shape), y).sum() / len(y)

        inner = torch.autograd.functional.hessian(total, at.flatten())
        spectrum = cf.deep_linear(weights, x, y.T, loss=loss)
        require_spectrum(spectrum, jacobian.T @ inner @ jacobian)


def test_a_deep_network_has_another_hessian_away_from_the_minimum_of_a_loss():
    weights = [[[1.0], [0.5]], [[1.0, 2.0]]]
    spectrum = cf.deep_linear(weights, [[1.0, 2.0]], [[1.0, 0.0]], loss=nn.BCEWithLogitsLoss())
    hessian = cf.two_layer_linear(
        [1.0, 2.0], [1.0, 0.5], [1.0, 2.0], [1.0, 0.0], loss=nn.BCEWithLogitsLoss()
    )
    away = spectrum.eigenvalues - hessian.eigenvalues
    assert float(away.abs().max()) > 0.1 * float(hessian.eigenvalues[-1])


def test_white_inputs_give_a_deep_network_no_problem_for_each_output_under_a_softmax():
    draw = Draw(seed=2)
    x, y = whitened(draw.normal(6, 2)), torch.softmax(draw.normal(6, 2), dim=1)
    weights = [draw.normal(2, 2), draw.normal(2, 2)]
    spectrum = cf.deep_linear(weights, x.T, y.T, loss=nn.CrossEntropyLoss())
    p = torch.softmax(x @ (weights[1] @ weights[0]).T, dim=1)
    mean = torch.diag(p.mean(0)) - p.T @ p / len(p)
    apart = torch.kron(mean, x.T @ x / len(x))
    gram = torch.kron(torch.eye(2).double(), weights[0].T @ weights[0])
    gram += torch.kron(weights[1] @ weights[1].T, torch.eye(2).double())
    values = torch.linalg.eigvals(apart @ gram).real.max()
    assert abs(float(values - spectrum.eigenvalues[-1])) > 0.01 * float(values)

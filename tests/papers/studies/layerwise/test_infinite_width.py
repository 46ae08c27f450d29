"""Samples of two-layer classifiers, against autograd, dense matrices and integrals."""

import math

import numpy as np
import pytest
import scipy
import torch
import xarray as xr
from fan_out_contract import contract
from infinite_width_arrays import config
from torch import nn
from torch.autograd.functional import hessian

from hessian_papers import labelled
from hessian_papers.studies.layerwise.infinite_width import quantities, study
from hessian_papers.studies.layerwise.infinite_width.sampling import CHUNK, Expectations, Network
from hessian_papers.theorems import rectified
from hessian_spectra.seeding import generator


def network(law="rectified", width=9, inputs=27, classes=3, seed=0):
    return Network.drawn(law, width, inputs, classes, generator(seed, "weights"))


def halves(net, count=40, kept=20):
    return [Expectations.sampled(net, count, kept, generator(1, half)) for half in "ab"]


def test_expectations_are_the_means_of_what_autograd_finds():
    net = network()
    actual = Expectations.sampled(net, 30, 30, generator(1, "a"))

    def loss(u):
        logits = net.second @ torch.relu(u)
        return nn.functional.cross_entropy(logits[None], torch.tensor([1]))

    assert bool((actual.inputs >= 0).all())
    output = torch.stack([hessian(loss, net.first @ x) for x in actual.inputs])
    torch.testing.assert_close(actual.output, output.mean(dim=0), rtol=1e-11, atol=1e-13)
    each = torch.einsum("sci,scj->sij", actual.roots, actual.roots)
    torch.testing.assert_close(each, output, rtol=1e-11, atol=1e-13)

    def mean_loss(weights):
        return torch.stack([loss(weights @ x) for x in actual.inputs]).mean()

    dense = hessian(mean_loss, net.first)
    expected = torch.linalg.eigvalsh(dense.reshape(9 * 27, 9 * 27))[-3:]
    values, _ = quantities.dual_top(actual, actual, 3)
    torch.testing.assert_close(values / 30, expected, rtol=1e-10, atol=1e-13)
    on = (actual.inputs @ net.first.T > 0).double()
    torch.testing.assert_close(actual.both, on.T @ on / 30)


def test_more_inputs_than_fit_at_once_are_all_counted():
    net = network(law="gaussian")
    count = 2 * CHUNK + 3
    actual = Expectations.sampled(net, count, CHUNK + 5, generator(1, "a"))
    assert actual.roots.shape == (CHUNK + 5, 3, 9)
    assert actual.inputs.shape == (CHUNK + 5, 9)
    u = torch.cat([u for _, u in net.inputs(count, generator(1, "a"))])
    torch.testing.assert_close(actual.both.diagonal(), (u > 0).double().mean(dim=0))


def test_an_independent_copy_is_the_mean_over_all_pairs_of_inputs():
    net = network()
    actual = Expectations.sampled(net, 12, 12, generator(1, "a"))
    on = (actual.inputs @ net.first.T > 0).double()
    y = torch.relu(actual.inputs @ net.first.T)
    p = torch.softmax(y @ net.second.T, dim=1)
    total = torch.zeros(9, 9, dtype=torch.float64)
    for item in on:
        rows = net.second * item
        for q in p:
            total += rows.T @ (torch.diag(q) - torch.outer(q, q)) @ rows
    torch.testing.assert_close(actual.independent(net.second), total / 144, rtol=1e-12, atol=1e-15)


def test_a_softmax_given_two_active_units_is_the_mean_over_their_inputs():
    net = network()
    actual = Expectations.sampled(net, 200, 200, generator(1, "a"))
    u = actual.inputs @ net.first.T
    mean, variance = net.pre_activations
    first, second = (mean / variance.sqrt()).abs().argsort()[:2].tolist()
    chosen = u[(u[:, first] > 0) & (u[:, second] > 0)]
    p = torch.softmax(chosen.relu() @ net.second.T, dim=1)
    total = sum(torch.diag(q) - torch.outer(q, q) for q in p)
    assert 20 < len(chosen) < 100
    torch.testing.assert_close(actual.conditioned, total / len(chosen))


def test_weights_are_held_against_the_lemmas():
    net = network()
    values, (n, d) = quantities.weight_quantities(net), net.first.shape
    W = net.first.numpy()
    assert float(values["first_gram"]) == pytest.approx(
        np.abs(np.linalg.eigvalsh(W @ W.T) - 1).max()
    )
    alpha = np.log(d) / np.log(n) - 1
    norms = np.sqrt((W**2).sum(axis=0))
    assert float(values["columns"]) == pytest.approx(norms.max() / (5 * n ** (-alpha / 2)))
    assert float(values["largest_first"]) == pytest.approx(np.abs(W).max() / (2 * d ** (-1 / 3)))


def test_factors_have_the_law_of_the_weights_products():
    """Bartlett's factor: E L Lᵀ = I, variances 2/d on the diagonal and 1/d beside it."""
    d, count = 12, 4000
    draws = generator(3, "factors")
    factors = [Network.drawn("gaussian", 4, d, 2, draws).first for _ in range(count)]
    products = torch.stack([factor @ factor.T for factor in factors])
    expected = torch.full((4, 4), 1 / d).double() + torch.eye(4).double() / d
    off = (products.mean(dim=0) - torch.eye(4).double()) / (expected / count).sqrt()
    assert float(off.abs().max()) < 4
    relative = products.var(dim=0) / expected - 1
    # The relative error of a variance, of tails a little heavier than Gaussian ones.
    assert float(relative.abs().max()) < 4 * math.sqrt(4 / count)


@pytest.mark.parametrize("law", study.LAWS)
def test_moments_given_the_weights_are_those_of_sampled_pre_activations(law):
    net = network(law)
    mean, variance = net.pre_activations
    u = torch.cat([u for _, u in net.inputs(20000, generator(5, "inputs"))])
    assert float(((u.mean(dim=0) - mean) / (variance / 20000).sqrt()).abs().max()) < 4
    assert float((u.var(dim=0) / variance - 1).abs().max()) < 0.06


def test_spaces_apart_are_projectors_apart():
    draws = generator(0, "spaces")
    a, b = (torch.linalg.qr(torch.randn(8, 3, generator=draws).double()).Q for _ in range(2))
    distance = float((a @ a.T - b @ b.T).square().sum()) / 6
    assert quantities.spaces_apart([a, a], [b, b]) == pytest.approx(distance, rel=1e-12)
    assert quantities.spaces_apart([a, b], [b, a]) == pytest.approx(-distance, rel=1e-12)


def test_the_layer_is_that_of_dense_matrices():
    parts = halves(network(), count=20, kept=20)
    spaces = [quantities.top_space(part.output, 2) for part in parts]
    actual = quantities.layer_quantities(parts, spaces)
    mean, variance = network().entry
    second_moments = mean**2 * torch.ones(27, 27).double() + variance * torch.eye(27).double()
    tops, ratios, approximate = [], [], []
    for part in parts:
        jacobian = torch.einsum("sci,sx->scix", part.roots, part.inputs).reshape(-1, 9 * 27)
        values, vectors = torch.linalg.eigh(jacobian.T @ jacobian)
        tops.append(vectors[:, -2:])
        ratios.append(float(values[-3] / values[-2]))
        approximate.append(quantities.top_space(torch.kron(part.output, second_moments), 2))
    assert actual["layer"] == pytest.approx(quantities.spaces_apart(tops, approximate), rel=1e-6)
    assert actual["layer_ratio"] == pytest.approx(np.mean(ratios), rel=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_softmax_of_gaussian_logits_is_the_integral(classes):
    draws = generator(classes, "logits")
    mean = torch.randn(classes, generator=draws).double()
    root = torch.randn(classes, classes, generator=draws).double()
    actual = quantities._softmax_of_gaussian_logits(mean, root @ root.T)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    points = torch.from_numpy(np.stack(np.meshgrid(*[nodes] * classes), -1).reshape(-1, classes))
    shares = np.prod(np.meshgrid(*[weights / weights.sum()] * classes), axis=0).ravel()
    p = torch.softmax(mean + points @ root.T, dim=1)
    expected = torch.diag(p.T @ torch.from_numpy(shares)) - p.T @ (
        torch.from_numpy(shares)[:, None] * p
    )
    torch.testing.assert_close(actual, expected, rtol=0, atol=3e-4)


def test_limits_are_the_integrals():
    def square(g):
        return scipy.stats.norm.cdf(g / np.sqrt(np.pi - 1)) ** 2 * scipy.stats.norm.pdf(g)

    expected, _ = scipy.integrate.quad(square, -12, 12, epsabs=1e-13)
    actual = rectified.limits(study.LAWS)
    np.testing.assert_allclose(actual["space_limit"], [0.25 / expected, 1], rtol=1e-11)
    np.testing.assert_allclose(actual["projected_limit"], [0.6873, 1], atol=1e-4)


def test_a_width_with_too_many_weights_is_left_out(monkeypatch):
    """The first α lacks the first width, and the widths stay in their order all the same."""
    monkeypatch.setattr(study, "LARGEST_LAYER", 600)
    small = config(laws=["rectified"], widths=[12, 8], classes=[2, 3], alpha=[1.0, 0.5], draws=2)
    assert len(study._items(small, xr.Dataset())) == 2 * 3 * 2
    sides = study.closed_form(small, xr.Dataset()), study.numerics(small, xr.Dataset())
    actual = labelled.joined(sides)
    assert actual["width"].values.tolist() == [12, 8]
    present = np.isfinite(actual["space"]).all(["law", "classes", "draw"])
    assert present.values.tolist() == [[False, True], [True, True]]
    np.testing.assert_allclose(actual["norm"], actual["exact_norm"], rtol=1e-12)


test_items_repeat_and_a_probe_costs_less = contract(study.numerics, config, xr.Dataset)

"""Posteriors: gradients against plain autograd, draws against drawn weights, bases, resumption."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.testing import assert_close

from hessian_spectra import curvature as cv
from hessian_spectra.pac_bayes import minimisation
from hessian_spectra.pac_bayes.bases import KINDS, layer_bases
from hessian_spectra.pac_bayes.draws import OneNetwork, OwnNetworks, error_of_draws
from hessian_spectra.pac_bayes.minimisation import minimise_bound
from hessian_spectra.pac_bayes.posterior import GaussianPosterior
from hessian_spectra.pac_bayes.settings import BoundDescent

from .networks import BrokenError, agree, drawn_scores, drawn_weights

SIZES = (5, 4, 3, 2)


def network(seed=0, sizes=SIZES, bias=True):
    draws = torch.Generator().manual_seed(seed)
    layers = []
    for place, (before, size) in enumerate(itertools.pairwise(sizes)):
        layer = nn.Linear(before, size, bias=bias)
        for value in layer.parameters():
            nn.init.normal_(value, std=0.7, generator=draws)
        layers += [layer] + ([nn.ReLU()] if place < len(sizes) - 2 else [])
    return nn.Sequential(*layers)


def data(samples=40, seed=1):
    draws = torch.Generator().manual_seed(seed)
    x = torch.randn(samples, SIZES[0], generator=draws) * torch.tensor([3.0, 1, 1, 0.3, 0.1])
    return x, (x[:, 0] + x[:, 1] > 0).long()


def posterior_with(kind, bias=True):
    """In double precision, with bases of a kind and a prior elsewhere."""
    model, (x, y) = network(bias=bias).double(), data()
    actual = GaussianPosterior(model, network(seed=5, bias=bias).state_dict(), -1.2).double()
    actual.bases = dict(layer_bases(model, x.double(), y, kind))
    return model, actual, x.double(), y


@pytest.mark.parametrize("samples", [1, 2, 40])
@pytest.mark.parametrize("leads", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_plain_autograd(kind, bias, leads, samples):
    """For few samples the outputs of layers are perturbed, for many the weights."""
    model, posterior, x, y = posterior_with(kind, bias)
    x, y = x[:samples], y[:samples]
    noise = torch.randn(posterior.mean.numel(), generator=torch.Generator().manual_seed(3)).double()
    for parameter in posterior.parameters():
        parameter.grad = torch.zeros_like(parameter)
    leading = posterior.leading(x) if leads else None
    draw = OneNetwork(noise * posterior.log_deviation.detach().exp(), leading)
    loss = functional.cross_entropy(posterior(x, draw), y)
    loss.backward()

    mean, scale = (
        value.detach().clone().requires_grad_()
        for value in (posterior.mean, posterior.log_deviation)
    )
    expected = functional.cross_entropy(
        drawn_scores(posterior, model, mean, scale, noise[None], x)[0], y
    )
    expected.backward()
    assert_close(loss, expected, rtol=1e-12, atol=0)
    assert_close(posterior.mean.grad, mean.grad, rtol=1e-9, atol=1e-12)
    assert_close(posterior.log_deviation.grad, scale.grad, rtol=1e-9, atol=1e-12)
    state = drawn_weights(posterior, model, mean, scale, noise[None])
    for name, value in posterior.model_state(noise).items():
        assert_close(value, state[name][0].detach(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_drawn_without_weights_is_distributed_as_with_them(kind):
    """Mean and covariance of the scores of one input, and of the other layers through ReLU."""
    model, posterior, x, _ = posterior_with(kind)
    posterior.log_deviation.data.fill_(-1.0)
    posterior.log_deviation.data[::3] += 1.5
    draws, count = torch.Generator().manual_seed(7), 40000
    with torch.no_grad():
        actual = posterior(x[:1].expand(count, -1), OwnNetworks(posterior, draws))
        noise = torch.randn(4000, posterior.mean.numel(), generator=draws).double()
        numbers = posterior.mean, posterior.log_deviation, noise
        agree(actual, drawn_scores(posterior, model, *numbers, x[:1])[:, 0])


def settings(**changes):
    fields = {
        "epochs": 8, "batch_size": 16, "learning_rate": 0.02, "decay_every": 4, "smoothing": 0.9,
        "basis": "kronecker", "refresh": 3, "refresh_grows": False, "delta": 0.025,
        "grid_precision": 100.0, "largest_variance": 0.1,
    }  # fmt: skip
    return BoundDescent(**(fields | changes))


def test_the_regulariser_and_its_gradients_are_those_of_the_formula():
    _, posterior, _, _ = posterior_with("kronecker")
    plan = minimisation._Plan(samples=700, **vars(settings()))
    posterior.half_log_variance.data.fill_(-1.9)
    for parameter in posterior.parameters():
        parameter.grad = torch.zeros_like(parameter)
    variances = (2 * posterior.log_deviation.detach()).exp()
    value = minimisation._regularised(posterior, plan, variances)

    mean, scale, half = (p.detach().clone().requires_grad_() for p in posterior.parameters())
    variance = torch.exp(2 * half)
    ratio = torch.exp(2 * scale) / variance
    divergence = 0.5 * (
        ratio.sum() + (mean - posterior.prior).square().sum() / variance - len(mean)
        - ratio.log().sum()
    )  # fmt: skip
    index = 100 * (math.log(0.1) - 2 * half)
    union = 2 * index.log() + math.log(math.pi**2 * 700 / (6 * 0.025))
    expected = torch.sqrt((divergence + union) / (2 * 699))
    expected.backward()
    assert_close(value, expected.detach())
    for own, other in zip(posterior.parameters(), (mean, scale, half), strict=True):
        assert_close(own.grad, other.grad, rtol=1e-6, atol=1e-9)
    terms = plan.terms(posterior)
    assert terms["divergence"] == pytest.approx(divergence.item(), rel=1e-6)
    assert terms["complexity"] == pytest.approx(2 * expected.item() ** 2, rel=1e-6)


def test_no_prior_comes_nearer_to_the_largest_than_the_first_of_the_grid():
    """Where j approaches 0 the printed bound falls without end."""
    _, posterior, _, _ = posterior_with("standard")
    plan = minimisation._Plan(samples=700, **vars(settings()))
    posterior.half_log_variance.data.fill_(0.5 * math.log(0.1))
    variances = posterior.log_deviation.detach().exp().square()
    for parameter in posterior.parameters():
        parameter.grad = torch.zeros_like(parameter)
    minimisation._regularised(posterior, plan, variances)
    assert plan.terms(posterior)["index"] == pytest.approx(1.0)


def test_bases_are_eigenbases_of_what_they_are_called_after():
    model, _, x, y = posterior_with("exact")
    problem = cv.Problem(model, nn.CrossEntropyLoss(), [(x, y)])
    hessians = {name: layer.hessian for name, layer in cv.layerwise(problem).items()}
    for kind in KINDS[1:]:
        for name, basis in layer_bases(model, x, y, kind).items():
            layer = cv.layerwise(problem, name)
            turned = {
                "outputs": layer.output_hessian, "inputs": layer.input_autocorrelation,
                "whole": hessians[name] @ torch.eye(hessians[name].shape[0]).double(),
            }  # fmt: skip
            if kind == "nearest":
                best = layer.best_kronecker(tolerance=1e-9)
                turned |= {"outputs": best.output, "inputs": best.inputs}
            if kind == "printed output":
                del turned["outputs"]
            for part, columns in basis.arrays().items():
                identity = torch.eye(len(columns)).double()
                assert_close(columns.T @ columns, identity, atol=1e-10, rtol=0)
                if part in turned:
                    inner = columns.T @ turned[part] @ columns
                    loose = 5e-3 if kind == "nearest" else 1e-9
                    rest = inner - torch.diag(inner.diagonal())
                    assert float(rest.norm() / inner.norm()) < loose, (kind, name, part)
                    assert (inner.diagonal().diff() <= loose * inner.norm()).all()


def test_bases_are_found_where_divide_and_conquer_fails(monkeypatch):
    model, _, x, y = posterior_with("standard")
    expected = layer_bases(model, x, y, "kronecker")

    def fails(matrix):
        raise torch.linalg.LinAlgError("linalg.eigh: The algorithm failed to converge")

    with monkeypatch.context() as patch:
        patch.setattr(torch.linalg, "eigh", fails)
        actual = layer_bases(model, x, y, "kronecker")
    for name, basis in expected.items():
        for part, columns in basis.arrays().items():
            aligned = (getattr(actual[name], part) * columns).sum(dim=0).abs()
            # Of the largest eigenvalue, which no other is near.
            assert float(aligned[0]) == pytest.approx(1.0, abs=1e-9)


def test_silent_units_have_any_basis():
    model, _, x, y = posterior_with("standard")
    model[2].bias.data.fill_(-1e3)
    basis = layer_bases(model, x, y, "nearest")["0"]
    for columns in basis.arrays().values():
        identity = torch.eye(len(columns)).double()
        assert_close(columns.T @ columns, identity, atol=1e-10, rtol=0)


def test_the_printed_output_hessian_is_that_of_halved_weights():
    model, _, x, y = posterior_with("standard")
    shares = functional.softmax(model(x), dim=1).detach()
    behind = torch.diag(shares.mean(dim=0)) - shares.T @ shares / len(x)
    product = (model[4].weight @ model[2].weight / 4).detach()
    printed = product.T @ behind @ product
    columns = layer_bases(model, x, y, "printed output")["0"].outputs
    inner = columns.T @ printed @ columns
    assert float((inner - torch.diag(inner.diagonal())).abs().max()) < 1e-12


def run(kind="kronecker", checkpoint=None, **changes):
    model, (x, y) = network(), data()
    posterior = GaussianPosterior(model, network(seed=5).state_dict(), -2.0)
    actual = minimise_bound(
        posterior, model, x, y, settings(basis=kind, **changes), seed=3, checkpoint=checkpoint
    )
    return posterior, actual


@pytest.mark.parametrize("fitting", [1, 7, 10**6])
def test_an_update_in_parts_is_that_of_the_whole(monkeypatch, fitting):
    expected, _ = run("kronecker")
    monkeypatch.setattr(minimisation, "FITTING", fitting)
    posterior, _ = run("kronecker")
    for own, other in zip(posterior.parameters(), expected.parameters(), strict=True):
        assert torch.equal(own, other)
    monkeypatch.setattr(minimisation, "_parts", lambda model: (part for part in model.parameters()))
    posterior, _ = run("kronecker")
    for own, other in zip(posterior.parameters(), expected.parameters(), strict=True):
        assert torch.equal(own, other)


@pytest.mark.parametrize("kind", ["standard", "kronecker"])
def test_what_diverges_has_no_terms_from_there_on(kind):
    _, actual = run(kind, epochs=6, learning_rate=1e9)
    assert not np.isfinite(actual["surrogate"][-1])
    assert actual["epoch"].tolist() == list(range(7))
    for name in minimisation.TERMS:
        assert np.isfinite(actual[name][0])
        assert np.isnan(actual[name][1:]).all()


@pytest.mark.parametrize("kind", ["standard", "kronecker", "exact"])
def test_an_interrupted_descent_goes_on_to_the_same_bits(tmp_path, eager, monkeypatch, kind):
    expected, whole = run(kind)
    plain, seen = minimisation._Bases.__call__, []

    def breaks(self, step):
        seen.append(step)
        if step == 15:
            raise BrokenError
        plain(self, step)

    with monkeypatch.context() as patch:
        patch.setattr(minimisation._Bases, "__call__", breaks)
        with pytest.raises(BrokenError):
            run(kind, tmp_path)
    posterior, actual = run(kind, tmp_path)
    assert seen[-1] == 15
    for name in whole:
        np.testing.assert_array_equal(actual[name], whole[name])
    for own, other in zip(posterior.parameters(), expected.parameters(), strict=True):
        assert torch.equal(own, other)
    for name, basis in expected.bases.items():
        for part, value in basis.arrays().items():
            assert torch.equal(getattr(posterior.bases[name], part), value)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"refresh": 0}, [0]),
        ({"refresh": 3}, [0, 3, 6]),
        ({"refresh": 2, "refresh_grows": True, "epochs": 50, "decay_every": 5}, [0, 2, 4, 6, 26]),
    ],
)
def test_bases_are_found_at_these_epochs(changes, expected):
    plan = minimisation._Plan(samples=40, **vars(settings(**changes)))
    assert plan.refreshes() == expected


@pytest.mark.parametrize(
    ("model", "prior", "message"),
    [
        (
            nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)),
            None,
            "got BatchNorm1d at '1': fold it into the layer before it by torch.nn.utils.fusion$",
        ),
        (nn.Conv2d(2, 2, 1, groups=2), None, "with groups=1, got Conv2d at '' with groups=2$"),
        (nn.Sequential(nn.ReLU()), None, "at least one linear or convolutional layer, got none$"),
        (
            nn.Sequential(nn.Linear(2, 1)),
            {"0.weight": torch.zeros(1, 3)},
            r"prior: expected 0.weight of shape \(1, 2\), got \(1, 3\)",
        ),
    ],
)
def test_other_networks_are_refused(model, prior, message):
    with pytest.raises(ValueError, match=message):
        GaussianPosterior(model, model.state_dict() if prior is None else prior)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"delta": 1.0}, r"delta: expected a probability in \(0, 1\), got 1.0"),
        ({"refresh": -1}, "refresh: expected at least 0, got -1"),
        ({"largest_variance": 0.0}, "largest_variance: expected a positive number, got 0.0"),
    ],
)
def test_bad_settings_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        settings(**changes)


def test_no_draws_tell_nothing():
    posterior = GaussianPosterior(network(), network().state_dict())
    with pytest.raises(ValueError, match="draws: expected at least 1, got 0"):
        error_of_draws(posterior, *data(), draws=0, seed=0)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_noise_is_drawn_on_the_device_of_the_posterior():
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    posterior = GaussianPosterior(model, model.state_dict())
    posterior.log_deviation.data.fill_(-0.5)
    x = torch.randn(500, 4, generator=torch.Generator().manual_seed(0))
    labels = posterior.prediction(x)
    here = error_of_draws(posterior, x, labels, draws=20000, seed=0)
    moved = error_of_draws(posterior.cuda(), x.cuda(), labels.cuda(), draws=20000, seed=0)
    assert 0 < abs(moved - here) < 5 * (here * (1 - here) / 20000) ** 0.5

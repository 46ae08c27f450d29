"""Local reparametrisation: objectives, draws and gradients by brute force, starts, budgets."""

import copy
import math
from functools import cache

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from hessian_spectra import closed_form as cf
from hessian_spectra import pac_bayes
from hessian_spectra.pac_bayes import bounding, local, natural
from hessian_spectra.pac_bayes.bases import layer_factors, turned_precision
from hessian_spectra.pac_bayes.draws import OwnNetworks
from hessian_spectra.pac_bayes.posterior import Basis, GaussianPosterior
from hessian_spectra.training import unfinished

from .networks import BrokenError, agree, drawn_scores, trained

CLASSES = 3


def convolutional(seed=0):
    """Two convolutions and a linear layer, 8 x 8 pixels."""
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(1, 3, 3, stride=2), nn.Tanh(), nn.Conv2d(3, 4, 2, padding=1, bias=False),
        nn.ReLU(), nn.Flatten(), nn.Linear(64, CLASSES),
    )  # fmt: skip


def connected(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, CLASSES))


def samples(count, shape, seed=1):
    draws = torch.Generator().manual_seed(seed)
    x = torch.randn(count, *shape, generator=draws)
    parts = x.flatten(1)[:, :CLASSES]
    return x, parts.argmax(dim=1)


CASES = {"connected": (connected, (6,)), "convolutional": (convolutional, (1, 8, 8))}


def settings(**changes):
    fields = {
        "epochs": 3, "batch_size": 32, "learning_rate": 0.05, "objective": "quadratic",
        "basis": "kronecker", "renewals": 2, "delta": 0.025, "grid_precision": 100.0,
        "largest_variance": 0.1,
    }  # fmt: skip
    return pac_bayes.LocalDescent(**(fields | changes))


@cache
def case(name, count=200):
    """A trained network, one of before, and their samples."""
    make, shape = CASES[name]
    x, y = samples(count, shape)
    return trained(make(), x, y, steps=60, rate=0.02), make(7), (x, y)


def started(name, **changes):
    """A posterior of double precision where the curvature says, its network and its samples."""
    model, before, (x, y) = case(name)
    model = copy.deepcopy(model).double()
    posterior = GaussianPosterior(model, before.state_dict()).double()
    pac_bayes.start_locally(posterior, model, x.double(), y, settings(**changes), seed=0)
    return posterior, model, x.double(), y


@pytest.mark.parametrize("error", [0.01, 0.2, 0.6])
@pytest.mark.parametrize("complexity", [1e-3, 0.05, 0.4])
def test_each_objective_is_a_bound_and_has_its_slopes(error, complexity):
    exact = float(cf.kl_inverse(error, complexity))
    for objective in pac_bayes.OBJECTIVES:
        function = pac_bayes.OBJECTIVES[objective]
        value, *slopes = function(error, complexity)
        assert value >= exact - 1e-12
        for place, slope in enumerate(slopes):
            ends = []
            for sign in (1, -1):
                moved = [error, complexity]
                moved[place] += sign * 1e-6 * moved[place]
                ends.append(function(*moved).value)
            step = 2e-6 * (error, complexity)[place]
            assert slope == pytest.approx((ends[0] - ends[1]) / step, rel=1e-4)
    assert pac_bayes.OBJECTIVES["inverse"](error, complexity).value == exact


def test_a_rate_of_errors_that_is_none_has_the_quadratic_objective():
    for error in (0.0, 1.0, 1.7):
        assert pac_bayes.OBJECTIVES["inverse"](error, 0.2) == pac_bayes.OBJECTIVES["quadratic"](
            error, 0.2
        )


@pytest.mark.parametrize("name", CASES)
def test_scores_are_distributed_as_those_of_drawn_weights(name):
    posterior, model, x, _ = started(name)
    posterior.log_deviation.data.fill_(-1.5)
    posterior.log_deviation.data[::3] += 1.0
    draws, count = torch.Generator().manual_seed(7), 3000
    noise = torch.randn(count, posterior.mean.numel(), generator=draws).double()
    numbers = posterior.mean.detach(), posterior.log_deviation.detach(), noise
    expected = drawn_scores(posterior, model, *numbers, x[:1])[:, 0].detach()
    repeated = x[:1].expand(4 * count, *x.shape[1:])
    turned = natural.Turned(posterior)
    torch.manual_seed(0)
    with torch.no_grad():
        agree(turned(repeated, None, turned.variances()), expected)
        agree(posterior(repeated, OwnNetworks(posterior, draws)), expected)


def test_the_divergence_is_that_of_the_closed_form():
    posterior, *_ = started("convolutional")
    turned, moments = natural.Turned(posterior), posterior.moments()
    variance = math.exp(2 * float(posterior.half_log_variance.detach()))
    sums = moments.squared_distance, moments.variance_sum, moments.log_variance_sum
    expected = float(cf.gaussian_kl(*sums, moments.parameters, variance))
    assert turned.divergence(turned.variances()) == pytest.approx(expected, rel=1e-9)


def orthonormal(size, draws):
    return torch.linalg.qr(torch.randn(size, size, generator=draws).double()).Q


@pytest.mark.parametrize("turned", ["outputs", "inputs", "both"])
def test_a_diagonal_precision_in_another_basis_is_that_of_the_whole_matrix(turned):
    draws = torch.Generator().manual_seed(5)
    sizes = {"outputs": 3, "inputs": 4}
    axes = sizes if turned == "both" else [turned]
    before, after = (
        Basis(**{name: orthonormal(sizes[name], draws) for name in axes}) for _ in range(2)
    )
    variances = torch.rand(3, 4, generator=draws).double() + 0.1

    def dense(basis):
        """Columns are the basis' directions, in the standard one."""
        columns = [basis.turned(row.view(3, 4)).flatten() for row in torch.eye(12).double()]
        return torch.stack(columns, dim=1)

    precision = dense(before) @ torch.diag(1 / variances.flatten()) @ dense(before).T
    expected = (dense(after).T @ precision @ dense(after)).diagonal()
    actual = turned_precision(before, after, 1 / variances)
    assert_close(actual.flatten(), expected)


def test_renewed_bases_leave_the_mean_and_are_those_of_drawn_networks():
    posterior, model, x, y = started("convolutional")
    before, mean = posterior.bases, posterior.mean.detach().clone()
    turned, plan = natural.Turned(posterior), natural.LocalPlan(samples=len(y), **vars(settings()))
    watch = local._Watch(turned, plan, posterior, model, (x, y), 0)
    assert [plan.due(part) for part in (0.0, 0.3, 0.36, 0.69, 0.71, 1.0)] == [0, 0, 1, 1, 2, 2]
    watch(plan.steps // 2)
    assert turned.renewals == 1
    turned.hand_back()
    assert_close(posterior.mean.detach(), mean)
    first = posterior.names[0]
    assert float((posterior.bases[first].outputs - before[first].outputs).abs().max()) > 1e-3
    # A posterior of hardly any spread has the bases of its mean.
    posterior.log_deviation.data.fill_(-20.0)
    draws = torch.Generator().manual_seed(0)
    factors = local._drawn_factors(posterior, model, x, y, draws)
    model.load_state_dict(posterior.model_state())
    expected = layer_factors(model, x, y)[first].output_hessian
    actual = sum(part[first].output_hessian for part in factors) / local.DRAWN_NETWORKS
    assert_close(actual, expected, rtol=1e-6, atol=1e-9)


def test_training_tightens_the_bound_and_tells_it_on_the_way():
    model, _, data = case("convolutional", 800)
    seen = []
    actual = pac_bayes.bound(
        model, data, prior=convolutional().state_dict(), prior_saw="nothing", epochs=10,
        batch_size=50, draws=5000, renewals=2, log=lambda step, metrics: seen.append(dict(metrics)),
    )  # fmt: skip
    on_the_way = [metrics["bound"] for metrics in seen if "bound" in metrics]
    assert actual.bound < on_the_way[0]
    assert actual.bound == pytest.approx(on_the_way[-1], rel=0.1)
    others = samples(3000, (1, 8, 8), seed=5)
    held_out = pac_bayes.error_of_draws(actual.posterior, *others, draws=3000, seed=1)
    assert held_out < actual.bound < 0.6


def test_a_prior_that_is_good_already_is_bounded_without_training():
    """Q = P with a small variance: nothing that training finds is returned if it is no better."""
    x, y = samples(4000, (6,))
    seen = torch.arange(2000)
    prior = trained(connected(), x[:2000], y[:2000], steps=400, rate=0.02)
    actual = pac_bayes.bound(prior, (x, y), prior=prior, prior_saw=seen, epochs=2, draws=20000)
    error = float((prior(x[2000:]).argmax(dim=1) != y[2000:]).float().mean())
    assert actual.prior.kl < 30
    assert actual.bound < error + 0.05


def test_a_training_that_makes_it_worse_is_left_out(monkeypatch):
    model, _, data = case("connected", 600)
    given = {"prior": connected(), "prior_saw": "nothing", "draws": 2000, "epochs": 3}

    def wrecks(posterior, *rest, **more):
        posterior.mean.data += 3.0
        return True

    with monkeypatch.context() as patch:
        patch.setattr(bounding, "minimise_locally", lambda *rest, **more: True)
        expected = pac_bayes.bound(model, data, **given)
        patch.setattr(bounding, "minimise_locally", wrecks)
        assert pac_bayes.bound(model, data, **given) == expected
    actual = pac_bayes.bound(model, data, **given)
    assert actual.bound < expected.bound
    # A certificate can be had by itself.
    again = pac_bayes.certify(actual.posterior, data, prior_saw="nothing", draws=2000)
    assert (again.bound, again.prior, again.classes) == (actual.bound, actual.prior, CLASSES)


@pytest.mark.parametrize("end", ["seconds", "interrupt"])
def test_a_training_that_is_cut_short_has_its_certificate(end):
    model, _, data = case("connected", 600)
    steps = []

    def log(step, metrics):
        steps.append(step)
        if end == "interrupt" and step > 5:
            raise KeyboardInterrupt

    budget = {"seconds": 0.3} if end == "seconds" else {}
    actual = pac_bayes.bound(model, data, prior=connected(), prior_saw="nothing", epochs=2000,
                             draws=2000, log=log, **budget)  # fmt: skip
    assert all(step < 2000 * 50 for step in steps)
    assert 0 < actual.mean_error < actual.bound < 1


def test_an_interrupted_descent_goes_on_to_the_same_bits(tmp_path, eager):
    def run(checkpoint=None, breaks=False, seconds=math.inf):
        posterior, model, x, y = started("convolutional")

        def log(step, metrics):
            # After the bases were found anew.
            if breaks and step >= 24:
                raise BrokenError

        how = {"seed": 3, "log": log, "checkpoint": checkpoint}
        chosen = settings(seconds=seconds, epochs=4)
        pac_bayes.minimise_locally(posterior, model, x, y, chosen, **how)
        return posterior

    expected = run()
    with pytest.raises(BrokenError):
        run(tmp_path, breaks=True)
    actual = run(tmp_path)
    for own, other in zip(actual.parameters(), expected.parameters(), strict=True):
        assert torch.equal(own, other)
    # With a budget it goes on as well, though its rates follow the clock.
    with pytest.raises(BrokenError):
        run(tmp_path / "budget", breaks=True, seconds=1e3)
    assert (tmp_path / "budget" / unfinished.STATE).is_file()
    actual = run(tmp_path / "budget", seconds=1e3)
    assert_close(actual.mean, expected.mean, rtol=1e-2, atol=1e-3)


class Twice(nn.Module):
    """A layer that is used twice."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x):
        return self.layer(self.layer(x))


def test_a_layer_that_is_used_twice_is_refused():
    model = Twice()
    data = samples(100, (6,))
    with pytest.raises(ValueError, match=r"used once on a sample, got 'layer' used 2 times$"):
        pac_bayes.bound(model, data, prior=Twice(), prior_saw="nothing")

"""Certificates of small networks: held by held-out samples, and refused where they would not be."""

import copy
import math

import pytest
import torch
from torch import nn

from hessian_spectra import pac_bayes
from hessian_spectra.pac_bayes import error_of_draws
from hessian_spectra.seeding import generator

from .networks import trained

FEATURES = 5
QUICK = {"epochs": 8, "batch_size": 50, "draws": 2000, "largest_variance": 1.0, "renewals": 1}
PAPER = {**QUICK, "epochs": 20, "batch_size": 32, "method": "paper", "learning_rate": 0.03}


def samples(seed, count, noise=0.1):
    """Two classes on both sides of a plane, some labels exchanged."""
    draws = generator(seed, "samples")
    x = torch.randn(count, FEATURES, generator=draws)
    flipped = torch.rand(count, generator=draws) < noise
    return x, ((x[:, 0] + x[:, 1] > 0) ^ flipped).long()


def network(seed, width=6):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(FEATURES, width), nn.Tanh(), nn.Linear(width, 2))


@pytest.fixture(scope="module")
def case():
    data = samples(0, 400)
    before = network(0)
    return before, trained(before, *data), data


@pytest.fixture(scope="module")
def certified(case):
    """The certificate of this case, and what was told while it was made."""
    before, model, data = case
    said = []
    tell = lambda step, metrics: said.append(dict(metrics))  # noqa: E731
    return pac_bayes.bound(model, data, prior=before, prior_saw="nothing", log=tell, **QUICK), said


@pytest.mark.parametrize("settings", [QUICK, PAPER])
@pytest.mark.parametrize("seed", range(4))
def test_held_out_samples_keep_within_the_bound(seed, settings):
    x, y = samples(seed, 500)
    before = network(seed)
    model = trained(before, x, y)
    actual = pac_bayes.bound(
        model, (x, y), prior=before, prior_saw="nothing", seed=seed, **settings
    )
    held_out = error_of_draws(actual.posterior, *samples(-1 - seed, 5000), draws=5000, seed=seed)
    assert held_out < actual.bound < 0.5


def test_a_lie_about_the_prior_gives_a_bound_that_fails():
    """Labels of noise, learned by heart by the prior itself: its network errs on half of all."""
    x, y = samples(0, 100, noise=0.5)
    prior = trained(network(0, width=60), x, y, steps=100)
    slowly = {**QUICK, "epochs": 40, "largest_variance": 0.1}
    lie = pac_bayes.bound(prior, (x, y), prior=prior, prior_saw="other data", **slowly)
    held_out = error_of_draws(lie.posterior, *samples(1, 5000, noise=0.5), draws=5000, seed=0)
    assert lie.bound < 0.45 < held_out
    with pytest.raises(ValueError, match=r"^prior: expected weights from before the training"):
        pac_bayes.bound(prior, (x, y), prior=prior, prior_saw="nothing", **slowly)


def test_a_prior_of_one_half_is_bounded_on_the_other(case, certified):
    before, model, (x, y) = case
    prior = trained(before, x[:200], y[:200], steps=50)
    half = torch.arange(200)
    actual = pac_bayes.bound(model, (x, y), prior=prior, prior_saw=half, **QUICK)
    assert (actual.given, actual.samples) == (400, 200)
    assert actual.prior_saw == "200 of the 400 samples"
    # The seen half has no part in it, whatever it holds.
    other = torch.cat([torch.full((200, FEATURES), 7.0), x[200:]])
    again = pac_bayes.bound(model, (other, y), prior=prior, prior_saw=half, **QUICK)
    assert again == actual
    from_before, _ = certified
    assert actual.prior.kl < from_before.prior.kl
    assert len(pac_bayes.alternatives(from_before, actual)) == 4


def test_the_same_call_gives_the_same_certificate_and_leaves_the_model(case, certified):
    before, model, (x, y) = case
    state = copy.deepcopy(model.state_dict())
    batches = [(x[:150], y[:150]), (x[150:], y[150:])]
    named = before.state_dict()
    expected, said = certified
    assert expected == pac_bayes.bound(model, batches, prior=named, prior_saw="nothing", **QUICK)
    assert all(torch.equal(state[name], value) for name, value in model.state_dict().items())
    assert expected.moments.parameters == sum(value.numel() for value in model.parameters())
    assert expected.confidence == pytest.approx(0.965)
    terms = [metrics["complexity"] for metrics in said if "complexity" in metrics]
    assert terms[-1] < terms[0]
    double = [copy.deepcopy(network).double() for network in (model, before)]
    of_double = pac_bayes.bound(double[0], (x, y), prior=double[1], prior_saw="nothing", **QUICK)
    assert of_double == expected


class Scaled(nn.Module):
    """Scores that depend on the whole batch."""

    def forward(self, x):
        return x / x.abs().max()


def refused(case, message, **changed):
    before, model, data = case
    given = {"prior": before, "prior_saw": "nothing", **QUICK, **changed}
    model, data = given.pop("model", model), given.pop("data", data)
    with pytest.raises(ValueError, match=message) as caught:
        pac_bayes.bound(model, data, **given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"prior_saw": torch.arange(395)}, "^data: expected at least 8 samples that .*, got 5$"),
        ({"delta": 0.0}, "^delta, delta_monte_carlo: expected positive numbers whose sum is bel"),
        ({"delta": 0.6, "delta_monte_carlo": 0.4}, r"whose sum is below 1, got \(0.6, 0.4\)$"),
        ({"draws": 0}, "^draws: expected at least 1, got 0$"),
        ({"epochs": 0}, "^epochs: expected at least 1, got 0$"),
        ({"basis": "best"}, "^basis: expected one of standard, kronecker, .*, got 'best'$"),
        ({"data": []}, "^data: expected inputs and labels, or batches of them"),
        ({"learning_rate": math.inf}, "^learning_rate: expected a positive number, got inf$"),
        (
            {**PAPER, "learning_rate": 1e30},
            "^learning_rate: expected a rate at which the posterior's",
        ),
        ({"prior": {}}, r"^prior: expected 0.weight of shape \(6, 5\), got none$"),
        (
            {"model": nn.Sequential(nn.LSTM(5, 2))},
            "^model: expected linear and convolutional layers",
        ),
        ({"method": "best"}, "^method: expected one of local, paper, got 'best'$"),
        ({"objective": "best"}, "^objective: expected one of inverse, .*, got 'best'$"),
        (
            {"basis": "exact"},
            "^basis: expected one of standard, kronecker, nearest for this m",
        ),
        ({"seconds": 0.0}, "^seconds: expected a positive number, got 0.0$"),
    ],
)
def test_what_is_no_certificate_is_refused_in_one_line(case, changed, message):
    refused(case, message, **changed)


def test_bad_samples_are_refused(case):
    x, y = case[2]
    arrays = r"makes one of an array\), got \['ndarray', 'Tensor'\]$"
    for data, message in (
        ((x.numpy(), y), arrays),
        ((x, y.float()), "^labels: expected integers"),
        ((x, y + 1), "^labels: expected 0 to 1, got 2$"),
        ((x[:5], y), r"^data: expected inputs \(n, ...\) and labels \(n,\), got"),
        ((x[:0], y[:0]), r"^data: expected inputs \(n, ...\) and labels \(n,\), got \(\(0, 5\), "),
        ((x[:, :3], y), "^data: expected inputs that the model takes, got: .*mat1 and mat2"),
        ((x * math.nan, y), "^inputs: expected finite numbers"),
    ):
        refused(case, message, data=data)


def test_networks_without_an_error_on_one_sample_are_refused(case):
    before = network(0)
    for added, message in (
        (Scaled(), "^model: expected scores of a sample that do not depend on the samples besi"),
        (nn.Flatten(0), r"^model: expected scores \(n, classes\) of at least 2 classes, got \(16,"),
    ):
        refused(case, message, model=before.append(added), prior=before)
        before = network(0)


def test_samples_that_depend_on_each_other_are_spoken_of(case):
    before, model, (x, y) = case
    settings = {"prior": before, "prior_saw": "nothing", **QUICK, "epochs": 1}
    copies = x[:40].repeat(10, 1), y[:40].repeat(10)
    with pytest.warns(UserWarning, match="^data: 400 of 400 samples occur more than once"):
        pac_bayes.bound(model, copies, **settings)
    own = (x - x.mean()) / x.std(correction=0)
    with pytest.warns(UserWarning, match="^data: the inputs have mean 0 and deviation 1 to six"):
        pac_bayes.bound(model, (own, y), **settings)

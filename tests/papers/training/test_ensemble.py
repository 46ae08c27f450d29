"""An ensemble trains as its networks do alone, in a plain PyTorch loop; and how training ends."""

import pytest
import torch

from hessian_papers.models.parametrisation import draw, parametrise
from hessian_papers.models.teacher import teacher_data
from hessian_papers.training import ensemble as training_of_ensembles
from hessian_papers.training.ensemble import CONVERGED, DIVERGED, EPOCH_LIMIT, train_ensemble
from tests.papers.training.plain_loop import train

NETWORKS = [3, 4, 9]
SETTINGS = {
    "learning_rate": 0.03, "seed": 1, "epochs": 40, "smallest_rate": 1e-2, "patience": 2,
}  # fmt: skip
# Sizes, samples and batch size: fewer inputs than a batch has samples, and more; a last batch that
# is smaller; wider than inputs and outputs together, and narrower; two layers and more.
CASES = {
    "wide": ((2, 7, 3), 33, 8),
    "narrow": ((5, 6, 5), 24, 24),
    "small batches": ((5, 40, 5), 50, 3),
    "scalar": ((1, 30, 1), 40, 16),
    "deep": ((10, 20, 12, 10, 10), 64, 16),
    "fewer samples than inputs": ((9, 4, 2), 7, 9),
}
cases = pytest.mark.parametrize(("sizes", "samples", "batch_size"), CASES.values(), ids=CASES)
activations = pytest.mark.parametrize("activation", ["linear", "relu"])
orders = pytest.mark.parametrize("order", ["own", "shared"])


def problem(sizes, samples, activation, name="mup", dtype=torch.float64):
    x, y = (
        part.to(dtype) for part in teacher_data(samples, sizes[0], sizes[-1], activation, seed=5)
    )
    ensemble = draw(name, sizes, activation, 0, NETWORKS, dtype)
    return ensemble, x, y, parametrise(name, sizes).learning_rates


def both(sizes, samples, activation, dtype=torch.float64, name="mup", **changes):
    """The ensemble's training, and that of each network alone."""
    ensemble, x, y, factors = problem(sizes, samples, activation, name, dtype)
    settings = SETTINGS | {"factors": factors} | changes
    actual = train_ensemble(ensemble, x, y, networks=NETWORKS, **settings)
    alone = [
        train(ensemble.network(place), x, y, number, **settings)
        for place, number in enumerate(NETWORKS)
    ]
    return actual, alone


def assert_equal(actual, alone, tolerance):
    assert actual.epochs.tolist() == [item.epochs for item in alone]
    assert actual.status.tolist() == [item.status for item in alone]
    assert actual.rate.tolist() == pytest.approx([item.rate for item in alone], rel=1e-12)
    assert actual.loss.tolist() == pytest.approx([item.loss for item in alone], rel=tolerance)
    for place, item in enumerate(alone):
        for weight, expected in zip(actual.ensemble.weights, item.weights, strict=True):
            error = (weight[place] - expected).norm() / expected.norm()
            assert error < tolerance


@activations
@orders
@cases
def test_float64_equals_a_plain_loop(sizes, samples, batch_size, activation, order):
    pair = both(sizes, samples, activation, batch_size=batch_size, order=order)
    # Forty epochs of rounding, on networks that no longer learn in part.
    assert_equal(*pair, tolerance=1e-10)


@pytest.mark.parametrize("name", ["sp", "ntp"])
@activations
def test_other_parametrisations_equal_a_plain_loop(activation, name):
    assert_equal(*both((3, 8, 9, 2), 30, activation, name=name, batch_size=10), tolerance=1e-10)


@activations
@orders
@cases
def test_float32_equals_a_plain_loop_up_to_rounding(sizes, samples, batch_size, activation, order):
    # The longer a ReLU network trains, the more samples lie where rounding decides whether a unit
    # is on.
    pair = both(
        sizes, samples, activation, torch.float32, batch_size=batch_size, order=order, epochs=5
    )
    assert_equal(*pair, tolerance=1e-5)


def test_networks_end_on_their_own_plateaus():
    actual, alone = both((2, 7, 3), 33, "linear", batch_size=8, epochs=1000)
    assert actual.status.tolist() == [CONVERGED] * 3
    assert len(set(actual.epochs.tolist())) > 1
    assert actual.rate.tolist() == [SETTINGS["smallest_rate"]] * 3
    assert_equal(actual, alone, tolerance=1e-10)


@activations
def test_divergence_is_counted_and_does_not_touch_the_others(activation):
    ensemble, x, y, factors = problem((2, 6, 2), 24, activation)
    # Weights a million times too large overflow within an epoch.
    wild = tuple(weight.clone() for weight in ensemble.weights)
    for weight in wild:
        weight[1] *= 1e6
    settings = SETTINGS | {"factors": factors, "batch_size": 8}
    mixed = train_ensemble(
        type(ensemble)(weights=wild, multipliers=ensemble.multipliers, activation=activation),
        x, y, networks=NETWORKS, **settings,
    )  # fmt: skip
    calm = train_ensemble(ensemble, x, y, networks=NETWORKS, **settings)
    assert mixed.status.tolist()[1] == DIVERGED
    assert mixed.epochs.tolist()[1] == 1
    assert mixed.loss[1].isnan()
    assert all(weight[1].isnan().all() for weight in mixed.ensemble.weights)
    for mine, expected in zip(mixed.ensemble.weights, calm.ensemble.weights, strict=True):
        assert torch.equal(mine[[0, 2]], expected[[0, 2]])
    assert torch.equal(mixed.loss[[0, 2]], calm.loss[[0, 2]])


def test_the_limit_of_epochs_ends_what_has_not_converged():
    actual, alone = both((2, 7, 3), 33, "linear", batch_size=8, epochs=3)
    assert actual.status.tolist() == [EPOCH_LIMIT] * 3
    assert actual.epochs.tolist() == [3] * 3
    assert_equal(actual, alone, tolerance=1e-10)


def test_what_is_logged_are_mean_losses_at_rising_steps(monkeypatch):
    monkeypatch.setattr(training_of_ensembles, "MOST", 2)
    monkeypatch.setattr(training_of_ensembles, "FEWEST", 2)
    said = []
    ensemble, x, y, factors = problem((2, 4, 2), 24, "linear")
    ended = train_ensemble(
        ensemble, x, y, factors=factors, networks=NETWORKS, batch_size=8,
        log=lambda step, metrics: said.append((step, metrics)), **SETTINGS,
    )  # fmt: skip
    steps = [step for step, _ in said]
    assert steps == sorted(set(steps))
    parts = ended.epochs.split(2)
    assert steps[-1] == sum(int(part.max()) for part in parts)
    assert {metrics["training"] for _, metrics in said} <= {1.0, 2.0}
    if len(parts[-1]) == 1:
        assert said[-1][1]["loss"] == pytest.approx(ended.loss[-1].item())

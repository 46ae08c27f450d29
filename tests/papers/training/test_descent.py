"""Training: against gradient descent written by hand in NumPy, and how it ends."""

import numpy as np
import pytest
import torch

from hessian_papers.training.descent import descend, follow, gradient_descent
from hessian_papers.training.optimizers import stochastic_gradient_descent
from hessian_spectra.models import HalfSquaredError, TwoLayerLinear
from hessian_spectra.seeding import generator

WIDTH = 3


def problem(samples=7):
    draws = generator(0, "test/training")
    x, noise = torch.randn(2, samples, generator=draws, dtype=torch.float64)
    return x, 1.5 * x + 0.1 * noise


def network():
    v, w = torch.randn(2, WIDTH, generator=generator(1, "test/weights"), dtype=torch.float64) / 2
    return TwoLayerLinear(v, w)


def train(*, steps, record_every=1, batch_size=None, order=None, **rule):
    """The trajectory of the network by any rule."""
    model = network()
    optimizer = stochastic_gradient_descent(model, **rule)
    loop = {"record_every": record_every, "batch_size": batch_size, "order": order}
    descent = descend(model, HalfSquaredError(), *problem(), optimizer, steps=steps, **loop)
    return follow({"run": descent})["run"]


def plainly(model=None, **settings):
    """The trajectory of plain gradient descent."""
    model = network() if model is None else model
    call = {"learning_rate": 0.1, "steps": 5} | settings
    return gradient_descent(model, HalfSquaredError(), *problem(), **call)


def gradient_by_hand(v, w, x, y):
    """(dv, dw) of 1/(2n) sum_i (<w, v> x_i - y_i)^2."""
    residual_input = np.mean((w @ v * x - y) * x)
    return residual_input * w, residual_input * v


def descend_by_hand(steps, rate, momentum=0.0, nesterov=False, decay=0.0, velocity=(0.0, 0.0)):
    x, y = (array.numpy() for array in problem())
    weights = [parameter.detach().numpy().copy() for parameter in network().parameters()]
    velocity, history = list(velocity), [np.concatenate(weights)]
    for _ in range(steps):
        gradients = gradient_by_hand(*weights, x, y)
        for i, gradient in enumerate(gradients):
            slope = gradient + decay * weights[i]
            velocity[i] = momentum * velocity[i] + slope
            weights[i] = weights[i] - rate * (
                slope + momentum * velocity[i] if nesterov else velocity[i]
            )
        history.append(np.concatenate(weights))
    return np.array(history)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"momentum": 0.9},
        {"momentum": 0.8, "nesterov": True},
        {"decay": 0.1},
        {"momentum": 0.5, "decay": 0.2},
        {"momentum": 0.9, "velocity": (np.array([1.0, -2.0, 0.5]), np.array([0.1, 0.2, 0.3]))},
    ],
    ids=["plain", "heavy ball", "nesterov", "weight decay", "both", "initial velocity"],
)
def test_it_is_the_gradient_descent_that_one_writes_by_hand(settings):
    by_hand = descend_by_hand(20, 0.05, **settings)
    names = {"decay": "weight_decay", "velocity": "initial_velocity"}
    rule = {names.get(name, name): value for name, value in settings.items()}
    if "velocity" in settings:
        rule["initial_velocity"] = [torch.from_numpy(u) for u in settings["velocity"]]
    run = train(lr=0.05, steps=20, **rule)
    weights = torch.cat([run.parameters["v"], run.parameters["w"]], dim=1).numpy()
    # Twenty steps of rounding, on numbers of order one.
    np.testing.assert_allclose(weights, by_hand, rtol=0, atol=1e-13)
    assert run.diverged_at is None


def test_the_losses_are_those_of_the_recorded_parameters():
    x, y = problem()
    run = plainly()
    expected = [
        ((w @ v * x - y).square().mean() / 2).item()
        for v, w in zip(run.parameters["v"], run.parameters["w"], strict=True)
    ]
    np.testing.assert_allclose(run.losses.numpy(), expected, rtol=1e-14)


def test_every_third_step_is_recorded_and_the_last():
    seen = []
    tell = lambda step, metrics: seen.append((step, metrics["loss"]))  # noqa: E731
    run = plainly(steps=10, record_every=3, log=tell)
    assert run.steps.tolist() == [0, 3, 6, 9, 10]
    assert seen == list(zip(run.steps.tolist(), run.losses.tolist(), strict=True))


def test_batches_come_in_a_reproducible_order_that_covers_the_data():
    def run(seed):
        return train(lr=0.1, steps=6, batch_size=3, order=generator(seed, "order"))

    again, other = run(0), run(1)
    assert torch.equal(run(0).parameters["w"], again.parameters["w"])
    assert not torch.equal(other.parameters["w"], again.parameters["w"])
    full = train(lr=0.1, steps=1, batch_size=7, order=generator(0, "order"))
    np.testing.assert_allclose(full.parameters["w"][1], descend_by_hand(1, 0.1)[1, WIDTH:])


def test_divergence_ends_the_run_at_a_known_step_with_finite_arrays():
    steps_seen = []
    run = plainly(learning_rate=50.0, steps=200, log=lambda step, _: steps_seen.append(step))
    assert run.diverged_at is not None
    assert 0 < run.diverged_at < 200
    assert run.steps.tolist() == steps_seen == list(range(run.diverged_at))
    assert torch.isfinite(run.losses).all()
    assert all(torch.isfinite(weights).all() for weights in run.parameters.values())


def test_a_network_that_starts_beyond_the_limit_is_refused():
    v = torch.full((WIDTH,), 1e10, dtype=torch.float64)
    with pytest.raises(ValueError, match="finite loss below 1e\\+12 before the first step"):
        plainly(TwoLayerLinear(v, v))


def test_several_descents_advance_together_and_one_may_diverge():
    def start(rate):
        model = network()
        optimizer = stochastic_gradient_descent(model, lr=rate)
        return descend(model, HalfSquaredError(), *problem(), optimizer, steps=30)

    seen = []
    runs = follow({"calm": start(0.1), "wild": start(50.0)}, lambda *entry: seen.append(entry))
    assert runs["calm"].diverged_at is None
    assert runs["wild"].diverged_at is not None
    assert [step for step, _ in seen] == list(range(31))
    assert set(seen[0][1]) == {"calm/loss", "wild/loss"}
    assert set(seen[-1][1]) == {"calm/loss"}
    assert seen[4][1]["calm/loss"] == runs["calm"].losses[4]

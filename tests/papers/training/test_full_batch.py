"""Full-batch descent: against a plain loop, its rule, its ends, and going on after a stop."""

import contextlib

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import nn

from hessian_papers.models.initialisation import kaiming_uniform
from hessian_papers.training.full_batch import full_batch_descent
from hessian_papers.training.halving import gains_too_little
from hessian_papers.training.objectives import SampleObjective
from hessian_spectra.files import read_arrays
from hessian_spectra.models import HalfSquaredError
from hessian_spectra.training import unfinished

SIZES = (6, 5, 4, 3)
MODULES = {"linear": nn.Identity, "relu": nn.ReLU, "tanh": nn.Tanh}


def samples(count=20, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(count, size, generator=generator) for size in (SIZES[0], SIZES[-1]))
    return x.to(dtype), y.to(dtype)


def start(dtype=torch.float64):
    drawn = kaiming_uniform(SIZES, torch.Generator().manual_seed(1))
    return [2 * weight.to(dtype) for weight in drawn]


def lowered(losses, rate, patience, threshold, factor):
    """The rates after each epoch, by the words of the rule, every time from the beginning."""
    rates = []
    since = 0
    for epoch, loss in enumerate(losses):
        if epoch - since >= patience:
            gain = losses[epoch - patience] - loss
            if gain < threshold * losses[epoch - patience]:
                rate, since = rate * factor, epoch
        rates.append(rate)
    return rates


def plain(activation, epochs, rate, patience, threshold, factor):
    """Autograd, torch.optim.SGD, and the rule."""
    x, y = samples()
    layers = []
    for weight in start():
        layer = nn.Linear(weight.shape[1], weight.shape[0], bias=False, dtype=torch.float64)
        layer.weight.data = weight
        layers += [layer, MODULES[activation]()]
    network = nn.Sequential(*layers[:-1])
    optimizer = torch.optim.SGD(network.parameters(), lr=rate)
    losses, states = [], []
    for _ in range(epochs + 1):
        optimizer.zero_grad()
        loss = HalfSquaredError("sample")(network(x), y)
        losses.append(loss.item())
        states.append([weight.detach().clone() for weight in network.parameters()])
        optimizer.param_groups[0]["lr"] = lowered(losses, rate, patience, threshold, factor)[-1]
        loss.backward()
        optimizer.step()
    return losses, states, lowered(losses, rate, patience, threshold, factor)


@pytest.mark.parametrize("activation", MODULES)
def test_it_is_the_plain_loop(activation):
    rule = {"patience": 7, "threshold": 0.2, "factor": 0.5}
    losses, states, rates = plain(activation, 60, 0.3, *rule.values())
    epochs = [0, 1, 33, 60]
    ended = full_batch_descent(
        SampleObjective(*samples(), activation), start(),
        learning_rate=0.3, epochs=60, record=epochs, **rule,
    )  # fmt: skip
    np.testing.assert_allclose(ended.losses.numpy(), losses, rtol=1e-12)
    assert ended.rates.tolist() == rates
    assert ended.halvings == tuple(
        epoch for epoch in range(1, 61) if rates[epoch] < rates[epoch - 1]
    )
    assert len(ended.halvings) >= 2
    assert (ended.recorded, ended.finished, ended.diverged_at) == (tuple(epochs), 60, None)
    for epoch, weights in zip(epochs, ended.weights, strict=True):
        for actual, expected in zip(weights, states[epoch], strict=True):
            torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-12)


loss_sequences = st.lists(
    st.one_of(st.floats(0, 2), st.sampled_from([0.0, 1.0, 0.999, 0.9989, 1.001])),
    min_size=1,
    max_size=60,
)


@settings(max_examples=300)
@given(
    loss_sequences,
    st.integers(1, 20),
    st.sampled_from([0.0, 1e-3, 0.3]),
    st.sampled_from([0.5, 0.1]),
)
def test_the_rule_is_what_its_words_say(losses, patience, threshold, factor):
    rate, rates, halvings = 0.8, [], []
    for epoch in range(len(losses)):
        since = halvings[-1] if halvings else 0
        known = losses[: epoch + 1]
        if gains_too_little(known, epoch, since, patience=patience, threshold=threshold):
            rate *= factor
            halvings.append(epoch)
        rates.append(rate)
    # Where the gain is the threshold to the last bit, rounding decides.
    gains = [
        abs(after - (1 - threshold) * before)
        for before, after in zip(losses, losses[patience:], strict=False)
    ]
    if threshold == 0 or all(gain == 0 or gain > 1e-12 for gain in gains):
        assert rates == lowered(losses, 0.8, patience, threshold, factor)
    assert (np.diff([0, *halvings]) >= patience).all()


def train(**changes):
    call = {"learning_rate": 0.2, "epochs": 50, "record": [0, 20, 50], "patience": 5,
            "threshold": 0.2}  # fmt: skip
    return full_batch_descent(SampleObjective(*samples(), "tanh"), start(), **call | changes)


def equal(single, other):
    assert single.recorded == other.recorded
    for first, second in zip(single.weights, other.weights, strict=True):
        assert all(map(torch.equal, first, second))
    for field in ("losses", "rates"):
        first, second = (getattr(each, field).numpy().tobytes() for each in (single, other))
        assert first == second
    assert (single.halvings, single.finished, single.diverged_at) == (
        other.halvings, other.finished, other.diverged_at,
    )  # fmt: skip


class InterruptionError(Exception):
    """The power has gone."""


@contextlib.contextmanager
def evaluations(interrupted_at=None):
    """Counts the losses that are evaluated, and may end a training from its start in an epoch."""
    seen = []
    follow = SampleObjective.follow

    def watched(objective, weights):
        evaluate, factors = follow(objective, weights)

        def counted():
            if len(seen) == interrupted_at:
                raise InterruptionError
            seen.append(evaluate())
            return seen[-1]

        return counted, factors

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SampleObjective, "follow", watched)
        yield seen


@contextlib.contextmanager
def interrupted_at(epoch):
    """A block that a training ends in, in an epoch that it comes to."""
    with evaluations(epoch), pytest.raises(InterruptionError):
        yield


@pytest.mark.parametrize("epoch", [1, 2, 19, 20, 21, 49, 50])
def test_a_run_in_two_halves_is_one_run(tmp_path, eager, epoch):
    file = tmp_path / "state.npz"
    with interrupted_at(epoch):
        train(checkpoint=tmp_path)
    assert file.exists()
    whole = train()
    with evaluations() as seen:
        equal(train(checkpoint=tmp_path), whole)
    assert seen == whole.losses[epoch:].tolist()
    assert len(whole.halvings) >= 3


def test_what_is_logged_is_the_same_after_an_interruption(tmp_path, eager):
    def logged(**changes):
        said = []
        ended = train(log=lambda step, metrics: said.append((step, metrics)), **changes)
        return said, ended

    said, ended = logged()
    rates = ended.rates.tolist()
    assert said == [
        (epoch, {"loss": loss, "learning_rate": rates[epoch]})
        for epoch, loss in enumerate(ended.losses.tolist())
    ]
    with interrupted_at(20):
        train(checkpoint=tmp_path)
    assert logged(checkpoint=tmp_path)[0] == said
    long, _ = logged(epochs=1000, record=[])
    assert [step for step, _ in long] == list(range(0, 1001, 10))


def test_state_is_written_only_now_and_then(tmp_path, monkeypatch):
    # Longer than any machine pauses.
    monkeypatch.setattr(unfinished, "CHECKPOINT_SECONDS", 1e9)
    file = tmp_path / "state.npz"
    with interrupted_at(40):
        train(checkpoint=tmp_path)
    assert not file.exists()


def torn(file):
    file.write_bytes(file.read_bytes()[:-40])


def replaced_by_another_training(file):
    with interrupted_at(25):
        train(checkpoint=file.parent, learning_rate=0.1)


@pytest.mark.parametrize("harm", [torn, replaced_by_another_training])
def test_a_file_that_is_damaged_or_foreign_is_not_believed(tmp_path, eager, harm):
    file = tmp_path / "state.npz"
    with interrupted_at(30):
        train(checkpoint=tmp_path)
    harm(file)
    with evaluations() as seen:
        equal(train(checkpoint=tmp_path), train())
    assert len(seen) == 2 * 51


def test_the_state_belongs_to_one_training(tmp_path, eager):
    x, y = samples()
    names = set()
    for objective, weights, changes in (
        (SampleObjective(x, y, "tanh"), start(), {}),
        (SampleObjective(x, y, "relu"), start(), {}),
        (SampleObjective(2 * x, y, "tanh"), start(), {}),
        (SampleObjective(x, y, "tanh"), [2 * weight for weight in start()], {}),
        (SampleObjective(x, y, "tanh"), start(), {"patience": 4}),
        (SampleObjective(x, y, "tanh"), start(), {"record": [0]}),
        (SampleObjective(x, y, "tanh"), start(), {"smallest_rate": 1e-3}),
    ):
        file = tmp_path / "state.npz"
        call = {"learning_rate": 0.1, "epochs": 50, "record": [], "checkpoint": tmp_path}
        with interrupted_at(1):
            full_batch_descent(objective, weights, **call | changes)
        names.add(str(read_arrays(file)["digest"]))
    assert len(names) == 7


def test_divergence_is_told_with_what_came_before():
    ended = train(learning_rate=1e3, record=[0, 1, 50])
    at = ended.diverged_at
    assert at is not None
    assert at >= 2
    assert ended.finished == at - 1
    assert torch.isfinite(ended.losses[:at]).all()
    assert (ended.losses[:at] <= 1e12).all()
    assert torch.isnan(ended.losses[at:]).all()
    assert torch.isnan(ended.rates[at:]).all()
    assert ended.recorded == (0, 1)
    assert all(torch.isfinite(weight).all() for weights in ended.weights for weight in weights)


def test_a_start_that_has_diverged_is_refused():
    with pytest.raises(ValueError, match=r"^weights: expected a loss of at most 1e.12 at the"):
        full_batch_descent(
            SampleObjective(*samples(), "linear"), [1e6 * weight for weight in start()],
            learning_rate=0.1, epochs=5, record=[],
        )  # fmt: skip


def test_an_early_stop_leaves_the_weights_where_running_on_would():
    call = {"learning_rate": 0.2, "epochs": 3000, "record": [100, 3000], "patience": 10,
            "threshold": 0.01}  # fmt: skip
    objective = SampleObjective(*samples(), "tanh")
    stopped = full_batch_descent(objective, start(), smallest_rate=1e-4, **call)
    on = full_batch_descent(objective, start(), **call)
    at = stopped.finished
    assert 100 < at < 3000
    assert stopped.rates[at] < 1e-4 <= stopped.rates[at - 1]
    assert torch.equal(stopped.losses[:at], on.losses[:at])
    assert (stopped.losses[at:] == stopped.losses[at]).all()
    assert stopped.recorded == on.recorded
    _, slopes = objective.loss_and_slopes(stopped.weights[1])
    for actual, expected, slope in zip(stopped.weights[1], on.weights[1], slopes, strict=True):
        distance = torch.linalg.matrix_norm(actual - expected)
        # Slopes fall as the loss does.
        assert 0 < distance <= 1e-4 * (3000 - at) * torch.linalg.matrix_norm(slope)

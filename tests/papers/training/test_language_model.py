"""Pre-training: against a plain loop, and interrupted the same training."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from hessian_papers.data.tools.tokens import batch
from hessian_papers.training import language_model
from hessian_spectra.training import Observer, minibatches
from tests.papers.training import small_language_model as small
from tests.papers.training.small_language_model import CONTEXT, TOKENS, Model, loss, plan, trained


def weights(model):
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def plain(model, settings, rates):
    """All sequences of an update as one batch, two groups of weights, and what torch has."""
    decayed = [model.embedding.weight, model.linear.weight]
    others = [model.linear.bias, model.norm.weight, model.norm.bias]
    groups = [
        {"params": decayed, "weight_decay": settings.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, betas=tuple(settings.betas))
    losses = []
    for step, rate in enumerate(rates):
        for group in optimizer.param_groups:
            group["lr"] = rate
        size = settings.batch_size * settings.accumulation
        value, _ = loss(model, batch(TOKENS, step=step, size=size, length=CONTEXT, seed=7))
        optimizer.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        optimizer.step()
        losses.append(value.item())
    return losses


def test_it_is_the_plain_loop():
    settings = plan()
    cosine = [0.01 + 0.045 * (1 + math.cos(math.pi * step / 7)) for step in range(8)]
    rates = [0.025, 0.05, 0.075, *cosine, 0.01]
    assert [settings.rate(step) for step in range(12)] == pytest.approx(rates, rel=1e-12)
    mine, expected = Model(), Model()
    losses = trained(mine, settings)
    assert losses == pytest.approx(plain(expected, settings, rates), rel=1e-12)
    torch.testing.assert_close(weights(mine), weights(expected), rtol=1e-11, atol=1e-12)
    assert losses[-1] < losses[0]


def test_the_random_numbers_of_the_program_are_left_alone():
    model = Model(dropout=0.5)
    torch.manual_seed(3)
    trained(model, plan(steps=2))
    drawn = torch.rand(2)
    torch.manual_seed(3)
    assert torch.equal(drawn, torch.rand(2))


@pytest.mark.skipif(torch.cuda.is_initialized(), reason="nothing waits for a device that is used")
def test_a_device_that_was_never_used_remembers_no_step():
    # torch keeps a call for each, with the stack as text, if it is asked to seed all devices.
    waiting = len(torch.cuda._queued_calls)
    trained(Model(dropout=0.5), plan(steps=3))
    assert len(torch.cuda._queued_calls) == waiting


def test_dropout_depends_on_the_seed_and_the_step_alone():
    first, again, other = (Model(dropout=0.5) for _ in range(3))
    torch.manual_seed(1)
    single = trained(first, plan())
    torch.manual_seed(2)
    two = trained(again, plan())
    assert single.tobytes() == two.tobytes()
    assert single[1] != trained(other, plan(), seed=8)[1]
    assert single[0] != trained(Model(), plan())[0]


class InterruptionError(Exception):
    pass


class Norms(Observer):
    """An observer that goes on where it stood: the sum of the norms that it has seen."""

    def __init__(self, model, at=None):
        self.model, self.at, self.seen, self.total = model, at, {}, 0.0

    def __call__(self, step):
        if step == self.at:
            raise InterruptionError
        self.total += float(weights(self.model).norm())
        self.seen[step] = self.total

    def metrics(self, step):
        return {"norm": self.seen[step]} if step in self.seen else {}

    def state(self):
        steps = sorted(self.seen)
        seen = {"steps": np.array(steps), "sums": np.array([self.seen[step] for step in steps])}
        return {**seen, "total": np.array(self.total)}

    def restore(self, state):
        pairs = zip(state["steps"].tolist(), state["sums"].tolist(), strict=True)
        self.seen, self.total = dict(pairs), float(state["total"])


def followed(folder=None, at=None, **changes):
    """A training with its observer; weights, losses, what was seen, and what was logged."""
    model, said = Model(dropout=0.3, dtype=torch.float32), []
    watch = Norms(model, at)
    losses = trained(
        model,
        plan(**changes),
        observer=watch,
        observed=range(13),
        checkpoint=folder,
        log=lambda step, metrics: said.append((step, dict(metrics))),
    )
    for step, metrics in said:
        # Of those before an interruption the speed is not known any more.
        assert metrics.pop("tokens_per_second", 1.0) > 0 or step == 12
    return weights(model).numpy().tobytes(), losses.tobytes(), watch.seen, said


def interrupted(folder, at, **changes):
    with pytest.raises(InterruptionError):
        followed(folder, at, **changes)


def test_an_interrupted_training_is_the_uninterrupted_one_to_the_bit(tmp_path, eager):
    whole = followed()
    for at in (1, 4, 9, 12):
        interrupted(tmp_path, at)
    assert followed(tmp_path) == whole
    _, _, seen, said = whole
    assert [*seen] == list(range(13))
    assert [step for step, _ in said] == list(range(13))
    assert {*said[3][1]} == {"loss", "learning_rate", "norm"}
    assert {*said[12][1]} == {"norm"}


def torn(file):
    file.write_bytes(file.read_bytes()[:-40])


def emptied(file):
    file.write_bytes(b"")


DAMAGED = r"expected the whole state of an unfinished training, got a damaged file \(.+\)"
FOREIGN = "expected the unfinished state of this training, got that of another configuration"


@pytest.mark.parametrize(
    ("harm", "changes", "message"),
    [(torn, {}, DAMAGED), (emptied, {}, DAMAGED), (None, {"clip": 0.3}, FOREIGN)],
)
def test_a_state_that_is_damaged_or_foreign_is_one_line_and_is_left(
    tmp_path, eager, harm, changes, message
):
    interrupted(tmp_path, 5)
    file = tmp_path / "state.npz"
    if harm:
        harm(file)
    before = file.read_bytes()
    with pytest.raises(ValueError, match=f"^{file}: {message}") as caught:
        followed(tmp_path, **changes)
    assert "\n" not in str(caught.value)
    assert "remove the file to train from the start" in str(caught.value)
    assert file.read_bytes() == before


def test_another_text_seed_or_start_is_another_training(tmp_path, eager):
    interrupted(tmp_path, 5)
    model = Model(dropout=0.3, dtype=torch.float32)
    call = {"observer": Norms(model), "observed": range(13), "checkpoint": tmp_path}
    with pytest.raises(ValueError, match="of another configuration"):
        trained(model, plan(), **call, seed=8)
    with pytest.raises(ValueError, match="of another configuration"):
        trained(model, plan(), **call, identity="twin")
    with pytest.raises(ValueError, match="of another configuration"):
        small.pretrain(model, loss, TOKENS[::-1], plan(), context=CONTEXT, seed=7, **call)
    with torch.no_grad():
        model.linear.bias += 1
    with pytest.raises(ValueError, match="of another configuration"):
        trained(model, plan(), **call)


def test_a_divergence_ends_the_training():
    model = Model(dtype=torch.float32)
    rates = {"learning_rate": 1e30, "smallest_learning_rate": 0.0, "weight_decay": 0.0}
    losses = trained(model, plan(clip=1e30, **rates))
    (end, *rest) = np.flatnonzero(~np.isfinite(losses))
    assert 0 < end < 12
    assert rest == list(range(end + 1, 12))


@pytest.mark.parametrize("rate", [0.1, 1e30])
def test_a_device_that_is_not_waited_for_has_the_same_losses(monkeypatch, rate):
    def followed_for_long():
        model, said = Model(dtype=torch.float32), []
        watch = Norms(model)
        settings = plan(steps=250, decay_steps=250, learning_rate=rate, warmup=60, clip=1e30)
        losses = trained(
            model,
            settings,
            observer=watch,
            observed=range(0, 251, 10),
            log=lambda step, metrics: said.append((step, metrics.get("loss"))),
        )
        return losses.tobytes(), watch.seen, said

    expected = followed_for_long()
    monkeypatch.setattr(minibatches, "_SYNCHRONOUS", ())
    assert followed_for_long() == expected
    assert np.isfinite(np.frombuffer(expected[0])).all() == (rate < 1)


def test_no_state_is_written_once_a_loss_is_not_finite(monkeypatch, tmp_path, eager):
    monkeypatch.setattr(minibatches, "_SYNCHRONOUS", ())
    rates = {"learning_rate": 1e30, "warmup": 0, "clip": 1e30, "steps": 450, "decay_steps": 450}
    model = Model(dtype=torch.float32)
    losses = trained(model, plan(**rates), checkpoint=tmp_path)
    with np.load(tmp_path / "state.npz") as state:
        assert np.isfinite(state["losses"]).all()
        assert len(state["losses"]) <= np.flatnonzero(~np.isfinite(losses))[0]


def test_processes_share_the_micro_batches_evenly(monkeypatch):
    monkeypatch.setattr(language_model, "rank_and_count", lambda: (0, 4))
    with pytest.raises(ValueError, match="accumulation: expected a multiple of the 4 processes"):
        trained(Model(), plan(accumulation=6))


def test_a_text_that_is_too_short_is_one_line():
    with pytest.raises(ValueError, match=r"tokens: expected at least 6 .+ got 4"):
        small.pretrain(Model(), loss, TOKENS[:4], plan(), context=CONTEXT, seed=0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"smallest_learning_rate": 0.2},
            "smallest_learning_rate: expected a number from 0 to the learning rate, 0.1, got 0.2",
        ),
        ({"decay_steps": 3}, "decay_steps: expected more steps than the warm-up, 3, got 3"),
        ({"betas": [0.9]}, r"betas: expected two numbers in \[0, 1\), got \[0.9\]"),
        ({"betas": [0.9, 1.0]}, r"betas: expected two numbers in \[0, 1\)"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        plan(**changes)


def test_mixed_precision_rounds_the_products_alone():
    exact, mixed = Model(dtype=torch.float32), Model(dtype=torch.float32)
    expected, actual = trained(exact, plan()), trained(mixed, plan(precision="bf16"))
    assert actual.tobytes() != expected.tobytes()
    assert actual == pytest.approx(expected, rel=0.02)
    assert mixed.linear.weight.dtype == torch.float32

"""The sharpness of one network, and of one that is trained."""

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from hessian_spectra import curvature as cv

from .cases import classes, normal


def network() -> nn.Sequential:
    """With batch norm and dropout, which training mode would make random."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(
            nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Dropout(0.3), nn.Linear(16, 3)
        ).double()


LOSS = nn.CrossEntropyLoss()
DATA = [(normal(20, 8), classes(20)), (normal(30, 8, seed=4), classes(30, seed=5))]
# A single batch, of which the graph is kept.
ONE = DATA[:1]


def exact(model: nn.Module, data=DATA) -> torch.Tensor:
    at = copy.deepcopy(model).eval()
    return cv.dense_spectrum(cv.hessian(cv.Problem(at, LOSS, data), check=False)).eigenvalues


def train(model: nn.Module, steps: int, tracker=None, rate: float = 0.05) -> list[torch.Tensor]:
    """Everything that a training consists of, after each step."""
    torch.manual_seed(1)
    optimiser = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    seen = []
    for step in range(steps):
        inputs, targets = DATA[step % 2]
        optimiser.zero_grad()
        LOSS(model(inputs), targets).backward()
        optimiser.step()
        if tracker is not None:
            tracker.step(step)
        seen += [part.detach().clone() for part in (*model.parameters(), *model.buffers())]
        seen += [part.grad.clone() for part in model.parameters()]
        seen += [state["momentum_buffer"].clone() for state in optimiser.state.values()]
        seen += [torch.tensor(model.training), torch.random.get_rng_state()]
    return seen


def test_the_sharpness_is_the_largest_eigenvalue():
    model = network().eval()
    actual = cv.sharpness(model, LOSS, DATA, tol=1e-8)
    assert actual.value == pytest.approx(float(exact(model)[-1]), rel=1e-10)
    assert actual.converged
    assert actual.residual <= 1e-8
    image = cv.hessian(cv.Problem(model, LOSS, DATA)) @ actual.eigenvector
    assert float((image - actual.value * actual.eigenvector).norm()) <= 2e-8 * actual.value
    assert float(actual.eigenvector.norm()) == pytest.approx(1)
    again = cv.sharpness(cv.Problem(model, LOSS, DATA), tol=1e-8)
    assert (again.value, again.products) == (actual.value, actual.products)


@pytest.mark.parametrize("matrix", ["hessian", "ggn"])
def test_a_training_is_bit_for_bit_what_it_is_without_a_tracker(matrix):
    first, other = network(), network()
    tracker = cv.SharpnessTracker(other, LOSS, DATA, matrix=matrix, threshold=0.1, k_max=3)
    assert all(map(torch.equal, train(first, 4), train(other, 4, tracker)))
    assert len(tracker.history) == 4


def test_what_is_tracked_is_the_spectrum_in_eval_mode():
    model = network()
    expected = []
    tracker = cv.SharpnessTracker(model, LOSS, DATA, every=2, k=3, tol=1e-6)

    class Both:
        def step(self, step):
            tracker.step(step)
            if step % 2 == 0:
                expected.append(exact(model)[-3:])

    train(model, 5, Both())
    assert [record.step for record in tracker.history] == [0, 2, 4]
    for record, values in zip(tracker.history, expected, strict=True):
        actual = torch.tensor(record.eigenvalues).double()
        assert_close(actual, values, rtol=0, atol=1e-5 * float(values[-1]))
        assert record.sharpness == record.eigenvalues[-1]
        assert record.converged
        assert max(record.residuals) <= 1e-6
        assert record.seconds > 0
    # The buffers are followed, too.
    assert not torch.equal(network()[1].running_mean, model[1].running_mean)


def test_eigenvectors_of_the_time_before_save_products():
    model = network()
    tracker = cv.SharpnessTracker(model, LOSS, ONE, k=2)
    train(model, 8, tracker, rate=0.01)
    products = [record.products for record in tracker.history]
    assert max(products[1:]) < 0.8 * products[0]


def test_as_many_eigenvalues_as_are_above_the_threshold_and_one_more():
    model = network()
    values = exact(model, ONE).flip(0)
    between = [float(values[at : at + 2].mean()) for at in range(8)]
    tracker = cv.SharpnessTracker(model, LOSS, ONE, threshold=between[4], k_max=7)
    actual = tracker.step(0)
    # 1, 2, 4, then 7 at most; five are above, so six are enough.
    assert len(actual.eigenvalues) == 7
    assert len(tracker.step(1).eigenvalues) == 6
    tracker._threshold = between[0]
    assert [len(tracker.step(step).eigenvalues) for step in (2, 3)] == [6, 2]
    tracker._threshold = between[7]
    assert [len(tracker.step(step).eigenvalues) for step in (4, 5)] == [7, 7]
    without = cv.SharpnessTracker(model, LOSS, ONE, k=2)
    assert [len(without.step(step).eigenvalues) for step in range(3)] == [2, 2, 2]


def test_a_step_is_measured_once():
    tracker = cv.SharpnessTracker(network(), LOSS, ONE, every=3)
    actual = [tracker.step(step) for step in (0, 0, 1, 3, 3, 4)]
    assert [record is not None for record in actual] == [True, False, False, True, False, False]
    assert tracker.history == [actual[0], actual[3]]


@pytest.mark.parametrize(
    ("matrix", "check"),
    [("hessian", "check_repeatable"), ("ggn", "check_repeatable"), ("ggn", "require_curved_loss")],
)
def test_a_check_is_made_once(matrix, check, monkeypatch):
    from hessian_spectra.curvature import operators

    checks = []
    monkeypatch.setattr(operators, check, lambda *_: checks.append(1))
    tracker = cv.SharpnessTracker(network(), LOSS, ONE, matrix=matrix)
    for step in range(3):
        tracker.step(step)
    assert checks == [1]


class Run:
    """A logger, as W&B has it."""

    def __init__(self):
        self.logged = []

    def log(self, entries, step):
        self.logged.append((step, entries))


@pytest.mark.parametrize("method", [True, False])
def test_records_are_logged(method):
    run = Run()
    tracker = cv.SharpnessTracker(network(), LOSS, ONE, k=3, log=run if method else run.log)
    record = tracker.step(0)
    ((step, entries),) = run.logged
    assert step == 0
    assert entries == {
        "sharpness": record.sharpness,
        "sharpness/eigenvalue 2": record.eigenvalues[1],
        "sharpness/eigenvalue 3": record.eigenvalues[0],
        "sharpness/residual": max(record.residuals),
        "sharpness/products": record.products,
        "sharpness/seconds": record.seconds,
    }


def test_a_training_that_diverged_goes_on():
    model = network()
    tracker = cv.SharpnessTracker(model, LOSS, ONE)
    tracker.step(0)
    kept = copy.deepcopy(model.state_dict())
    with torch.no_grad():
        model[0].weight.fill_(torch.nan)
    record = tracker.step(1)
    assert record.sharpness != record.sharpness
    assert not record.converged
    model.load_state_dict(kept)
    assert tracker.step(2).converged


def test_a_loss_function_of_model_and_batch_is_tracked():
    def loss_fn(model, batch):
        return LOSS(model(batch["x"]), batch["y"])

    data = [{"x": x, "y": y} for x, y in DATA]
    first = cv.SharpnessTracker(network(), loss_fn=loss_fn, data=data, parameters=["0.weight"])
    at = network().eval()
    problem = cv.Problem(at, LOSS, DATA, ["0.weight"])
    expected = cv.sharpness(problem, tol=1e-8).value
    assert first.step(0).sharpness == pytest.approx(expected, rel=1e-6)

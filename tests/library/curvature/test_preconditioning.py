"""The curvature that Adam sees, of batches one by one, and the noise of their gradients."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from hessian_spectra import curvature as cv

from .cases import built, classes, normal
from .oracles import double_backward, flat

LOSS = nn.CrossEntropyLoss()
# Batches of different lengths.
DATA = [(normal(n, 4, seed=n), classes(n, seed=n)) for n in (5, 8, 11)]


def network() -> nn.Module:
    return built(lambda: nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))).eval()


def step(model: nn.Module, optimizer: torch.optim.Optimizer, number: int) -> None:
    inputs, targets = DATA[number % 3]
    optimizer.zero_grad()
    LOSS(model(inputs), targets).backward()
    optimizer.step()


OPTIMIZERS = {
    "Adam": lambda at: torch.optim.Adam(at, lr=0.01),
    "AdamW, amsgrad": lambda at: torch.optim.AdamW(at, lr=0.01, amsgrad=True, weight_decay=0),
    "RMSprop": lambda at: torch.optim.RMSprop(at, lr=0.01),
    "RMSprop, centred": lambda at: torch.optim.RMSprop(at, lr=0.01, centered=True),
    "Adagrad": lambda at: torch.optim.Adagrad(at, lr=0.01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_diagonal_is_what_a_step_divides_by(name):
    """Beside the state: the step that was made, times P, is the rate times the running mean."""
    model = network()
    optimizer = OPTIMIZERS[name](model.parameters())
    mean, rate = 0.0, 0.01
    for number in range(6):
        before = nn.utils.parameters_to_vector(model.parameters()).detach().clone()
        step(model, optimizer, number)
        gradient = torch.cat([parameter.grad.reshape(-1) for parameter in model.parameters()])
        mean = 0.9 * mean + 0.1 * gradient if name.startswith("Adam") else gradient
        after = nn.utils.parameters_to_vector(model.parameters()).detach()
        diagonal = cv.preconditioner(optimizer, model.parameters())
        assert_close(diagonal * (before - after), rate * mean, rtol=1e-8, atol=1e-12)


def dense_seen(model: nn.Module, optimizer: torch.optim.Optimizer, data=DATA) -> torch.Tensor:
    hessian = cv.dense_matrix(cv.hessian(cv.Problem(model, LOSS, data)))
    diagonal = cv.preconditioner(optimizer, model.parameters())
    return torch.linalg.eigvals(hessian / diagonal[:, None]).real.sort().values


def test_the_preconditioned_matrix_has_the_eigenvalues_of_the_quotient():
    model = network()
    optimizer = torch.optim.Adam(model.parameters())
    step(model, optimizer, 0)
    hessian = cv.hessian(cv.Problem(model, LOSS, DATA))
    seen = cv.preconditioned(hessian, cv.preconditioner(optimizer, model.parameters()))
    exact = dense_seen(model, optimizer)
    scale = float(exact.abs().max())
    assert_close(cv.dense_spectrum(seen).eigenvalues, exact, rtol=1e-9, atol=1e-10 * scale)


def test_a_parameter_that_is_never_moved_is_left_out():
    model = network()
    optimizer = torch.optim.Adam(model.parameters())
    inputs, targets = DATA[0]
    loss = LOSS(model(inputs), targets)
    model[2].weight.grad = torch.autograd.grad(loss, model[2].weight)[0]
    optimizer.step()
    hessian = cv.hessian(cv.Problem(model, LOSS, DATA))
    diagonal = cv.preconditioner(optimizer, model.parameters())
    assert int(diagonal.isfinite().sum()) == 15
    seen = cv.dense_matrix(cv.preconditioned(hessian, diagonal))
    roots = diagonal[25:40].rsqrt()
    block = cv.dense_matrix(hessian)[25:40, 25:40] * roots * roots[:, None]
    assert_close(seen[25:40, 25:40], block)
    assert not seen[:25].any()
    assert not seen[40:].any()


def test_a_tracker_measures_what_adam_sees_and_leaves_the_training_as_it_is():
    plain, tracked = network(), network()
    optimizers = [torch.optim.Adam(item.parameters(), lr=0.01) for item in (plain, tracked)]
    tracker = cv.SharpnessTracker(
        tracked,
        LOSS,
        DATA,
        optimizer=optimizers[1],
        tol=1e-8,
        also={"batches": cv.batch_sharpness, "noise": lambda at: cv.gradient_noise(at).trace},
    )
    first = tracker.step(-1)
    assert first.preconditioned != first.preconditioned
    for number in range(3):
        step(plain, optimizers[0], number)
        step(tracked, optimizers[1], number)
        record = tracker.step(number)
        exact = float(dense_seen(tracked, optimizers[1])[-1])
        assert record.preconditioned == pytest.approx(exact, rel=1e-7)
        problem = cv.Problem(tracked, LOSS, DATA)
        assert record.also["batches"].value == cv.batch_sharpness(problem).value
        assert record.also["noise"] == cv.gradient_noise(problem).trace
    for ours, peer in zip(tracked.parameters(), plain.parameters(), strict=True):
        assert torch.equal(ours, peer)
        assert torch.equal(
            optimizers[1].state[ours]["exp_avg_sq"], optimizers[0].state[peer]["exp_avg_sq"]
        )


def test_a_log_gets_the_numbers_of_further_measurements():
    logged = {}
    also = {
        "layers": lambda at: {name: item.value for name, item in cv.layer_sharpness(at).items()},
        "density": lambda at: cv.spectral_density(cv.hessian(at), probes=2, steps=5),
        "batches": cv.batch_sharpness,
    }
    tracker = cv.SharpnessTracker(
        network(), LOSS, DATA, also=also, log=lambda entries, step: logged.update(entries)
    )
    record = tracker.step(0)
    assert logged["sharpness/layers/0"] == record.also["layers"]["0"]
    assert logged["sharpness/batches"] == record.also["batches"].value
    assert isinstance(record.also["density"], cv.SpectralDensity)
    assert not any(name.startswith("sharpness/density") for name in logged)


def test_layers_are_the_diagonal_blocks():
    problem = cv.Problem(network(), LOSS, DATA)
    dense = cv.dense_matrix(cv.hessian(problem))
    actual = cv.layer_sharpness(problem, tol=1e-9)
    for name, part in (("0", slice(0, 25)), ("2", slice(25, 43))):
        exact = float(torch.linalg.eigvalsh(dense[part, part])[-1])
        assert actual[name].value == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("summed", [False, True])
def test_batches_one_by_one_against_double_backward(summed):
    model, loss = network(), nn.CrossEntropyLoss(reduction="sum" if summed else "mean")
    problem = cv.Problem(model, loss, DATA)
    actual = cv.batch_sharpness(problem, tol=1e-9)
    noise = cv.gradient_noise(problem)
    values, along, gradients = [], [], []
    parameters = list(model.parameters())
    for inputs, targets in DATA:
        g = flat(torch.autograd.grad(loss(model(inputs), targets), parameters))
        hessian = double_backward(loss(model(inputs), targets), parameters)
        values.append(float(torch.linalg.eigvalsh(hessian)[-1]))
        along.append(float(g @ hessian @ g / (g @ g)))
        gradients.append(g)
    assert actual.eigenvalues.tolist() == pytest.approx(values, rel=1e-9)
    assert actual.along_gradient.tolist() == pytest.approx(along, rel=1e-9)
    assert actual.value == pytest.approx(sum(values) / 3)
    counts = torch.tensor([1, 1, 1] if summed else [5, 8, 11], dtype=torch.float64)
    shares = counts / counts.sum()
    rows = torch.stack(gradients)
    mean = shares @ rows
    covariance = (rows - mean).T @ torch.diag(shares) @ (rows - mean)
    assert_close(cv.dense_matrix(noise), covariance, rtol=1e-10, atol=1e-14)
    assert noise.trace == pytest.approx(float(covariance.trace()), rel=1e-12)
    assert noise.scale == pytest.approx(float(covariance.trace() / (mean @ mean)), rel=1e-12)
    if not summed:
        assert_close(noise.mean, problem.gradient(), rtol=1e-10, atol=1e-14)

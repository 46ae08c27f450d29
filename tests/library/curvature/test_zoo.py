"""Everybody's network against brute force, and nothing of it changed."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from hessian_spectra import curvature as cv

from .cases import normal
from .oracles import flat, trainable
from .zoo import BATCHINGS, LOSSES, TOKENS, VECTORS, ZOO, Loss, Specimen, cut, specimens

# Each network meets two losses and two ways to cut the data, so that all losses and cuts occur.
COMBINATIONS = [
    (specimen, LOSSES[(3 * number + shift) % len(LOSSES)], list(BATCHINGS)[(number + shift) % 3])
    for number, specimen in enumerate(ZOO)
    for shift in (0, 1)
]
NAMES = [f"{net.name}-{loss.name}-{cutting}" for net, loss, cutting in COMBINATIONS]


def joined_loss(model: nn.Module, loss: Loss, inputs: Tensor) -> Tensor:
    with sdpa_kernel(SDPBackend.MATH):
        outputs = model(inputs)
        return loss.value(outputs, loss.targets(outputs))


def written_out(model: nn.Module) -> nn.Module:
    """The same network where torch's second derivative is another: weight norm."""

    class Elementary(nn.Module):
        def forward(self, length: Tensor, direction: Tensor) -> Tensor:
            axes = tuple(range(1, direction.ndim))
            return direction * length / direction.square().sum(axes, keepdim=True).sqrt()

    for module in model.modules():
        for parametrization in getattr(module, "parametrizations", {}).values():
            if type(parametrization[0]).__name__ == "_WeightNorm":
                parametrization[0] = Elementary()
        for key, hook in module._forward_pre_hooks.items():
            if type(hook).__name__ == "WeightNorm":
                elementary = Elementary()
                module._forward_pre_hooks[key] = lambda at, inputs, form=elementary: setattr(
                    at, "weight", form(at.weight_g, at.weight_v)
                )
    return getattr(model, "_orig_mod", model)


def brute_force(specimen: Specimen, loss: Loss) -> Tensor:
    """Row by row in reverse over reverse, by torch alone, over all data at once."""
    model = written_out(specimen.model())
    parameters = trainable(model)
    value = joined_loss(model, loss, specimen.inputs)
    gradient = flat(
        torch.autograd.grad(value, parameters, create_graph=True, materialize_grads=True)
    )
    rows = [
        flat(torch.autograd.grad(entry, parameters, retain_graph=True, materialize_grads=True))
        if entry.requires_grad
        else torch.zeros_like(gradient)
        for entry in gradient
    ]
    return torch.stack(rows).detach()


def problem(specimen: Specimen, loss: Loss, cutting: str, model: Any = None) -> cv.Problem:
    at = specimen.model() if model is None else model
    with torch.no_grad():
        targets = loss.targets(at(specimen.inputs))
    return cv.Problem(at, loss.value, cut(specimen.inputs, targets, BATCHINGS[cutting]))


@pytest.mark.parametrize(("specimen", "loss", "cutting"), COMBINATIONS, ids=NAMES)
def test_the_hessian_is_that_of_brute_force(specimen, loss, cutting):
    expected = brute_force(specimen, loss)
    found = cv.dense_matrix(cv.hessian(problem(specimen, loss, cutting)))
    assert float((found - expected).norm()) <= 1e-12 * float(expected.norm())


@pytest.mark.parametrize("specimen", ZOO, ids=[specimen.name for specimen in ZOO])
def test_brute_force_is_right(specimen):
    """One product by central differences, so that the reference is not torch's word alone."""
    expected = brute_force(specimen, LOSSES[0])
    model = written_out(specimen.model())
    parameters = trainable(model)
    direction = normal(len(expected))
    padded = [
        (module, module.weight[module.padding_idx].detach().clone())
        for module in model.modules()
        if isinstance(module, nn.Embedding) and module.padding_idx is not None
    ]
    sides = []
    for step in (1e-5, -2e-5):
        start = 0
        with torch.no_grad():
            for parameter in parameters:
                piece = direction[start : start + parameter.numel()]
                parameter += step * piece.view(parameter.shape)
                start += parameter.numel()
            for module, row in padded:
                # Torch keeps it where it is.
                module.weight[module.padding_idx] = row
        value = joined_loss(model, LOSSES[0], specimen.inputs)
        sides.append(flat(torch.autograd.grad(value, parameters, materialize_grads=True)))
    difference = (sides[0] - sides[1]) / 2e-5
    torch.testing.assert_close(expected @ direction, difference, rtol=1e-6, atol=1e-7)


def state(model: nn.Module) -> list[Any]:
    """All that a user would miss: objects, types, bits, gradients, modes, and random numbers."""
    found: list[Any] = []
    for name, module in model.named_modules():
        found.append((name, id(module), module.training, sorted(vars(module))))
        for part in (module._parameters, module._buffers):
            found += [(key, id(value), type(value)) for key, value in part.items()]
    for tensor in (*model.parameters(), *model.buffers()):
        grad = getattr(tensor, "grad", None) if tensor.is_leaf else None
        found.append((tensor.dtype, tensor.requires_grad, tensor.detach().numpy().tobytes()))
        found.append(None if grad is None else (id(grad), grad.numpy().tobytes()))
    found.append(torch.get_rng_state().numpy().tobytes())
    found.append(np.random.get_state()[1].tobytes())  # noqa: NPY002 -- the user's
    return found


class Failing:
    """A loader that shuffles, and fails at its ``last`` pass."""

    def __init__(self, batches: list[Any], last: int, error: BaseException) -> None:
        self.batches, self.left, self.error = batches, last, error

    def __iter__(self) -> Iterator[Any]:
        torch.randperm(3)
        self.left -= 1
        yield self.batches[0]
        if self.left < 0:
            raise self.error
        yield from self.batches[1:]


@pytest.mark.parametrize("specimen", ZOO, ids=[specimen.name for specimen in ZOO])
def test_nothing_of_the_users_is_changed(specimen):
    model, loss = specimen.model(), LOSSES[0]
    # As in the middle of training.
    joined_loss(model, loss, specimen.inputs).backward()
    whole = problem(specimen, loss, "uneven", model)
    before = state(model)
    for data in (whole.data, problem(specimen, loss, "one batch", model).data):
        at = cv.Problem(model, loss.value, data)
        for operator in (cv.hessian, cv.ggn):
            for check in ("always", False):
                operator(at, check=check) @ normal(at.size)
                assert state(model) == before
    at.value(), at.gradient()
    assert state(model) == before


def multiply_often(model: nn.Module, loss: nn.Module, data: Failing) -> None:
    at = cv.Problem(model, loss, data)
    operator = cv.hessian(at)
    for _ in range(9):
        operator @ normal(at.size)


@pytest.mark.parametrize("name", ["module used twice", "weight norm", "transformer encoder"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("last", range(9))
def test_so_it_is_after_an_error_and_after_an_interrupt(name, error, last):
    model, loss = specimens[name].model(), LOSSES[0]
    data = problem(specimens[name], loss, "two", model).data
    before = state(model)
    with pytest.raises(error, match="in the middle"):
        multiply_often(model, loss.value, Failing(data, last, error("in the middle")))
    assert state(model) == before


class NoGradients(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            return super().forward(x)


# What has no right second derivative: a network, its inputs, and what is said of it.
REFUSED = {
    "dropout in training mode": (
        nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)),
        VECTORS,
        r"two passes .*training mode \(1\): call model.eval",
    ),
    "bag of embeddings": (
        nn.Sequential(nn.EmbeddingBag(5, 3), nn.Tanh(), nn.Linear(3, 3)),
        TOKENS,
        "an operation that cannot be differentiated twice",
    ),
    "no gradients": (NoGradients(3, 3), VECTORS, "the loss does not depend on the parameters"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_right_is_refused_in_one_line(name):
    model, inputs, message = REFUSED[name]
    targets = torch.zeros(len(inputs), 3).double()
    before = state(model.double())
    with pytest.raises(cv.OperatorError, match=message) as caught:
        cv.hessian(cv.Problem(model, nn.MSELoss(), [(inputs, targets)]))
    assert "\n" not in str(caught.value)
    assert state(model) == before


def test_the_operator_does_not_follow_the_model():
    """Nor does the model follow what the operator does: both go on from here by themselves."""
    model = specimens["module used twice"].model()
    at = problem(specimens["module used twice"], LOSSES[0], "uneven", model)
    operator = cv.hessian(at)
    vector = normal(at.size)
    before = operator @ vector
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert torch.equal(operator @ vector, before)
    assert not torch.equal(cv.hessian(at) @ vector, before)

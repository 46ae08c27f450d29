"""Models and losses that take derivatives themselves, and others that fast layers do not fit."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from hessian_spectra import curvature as cv

from .cases import X, Y, built, cut
from .oracles import flat
from .zoo.losses import after_a_step, by_functions, gradient_penalty, sharpness_aware, squared
from .zoo.programs import Checkpointed, Complex, Mixture, OnceDifferentiable, Residual
from .zoo.trials import written_out

Program = Callable[[nn.Module, Any], Tensor]


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.Softmax(1), nn.Linear(4, 4), nn.GELU(),
                         nn.Linear(4, 3))  # fmt: skip


def normalised() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 3))


# A network, a loss, and what is said where torch's own layers are used.
ITSELF = "the model or the loss takes derivatives itself"
CASES: dict[str, tuple[Callable[[], nn.Module], Program, str]] = {
    "checkpoint": (Checkpointed, squared, ""),
    "expert without samples": (Mixture, squared, ""),
    "complex weights": (Complex, squared, ""),
    "derivatives in the model": (lambda: Residual(nn.Tanh), squared, ITSELF),
    "derivatives of sigmoid units": (lambda: Residual(nn.SiLU), squared, ITSELF),
    "gradient penalty": (mlp, gradient_penalty, ITSELF),
    "gradient penalty of a layer norm": (normalised, gradient_penalty, ITSELF),
    "a step inside": (mlp, after_a_step, ITSELF),
    "a step inside a layer norm": (normalised, after_a_step, ITSELF),
    "sharpness-aware": (mlp, sharpness_aware, ITSELF),
    "functional derivatives": (mlp, by_functions, ITSELF),
}


def by_double_backward(model: nn.Module, loss_fn: Program, data: list[Any]) -> Tensor:
    parameters = list(model.parameters())
    value = sum(len(batch[0]) * loss_fn(model, batch) for batch in data)
    value = value / sum(len(batch[0]) for batch in data)
    gradient = flat(
        torch.autograd.grad(value, parameters, create_graph=True, materialize_grads=True)
    )
    rows = [
        torch.autograd.grad(entry, parameters, retain_graph=True, materialize_grads=True)
        for entry in gradient
    ]
    return torch.stack([flat(row) for row in rows])


@pytest.mark.parametrize("sizes", [(7,), (2, 5)], ids=["one batch", "two"])
@pytest.mark.parametrize("check", ["once", False])
@pytest.mark.parametrize("name", CASES)
def test_the_hessian_is_that_of_double_backward(name, check, sizes):
    make, loss_fn, said = CASES[name]
    data = cut(X, Y, *sizes)
    expected = by_double_backward(written_out(built(make)), loss_fn, data)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        at = cv.Problem(
            built(make), loss_fn=loss_fn, data=data, weights=lambda batch: len(batch[0])
        )
        actual = cv.dense_matrix(cv.hessian(at, check=check))
    assert float((actual - expected).norm()) <= 1e-12 * float(expected.norm())
    messages = [str(entry.message) for entry in caught]
    # Once, in one line, however many products there were.
    assert len(messages) == bool(said)
    if said:
        assert caught[0].category is cv.PlainDerivativesWarning
        assert said in messages[0]
        assert "\n" not in messages[0]


def test_the_loss_itself_may_contain_derivatives():
    model = built(mlp)
    data = cut(X, Y, 7)
    at = cv.Problem(model, loss_fn=gradient_penalty, data=data)
    value = gradient_penalty(model, data[0])
    assert at.value() == pytest.approx(value.item(), rel=1e-14)
    slope = flat(torch.autograd.grad(value, list(model.parameters())))
    assert_close(at.gradient(), slope)


REFUSED: dict[str, tuple[Callable[[], nn.Module], Program, str]] = {
    "marked once differentiable": (
        lambda: OnceDifferentiable(3, 3), squared, "cannot be differentiated twice: its backward",
    ),
    "reentrant checkpoint": (
        lambda: Checkpointed(reentrant=True), squared, "use_reentrant=False",
    ),
    "a direction held fast": (
        mlp, lambda model, batch: sharpness_aware(model, batch, graph=False),
        "differs from differences of the gradient",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_torch_cannot_differentiate_twice_is_an_error(name):
    make, loss_fn, message = REFUSED[name]
    at = cv.Problem(built(make), loss_fn=loss_fn, data=cut(X, Y, 7))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(cv.OperatorError, match=message) as caught:
            cv.hessian(at)
    assert "\n" not in str(caught.value)


def test_zeros_in_place_of_a_missing_derivative_are_found_without_the_check():
    at = cv.Problem(built(lambda: OnceDifferentiable(3, 3)), nn.MSELoss(), cut(X, Y, 7))
    for operator in (cv.hessian, cv.ggn):
        with pytest.raises(cv.OperatorError, match="cannot be differentiated twice"):
            operator(at, check=False) @ torch.ones(at.size).double()

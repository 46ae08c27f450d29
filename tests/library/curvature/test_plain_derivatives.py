"""Models and losses that take derivatives themselves, and others that fast layers do not fit."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from hessian_spectra import curvature as cv

from .cases import X, Y, built, cut
from .oracles import flat

Loss = Callable[[nn.Module, Any], Tensor]


def squared(model: nn.Module, batch: Any) -> Tensor:
    return functional.mse_loss(model(batch[0]), batch[1])


class Checkpointed(nn.Module):
    """Its first part is computed anew in the backward pass."""

    def __init__(self, *, reentrant: bool = False) -> None:
        super().__init__()
        self.reentrant = reentrant
        self.stem = nn.Linear(3, 3)
        self.first = nn.Sequential(
            nn.Linear(3, 4), nn.GELU(), nn.LayerNorm(4), nn.Linear(4, 4), nn.Tanh()
        )
        self.last = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        hidden = checkpoint(self.first, self.stem(x), use_reentrant=self.reentrant)
        return self.last(hidden)


class Mixture(nn.Module):
    """Two experts, of which the second gets no sample."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.LayerNorm(4), nn.Linear(4, 3))
            for _ in range(2)
        )
        self.gate = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        shares, result = self.gate(x).softmax(1), torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows = torch.arange(len(x))[: None if number == 0 else 0]
            values = expert(x[rows]) * shares[rows, number : number + 1]
            result = result.index_put((rows,), values, accumulate=True)
        return result


class Residual(nn.Module):
    """The derivatives of a network in its input beside its values, as physics needs them."""

    def __init__(self, activation: type[nn.Module]) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, 4), activation(), nn.Linear(4, 4), activation(), nn.Linear(4, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        points = x[:, :1].detach().requires_grad_()
        value = self.net(points)
        (slope,) = torch.autograd.grad(value.sum(), points, create_graph=True)
        (curvature,) = torch.autograd.grad(slope.sum(), points, create_graph=True)
        return torch.cat([value, slope, curvature], 1)


class Complex(nn.Module):
    """Complex weights from real parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.real, self.imaginary = (nn.Parameter(torch.randn(3, 3)) for _ in range(2))
        self.head = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        weight = torch.complex(self.real, self.imaginary)
        hidden = functional.linear(torch.complex(self.head(x), x), weight)
        return functional.linear(hidden * hidden, weight).abs()


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.Softmax(1), nn.Linear(4, 4), nn.GELU(),
                         nn.Linear(4, 3))  # fmt: skip


def normalised() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 3))


def gradient_penalty(model: nn.Module, batch: Any) -> Tensor:
    inputs = batch[0].detach().requires_grad_()
    outputs = model(inputs)
    (slope,) = torch.autograd.grad(outputs.square().sum(), inputs, create_graph=True)
    return functional.mse_loss(outputs, batch[1]) + (slope.norm(dim=1) - 1).square().mean()


def after_a_step(model: nn.Module, batch: Any) -> Tensor:
    values = dict(model.named_parameters())
    inner = functional.mse_loss(functional_call(model, values, (batch[0],)), batch[1])
    slopes = torch.autograd.grad(inner, list(values.values()), create_graph=True)
    stepped = {
        name: value - 0.1 * slope
        for (name, value), slope in zip(values.items(), slopes, strict=True)
    }
    return functional.mse_loss(functional_call(model, stepped, (batch[0],)), batch[1])


def sharpness_aware(model: nn.Module, batch: Any, *, graph: bool = True) -> Tensor:
    values = dict(model.named_parameters())
    inner = functional.mse_loss(functional_call(model, values, (batch[0],)), batch[1])
    slopes = torch.autograd.grad(inner, list(values.values()), create_graph=graph)
    length = torch.stack([slope.norm() for slope in slopes]).norm()
    moved = {
        name: value + 0.05 * slope / length
        for (name, value), slope in zip(values.items(), slopes, strict=True)
    }
    return functional.mse_loss(functional_call(model, moved, (batch[0],)), batch[1])


def by_functions(model: nn.Module, batch: Any) -> Tensor:
    slopes = torch.func.vmap(torch.func.grad(lambda x: model(x[None]).sum()))(batch[0])
    return squared(model, batch) + slopes.square().sum(1).mean()


# A network, a loss, and what is said where torch's own layers are used.
ITSELF = "the model or the loss takes derivatives itself"
CASES: dict[str, tuple[Callable[[], nn.Module], Loss, str]] = {
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


def in_elementary_operations(model: nn.Module) -> nn.Module:
    """The same network without torch's layer norm, whose third derivative is wrong."""

    class Elementary(nn.LayerNorm):
        def forward(self, x: Tensor) -> Tensor:
            if not len(x):
                return super().forward(x)
            deviation = x - x.mean(-1, keepdim=True)
            scale = (x.var(-1, correction=0, keepdim=True) + self.eps).rsqrt()
            return deviation * scale * self.weight + self.bias

    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.__class__ = Elementary
    return model


def by_double_backward(model: nn.Module, loss_fn: Loss, data: list[Any]) -> Tensor:
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
    expected = by_double_backward(in_elementary_operations(built(make)), loss_fn, data)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        at = cv.Problem(
            built(make), loss_fn=loss_fn, data=data, weights=lambda batch: len(batch[0])
        )
        found = cv.dense_matrix(cv.hessian(at, check=check))
    assert float((found - expected).norm()) <= 1e-12 * float(expected.norm())
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
    torch.testing.assert_close(at.gradient(), slope)


class Once(torch.autograd.Function):
    """A square whose backward pass cannot be differentiated."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.square()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x * upstream


class OnceDifferentiable(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return Once.apply(super().forward(x))


REFUSED: dict[str, tuple[Callable[[], nn.Module], Loss, str]] = {
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

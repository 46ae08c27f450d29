"""Models and losses that take derivatives themselves, and others that fast layers do not fit."""

import warnings

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from hessian_spectra import curvature as cv

from .cases import X, Y, built, cut, mlp, normal
from .oracles import flat
from .zoo.losses import FUNCTIONAL, LOSSES, PROGRAMS, gradient_penalty, sharpness_aware
from .zoo.programs import OnceDifferentiable
from .zoo.sources import sources
from .zoo.trials import Trial, hessian, specimens

# A network, a loss, and what is said where torch's own layers are used.
ITSELF = "the model or the loss takes derivatives itself"
CASES = [
    *(
        (name, LOSSES[0], "")
        for name in ("checkpoint", "expert without samples", "complex weights")
    ),
    *(
        (name, LOSSES[0], ITSELF)
        for name in ("derivatives of tanh", "derivatives of sigmoid units")
    ),
    *(("softmax inside", loss, ITSELF) for loss in (*PROGRAMS[:2], PROGRAMS[3], FUNCTIONAL)),
    *(("layer norm", loss, ITSELF) for loss in PROGRAMS[:2]),
]


@pytest.mark.parametrize("source", ["one batch", "two"])
@pytest.mark.parametrize("check", ["once", False])
@pytest.mark.parametrize(
    ("name", "loss", "said"), CASES, ids=lambda item: getattr(item, "name", item)
)
def test_the_hessian_is_that_of_double_backward(name, loss, said, check, source):
    trial = Trial(specimens[name], loss, sources[source])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        at = trial.problem(trial.specimen.model(), trial.data())
        vectors = normal(at.size, 3)
        actual = cv.hessian(at, check=check) @ vectors
    expected = hessian(trial, vectors)
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


def test_a_direction_held_fast_is_an_error():
    at = cv.Problem(
        built(mlp), data=cut(X, Y, 7),
        loss_fn=lambda model, batch: sharpness_aware(model, batch, graph=False),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(cv.OperatorError, match="differs from differences of the gradient"):
            cv.hessian(at)


def test_zeros_in_place_of_a_missing_derivative_are_found_without_the_check():
    at = cv.Problem(built(lambda: OnceDifferentiable(3, 3)), nn.MSELoss(), cut(X, Y, 7))
    for operator in (cv.hessian, cv.ggn):
        with pytest.raises(cv.OperatorError, match="cannot be differentiated twice"):
            operator(at, check=False) @ torch.ones(at.size).double()

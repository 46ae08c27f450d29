"""Everybody's network against brute force, and nothing of it changed."""

import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from hessian_spectra import curvature as cv

from .cases import cut, normal
from .oracles import trainable
from .states import of_model
from .zoo.sources import WORKERS, sources
from .zoo.trials import TRIALS, ZOO, Trial, gauss_newton, hessian, slopes, specimens, written_out
from .zoo.vectors import noticed

RIGHT = [trial for trial in TRIALS if not trial.refused]
REFUSED = [trial for trial in TRIALS if trial.refused]
WITH_WORKERS = [Trial(specimens["tanh"], TRIALS[0].loss, source) for source in WORKERS]
SQUARED = [Trial(specimen, TRIALS[0].loss) for specimen in ZOO]


def quietly(function: Callable[[], Any]) -> Any:
    """The value, without the note that torch's own derivatives are used."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cv.PlainDerivativesWarning)
        return function()


def test_there_are_as_many_as_we_say():
    """At least 60, each with several losses and sources, and each source and loss somewhere."""
    assert len(ZOO) == len(specimens) >= 70
    for specimen in ZOO:
        own = [trial for trial in TRIALS if trial.specimen is specimen]
        assert len({trial.loss.name for trial in own}) >= 3, specimen.name
        assert len({trial.source.name for trial in own}) >= 3, specimen.name
    assert {trial.source.name for trial in RIGHT} == set(sources)


@pytest.mark.parametrize("trial", [*RIGHT, *WITH_WORKERS], ids=str)
def test_products_are_those_of_brute_force_and_nothing_of_the_users_is_changed(trial):
    noticed.clear()
    operators = {cv.hessian: hessian} | ({} if trial.loss.program else {cv.ggn: gauss_newton})
    model, data = trial.specimen.model(), trial.data()
    # A wrong entry anywhere moves the products with random vectors, almost surely all of them.
    vectors = normal(sum(parameter.numel() for parameter in trainable(model)), 2)
    expected = {operator: peer(trial, vectors) for operator, peer in operators.items()}
    # As in the middle of training.
    trial.value(model).backward()
    before = of_model(model, noticed)
    at = quietly(lambda: trial.problem(model, data))
    for operator, products in expected.items():
        actual = quietly(lambda of=operator: of(at, check="always") @ vectors)
        assert float((actual - products).norm()) <= 1e-12 * float(products.norm())
        assert of_model(model, noticed) == before
    at.value(), at.gradient()
    assert of_model(model, noticed) == before


@pytest.mark.parametrize("trial", REFUSED, ids=str)
def test_what_cannot_be_right_is_refused_in_one_line(trial):
    model, data = trial.specimen.model(), trial.data()
    before = of_model(model, noticed)
    with pytest.raises((cv.OperatorError, ValueError), match=trial.refused) as caught:
        quietly(lambda: cv.hessian(trial.problem(model, data)))
    assert "\n" not in str(caught.value)
    assert of_model(model, noticed) == before


@pytest.mark.parametrize(
    "trial", [trial for trial in SQUARED if not trial.specimen.refused], ids=str
)
def test_brute_force_is_right(trial):
    """One product by central differences, so that the reference is not torch's word alone."""
    model = written_out(trial.specimen.model())
    parameters = trainable(model)
    direction = normal(sum(parameter.numel() for parameter in parameters))
    (product,) = hessian(trial, direction[:, None]).T
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
        sides.append(slopes(trial.value(model), parameters))
    difference = (sides[0] - sides[1]) / 2e-5
    scale = float(difference.abs().max())
    assert_close(product, difference, rtol=1e-5, atol=1e-6 * scale)


class Failing:
    """A loader that shuffles, and fails at its ``last`` pass."""

    def __init__(self, batches: list[Any], last: int, error: BaseException) -> None:
        self.batches, self.left, self.error = batches, last, error

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[Any]:
        torch.randperm(3)
        random.random()
        self.left -= 1
        yield self.batches[0]
        if self.left < 0:
            raise self.error
        yield from self.batches[1:]


def multiply_often(trial: Trial, model: nn.Module, data: Failing) -> None:
    at = trial.problem(model, data)
    operator = cv.hessian(at)
    for _ in range(9):
        operator @ normal(at.size)


@pytest.mark.parametrize("name", ["module used twice", "weight norm", "transformer encoder"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("last", range(0, 9, 2))
def test_so_it_is_after_an_error_and_after_an_interrupt(name, error, last):
    trial = Trial(specimens[name], TRIALS[0].loss)
    inputs, model = trial.specimen.inputs, trial.specimen.model()
    pairs = cut(inputs, trial.targets(), 2, len(inputs) - 2)
    before = of_model(model, noticed)
    with pytest.raises(error, match="in the middle"):
        multiply_often(trial, model, Failing(pairs, last, error("in the middle")))
    assert of_model(model, noticed) == before


def test_the_operator_does_not_follow_the_model():
    """Nor does the model follow what the operator does: both go on from here by themselves."""
    trial = Trial(specimens["module used twice"], TRIALS[0].loss, sources["uneven"])
    model = trial.specimen.model()
    at = trial.problem(model, trial.data())
    operator = cv.hessian(at)
    vector = normal(at.size)
    before = operator @ vector
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert torch.equal(operator @ vector, before)
    assert not torch.equal(cv.hessian(at) @ vector, before)

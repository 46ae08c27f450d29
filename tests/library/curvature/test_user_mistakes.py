"""Users hand over mistakes, and things that are rare: they work, or one line says why not."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from hessian_spectra import curvature as cv

from .cases import X, Y, built, mlp, normal
from .mistakes_of_problems import connectionist, problem
from .user_mistakes import GROUPS, MISTAKES


@dataclass
class Output:
    logits: Tensor


class Structured(nn.Module):
    """Outputs that are more than a tensor."""

    def __init__(self, pack: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.net, self.pack = mlp(), pack

    def forward(self, x: Tensor) -> Any:
        return self.pack(self.net(x))


@pytest.mark.parametrize(
    ("pack", "unpack", "kind"),
    [
        (lambda y: {"logits": y, "twice": 2 * y}, lambda output: output["logits"], "dict"),
        (lambda y: (y, 2 * y), lambda output: output[0], "tuple"),
        (Output, lambda output: output.logits, "Output"),
    ],
)
def test_structured_outputs_have_a_hessian_and_say_what_the_gauss_newton_matrix_needs(
    pack, unpack, kind
):
    model = built(lambda: Structured(pack))
    plain = cv.Problem(model.net, nn.MSELoss(), [(X, Y)])
    at = problem(model, lambda outputs, y: functional.mse_loss(unpack(outputs), y))
    expected = cv.dense_matrix(cv.hessian(plain))
    assert_close(cv.dense_matrix(cv.hessian(at)), expected)
    with pytest.raises(cv.OperatorError, match=rf"one tensor, got {kind}; .*\(loss, tensor\)"):
        cv.ggn(at)

    def pair(model, batch):
        outputs = unpack(model(batch[0]))
        return functional.mse_loss(outputs, batch[1]), outputs

    at = cv.Problem(model, loss_fn=pair, data=[(X, Y)])
    assert_close(
        cv.dense_matrix(cv.ggn(at)), cv.dense_matrix(cv.ggn(plain)), rtol=1e-12, atol=1e-14
    )


def test_parameters_themselves_choose_parameters():
    model = built(mlp)
    first = next(iter(model.parameters()))
    assert problem(model, parameters=first).names == ("0.weight",)
    assert problem(model, parameters=[first]).names == ("0.weight",)
    assert problem(model, parameters=model.parameters()).names == problem(model).names
    with pytest.raises(ValueError, match=r"parameters of the model, got a tensor .* none of them"):
        problem(model, parameters=[nn.Parameter(first.detach().clone())])


def test_what_is_compiled_inside_runs_as_the_function_that_it_is():
    def twice_sine(x: Tensor) -> Tensor:
        return 2 * x.sin()

    plain = Structured(twice_sine)
    expected = cv.dense_matrix(cv.hessian(problem(built(lambda: plain))))
    plain.pack = torch.compile(twice_sine, backend="aot_eager")
    before = torch._dynamo.eval_frame._stance
    actual = cv.dense_matrix(cv.hessian(problem(plain)))
    assert torch._dynamo.eval_frame._stance == before
    assert_close(actual, expected, rtol=1e-12, atol=1e-14)


noticed: list[Tensor] = []


def test_hooks_note_nothing_outside_of_the_copy():
    """They may belong to the function; what they note is the user's."""
    listed: list[Tensor] = []
    named: dict[str, list[Tensor]] = {"outputs": []}

    def scaling(module, inputs, outputs, store=listed):
        noticed.append(outputs)
        listed.append(outputs)
        store.append(outputs)
        named["outputs"].append(outputs)
        return 2 * outputs

    model = built(mlp)
    with torch.no_grad():
        doubled = built(mlp)
        doubled[-1].weight.mul_(2)
        doubled[-1].bias.mul_(2)
    expected = problem(doubled).value()
    handle = model[-1].register_forward_hook(scaling)
    at = problem(model)
    assert at.value() == pytest.approx(expected, rel=1e-14)
    cv.hessian(at) @ normal(at.size)
    assert (noticed, listed, named) == ([], [], {"outputs": []})
    # The user's own still does what it did.
    model(X)
    assert (len(noticed), len(listed), len(named["outputs"])) == (1, 2, 1)
    noticed.clear()
    handle.remove()


@pytest.fixture(scope="module")
def messages() -> dict[str, str]:
    """The lines that users read: in a program of its own, without the tests' checks of types."""
    done = subprocess.run(
        [sys.executable, "-m", "curvature.user_mistakes"],
        cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_each_mistake_is_said_otherwise():
    assert len(MISTAKES) == sum(map(len, GROUPS))


@pytest.mark.parametrize("said", MISTAKES)
def test_one_line_says_what_is_wrong_and_what_to_do(said, messages):
    kind, text = re.fullmatch(r"(?:(\w+Error): )?(.*)", said).groups()
    pattern = ".*".join(map(re.escape, text.split("...")))
    assert re.match(f"{kind or 'ValueError'}: .*{pattern}", messages[said]), messages[said]
    assert "\n" not in messages[said]


def test_attention_is_named_where_it_is_the_cause_and_nowhere_else(messages):
    (missing,) = (said for said, attempt in MISTAKES.items() if attempt is connectionist)
    assert "attention" not in messages[missing]

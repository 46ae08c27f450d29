"""What users hand over by mistake, and what is said of it; as a program, what is said now."""

import json
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn import functional

from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv

from .cases import X, Y, built, mlp, normal


def problem(model: Any = None, loss: Any = None, **settings: Any) -> cv.Problem:
    return cv.Problem(
        built(mlp) if model is None else model,
        nn.MSELoss() if loss is None else loss,
        **{"data": [(X, Y)], **settings},
    )


def scripted() -> cv.Problem:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return problem(torch.jit.script(built(mlp)))


def spread() -> cv.Problem:
    with tempfile.NamedTemporaryFile() as meeting:
        distributed.init_process_group(
            "gloo", init_method=f"file://{meeting.name}.once", rank=0, world_size=1
        )
    try:
        model = built(mlp)
        fully_shard(model, mesh=init_device_mesh("cpu", (1,)))
        return problem(model)
    finally:
        distributed.destroy_process_group()


def without_derivatives() -> cv.Problem:
    with torch.inference_mode():
        model = built(mlp)
    return problem(model)


class Exhausted:
    """Gives its batches once, though it can be asked again."""

    def __init__(self) -> None:
        self.left = [(X, Y)]

    def __iter__(self) -> Any:
        while self.left:
            yield self.left.pop()


def connectionist() -> cv.Operator:
    def loss_fn(model, batch):
        lengths = torch.tensor([7, 7]), torch.tensor([2, 2])
        return functional.ctc_loss(model(batch[0]).log_softmax(2), batch[1], *lengths)

    labels = torch.tensor([[1, 2], [2, 3]])
    model = built(lambda: nn.Linear(3, 4))
    return cv.hessian(cv.Problem(model, loss_fn=loss_fn, data=[(normal(7, 2, 3), labels)]))


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "a function as model": (lambda: problem(lambda x: x), "model: expected a torch.nn.Module, got"),
    "a function for a closed form": (
        lambda: cf.of(lambda x: x, (X, Y)), "model: expected a torch.nn.Module, got function",
    ),
    "a scripted model": (scripted, r"torch.jit\) .*; give the module that it was made from"),
    "a model over processes": (spread, r"'0.weight' is spread over processes .*full_tensor\(\)"),
    "inference tensors": (without_derivatives, "torch.inference_mode, .*build the model outside"),
    "a parameter's number": (
        lambda: problem(parameters=[0]), "names, modules or parameters of the model, got int",
    ),
    "a frozen model": (
        lambda: problem(built(mlp).requires_grad_(False)), r"got none; call requires_grad_\(\) on",
    ),
    "the name of a loss": (
        lambda: problem(loss="mse"), "loss: expected a function or a module, got 'mse'",
    ),
    "the class of a loss": (
        lambda: problem(loss=nn.MSELoss), r"got the class; use MSELoss\(\)",
    ),
    "a single pair": (
        lambda: problem(data=(X, Y)), r"got one tensor; a single pair goes into a list: \[\(",
    ),
    "a loader that is read once": (
        lambda: problem(data=Exhausted()), r"1 batches at first, 0 when read again.*list\(data\)",
    ),
    "a fraction of an eigenpair": (
        lambda: cv.top_eigenpairs(cv.hessian(problem()), k=2.5), "k: expected 1 to p = .*, got 2.5",
    ),
    "a fraction of a factor's": (
        lambda: cv.layerwise(problem(), "0").kronecker(2.5), "k: expected 1 to .*, got 2.5",
    ),
    "a fraction of a probe": (
        lambda: cv.trace(cv.hessian(problem()), probes=30.5), "probes: .*at least 4, got 30.5",
    ),
    "a layer's number": (
        lambda: cv.layerwise(problem(), 0), "name: expected a layer's name, several, .*, got 0",
    ),
    "a loss without a second derivative": (
        connectionist, "twice .*ctc_loss_backward.*expected another form of it",
    ),
}  # fmt: skip


def message(attempt: Callable[[], Any]) -> str:
    try:
        attempt()
    except (ValueError, cv.OperatorError) as error:
        return str(error)
    return "nothing was refused"


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(json.dumps({name: message(attempt) for name, (attempt, _) in MISTAKES.items()}))

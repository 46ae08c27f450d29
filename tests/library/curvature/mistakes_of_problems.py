"""Networks, losses and data that are no problem, by what is said of them."""

import itertools
import tempfile
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn import functional
from torch.utils.data import DataLoader, IterableDataset

from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv

from .cases import X, Y, built, mlp, normal


def problem(model: Any = None, loss: Any = None, **settings: Any) -> cv.Problem:
    return cv.Problem(
        built(mlp) if model is None else model,
        nn.MSELoss() if loss is None else loss,
        **{"data": [(X, Y)], **settings},
    )


def from_examples(*examples: Any, size: int = 2) -> cv.Problem:
    return cv.Problem.from_huggingface(nn.Linear(1, 1), examples, batch_size=size)


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


def inferred() -> Any:
    at = problem()
    with torch.inference_mode():
        return cv.hessian(at)


def without_derivatives() -> cv.Problem:
    with torch.inference_mode():
        model = built(mlp)
    return problem(model)


class Endless(IterableDataset):
    """A stream of samples; as batches, those of nanoGPT's ``get_batch``."""

    def __init__(self, sample: Any = None) -> None:
        self.sample = sample or (X[0], Y[0])

    def __iter__(self) -> Any:
        return itertools.repeat(self.sample)


class TooLong(Endless):
    """Says that it ends, and does not."""

    def __len__(self) -> int:
        return 3


class Exhausted:
    """Gives its batches once, though it can be asked again."""

    def __init__(self) -> None:
        self.left = [(X, Y)]

    def __len__(self) -> int:
        return 1

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


def linear(*layers: nn.Module) -> nn.Module:
    return nn.Sequential(*layers).double()


def filled(value: float) -> nn.Module:
    model = linear(nn.Linear(3, 3))
    nn.init.constant_(model[0].bias, value)
    return model


def message(attempt: Callable[[], Any]) -> str:
    try:
        attempt()
    except (ValueError, TypeError, ZeroDivisionError, cv.OperatorError) as error:
        return f"{type(error).__name__}: {error}"
    return "nothing was refused"


def alike(*attempts: Callable[[], Any]) -> None:
    """Several calls that are refused in the same words."""
    said = {message(attempt) for attempt in attempts}
    assert len(said) == 1, said
    attempts[0]()


def each(functions: Iterable[Callable[..., Any]], given: Callable[[], Any], *more: Any) -> None:
    """Several functions of the same mistake; what follows it is right."""
    alike(*(partial(function, given(), *more) for function in functions))


ENTROPY, NONE = nn.CrossEntropyLoss(), torch.full((7,), -100)
Mistakes = dict[str, Callable[[], Any]]
OF_PROBLEMS = (
    cv.hessian, cv.ggn, cv.layerwise, cv.full_output_hessian, cv.layer_sharpness,
    cv.batch_sharpness, cv.gradient_noise, cv.operations, cv.curvlinops_arguments,
)  # fmt: skip
PROBLEMS: Mistakes = {
    "model: expected a torch.nn.Module, got function": lambda: problem(lambda x: x),
    "torch.jit) ...; give the module that it was made from": scripted,
    "'0.weight' is spread over processes ...full_tensor()": spread,
    "torch.inference_mode, ...build the model outside": without_derivatives,
    "expected float32 or float64, got '0.weight' of torch.float16": lambda: problem(mlp().half()),
    "expected one dtype and device, got torch.float32 on cpu and '1.weight'": lambda: problem(
        nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3).double())
    ),
    "'0.weight' has no values yet; call the model on a batch": lambda: problem(
        nn.Sequential(nn.LazyLinear(3))
    ),
    "NaN or infinity in '0.bias'": lambda: problem(filled(torch.inf)),
    "names, modules or parameters of the model, got int": lambda: problem(parameters=[0]),
    "got none; call requires_grad_() on": lambda: problem(built(mlp).requires_grad_(False)),
    "expected at least one that requires a gradient, got none": lambda: problem(parameters=[]),
    "there is no 'wieght'; available are ['0.bias', '0.weight', '2.bias'": lambda: problem(
        parameters=["wieght"]
    ),
    "expected each name once": lambda: problem(parameters=["0.bias", "0.bias"]),
    "expected a module of the model": lambda: problem(parameters=nn.Linear(1, 1)),
    "loss: expected a function or a module, got 'mse'": lambda: problem(loss="mse"),
    "got MSELoss without parameters and Sequential with some; ...other way": lambda: alike(
        lambda: problem(nn.MSELoss(), built(mlp)),
        lambda: cv.sharpness(nn.MSELoss(), built(mlp), [(X, Y)]),
    ),
    "OperatorError: torch.inference_mode is on around the call": inferred,
    "NotCoveredError: loss: ...of outputs and targets, got list": lambda: cf.of(
        built(mlp)[0], nn.MSELoss(), [(X, Y)]
    ),
    "data: ...or one pair of tensors, got NoneType": lambda: cf.of(built(mlp)[0], None),
    "TypeError: problem: expected Problem(model, loss, data), got Sequential": lambda: alike(
        *(partial(function, built(mlp)) for function in OF_PROBLEMS),
        lambda: cv.loss_along(built(mlp), X[0], [0.0]),
        lambda: cv.loss_plane(built(mlp), X[0], X[1], [0.0]),
        lambda: cv.functional_parts(built(mlp), X[0]),
        lambda: cv.linearised_hessian(built(mlp), []),
    ),
    "dataset: expected examples or batches as mappings ...got none": lambda: from_examples(),
    "dataset: expected examples or batches ...got list": lambda: from_examples([1, 2]),
    "dataset: ...same names and of one length...pad them, or give batches": lambda: from_examples(
        {"input": [1, 2]}, {"input": [1, 2, 3]}
    ),
    "batch_size: expected at least 1, got 0": lambda: from_examples({"input": [1]}, size=0),
    "OperatorError: the outputs ...let loss_fn return the pair (loss, outputs)": lambda: cv.ggn(
        cv.Problem(built(mlp), loss_fn=lambda model, x: model(x).square().mean(), data=[X])
    ),
    "got the class; use MSELoss()": lambda: problem(loss=nn.MSELoss),
    "expected reduction 'mean' or 'sum', got 'none'": lambda: problem(
        loss=nn.MSELoss(reduction="none")
    ),
    "expected one of loss ...got neither": lambda: cv.Problem(built(mlp), None, [(X, Y)]),
    "expected one of loss ...got both": lambda: problem(loss_fn=lambda model, batch: 0),
    "the loss counts no target": lambda: problem(loss=ENTROPY, data=[(X, NONE)]),
    "weights: expected 'sum', numbers or a function, got 'mean'": lambda: problem(weights="mean"),
    "weights: expected one for each of 1 batches, got 2": lambda: problem(weights=[1.0, 2.0]),
    "expected finite numbers of at least 0, got [-1.0]": lambda: problem(weights=[-1.0]),
    "memory: expected at least ...which one sample takes, got 10": lambda: problem(memory=10),
    "memory: ...give weights as a function": lambda: problem(memory=10, weights=[1.0]),
    "data: expected a list of batches ...got NoneType": lambda: problem(data=None),
    "iterated again, got generator; use list(data)": lambda: problem(data=(at for at in [(X, Y)])),
    "expected data with a length, got DataLoader, which may be endless: ...num_batches=": lambda: (
        problem(data=DataLoader(Endless(), 2))
    ),
    "data: expected the 3 batches of its length, got 'more'": lambda: problem(
        data=TooLong((X, Y))
    ),
    "num_batches: expected at most the 1 that there are, got 2": lambda: problem(num_batches=2),
    "num_batches: expected a whole number of at least 1, got 0": lambda: problem(num_batches=0),
    "data: expected data with a length, got Endless": lambda: cf.of(
        linear(nn.Linear(3, 3, bias=False)), Endless((X, Y)), nn.MSELoss()
    ),
    "expected at least one batch": lambda: problem(data=[]),
    "got one tensor; a single pair goes into a list: [(": lambda: problem(data=(X, Y)),
    "1 batches at first, 0 when read again...list(data)": lambda: problem(data=Exhausted()),
    "batch 0: expected as many targets as inputs ...(4, 3)": lambda: problem(data=[(X, Y[:4])]),
    "batch 1: ...at least one": lambda: problem(data=[(X, Y), (X[:0], Y[:0])]),
    "batch 0: expected a pair of tensors ...got dict (); ...loss_fn=": lambda: problem(
        data=[{"x": X}]
    ),
    "expected finite inputs, got NaN or infinity": lambda: problem(data=[(X * torch.nan, Y)]),
    "expected inputs of the parameters' type torch.float64": lambda: problem(
        data=[(X.float(), Y)]
    ),
    "expected tensors with values, got one on meta": lambda: problem(data=[(X.to("meta"), Y)]),
}  # fmt: skip

"""The result of a library for a small network, beside the truth: right, refused or wrong.

Each library is used as its documentation says, with its own checks on.
"""

import contextlib
import io
import math
import os
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from benchmarks import trials
from benchmarks.trial import Trial, truth
from hessian_spectra import curvature as cv

Product = Callable[[Tensor], Tensor]
DIRECTIONS = 3


class NotOfferedError(Exception):
    """The library has nothing of this kind."""


def ours(trial: Trial) -> Product:
    if trial.loss is None:
        problem = cv.Problem(
            trial.model, loss_fn=lambda model, batch: model(**batch), data=trial.data
        )
    else:
        problem = cv.Problem(trial.model, trial.loss, trial.data)
    return {"hessian": cv.hessian, "ggn": cv.ggn}[trial.matrix](problem).__matmul__


class NextToken(nn.Module):
    """A language model as a map from a dictionary to scores ``(n T, V)``, as curvlinops asks."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """The scores of all tokens but the first."""
        return self.model(input_ids=batch["input_ids"]).logits[:, :-1].flatten(0, 1)


def curvlinops(trial: Trial) -> Product:
    from curvlinops import GGNLinearOperator, HessianLinearOperator

    kind = {"hessian": HessianLinearOperator, "ggn": GGNLinearOperator}[trial.matrix]
    parameters = [p for p in trial.model.parameters() if p.requires_grad]
    if trial.loss is None:
        data = [
            ({"input_ids": batch["input_ids"]}, batch["labels"][:, 1:].flatten())
            for batch in trial.data
        ]
        return kind(
            NextToken(trial.model), nn.CrossEntropyLoss(), parameters, data,
            batch_size_fn=lambda batch: batch["input_ids"].shape[0],
        ).__matmul__  # fmt: skip
    return kind(trial.model, trial.loss, parameters, trial.data).__matmul__


def hessian_eigenthings(trial: Trial) -> Product:
    import hessian_eigenthings as he

    if trial.matrix == "ggn":
        criterion = he.supervised_loss_of_output(trial.loss)
        return he.GGNOperator(trial.model, trial.data, he.supervised_forward, criterion).matvec
    loss = he.hf_lm_loss() if trial.loss is None else he.supervised_loss(trial.loss)
    return he.HessianOperator(trial.model, trial.data, loss).matvec


def pyhessian(trial: Trial) -> Product:
    from pyhessian.hessian import hessian
    from pyhessian.utils import hessian_vector_product

    if trial.matrix == "ggn":
        raise NotOfferedError
    model, loss, data = trial.model, trial.loss, trial.data
    if loss is None:
        # It calls its criterion with what the model gives for the inputs of a pair.
        model, loss = NextToken(model), nn.CrossEntropyLoss()
        data = [(batch, batch["labels"][:, 1:].flatten()) for batch in data]
    source = {"data": data[0]} if len(data) == 1 else {"dataloader": data}
    inner = hessian(model, loss, cuda=False, **source)

    def product(vector: Tensor) -> Tensor:
        pieces = vector.split([parameter.numel() for parameter in inner.params])
        parts = [
            piece.view_as(parameter) for piece, parameter in zip(pieces, inner.params, strict=True)
        ]
        if inner.full_dataset:
            images = inner.dataloader_hv_product(parts)[1]
        else:
            images = hessian_vector_product(inner.gradsH, inner.params, parts)
        return torch.cat([image.reshape(-1) for image in images])

    return product


LIBRARIES: dict[str, Callable[[Trial], Product]] = {
    "ours": ours,
    "curvlinops": curvlinops,
    "hessian-eigenthings": hessian_eigenthings,
    "PyHessian": pyhessian,
}


@dataclass(frozen=True)
class Outcome:
    """The result of a library for a network, and what of the user's it left changed."""

    verdict: str
    detail: str = ""
    changed: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.verdict} {self.detail}".rstrip()


def outcome(name: str, library: str) -> Outcome:
    """Try one library on one network."""
    trial = trials.make(name)
    size = sum(parameter.numel() for parameter in trial.model.parameters())
    draws = torch.Generator().manual_seed(3)
    vectors = torch.randn(DIRECTIONS, size, generator=draws, dtype=torch.float64)
    expected = [truth(trial, vector) for vector in vectors]
    torch.manual_seed(0)
    before = state(trial)
    try:
        # One library prints what its check found.
        with contextlib.redirect_stdout(io.StringIO()):
            product = LIBRARIES[library](trial)
        dtype = next(trial.model.parameters()).dtype
        entries = [product(vector.to(dtype)).detach().double() for vector in vectors]
    except NotOfferedError:
        return Outcome("not offered")
    except Exception as error:
        return Outcome(*failure(error), changes(before, state(trial)))
    verdict, detail = judged(entries, expected, trial.tolerance)
    return Outcome(verdict, detail, changes(before, state(trial)))


def judged(actual: list[Tensor], expected: list[Tensor], tolerance: float) -> tuple[str, str]:
    """Right or wrong, and the largest relative error of a product."""
    errors = [
        float((own - true).norm() / true.norm()) for own, true in zip(actual, expected, strict=True)
    ]
    if not all(map(math.isfinite, errors)):
        return "WRONG", "not finite"
    error = max(errors)
    if error <= tolerance:
        return "right", f"({error:.0e})"
    return "WRONG", f"{100 * error:.2g} %" if error < 0.995 else f"{100 * error:.0f} %"


def failure(error: Exception) -> tuple[str, str]:
    """Refused, if the library says so itself; else what comes from below it."""
    source = traceback.extract_tb(error.__traceback__)[-1].filename
    packages = ("hessian_spectra", "curvlinops", "hessian_eigenthings", "pyhessian")
    own = any(f"{os.sep}{package}{os.sep}" in source for package in packages)
    verdict = "refused:" if own and not isinstance(error, AssertionError) else "raises:"
    return verdict, shortened(str(error) or type(error).__name__)


def shortened(message: str, length: int = 60) -> str:
    """The start of a message."""
    first = message.split("\n")[0].strip()
    return first if len(first) <= length else f"{first[:length].rstrip()} ..."


def state(trial: Trial) -> dict[str, object]:
    """The states of the user's that can be changed."""
    named = dict(trial.model.named_parameters(remove_duplicate=False))
    return {
        "parameters replaced": {name: id(p) for name, p in named.items()},
        "values changed": {name: p.detach().clone() for name, p in named.items()},
        "buffers changed": {name: b.clone() for name, b in trial.model.named_buffers()},
        "`.grad` left": {name: None if p.grad is None else p.grad.detach().clone()
                       for name, p in named.items()},
        "set to `eval()`": {name: m.training for name, m in trial.model.named_modules()},
        "random numbers drawn": {"": torch.get_rng_state()},
    }  # fmt: skip


def changes(before: dict[str, object], after: dict[str, object]) -> tuple[str, ...]:
    def same(item: object, other: object) -> bool:
        if isinstance(item, Tensor) and isinstance(other, Tensor):
            return item.dtype == other.dtype and torch.equal(item, other)
        return type(item) is type(other) and item == other

    def all_same(item: Mapping[str, object], other: Mapping[str, object]) -> bool:
        return item.keys() == other.keys() and all(same(item[name], other[name]) for name in item)

    return tuple(what for what in before if not all_same(before[what], after[what]))

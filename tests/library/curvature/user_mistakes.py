"""The mistakes of users, by what is said of them; as a program, what is said now.

The sentences are parts of the messages, with dots for what stands between, and begin with the name
of the error unless that is a ValueError.
"""

import itertools
import json
import tempfile
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn import functional
from torch.utils.data import DataLoader, IterableDataset

from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.curvature.ensemble import (
    SecondMoments,
    ensemble_block_bounds,
    ensemble_sharpness,
    hessians,
)
from hessian_spectra.models import Ensemble

from .cases import LABELS, X, Y, built, cut, mlp, normal
from .layer_networks import NETWORKS, problem_of


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
OF_OPERATORS = (
    cv.trace, cv.top_eigenpairs, cv.spectral_density, cv.diagonal, cv.inverse, cv.as_operator,
    cv.dense_matrix, cv.dense_spectrum, cv.log_determinant, cv.distinct_eigenvalues,
    lambda given: cv.block_diagonal([given]), lambda given: A + given,
    lambda given: cv.trace_of_function(given, torch.exp),
    lambda given: cv.effective_dimension(given, 0.1),
    lambda given: cv.function_product(given, torch.exp, normal(7)),
    lambda given: cv.preconditioned(given, torch.ones(7)),
)  # fmt: skip

PROBLEMS: Mistakes = {
    "model: expected a torch.nn.Module, got function": lambda: problem(lambda x: x),
    "model: expected a torch.nn.Module, got func": lambda: cf.of(lambda x: x, (X, Y)),
    "torch.jit) ...; give the module that it was made from": scripted,
    "'0.weight' is spread over processes ...full_tensor()": spread,
    "torch.inference_mode, ...build the model outside": without_derivatives,
    "expected float32 or float64, got '0.weight' of torch.float16": lambda: problem(mlp().half()),
    "torch.bfloat16; give copy.deepcopy(model).float()": lambda: problem(mlp().bfloat16()),
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
    "one that requires a gradient, got none": lambda: problem(parameters=lambda name, at: False),
    "there is no 'wieght'; available are ['0.bias', '0.weight', '2.bias'": lambda: problem(
        parameters=["wieght"]
    ),
    "there is no 'wei*t2'": lambda: problem(parameters="wei*t2"),
    "expected each name once": lambda: problem(parameters=["0.bias", "0.bias"]),
    "expected a module of the model": lambda: problem(parameters=nn.Linear(1, 1)),
    "loss: expected a function or a module, got 'mse'": lambda: problem(loss="mse"),
    "loss: expected a function or a module, got list": lambda: problem(loss=[(X, Y)]),
    "got MSELoss without parameters and Sequential with some; ...other way": lambda: alike(
        lambda: problem(nn.MSELoss(), built(mlp)),
        lambda: cv.sharpness(nn.MSELoss(), built(mlp), [(X, Y)]),
    ),
    "model, loss: ...got function without parameters and Sequential with": lambda: problem(
        functional.mse_loss, built(mlp)
    ),
    "OperatorError: torch.inference_mode is on around the call": inferred,
    "NotCoveredError: loss: ...got function mse_loss; give a module, such as nn.MSE": lambda: (
        cf.of(built(mlp)[0], (X, Y), functional.mse_loss)
    ),
    "NotCoveredError: loss: ...got function <lambda>; give a module": lambda: cf.of(
        built(mlp)[0], (X, Y), lambda outputs, targets: (outputs - targets).square().mean()
    ),
    "NotCoveredError: loss: ...got type MSELoss; give a module": lambda: cf.of(
        built(mlp)[0], (X, Y), nn.MSELoss
    ),
    "NotCoveredError: loss: ...theorems give, got list": lambda: cf.of(
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
    "got the class; use MSELoss()": lambda: problem(loss=nn.MSELoss),
    "expected reduction 'mean' or 'sum', got 'none'": lambda: problem(
        loss=nn.MSELoss(reduction="none")
    ),
    "expected one of loss ...got neither": lambda: cv.Problem(built(mlp), None, [(X, Y)]),
    "expected one of loss ...got both": lambda: problem(loss_fn=lambda model, batch: 0),
    "expected one of loss ...and batch), got neither": lambda: cv.sharpness(built(mlp)),
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
    "with a length, got Endless, which": lambda: problem(data=Endless((X, Y))),
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
    "expected a pair of tensors": lambda: problem(data=[(X, Y, Y)]),
    "batch 0: expected a pair of tensors ...got dict (); ...loss_fn=": lambda: problem(
        data=[{"x": X}]
    ),
    "expected finite inputs, got NaN or infinity": lambda: problem(data=[(X * torch.nan, Y)]),
    "expected finite targets": lambda: problem(data=[(X, Y / 0)]),
    "expected inputs of the parameters' type torch.float64": lambda: problem(
        data=[(X.float(), Y)]
    ),
    "expected targets of the parameters' type torch.float64": lambda: problem(
        data=[(X, Y.float())]
    ),
    "expected tensors with values, got one on meta": lambda: problem(data=[(X.to("meta"), Y)]),
}  # fmt: skip


class Known(cv.Operator):
    """A matrix as it is, with infinite numbers if it has them."""

    def __init__(self, matrix: torch.Tensor) -> None:
        super().__init__(len(matrix), matrix.dtype, matrix.device)
        self.matrix = matrix

    def _matmat(self, columns: torch.Tensor) -> torch.Tensor:
        return self.matrix @ columns


HALF = normal(7, 7, seed=1)
A, B, SMALL = Known(HALF + HALF.T), HALF + HALF.T, Known(torch.eye(4).double())
U, ONES, UPPER = torch.eye(7).double()[:, :3], torch.ones(7, 2).double(), torch.eye(4).cumsum(1)

OPERATORS: Mistakes = {
    "A + B: expected operators of one shape, type and device, got (7, 7)...and (4, 4)": lambda: (
        A + SMALL
    ),
    "shape, type and device, got ...64 on cpu ...32 on cpu": lambda: A - B.float(),
    "TypeError: got 3; A + s I is A.shift(s)": lambda: A + 3,
    "TypeError: expected a symmetric tensor ...got ndarray; ...by operator_from": lambda: (
        np.eye(7) + A
    ),
    "OperatorError: expected a symmetric": lambda: A + HALF,
    "TypeError: (p, p), ...got Problem; a problem has hessian(problem) and ggn": lambda: each(
        OF_OPERATORS, problem
    ),
    "TypeError: @ for tensors, got Sequential; a problem has hessian(": lambda: each(
        OF_OPERATORS, lambda: built(mlp)
    ),
    "x @ A: expected x of shape (7,) or (k, 7), got (7, 3)": lambda: U @ A,
    "TypeError: (7,) or (7, k), got ndarray": lambda: np.eye(7) @ A,
    "square matrix (p, p), got shape (7, 2)": lambda: A + ONES,
    "got torch.int": lambda: cv.as_operator(torch.eye(3).long()),
    "TypeError: A * s: expected a number s, got Tensor": lambda: A * B,
    "expected a finite number s": lambda: A * float("inf"),
    "TypeError: A / s: expected a number s, got Known": lambda: A / A,
    "ZeroDivisionError: division by zero": lambda: A / 0,
    "A.shift(s): ...got nan": lambda: A.shift(float("nan")),
    "at least one whole number": lambda: A.submatrix([]),
    "got shape ...of torch.bool": lambda: A.submatrix(B[0] > 0),
    "from 0 to 6, got 2 from": lambda: A.submatrix([0, 7]),
    "got 1 from -1 to -1": lambda: A.submatrix([-1]),
    "each once ...1 of them diff": lambda: A.submatrix([1, 1]),
    "basis: expected a matrix (p, k), got shape": lambda: A.projection(U[:, 0]),
    "expected x of shape (7,) or (7, k), got (4, 3)": lambda: A.restriction(U[:4]),
    "basis: expected orthonormal": lambda: A.projection(2 * U),
    "blocks: expected at least one, got none": lambda: cv.block_diagonal([]),
    "blocks: expected one type and dev": lambda: cv.block_diagonal([A, B.float()]),
    "TypeError: A @ x: expected a tensor (7,)": lambda: A @ A,
    "p = 7 numbers ...[(2, 3)]": lambda: A.to_curvlinops([(2, 3)]),
    "expected x of shape (31,) or (31, k), got (5,)": lambda: cv.hessian(problem()) @ normal(5),
    "expected x of torch.float64 on cpu, got torch.float32": lambda: (
        cv.hessian(problem(), backend="curvlinops") @ normal(31).float()
    ),
    "expected x ...got (31, 2, 2)": lambda: cv.ggn(problem()) @ normal(31, 2, 2),
    "backend: expected 'autograd' or 'curvlinops', got 'jax'": lambda: cv.hessian(
        problem(), backend="jax"
    ),
    "expected 'autograd' or 'curvlinops', got 'jax'": lambda: cv.ggn(problem(), backend="jax"),
    "check: expected 'once', 'always' or False, got True": lambda: cv.hessian(
        problem(), check=True
    ),
    "expected 'once', 'always' or False, got True": lambda: cv.ggn(problem(), check=True),
    "OperatorError: twice ...ctc_loss_backward...expected another form of it": connectionist,
    "by: expected 'module' or 'parameter', got 'layer'": lambda: (
        cv.hessian(problem()).blocks("layer")
    ),
    "size: expected p, the length of the vectors, at least 1": lambda: cv.operator_from(
        lambda v: v
    ),
    "OperatorError: y'Ax = x'Ay of a symmetric matrix": lambda: cv.operator_from(
        lambda v: UPPER.double() @ v, 4
    ),
    "OperatorError: the function is not linear": lambda: cv.operator_from(
        lambda v: v / v.norm(), 4
    ),
    "NotFiniteError: not finite for a random vector": lambda: cv.operator_from(
        lambda v: v * torch.nan, 4
    ),
    "OperatorError: expected a tensor (4,) of torch.float64, got (3": lambda: cv.operator_from(
        lambda v: v[:3], 4
    ),
    "OperatorError: of torch.float64, got list": lambda: cv.operator_from(lambda v: v.tolist(), 4),
    "expected a square operator, got shape (2, 3)": lambda: cv.operator_from(np.ones((2, 3))),
    "expected a square operator of size 4, got shape (3, 3)": lambda: cv.operator_from(
        np.eye(3), 4
    ),
    "expected float32 or float64, got torch.bfloat16": lambda: cv.operator_from(
        lambda v: v, 4, dtype=torch.bfloat16
    ),
}  # fmt: skip

EYE, E = torch.eye(400).double(), torch.eye(4)
INDEFINITE = torch.diag(torch.cat([torch.tensor([-3.0]), torch.ones(1999)]))
INFINITE = Known(torch.full((100, 100), torch.inf))
top, inverse = cv.top_eigenpairs, cv.inverse
SEEDED = tuple(
    partial(lambda function, seed: function(EYE, seed=seed), function)
    for function in (
        cv.trace, top, cv.spectral_density, cv.diagonal, cv.log_determinant,
        cv.distinct_eigenvalues,
    )
)  # fmt: skip
WIDE = cv.operator_from(lambda v: v, 5001, check=False)

SOLVERS: Mistakes = {
    "k: expected 1 to p = 400 eigenpairs, got 0": lambda: top(EYE, 0),
    "k: expected 1 to p = 400 eigenpairs, got 401": lambda: top(EYE, 401),
    "k: expected 1 to p = 400 eigenpairs, got 2.5": lambda: top(EYE, 2.5),
    "tol: expected a positive relative residual, got 0.0": lambda: top(EYE, tol=0.0),
    "start: expected shape (400,) or (400, s), got (3,)": lambda: top(EYE, start=torch.zeros(3)),
    "start: expected finite numbers, got NaN or": lambda: top(EYE, start=EYE * torch.nan),
    "max_iterations: expected at least k = 5, got 4": lambda: top(EYE, 5, max_iterations=4),
    "basis_size: expected at least k + 2 = 7, got 6": lambda: top(EYE, 5, basis_size=6),
    "which: expected one of ['LA', ..., got 'BE'": lambda: top(EYE, which="BE"),
    "memory: expected a number of bytes above zero, got 0": lambda: top(EYE, memory=0),
    "p = 5001 parameters is above the limit of 5000; use top": lambda: cv.dense_spectrum(WIDE),
    "p = 5001 parameters is above the limit": lambda: cv.dense_matrix(WIDE),
    "fewer than about 10 distinct": lambda: cv.distinct_eigenvalues(
        torch.arange(40.0).diag(), max_products=20
    ),
    "probes: hutchinson needs at least 2, got 1": lambda: cv.trace(EYE, "hutchinson", probes=1),
    "probes: hutch++ needs at least 6, got 5": lambda: cv.trace(EYE, "hutch++", probes=5),
    "probes: xtrace needs at least 4, got 3": lambda: cv.trace(EYE, "xtrace", probes=3),
    "probes: ...at least 4, got 30.5": lambda: cv.trace(EYE, probes=30.5),
    "method: expected one of ['adaptive', ...'hutch'": lambda: cv.trace(EYE, "hutch"),
    "blocks: expected 'module', 'parameter' or None, got 'l'": lambda: cv.trace(EYE, blocks="l"),
    "memory: expected a number of bytes above zero, got -1": lambda: cv.trace(EYE, memory=-1),
    "level: expected a share in (0, 1), ..., got 95": lambda: cv.trace(EYE, "exact").interval(95.0),
    "probes: expected at least 2, got 1": lambda: cv.spectral_density(EYE, probes=1),
    "steps: expected at least 1, got 0": lambda: cv.spectral_density(EYE, steps=0),
    "points: expected at least 2, got 1": lambda: cv.spectral_density(EYE, points=1),
    "width: expected a fraction of the range in (0, 1), got 0.0": lambda: cv.spectral_density(
        EYE, width=0.0
    ),
    "expected two bases of one shape ...got (4, 2) and (4, 3)": lambda: cv.subspace_overlap(
        E[:, :2], E[:, :3]
    ),
    "got (4,) and (4,)": lambda: cv.subspace_overlap(E[0], E[0]),
    "k ≤ p": lambda: cv.subspace_overlap(E[:2], E[:2]),
    "V: expected orthonormal columns": lambda: cv.subspace_overlap(E, 2 * E),
    "U: expected orthonormal columns": lambda: cv.subspace_overlap(E * torch.nan, E),
    "method: expected 'xdiag', 'hutchinson' or 'exact', got 'best'": lambda: cv.diagonal(E, "best"),
    "repeats, probes: ...got 1 and 60": lambda: cv.diagonal(E, repeats=1),
    "repeats, probes: ...got 5 and 9": lambda: cv.diagonal(E, probes=9),
    "NotFiniteError: operator: a product is not finite": lambda: cv.diagonal(INFINITE),
    "seed: expected a whole number, ...got 1.5": lambda: cv.sharpness(problem(), seed=1.5),
    "seed: expected a whole number, ...got None": lambda: cv.trace(E, seed=None),
    "seed: expected a whole number, ...initial_seed(), got <torch._C.Generator": lambda: each(
        SEEDED, lambda: torch.default_generator
    ),
    "damping: expected a number of at least 0, got -1": lambda: inverse(E, damping=-1.0),
    "expected a number in (0, 1) and at least 1, got 0.0 and 1000": lambda: inverse(E, tol=0.0),
    "method: expected 'cg' or 'lsmr', got 'lu'": lambda: inverse(E, "lu"),
    "inverse @ x: expected finite numbers, got NaN or inf": lambda: inverse(E) @ (E[0] * torch.nan),
    "eigenvalue, got nan at -3": lambda: cv.log_determinant(INDEFINITE),
    "f: ...eigenvalue, got nan at -3": lambda: cv.effective_dimension(INDEFINITE, 0.5),
    "got -inf at 0; f(A) does not exist there": lambda: cv.log_determinant(torch.zeros(3, 3)),
    "damping: expected a number above 0": lambda: cv.effective_dimension(E, 0.0),
    "expected a value for each eigen": lambda: cv.trace_of_function(E, torch.sum),
    "probes, steps: expected at least 2": lambda: cv.trace_of_function(E, torch.exp, probes=1),
    "f: expected finite values between ...got nan at -3": lambda: cv.function_product(
        INDEFINITE, torch.log, torch.ones(2000)
    ),
    "shape (2000,) or": lambda: cv.function_product(INDEFINITE, torch.exp, torch.ones(3)),
    "shape (4,), got (4": lambda: cv.function_product(E, torch.exp, E),
}  # fmt: skip


def line(direction: torch.Tensor, *distances: float) -> Any:
    return cv.loss_along(problem(linear(nn.Linear(3, 3))), direction, distances)


def plane(u: torch.Tensor, v: torch.Tensor, *distances: list[float]) -> Any:
    return cv.loss_plane(problem(linear(nn.Linear(3, 3))), u, v, *distances)


def tracked(**settings: Any) -> Any:
    return cv.SharpnessTracker(built(mlp), nn.MSELoss(), [(X, Y)], **settings)


def seen(kind: type[torch.optim.Optimizer], *, steps: int = 0) -> Any:
    """The diagonal for all parameters of an optimiser of the first."""
    model = built(mlp)
    optimizer = kind(list(model.parameters())[: 1 if steps else None], lr=0.1)
    for _ in range(steps):
        model(X).sum().backward()
        optimizer.step()
    return cv.preconditioner(optimizer, model.parameters())


class SignDescent(torch.optim.AdamW):
    """Adam's state, and a step of its own."""

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state[parameter]
                state["step"] = torch.tensor(1.0)
                state["exp_avg_sq"] = parameter.grad.square()
                parameter.sub_(group["lr"] * parameter.grad.sign())


V = normal(12)
NAN = float("nan")

TRAININGS: Mistakes = {
    "direction: expected a vector of shape (12,)": lambda: line(V[:3], 0.0),
    "direction: expected finite numbers that are": lambda: line(0 * V, 0.0),
    "not all zero, got length": lambda: line(V / 0, 0.0),
    "distances: expected at least one finite distance": lambda: line(V),
    "finite distance in a row": lambda: line(V, 0.0, NAN),
    "expected ascending distances, got [1.0,": lambda: line(V, 1.0, 0.5),
    "v: expected a vector of shape (12,)": lambda: plane(V, V[:2], [0.0]),
    "u, v: expected two directions that span": lambda: plane(V, -2 * V, [0.0]),
    "second: expected asc": lambda: plane(V, V.flip(0), [0.0], [1.0, 1.0]),
    "every: expected at least 1 step, got 0": lambda: tracked(every=0),
    "every: expected at least 1 step, got 'a'": lambda: tracked(every="a"),
    "step: expected the number of the step, a whole one, got 'a'": lambda: tracked().step("a"),
    "step: ...got None": lambda: tracked().step(None),
    "step: ...got 1.0": lambda: tracked().step(1.0),
    "k: expected 1 to k_max = 20 eigenvalues, got 0": lambda: tracked(k=0),
    "k: expected 1 to k_max = 4 eigenvalues, got 5": lambda: tracked(k=5, k_max=4),
    "log: expected a W&B run or a function, got int": lambda: tracked(log=3),
    "matrix: expected 'hessian' or 'ggn', got 'fisher'": lambda: tracked(matrix="fisher"),
    "a problem has its own; give the problem alone": lambda: cv.sharpness(problem(), nn.MSELoss()),
    "parameters, loss_fn, num_batches: a problem has its own": lambda: cv.sharpness(
        problem(), parameters="0.*"
    ),
    "TypeError: optimizer: expected Adam, ...got SGD": lambda: seen(torch.optim.SGD),
    "TypeError: a diagonal, got SGD": lambda: tracked(
        optimizer=torch.optim.SGD([nn.Parameter(V)], lr=0.1)
    ),
    "TypeError: of torch itself, ...got SignDescent, a subclass of AdamW that may step": lambda: (
        alike(
            lambda: seen(SignDescent),
            lambda: tracked(optimizer=SignDescent([nn.Parameter(V)], lr=0.1)),
        )
    ),
    "optimizer: it has made no step": lambda: seen(torch.optim.Adam),
    "it has made no step": lambda: seen(torch.optim.Adagrad),
    "number 1 is none of the optimizer's": lambda: seen(torch.optim.Adam, steps=1),
    "diagonal: expected numbers above 0, got 0.0": lambda: cv.preconditioned(E, E[0]),
    "diagonal: expected shape (4,)": lambda: cv.preconditioned(E, E),
    "expected at least two batches, whose": lambda: cv.gradient_noise(problem()),
    "expected at least two batches, got one": lambda: cv.batch_sharpness(problem()).interval(),
}  # fmt: skip


def layer(key: str, name: str) -> cv.Layerwise:
    return cv.layerwise(problem_of(NETWORKS[key], NETWORKS[key].model()), name)


def full_output(key: str = "linear") -> cv.FullOutputHessian:
    return cv.full_output_hessian(problem_of(NETWORKS[key], NETWORKS[key].model()))


def inverted() -> Any:
    """The damped inverse of a product of factors that is indefinite, through a tanh behind."""
    model = linear(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3))
    torch.nn.utils.vector_to_parameters(normal(31), model.parameters())
    at = cv.Problem(model, nn.MSELoss(), [(X, 5 * Y)])
    return cv.layerwise(at, "0").eigenbasis().damped_inverse(1e-3)


LAYERS: Mistakes = {
    "damping: ...got 0.001: the matrix is indefinite (smallest ...E[M] ...'weighted'": inverted,
    "damping: expected a number above 0, got 'a'": lambda: (
        layer("linear", "2").eigenbasis().damped_inverse("a")
    ),
    "name: expected a layer's name, several, ..., got 0": lambda: cv.layerwise(problem(), 0),
    "k: expected 1 to 12, got 2.5": lambda: cv.layerwise(problem(), "0").kronecker(2.5),
    "k: expected 1 to 20, got 0": lambda: layer("linear", "2").kronecker(0),
    "k: expected 1 to 20, got -1": lambda: layer("linear", "2").eigenvalue_corrected(-1),
    "expected vectors as columns, (20, k), got (19, 1)": lambda: layer("linear", "0").matricise(
        torch.ones(19, 1)
    ),
    "side: expected 'output' or 'input', got 'both'": lambda: (
        layer("linear", "2").correspondence(torch.ones(20, 1), "both")
    ),
    "factors: expected one of 'expand', 'reduce', ...'both'": lambda: (
        layer("linear", "2").factors("both")
    ),
    "factors: expected a layer without groups, got '0'": lambda: (
        layer("convolutions", "0").factors("weighted")
    ),
    "best_kronecker: expected a layer without groups, got '0'": lambda: (
        layer("convolutions", "0").best_kronecker()
    ),
    "correspondence: expected a layer without groups, got '0'": lambda: (
        layer("convolutions", "0").correspondence(torch.ones(36, 1), "input")
    ),
    "eigenvalue_corrected: expected a layer without groups, got '0'": lambda: (
        layer("convolutions", "0").eigenvalue_corrected(1)
    ),
    "form: expected 'corrected' or 'printed', got 'old'": lambda: full_output().approximation(
        2, "old"
    ),
    "k: expected 1 to 12, got 13": lambda: full_output().approximation(13),
    "used at one position, '0' is used at 6": lambda: full_output("convolutions"),
}  # fmt: skip


def ensemble(activation: str = "linear", count: int = 3) -> Ensemble:
    """Three inputs, two outputs."""
    weights = normal(count, 4, 3), normal(count, 2, 4)
    return Ensemble(weights=weights, multipliers=(1.0, 1.0), activation=activation)


S, T = normal(7, 3), normal(7, 2)

ENSEMBLES: Mistakes = {
    "second moments describe linear networks only": lambda: hessians(
        ensemble("relu"), SecondMoments.of(S, T)
    ),
    "expected 3 inputs and 2 outputs as the networks have, got 2": lambda: hessians(
        ensemble(), (S[:, :2], T)
    ),
    "3 inputs and 2 outputs as the networks have, got 3 and 1": lambda: hessians(
        ensemble("relu"), (S, T[:, :1])
    ),
    "expected x (n, D) and y (n, K) with at least one sample": lambda: hessians(
        ensemble("relu"), (S, T[:5])
    ),
    "with at least one sample": lambda: hessians(ensemble(), (S[:0], T[:0])),
    "at least one sample, got (7, 3) and (7,)": lambda: hessians(ensemble(), (S, T[:, 0])),
    "expected the networks' torch.float64 on cpu": lambda: hessians(
        ensemble("relu"), (S.float(), T.float())
    ),
    "expected the networks' torch.float64": lambda: hessians(
        ensemble(), SecondMoments.of(S.float(), T.float())
    ),
    "expected sxx (D, D), syx (K, D)...got (3, 3), (3, 2": lambda: SecondMoments(
        torch.eye(3), torch.ones(3, 2), torch.tensor(1.0), 5
    ),
    "sxx: expected shape (3, 3), got (2, 2)": lambda: ensemble_block_bounds(
        ensemble(), torch.eye(2)
    ),
    "tol: expected a number in (0, 1), got 0.0": lambda: ensemble_sharpness(
        ensemble(), (S, T), tol=0.0
    ),
    "tol: expected a number in (0, 1), got 1.0": lambda: ensemble_sharpness(
        ensemble(), (S, T), tol=1.0
    ),
    "tol: expected a number in (0, 1), got nan": lambda: ensemble_sharpness(
        ensemble(), (S, T), tol=NAN
    ),
    "ensemble: expected at least one network, got none": lambda: ensemble_sharpness(
        ensemble(count=0), (S, T)
    ),
}  # fmt: skip


def mean(model: nn.Module, batch: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    outputs = model(batch)
    return outputs.square().mean(), outputs


def of_model() -> cv.Problem:
    return cv.Problem(built(mlp), loss_fn=mean, data=[X])


# Sequences of four and of two positions: the loss counts elements.
CUTS = [(normal(3, length, 3), normal(3, length, 3, seed=1)) for length in (4, 2)]
WEIGHTED = nn.CrossEntropyLoss(torch.tensor([1.0, 2.0, 3.0]).double())
given = cv.curvlinops_arguments

CURVLINOPS: Mistakes = {
    "curvlinops_arguments: curvlinops takes a loss of outputs and targets, no loss_fn": lambda: (
        given(of_model())
    ),
    "curvlinops_arguments: ...3 of 6 samples by 0.5, the loss by 0.667; g": lambda: given(
        problem(data=CUTS)
    ),
    "curvlinops_arguments: ...3 of 7 samples by 0.429, the los": lambda: given(
        problem(loss=WEIGHTED, data=cut(X, LABELS, 3, 4))
    ),
    "...4 of 7 samples by 1, the loss by 2; give batches of one shape, or all data as": lambda: (
        given(problem(loss=nn.MSELoss(reduction="sum"), data=cut(X, Y, 3, 4), weights=[1, 2]))
    ),
    "curvlinops_arguments: ...with reduction 'mean' or 'sum', got mse_loss": lambda: given(
        problem(loss=functional.mse_loss)
    ),
    "backend: curvlinops takes a loss of outputs and targe": lambda: cv.ggn(
        of_model(), backend="curvlinops", check=False
    ),
    "backend: ...with reduction 'mean' or 'sum', got mse_loss": lambda: cv.hessian(
        problem(loss=functional.mse_loss), backend="curvlinops", check=False
    ),
}  # fmt: skip

GROUPS = (PROBLEMS, OPERATORS, SOLVERS, TRAININGS, LAYERS, ENSEMBLES, CURVLINOPS)
MISTAKES = {said: attempt for group in GROUPS for said, attempt in group.items()}


def message(attempt: Callable[[], Any]) -> str:
    try:
        attempt()
    except (ValueError, TypeError, ZeroDivisionError, cv.OperatorError) as error:
        return f"{type(error).__name__}: {error}"
    return "nothing was refused"


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(json.dumps({said: message(attempt) for said, attempt in MISTAKES.items()}))

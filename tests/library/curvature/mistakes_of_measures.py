"""Operators that are none, and settings that solvers, trackers and layers refuse."""

import itertools
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from hessian_spectra import curvature as cv
from hessian_spectra.curvature.ensemble import (
    SecondMoments,
    ensemble_block_bounds,
    ensemble_sharpness,
    hessians,
)
from hessian_spectra.curvature.ensemble.spectra import exact_spectra
from hessian_spectra.models import Ensemble

from .cases import Matrix, X, Y, built, mlp, normal
from .layer_networks import NETWORKS, layer_of, problem_of
from .mistakes_of_problems import Mistakes, alike, connectionist, each, linear, problem

OF_OPERATORS = (
    cv.trace, cv.top_eigenpairs, cv.spectral_density, cv.diagonal, cv.inverse, cv.as_operator,
    cv.dense_matrix, cv.dense_spectrum, cv.log_determinant, cv.distinct_eigenvalues,
    lambda given: cv.block_diagonal([given]), lambda given: A + given,
    lambda given: cv.trace_of_function(given, torch.exp),
    lambda given: cv.effective_dimension(given, 0.1),
    lambda given: cv.function_product(given, torch.exp, normal(7)),
    lambda given: cv.preconditioned(given, torch.ones(7)),
)  # fmt: skip


HALF = normal(7, 7, seed=1)
A, B, SMALL = Matrix(HALF + HALF.T), HALF + HALF.T, Matrix(torch.eye(4).double())
U, ONES, UPPER = torch.eye(7).double()[:, :3], torch.ones(7, 2).double(), torch.eye(4).cumsum(1)

PATTERN = {"*.x": "x"}

OPERATORS: Mistakes = {
    "A + B: expected operators of one shape, type and device, got (7, 7)...and (4, 4)": lambda: (
        A + SMALL
    ),
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
    "square matrix (p, p), got shape (7, 2)": lambda: A + ONES,
    "got torch.int": lambda: cv.as_operator(torch.eye(3).long()),
    "TypeError: A * s: expected a number s, got Tensor": lambda: A * B,
    "expected a finite number s": lambda: A * float("inf"),
    "ZeroDivisionError: division by zero": lambda: A / 0,
    "at least one whole number": lambda: A.submatrix([]),
    "got shape ...of torch.bool": lambda: A.submatrix(B[0] > 0),
    "from 0 to 6, got 2 from": lambda: A.submatrix([0, 7]),
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
    "backend: expected 'autograd' or 'curvlinops', got 'jax'": lambda: cv.hessian(
        problem(), backend="jax"
    ),
    "check: expected 'once', 'always' or False, got True": lambda: cv.hessian(
        problem(), check=True
    ),
    "OperatorError: twice ...ctc_loss_backward...expected another form of it": connectionist,
    "names: ...Tanh, linear map (did you mean Tanh?), got 'tanh'": lambda: cv.linearised_hessian(
        problem(), ["tanh"]
    ),
    "modules: expected patterns of 0, 1, 2, got '*.x'": lambda: alike(
        lambda: cv.operations(problem(), PATTERN),
        lambda: cv.functional_parts(problem(), normal(31), PATTERN),
        lambda: cv.linearised_hessian(problem(), [], PATTERN),
    ),
    "vector: expected shape (31,), got (31, 1)": lambda: cv.functional_parts(
        problem(), normal(31, 1)
    ),
    "MSELoss: ...one shape, got (7, 3) and (7,)": lambda: cv.hessian(problem(data=[(X, Y[:, 0])])),
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
    "NotFiniteError: product: a product is not finite": lambda: cv.operator_from(
        lambda v: v * torch.nan, 4
    ),
    "OperatorError: expected a tensor (4,) of torch.float64, got (3": lambda: cv.operator_from(
        lambda v: v[:3], 4
    ),
    "expected a square operator, got shape (2, 3)": lambda: cv.operator_from(np.ones((2, 3))),
    "expected float32 or float64, got torch.bfloat16": lambda: cv.operator_from(
        lambda v: v, 4, dtype=torch.bfloat16
    ),
}  # fmt: skip

EYE, E = torch.eye(400).double(), torch.eye(4)
INDEFINITE = torch.diag(torch.cat([torch.tensor([-3.0]), torch.ones(1999)]))
INFINITE = Matrix(torch.full((100, 100), torch.inf))
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
    "tol: expected a positive relative residual, got 0.0": lambda: top(EYE, tol=0.0),
    "start: expected shape (400,) or (400, s), got (3,)": lambda: top(EYE, start=torch.zeros(3)),
    "start: expected finite numbers, got NaN or": lambda: top(EYE, start=EYE * torch.nan),
    "max_iterations: expected at least k = 5, got 4": lambda: top(EYE, 5, max_iterations=4),
    "basis_size: expected at least k + 2 = 7, got 6": lambda: top(EYE, 5, basis_size=6),
    "which: expected one of ['LA', ..., got 'BE'": lambda: top(EYE, which="BE"),
    "memory: expected a number of bytes above zero, got 0": lambda: top(EYE, memory=0),
    "p = 5001 parameters is above the limit of 5000; use top": lambda: cv.dense_spectrum(WIDE),
    "fewer than about 10 distinct": lambda: cv.distinct_eigenvalues(
        torch.arange(40.0).diag(), max_products=20
    ),
    "probes: hutchinson needs at least 2, got 1": lambda: cv.trace(EYE, "hutchinson", probes=1),
    "probes: ...at least 4, got 30.5": lambda: cv.trace(EYE, probes=30.5),
    "method: expected one of ['adaptive', ...'hutch'": lambda: cv.trace(EYE, "hutch"),
    "blocks: expected 'module', 'parameter' or None, got 'l'": lambda: cv.trace(EYE, blocks="l"),
    "level: expected a share in (0, 1), ..., got 95": lambda: cv.trace(EYE, "exact").interval(95.0),
    "probes: expected at least 2, got 1": lambda: cv.spectral_density(EYE, probes=1),
    "steps: expected at least 1, got 0": lambda: cv.spectral_density(EYE, steps=0),
    "width: expected a fraction of the range in (0, 1), got 0.0": lambda: cv.spectral_density(
        EYE, width=0.0
    ),
    "expected two bases of one shape ...got (4, 2) and (4, 3)": lambda: cv.subspace_overlap(
        E[:, :2], E[:, :3]
    ),
    "U: expected orthonormal columns": lambda: cv.subspace_overlap(E * torch.nan, E),
    "method: expected 'xdiag', 'hutchinson' or 'exact', got 'best'": lambda: cv.diagonal(E, "best"),
    "repeats, probes: ...got 1 and 60": lambda: cv.diagonal(E, repeats=1),
    "repeats, probes: ...got 5 and 9": lambda: cv.diagonal(E, probes=9),
    "NotFiniteError: operator: a product is not finite": lambda: cv.diagonal(INFINITE),
    "seed: expected a whole number, ...got 1.5": lambda: cv.sharpness(problem(), seed=1.5),
    "seed: expected a whole number, ...initial_seed(), got <torch._C.Generator": lambda: each(
        SEEDED, lambda: torch.default_generator
    ),
    "damping: expected a number of at least 0, got -1": lambda: inverse(E, damping=-1.0),
    "expected a number in (0, 1) and at least 1, got 0.0 and 1000": lambda: inverse(E, tol=0.0),
    "method: expected 'cg' or 'lsmr', got 'lu'": lambda: inverse(E, "lu"),
    "inverse @ x: expected finite numbers, got NaN or inf": lambda: inverse(E) @ (E[0] * torch.nan),
    "eigenvalue, got nan at -3": lambda: cv.log_determinant(INDEFINITE),
    "got -inf at 0; f(A) does not exist there": lambda: cv.log_determinant(torch.zeros(3, 3)),
    "damping: expected a number above 0": lambda: cv.effective_dimension(E, 0.0),
    "expected a value for each eigen": lambda: cv.trace_of_function(E, torch.sum),
    "probes, steps: expected at least 2": lambda: cv.trace_of_function(E, torch.exp, probes=1),
    "f: expected finite values between ...got nan at -3": lambda: cv.function_product(
        INDEFINITE, torch.log, torch.ones(2000)
    ),
    "shape (2000,) or": lambda: cv.function_product(INDEFINITE, torch.exp, torch.ones(3)),
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
    "distances: expected at least one finite distance": lambda: line(V),
    "expected ascending distances, got [1.0,": lambda: line(V, 1.0, 0.5),
    "v: expected a vector of shape (12,)": lambda: plane(V, V[:2], [0.0]),
    "u, v: expected two directions that span": lambda: plane(V, -2 * V, [0.0]),
    "second: expected asc": lambda: plane(V, V.flip(0), [0.0], [1.0, 1.0]),
    "every: expected at least 1 step, got 0": lambda: tracked(every=0),
    "step: expected the number of the step, a whole one, got 'a'": lambda: tracked().step("a"),
    "k: expected 1 to k_max = 20 eigenvalues, got 0": lambda: tracked(k=0),
    "log: expected a W&B run or a function, got int": lambda: tracked(log=3),
    "matrix: expected 'hessian' or 'ggn', got 'fisher'": lambda: tracked(matrix="fisher"),
    "a problem has its own; give the problem alone": lambda: cv.sharpness(problem(), nn.MSELoss()),
    "TypeError: optimizer: expected Adam, ...got SGD": lambda: seen(torch.optim.SGD),
    "TypeError: of torch itself, ...got SignDescent, a subclass of AdamW that may step": lambda: (
        alike(
            lambda: seen(SignDescent),
            lambda: tracked(optimizer=SignDescent([nn.Parameter(V)], lr=0.1)),
        )
    ),
    "optimizer: it has made no step": lambda: seen(torch.optim.Adam),
    "number 1 is none of the optimizer's": lambda: seen(torch.optim.Adam, steps=1),
    "diagonal: expected numbers above 0, got 0.0": lambda: cv.preconditioned(E, E[0]),
    "diagonal: expected shape (4,)": lambda: cv.preconditioned(E, E),
    "expected at least two batches, whose": lambda: cv.gradient_noise(problem()),
    "expected at least two batches, got one": lambda: cv.batch_sharpness(problem()).interval(),
}  # fmt: skip


def full_output(key: str = "linear") -> cv.FullOutputHessian:
    return cv.full_output_hessian(problem_of(NETWORKS[key], NETWORKS[key].model()))


def inverted() -> Any:
    """The damped inverse of a product of factors that is indefinite, through a tanh behind."""
    model = linear(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3))
    torch.nn.utils.vector_to_parameters(normal(31), model.parameters())
    at = cv.Problem(model, nn.MSELoss(), [(X, 5 * Y)])
    return cv.layerwise(at, "0").eigenbasis().damped_inverse(1e-3)


def in_basis(*values: float) -> cv.EigenbasisOperator:
    return cv.EigenbasisOperator(torch.tensor([values]).double(), *map(double_eye, (1, 2)))


def double_eye(size: int) -> torch.Tensor:
    return torch.eye(size).double()


LAYERS: Mistakes = {
    "damping: ...got 0.001: the matrix is indefinite (smallest ...E[M] ...'weighted'": inverted,
    "damping: expected a number above 0, got 'a'": lambda: (
        layer_of("linear", "2").eigenbasis().damped_inverse("a")
    ),
    "damping: expected more than 0.5, got 0.5": lambda: in_basis(-0.5, 2.0).damped_inverse(0.5),
    "damping: expected more than 0, got 0.0": lambda: in_basis(0.0, 0.0).damped_inverse(0.0),
    "basis: expected one of products (4, 5), got (1, 2)": lambda: (
        layer_of("linear", "2").corrected(in_basis(1.0, 2.0))
    ),
    "name: expected a layer's name, several, ..., got 0": lambda: cv.layerwise(problem(), 0),
    "k: expected 1 to 12, got 2.5": lambda: cv.layerwise(problem(), "0").kronecker(2.5),
    "expected vectors as columns, (20, k), got (19, 1)": lambda: layer_of("linear", "0").matricise(
        torch.ones(19, 1)
    ),
    "side: expected 'output' or 'input', got 'both'": lambda: (
        layer_of("linear", "2").correspondence(torch.ones(20, 1), "both")
    ),
    "factors: expected one of 'expand', 'reduce', ...'both'": lambda: (
        layer_of("linear", "2").factors("both")
    ),
    "factors: expected a layer without groups, got '0'": lambda: (
        layer_of("convolutions", "0").factors("weighted")
    ),
    "eigenvalue_corrected: expected a layer without groups, got '0'": lambda: (
        layer_of("convolutions", "0").eigenvalue_corrected(1)
    ),
    "form: expected 'corrected' or 'printed', got 'old'": lambda: full_output().approximation(
        2, "old"
    ),
    "k: expected 1 to 12, got 13": lambda: full_output().approximation(13),
    "used at one position, '0' is used at 6": lambda: full_output("convolutions"),
}  # fmt: skip


def ensemble(
    activation: str = "linear", count: int = 3, *hidden: int, outputs: int = 2
) -> Ensemble:
    """Three inputs."""
    sizes = 3, *(hidden or (4,)), outputs
    weights = tuple(normal(count, b, a) for a, b in itertools.pairwise(sizes))
    return Ensemble(weights=weights, multipliers=(1.0,) * len(weights), activation=activation)


S, T = normal(7, 3), normal(7, 2)

ENSEMBLES: Mistakes = {
    "expected networks with 1 output, ... got 2 outputs": lambda: exact_spectra(
        ensemble(), S, T[:, 0]
    ),
    "x (n, 3) and y (n,), got 1 outputs, x (7, 2) and y (7,)": lambda: exact_spectra(
        ensemble(outputs=1), S[:, :2], T[:, 0]
    ),
    "x (n, 3) and y (n,), got 1 outputs, x (7, 3) and y (6,)": lambda: exact_spectra(
        ensemble(outputs=1), S, T[:6, 0]
    ),
    "x (n, 3) and y (n,), got 1 outputs, x (0, 3) and y (0,)": lambda: exact_spectra(
        ensemble(outputs=1), S[:0], T[:0, 0]
    ),
    "at most 3000 parameters ... got 3840": lambda: exact_spectra(
        ensemble("relu", 1, 60, 60, outputs=1), S, T[:, 0]
    ),
    "second moments describe linear networks only": lambda: hessians(
        ensemble("relu"), SecondMoments.of(S, T)
    ),
    "expected 3 inputs and 2 outputs as the networks have, got 2": lambda: hessians(
        ensemble(), (S[:, :2], T)
    ),
    "expected x (n, D) and y (n, K) with at least one sample": lambda: hessians(
        ensemble("relu"), (S, T[:5])
    ),
    "expected the networks' torch.float64 on cpu": lambda: hessians(
        ensemble("relu"), (S.float(), T.float())
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
    "curvlinops_arguments: ...with reduction 'mean' or 'sum', got mse_loss": lambda: given(
        problem(loss=functional.mse_loss)
    ),
    "backend: curvlinops takes a loss of outputs and targe": lambda: cv.ggn(
        of_model(), backend="curvlinops", check=False
    ),
}  # fmt: skip

"""Trials are made of a loss written out as plain arithmetic, its derivatives, and data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

Parameters = dict[str, Tensor]


@dataclass(frozen=True)
class Trial:
    """A network with its loss, and the same loss over all data as a function of the parameters.

    Args:
        model: the network, as a user would hand it over.
        loss: of outputs and targets; ``None`` for a model that takes a batch and gives its loss.
        data: batches.
        plain: the loss over all data, from the parameters by name.
        matrix: ``"hessian"`` or ``"ggn"``.
        tolerance: the largest relative error of a product that is called right.
    """

    model: nn.Module
    loss: nn.Module | None
    data: list[Any]
    plain: Callable[[Parameters], Tensor]
    matrix: str = "hessian"
    tolerance: float = 1e-8


def cross_entropy(scores: Tensor, classes: Tensor) -> Tensor:
    """The mean over the targets that count, of scores ``(..., C)``."""
    counted = classes != -100
    scores, classes = scores[counted], classes[counted]
    return (scores.exp().sum(-1).log() - scores.gather(-1, classes[:, None])[:, 0]).mean()


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, epsilon: float = 1e-5) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred * (centred.square().mean(-1, keepdim=True) + epsilon) ** -0.5 * weight + bias


def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Causal attention over the last axis but one."""
    length, width = query.shape[-2:]
    scores = (query @ key.transpose(-2, -1) * width**-0.5).exp()
    scores = scores * torch.ones(length, length, dtype=query.dtype).tril()
    return scores / scores.sum(-1, keepdim=True) @ value


SAMPLES, INPUTS, HIDDEN, CLASSES = 12, 6, 5, 3
LENGTH, VOCABULARY = 4, 7
CUT = (1, 3, 8)


def inputs(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def classes(*shape: int, count: int = CLASSES) -> Tensor:
    return torch.randint(0, count, shape, generator=torch.Generator().manual_seed(2))


X, LABELS, TOKENS = inputs(SAMPLES, INPUTS), classes(SAMPLES), classes(3, LENGTH, count=VOCABULARY)
IGNORED = torch.where(torch.arange(SAMPLES) % 5 > 1, LABELS, -100)


def perceptron() -> nn.Sequential:
    return nn.Sequential(nn.Linear(INPUTS, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, CLASSES)).double()


def perceptron_scores(p: Parameters, last: str = "2", x: Tensor = X) -> Tensor:
    hidden = (x @ p["0.weight"].T + p["0.bias"]).tanh()
    return hidden @ p[f"{last}.weight"].T + p[f"{last}.bias"]


def perceptron_loss(p: Parameters) -> Tensor:
    return cross_entropy(perceptron_scores(p), LABELS)


def cut(targets: Tensor) -> list[tuple[Tensor, Tensor]]:
    return list(zip(X.split(CUT), targets.split(CUT), strict=True))


def leaves(trial: Trial) -> Parameters:
    """The parameters as tensors of their own, in float64."""
    return {
        name: parameter.detach().double().clone().requires_grad_()
        for name, parameter in trial.model.named_parameters()
    }


def gradient(trial: Trial, p: Parameters, *, keep_graph: bool = False) -> Tensor:
    pieces = torch.autograd.grad(trial.plain(p), list(p.values()), create_graph=keep_graph)
    return torch.cat([piece.reshape(-1) for piece in pieces])


def truth(trial: Trial, vector: Tensor) -> Tensor:
    """``H v``, or ``G v`` of an MLP whose outputs are its scores, from the plain form."""
    p = leaves(trial)
    if trial.matrix == "ggn":
        return _gauss_newton(trial, p, vector)
    pieces = torch.autograd.grad(gradient(trial, p, keep_graph=True), list(p.values()), vector)
    return torch.cat([piece.reshape(-1) for piece in pieces])


def _gauss_newton(trial: Trial, p: Parameters, vector: Tensor) -> Tensor:
    """``Jᵀ (diag(q) − q qᵀ) J v / n``, ``J`` the Jacobian of the scores and ``q`` their softmax."""
    names, values = list(p), tuple(p.values())

    def scores(*at: Tensor) -> Tensor:
        return perceptron_scores(dict(zip(names, at, strict=True)))

    blocks = torch.autograd.functional.jacobian(scores, values)
    jacobian = torch.cat([block.flatten(2) for block in blocks], dim=2)  # (n, C, p)
    q = scores(*values).softmax(1).detach()
    along = jacobian @ vector
    curved = q * (along - (q * along).sum(1, keepdim=True))
    return torch.einsum("ncp,nc->p", jacobian, curved) / len(q)


def truth_by_differences(trial: Trial, vector: Tensor, step: float = 1e-5) -> Tensor:
    """The products from gradients of the plain form alone."""
    sides = []
    for sign in (step, -step):
        p = leaves(trial)
        pieces = vector.split([value.numel() for value in p.values()])
        moved = {
            name: (value.detach() + sign * piece.view(value.shape)).requires_grad_()
            for (name, value), piece in zip(p.items(), pieces, strict=True)
        }
        sides.append(gradient(trial, moved))
    return (sides[0] - sides[1]) / (2 * step)

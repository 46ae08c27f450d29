"""Networks that need more of a library than layers in a row: padding, checkpoints, derivatives."""

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from benchmarks.trial import (
    CLASSES,
    HIDDEN,
    INPUTS,
    LABELS,
    SAMPLES,
    VOCABULARY,
    Parameters,
    Trial,
    X,
    classes,
    cross_entropy,
    perceptron,
    perceptron_loss,
    perceptron_scores,
)


class Padded(nn.Module):
    """Tokens to class scores; the first token of the vocabulary stands for none."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(VOCABULARY, 4, padding_idx=0), nn.Linear(4, 3)
        # What it was before it was said to be padding: torch begins with zeros.
        nn.init.ones_(self.embedding.weight[:1])

    def forward(self, tokens: Tensor) -> Tensor:
        """``(n,)`` to ``(n, 3)``."""
        return self.head(torch.tanh(self.embedding(tokens)))


def padding() -> Trial:
    tokens = classes(SAMPLES, count=VOCABULARY)

    def plain(p: Parameters) -> Tensor:
        matrix = p["embedding.weight"]
        rows = torch.cat([torch.ones_like(matrix[:1]), matrix[1:]])[tokens]
        return cross_entropy(rows.tanh() @ p["head.weight"].T + p["head.bias"], LABELS)

    return Trial(Padded().double(), nn.CrossEntropyLoss(), [(tokens, LABELS)], plain)


def statistics_of_batches() -> Trial:
    """One function of the data as a whole, which no sum over batches is."""
    norm = nn.BatchNorm1d(INPUTS, affine=False, track_running_stats=False)
    model = nn.Sequential(norm, *perceptron()).double().eval()

    def plain(p: Parameters) -> Tensor:
        centred = X - X.mean(0)
        x = centred * (centred.square().mean(0) + 1e-5) ** -0.5
        named = {name.replace("1.", "0.", 1): value for name, value in p.items()}
        return cross_entropy(perceptron_scores(named, last="3", x=x), LABELS)

    data = list(zip(X.split(4), LABELS.split(4), strict=True))
    return Trial(model, nn.CrossEntropyLoss(), data, plain)


class Checkpointed(nn.Sequential):
    """Computes its layers anew in the backward pass."""

    def forward(self, x: Tensor) -> Tensor:
        """``(n, d)`` to ``(n, C)``."""
        return checkpoint(super().forward, x, use_reentrant=False)


def checkpointed() -> Trial:
    model = Checkpointed(*perceptron()).double()
    return Trial(model, nn.CrossEntropyLoss(), [(X, LABELS)], perceptron_loss)


class Experts(nn.Module):
    """Two layers of which the second gets no sample."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = perceptron(), perceptron()

    def forward(self, x: Tensor) -> Tensor:
        """``(n, d)`` to ``(n, C)``."""
        return torch.cat([self.first(x), self.second(x[len(x) :])])


def expert_without_samples() -> Trial:
    def plain(p: Parameters) -> Tensor:
        first = {name.removeprefix("first."): value for name, value in p.items()}
        # Of the other nothing comes.
        none = sum(value.sum() for name, value in p.items() if name.startswith("second."))
        return cross_entropy(perceptron_scores(first), LABELS) + 0 * none**2

    return Trial(Experts().double(), nn.CrossEntropyLoss(), [(X, LABELS)], plain)


class Force(nn.Module):
    """The gradient of an energy in the input, as physics-informed networks have it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(INPUTS, HIDDEN)

    def forward(self, x: Tensor) -> Tensor:
        """``(n, d)`` to ``(n, C)``."""
        points = x.detach().requires_grad_()
        energy = torch.tanh(self.layer(points)).sum()
        return torch.autograd.grad(energy, points, create_graph=True)[0][:, :CLASSES]


def derivatives_inside() -> Trial:
    def plain(p: Parameters) -> Tensor:
        hidden = (X @ p["layer.weight"].T + p["layer.bias"]).tanh()
        return cross_entropy(((1 - hidden**2) @ p["layer.weight"])[:, :CLASSES], LABELS)

    return Trial(Force().double(), nn.CrossEntropyLoss(), [(X, LABELS)], plain)


class Complex(nn.Module):
    """A layer of complex weights, and the moduli of what it gives."""

    def __init__(self) -> None:
        super().__init__()
        self.real, self.imaginary = (nn.Parameter(torch.randn(CLASSES, INPUTS)) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        """``(n, d)`` to ``(n, C)``."""
        weight = torch.complex(self.real, self.imaginary)
        return functional.linear(torch.complex(x, torch.ones_like(x)), weight).abs()


def complex_weights() -> Trial:
    def plain(p: Parameters) -> Tensor:
        a, b = p["real"], p["imaginary"]
        ones = torch.ones_like(X)
        real, imaginary = X @ a.T - ones @ b.T, X @ b.T + ones @ a.T
        return cross_entropy((real**2 + imaginary**2) ** 0.5, LABELS)

    return Trial(Complex().double(), nn.CrossEntropyLoss(), [(X, LABELS)], plain)

"""Small problems in float64, each with a way to its loss that does not go through the package."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional

from hessian_spectra import curvature as cv
from hessian_spectra.models import HalfSquaredError, TwoLayerLinear

Data = list[tuple[Tensor, Tensor]]


def draws(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=draws(seed), dtype=torch.float64)


def classes(*shape: int, count: int = 3, seed: int = 1) -> Tensor:
    return torch.randint(0, count, shape, generator=draws(seed))


def built(make: Callable[[], nn.Module]) -> nn.Module:
    """A module in float64 with the same weights each time."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return make().double()


def over_all(loss: nn.Module) -> Callable[[nn.Module, Data], Tensor]:
    """The loss of all batches joined to one."""

    def total(model: nn.Module, data: Data) -> Tensor:
        inputs, targets = (torch.cat(parts) for parts in zip(*data, strict=True))
        return loss(model(inputs), targets)

    return total


def mean_over_elements(model: nn.Module, data: Data) -> Tensor:
    """Half the mean squared error over elements, for batches that cannot be joined."""
    squares = [(model(x) - y).square().sum() for x, y in data]
    return torch.stack(squares).sum() / (2 * sum(y.numel() for _, y in data))


@dataclass(frozen=True)
class Case:
    name: str
    make_model: Callable[[], nn.Module]
    loss: nn.Module
    data: Data
    total: Callable[[nn.Module, Data], Tensor] = field(default=None)

    def model(self) -> nn.Module:
        return built(self.make_model)

    def value(self, model: nn.Module) -> Tensor:
        return (self.total or over_all(self.loss))(model, self.data)


class Attention(nn.Module):
    """Tokens to class scores (n, C, T), with torch's own attention."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.norm = nn.Embedding(5, 4), nn.LayerNorm(4)
        self.mix, self.head = nn.Linear(4, 12), nn.Linear(4, 3, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        query, key, value = self.mix(self.norm(self.embed(tokens))).chunk(3, dim=-1)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.head(functional.silu(mixed)).transpose(1, 2)


class EagerAttention(Attention):
    """An attention that is written out, with another activation."""

    def forward(self, tokens: Tensor) -> Tensor:
        query, key, value = self.mix(self.norm(self.embed(tokens))).chunk(3, dim=-1)
        weights = (query @ key.transpose(1, 2) / 2).softmax(dim=-1)
        return self.head(functional.gelu(weights @ value, approximate="tanh")).transpose(1, 2)


class Tied(nn.Module):
    """One matrix used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)
        self.second.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.second(torch.tanh(self.first(x)))


def frozen() -> nn.Module:
    model = mlp()
    model[0].bias.requires_grad_(False)
    return model


def evaluated() -> nn.Module:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 3))
    return model.eval()


def mlp(activation: Callable[[], nn.Module] = nn.Tanh) -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), activation(), nn.Linear(4, 3))


def convolutional() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(4, 4, (3, 2), stride=(2, 1), padding=(1, 0), groups=2), nn.SiLU(),
        nn.Flatten(), nn.Linear(16, 3),
    )  # fmt: skip


def sequential_convolution() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv1d(2, 3, 3, dilation=2, bias=False), nn.Softplus(),
        nn.Conv1d(3, 2, 3, padding="same"), nn.Flatten(), nn.Linear(4, 1),
    )  # fmt: skip


def cut(inputs: Tensor, targets: Tensor, *sizes: int) -> Data:
    """Batches of these sizes."""
    return list(zip(inputs.split(sizes), targets.split(sizes), strict=True))


X, Y, LABELS = normal(7, 3), normal(7, 3, seed=2), classes(7)
IMAGES, TOKENS = normal(5, 1, 6, 6), classes(4, 6, count=5)
PADDED = torch.where(classes(4, 6, seed=3) > 1, -100, classes(4, 6))
WEIGHTED = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 5.0]).double(), label_smoothing=0.1)
SEQUENCES = [(normal(2, 5), normal(2, 5, seed=4)), (normal(3, 2, seed=5), normal(3, 2, seed=6))]

CASES = [
    Case("linear regression", lambda: nn.Linear(3, 3), nn.MSELoss(), cut(X, Y, 2, 5)),
    Case("logistic regression", lambda: nn.Linear(3, 3), nn.CrossEntropyLoss(), [(X, LABELS)]),
    Case("binary", lambda: nn.Linear(3, 3), nn.BCEWithLogitsLoss(), cut(X, (Y > 0).double(), 1, 6)),
    Case("tanh", mlp, nn.MSELoss(), cut(X, Y, 1, 2, 4)),
    Case("relu", lambda: mlp(nn.ReLU), nn.CrossEntropyLoss(), cut(X, LABELS, 6, 1)),
    Case("relu, one batch", lambda: mlp(nn.ReLU), nn.CrossEntropyLoss(), [(X, LABELS)]),
    Case("gelu", lambda: mlp(nn.GELU), nn.MSELoss(reduction="sum"), cut(X, Y, 3, 4)),
    Case("mish", lambda: mlp(nn.Mish), WEIGHTED, cut(X, LABELS, 2, 5)),
    Case("class probabilities", mlp, nn.CrossEntropyLoss(), cut(X, Y.softmax(1), 3, 4)),
    Case("log probabilities", lambda: mlp().append(nn.LogSoftmax(1)), nn.NLLLoss(),
         cut(X, LABELS, 3, 4)),
    Case("per sample", mlp, HalfSquaredError("sample"), cut(X, Y, 3, 4)),
    Case("per element", mlp, HalfSquaredError("element"), cut(X, Y, 3, 4)),
    Case("unequal lengths", lambda: nn.Sequential(nn.Unflatten(1, (-1, 1)), nn.Linear(1, 2),
         nn.Tanh(), nn.Linear(2, 1), nn.Flatten()), HalfSquaredError("element"), SEQUENCES,
         mean_over_elements),
    Case("layer norm", lambda: nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 3)),
         nn.MSELoss(), [(X, Y)]),
    Case("convolution", convolutional, nn.CrossEntropyLoss(), cut(IMAGES, LABELS[:5], 2, 3)),
    Case("convolution in one dimension", sequential_convolution, nn.MSELoss(),
         [(normal(4, 2, 6), normal(4, 1))]),
    Case("attention", Attention, nn.CrossEntropyLoss(), cut(TOKENS, PADDED, 1, 3)),
    Case("eager attention", EagerAttention, nn.CrossEntropyLoss(), [(TOKENS, PADDED)]),
    Case("tied weights", Tied, nn.MSELoss(), [(X, Y)]),
    Case("frozen bias", frozen, nn.MSELoss(), cut(X, Y, 3, 4)),
    Case("batch norm and dropout, evaluated", evaluated, nn.CrossEntropyLoss(), [(X, LABELS)]),
    Case("papers' network", lambda: TwoLayerLinear(normal(3), normal(3, seed=1)),
         HalfSquaredError(), cut(X[:, 0], Y[:, 0], 2, 5)),
]  # fmt: skip

cases = {case.name: case for case in CASES}
# A loss that is linear in the outputs has no Gauss-Newton matrix.
CURVED = [case for case in CASES if not isinstance(case.loss, nn.NLLLoss)]


class Matrix(cv.Operator):
    """An operator of one's own, which notes how many columns each product has."""

    def __init__(self, matrix: Tensor) -> None:
        super().__init__(len(matrix), matrix.dtype, matrix.device)
        self.matrix, self.widths = matrix, []

    @property
    def products(self) -> int:
        return sum(self.widths)

    def _matmat(self, columns: Tensor) -> Tensor:
        self.widths.append(columns.shape[1])
        return self.matrix @ columns


def exactness(operator: cv.SymmetricOperator) -> float:
    return 1e-9 if operator.dtype == torch.float64 else 1e-5


def ones(operator: cv.SymmetricOperator) -> Tensor:
    return torch.ones(operator.shape[0], dtype=operator.dtype, device=operator.device)


# The numbers that each solver finds of an operator.
SOLVERS: dict[str, Callable[[cv.SymmetricOperator], Tensor]] = {
    "top": lambda at: cv.top_eigenpairs(at, 5, exactness(at)).eigenvalues,
    "first": lambda at: cv.top_eigenpairs(at, 1, exactness(at)).eigenvalues,
    "smallest": lambda at: cv.top_eigenpairs(at, 2, exactness(at), "SA").eigenvalues,
    "blocks": lambda at: cv.top_eigenpairs(at, min(50, at.shape[0]), exactness(at)).eigenvalues,
    "dense": lambda at: cv.dense_spectrum(at).eigenvalues,
    "matrix": cv.dense_matrix,
    "density": lambda at: cv.spectral_density(at, probes=2, steps=10).nodes,
    **{
        method: lambda at, method=method: torch.tensor(cv.trace(at, method, probes=20).value)
        for method in ("adaptive", "exact", "hutchinson", "hutch++", "xtrace")
    },
    "diagonal": lambda at: cv.diagonal(at, probes=20).value,
    "exact diagonal": lambda at: cv.diagonal(at, "exact").value,
    "restriction": lambda at: cv.as_operator(at).restriction(
        torch.linalg.qr(normal(at.shape[0], 3)).Q.to(ones(at))
    ),
    "inverse": lambda at: cv.inverse(cv.as_operator(at).shift(90), tol=exactness(at)) @ ones(at),
    "function": lambda at: torch.tensor(
        cv.trace_of_function(at, torch.cos, probes=2, steps=20).value
    ),
    "product": lambda at: cv.function_product(at, torch.tanh, ones(at), tol=exactness(at)).value,
}

"""Networks of every kind that people have, small and in float64, with losses and batches."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrizations

from .cases import IMAGES, LABELS, TOKENS, Attention, built, classes, mlp, normal


@dataclass(frozen=True)
class Specimen:
    """A network, its inputs, and the shape of its outputs: classes or numbers."""

    name: str
    make: Callable[[], nn.Module]
    inputs: Tensor

    def model(self) -> nn.Module:
        return built(self.make)


class Lambda(nn.Module):
    """A module around others, with a forward pass of one's own."""

    def __init__(self, forward: Callable[..., Any], **modules: nn.Module) -> None:
        super().__init__()
        self.function = forward
        for name, module in modules.items():
            setattr(self, name, module)

    def forward(self, x: Tensor) -> Any:
        return self.function(self, x)


def twice() -> nn.Module:
    layer = nn.Linear(3, 3)
    return nn.Sequential(layer, nn.Tanh(), layer, nn.Linear(3, 3))


def tied_language_model() -> nn.Module:
    model = Lambda(
        lambda self, x: self.head(torch.tanh(self.mix(self.embed(x)))).transpose(1, 2),
        embed=nn.Embedding(5, 3),
        mix=nn.Linear(3, 3),
        head=nn.Linear(3, 5, bias=False),
    )
    model.head.weight = model.embed.weight
    return model


def compiled() -> nn.Module:
    first = torch.compile(nn.Linear(3, 4), backend="eager")
    return nn.Sequential(first, nn.GELU(), nn.Linear(4, 3))


def old_weight_norm() -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return nn.Sequential(nn.utils.weight_norm(nn.Linear(3, 4)), nn.Tanh(), nn.Linear(4, 3))


def recurrent(kind: type[nn.RNNBase]) -> nn.Module:
    return Lambda(
        lambda self, x: self.head(self.cell(x[:, :, None])[0][:, -1]),
        cell=kind(1, 2, batch_first=True),
        head=nn.Linear(2, 3),
    )


def hooked() -> nn.Module:
    model = mlp()
    model[0].register_forward_hook(lambda module, inputs, output: output * 2)
    return model


def frozen_at_the_top() -> nn.Module:
    model = mlp()
    model[2].requires_grad_(False)
    return model


def dropout_off() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Tanh(), nn.Linear(4, 3)).eval()


def encoder() -> nn.Module:
    return Lambda(
        lambda self, x: self.head(self.layer(self.widen(x[:, :, None])).mean(1)),
        widen=nn.Linear(1, 3),
        layer=nn.TransformerEncoderLayer(3, 1, 2, dropout=0.0, batch_first=True),
        head=nn.Linear(3, 3),
    )


def residual() -> nn.Module:
    return Lambda(
        lambda self, x: self.head(x + self.body(x)),
        body=nn.Sequential(nn.Linear(3, 3), nn.SiLU(), nn.Linear(3, 3)),
        head=nn.Linear(3, 3),
    )


def evaluated(*layers: nn.Module) -> nn.Module:
    """After a batch in training mode, so that running statistics are not those of the start."""
    model = nn.Sequential(*layers)
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.running_mean.uniform_(-1, 1)
            module.running_var.uniform_(0.5, 2)
    return model.eval()


def images(*layers: nn.Module) -> nn.Module:
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2, 3))


VECTORS = normal(7, 3)
ZOO = [
    Specimen("linear", lambda: nn.Linear(3, 3), VECTORS),
    Specimen("tanh", mlp, VECTORS),
    Specimen("rectifier in place",
             lambda: mlp(lambda: nn.ReLU(inplace=True)), VECTORS),
    Specimen("leaky rectifier", lambda: mlp(lambda: nn.LeakyReLU(0.2)), VECTORS),
    Specimen("parametric rectifier", lambda: mlp(nn.PReLU), VECTORS),
    Specimen("exponential linear unit", lambda: mlp(nn.ELU), VECTORS),
    Specimen("gated linear unit",
             lambda: nn.Sequential(nn.Linear(3, 6), nn.GLU(), nn.Linear(3, 3)), VECTORS),
    Specimen("softmax inside", lambda: mlp(lambda: nn.Softmax(1)), VECTORS),
    Specimen("bilinear", lambda: Lambda(lambda self, x: self.product(x, torch.tanh(x)),
             product=nn.Bilinear(3, 3, 3)), VECTORS),
    Specimen("residual", residual, VECTORS),
    Specimen("module used twice", twice, VECTORS),
    Specimen("tied language model", tied_language_model, TOKENS),
    Specimen("frozen layer", frozen_at_the_top, VECTORS),
    Specimen("forward hook", hooked, VECTORS),
    Specimen("compiled layer", compiled, VECTORS),
    Specimen("layer norm",
             lambda: nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 3)),
             VECTORS),
    Specimen("root-mean-square norm",
             lambda: nn.Sequential(nn.Linear(3, 4), nn.RMSNorm(4), nn.Linear(4, 3)), VECTORS),
    Specimen("group norm", lambda: images(nn.Conv2d(1, 2, 3), nn.GroupNorm(2, 2), nn.SiLU()),
             IMAGES),
    Specimen("instance norm",
             lambda: images(nn.Conv2d(1, 2, 3), nn.InstanceNorm2d(2, affine=True), nn.SiLU()),
             IMAGES),
    Specimen("batch norm, evaluated",
             lambda: evaluated(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 3)),
             VECTORS),
    Specimen("dropout, evaluated", dropout_off, VECTORS),
    Specimen("weight norm", lambda: nn.Sequential(
             parametrizations.weight_norm(nn.Linear(3, 4)), nn.Tanh(), nn.Linear(4, 3)), VECTORS),
    Specimen("weight norm of old", old_weight_norm, VECTORS),
    Specimen("weight norm of a convolution",
             lambda: images(parametrizations.weight_norm(nn.Conv2d(1, 2, 3)), nn.Tanh()), IMAGES),
    Specimen("spectral norm", lambda: nn.Sequential(
             parametrizations.spectral_norm(nn.Linear(3, 3)), nn.Tanh()).eval(), VECTORS),
    Specimen("orthogonal", lambda: nn.Sequential(
             parametrizations.orthogonal(nn.Linear(3, 3, bias=False)), nn.Tanh()), VECTORS),
    Specimen("recurrent", lambda: recurrent(nn.RNN), VECTORS),
    Specimen("gated recurrent", lambda: recurrent(nn.GRU), VECTORS),
    Specimen("long short-term memory", lambda: recurrent(nn.LSTM), VECTORS),
    Specimen("convolution",
             lambda: images(nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)), IMAGES),
    Specimen("transposed convolution",
             lambda: images(nn.ConvTranspose2d(1, 2, 2, stride=2), nn.Tanh()), IMAGES),
    Specimen("depthwise convolution", lambda: images(
             nn.Conv2d(1, 2, 1), nn.Conv2d(2, 2, 3, groups=2, padding="same"), nn.Tanh()), IMAGES),
    Specimen("average pooling", lambda: images(nn.Conv2d(1, 2, 3), nn.GELU(), nn.AvgPool2d(2)),
             IMAGES),
    Specimen("fused attention", Attention, TOKENS),
    Specimen("multi-head attention", lambda: Lambda(
             lambda self, x: self.mix(*[self.embed(x)] * 3, need_weights=False)[0].transpose(1, 2),
             embed=nn.Embedding(5, 2), mix=nn.MultiheadAttention(2, 1, batch_first=True)), TOKENS),
    Specimen("transformer encoder", encoder, VECTORS),
    Specimen("transformer encoder, evaluated", lambda: encoder().eval(), VECTORS),
    Specimen("embedding with padding", lambda: Lambda(
             lambda self, x: self.head(torch.tanh(self.embed(x))).transpose(1, 2),
             embed=nn.Embedding(5, 2, padding_idx=0), head=nn.Linear(2, 3)), TOKENS),
    Specimen("sine activations", lambda: Lambda(
             lambda self, x: self.second(torch.sin(3 * self.first(x))),
             first=nn.Linear(3, 4), second=nn.Linear(4, 3)), VECTORS),
    Specimen("unused layer", lambda: Lambda(lambda self, x: self.used(x) ** 2,
             used=nn.Linear(3, 3), unused=nn.Linear(2, 2)), VECTORS),
]  # fmt: skip

specimens = {specimen.name: specimen for specimen in ZOO}


class Focal(nn.CrossEntropyLoss):
    """A subclass that says nothing new: batches are weighed by the targets that count."""


class Confident(nn.CrossEntropyLoss):
    """A subclass with a forward pass of its own, again a mean over samples."""

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        log = functional.log_softmax(outputs, 1)
        entropy = -(log.exp() * log).sum(1)
        return functional.cross_entropy(outputs, targets) - 0.1 * entropy.mean()


@dataclass(frozen=True)
class Loss:
    """A loss, and targets for outputs of some shape: (n, C) or (n, C, length)."""

    name: str
    value: Any
    numbers: bool  # whether the targets are numbers like the outputs, or classes

    def targets(self, outputs: Tensor) -> Tensor:
        if self.numbers:
            return normal(*outputs.shape, seed=3).sigmoid()
        shape = (len(outputs), *outputs.shape[2:])
        found = classes(*shape, count=outputs.shape[1])
        ignored = classes(*shape, count=4, seed=5) == 0
        # Unevenly spread, so that batches count differently.
        return torch.where(ignored, -100, found) if isinstance(self.value, Focal) else found


LOSSES = [
    Loss("squared error", nn.MSELoss(), True),
    Loss("binary cross-entropy", nn.BCEWithLogitsLoss(), True),
    Loss("smooth absolute error", nn.SmoothL1Loss(beta=0.3), True),
    Loss("cross-entropy", nn.CrossEntropyLoss(label_smoothing=0.1), False),
    Loss("cross-entropy, added up", nn.CrossEntropyLoss(reduction="sum"), False),
    Loss("subclass with ignored targets", Focal(), False),
    Loss("subclass of its own", Confident(), False),
    Loss("function", functional.cross_entropy, False),
]
BATCHINGS = {"one batch": None, "uneven": (1, 3, 10), "two": (2, 10)}


def cut(inputs: Tensor, targets: Tensor, sizes: tuple[int, ...] | None) -> list[Any]:
    """Batches of these sizes, the last one with what is left."""
    if sizes is None:
        return [(inputs, targets)]
    starts = [0]
    for size in sizes:
        if starts[-1] + size < len(inputs):
            starts.append(starts[-1] + size)
    stops = [*starts[1:], len(inputs)]
    return [(inputs[a:b], targets[a:b]) for a, b in zip(starts, stops, strict=True)]


assert len(LABELS) == len(VECTORS)

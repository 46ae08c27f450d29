"""Classifiers of images by the names that wu2022dissecting gives them (section 5, appendix E.2).

``F-200^2`` is fully connected with two hidden layers of 200, ``F-200^2-100`` with a third one of
100; ``LeNet5`` has variants such as ``LeNet5-(fc1-80)``; both take ``-BN``. ``VGG11-W32`` and
``ResNet18-W48`` have that many channels in every convolution and no batch norm.
"""

import math
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hessian_spectra.seeding import generator
from hessian_spectra.validation import did_you_mean

KNOWN = ("F-200^2", "F-200^2-100", "LeNet5", "LeNet5-(fc1-80)", "VGG11-W32", "ResNet18-W48")
# How weights are drawn.
XAVIER_UNIFORM, TRUNCATED_NORMAL, PYTORCH = INITIALISATIONS = (
    "xavier uniform", "truncated normal", "pytorch",
)  # fmt: skip
# Standard deviation of the truncated normal, and the biases of the first layer.
DEVIATION, FIRST_BIASES = 0.04, 0.1
# Whether a pooling follows, for each convolution of VGG11.
_POOLED = (True, True, False, True, False, True, False, True)
# The layers of LeNet5 that have a width of their own.
_LENET5 = {"conv1": 6, "conv2": 16, "fc1": 120, "fc2": 84}
# The convolutions of ResNet18 that halve the image, each at the head of a stage.
_HALVING = (6, 10, 14)


def classifier(
    name: str,
    shape: Sequence[int],
    classes: int,
    seed: int,
    initialisation: str = XAVIER_UNIFORM,
) -> nn.Module:
    """A network of one of these names, with its weights as at the start of training.

    ``xavier uniform``: with biases zero (appendix E.3; the paper also calls that PyTorch's default,
    which it is not). ``pytorch``: that default, weights and biases uniform in ±1/√fan_in.
    ``truncated normal``: of standard deviation 0.04, cut at two of them; the first layer's biases
    are 0.1, the others zero (Dziugaite and Roy 2017, whose networks appendix H takes over). Batch
    norms follow each hidden layer's ReLU, without parameters.

    Args:
        name: such as ``F-600^4``, ``LeNet5-(fc1-80)``, ``LeNet5-BN``, ``VGG11-W32``,
            ``ResNet18-W48``.
        shape: of an image, ``(channels, height, width)``.
        classes: how many there are.
        seed: of the weights.
        initialisation: how they are drawn, one of :data:`INITIALISATIONS`.

    Returns:
        A float32 module whose layers are called ``fc1``, ``conv1``, ... as in the paper.

    Raises:
        ValueError: no such name, or an image that is too small for it.

    Source: wu2022dissecting, tables 3 to 5 and appendix E.2.

    Example:
        >>> model = classifier("F-200^2", (1, 28, 28), classes=10, seed=0)
        >>> [tuple(layer.weight.shape) for layer in (model.fc1, model.fc2, model.fc3)]
        [(200, 784), (200, 200), (10, 200)]
    """
    build = builder(name)
    # Torch draws weights of its own, which nobody sees.
    with torch.random.fork_rng(devices=[]):
        model = build(_Image(tuple(shape), classes))
    _initialise(model, seed, initialisation)
    return model


def builder(name: str) -> Callable[["_Image"], nn.Module]:
    """The function that makes the network of a name.

    Raises:
        ValueError: no such name.
    """
    for pattern, build in _BUILDERS.items():
        if match := re.fullmatch(pattern, name):
            parts = match.groups()
            return lambda image: build(image, *parts)
    *first, last = KNOWN
    known = f"{', '.join(first)} or {last}{did_you_mean(name, KNOWN)}"
    raise ValueError(f"network: expected a name such as {known}, got {name!r}")


@dataclass(frozen=True)
class _Image:
    """The shape of the images, and the number of their classes."""

    shape: tuple[int, ...]
    classes: int

    def pixels(self, name: str, left: Sequence[int]) -> int:
        """The number of places that convolutions and poolings of a network leave of it."""
        if min(left) < 1:
            raise ValueError(f"network: {name} takes larger images, got {self.shape}")
        return math.prod(left)


def _initialise(model: nn.Module, seed: int, initialisation: str) -> None:
    draws = generator(seed, "weights")
    layers = [m for m in model.modules() if isinstance(m, nn.Linear | nn.Conv2d)]
    for place, layer in enumerate(layers):
        # How far biases are drawn around 0, and where they stand without a draw.
        reach, biases = 0.0, 0.0
        if initialisation == XAVIER_UNIFORM:
            nn.init.xavier_uniform_(layer.weight, generator=draws)
        elif initialisation == PYTORCH:
            nn.init.kaiming_uniform_(layer.weight, a=math.sqrt(5), generator=draws)
            reach = 1 / math.sqrt(layer.weight[0].numel())
        else:
            cut = 2 * DEVIATION
            nn.init.trunc_normal_(layer.weight, 0.0, DEVIATION, -cut, cut, generator=draws)
            biases = 0.0 if place else FIRST_BIASES
        if layer.bias is not None and reach:
            nn.init.uniform_(layer.bias, -reach, reach, generator=draws)
        elif layer.bias is not None:
            nn.init.constant_(layer.bias, biases)


def _fully_connected(image: _Image, widths: str, normed: str | None) -> nn.Module:
    """Flatten, hidden layers with ReLU, and a linear one."""
    sizes: list[int] = []
    for width, depth in re.findall(r"(\d+)(?:\^(\d+))?", widths):
        sizes += [int(width)] * int(depth or 1)
    layers: OrderedDict[str, nn.Module] = OrderedDict(flatten=nn.Flatten())
    before = math.prod(image.shape)
    for place, size in enumerate(sizes, 1):
        layers[f"fc{place}"] = nn.Linear(before, size)
        layers[f"relu{place}"] = nn.ReLU()
        if normed:
            layers[f"norm{place}"] = nn.BatchNorm1d(size, affine=False)
        before = size
    layers[f"fc{len(sizes) + 1}"] = nn.Linear(before, image.classes)
    return nn.Sequential(layers)


def _lenet5(image: _Image, layer: str | None, width: str | None, normed: str | None) -> nn.Module:
    """Two convolutions with pooling, and three linear layers."""
    widths = _LENET5 | ({layer: int(width)} if layer and width else {})
    layers: OrderedDict[str, nn.Module] = OrderedDict()

    def hidden(name: str, module: nn.Module, norm: Callable[..., nn.Module]) -> None:
        layers[name], layers[f"relu_{name}"] = module, nn.ReLU()
        if normed:
            layers[f"norm_{name}"] = norm(widths[name], affine=False)

    channels = image.shape[0]
    for place in (1, 2):
        name = f"conv{place}"
        hidden(name, nn.Conv2d(channels, widths[name], 5), nn.BatchNorm2d)
        layers[f"maxpool{place}"] = nn.MaxPool2d(2)
        channels = widths[name]
    layers["flatten"] = nn.Flatten()
    left = [((size - 4) // 2 - 4) // 2 for size in image.shape[1:]]
    before = channels * image.pixels("LeNet5", left)
    for place in (1, 2):
        name = f"fc{place}"
        hidden(name, nn.Linear(before, widths[name]), nn.BatchNorm1d)
        before = widths[name]
    layers["fc3"] = nn.Linear(before, image.classes)
    return nn.Sequential(layers)


def _vgg11(image: _Image, width: str) -> nn.Module:
    """Eight convolutions of 3 x 3, five poolings, and a linear layer."""
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    channels, size = image.shape[0], image.shape[1:]
    for place, pooled in enumerate(_POOLED, 1):
        layers[f"conv{place}"] = nn.Conv2d(channels, int(width), 3, padding=1)
        layers[f"relu{place}"] = nn.ReLU()
        if pooled:
            layers[f"maxpool{place}"] = nn.MaxPool2d(2)
            size = tuple(length // 2 for length in size)
        channels = int(width)
    layers["flatten"] = nn.Flatten()
    layers["fc1"] = nn.Linear(channels * image.pixels("VGG11", size), image.classes)
    return nn.Sequential(layers)


class _ResNet18(nn.Module):
    """A convolution, eight blocks of two with a shortcut, the mean over places, a linear layer."""

    def __init__(self, image: _Image, channels: str) -> None:
        super().__init__()
        width = int(channels)
        for place in range(1, 18):
            stride = 2 if place in _HALVING else 1
            before = image.shape[0] if place == 1 else width
            convolution = nn.Conv2d(before, width, 3, stride, padding=1, bias=False)
            self.add_module(f"conv{place}", convolution)
        for number in range(1, len(_HALVING) + 1):
            self.add_module(f"sc-conv{number}", nn.Conv2d(width, width, 1, 2, bias=False))
        self.add_module("fc1", nn.Linear(width, image.classes))

    def forward(self, images: Tensor) -> Tensor:
        """Class scores ``(n, classes)``."""
        layers = dict(self.named_children())
        x = torch.relu(layers["conv1"](images))
        for place in range(2, 18, 2):
            inner = torch.relu(layers[f"conv{place}"](x))
            if place in _HALVING:
                x = layers[f"sc-conv{_HALVING.index(place) + 1}"](x)
            x = torch.relu(layers[f"conv{place + 1}"](inner) + x)
        scores: Tensor = layers["fc1"](x.mean(dim=(2, 3)))
        return scores


# What stands in a name, and what makes the network of its parts.
_BUILDERS: dict[str, Callable[..., nn.Module]] = {
    r"F-([1-9]\d*(?:\^[1-9]\d*)?(?:-[1-9]\d*(?:\^[1-9]\d*)?)*)(-BN)?": _fully_connected,
    rf"LeNet5(?:-\(({'|'.join(_LENET5)})-([1-9]\d*)\))?(-BN)?": _lenet5,
    r"VGG11-W([1-9]\d*)": _vgg11,
    r"ResNet18-W([1-9]\d*)": _ResNet18,
}

"""The networks and data that the benchmarks run on."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

from hessian_spectra.seeding import generator

SAMPLES = 1000
CLASSES = 10
VOCABULARY = 65
CONTEXT = 64


class Attention(nn.Module):
    """Causal self-attention written out, because all libraries here can differentiate that."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query_key_value = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Inputs and outputs are (B, T, width)."""
        batch, length, width = x.shape
        parts = self.query_key_value(x).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # each (B, heads, T, width / heads)
        scores = query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5
        future = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        attention = scores.masked_fill(future, float("-inf")).softmax(dim=-1)
        return self.output((attention @ value).transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """A pre-norm transformer block."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm_1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Inputs and outputs are (B, T, width)."""
        x = x + self.attention(self.norm_1(x))
        return x + self.mlp(self.norm_2(x))


class SmallGPT(nn.Module):
    """Tokens (B, T) to class scores (B, V, T); GPT-2's architecture, nanoGPT's size for a CPU."""

    def __init__(self, layers: int = 4, width: int = 128, heads: int = 4) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Embedding(CONTEXT, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Class scores along axis 1, where torch's cross-entropy expects them."""
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        return self.head(self.norm(self.blocks(x))).transpose(1, 2)


class GPT2(nn.Module):
    """Hugging Face's GPT-2 (small), tokens (B, T) to class scores (B, V, T), with random weights.

    Its attention is written out, because all libraries here can differentiate that.
    """

    def __init__(self) -> None:
        super().__init__()
        from transformers import GPT2Config, GPT2LMHeadModel

        self.model = GPT2LMHeadModel(GPT2Config(attn_implementation="eager", use_cache=False))

    def forward(self, tokens: Tensor) -> Tensor:
        """Class scores along axis 1, where torch's cross-entropy expects them."""
        return self.model(tokens).logits.transpose(1, 2)


class ResidualBlock(nn.Module):
    """Two convolutions beside a shortcut that subsamples and pads with zeros."""

    def __init__(self, before: int, channels: int) -> None:
        super().__init__()
        self.stride = channels // before
        self.convolution_1 = nn.Conv2d(before, channels, 3, self.stride, padding=1, bias=False)
        self.norm_1 = nn.BatchNorm2d(channels)
        self.convolution_2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm_2 = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        """Inputs (B, C, H, W), outputs (B, C s, H / s, W / s)."""
        inner = self.convolution_2(torch.relu(self.norm_1(self.convolution_1(x))))
        missing = inner.shape[1] - x.shape[1]
        shortcut = x[:, :, :: self.stride, :: self.stride]
        shortcut = nn.functional.pad(shortcut, (0, 0, 0, 0, 0, missing))
        return torch.relu(self.norm_2(inner) + shortcut)


def resnet20() -> nn.Module:
    """ResNet-20 for three channels of 32 x 32 pixels (He et al. 2016, section 4.2)."""
    widths = [16] * 4 + [32] * 3 + [64] * 3
    blocks = [ResidualBlock(*pair) for pair in pairwise(widths)]
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), *blocks,
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, CLASSES),
    )  # fmt: skip


def lenet5() -> nn.Module:
    """LeNet5 for one channel of 28 x 28 pixels, with ReLU and max-pooling."""
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, CLASSES),
    )  # fmt: skip


def mlp() -> nn.Module:
    """784-200-200-10 with ReLU."""
    return nn.Sequential(
        nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, CLASSES)
    )


def digits(samples: int, size: int = 28, channels: int = 1) -> tuple[Tensor, Tensor]:
    """Scikit-learn's handwritten digits, enlarged to (n, C, size, size), and their classes."""
    images, classes = load_digits(return_X_y=True)
    small = torch.tensor(images[:samples] / 16, dtype=torch.float32).view(-1, 1, 8, 8)
    large = nn.functional.interpolate(small, size=(size, size), mode="bilinear")
    return large.repeat(1, channels, 1, 1), torch.tensor(classes[:samples])


def sequences(count: int, length: int, vocabulary: int = VOCABULARY) -> tuple[Tensor, Tensor]:
    """Random tokens (n, T), and the tokens that follow them."""
    draws = generator(0, "benchmark tokens")
    tokens = torch.randint(0, vocabulary, (count, length + 1), generator=draws)
    return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()


def flat_digits(samples: int) -> tuple[Tensor, Tensor]:
    images, classes = digits(samples)
    return images.flatten(1), classes


@dataclass(frozen=True)
class Network:
    """A network's maker, the batch it is studied on, and how many steps it is trained.

    Args:
        make: the network with random weights.
        batch: inputs and targets, from a number of samples.
        steps: of gradient descent, after which it is set to ``eval()``.
        rate: of the steps that tracking follows; with fixed running statistics a network with
            batch norm diverges at the others' rate.
    """

    make: Callable[[], nn.Module]
    batch: Callable[[int], tuple[Tensor, Tensor]]
    steps: int = 100
    rate: float = 0.01


NETWORKS = {
    "mlp": Network(mlp, flat_digits),
    "lenet5": Network(lenet5, lambda samples: digits(samples // 5)),
    "gpt": Network(SmallGPT, lambda samples: sequences(12, CONTEXT), steps=0),
    "resnet20": Network(
        resnet20, lambda samples: digits(samples // 100, 32, 3), steps=20, rate=1e-3
    ),
    "decoder": Network(
        lambda: SmallGPT(layers=4, width=256), lambda samples: sequences(2, 32), steps=20
    ),
    "gpt2": Network(GPT2, lambda samples: sequences(1, 2 * CONTEXT, 50257), steps=0),
}


def make(name: str, samples: int = SAMPLES) -> tuple[nn.Module, list[tuple[Tensor, Tensor]]]:
    """A network with random weights, and one batch of data: digits or random tokens."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = NETWORKS[name].make()
    return model, [NETWORKS[name].batch(samples)]


def trained(name: str, samples: int = SAMPLES) -> tuple[nn.Module, list[tuple[Tensor, Tensor]]]:
    """The problem after a few steps, so that the Hessian has its outliers, in ``eval()``."""
    model, data = make(name, samples)
    train(model, data, NETWORKS[name].steps)
    return model.eval(), data


def train(model: nn.Module, data: list[tuple[Tensor, Tensor]], steps: int) -> None:
    """A few steps of gradient descent with momentum.

    Running statistics, which lag behind in so few, are then those of the data.
    """
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    (inputs, targets), loss = data[0], nn.CrossEntropyLoss()
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model(inputs), targets).backward()
        optimizer.step()
    optimizer.zero_grad()
    torch.optim.swa_utils.update_bn(data, model)

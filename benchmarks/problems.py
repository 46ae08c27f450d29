"""The networks and data that the benchmarks run on."""

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

from hessian_spectra.seeding import generator

SAMPLES = 1000
CLASSES = 10
VOCABULARY = 65
CONTEXT = 64
SEQUENCES = 12


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


def digits(samples: int) -> tuple[Tensor, Tensor]:
    """Scikit-learn's handwritten digits, enlarged to (n, 1, 28, 28), and their classes."""
    images, classes = load_digits(return_X_y=True)
    small = torch.tensor(images[:samples] / 16, dtype=torch.float32).view(-1, 1, 8, 8)
    large = nn.functional.interpolate(small, size=(28, 28), mode="bilinear")
    return large, torch.tensor(classes[:samples])


def make(name: str, samples: int = SAMPLES) -> tuple[nn.Module, list[tuple[Tensor, Tensor]]]:
    """A network and one batch of data: ``"mlp"`` and ``"lenet5"`` on digits, ``"gpt"`` on noise."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = {"mlp": mlp, "lenet5": lenet5, "gpt": SmallGPT}[name]()
    if name == "gpt":
        draws = generator(0, "benchmark tokens")
        tokens = torch.randint(0, VOCABULARY, (SEQUENCES, CONTEXT + 1), generator=draws)
        return model, [(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())]
    images, classes = digits(samples)
    return model, [(images.flatten(1) if name == "mlp" else images, classes)]


def train(model: nn.Module, data: list[tuple[Tensor, Tensor]], steps: int) -> None:
    """A few steps of gradient descent with momentum, so that the Hessian has its outliers."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    (inputs, targets), loss = data[0], nn.CrossEntropyLoss()
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model(inputs), targets).backward()
        optimizer.step()

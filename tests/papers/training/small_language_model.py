"""A language model that is trained in a moment."""

from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hessian_papers.training.language_model import pretrain
from hessian_papers.training.pretraining import Pretraining

VOCABULARY, CONTEXT = 11, 5
TOKENS = np.random.default_rng(0).integers(0, VOCABULARY, 200).astype(np.uint16)


class Model(nn.Module):
    """Embedding, norm, dropout and a tied output: matrices, an embedding, and vectors."""

    def __init__(self, dropout: float = 0.0, dtype: torch.dtype = torch.float64) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(VOCABULARY, 6)
        self.linear, self.norm = nn.Linear(6, 6), nn.LayerNorm(6)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(6, VOCABULARY, bias=False)
        self.output.weight = self.embedding.weight
        self.to(dtype)

    def forward(self, tokens: Tensor) -> SimpleNamespace:
        """Logits of the next token."""
        hidden = self.embedding(tokens)
        hidden = hidden + self.dropout(torch.tanh(self.linear(self.norm(hidden))))
        return SimpleNamespace(logits=self.output(hidden))


def loss(model: nn.Module, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """The mean cross-entropy, and the logits."""
    logits = model(tokens[:, :-1]).logits
    return functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()), logits


def plan(**changes: object) -> Pretraining:
    """A short training, in which every setting matters."""
    settings = {
        "steps": 12,
        "batch_size": 3,
        "accumulation": 2,
        "learning_rate": 0.1,
        "smallest_learning_rate": 0.01,
        "warmup": 3,
        "decay_steps": 10,
        "weight_decay": 0.3,
        "betas": [0.8, 0.9],
        "clip": 0.2,
        "precision": "float32",
        "compile": False,
    }
    return Pretraining(**{**settings, **changes})  # type: ignore[arg-type]


def trained(model: nn.Module, settings: Pretraining, **more: object) -> np.ndarray:
    """The losses of a training; the model is changed."""
    call = {"context": CONTEXT, "seed": 7, **more}
    return pretrain(model, loss, TOKENS, settings, **call)  # type: ignore[arg-type]

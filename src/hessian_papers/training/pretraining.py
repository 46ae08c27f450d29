"""The training of a language model: nanoGPT's optimiser and learning rates."""

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import nn

from hessian_papers.constraints import AtLeast, Checked, Count, OneOf, Positive
from hessian_spectra.validation import require

PRECISIONS = ("float32", "bf16")


@dataclass(frozen=True, kw_only=True)
class Pretraining(Checked):
    """The settings with which a language model is trained.

    Args:
        steps: updates of the weights; 0: none.
        batch_size: sequences in a micro-batch.
        accumulation: micro-batches whose gradients make an update.
        learning_rate: after the warm-up.
        smallest_learning_rate: at the end of the cosine, and after it.
        warmup: steps in which the rate rises linearly.
        decay_steps: the step at which the cosine ends.
        weight_decay: of matrices and embeddings; biases and the weights of norms have none.
        betas: AdamW's two rates of forgetting.
        clip: the largest norm of the gradient that is not scaled down to it.
        precision: ``float32``, or ``bf16`` for torch's automatic mixed precision.
        compile: whether the network is compiled, which pays on a GPU.
    """

    steps: Annotated[int, AtLeast(0)]
    batch_size: Count
    accumulation: Count
    learning_rate: Positive
    smallest_learning_rate: float
    warmup: Annotated[int, AtLeast(0)]
    decay_steps: int
    weight_decay: Annotated[float, AtLeast(0)]
    betas: list[float]
    clip: Positive
    precision: Annotated[str, OneOf(PRECISIONS)]
    compile: bool

    def __post_init__(self) -> None:
        super().__post_init__()
        largest, smallest = self.learning_rate, self.smallest_learning_rate
        expected = f"a number from 0 to the learning rate, {largest}"
        require(0 <= smallest <= largest, "smallest_learning_rate", expected, smallest)
        expected = f"more steps than the warm-up, {self.warmup}"
        require(self.decay_steps > self.warmup, "decay_steps", expected, self.decay_steps)
        fits = len(self.betas) == 2 and all(0 <= beta < 1 for beta in self.betas)
        require(fits, "betas", "two numbers in [0, 1)", self.betas)

    def rate(self, step: int) -> float:
        """The learning rate of the update that follows ``step``: warm-up, then a cosine.

        Source: nanoGPT, ``train.py``.

        Example:
            >>> plan = Pretraining(steps=9, batch_size=1, accumulation=1, learning_rate=1.0,
            ...                    smallest_learning_rate=0.0, warmup=3, decay_steps=7,
            ...                    weight_decay=0.1, betas=[0.9, 0.95], clip=1.0,
            ...                    precision="float32", compile=False)
            >>> [round(plan.rate(step), 3) for step in range(9)]
            [0.25, 0.5, 0.75, 1.0, 0.854, 0.5, 0.146, 0.0, 0.0]
        """
        if step < self.warmup:
            return self.learning_rate * (step + 1) / (self.warmup + 1)
        share = min(1.0, (step - self.warmup) / (self.decay_steps - self.warmup))
        height = self.learning_rate - self.smallest_learning_rate
        return self.smallest_learning_rate + height * (1 + math.cos(math.pi * share)) / 2

    def optimizer(self, model: nn.Module) -> torch.optim.AdamW:
        """AdamW on all parameters of a model, with weight decay on those of two axes and more."""
        parameters = list(model.parameters())
        groups = [
            {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": self.weight_decay},
            {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
        ]
        first, second = self.betas
        return torch.optim.AdamW(groups, lr=self.rate(0), betas=(first, second), fused=True)

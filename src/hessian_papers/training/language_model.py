"""Pre-training of a language model in nanoGPT's set-up, which can be interrupted."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn

from hessian_papers.data.tools.tokens import batch
from hessian_papers.training.pretraining import Pretraining
from hessian_spectra.training import Batch, Task, rank_and_count, train_by_minibatches
from hessian_spectra.validation import require

# From a model and sequences of tokens (B, T + 1) to the mean loss and the logits.
Loss = Callable[[nn.Module, Tensor], tuple[Tensor, Tensor]]


def pretrain(
    model: nn.Module,
    loss: Loss,
    tokens: np.ndarray,
    plan: Pretraining,
    *,
    context: int,
    seed: int,
    identity: Any = None,
    **how: Any,
) -> np.ndarray:
    """Train a language model by AdamW; step t is the state after t updates.

    The sequences of an update, and what dropout leaves out of a micro-batch, are functions of the
    seed, the step and the micro-batch alone. Where ``torch.distributed`` is set up, each process
    takes its share of the micro-batches, and their gradients are added up before the update: all
    processes hold the same weights, those of a single one up to rounding.

    A loss that is not finite ends the training.

    Args:
        model: the network, on its device; trained in place.
        loss: from the model and sequences ``(B, T + 1)`` to the mean loss and the logits.
        tokens: the text ``(N,)``, which may be mapped from a file.
        plan: how it is trained.
        context: length T of a sequence.
        seed: of the batches and of dropout.
        identity: what else tells this training from others, beside plan, text and first weights,
            as JSON has it.
        how: ``observer``, ``observed`` steps, ``log`` and ``checkpoint``, as for
            :func:`~hessian_spectra.training.train_by_minibatches`.

    Returns:
        The loss of each step's batch ``(steps,)`` float64; NaN after the end of a divergence.

    Raises:
        ValueError: there are too few tokens, the micro-batches are no multiple of the processes,
            or the state in the folder is damaged or that of another training.

    Source: nanoGPT (Karpathy 2022), as singh2026cracking, D.1.5, has it.

    Example:
        >>> plan = Pretraining(steps=100, batch_size=8, accumulation=1, learning_rate=0.1,
        ...                    smallest_learning_rate=0.01, warmup=5, decay_steps=100,
        ...                    weight_decay=0.0, betas=[0.9, 0.95], clip=1.0,
        ...                    precision="float32", compile=False)
        >>> def loss(model, tokens):
        ...     logits = model(tokens[:, :-1])
        ...     return nn.functional.cross_entropy(logits.mT, tokens[:, 1:]), logits
        >>> text = np.array([0, 1, 2] * 20)  # each token tells the next one
        >>> losses = pretrain(nn.Embedding(3, 3), loss, text, plan, context=4, seed=0)
        >>> bool(losses[-1] < 0.1 < losses[0])
        True
    """
    _, count = rank_and_count()
    expected = f"a multiple of the {count} processes"
    require(plan.accumulation % count == 0, "accumulation", expected, plan.accumulation)
    size = plan.batch_size * plan.accumulation

    def batches(step: int) -> Sequence[Batch]:
        sequences = batch(tokens, step=step, size=size, length=context, seed=seed)
        return [(piece,) for piece in sequences.split(plan.batch_size)]

    task = Task(
        model=model,
        loss=lambda network, sequences: loss(network, sequences)[0],
        batches=batches,
        seed=seed,
        unit="tokens",
        units=size * context,
        identity=[context, identity],
    )
    return train_by_minibatches(task, plan, **how)

"""Losses of a language model as a function of model and tokens, and the residual's size."""

import torch
from torch import Tensor, nn
from torch.nn import functional


def language_loss(model: nn.Module, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """The mean cross-entropy of each token given those before it, in nats, and the logits.

    It is the ``loss_fn`` of a ``Problem`` whose batches are tokens; ``weights=len`` says how its
    batches of sequences of one length add up.

    Args:
        model: from tokens ``(B, T)`` to an object with ``logits`` ``(B, T, V)``.
        tokens: ``(B, T + 1)`` int64; T at most the model's context.

    Returns:
        The loss ``()`` over B T positions, and the logits ``(B, T, V)``.

    """
    logits = model(tokens[:, :-1]).logits
    return functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()), logits


def squared_loss(model: nn.Module, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """The mean over positions of ``½ |f − e_y|²``, ``f`` the logits and y the next token; with f.

    Args and result are those of :func:`language_loss`.
    """
    logits = model(tokens[:, :-1]).logits
    chosen = logits.gather(-1, tokens[:, 1:, None])[..., 0]
    return (logits.square().sum(-1) - 2 * chosen + 1).mean() / 2, logits


def residual_norm(logits: Tensor, tokens: Tensor) -> float:
    """The mean over positions of ``|softmax(f) − e_y|₂``, from 0 to √2.

    That is the derivative of a position's cross-entropy with respect to its logits ``f``; y is the
    next token.

    Args:
        logits: ``(B, T, V)``.
        tokens: ``(B, T + 1)``, those of :func:`language_loss`.

    Source: singh2026cracking, appendix D.1.5.

    Example:
        >>> round(residual_norm(torch.zeros(1, 1, 2), torch.tensor([[0, 1]])), 6)  # |(½, −½)|
        0.707107
    """
    total = 0.0
    for scores, following in zip(logits.detach(), tokens[:, 1:, None], strict=True):
        residual = scores.softmax(dim=-1)
        residual.scatter_add_(-1, following, -torch.ones_like(residual[:, :1]))
        total += float(residual.norm(dim=-1).double().mean())
    return total / len(logits)

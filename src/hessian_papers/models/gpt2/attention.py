"""Attention that differentiates any number of times, its sinks, and how much a token draws."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from hessian_papers.models.gpt2.shape import PATTERNS, Shape, shape_of
from hessian_spectra.validation import optional_import

# How far the scores behind fixed patterns are from 0, in standard deviations: each query then has a
# few tokens that it attends to.
_SPREAD = 3.0
# Under which name transformers finds the attention of this module.
ATTENTION = "hessian_spectra"


def register_attention(transformers: Any) -> None:
    """Tell transformers the attention below, with the mask that its plain form is given."""
    masks = optional_import("transformers.masking_utils", "huggingface")
    transformers.AttentionInterface.register(ATTENTION, _attention)
    transformers.AttentionMaskInterface.register(ATTENTION, masks.eager_mask)


def _attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float = 1.0,
    dropout: float = 0.0,
    **_: Any,
) -> tuple[Tensor, Tensor]:
    """Softmax attention of ``(B, heads, T, d)``: outputs ``(B, T, heads, d)``, and its weights.

    It has no fused kernel, whose derivative could not be differentiated again. A module with a
    ``pattern`` has these weights whatever query and key are.
    """
    if hasattr(module, "pattern"):
        length = query.shape[-2]
        fixed = module.pattern[:, :length, :length].to(value.dtype)
        weights = functional.dropout(fixed.expand(len(query), -1, -1, -1), dropout, module.training)
        return (weights @ value).transpose(1, 2), weights
    scores = query @ key.transpose(-1, -2) * scaling
    if attention_mask is not None:
        scores = scores + attention_mask
    bias, token, head = getattr(module, "sink", (0.0, 0, 0))
    if bias and token < scores.shape[-1]:
        sink = scores.new_zeros(scores.shape[1], 1, scores.shape[-1])
        sink[head, 0, token] = bias
        scores = scores + sink
    weights = functional.softmax(scores, dim=-1).type(value.dtype)
    weights = functional.dropout(weights, dropout, module.training)
    return (weights @ value).transpose(1, 2), weights


def set_patterns(model: Any, shape: Shape, draws: torch.Generator | None = None) -> None:
    """Give the attention of a model the patterns of its variant, if it is one that has them.

    Args:
        model: of :func:`~hessian_papers.models.gpt2.architecture.gpt2`; the patterns are buffers of
            its attention, ``(heads, context, context)``, of rows that sum to 1.
        shape: of the model.
        draws: for ``"fixed attention"``; without it all patterns are uniform.
    """
    if shape.variant not in PATTERNS:
        return
    size = (shape.heads, shape.context, shape.context)
    later = torch.ones(size, dtype=torch.bool).triu(1)
    for attention in _attentions(model):
        scores = torch.zeros(size)
        if draws is not None and shape.variant == "fixed attention":
            scores = _SPREAD * torch.randn(size, generator=draws)
        pattern = functional.softmax(scores.masked_fill(later, -math.inf), dim=-1)
        attention.register_buffer("pattern", pattern, persistent=False)


def fuse_attention(model: Any) -> None:
    """Compute a model's attention by torch's fused kernel, for training: the same function.

    Its derivative cannot be differentiated again. A model with patterns of attention, or without
    attention, is left as it is.
    """
    if shape_of(model).variant not in (*PATTERNS, "no attention"):
        model.set_attn_implementation("sdpa")


def _attentions(model: Any) -> list[Any]:
    """The attention modules of the blocks.

    Raises:
        ValueError: the model has none.
    """
    attentions = [block.attn for block in model.transformer.h if hasattr(block, "attn")]
    if not attentions:
        raise ValueError("model: expected one with attention, got the variant 'no attention'")
    return attentions


def set_sink(model: nn.Module, bias: float, token: int = 0, head: int = 0) -> None:
    """Add a bias to the scores that all queries give to one key, in one head of every block.

    The larger the bias, the more attention the token draws. It is no weight: copies of the model
    keep it, files do not. A second call replaces the first; 0.0 is the original, bit for bit.

    Args:
        model: a model of :func:`gpt2` or :func:`load`, with attention.
        bias: what is added before the softmax, of any sign.
        token: the position of the key; queries before it do not see it.
        head: of every block.

    Raises:
        ValueError: the model has no attention.

    Source: singh2026cracking, appendix D.1.6.
    """
    for attention in _attentions(model):
        attention.sink = (bias, token, head)


def attention_mass(model: nn.Module, tokens: Tensor, token: int = 0) -> Tensor:
    """The mean attention that one key gets, over sequences and over the queries that can see it.

    Args:
        model: a model with attention, in the mode (``eval()``) it is to be looked at.
        tokens: ``(B, T + 1)`` sequences as :func:`language_loss` takes them; the last token of each
            is not read.
        token: the position of the key.

    Returns:
        ``(layers, heads)`` numbers from 0 to 1. The query at the position of the key itself counts;
        that of the first token has no other to look at.

    Raises:
        ValueError: the model has no attention.
    """
    inputs = tokens[:, :-1]
    masses: list[Tensor] = []

    def note(module: nn.Module, _: Any, outputs: Any) -> None:
        masses.append(outputs[1][:, :, token:, token].mean(dim=(0, 2)))

    hooks = [attention.register_forward_hook(note) for attention in _attentions(model)]
    try:
        with torch.no_grad():
            # All weights of one sequence are as much as is ever held.
            for sequence in inputs.split(1):
                model(sequence)
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack(masses).view(len(inputs), len(hooks), -1).mean(dim=0)

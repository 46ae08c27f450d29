"""GPT-2 of transformers, its twins without attention and norm weights, and others like it."""

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor, nn

from hessian_papers.models.gpt2.attention import ATTENTION, register_attention, set_patterns
from hessian_papers.models.gpt2.shape import Shape
from hessian_spectra.seeding import generator
from hessian_spectra.validation import optional_import

# Of the weights at initialisation, as GPT-2 and nanoGPT have it.
_STANDARD_DEVIATION = 0.02


# What stands in place of the layer norms, of so many numbers, with so small a number in the root.
_NORMS: dict[str, Callable[[int, float], nn.Module]] = {
    "no norm weights": lambda width, eps: nn.LayerNorm(width, eps, elementwise_affine=False),
    "RMS norm": nn.RMSNorm,
    "no norm": lambda width, eps: nn.Identity(),
}


def gpt2(shape: Shape, seed: int) -> nn.Module:
    """Transformers' ``GPT2LMHeadModel`` with random weights, float32, on the CPU.

    Input and output embeddings are one matrix. Weights are normal with standard deviation 0.02,
    those that end one of the N residual branches with 0.02/√N; biases are 0 and norm weights 1. All
    come from one generator in the order of the parameters, so that the variants share their
    embeddings, and those with attention all weights; fixed patterns come from another. Attention is
    written out in operations that differentiate any number of times; for training alone there is
    :func:`~hessian_papers.models.gpt2.fuse_attention`.

    Args:
        shape: size and variant.
        seed: of the weights; torch's own random numbers are left alone.

    Returns:
        The model, in training mode. For tokens ``(B, T)`` its ``model(tokens).logits`` are
        ``(B, T, V)``.

    Raises:
        ModuleNotFoundError: transformers is not installed.

    Source: singh2026cracking, appendix D.1.5, which follows nanoGPT; Radford et al. (2019), section
    2.3, for the 1/√N, with N the number of residual layers.

    Example:
        >>> shape = Shape(
        ...     layers=1, width=4, heads=2, context=8, vocabulary=5, variant="no norm weights")
        >>> model = gpt2(shape, seed=0)
        >>> sum(parameter.numel() for parameter in model.parameters())  # (5 + 8) 4 + 12 4² + 9 4
        280
    """
    model = blank(shape)
    draws = generator(seed, "weights")
    last = _STANDARD_DEVIATION / math.sqrt(shape.residual_branches)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(".bias"):
                parameter.zero_()
            elif parameter.ndim == 1:
                parameter.fill_(1.0)
            else:
                end = name.endswith("c_proj.weight")
                parameter.normal_(0, last if end else _STANDARD_DEVIATION, generator=draws)
    set_patterns(model, shape, generator(seed, "patterns"))
    return model


def parameter_count(shape: Shape) -> int:
    """The number of weights of a model of this shape; none is allocated.

    Example:
        >>> small = Shape(
        ...     layers=12, width=768, heads=12, context=1024, vocabulary=50257, variant="attention")
        >>> parameter_count(small)
        124439808
    """
    return sum(parameter.numel() for parameter in _architecture(shape).parameters())


def _architecture(shape: Shape) -> Any:
    """The model without memory for its weights, which stand on torch's ``meta`` device."""
    transformers = optional_import("transformers", "huggingface")
    register_attention(transformers)
    config = transformers.GPT2Config(
        n_layer=shape.blocks,
        n_embd=shape.width,
        n_head=shape.heads,
        n_positions=shape.context,
        vocab_size=shape.vocabulary,
        resid_pdrop=shape.dropout,
        embd_pdrop=shape.dropout,
        attn_pdrop=shape.dropout,
        bos_token_id=None,
        eos_token_id=None,
        use_cache=False,
        activation_function="relu" if shape.variant == "ReLU" else "gelu_new",
        attn_implementation=ATTENTION,
        shape=asdict(shape),
    )
    with torch.device("meta"):
        model = transformers.GPT2LMHeadModel(config)
        if shape.variant == "no attention":
            blocks = [_MLPBlock(block.ln_2, block.mlp) for block in model.transformer.h]
            model.transformer.h = nn.ModuleList(blocks)
        if shape.variant in _NORMS:
            for module in list(model.modules()):
                for name, norm in module.named_children():
                    if isinstance(norm, nn.LayerNorm):
                        setattr(module, name, _NORMS[shape.variant](shape.width, norm.eps))
    return model


def blank(shape: Shape) -> Any:
    """The model on the CPU, its weights undefined."""
    model = _architecture(shape).to_empty(device="cpu")
    # Memory is given to each weight by itself.
    model.tie_weights()
    set_patterns(model, shape)
    return model


class _MLPBlock(nn.Module):
    """``x + MLP(norm(x))``: a block of GPT-2 without its attention."""

    def __init__(self, norm: nn.Module, mlp: nn.Module) -> None:
        super().__init__()
        self.ln_2, self.mlp = norm, mlp

    def forward(self, hidden: Tensor, *_: Any, **__: Any) -> Tensor:
        """``(B, T, width)`` to the same; what else a block is told concerns attention."""
        return hidden + self.mlp(self.ln_2(hidden))

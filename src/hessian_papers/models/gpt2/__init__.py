"""GPT-2 and its twins: architecture, attention sinks, losses and files of weights."""

from hessian_papers.models.gpt2.architecture import gpt2, parameter_count
from hessian_papers.models.gpt2.attention import attention_mass, fuse_attention, set_sink
from hessian_papers.models.gpt2.files import load, pretrained_shape, save, start_from
from hessian_papers.models.gpt2.losses import language_loss, residual_norm, squared_loss
from hessian_papers.models.gpt2.shape import ARMS, PATTERNS, VARIANTS, Shape, shape_of

__all__ = [
    "ARMS",
    "PATTERNS",
    "VARIANTS",
    "Shape",
    "attention_mass",
    "fuse_attention",
    "gpt2",
    "language_loss",
    "load",
    "parameter_count",
    "pretrained_shape",
    "residual_norm",
    "save",
    "set_sink",
    "shape_of",
    "squared_loss",
    "start_from",
]

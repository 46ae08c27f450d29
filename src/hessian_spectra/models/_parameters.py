"""The weights that networks take: copied, in float64, with their shapes checked."""

import torch
from torch import Tensor, nn


def parameter(name: str, weights: Tensor, dimensions: int) -> nn.Parameter:
    """A float64 copy of ``weights`` as a parameter on the same device.

    Raises:
        ValueError: the number of dimensions differs from ``dimensions``, the tensor is empty, or an
            entry is NaN or infinite.
    """
    if weights.ndim != dimensions or weights.numel() == 0:
        raise ValueError(
            f"{name}: expected a non-empty tensor with {dimensions} dimension(s), "
            f"got shape {tuple(weights.shape)}"
        )
    if not torch.isfinite(weights).all():
        raise ValueError(f"{name}: expected finite numbers, got NaN or infinity")
    return nn.Parameter(weights.detach().to(torch.float64, copy=True))


def require_same_shape(**weights: Tensor) -> None:
    """Refuse weights that differ in shape.

    Raises:
        ValueError: the shapes differ; the message lists them by name.
    """
    shapes = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    if len(set(shapes.values())) > 1:
        raise ValueError(f"expected {', '.join(shapes)} of one shape, got {shapes}")


def require_inputs(x: Tensor, width: int | None = None) -> None:
    """Refuse inputs of the wrong shape, which broadcasting would hide.

    Args:
        x: the inputs.
        width: ``None`` for scalar inputs ``(n,)``, else the ``D`` of ``(n, D)``.

    Raises:
        ValueError: the shape is another one.
    """
    fits = x.ndim == 1 if width is None else x.ndim == 2 and x.shape[1] == width
    if not fits:
        expected = "(n,)" if width is None else f"(n, {width})"
        raise ValueError(f"inputs: expected shape {expected}, got {tuple(x.shape)}")

"""Rows of weights without their sum, and rows of Jacobians of the scores."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import torch
from torch import Tensor, nn

from hessian_spectra.curvature.layerwise import Captured, layers_of


def without_the_sum(rows: Tensor) -> Tensor:
    """The part of each row that is orthogonal to the sum of the rows.

    Of c independent rows it spans ``c − 1`` dimensions, one of the readings of wu2022dissecting's
    span of the rows of W without 1ᵀW.

    Example:
        >>> without_the_sum(torch.tensor([[1.0, 1.0], [1.0, -1.0]]))
        tensor([[ 0.,  1.],
                [ 0., -1.]])
    """
    total = rows.sum(dim=0)
    return rows - torch.outer(rows @ total, total) / total.square().sum()


def jacobian_rows(
    model: nn.Module,
    batches: Iterable[tuple[Tensor, Tensor]],
    names: Sequence[str],
    left: Callable[[Tensor], Tensor],
) -> Iterator[tuple[Tensor, Tensor, dict[str, Tensor]]]:
    """The rows of ``Q G`` of each sample, G the Jacobian of the c scores by a layer's m outputs.

    Args:
        model: a classifier in ``eval()``.
        batches: n images and their classes, each.
        names: layers whose outputs are vectors.
        left: Q by the softmax ``(n, c)``, ``(n, c, c)``.

    Yields:
        Of each batch the classes ``(n,)``, the softmax ``(n, c)``, and by layer ``(n, c, m)``.
    """
    layers = layers_of(model, names)
    for x, classes in batches:
        with torch.enable_grad(), Captured(model, layers) as captured:
            scores = model(x)
        softmax = torch.softmax(scores.detach(), dim=1)
        rows = [
            torch.autograd.grad(scores, captured.outputs, row, retain_graph=True)
            for row in left(softmax).unbind(dim=1)
        ]
        stacks = [torch.stack([row[:, 0] for row in own], dim=1) for own in zip(*rows, strict=True)]
        yield classes, softmax, dict(zip(names, stacks, strict=True))

"""What is left of the rows of a matrix of weights without their sum."""

import torch
from torch import Tensor


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

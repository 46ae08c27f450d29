"""Subsets of labelled samples in which one class has a given share."""

from collections.abc import Sequence
from fractions import Fraction

import torch
from torch import Tensor

# Finer than any share that a configuration writes down, and coarse enough to read 1/11 out of the
# float next to it: the floor of a product with that float would be one too few.
DENOMINATOR = 10**9


def class_counts(size: int, share: float, classes: int) -> list[int]:
    """The samples of each of K classes in a subset of n where class 0 has the share α.

    Each of the classes 1 to K - 1 has ``floor((1 - α) n / (K - 1))`` samples, class 0 the rest:
    at least α n, and less than α n + K - 1. The floor is taken of the fraction that ``share``
    stands for, without rounding.

    Args:
        size: number of samples n.
        share: the share α of class 0, from 1/K (balanced) to 1 (nothing else).
        classes: number of classes K.

    Returns:
        The K counts, which sum to n.

    Source: anon2026data, appendix C ("Subsampling"), whose ``floor((1 - α) n)`` for each of nine
    classes lacks the division by nine and would take more than n samples in all.

    Example:
        >>> class_counts(5000, 0.3, 10)
        [1508, 388, 388, 388, 388, 388, 388, 388, 388, 388]
    """
    if classes == 1:
        return [size]
    exact = Fraction(share).limit_denominator(DENOMINATOR)
    others = (1 - exact) * size // (classes - 1)
    return [size - (classes - 1) * others] + [others] * (classes - 1)


def share_range(available: Sequence[int], size: int) -> tuple[float, float]:
    """The smallest and the largest share for which there are enough samples of each class.

    Args:
        available: number of samples there are of each of K classes; class 0 has the share.
        size: number of samples n of the subset.

    Returns:
        The two shares; :func:`class_counts` asks for no more than there is at either of them.

    Raises:
        ValueError: n samples cannot be had, whatever the share.

    Example:
        >>> share_range([500, 100, 100], size=600)
        (0.6666666666666666, 0.8333333333333334)
    """
    classes = len(available)
    others = min(available[1:], default=0)
    # Class 0 takes the most that it has, or the others do.
    fewest = -(-max(size - available[0], 0) // max(classes - 1, 1))
    most = min(others, size // classes)
    if size < 1 or (fewest > most if classes > 1 else size > available[0]):
        raise ValueError(
            f"size: {size} samples cannot be had from {available[0]} of class 0 and equally many, "
            f"at most {others}, of each other class"
        )
    # Fewer than one sample a class short of balance is balanced.
    balanced = most == size // classes
    smallest = Fraction(1, classes) if balanced else 1 - Fraction(most * (classes - 1), size)
    return float(smallest), float(1 - Fraction(fewest * (classes - 1), size))


def imbalanced_subset(
    labels: Tensor, size: int, share: float, generator: torch.Generator
) -> Tensor:
    """A random subset, without replacement, in which class 0 has a given share.

    The generator orders all samples once; each class then gives its first ones. So with the same
    generator state a class's samples at a lower count are among those at a higher one, and shares
    are compared on as nearly the same samples as can be.

    Args:
        labels: ``(N,)`` integers from 0 to K - 1, where K - 1 is the largest that occurs.
        size: number of samples n to take.
        share: the share of class 0; the others share the rest equally (:func:`class_counts`).
        generator: where the order comes from.

    Returns:
        ``(n,)`` indices into ``labels``, in random order.

    Raises:
        ValueError: a class has too few samples; the message says which, and how many there are.

    Source: anon2026data, appendix C ("Subsampling"), with the count of :func:`class_counts`.

    Example:
        >>> from hessian_spectra.seeding import generator
        >>> labels = torch.tensor([0, 1, 2] * 20)
        >>> chosen = imbalanced_subset(labels, 20, 0.5, generator(0, "subset"))
        >>> labels[chosen].bincount().tolist()
        [10, 5, 5]
    """
    available = labels.bincount().tolist()
    counts = class_counts(size, share, len(available))
    for label, (wanted, stock) in enumerate(zip(counts, available, strict=True)):
        if wanted > stock:
            raise ValueError(
                f"share {share} of {size} samples asks for {wanted} of class {label}, "
                f"and there are {stock}"
            )
    order = torch.randperm(len(labels), generator=generator)
    ordered = labels[order]
    chosen = torch.zeros(len(labels), dtype=torch.bool)
    for label, count in enumerate(counts):
        chosen[(ordered == label).nonzero().flatten()[:count]] = True
    return order[chosen]

"""The samples of a bound, and the scores that a network gives them."""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, SequentialSampler

from hessian_spectra.validation import require, require_length

# Inputs and class labels, or batches of them.
Data = tuple[Any, Any] | Iterable[Any]

# So many samples are scored together and each by itself.
COMPARED = 8
# The fraction of copies that is spoken of, and how exact moments are that are no accident.
COPIES, EXACT = 0.01, 1e-6


def read(data: Data, device: torch.device) -> tuple[Tensor, Tensor]:
    """All samples on a device: inputs ``(n, ...)`` float32, labels ``(n,)`` int64.

    Raises:
        ValueError: other shapes or types, inputs that are not finite, or no samples.

    Example:
        >>> sample = (torch.tensor([[1.0]]), torch.tensor([0]))
        >>> read([sample, sample], torch.device("cpu"))[1]
        tensor([0, 0])
    """
    require_length("data", data)
    batches = [data] if isinstance(data, tuple) else list(data)
    require(len(batches) > 0, "data", "inputs and labels, or batches of them", data)
    for batch in batches:
        pair = len(batch) == 2 and all(isinstance(part, Tensor) for part in batch)
        got = [type(part).__name__ for part in batch] if isinstance(batch, tuple | list) else []
        remedy = " (torch.from_numpy makes one of an array)" if "ndarray" in got else ""
        expected = f"pairs of tensors, inputs and labels{remedy}"
        require(pair, "data", expected, got or type(batch).__name__)
        x, y = batch
        shapes = tuple(x.shape), tuple(y.shape)
        fits = x.ndim >= 2 and y.ndim == 1 and len(x) == len(y) > 0
        require(fits, "data", "inputs (n, ...) and labels (n,)", shapes)
        whole = not (y.is_floating_point() or y.is_complex() or y.dtype == torch.bool)
        require(whole, "labels", "integers, the classes' numbers", y.dtype)
    inputs = torch.cat([x for x, _ in batches]).to(device, torch.float32)
    labels = torch.cat([y for _, y in batches]).to(device, torch.int64)
    require(bool(torch.isfinite(inputs).all()), "inputs", "finite numbers", "NaN or infinite ones")
    return inputs, labels


def classes_of(network: nn.Module, inputs: Tensor, labels: Tensor) -> int:
    """The number of classes that a network has scores for.

    Raises:
        ValueError: it has no score for each class, a label is none of them, or its scores of a
            sample depend on those beside it, so that it has no error on a single one.
    """
    some = inputs[:COMPARED]
    with torch.no_grad():
        try:
            scores = network(some)
            each = torch.cat([network(item) for item in some.split(1)])
        except (RuntimeError, ValueError) as error:
            line = str(error).splitlines()[0]
            raise ValueError(f"data: expected inputs that the model takes, got: {line}") from None
    shape = tuple(scores.shape)
    fits = scores.ndim == 2 and len(scores) == len(some) and shape[1] >= 2
    require(fits, "model", "scores (n, classes) of at least 2 classes", shape)
    if not torch.allclose(scores, each, rtol=1e-3, atol=1e-4 * float(scores.abs().max())):
        raise ValueError(
            "model: expected scores of a sample that do not depend on the samples beside it, got "
            f"scores that differ by {float((scores - each).abs().max()):.1e}"
        )
    classes = shape[1]
    outside = labels[(labels < 0) | (labels >= classes)].tolist()
    require(not outside, "labels", f"0 to {classes - 1}", next(iter(outside), None))
    return classes


def require_fixed_order(data: Data, prior_saw: object) -> None:
    """Refuse a loader that shuffles where samples are told by their places.

    Raises:
        ValueError: a ``DataLoader`` with another sampler than a sequential one.
    """
    if isinstance(data, DataLoader) and not isinstance(prior_saw, str) and _shuffles(data):
        raise ValueError(
            "data: expected samples in a fixed order, since prior_saw tells them by their places, "
            "got a DataLoader that shuffles: make it with shuffle=False"
        )


def _shuffles(loader: DataLoader[Any]) -> bool:
    """Whether samples may come in another order; batches given by hand hide their sampler."""
    sampler: Any = loader.sampler
    if loader.batch_sampler is not None:
        sampler = getattr(loader.batch_sampler, "sampler", None)
    return not isinstance(sampler, SequentialSampler)


def warn_of_samples(inputs: Tensor, labels: Tensor) -> None:
    """Warn of samples that depend on each other, as far as they show it.

    Warns:
        UserWarning: some occur more than once; or the inputs, all together or feature by feature,
            have mean 0 and deviation 1 so exactly that these were taken from them.
    """
    rows = np.ascontiguousarray(inputs.flatten(1).cpu().numpy())
    _, counts = np.unique(rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize))),
                          return_counts=True)  # fmt: skip
    copies = int(counts[counts > 1].sum())
    if copies > COPIES * len(labels):
        warnings.warn(
            f"data: {copies} of {len(labels)} samples occur more than once; copies are no samples "
            "of their own, and with them the bound is too small: leave them out, unless they "
            "were sampled so",
            stacklevel=3,
        )
    columns = inputs.flatten(1).double()
    # All numbers together, or those of each feature that varies.
    if any(_standardised(of) for of in (columns.reshape(-1, 1), columns)):
        warnings.warn(
            "data: the inputs have mean 0 and deviation 1 to six digits; if these were taken from "
            "these samples, each depends on the others: take them from other samples",
            stacklevel=3,
        )


def _standardised(columns: Tensor) -> bool:
    """Whether each column ``(n,)`` that varies has mean 0 and deviation 1, over n or n − 1."""
    deviation, mean = torch.std_mean(columns, dim=0, correction=0)
    varies, unbiased = deviation > EXACT, (1 - 1 / len(columns)) ** 0.5
    unit = torch.minimum((deviation - 1).abs(), (deviation - unbiased).abs()) < EXACT
    exact = (mean.abs() < EXACT) & unit
    return bool(varies.any()) and bool((exact | ~varies).all())

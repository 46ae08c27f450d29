"""How much each batch counts in the loss over the whole data set."""

from collections.abc import Callable

from torch import Tensor, nn

from hessian_spectra.models import HalfSquaredError


def _class_weight_total(loss: nn.CrossEntropyLoss | nn.NLLLoss, targets: Tensor) -> float:
    """What the mean of a classification loss divides by."""
    if targets.is_floating_point():
        # Class probabilities (n, C, ...): torch divides by the number of positions in any case.
        return targets.numel() / targets.shape[1] if targets.ndim > 1 else 1.0
    counted = targets[targets != loss.ignore_index]
    return float(len(counted) if loss.weight is None else loss.weight[counted].sum())


def _samples_or_elements(loss: HalfSquaredError, targets: Tensor) -> float:
    return float(len(targets) if loss.per == "sample" else targets.numel())


def _elements(loss: nn.Module, targets: Tensor) -> float:
    return float(targets.numel())


_DENOMINATORS: dict[type[nn.Module], Callable[..., float]] = {
    HalfSquaredError: _samples_or_elements,
    nn.MSELoss: _elements,
    nn.BCEWithLogitsLoss: _elements,
    nn.CrossEntropyLoss: _class_weight_total,
    nn.NLLLoss: _class_weight_total,
}


def denominator(loss: nn.Module, targets: Tensor) -> float | None:
    """What the loss of one batch is divided by, so that batches can be added up.

    The loss over all data is ``Σ_b c_b L_b / Σ_b c_b`` with ``L_b`` the mean loss of batch ``b``
    and ``c_b`` the number returned here: samples, elements, counted targets or their class weights,
    as the loss takes its mean.

    Args:
        loss: the loss, which says by ``loss.reduction`` whether it takes a mean or a sum.
        targets: the targets of one batch.

    Returns:
        ``c_b``; ``None`` for a mean that is not known here.

    Raises:
        ValueError: ``loss.reduction`` is missing or neither ``"mean"`` nor ``"sum"``.

    Example:
        >>> import torch
        >>> denominator(nn.MSELoss(), torch.zeros(3, 2))
        6.0
        >>> denominator(nn.CrossEntropyLoss(), torch.tensor([0, 1, -100]))
        2.0
    """
    reduction = getattr(loss, "reduction", None)
    if reduction not in ("mean", "sum"):
        raise ValueError(f"loss: expected reduction 'mean' or 'sum', got {reduction!r} from {loss}")
    for kind, count in _DENOMINATORS.items():
        if type(loss) is kind:
            return count(loss, targets)
    return None

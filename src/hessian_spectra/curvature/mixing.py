"""Whether batches have a common loss: layers and losses that mix the samples of a batch do not."""

import math
from collections.abc import Callable

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from hessian_spectra.curvature.batches import Batch
from hessian_spectra.curvature.undisturbed import with_draws
from hessian_spectra.curvature.weighting import Weighting, expected_loss, joined_loss


def training_modes(model: nn.Module) -> tuple[bool, ...]:
    """Which modules are in training mode."""
    return tuple(module.training for module in model.modules())


def require_fixed_statistics(model: nn.Module, count: int) -> None:
    """Refuse several batches where batch norm takes its statistics from each.

    Raises:
        ValueError: it is in training mode, or has no other statistics; the message names layers.
    """
    for trains in (True, False):
        layers = [
            name or type(module).__name__
            for name, module in model.named_modules()
            if isinstance(module, _BatchNorm)
            and (module.training if trains else module.running_mean is None)
        ]
        if layers:
            raise ValueError(
                f"model: batch norm {'in training mode' if trains else 'without statistics'} "
                f"({', '.join(layers)}) makes each batch another function, so {count} have no "
                f"common loss; {'call model.eval() or ' if trains else ''}give the data as one "
                "batch"
            )


def require_one_loss(
    evaluate: Callable[[Batch], float],
    weighting: Weighting,
    pair: tuple[Batch, Batch],
    tolerance: float,
) -> None:
    """Refuse a network or a loss that makes of two batches joined something else than of each.

    What a loss divides by does not tell: a layer that takes its statistics from the batch makes
    each batch another function.

    Args:
        evaluate: the loss of a batch.
        weighting: how the losses of batches should add up.
        pair: two batches.
        tolerance: the relative difference that rounding makes.

    Raises:
        ValueError: the loss of both joined, along the first axis or the second (where sequences
            come first), is not the one that theirs add up to.
    """
    parts, drawn = with_draws(lambda: [(batch, evaluate(batch)) for batch in pair])
    expected = expected_loss(weighting, *parts)
    scale = tolerance * max(abs(value) for _, value in parts)
    # Of what is drawn at random nothing is learnt here; two passes over the data will tell.
    if drawn or abs(evaluate(pair[0]) - parts[0][1]) > scale:
        return
    whole = joined_loss(evaluate, *pair, level=weighting.level)
    # Of losses that are not finite nothing is learnt either.
    if not math.isfinite(whole + expected) or abs(whole - expected) <= scale:
        return
    # Where sequences come first, samples stand along the second axis; elsewhere it is no batch.
    if abs(joined_loss(evaluate, *pair, axis=1) - expected) <= scale:
        return
    raise ValueError(
        f"model: the loss of two batches joined is {whole:.6g}, where theirs add up to "
        f"{expected:.6g}: the samples of a batch are mixed, as by batch norm with the batch's own "
        "statistics, so that several batches have no common loss; give the data as one batch, or "
        "say with weights how the losses of batches add up"
    )

"""Edits of a trained language model, each made as strong as a target asks for by root search."""

import math
from collections.abc import Callable, Iterator, Sequence

import torch
from scipy.optimize import brentq
from torch import Tensor, nn

from hessian_papers.models import gpt2
from hessian_papers.studies.gpt2.sink_density.derived import NO_SINK, SINK, uniform_mass
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require

EDITS = (SINK, "middle-token", "random-weights", NO_SINK)
HEAD = 0
# Beyond such a bias all attention is on one token; so far from the weights, relative to their
# norm, no network is left of which to speak.
LARGEST_BIAS, LARGEST_CHANGE = 1000.0, 10.0
# What float32 leaves of the distance of a share from 0 and 1.
ROUNDING = 1e-7


def crossing(
    value: Callable[[float], float], target: float, *, start: float, step: float, most: float
) -> float:
    """Where a function first reaches a target that it is below at ``start``, by Brent's method.

    Args:
        value: the function.
        target: what it shall be.
        start: where it is below.
        step: how far to look at first; each time that it is below there, twice as far.
        most: where to give up.

    Returns:
        The argument; NaN if the target is not reached.

    Example:
        >>> round(crossing(lambda x: x**2, 2.0, start=0.0, step=0.1, most=10.0), 6)
        1.414214
    """
    low, high = start, start + step
    while value(high) < target:
        if high >= most:
            return math.nan
        low, high = high, min(high + 2 * (high - low), most)
    return float(brentq(lambda x: value(x) - target, low, high, xtol=1e-9, rtol=1e-5))


def mass_on(model: nn.Module, tokens: Tensor, token: int) -> float:
    """The mean attention on a token in the edited head, over blocks and data."""
    return float(gpt2.attention_mass(model, tokens, token)[:, HEAD].double().mean())


def _log_odds(share: float) -> float:
    kept = min(max(share, ROUNDING), 1 - ROUNDING)
    return math.log(kept / (1 - kept))


def middle(tokens: Tensor) -> int:
    """The token in the middle of the sequences."""
    return (tokens.shape[1] - 1) // 2


def loss_of(model: nn.Module, tokens: Tensor) -> float:
    """The loss, without a graph."""
    with torch.no_grad():
        return float(gpt2.language_loss(model, tokens)[0])


def _odds(model: nn.Module, tokens: Tensor, token: int) -> Callable[[float], float]:
    """The log-odds of the attention on a token, of the bias on its scores."""

    def odds(bias: float) -> float:
        gpt2.set_sink(model, bias, token=token, head=HEAD)
        return _log_odds(mass_on(model, tokens, token))

    return odds


def sinks(
    model: nn.Module, tokens: Tensor, masses: Sequence[float], token: int = 0
) -> Iterator[float]:
    """Edit a model so that one target of attention after the other is on a token.

    A bias adds attention: targets that are not above the model's own are passed over.

    Args:
        model: the model; it has the edit of the value that came last.
        tokens: the sequences ``(n, length + 1)`` over which the attention is averaged.
        masses: the targets, ascending.
        token: the token on whose scores a bias is added, in the first head of every block.

    Yields:
        The bias; NaN for a target that is passed over.

    Raises:
        ValueError: the last target is not above the attention without the edit, or one is not
            reached.
    """
    own = mass_on(model, tokens, token)
    expected = f"one above the {own:.3g} that token {token + 1} has without an edit"
    require(own < masses[-1], "masses", expected, list(masses))
    odds, bias = _odds(model, tokens, token), 0.0
    for target in masses:
        if target <= own:
            yield math.nan
            continue
        # Of a single query they are a straight line in the bias.
        bias = crossing(odds, _log_odds(target), start=bias, step=1.0, most=LARGEST_BIAS)
        most = f"at most what a bias of {LARGEST_BIAS:g} brings"
        require(not math.isnan(bias), "masses", most, target)
        gpt2.set_sink(model, bias, token=token, head=HEAD)
        yield bias


def without_sink(model: nn.Module, tokens: Tensor) -> float:
    """Edit a model so that the first token has no more than its share of the attention.

    Args:
        model: the model; it has the edit afterwards.
        tokens: the sequences ``(n, length + 1)`` over which the attention is averaged.

    Returns:
        The negative bias; NaN if the attention is no more than :func:`uniform_mass`, and the model
        as it was.
    """
    share = uniform_mass(tokens.shape[1] - 1)
    if mass_on(model, tokens, 0) <= share:
        return math.nan
    odds = _odds(model, tokens, 0)
    # Each query but the first can leave the token: the share is always reached.
    bias = -crossing(lambda x: -odds(-x), -_log_odds(share), start=0.0, step=1.0, most=LARGEST_BIAS)
    odds(bias)
    return bias


def changes(
    model: nn.Module, tokens: Tensor, losses: Sequence[float], draws: torch.Generator
) -> Iterator[float]:
    """Move a model's weights along a random direction until it has one loss after the other.

    Args:
        model: the model; it has the change of the value that came last.
        tokens: the sequences that the loss is of.
        losses: the targets; where one is no higher than the loss at the start, nothing is changed.
        draws: of the direction, which is the same for all targets.

    Yields:
        The length of the change relative to the norm of all weights.

    Raises:
        ValueError: a loss is not reached.
    """
    weights = list(model.parameters())
    start = nn.utils.parameters_to_vector(weights).detach().clone()
    direction = torch.randn(len(start), generator=draws).to(start)
    direction *= start.norm() / direction.norm()

    def loss(change: float) -> float:
        nn.utils.vector_to_parameters(start + change * direction, weights)
        return loss_of(model, tokens)

    own = loss(0.0)
    for target in losses:
        change = 0.0
        if target > own:
            change = crossing(loss, target, start=0.0, step=1e-3, most=LARGEST_CHANGE)
            expected = f"a loss that a random change of the weights brings, from {own:.3g}"
            require(not math.isnan(change), "masses", expected, target)
        loss(change)
        yield change


def edited(
    edit: str, model: nn.Module, tokens: Tensor, masses: Sequence[float], seed: int
) -> Iterator[float]:
    """Edit a model as each rung of a ladder asks for.

    Args:
        edit: one of :data:`EDITS`.
        model: the model; it has the edit of the value that came last.
        tokens: the sequences ``(n, length + 1)`` that attention and loss are of.
        masses: the attention on the token at each rung; for random weights that of the sink on the
            first token whose loss they are to have.
        seed: of the direction in which weights move.

    Yields:
        How strong the edit is: a bias, or the relative length of the change. NaN where there is
        nothing to edit: a target that is passed over, or no sink to remove.

    Raises:
        ValueError: a target is not reached.
    """
    if edit == "middle-token":
        yield from sinks(model, tokens, masses, token=middle(tokens))
    elif edit == SINK:
        yield from sinks(model, tokens, masses)
    elif edit == NO_SINK:
        yield without_sink(model, tokens)
    else:
        losses = [loss_of(model, tokens) for _ in sinks(model, tokens, masses)]
        gpt2.set_sink(model, 0.0, token=0, head=HEAD)
        yield from changes(model, tokens, losses, generator(seed, "direction"))

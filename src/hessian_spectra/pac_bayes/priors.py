"""A prior must not have seen the samples of its bound: what is said of it, and what belies that."""

import copy
from collections.abc import Mapping

import numpy as np
import scipy
import torch
from torch import Tensor, nn

from hessian_spectra.seeding import generator
from hessian_spectra.validation import require

# "nothing", "other data", or which samples.
Seen = str | Tensor | np.ndarray
NOTHING, OTHER = "nothing", "other data"

# Maurer's theorem wants as many samples.
SMALLEST = 8
# A prior is looked at once its error is that far below the best constant guess's.
SUSPICIOUS = 1e-6
# On so many samples it then has to be no better than one of so many networks of its own weights.
LOOKED_AT, SHUFFLES = 1000, 999


def unseen(prior_saw: Seen | None, count: int) -> tuple[Tensor, str]:
    """Which samples a prior has not seen, as it is said, and what it saw in words.

    Args:
        prior_saw: ``"nothing"``, ``"other data"``, or the samples that it saw: a mask ``(n,)`` or
            their indices.
        count: ``n``.

    Returns:
        The indices of the others, ascending, and a text.

    Raises:
        ValueError: nothing is said, or nothing that can be meant; fewer than 8 others.

    Example:
        >>> unseen(torch.tensor([0, 9]), 10)
        (tensor([1, 2, 3, 4, 5, 6, 7, 8]), '2 of the 10 samples')
    """
    if prior_saw is None:
        raise ValueError(
            'prior_saw: expected "nothing", "other data", or which samples of the data the prior '
            "was trained on (a mask or indices), got None: a bound with a prior that has seen its "
            "samples is none"
        )
    if isinstance(prior_saw, str):
        require(prior_saw in (NOTHING, OTHER), "prior_saw", '"nothing" or "other data"', prior_saw)
        return _enough(torch.arange(count)), prior_saw
    seen = _mask(torch.as_tensor(prior_saw), count)
    number = int(seen.sum())
    if number == 0:
        raise ValueError('prior_saw: expected some samples, got none: say "nothing" instead')
    if number == count:
        raise ValueError(
            f"prior_saw: expected fewer than all {count} samples: the bound is computed on those "
            "that the prior has not seen"
        )
    return _enough((~seen).nonzero()[:, 0]), f"{number} of the {count} samples"


def _enough(others: Tensor) -> Tensor:
    expected = f"at least {SMALLEST} samples that the prior has not seen"
    require(len(others) >= SMALLEST, "data", expected, len(others))
    return others


def _mask(given: Tensor, count: int) -> Tensor:
    """A mask or indices as a mask."""
    given = given.cpu()
    if given.dtype == torch.bool:
        require(given.shape == (count,), "prior_saw", f"a mask ({count},)", tuple(given.shape))
        return given
    whole = given.ndim == 1 and not given.is_floating_point() and not given.is_complex()
    require(whole, "prior_saw", "a mask or indices", f"{given.dtype} {tuple(given.shape)}")
    outside = given[(given < 0) | (given >= count)].tolist()
    require(not outside, "prior_saw", f"indices from 0 to {count - 1}", next(iter(outside), None))
    seen = torch.zeros(count, dtype=torch.bool)
    seen[given.long()] = True
    return seen


def refuse_if_seen(
    model: nn.Module, prior: Mapping[str, Tensor], inputs: Tensor, labels: Tensor, seed: int
) -> None:
    """Refuse a prior that is said to have seen nothing, and has.

    It has if it is the trained network itself. And if it classifies better than the best constant
    guess (binomial test), and then better than each of 999 networks with the entries of each of its
    weights in another order: for weights whose entries were drawn independently all orders are
    equally likely, so that such a prior is refused with probability 1/1000 at most. The first test
    alone refuses random networks, whose scores on similar samples are similar.

    Args:
        model: the trained network.
        prior: weights by name.
        inputs: ``(n, ...)``.
        labels: ``(n,)`` classes.
        seed: of the orders.

    Raises:
        ValueError: it has seen the samples.
    """
    state = model.state_dict()
    if all(torch.equal(value, prior[name].to(value)) for name, value in state.items()):
        raise ValueError(
            "prior: expected weights from before the training, got those of the trained network "
            'itself; one that was trained on other data has prior_saw="other data"'
        )
    network = copy.deepcopy(model)
    network.load_state_dict(prior)
    right = _right(network, inputs, labels)
    largest = float(labels.bincount().max()) / len(labels)
    chance = float(scipy.stats.binom.sf(right - 1, len(labels), largest))
    if chance < SUSPICIOUS and _beats_all_orders(network, prior, inputs, labels, seed):
        raise ValueError(
            f"prior: expected weights that have seen nothing, got some that classify "
            f"{right / len(labels):.1%} of the samples, more than the largest class has "
            f"({largest:.1%}, p = {chance:.0e}) and more than each of {SHUFFLES} networks with "
            'these weights in another order; prior_saw takes "other data", or which samples it '
            "was trained on"
        )


def _beats_all_orders(
    network: nn.Module, prior: Mapping[str, Tensor], inputs: Tensor, labels: Tensor, seed: int
) -> bool:
    draws = generator(seed, "orders of the prior's weights")
    chosen = torch.randperm(len(labels), generator=draws)[:LOOKED_AT].to(labels.device)
    inputs, labels = inputs[chosen], labels[chosen]
    own = _right(network, inputs, labels)
    for _ in range(SHUFFLES):
        network.load_state_dict({name: _shuffled(value, draws) for name, value in prior.items()})
        if _right(network, inputs, labels) >= own:
            return False
    return True


def _shuffled(value: Tensor, draws: torch.Generator) -> Tensor:
    order = torch.randperm(value.numel(), generator=draws).to(value.device)
    return value.flatten()[order].view_as(value)


def _right(network: nn.Module, inputs: Tensor, labels: Tensor) -> int:
    """The number of samples that are classified rightly."""
    with torch.no_grad():
        parts = zip(inputs.split(LOOKED_AT), labels.split(LOOKED_AT), strict=True)
        return sum(int((network(x).argmax(dim=1) == y).sum()) for x, y in parts)

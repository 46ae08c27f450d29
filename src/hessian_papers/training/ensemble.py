"""Training of all networks of an ensemble at once."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Annotated, Any

import torch
from torch import Tensor

from hessian_papers.constraints import Constraint
from hessian_papers.training.descent import LOSS_LIMIT
from hessian_papers.training.ensemble_descent import Descent, MomentDescent, SampleDescent
from hessian_papers.training.ensemble_samples import Samples
from hessian_papers.training.ensemble_width import narrow, widen
from hessian_spectra.matrix_products import fastest_products
from hessian_spectra.models import Ensemble
from hessian_spectra.progress import LOGGED_EPOCHS, Log, silent
from hessian_spectra.seeding import generator

Order = Annotated[str, Constraint("'own' or 'shared'", lambda order: order in ("own", "shared"))]

CONVERGED, EPOCH_LIMIT, DIVERGED, NOT_TRAINED = 0, 1, 2, 3

# Networks train side by side in parts: enough to hide what a call costs, few enough that a step
# finds them in the caches.
CACHE_BYTES, FEWEST, MOST = 4 * 2**20, 16, 256
# Signals times hidden units from which on fast products are worth their calls.
LARGE = 1500


@dataclass(frozen=True, kw_only=True)
class EnsembleTraining:
    """The end of the training of each of ``N`` networks.

    Args:
        ensemble: the networks at the end; NaN where they diverged.
        loss: ``(N,)`` float64, the loss over all samples at the end; NaN where it diverged.
        epochs: ``(N,)`` int64, how many passes over the samples were made.
        status: ``(N,)`` int8: ``CONVERGED``, 0: the loss stopped improving at the smallest learning
            rate; ``EPOCH_LIMIT``, 1: it had not yet; ``DIVERGED``, 2: it
            exceeded 10¹² or was not finite.
        rate: ``(N,)`` float64, the base learning rate of the last epoch.
    """

    ensemble: Ensemble
    loss: Tensor
    epochs: Tensor
    status: Tensor
    rate: Tensor


@dataclass(frozen=True, kw_only=True)
class EnsembleDescent:
    """The settings of :func:`train_ensemble`.

    Args:
        learning_rate: base rate η at the start; layer l has the rate η r_l.
        factors: r_l for each layer.
        seed: seed of the orders.
        epochs: after how many passes over the samples a network stops, converged or not.
        batch_size: samples in a step.
        order: ``own``: each network has random orders of its own; ``shared``: all have the same.
        smallest_rate: the base rate below which the scheduler does not go.
        factor: what the scheduler multiplies the base rate with.
        patience: how many epochs without improvement the scheduler bears.
        threshold: the relative improvement that counts.
    """

    learning_rate: float
    factors: Sequence[float]
    seed: int
    epochs: int
    batch_size: int
    order: str = "own"
    smallest_rate: float = 1e-5
    factor: float = 0.1
    patience: int = 10
    threshold: float = 1e-4


def train_ensemble(
    ensemble: Ensemble,
    x: Tensor,
    y: Tensor,
    *,
    networks: Sequence[int],
    log: Log = silent,
    **settings: Any,
) -> EnsembleTraining:
    """Mini-batch gradient descent on 1/(2n) Σ_i ‖f(x_i) − y_i‖² for each network of an ensemble.

    Each network ends as if it were trained alone, on a CPU with the same bits in float64: as by
    ``torch.optim.SGD`` and ``ReduceLROnPlateau`` on the loss over all samples after each epoch, up
    to rounding. A network is done when the scheduler would lower a rate that is the smallest.

    Args:
        ensemble: the networks at the start, linear or with ReLUs, of two or more layers; float32 or
            float64.
        x: inputs ``(n, d_0)``.
        y: targets ``(n, d_L)``.
        networks: the number of each network, which decides the order in which it sees the samples.
        log: called at about a hundred epochs with ``loss``, the mean over the networks in training
            that have not diverged, and how many are in ``training``. Networks train in parts, one
            after the other: the epochs of a part count on from those of the parts before.
        settings: those of :class:`EnsembleDescent`, by their names.

    Returns:
        The :class:`EnsembleTraining`.

    Source: singh2026cracking, appendix D.1.3.

    Example:
        >>> item = Ensemble(weights=(torch.ones(1, 1, 1), torch.ones(1, 1, 1)),
        ...                multipliers=(1.0, 1.0), activation="linear")
        >>> x = torch.tensor([[-1.0], [1.0]])
        >>> end = train_ensemble(item, x, 4 * x, learning_rate=0.1, factors=(1.0, 1.0),
        ...                      networks=[0], seed=0, epochs=500, batch_size=2)
        >>> [round(weight.item(), 3) for weight in end.ensemble.weights], end.status.tolist()
        ([2.0, 2.0], [0])
    """
    plan = EnsembleDescent(**settings)
    samples = Samples(x.to(ensemble.weights[0]), y.to(ensemble.weights[0]), plan.batch_size)
    width, ends = ensemble.sizes[1], ensemble.sizes[0] + ensemble.sizes[-1]
    shrinks = ensemble.activation == "linear" and ensemble.depth == 2 and width > ends
    trained, basis = narrow(ensemble) if shrinks else (ensemble, None)
    large = _has_large_products(trained, plan.batch_size)
    end, watch = _unfinished(trained), _Watch(plan.epochs, log)
    for places in torch.arange(trained.count).split(_together(trained, plan.batch_size)):
        orders = _Orders([networks[place] for place in places.tolist()], samples.count, plan)
        with fastest_products() if large else nullcontext():
            _train(trained.select(places), places, samples, orders, plan, watch, end)
    # What networks that diverged ended with means nothing.
    for values in (end.loss, *end.ensemble.weights):
        values[end.status == DIVERGED] = torch.nan
    return end if basis is None else replace(end, ensemble=widen(end.ensemble, basis))


class _Watch:
    """Tells how the training of all networks goes on, part by part."""

    def __init__(self, epochs: int, log: Log) -> None:
        self._every = max(epochs // LOGGED_EPOCHS, 1)
        self._log = log
        self._before = 0

    def __call__(self, epoch: int, losses: Tensor, stops: Tensor) -> None:
        """Take in an epoch: the losses of the networks in training, and which of them stop."""
        last = bool(stops.all())
        if epoch % self._every == 0 or last:
            kept = losses[losses <= LOSS_LIMIT]
            if len(kept):
                metrics = {"loss": float(kept.mean()), "training": float(len(losses))}
                self._log(self._before + epoch, metrics)
        if last:
            self._before += epoch


def _signals(ensemble: Ensemble, batch_size: int) -> int:
    """The number of signals that go through a network in a step."""
    return batch_size if ensemble.activation == "relu" else min(batch_size, ensemble.sizes[0])


def _has_large_products(ensemble: Ensemble, batch_size: int) -> bool:
    """Whether fast products weigh more than what their calls cost."""
    return _signals(ensemble, batch_size) * max(ensemble.sizes[1:-1]) >= LARGE


def _together(ensemble: Ensemble, batch_size: int) -> int:
    """The number of networks that train side by side."""
    inputs, *hidden, outputs = ensemble.sizes
    signals = _signals(ensemble, batch_size)
    weights = sum(weight[0].numel() for weight in ensemble.weights)
    numbers = weights + 2 * signals * sum(hidden) + batch_size * (inputs + outputs)
    fit = CACHE_BYTES // (numbers * ensemble.weights[0].element_size())
    return min(max(fit, FEWEST), MOST)


def _train(
    ensemble: Ensemble,
    places: Tensor,
    samples: Samples,
    orders: "_Orders",
    plan: EnsembleDescent,
    watch: _Watch,
    end: EnsembleTraining,
) -> None:
    """Train networks side by side until the last is done, and put down how each ended."""
    device = ensemble.weights[0].device
    descent, places = _descent(ensemble, samples, plan), places.to(device)
    plateau = _Plateau(ensemble.count, plan, device)
    for epoch in range(1, plan.epochs + 1):
        rate = plateau.rate
        descent.descend(orders.draw().to(device), rate)
        loss = descent.losses()
        # A loss that is not a number is not below the limit either.
        diverged = ~(loss <= LOSS_LIMIT)
        status = torch.where(plateau.advance(loss), CONVERGED, EPOCH_LIMIT)
        status[diverged] = DIVERGED
        stops = (status != EPOCH_LIMIT) | (epoch == plan.epochs)
        watch(epoch, loss, stops)
        if bool(stops.any()):
            stopped, others = stops.nonzero().flatten(), (~stops).nonzero().flatten()
            place = places[stopped]
            for kept, weight in zip(end.ensemble.weights, descent.ensemble().weights, strict=True):
                kept[place] = weight[stopped]
            end.loss[place], end.rate[place] = loss[stopped], rate[stopped]
            end.epochs[place], end.status[place] = epoch, status[stopped].to(torch.int8)
            if len(others) == 0:
                break
            places = places[others]
            for part in (descent, plateau, orders):
                part.select(others)


class _Plateau:
    """``torch.optim.lr_scheduler.ReduceLROnPlateau`` for many networks, and an end to it.

    A loss is an improvement if it is below (1 − threshold) times the best before. After more than
    ``patience`` epochs in a row without one, the rate is multiplied by ``factor``, but not taken
    below ``smallest_rate``; a network whose rate is the smallest already is then done.

    Args:
        count: the number of networks.
        plan: with the rates at the start and at the end, factor, patience and threshold.
        device: where the losses are.
    """

    def __init__(self, count: int, plan: EnsembleDescent, device: torch.device) -> None:
        rate, self._plan = plan.learning_rate, plan
        self.rate = torch.full((count,), rate, dtype=torch.float64, device=device)
        self._best = torch.full_like(self.rate, torch.inf)
        self._waited = torch.zeros(count, dtype=torch.int64, device=device)

    def select(self, networks: Tensor) -> None:
        """Go on with the networks at these places only."""
        self.rate, self._best = self.rate[networks], self._best[networks]
        self._waited = self._waited[networks]

    def advance(self, losses: Tensor) -> Tensor:
        """Take in the losses ``(N,)`` after an epoch; returns which networks are done."""
        better = losses < self._best * (1 - self._plan.threshold)
        self._best = torch.where(better, losses, self._best)
        self._waited = torch.where(better, 0, self._waited + 1)
        over = self._waited > self._plan.patience
        # Products of rates and factors miss the smallest rate by rounding.
        last = self.rate <= self._plan.smallest_rate * (1 + 1e-9)
        lowered = (self.rate * self._plan.factor).clamp(min=self._plan.smallest_rate)
        self.rate = torch.where(over & ~last, lowered, self.rate)
        self._waited = torch.where(over, 0, self._waited)
        return over & last


class _Orders:
    """The order in which each network sees the samples in each epoch."""

    def __init__(self, networks: Sequence[int], count: int, plan: EnsembleDescent) -> None:
        self._shared = plan.order == "shared"
        purposes = ["order"] if self._shared else [f"order {network}" for network in networks]
        self._generators = [generator(plan.seed, purpose) for purpose in purposes]
        self._orders = torch.empty(len(purposes), count, dtype=torch.int64)

    def select(self, networks: Tensor) -> None:
        """Go on with the networks at these places only."""
        if not self._shared:
            self._generators = [self._generators[place] for place in networks.tolist()]
            self._orders = self._orders[: len(networks)]

    def draw(self) -> Tensor:
        """The orders of the next epoch, ``(N, n)``, or ``(1, n)`` if shared."""
        for order, numbers in zip(self._orders, self._generators, strict=True):
            torch.randperm(len(order), generator=numbers, out=order)
        return self._orders


def _descent(ensemble: Ensemble, samples: Samples, plan: EnsembleDescent) -> Descent:
    # As many signals go through a linear network as it has inputs; or those of a batch, if fewer.
    linear = ensemble.activation == "linear" and plan.batch_size >= ensemble.sizes[0]
    kind = MomentDescent if linear else SampleDescent
    return kind(ensemble, samples, plan.factors, shared=plan.order == "shared")


def _unfinished(ensemble: Ensemble) -> EnsembleTraining:
    """The form in which the ends of all networks are put down, one after the other."""
    weights = tuple(weight.new_empty(weight.shape) for weight in ensemble.weights)
    loss, rate, epochs, status = (
        weights[0].new_empty(ensemble.count, dtype=dtype)
        for dtype in (torch.float64, torch.float64, torch.int64, torch.int8)
    )
    ended = replace(ensemble, weights=weights)
    return EnsembleTraining(ensemble=ended, loss=loss, epochs=epochs, status=status, rate=rate)

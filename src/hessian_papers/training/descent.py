"""The training loop: it keeps every k-th step's parameters and loss, and stops when it diverges."""

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hessian_spectra.progress import Log, silent

# A loss above this counts as divergence. It is far above the hump of a catapult, and far below the
# size at which products of weights overflow.
LOSS_LIMIT = 1e12


@dataclass(frozen=True, kw_only=True)
class Record:
    """One recorded step.

    Args:
        step: how many updates were made before.
        loss: the loss over all samples at these parameters.
        parameters: a copy of each parameter by its name, in the order of ``model.parameters()``.
    """

    step: int
    loss: float
    parameters: dict[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class Trajectory:
    """The course of a training run; every number in it is finite.

    Args:
        steps: ``(r,)`` int64, the recorded steps; step ``t`` is before the ``t+1``-st update.
        losses: ``(r,)`` float64, the loss over all samples at each.
        parameters: name -> ``(r, *shape)``, in the order of ``model.parameters()``.
        diverged_at: the step at which the loss or a parameter was no longer finite or the loss
            exceeded 10¹², which is not recorded; ``None`` if that never happened.
    """

    steps: Tensor
    losses: Tensor
    parameters: dict[str, Tensor]
    diverged_at: int | None


# Yields the recorded steps and returns the step of divergence, or None.
Descent = Generator[Record, None, int | None]


# What is measured of a recorded step beside its loss, by name.
Measure = Callable[[Record], Mapping[str, float]]


def unmeasured(record: Record) -> Mapping[str, float]:
    """Nothing but the loss."""
    return {}


def descend(
    model: nn.Module,
    loss: nn.Module,
    inputs: Tensor,
    targets: Tensor,
    optimizer: torch.optim.Optimizer,
    *,
    steps: int,
    record_every: int = 1,
    batch_size: int | None = None,
    order: torch.Generator | None = None,
) -> Descent:
    """Train a network, yielding every ``record_every``-th step, the first and the last included.

    It is a generator: a caller that stops asking stops the training, and several descents can be
    taken side by side.

    Args:
        model: the network; trained in place.
        loss: a module ``(outputs, targets) -> scalar``.
        inputs: all samples, first dimension ``n``.
        targets: their targets, first dimension ``n``.
        optimizer: any PyTorch optimizer on the model's parameters.
        steps: number of updates.
        record_every: distance of the recorded steps.
        batch_size: samples per update, drawn without replacement until all were seen; ``None``
            takes all samples in each update.
        order: generator of the order of the samples; needed with ``batch_size``.

    Yields:
        A :class:`Record` of each; the return value is the step of divergence or ``None``.
    """
    batches = _batches(inputs, targets, batch_size, order)
    for step, (batch_inputs, batch_targets) in zip(range(steps + 1), batches, strict=False):
        batch_loss = loss(model(batch_inputs), batch_targets)
        # Written so that NaN, which compares false with everything, counts as divergence.
        if not batch_loss.item() <= LOSS_LIMIT:
            return step
        if step % record_every == 0 or step == steps:
            with torch.no_grad():
                full_loss = loss(model(inputs), targets).item()
            parameters = {
                name: parameter.detach().clone() for name, parameter in model.named_parameters()
            }
            finite = all(bool(torch.isfinite(parameter).all()) for parameter in parameters.values())
            if not (full_loss <= LOSS_LIMIT and finite):
                return step
            yield Record(step=step, loss=full_loss, parameters=parameters)
        if step < steps:
            optimizer.zero_grad()
            batch_loss.backward()
            optimizer.step()
    return None


def follow(
    descents: Mapping[str, Descent],
    log: Log = silent,
    measures: Mapping[str, Measure] | None = None,
) -> dict[str, Trajectory]:
    """Run several descents side by side, one recorded step of each in turn.

    A live dashboard then sees all of them advance together: its steps only ever rise.

    Args:
        descents: name -> what :func:`descend` returned.
        log: called after each round with the step and ``{"<name>/loss": loss, ...}`` of those that
            still run.
        measures: name -> what else is measured of that descent's records and logged in the same
            way, as ``<name>/<what>``.

    Returns:
        name -> :class:`Trajectory`.

    Raises:
        ValueError: a descent diverged before its first record, so that there is nothing to follow.
    """
    records: dict[str, list[Record]] = {name: [] for name in descents}
    ends: dict[str, int | None] = {}
    while len(ends) < len(descents):
        metrics: dict[str, float] = {}
        step = 0
        for name, descent in descents.items():
            if name in ends:
                continue
            try:
                record = next(descent)
            except StopIteration as end:
                ends[name] = end.value
                continue
            records[name].append(record)
            measured = (measures or {}).get(name, unmeasured)(record)
            metrics |= {f"{name}/{key}": v for key, v in {"loss": record.loss, **measured}.items()}
            step = record.step
        if metrics:
            log(step, metrics)
    return {name: _trajectory(name, records[name], ends[name]) for name in descents}


def gradient_descent(
    model: nn.Module,
    loss: nn.Module,
    inputs: Tensor,
    targets: Tensor,
    *,
    learning_rate: float,
    steps: int,
    record_every: int = 1,
    log: Log = silent,
    measure: Measure = unmeasured,
) -> Trajectory:
    """Train one network by plain gradient descent on all samples and keep where it went.

    The loop is that of :func:`descend`, with its arguments.

    Returns:
        The :class:`Trajectory`. ``log`` is called after each recorded step with ``{"loss": loss}``
        and what ``measure`` finds.

    Example:
        >>> model = nn.Linear(1, 1, bias=False, dtype=torch.float64)
        >>> _ = nn.init.constant_(model.weight, 3.0)
        >>> x = torch.ones(4, 1, dtype=torch.float64)
        >>> run = gradient_descent(model, nn.MSELoss(), x, 0 * x, learning_rate=0.25, steps=2)
        >>> run.parameters["weight"].flatten().tolist(), run.diverged_at
        ([3.0, 1.5, 0.75], None)
    """
    optimizer = torch.optim.SGD(model.parameters(), learning_rate)
    descent = descend(
        model, loss, inputs, targets, optimizer, steps=steps, record_every=record_every
    )

    def log_alone(step: int, metrics: Mapping[str, float]) -> None:
        log(step, {name.removeprefix("run/"): value for name, value in metrics.items()})

    return follow({"run": descent}, log_alone, {"run": measure})["run"]


def _trajectory(name: str, records: list[Record], diverged_at: int | None) -> Trajectory:
    if not records:
        raise ValueError(
            f"{name}: expected a finite loss below {LOSS_LIMIT:g} before the first step, got a "
            "larger one: scale the data or the initial weights down"
        )
    return Trajectory(
        steps=torch.tensor([record.step for record in records]),
        losses=torch.tensor([record.loss for record in records], dtype=torch.float64),
        parameters={
            key: torch.stack([record.parameters[key] for record in records])
            for key in records[0].parameters
        },
        diverged_at=diverged_at,
    )


def _batches(
    inputs: Tensor, targets: Tensor, batch_size: int | None, order: torch.Generator | None
) -> Iterator[tuple[Tensor, Tensor]]:
    """Endless batches: all samples each time, or a new random order in each pass over them."""
    while True:
        if batch_size is None:
            yield inputs, targets
            continue
        permutation = torch.randperm(len(inputs), generator=order).to(inputs.device)
        for chosen in permutation.split(batch_size):
            yield inputs[chosen], targets[chosen]

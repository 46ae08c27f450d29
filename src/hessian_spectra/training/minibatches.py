"""Training by mini-batches, which can be interrupted, watched, and shared by several processes."""

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from hessian_spectra.files import Arrays, digest, write_arrays
from hessian_spectra.progress import LOGGED_EPOCHS, Log, silent
from hessian_spectra.seeding import generator
from hessian_spectra.training.ranks import add_up, rank_and_count
from hessian_spectra.training.unfinished import STATE, Saver, read_unfinished, tensors_digest

# What a loss is computed from: tensors of one length.
Batch = tuple[Tensor, ...]
# Devices on which all is computed when a call returns, so that to read a number takes no time.
_SYNCHRONOUS = ("cpu",)


class Observer:
    """An observer of a network between two updates keeps what it sees; this one sees nothing."""

    def __call__(self, step: int) -> None:
        """Look at the network after ``step`` updates."""

    def metrics(self, step: int) -> Mapping[str, float]:
        """The numbers to tell of a step that was looked at."""
        return {}

    def state(self) -> Arrays:
        """All that it needs to go on in another process."""
        return {}

    def restore(self, state: Arrays) -> None:
        """Go on from the ``state`` of an interrupted training."""


@runtime_checkable
class Plan(Protocol):
    """The way in which weights are updated; a dataclass, which tells one training from another."""

    @property
    def steps(self) -> int:
        """Updates in all."""

    @property
    def clip(self) -> float:
        """The largest norm of a gradient that is not scaled down to it; may be infinite."""

    @property
    def precision(self) -> str:
        """``float32``, or ``bf16`` for torch's automatic mixed precision."""

    @property
    def compile(self) -> bool:
        """Whether the network is compiled, which pays on a GPU."""

    def rate(self, step: int) -> float:
        """The learning rate of the update that follows ``step``."""

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """The optimiser that updates the model's weights."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """The loss to be learned, and its data.

    Args:
        model: the network, on its device; trained in place.
        loss: from the model and the tensors of a micro-batch to its mean loss.
        batches: from the number of an update to its micro-batches, a function of that alone.
        seed: of dropout.
        unit: what progress is counted in, such as ``tokens``.
        units: how many of these an update has.
        identity: what else tells this training from others, as JSON has it.
    """

    model: nn.Module
    loss: Callable[..., Tensor]
    batches: Callable[[int], Sequence[Batch]]
    seed: int
    unit: str
    units: int
    identity: Any = None


def train_by_minibatches(
    task: Task,
    plan: Plan,
    *,
    observer: Observer | None = None,
    observed: Collection[int] = (),
    log: Log = silent,
    checkpoint: Path | None = None,
) -> np.ndarray:
    """Train a network; step t is the state after t updates.

    What dropout leaves out of a micro-batch is a function of the seed, the step and the
    micro-batch. Where ``torch.distributed`` is set up, each process takes its share of the
    micro-batches, and their gradients are added up before the update: all processes hold the same
    weights, those of a single one up to rounding. A loss that is not finite ends the training.

    A GPU is not waited for but where something is logged, observed or written: it computes while
    the next batches are made, and a loss that is not finite is noticed there.

    Args:
        task: what is learned.
        plan: how.
        observer: looks at the network at the ``observed`` steps, before their updates.
        observed: from 0 to ``plan.steps``.
        log: called at about a hundred steps, and the observed ones, with ``loss``,
            ``learning_rate``, ``<unit>_per_second`` and the observer's metrics; by a training that
            goes on, first with those before, without their speed.
        checkpoint: a folder for the unfinished state, written about every half minute. If it is
            that of this training, which was interrupted, the training goes on from it, on the same
            device to the same bits as without the interruption. Whoever trains removes it.

    Returns:
        The loss of each step's batch ``(steps,)`` float64; NaN after the end of a divergence.

    Raises:
        ValueError: the state in the folder is damaged or that of another training.
    """
    rank, _ = rank_and_count()
    report = log if rank == 0 else silent
    training = _Training(task, plan, observer or Observer(), frozenset(observed), report)
    save = None
    if checkpoint is not None:
        training.read(checkpoint / STATE)
        save = Saver(lambda: training.write(checkpoint / STATE)) if rank == 0 else None
    device = training.device
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        training.run(save)
    return training.losses


class _Training:
    """A training under way."""

    def __init__(
        self, task: Task, plan: Plan, observer: Observer, observed: frozenset[int], log: Log
    ) -> None:
        self._task, self._plan, self._model = task, plan, task.model
        # Compiled or not, it has the same parameters.
        compiled: Any = torch.compile(task.model) if plan.compile else task.model
        self._network: nn.Module = compiled
        self._observer, self._observed, self._log = observer, observed, log
        self._parameters = dict(task.model.named_parameters())
        for parameter in self._parameters.values():
            parameter.grad = torch.zeros_like(parameter)
        # What a network counts beside its weights, such as the statistics of a batch norm.
        persistent = task.model.state_dict().keys()
        buffers = {n: b for n, b in task.model.named_buffers() if n in persistent}
        self._values: dict[str, Tensor] = {**self._parameters, **buffers}
        self._optimizer = plan.optimizer(task.model)
        self._rank, self._count = rank_and_count()
        self._every = max(plan.steps // LOGGED_EPOCHS, 1)
        self._digest = ""
        self.device = next(task.model.parameters()).device
        self.losses = np.full(plan.steps, np.nan)
        # The last steps' losses, which the device may be computing yet.
        self._unread: list[Tensor] = []
        self.step = 0

    def run(self, save: Saver | None) -> None:
        """Train from ``step`` on to the end."""
        for step in range(self.step):
            self._tell(step, {})
        steps, seconds, since = self._plan.steps, 0.0, 0
        while True:
            step = self.step
            if (step in self._observed or step == steps) and not self._finite():
                return
            if step in self._observed:
                self._observer(step)
            if step == steps:
                break
            began = time.perf_counter()
            self._unread.append(self._gradient(step))
            waits = self.device.type in _SYNCHRONOUS or self._is_told(step)
            if waits and not self._finite(step + 1):
                return
            self._update(step)
            seconds, since = seconds + time.perf_counter() - began, since + 1
            speed = {f"{self._task.unit}_per_second": since * self._task.units / seconds}
            if self._tell(step, speed):
                seconds, since = 0.0, 0
            self.step += 1
            if save is not None:
                save()
        self._log(steps, self._observer.metrics(steps))

    def _finite(self, steps: int | None = None) -> bool:
        """Read the losses of the first ``steps``, by default all so far; whether they are finite.

        Those behind one that is not are none of a training.
        """
        count = self.step if steps is None else steps
        if self._unread:
            self.losses[count - len(self._unread) : count] = torch.stack(self._unread).tolist()
            self._unread.clear()
        wrong = np.flatnonzero(~np.isfinite(self.losses[:count]))
        if len(wrong):
            self.losses[wrong[0] + 1 :] = np.nan
        return not len(wrong)

    def _is_told(self, step: int) -> bool:
        return step in self._observed or step % self._every == 0

    def _tell(self, step: int, more: Mapping[str, float]) -> bool:
        """Log a step if it is one of those that are."""
        if not self._is_told(step):
            return False
        metrics = {"loss": float(self.losses[step]), "learning_rate": self._plan.rate(step), **more}
        seen = self._observer.metrics(step) if step in self._observed else {}
        self._log(step, {**metrics, **seen})
        return True

    def _gradient(self, step: int) -> Tensor:
        """Leave the gradient of an update in the parameters; its loss ``()`` on the device."""
        pieces = self._task.batches(step)
        self._model.train()
        self._optimizer.zero_grad(set_to_none=False)
        total = torch.zeros(1, dtype=torch.float64, device=self.device)
        for number in range(self._rank, len(pieces), self._count):
            draws = generator(self._task.seed, f"dropout {step} {number}")
            _seed_dropout(draws.initial_seed(), self.device)
            batch = tuple(map(self._sent, pieces[number]))
            with self._mixed():
                share = self._task.loss(self._network, *batch) / len(pieces)
            share.backward()
            total += share.detach()
        add_up(p.grad for p in self._parameters.values() if p.grad is not None)
        add_up([total])
        return total[0]

    def _sent(self, tensor: Tensor) -> Tensor:
        """A tensor on the device; only from pinned memory does a copy not wait."""
        if self.device.type == "cuda" and tensor.device.type == "cpu":
            tensor = tensor.pin_memory()
        return tensor.to(self.device, non_blocking=True)

    def _mixed(self) -> AbstractContextManager[Any]:
        kind, reduced = self.device.type, self._plan.precision == "bf16"
        return torch.autocast(kind, torch.bfloat16, enabled=reduced)

    def _update(self, step: int) -> None:
        if math.isfinite(self._plan.clip):
            nn.utils.clip_grad_norm_(self._parameters.values(), self._plan.clip)
        for group in self._optimizer.param_groups:
            group["lr"] = self._plan.rate(step)
        self._optimizer.step()

    def _name(self) -> str:
        """A digest that tells this training from all others; of its data, the first update's."""
        words = digest([vars(self._plan), self._task.seed, sorted(self._observed)])
        start = [tensor for batch in self._task.batches(0) for tensor in batch]
        identity = digest(self._task.identity)
        return tensors_digest(f"{words} {identity}", *start, *self._parameters.values())

    def write(self, path: Path) -> None:
        """Write the state of this moment, whole or not at all, unless a loss is not finite."""
        if not self._finite():
            return
        arrays: Arrays = {"digest": np.array(self._digest), "step": np.array(self.step)}
        arrays["losses"] = self.losses[: self.step]
        for name, value in self._values.items():
            arrays[f"model/{name}"] = value.detach().cpu().numpy()
        for number, state in self._optimizer.state_dict()["state"].items():
            for name, tensor in state.items():
                if tensor is not None:
                    arrays[f"optimizer/{number}/{name}"] = tensor.cpu().numpy()
        arrays |= {f"observer/{name}": array for name, array in self._observer.state().items()}
        write_arrays(path, arrays)

    def read(self, path: Path) -> None:
        """Go on from a file, if there is one.

        Raises:
            ValueError: it is damaged, or that of another training.
        """
        self._digest = self._name()
        arrays = read_unfinished(path, self._digest)
        if arrays is None:
            return
        self.step = int(arrays["step"])
        self.losses[: self.step] = arrays["losses"]
        with torch.no_grad():
            for name, value in self._values.items():
                value.copy_(torch.from_numpy(arrays[f"model/{name}"]))
        known = self._optimizer.state_dict()
        for name, array in _below("optimizer/", arrays).items():
            number, _, quantity = name.partition("/")
            known["state"].setdefault(int(number), {})[quantity] = torch.from_numpy(array)
        self._optimizer.load_state_dict(known)
        self._observer.restore(_below("observer/", arrays))


def _seed_dropout(seed: int, device: torch.device) -> None:
    """Seed what dropout draws from on a device.

    ``torch.manual_seed`` seeds every kind of device, and where one was not used yet it keeps the
    call, with the whole stack formatted as text, for the time when it is: a third of a small step.
    """
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)


def _below(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays whose names have a prefix, without it."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }

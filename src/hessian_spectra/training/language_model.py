"""Pre-training of a language model in nanoGPT's set-up, which can be interrupted."""

import math
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hessian_spectra.data.tools.tokens import batch
from hessian_spectra.results import Arrays, digest, write_arrays
from hessian_spectra.seeding import generator
from hessian_spectra.training.descent import LOGGED_EPOCHS
from hessian_spectra.training.objectives import tensors_digest
from hessian_spectra.training.pretraining import Pretraining
from hessian_spectra.training.ranks import add_up, rank_and_count
from hessian_spectra.training.unfinished import STATE, Saver, read_unfinished
from hessian_spectra.validation import require
from hessian_spectra.work import Log, silent

# From a model and sequences of tokens (B, T + 1) to the mean loss and the logits.
Loss = Callable[[nn.Module, Tensor], tuple[Tensor, Tensor]]


class Observer:
    """What looks at a network between two updates and keeps what it sees; this one sees nothing."""

    def __call__(self, step: int) -> None:
        """Look at the network after ``step`` updates."""

    def metrics(self, step: int) -> Mapping[str, float]:
        """What to tell of a step that was looked at."""
        return {}

    def state(self) -> Arrays:
        """All that it needs to go on in another process."""
        return {}

    def restore(self, state: Arrays) -> None:
        """Go on from the ``state`` of an interrupted training."""


def pretrain(
    model: nn.Module,
    loss: Loss,
    tokens: np.ndarray,
    plan: Pretraining,
    *,
    context: int,
    seed: int,
    observer: Observer | None = None,
    observed: Collection[int] = (),
    log: Log = silent,
    checkpoint: Path | None = None,
    identity: Any = None,
) -> np.ndarray:
    """Train a language model by AdamW; step t is the state after t updates.

    The sequences of an update, and what dropout leaves out of a micro-batch, are functions of the
    seed, the step and the micro-batch alone. Where ``torch.distributed`` is set up, each process
    takes its share of the micro-batches, and their gradients are added up before the update: all
    processes hold the same weights, those of a single one up to rounding.

    A loss that is not finite ends the training.

    Args:
        model: the network, on its device; trained in place.
        loss: from the model and sequences ``(B, T + 1)`` to the mean loss and the logits.
        tokens: the text ``(N,)``, which may be mapped from a file.
        plan: how it is trained.
        context: length T of a sequence.
        seed: of the batches and of dropout.
        observer: looks at the network at the ``observed`` steps, before their updates.
        observed: from 0 to ``plan.steps``.
        log: called at about a hundred steps, and the observed ones, with ``loss``,
            ``learning_rate``, ``tokens_per_second`` and the observer's metrics; by a training that
            goes on, first with those before, without their speed.
        checkpoint: a folder for the unfinished state, written about every half minute. If it is
            that of this training, which was interrupted, the training goes on from it, on the same
            device to the same bits as without the interruption. Whoever trains removes it.
        identity: what else tells this training from others, beside plan, text and first weights,
            as JSON has it.

    Returns:
        The loss of each step's batch ``(steps,)`` float64; NaN after the end of a divergence.

    Raises:
        ValueError: there are too few tokens, the micro-batches are no multiple of the processes,
            or the state in the folder is damaged or that of another training.

    Source: nanoGPT (Karpathy 2022), as singh2026cracking, D.1.5, has it.

    Example:
        >>> plan = Pretraining(steps=100, batch_size=8, accumulation=1, learning_rate=0.1,
        ...                    smallest_learning_rate=0.01, warmup=5, decay_steps=100,
        ...                    weight_decay=0.0, betas=[0.9, 0.95], clip=1.0,
        ...                    precision="float32", compile=False)
        >>> def loss(model, tokens):
        ...     logits = model(tokens[:, :-1])
        ...     return nn.functional.cross_entropy(logits.mT, tokens[:, 1:]), logits
        >>> text = np.array([0, 1, 2] * 20)  # each token tells the next one
        >>> losses = pretrain(nn.Embedding(3, 3), loss, text, plan, context=4, seed=0)
        >>> bool(losses[-1] < 0.1 < losses[0])
        True
    """
    rank, count = rank_and_count()
    expected = f"a multiple of the {count} processes"
    require(plan.accumulation % count == 0, "accumulation", expected, plan.accumulation)
    told = log if rank == 0 else silent
    watch = observer or Observer()
    training = _Training(model, loss, tokens, plan, context, seed, watch, frozenset(observed), told)
    save = None
    if checkpoint is not None:
        training.read(checkpoint / STATE, identity)
        save = Saver(lambda: training.write(checkpoint / STATE)) if rank == 0 else None
    device = training.device
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        training.run(save)
    return training.losses


class _Training:
    """A training under way."""

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        tokens: np.ndarray,
        plan: Pretraining,
        context: int,
        seed: int,
        observer: Observer,
        observed: Collection[int],
        log: Log,
    ) -> None:
        self._model, self._plan = model, plan
        # Compiled or not, it has the same parameters.
        compiled: Any = torch.compile(model) if plan.compile else model
        self._network: nn.Module = compiled
        self._loss, self._tokens, self._context, self._seed = loss, tokens, context, seed
        self._observer, self._observed, self._log = observer, observed, log
        self._parameters = dict(model.named_parameters())
        for parameter in self._parameters.values():
            parameter.grad = torch.zeros_like(parameter)
        self._optimizer = plan.optimizer(model)
        self._rank, self._count = rank_and_count()
        self._every = max(plan.steps // LOGGED_EPOCHS, 1)
        self._digest = ""
        self.device = next(model.parameters()).device
        self.losses = np.full(plan.steps, np.nan)
        self.step = 0

    def run(self, save: Saver | None) -> None:
        """Train from ``step`` on to the end."""
        for step in range(self.step):
            self._tell(step, {})
        steps, seconds, since = self._plan.steps, 0.0, 0
        while True:
            step = self.step
            if step in self._observed:
                self._observer(step)
            if step == steps:
                break
            began = time.perf_counter()
            self.losses[step] = self._gradient(step)
            if not math.isfinite(self.losses[step]):
                return
            self._update(step)
            seconds, since = seconds + time.perf_counter() - began, since + 1
            speed = since * self._plan.batch_size * self._plan.accumulation * self._context
            if self._tell(step, {"tokens_per_second": speed / seconds}):
                seconds, since = 0.0, 0
            self.step += 1
            if save is not None:
                save()
        self._log(steps, self._observer.metrics(steps))

    def _tell(self, step: int, more: Mapping[str, float]) -> bool:
        """Log a step if it is one of those that are."""
        is_observed = step in self._observed
        if not (is_observed or step % self._every == 0):
            return False
        metrics = {"loss": float(self.losses[step]), "learning_rate": self._plan.rate(step), **more}
        seen = self._observer.metrics(step) if is_observed else {}
        self._log(step, {**metrics, **seen})
        return True

    def _sequences(self, step: int) -> Tensor:
        """The sequences of an update, ``(accumulation · batch_size, T + 1)``."""
        size = self._plan.batch_size * self._plan.accumulation
        length, seed = self._context, self._seed
        return batch(self._tokens, step=step, size=size, length=length, seed=seed)

    def _gradient(self, step: int) -> float:
        """Leave the gradient of an update in the parameters; its loss."""
        pieces = self._sequences(step).to(self.device).split(self._plan.batch_size)
        self._model.train()
        self._optimizer.zero_grad(set_to_none=False)
        total = torch.zeros(1, dtype=torch.float64, device=self.device)
        for number in range(self._rank, len(pieces), self._count):
            draws = generator(self._seed, f"dropout {step} {number}")
            torch.manual_seed(draws.initial_seed())
            with self._mixed():
                share = self._loss(self._network, pieces[number])[0] / len(pieces)
            share.backward()
            total += share.detach()
        add_up(p.grad for p in self._parameters.values() if p.grad is not None)
        add_up([total])
        return float(total)

    def _mixed(self) -> AbstractContextManager[Any]:
        kind, reduced = self.device.type, self._plan.precision == "bf16"
        return torch.autocast(kind, torch.bfloat16, enabled=reduced)

    def _update(self, step: int) -> None:
        nn.utils.clip_grad_norm_(self._parameters.values(), self._plan.clip)
        for group in self._optimizer.param_groups:
            group["lr"] = self._plan.rate(step)
        self._optimizer.step()

    def _name(self, identity: Any) -> str:
        """What tells this training from all others; of the text, the first batch."""
        words = digest([vars(self._plan), self._context, self._seed, sorted(self._observed)])
        start = [self._sequences(0), *self._parameters.values()]
        return tensors_digest(f"{words} {digest(identity)}", *start)

    def write(self, path: Path) -> None:
        """Write the state of this moment, whole or not at all."""
        arrays: Arrays = {"digest": np.array(self._digest), "step": np.array(self.step)}
        arrays["losses"] = self.losses[: self.step]
        for name, parameter in self._parameters.items():
            arrays[f"model/{name}"] = parameter.detach().cpu().numpy()
        for number, state in self._optimizer.state_dict()["state"].items():
            for name, tensor in state.items():
                arrays[f"optimizer/{number}/{name}"] = tensor.cpu().numpy()
        arrays |= {f"observer/{name}": array for name, array in self._observer.state().items()}
        write_arrays(path, arrays)

    def read(self, path: Path, identity: Any) -> None:
        """Go on from a file, if there is one.

        Raises:
            ValueError: it is damaged, or that of another training.
        """
        self._digest = self._name(identity)
        arrays = read_unfinished(path, self._digest)
        if arrays is None:
            return
        self.step = int(arrays["step"])
        self.losses[: self.step] = arrays["losses"]
        with torch.no_grad():
            for name, parameter in self._parameters.items():
                parameter.copy_(torch.from_numpy(arrays[f"model/{name}"]))
        known = self._optimizer.state_dict()
        for name, array in _below("optimizer/", arrays).items():
            number, _, quantity = name.partition("/")
            known["state"].setdefault(int(number), {})[quantity] = torch.from_numpy(array)
        self._optimizer.load_state_dict(known)
        self._observer.restore(_below("observer/", arrays))


def _below(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays whose names have a prefix, without it."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }

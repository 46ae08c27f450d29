"""The owner of a curvature matrix: a network, a loss, data, and the parameters that vary."""

import copy
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn

from hessian_spectra.curvature.batches import (
    Batch,
    first_batches,
    halves,
    levels,
    moved,
    part,
    private_loader,
    require_pair,
    require_values,
    rows,
)
from hessian_spectra.curvature.huggingface import HuggingFaceBatches, own_loss
from hessian_spectra.curvature.memory import rows_within
from hessian_spectra.curvature.network import (
    FixedNetwork,
    Objective,
    first_derivatives,
    private_copies,
    require_network_and_loss,
    split,
)
from hessian_spectra.curvature.selection import (
    Selection,
    named_parameters,
    require_parameter,
    selected,
)
from hessian_spectra.curvature.undisturbed import undisturbed, users_data
from hessian_spectra.curvature.weighting import (
    Weighting,
    Weights,
    agreed,
    fixed_counts,
    known_weighting,
    loss_if_any,
    measured_weighting,
    require_fixed_statistics,
    require_one_loss,
    training_modes,
)
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require, require_length

# Relative to a batch's loss: what the order of sums changes.
_ROUNDING = {torch.float64: 1e-10, torch.float32: 1e-5}
# The same of a loss that is known to add up: no more than tells layers that mix samples.
_MIXING = {torch.float64: 1e-8, torch.float32: 1e-4}
# How far the parameters go, relative to ‖θ‖, to where no two batches have the same loss.
_AWAY = 1e-2


class Problem:
    """The loss ``L(θ) = Σ_b c_b L_b(θ) / Σ_b c_b`` over a data set in batches, as a function of θ.

    ``L_b`` is the loss of batch ``b`` and ``c_b`` the number that its mean divides by (samples,
    elements or counted targets), so that ``L`` is the loss over all data however the batches are
    cut. For a loss that is a sum it is ``Σ_b L_b``. θ is the vector ``(p,)`` of the chosen
    parameters, each flattened row by row, one after the other. Nothing of the model is changed, not
    even for a moment: what is computed is computed with a copy. Autocast around a call is off
    inside; in the model or in ``loss_fn`` it is a part of the function.

    Args:
        model: the network; of a pair it maps inputs to outputs. What it is in (``train()`` or
            ``eval()``) is differentiated.
        loss: from outputs and targets of a pair to a scalar. ``nn.MSELoss``,
            ``nn.CrossEntropyLoss``, ``nn.BCEWithLogitsLoss``, ``nn.NLLLoss`` and
            ``HalfSquaredError`` say by themselves how batches add up; of another loss it is
            measured, on each two neighbouring batches joined, or given by ``weights``. A list in a
            batch is joined as a longer list of samples if the losses add up so, else entry by
            entry. Class scores stand in axis 1, as torch has it: ``(n, C)`` or ``(n, C, length)``.
        data: a list of batches, or a loader that gives the same batches each time it is iterated.
            They are brought to the parameters' device one after the other.
        parameters: which parameters vary: names or patterns (``"layers.*.weight"``), modules, or a
            function of name and parameter; by default all that require a gradient.
        loss_fn: instead of ``loss``: from the model and a batch of any structure to a scalar, to a
            pair ``(loss, outputs)``, or to an object with ``loss`` and ``logits`` as Hugging Face's
            models give it. The outputs are what the Gauss-Newton matrix linearises.
        weights: ``c_b`` as a function of the batch or one number for each; ``"sum"`` adds the
            losses up.
        memory: how many bytes a product may take, about; larger batches are cut.
        num_batches: how many batches to take, which are read once and kept: of a stream, which may
            have no end, or the first ones of more data.

    Raises:
        ValueError: no batch, an empty one, inputs and targets of different lengths, numbers that
            are not finite, mixed types or devices, no such parameter, a frozen one, an iterator
            that can be read only once or data without a length where ``num_batches`` is not given,
            batches of which it is not known how they add up or which cannot be cut, or several
            batches and a model that mixes the samples of a batch, as a batch norm in training mode
            does.

    Example:
        >>> model = nn.Linear(1, 1, bias=False, dtype=torch.float64)
        >>> x = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)
        >>> problem = Problem(model, nn.MSELoss(), [(x[:1], x[:1]), (x[1:], x[1:])])
        >>> problem
        Problem(Linear, MSELoss, batches=2, parameters=1, float64, cpu)
        >>> problem.size, [weight for _, weight in problem.batches()]
        (1, [0.3333333333333333, 0.6666666666666666])
        >>> other = Problem(model, loss_fn=lambda model, batch: (model(batch["x"]) ** 2).mean(),
        ...                 data=[{"x": x[:1]}, {"x": x[1:]}])
        >>> [weight for _, weight in other.batches()]
        [0.3333333333333333, 0.6666666666666666]
    """

    @undisturbed()
    def __init__(
        self,
        model: nn.Module,
        loss: Callable[..., Any] | None = None,
        data: Iterable[Batch] | None = None,
        parameters: Selection | None = None,
        *,
        loss_fn: Callable[..., Any] | None = None,
        weights: Weights | None = None,
        memory: int | None = None,
        num_batches: int | None = None,
    ) -> None:
        require_network_and_loss(model, loss, loss_fn)
        if data is None or (isinstance(data, Iterator) and num_batches is None):
            raise ValueError(
                "data: expected a list of batches or a loader that can be iterated again, "
                f"got {type(data).__name__}; use list(data), or say num_batches="
            )
        # A compiled network has no second derivatives; the one inside is the same function.
        self.model = getattr(model, "_orig_mod", model)
        self.loss = loss
        self.loss_fn = loss_fn
        self.data = private_loader(data)
        self._choose(parameters)
        if num_batches is None:
            require_length("data", data, "; say how many batches with num_batches=")
        else:
            self.data = first_batches(self._read(), num_batches)
        # Which kinds of operators were compared with differences before.
        self.checked: set[str] = set()
        self._rows: int | None = None
        self._numbers = fixed_counts(weights)
        self._chosen_weights = weights is not None
        self._length = count = self._survey()
        known = known_weighting(loss, None if self._numbers else weights)
        self._named = known is not None or bool(self._numbers)
        if not self._named and (count > 1 or memory is not None):
            known = self._measured(count)
        self._weighting = known or Weighting(lambda batch: 1.0)
        if memory is not None:
            self._rows = self._fitting(memory)
        self.batch_count, self._total = self._counted()
        self._require_one_loss()

    def __repr__(self) -> str:
        """Network, loss, batches and parameters, in one line."""
        loss = self.loss or self.loss_fn
        named = getattr(loss, "__name__", None) or type(loss).__name__
        kind = str(self.dtype).removeprefix("torch.")
        sizes = f"batches={self.batch_count}, parameters={self.size}"
        return f"Problem({type(self.model).__name__}, {named}, {sizes}, {kind}, {self.device})"

    def _choose(self, parameters: Selection | None) -> None:
        """Let some parameters of the model vary."""
        self._modes = training_modes(self.model)
        self.names = selected(self.model, parameters)
        chosen = named_parameters(self.model)
        self.shapes = tuple(chosen[name].shape for name in self.names)
        self.size = sum(shape.numel() for shape in self.shapes)
        first = chosen[self.names[0]]
        self.dtype, self.device = first.dtype, first.device
        for name in self.names:
            require_parameter(name, chosen[name], first)

    @classmethod
    def from_huggingface(
        cls,
        model: nn.Module,
        dataset: Iterable[Any],
        parameters: Selection | None = None,
        *,
        batch_size: int = 8,
        memory: int | None = None,
        num_batches: int | None = None,
    ) -> "Problem":
        """The loss that a model of Hugging Face's transformers computes itself.

        Args:
            model: a model whose output has ``loss`` and ``logits``, such as ``GPT2LMHeadModel``.
            dataset: examples (mappings from names to numbers, of one length), or batches of
                tensors. A causal language model gets its input tokens as labels where there are
                none. How batches add up is measured: over labels, those that count, or samples.
            parameters: which parameters vary.
            batch_size: how many examples a batch has.
            memory: how many bytes a product may take, about.
            num_batches: how many batches to take, of a dataset that is streamed.

        Raises:
            ValueError: as for a problem; the dataset has no example, or they differ in length.
        """
        batches = HuggingFaceBatches(model, dataset, batch_size)
        return cls(
            model, None, batches, parameters, loss_fn=own_loss, memory=memory,
            num_batches=num_batches,
        )  # fmt: skip

    @property
    def summed(self) -> bool:
        """Whether the losses of batches are added up, with no mean over them."""
        return self._weighting.summed

    @property
    def total(self) -> float | None:
        """``Σ_b c_b``; 1 for a sum, ``None`` where neither the loss nor ``weights`` say ``c_b``."""
        return self._total if self._named else None

    def _read(self) -> Iterator[Batch]:
        """One pass over the data as they are given."""
        return users_data(self.data, self.device)

    def _survey(self) -> int:
        """One pass over the data that checks each batch; returns how many there are."""
        count, expected = 0, len(self.data)  # type: ignore[arg-type]
        for number, batch in enumerate(self._read()):
            require(number < expected, "data", f"the {expected} batches of its length", "more")
            if self.loss is not None:
                require_pair(number, batch, self.dtype)
            require_values(number, batch)
            count += 1
        if not count:
            raise ValueError("data: expected at least one batch (inputs, targets), got none")
        given = len(self._numbers) or count
        require(given == count, "weights", f"one for each of {count} batches", given)
        return count

    def _measured(self, count: int) -> Weighting:
        """The weighting of batches, measured near θ, at parameters that fit no batch exactly."""
        if count > 1:
            require_fixed_statistics(self.model, count)
        with self._elsewhere() as evaluate:
            first = moved(next(self._read()), self.device)
            # What fails of a single batch as a whole fails for the user; its halves may be none.
            evaluate(first)
            of_each = evaluate if count > 1 else partial(loss_if_any, evaluate)
            readings = []
            # A pair (inputs, targets) has no lists of samples.
            for level in (None,) if self.loss is not None else levels(first):
                if level is not None and rows(first, level) is None:
                    # What cannot be cut would tell nothing, and fit.
                    continue
                batches = (moved(batch, self.device) for batch in self._read())
                pieces = batches if count > 1 else iter(halves(first, level))
                readings.append(measured_weighting(of_each, pieces, _ROUNDING[self.dtype], level))
            # Halves of a single batch add up to it by each weighting that fits.
            return agreed(readings, self._read() if count > 1 else ())

    @contextmanager
    def _elsewhere(self) -> Iterator[Callable[[Batch], float]]:
        """The loss of a batch near θ, at parameters that fit none exactly."""
        network = FixedNetwork(self._objective())
        draw = torch.randn(self.size, generator=generator(0, "weights"), dtype=torch.float64)
        direction = (draw / draw.norm()).to(self.device)
        with network.moved(direction, _AWAY * network.length()):
            yield lambda batch: float(network.value(batch)[0])

    @undisturbed()
    def _require_one_loss(self) -> None:
        """Refuse several batches where a layer makes each another function.

        Raises:
            ValueError: batch norm uses the batch's statistics, or two batches joined have another
                loss than they add up to.
        """
        if self.batch_count == 1:
            return
        require_fixed_statistics(self.model, self.batch_count)
        if self._chosen_weights:
            return
        pair = [batch for batch, _ in islice(self._pieces(), 2)]
        # Together no larger than one, if the loss of a half is defined.
        level = self._weighting.level
        small = [halves(piece, level)[0] for piece in pair]
        if all(rows(piece, level) and self._weighting.count(piece) for piece in small):
            pair = small
        with self._elsewhere() as evaluate:
            require_one_loss(evaluate, self._weighting, (pair[0], pair[1]), _MIXING[self.dtype])

    def _fitting(self, memory: int) -> int:
        """The number of samples that the largest batch may keep."""
        if self._numbers:
            raise ValueError(
                "memory: batches with a number each cannot be cut; give weights as a function"
            )
        first = moved(next(self._read()), self.device)
        level = self._weighting.level
        if rows(first, level) is None:
            raise ValueError("memory: batches with tensors of different lengths cannot be cut")
        return rows_within(memory, self.fixed(), first, self.checked, level)

    def _counted(self) -> tuple[int, float]:
        """The number of batches that count, and the divisor of their weights."""
        counts = [count for _, count in self._pieces()]
        total = 1.0 if self._weighting.summed else sum(counts)
        if not total > 0:
            raise ValueError(f"data: the loss counts no target, its mean divides by {total}")
        return len(counts), total

    def _pieces(self) -> Iterator[tuple[Batch, float]]:
        """The batches, cut to the memory, each with its ``c_b``; none that counts nothing."""
        number, level = -1, self._weighting.level
        for number, batch in enumerate(self._read()):
            at = moved(batch, self.device)
            length = rows(at, level) if self._rows is not None else None
            step = length if length is None else self._rows
            for start in range(0, length or 1, step or 1):
                piece = at if length is None else part(at, start, start + (step or 1), level)
                count = self._numbers[number] if self._numbers else self._weighting.count(piece)
                if count:
                    yield piece, count
        if number + 1 != self._length:
            raise ValueError(
                f"data: {self._length} batches at first, {number + 1} when read again; expected "
                "the same each time: use list(data)"
            )

    def batches(self) -> Iterator[tuple[Batch, float]]:
        """The batches as ``(batch, weight)``: the loss is the weighted sum over them."""
        for batch, count in self._pieces():
            yield batch, count / self._total

    def counts(self, batch: Batch, weight: float) -> Tensor:
        """``(n, T)`` how much each of a sample's T targets counts, or T = 1 where not known."""
        length = rows(batch, self._weighting.level)
        if self._numbers or length is None:
            return torch.full((length or 1, 1), weight, dtype=torch.float64) / (length or 1)
        return self._weighting.counts(batch, length)

    def sample(self, count: int) -> "Problem":
        """The same problem for a single batch, of about ``count`` samples where it can be cut.

        It is the first batch that counts, or the first samples of it that have a finite loss.
        """
        smaller = copy.copy(self)
        smaller._numbers, smaller._rows, smaller._length = (), None, 1
        batch, _ = next(self._pieces())
        length = rows(batch, self._weighting.level) or 0
        while count < length:
            smaller.data = [part(batch, 0, count, self._weighting.level)]
            if smaller._is_defined():
                return smaller
            count *= 4
        smaller.data = [batch]
        smaller.batch_count, smaller._total = smaller._counted()
        return smaller

    def _is_defined(self) -> bool:
        """Whether the loss of a part of a batch has a value; of some losses only the whole has."""
        try:
            self.batch_count, self._total = self._counted()
            return math.isfinite(self.value())
        except (ValueError, RuntimeError, IndexError, TypeError):
            return False

    def fixed_at(self, parameters: Selection | None) -> "Problem":
        """The same loss, held at the model's values of this moment, with these parameters varying.

        Raises:
            ValueError: there are no such parameters, or model and loss cannot be copied.

        Example:
            >>> model = nn.Sequential(nn.Linear(1, 2), nn.Linear(2, 1))
            >>> x = torch.ones(1, 1)
            >>> Problem(model, nn.MSELoss(), [(x, x)]).fixed_at("1.*").size
            3
        """
        other = copy.copy(self)
        parts = private_copies(self._objective())
        other.model, other.loss, other.loss_fn = parts
        other.checked = set()
        other._choose(parameters)
        return other

    def fixed(self, dtype: torch.dtype | None = None) -> FixedNetwork:
        """A private copy of network and loss with the parameters of this moment.

        Raises:
            ValueError: a layer's mode was changed so that batches have no common loss any more.
        """
        modes = training_modes(self.model)
        if modes != self._modes:
            self._require_one_loss()
            self._modes = modes
        return FixedNetwork(self._objective(), dtype)

    def _objective(self) -> Objective:
        return Objective(self.model, self.loss, self.loss_fn, self.names)

    def value(self, network: FixedNetwork | None = None) -> float:
        """The loss over all data, at the parameters of this moment or of a copy."""
        if network is None:
            return undisturbed(self.device)(self.value)(self.fixed())
        losses = [weight * network.value(batch)[0].double() for batch, weight in self.batches()]
        return torch.stack(losses).sum().item()

    def gradient(self, network: FixedNetwork | None = None) -> Tensor:
        """The gradient ``(p,)`` of the loss over all data, in one pass over the batches."""
        if network is None:
            return undisturbed(self.device)(self.gradient)(self.fixed())
        total = torch.zeros(self.size, dtype=network.dtype, device=self.device)
        self.add_gradient(network, total)
        return total

    @torch.enable_grad()
    def add_gradient(self, network: FixedNetwork, total: Tensor, scale: float = 1.0) -> None:
        """Add a multiple of the gradient at a copy's parameters to a vector ``(p,)``, in place."""
        for batch, weight in self.batches():
            pieces = first_derivatives(network.forward(batch)[0], network.parameters)
            for share, piece in zip(self.split(total), pieces, strict=True):
                share.add_(piece, alpha=scale * weight)

    def split(self, vector: Tensor) -> list[Tensor]:
        """A vector ``(p,)`` as tensors of the parameters' shapes."""
        return split(vector, self.shapes)


def require_problem(problem: Any) -> None:
    """Refuse what is no problem, as every function of one does first.

    Raises:
        TypeError: it is something else, such as the network alone.
    """
    if not isinstance(problem, Problem):
        raise TypeError(
            f"problem: expected Problem(model, loss, data), got {type(problem).__name__}"
        )

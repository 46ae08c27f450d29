"""Batches for the models of Hugging Face's transformers, which compute their own loss."""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn

from hessian_spectra.curvature.batches import Batch
from hessian_spectra.validation import require

# The label of a token that the loss does not count.
_IGNORED = -100


def own_loss(model: nn.Module, batch: Batch) -> Any:
    """The model's own loss on a batch of keyword arguments, and the logits that it is of."""
    return model(**batch)


class HuggingFaceBatches:
    """Batches of the arguments that a model takes, from examples or from a loader.

    Args:
        model: the model, whose ``forward`` names the arguments; a language model for causal text
            gets the input tokens as labels where there are none, without those that are masked.
        dataset: examples (mappings from names to numbers, as ``datasets`` gives them), which are
            put together ``batch_size`` at a time, or batches of tensors.
        batch_size: how many examples a batch has.

    Raises:
        ValueError: there is no example, it is no mapping, or examples differ in length.
    """

    def __init__(self, model: nn.Module, dataset: Iterable[Any], batch_size: int) -> None:
        require(batch_size >= 1, "batch_size", "at least 1", batch_size)
        self._arguments = set(inspect.signature(model.forward).parameters)
        self._causal = "CausalLM" in type(model).__name__ or "LMHead" in type(model).__name__
        self._dataset = dataset
        self._batch_size = batch_size
        first = next(iter(dataset), None)
        if not isinstance(first, Mapping):
            raise ValueError(
                "dataset: expected examples or batches as mappings from names to numbers, "
                f"got {'none' if first is None else type(first).__name__}"
            )
        self._batched = any(isinstance(part, Tensor) and part.ndim > 1 for part in first.values())

    def __len__(self) -> int:
        """The number of batches; a dataset that is streamed has no length."""
        examples = len(self._dataset)  # type: ignore[arg-type]
        return examples if self._batched else -(-examples // self._batch_size)

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        examples = iter(self._dataset)
        if self._batched:
            yield from (self._completed(dict(batch)) for batch in examples)
        while gathered := list(islice(examples, self._batch_size)):
            yield self._completed(_together(gathered, self._arguments))

    def _completed(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """The arguments of the model, with labels where they follow from the rest."""
        chosen = {name: part for name, part in batch.items() if name in self._arguments}
        if self._causal and "labels" not in chosen and "input_ids" in chosen:
            labels = chosen["input_ids"].clone()
            if "attention_mask" in chosen:
                labels[chosen["attention_mask"] == 0] = _IGNORED
            chosen["labels"] = labels
        return chosen


def _together(examples: list[Mapping[str, Any]], names: set[str]) -> dict[str, Tensor]:
    """Examples as one batch, each argument stacked."""
    try:
        return {
            name: torch.stack([torch.as_tensor(example[name]) for example in examples])
            for name in examples[0]
            if name in names
        }
    except (RuntimeError, KeyError) as error:
        raise ValueError(
            "dataset: expected examples with the same names and of one length, got "
            f"{type(error).__name__}: {str(error).splitlines()[0]}; pad them, or give batches"
        ) from error

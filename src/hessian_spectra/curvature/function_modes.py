"""Modes that see each operation of torch, and those under which a network is run."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.utils.checkpoint
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

Function = Callable[..., Any]
Arguments = tuple[Any, ...]
Named = dict[str, Any]


class FunctionMode(TorchFunctionMode):
    """A mode that may do something else, or something more, where torch's operations are called."""

    @abstractmethod
    def call(self, func: Function, args: Arguments, kwargs: Named) -> Any:
        """The result of an operation."""

    def __torch_function__(
        self,
        func: Function,
        types: Sequence[type],
        args: Arguments = (),
        kwargs: Named | None = None,
    ) -> Any:
        """The result that the mode gives; torch calls this."""
        return self.call(func, args, kwargs or {})


class DispatchMode(TorchDispatchMode):
    """A mode that is told of each operation that runs, also while derivatives are taken."""

    @abstractmethod
    def note(self, func: Function, args: Arguments, kwargs: Named, result: Any) -> None:
        """Look at an operation that has run."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Torch's compiler would be loaded to leave this alone, which takes three seconds."""
        return False

    def __torch_dispatch__(
        self,
        func: Function,
        types: Sequence[type],
        args: Arguments = (),
        kwargs: Named | None = None,
    ) -> Any:
        """The result as it is; torch calls this."""
        result = func(*args, **(kwargs or {}))
        self.note(func, args, kwargs or {}, result)
        return result


class Doubles(FunctionMode):
    """Leave float64 numbers what they are where a model asks for at least float32.

    Language models compute their norms, softmax and loss ``.float()``, which is meant for half
    precision and would round a float64 network.
    """

    def call(self, func: Function, args: Arguments, kwargs: Named) -> Any:
        """The operation with float64 in the place of float32."""
        named = kwargs
        if args and isinstance(args[0], Tensor) and args[0].dtype == torch.float64:
            if func is Tensor.float:
                return args[0]
            args = tuple(torch.float64 if part is torch.float32 else part for part in args)
            if named.get("dtype") is torch.float32:
                named = {**named, "dtype": torch.float64}
        return func(*args, **named)


class Kept(FunctionMode):
    """Checkpoints keep what they would compute anew: a second run would be outside these modes."""

    def call(self, func: Function, args: Arguments, kwargs: Named) -> Any:
        """The operation, without the hooks of a checkpoint around it."""
        autograd, waived = torch._C._autograd, []
        while (hooks := autograd._top_saved_tensors_default_hooks(True)) is not None and (
            hooks[0].__module__ == torch.utils.checkpoint.__name__
        ):
            autograd._pop_saved_tensors_default_hooks()
            waived.append(hooks)
        try:
            return func(*args, **kwargs)
        finally:
            for hooks in reversed(waived):
                autograd._push_saved_tensors_default_hooks(*hooks)


class HeldPadding(FunctionMode):
    """Embeddings of the padding token where they were, wherever the parameters are moved to.

    Torch gives these rows no gradient, so that they do not vary. Where the weights are used for
    something else beside, as those of a tied output layer, they do.

    Args:
        rows: the row of each such weight, by its identity.
    """

    def __init__(self, rows: dict[int, Tensor]) -> None:
        super().__init__()
        self._rows = rows

    def call(self, func: Function, args: Arguments, kwargs: Named) -> Any:
        """The operation, with the rows of padding held."""
        result = func(*args, **kwargs)
        if func is functional.embedding:
            named = {
                **dict(zip(("input", "weight", "padding_idx"), args, strict=False)),
                **kwargs,
            }
            row, place = self._rows.get(id(named["weight"])), named.get("padding_idx")
            if row is not None and place is not None:
                held = (named["input"] == place % len(named["weight"]))[..., None]
                return torch.where(held, row, result)
        return result

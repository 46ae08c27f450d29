"""The user's program is left as it is by what is computed for it."""

import functools
import random
import sys
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
import torch
from torch import Tensor

P = ParamSpec("P")
R = TypeVar("R")

_SDP = torch.backends.cuda
# Which kernels of attention may be used: how to ask, and how to say it.
_ATTENTION_KERNELS = (
    (_SDP.flash_sdp_enabled, _SDP.enable_flash_sdp),
    (_SDP.mem_efficient_sdp_enabled, _SDP.enable_mem_efficient_sdp),
    (_SDP.math_sdp_enabled, _SDP.enable_math_sdp),
    (_SDP.cudnn_sdp_enabled, _SDP.enable_cudnn_sdp),
)


class undisturbed:  # noqa: N801 -- a context manager, called like a function
    """A guard that leaves random numbers, gradient mode and function modes as they are.

    Autocast around it is off inside: what is computed is the network as it is, in its own types.

    Dropout, augmentations and the order of a shuffled loader draw from global generators. Around a
    block it is ``with undisturbed(device):``; as a decorator, ``@undisturbed()``, it also stands an
    interrupt at any moment: one that arrives as the first restoration begins meets the second.

    Args:
        device: of the GPU whose random numbers are drawn; by default that which is in use.
        foreign: whether code of the user's is run, which may draw from numpy's and Python's
            generators; their states take as long to keep as a small product.
    """

    def __init__(self, device: torch.device | None = None, *, foreign: bool = True) -> None:
        self._device, self._foreign = device, foreign

    def __enter__(self) -> None:
        self._before = self._state()
        _without_autocast(self._before)

    def __exit__(self, *error: object) -> None:
        _restore(self._before)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """The function, after which all is as it was before."""

        @functools.wraps(function)
        def guarded(*args: P.args, **settings: P.kwargs) -> R:
            before = self._state()
            try:
                try:
                    _without_autocast(before)
                    return function(*args, **settings)
                except Exception as error:
                    if (interrupt := interrupt_behind(error)) is not None:
                        _leave_blocks(error)
                        raise interrupt from None
                    raise
                except BaseException as interrupt:
                    _leave_blocks(interrupt)
                    raise
                finally:
                    _restore(before)
            finally:
                _restore(before)

        return guarded

    def _state(self) -> "_State":
        device = self._device or torch.device("cuda" if torch.cuda.is_initialized() else "cpu")
        lowered = tuple(kind for kind in {"cpu", device.type} if torch.is_autocast_enabled(kind))
        return _State(
            device=device,
            lowered=lowered,
            cached=torch.is_autocast_cache_enabled(),
            gradients=torch.is_grad_enabled(),
            modes=torch._C._len_torch_function_stack(),
            kernels=tuple(enabled() for enabled, _ in _ATTENTION_KERNELS),
            stance=dynamo._stance if (dynamo := _dynamo()) else None,
            torch=torch.get_rng_state(),
            cuda=torch.cuda.get_rng_state(device) if device.type == "cuda" else None,
            foreign=(np.random.get_state(), random.getstate()) if self._foreign else None,  # noqa: NPY002
        )


def interrupt_behind(error: BaseException | None) -> BaseException | None:
    """The interrupt in whose course an error arose, such as that of a mode left half-way."""
    while isinstance(error, Exception):
        error = error.__context__
    return error


def _leave_blocks(error: BaseException | None) -> None:
    """End the blocks that an interrupt left half-way, while what they restore is restored after.

    One that arrives as a block is entered or left suspends the block's generator, which a frame of
    the traceback holds. It would go on when that frame is freed: at any time, and push a mode.
    """
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__


def with_draws(function: Callable[[], R]) -> tuple[R, bool]:
    """The value of a function, and whether it draws from torch's generator.

    Two values of one that does may coincide.
    """
    before = torch.get_rng_state()
    value = function()
    return value, not torch.equal(before, torch.get_rng_state())


class _State(NamedTuple):
    """The states that a computation may leave changed."""

    device: torch.device
    lowered: tuple[str, ...]
    cached: bool
    gradients: bool
    modes: int
    kernels: tuple[bool, ...]
    stance: Any
    torch: Tensor
    cuda: Tensor | None
    foreign: tuple[Any, Any] | None


def _dynamo() -> Any:
    """The module that decides whether compiled functions run as such, where any was compiled."""
    return sys.modules.get("torch._dynamo.eval_frame")


def _without_autocast(before: _State) -> None:
    """Switch autocast off, and what it keeps of the weights that a model's own has rounded.

    It keeps them until the outermost block ends, and a copy's weights move meanwhile.
    """
    for kind in before.lowered:
        torch.set_autocast_enabled(kind, False)
        torch.set_autocast_cache_enabled(False)


def _restore(before: _State) -> None:
    for kind in before.lowered:
        torch.set_autocast_enabled(kind, True)
        torch.set_autocast_cache_enabled(before.cached)
    torch.set_grad_enabled(before.gradients)
    while torch._C._len_torch_function_stack() > before.modes:
        torch._C._pop_torch_function_stack()
    for (_, enable), was_enabled in zip(_ATTENTION_KERNELS, before.kernels, strict=True):
        enable(was_enabled)
    if before.stance is not None:
        _dynamo()._set_stance(before.stance)
    torch.set_rng_state(before.torch)
    if before.cuda is not None:
        torch.cuda.set_rng_state(before.cuda, before.device)
    if before.foreign is not None:
        np.random.set_state(before.foreign[0])  # noqa: NPY002 -- the user's
        random.setstate(before.foreign[1])

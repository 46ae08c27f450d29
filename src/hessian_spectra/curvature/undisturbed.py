"""The user's program is left as it is by what is computed for it."""

import functools
import random
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec, TypeVar

import numpy as np
import torch
from torch.nn.attention import SDPBackend, _cur_sdpa_kernel_backends, _sdpa_kernel
from torch.utils._python_dispatch import _get_current_dispatch_mode

from hessian_spectra.curvature.function_modes import Arguments, DispatchMode, Named
from hessian_spectra.matrix_products import Shared, full_precision

P = ParamSpec("P")
R = TypeVar("R")


class undisturbed:  # noqa: N801 -- a context manager, called like a function
    """A guard that leaves random numbers, gradient mode and function modes as they are.

    Autocast around it is off inside, and products of float32 numbers have all of their digits: what
    is computed is the network as it is, in its own types.

    Dropout, augmentations and the order of a shuffled loader draw from global generators. Their
    states are kept and given back; where other threads run, which may draw from them meanwhile,
    only around the user's code and only if that draws (:func:`users_code`).

    Around a block it is ``with undisturbed(device):``; as a decorator, ``@undisturbed()``, it also
    stands an interrupt at any moment: one that arrives as the first restoration begins meets the
    second.

    Args:
        device: of the GPU whose random numbers are drawn; by default that which is in use.
        foreign: whether code of the user's is run, which may draw from numpy's and Python's
            generators; their states take as long to keep as a small product.
    """

    def __init__(self, device: torch.device | None = None, *, foreign: bool = True) -> None:
        self._device, self._foreign = device, foreign

    def __enter__(self) -> None:
        self._before = self._state()
        _begin(self._before)

    def __exit__(self, *details: object) -> None:
        try:
            _restore(self._before)
        finally:
            _restore(self._before)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """The function, after which all is as it was before."""

        @functools.wraps(function)
        def guarded(*args: P.args, **settings: P.kwargs) -> R:
            before = self._state()
            try:
                try:
                    _begin(before)
                    return function(*args, **settings)
                except BaseException as error:
                    if (interrupt := interrupt_behind(error)) is None:
                        raise
                    _leave_blocks(error)
                    raise interrupt from None
                finally:
                    _restore(before)
            finally:
                _restore(before)

        return guarded

    def _state(self) -> "_State":
        device = self._device or torch.device("cuda" if torch.cuda.is_initialized() else "cpu")
        alone = _THREAD.streams is None and threading.active_count() == 1
        lowered = [kind for kind in {"cpu", device.type} if torch.is_autocast_enabled(kind)]
        modes = torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()
        undo: list[Callable[[], object]] = [
            *(partial(torch.set_autocast_enabled, kind, True) for kind in lowered),
            partial(torch.set_autocast_cache_enabled, torch.is_autocast_cache_enabled()),
            partial(torch.set_grad_enabled, torch.is_grad_enabled()),
            partial(_leave_modes, *modes),
            *(partial(setting.leave_since, setting.own_users) for setting in _SHARED),
            partial(setattr, _THREAD, "streams", _THREAD.streams),
        ]
        # What was compiled runs as such or not, which this module decides once it is loaded.
        if (dynamo := sys.modules.get("torch._dynamo.eval_frame")) is not None:
            undo.append(partial(dynamo._set_stance, dynamo._stance))
        if alone:
            generators = _generators(device, self._foreign)
            undo.append(partial(_set_generators, generators, generators))
        return _State(lowered, alone, undo)


class _Thread(threading.local):
    """The states of the streams that a thread draws from, by generator.

    ``None`` outside of any guard, and where no other thread runs.
    """

    streams: dict[str, Any] | None = None


_THREAD = _Thread()
# Attention by the one kernel that can be differentiated twice, the same function as the others.
differentiable_attention = Shared(
    _cur_sdpa_kernel_backends, lambda _: _sdpa_kernel([SDPBackend.MATH]), _sdpa_kernel
)
# What torch sets for the whole process.
_SHARED = (differentiable_attention, full_precision)


@contextmanager
def users_code(device: torch.device, *, foreign: bool = False) -> Iterator[None]:
    """Around code of the user's, where other threads run: what it draws is a stream of its own.

    The stream begins where the generator stands, goes on from one such block to the next, and ends
    with the guard. A generator that the code does not draw from is not touched, so that what
    another thread draws from it meanwhile is drawn. If the code does draw, what other threads draw
    during the block is drawn from its stream.

    Args:
        device: where the code computes.
        foreign: whether it draws from numpy's and Python's generators; of these it cannot be told
            who draws.
    """
    streams = _THREAD.streams
    if streams is None:
        yield
        return
    before = _generators(device, foreign)
    begun = {**before, **{name: streams[name] for name in before.keys() & streams.keys()}}
    _set_generators(streams, before.keys() & streams.keys())
    with _Drawing() as drawing:
        try:
            yield
        finally:
            after = _generators(device, foreign)
            ours = {name for name in after if name in _FOREIGN or drawing.seen}
            drawn = {name for name in ours if not _alike(after[name], begun[name])}
            drawn |= before.keys() & streams.keys()
            streams.update({name: after[name] for name in drawn})
            _set_generators(before, drawn)


def users_data(data: Iterable[R], device: torch.device) -> Iterator[R]:
    """The batches of a user's loader, each read as :func:`users_code` says."""
    if type(data) in (list, tuple):
        yield from data
        return
    end: Any = object()
    with users_code(device, foreign=True):
        batches = iter(data)
    while True:
        with users_code(device, foreign=True):
            batch = next(batches, end)
        if batch is end:
            return
        yield batch


class _Drawing(DispatchMode):
    """Notes whether this thread draws from a global generator of torch's."""

    seen = False

    def note(self, func: Any, args: Arguments, kwargs: Named, result: Any) -> None:
        """Look for an operation that draws, from no generator of its own."""
        if torch.Tag.nondeterministic_seeded in getattr(func, "tags", ()):
            self.seen |= kwargs.get("generator") is None


# How the states of generators are read and set, by what draws from them.
_FOREIGN: dict[str, tuple[Callable[[], Any], Callable[[Any], None]]] = {
    "numpy": (np.random.get_state, np.random.set_state),
    "python": (random.getstate, random.setstate),
}


def _generators(device: torch.device, foreign: bool) -> dict[str, Any]:
    """The states of the global generators."""
    states: dict[str, Any] = {"cpu": (torch.get_rng_state(),)}
    if device.type == "cuda":
        states[str(device)] = (torch.cuda.get_rng_state(device),)
    if foreign:
        states |= {name: get() for name, (get, _) in _FOREIGN.items()}
    return states


def _set_generators(states: Mapping[str, Any], names: Iterable[str]) -> None:
    for name in names:
        if name in _FOREIGN:
            _FOREIGN[name][1](states[name])
        elif name == "cpu":
            torch.set_rng_state(*states[name])
        else:
            torch.cuda.set_rng_state(states[name][0], name)


def _alike(first: Any, second: Any) -> bool:
    """Whether two states are the same."""
    return all(np.array_equal(*pair) for pair in zip(first, second, strict=True))


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
    if (streams := _THREAD.streams) is not None:
        stream = streams.get("cpu")
        return function(), streams.get("cpu") is not stream
    before = torch.get_rng_state()
    value = function()
    return value, not torch.equal(before, torch.get_rng_state())


@dataclass(frozen=True, eq=False)
class _State:
    """The state before a computation.

    Attributes:
        lowered: the kinds of devices for which autocast is on.
        alone: whether no other thread may draw.
        undo: each takes one state back that a computation may leave changed, however often.
    """

    lowered: Sequence[str]
    alone: bool
    undo: Sequence[Callable[[], object]]


def _begin(before: _State) -> None:
    """Switch autocast off, and what it keeps of the weights that a model's own has rounded.

    It keeps them until the outermost block ends, and a copy's weights move meanwhile.
    """
    for kind in before.lowered:
        torch.set_autocast_enabled(kind, False)
        torch.set_autocast_cache_enabled(False)
    full_precision.enter(before)
    if not before.alone:
        _THREAD.streams = dict(_THREAD.streams or {})


def _restore(before: _State) -> None:
    for undo in before.undo:
        undo()


def _leave_modes(functions: int, dispatches: int) -> None:
    """End the modes that were entered since there were so many."""
    while torch._C._len_torch_function_stack() > functions:
        torch._C._pop_torch_function_stack()
    while torch._C._len_torch_dispatch_stack() > dispatches:
        mode: Any = _get_current_dispatch_mode()
        try:
            mode.__exit__(None, None, None)
        except IndexError:  # interrupted as it ended: torch had forgotten what it began with
            torch._C._pop_torch_dispatch_stack(None)

"""Which of PyTorch's libraries multiplies float32 numbers, and with how many of their digits."""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

_CUDNN = torch.backends.cudnn
# What may round float32 operands to TF32, with 10 bits of their 23, or to bfloat16, with 7.
_OPERATIONS = tuple(
    (library, kind) for library in ("cuda", "mkldnn") for kind in ("conv", "rnn", "matmul")
)
# What torch.backends' fp32_precision calls, which takes ten times as long on the way.
_precision = torch._C._get_fp32_precision_getter
_set_precision = torch._C._set_fp32_precision_setter


class Shared:
    """A setting of the whole process, made by the first block of any thread that needs it.

    The last one to end takes it back. Blocks of two threads that overlap would else end with what
    the first has set.

    Args:
        read: what is set before.
        make: make the setting, of what was read.
        restore: set what was read.
    """

    def __init__(
        self, read: Callable[[], Any], make: Callable[[Any], None], restore: Callable[[Any], None]
    ) -> None:
        self._read, self._make, self._restore = read, make, restore
        # By thread.
        self._lock, self._users = threading.Lock(), dict[object, int]()
        self._before: Any = None

    @property
    def used(self) -> bool:
        """Whether it holds at this moment."""
        return bool(self._users)

    @property
    def own_users(self) -> set[object]:
        """The users of this thread."""
        own = threading.get_ident()
        return {user for user, thread in list(self._users.items()) if thread == own}

    def enter(self, user: object) -> None:
        """Let it hold until this user leaves."""
        own = threading.get_ident()
        with self._lock:
            if not self._users:
                self._before = self._read()
                self._users[user] = own
                self._make(self._before)
            self._users[user] = own

    def leave(self, *users: object) -> None:
        """Take it back, if no other user is left; nothing happens if these are none."""
        with self._lock:
            for user in self._users.keys() & users:
                if len(self._users) == 1:
                    self._restore(self._before)
                del self._users[user]

    def leave_since(self, before: set[object]) -> None:
        """Let those of this thread leave that an interrupt has left since, beside those before."""
        self.leave(*self.own_users - before)

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """While this block runs, it holds."""
        user = object()
        try:
            try:
                self.enter(user)
                yield
            finally:
                self.leave(user)
        finally:
            # After an interrupt in the course of the first time.
            self.leave(user)


def _or_none(getter: Callable[[], Any]) -> Any:
    """A setting as an older function tells it; ``None`` where it refuses to, of a mixed one."""
    try:
        return getter()
    except RuntimeError:
        return None


def _read_precision() -> tuple[Any, ...]:
    return (
        _or_none(lambda: _CUDNN.allow_tf32),
        _or_none(torch.get_float32_matmul_precision),
        [_precision(*operation) for operation in _OPERATIONS],
    )


def _make_precise(before: tuple[Any, ...]) -> None:
    convolutions, products, _ = before
    # The older settings first: they have to agree with the newer ones, or torch refuses to tell.
    if convolutions:
        _CUDNN.allow_tf32 = False
    if products not in (None, "highest"):
        torch.set_float32_matmul_precision("highest")
    for operation in _OPERATIONS:
        ours = operation is _OPERATIONS[-1] and _THROUGH_ONEDNN.used
        if not ours and _precision(*operation) in ("tf32", "bf16"):
            _set_precision(*operation, "ieee")


def _restore_precision(before: tuple[Any, ...]) -> None:
    convolutions, products, precisions = before
    if convolutions:
        _CUDNN.allow_tf32 = True
    if products not in (None, "highest"):
        torch.set_float32_matmul_precision(products)
    for operation, precision in zip(_OPERATIONS, precisions, strict=True):
        if _precision(*operation) != precision:
            # Where it was that of all operations, it follows these again.
            _set_precision(*operation, "none")
            if _precision(*operation) != precision:
                _set_precision(*operation, precision)


def _set_onednn(precision: str) -> None:
    _set_precision(*_OPERATIONS[-1], precision)


_THROUGH_ONEDNN = Shared(
    lambda: _precision(*_OPERATIONS[-1]), lambda _: _set_onednn("bf16"), _set_onednn
)
# Products of float32 numbers have all of their digits. By default torch lets cuDNN take TF32, with
# three digits, for convolutions on GPUs since Ampere, whose second derivatives are then 2 % off.
full_precision = Shared(_read_precision, _make_precise, _restore_precision)


@contextmanager
def fastest_products() -> Iterator[None]:
    """Send products of float32 matrices to oneDNN, where it computes them in float32.

    PyTorch sends them to MKL, which leaves half of the vector units of processors of other makers
    than Intel idle. To oneDNN, which does not, it sends them only if that may go by way of
    bfloat16. oneDNN makes use of that on processors with units for products of matrices and there
    alone, so whether it does is found out first; then all stays as it was.
    """
    if not _single_precision():
        yield
        return
    with _THROUGH_ONEDNN():
        yield


@functools.cache
def _single_precision() -> bool:
    """Whether oneDNN computes in float32 although it need not."""
    # bfloat16 has 8 bits, so it takes 1 + 2^-12 for 1; in float32 these sums are exact.
    exact = True
    for inner in (16, 100, 128):
        left = torch.full((2, 100, inner), 1 + 2.0**-12)
        with _THROUGH_ONEDNN():
            values = left @ torch.ones(2, inner, 128)
        exact = exact and bool((values == inner * (1 + 2.0**-12)).all())
    return exact

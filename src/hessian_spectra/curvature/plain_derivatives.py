"""Torch's own second derivatives where the fast ones do not fit, or a word on why."""

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch

from hessian_spectra.curvature.interface import OperatorError, PlainDerivativesWarning
from hessian_spectra.curvature.undisturbed import interrupt_behind

R = TypeVar("R")

# What a problem remembers of a model that the fast second derivatives do not fit.
_PLAIN = "plain derivatives"


def is_plain(checked: set[str]) -> bool:
    """Whether torch's own layers are used for the problem that remembers this."""
    return _PLAIN in checked


@contextmanager
def explaining_missing_derivatives() -> Iterator[None]:
    """Say what to do where torch lacks the derivative of a derivative."""
    try:
        yield
    except RuntimeError as error:
        # Some operations raise NotImplementedError, which is a RuntimeError, others only say so.
        if "not implemented" not in str(error):
            raise
        cure = "; expected another form of it, of operations that have second derivatives"
        attention = (
            "; use the eager form or torch.nn.functional.scaled_dot_product_attention, whose twice "
            "differentiable kernel is chosen here"
        )
        raise OperatorError(
            "the model or the loss has an operation that cannot be differentiated twice "
            f"({error}){attention if 'attention' in str(error) else cure}"
        ) from error


def or_plainly(
    checked: set[str], first: Callable[[], R], again: Callable[[], R] | None = None
) -> R:
    """The result of a computation, by torch's own layers where it fails by the fast ones.

    From then on the problem has torch's own, which is said once, unless they fail too.

    Args:
        checked: what the problem remembers, ``problem.checked``.
        first: the computation.
        again: the same by torch's own layers, where ``first`` is not to be called again.

    Raises:
        Exception: what ``first`` raised where the problem has torch's own already, or the interrupt
            behind it; what ``again`` raises.
    """
    try:
        return first()
    except torch.OutOfMemoryError:
        raise
    except (RuntimeError, TypeError) as error:
        # Its frames hold the graph that failed.
        reason = error.with_traceback(None)
    interrupt = interrupt_behind(reason)
    if interrupt is not None or is_plain(checked):
        raise interrupt or reason
    checked.add(_PLAIN)
    try:
        result = (again or first)()
    except BaseException:
        checked.discard(_PLAIN)
        raise
    # One line, without the cure that follows a cause.
    cause = re.split(r"[;\n]", str(reason))[0] or type(reason).__name__
    warnings.warn(
        f"model: the fast second derivatives do not fit ({cause}); torch's own are used, which are "
        "as exact and take longer",
        PlainDerivativesWarning,
        stacklevel=2,
    )
    return result

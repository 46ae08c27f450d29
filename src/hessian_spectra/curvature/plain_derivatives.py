"""What is done where the fast second derivatives do not fit: torch's own, or a word on why."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from hessian_spectra.curvature.interface import OperatorError, PlainDerivativesWarning
from hessian_spectra.curvature.problem import Problem
from hessian_spectra.curvature.undisturbed import interrupt_behind

# What a problem remembers of a model that the fast second derivatives do not fit.
_PLAIN = "plain derivatives"


def is_plain(problem: Problem) -> bool:
    """Whether torch's own layers are used for a problem."""
    return _PLAIN in problem.checked


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


@contextmanager
def plainly(problem: Problem, reason: Exception) -> Iterator[None]:
    """From here on torch's own layers for a problem, which says so once, unless they fail too.

    Args:
        problem: the problem, which remembers it.
        reason: what the fast ones raised.

    Raises:
        Exception: ``reason``, where the problem has torch's own already, or the interrupt behind
            it.
    """
    interrupt = interrupt_behind(reason)
    if interrupt is not None or _PLAIN in problem.checked:
        raise interrupt or reason
    problem.checked.add(_PLAIN)
    try:
        yield
    except BaseException:
        problem.checked.discard(_PLAIN)
        raise
    # Without the list of likely causes that a failed check adds.
    cause = re.split(r"[;\n]", str(reason))[0] or type(reason).__name__
    warnings.warn(
        f"model: the fast second derivatives do not fit ({cause}); torch's own are used, which are "
        "as exact and take longer",
        PlainDerivativesWarning,
        stacklevel=2,
    )

"""The verdict on each theorem about a network, and the error where none applies."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from hessian_spectra.closed_form.assumptions import Assumption, AssumptionError


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A theorem and whether it applies to a network.

    Args:
        function: the name of its closed form in :mod:`hessian_spectra.closed_form`.
        theorem: its name.
        paper: the key of its paper.
        fits: whether the network has the layers that it is about.
        applies: whether its assumptions hold, too.
        reason: one line: what does not fit, or which assumptions are violated and by how much.
        advice: what would let it apply, where that is known.
        assumption: the one that is violated most, as a formula; empty for layers that do not fit.
        violation: how far that is, infinite for layers that do not fit; 0 where it applies.
        tolerance: the largest violation that would be let through.

    Example:
        >>> Candidate(function="multi_input", theorem="Corollary B.1", paper="singh2026cracking",
        ...           fits=True, applies=True, reason="all assumptions hold").line
        'Corollary B.1 (singh2026cracking): all assumptions hold'
    """

    function: str
    theorem: str
    paper: str
    fits: bool
    applies: bool
    reason: str
    advice: str = ""
    assumption: str = ""
    violation: float = 0.0
    tolerance: float = 0.0

    @property
    def line(self) -> str:
        """Theorem, reason and advice on one line."""
        advice = f": {self.advice}" if self.advice else ""
        return f"{self.theorem} ({self.paper}): {self.reason}{advice}"


def verdict(
    function: str, theorem: str, paper: str, finding: str | Sequence[Assumption]
) -> Candidate:
    """The record of a theorem, by what of the layers does not fit or by its assumptions."""
    of = partial(Candidate, function=function, theorem=theorem, paper=paper)
    if isinstance(finding, str):
        return of(fits=False, applies=False, reason=finding, violation=math.inf)
    broken = [item for item in finding if not item.holds]
    if not broken:
        return of(fits=True, applies=True, reason="all assumptions hold")
    worst = max(broken, key=lambda item: item.violation / item.tolerance)
    violations = [
        f"{item.formula} is violated by {item.violation:.3g} (tolerance {item.tolerance:g})"
        for item in broken
    ]
    return of(
        fits=True,
        applies=False,
        reason="; ".join(violations),
        advice="; ".join(dict.fromkeys(item.advice for item in broken)),
        assumption=worst.formula,
        violation=worst.violation,
        tolerance=worst.tolerance,
    )


class NoClosedFormError(AssumptionError):
    """No theorem applies to a network; its message has a line for each that comes near.

    Args:
        candidates: the theorems that come near, or, where a layer rules all of them out, none.
        advice: what the caller can do, or which layer it is.

    Example:
        >>> print(NoClosedFormError([], "layer '1' (GELU) has no closed form"))
        no closed form applies to the network: layer '1' (GELU) has no closed form
    """

    def __init__(self, candidates: Sequence[Candidate], advice: str) -> None:
        nearest = min(candidates, key=lambda each: (not each.fits, each.violation), default=None)
        if nearest is None or not nearest.fits:
            super().__init__("other layers", math.inf, 0.0, "Every theorem", advice)
        else:
            source = f"{nearest.theorem} ({nearest.paper})"
            super().__init__(
                nearest.assumption, nearest.violation, nearest.tolerance, source, advice
            )
        self.candidates = tuple(candidates)
        self.args = (candidates, advice)

    def __str__(self) -> str:
        """One line for each candidate between the finding and the advice."""
        head = "no closed form applies to the network"
        if not self.candidates:
            return f"{head}: {self.advice}"
        lines = [f"- {candidate.line}" for candidate in self.candidates]
        return "\n".join([f"{head}:", *lines, *([self.advice] if self.advice else [])])

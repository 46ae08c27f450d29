"""What a sentence presupposes: the state of the networks that it is about, and its assumptions.

A state is no size: a sentence about a minimum is neither confirmed nor refuted elsewhere, and
nothing is judged outside a sentence's own assumptions. A case that does not meet both is not
measured, and says why.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import xarray as xr


@dataclass(frozen=True)
class Condition:
    """A condition of a sentence.

    Args:
        text: what it is, as a table says it: ``near a minimum``.
        require: raises :class:`~hessian_papers.ledger.bounds.NothingToMeasure`, with where a case
            stands, if its data set does not meet it. It gets the data set at those labels of the
            case that it has. Without one the condition holds by construction.
    """

    text: str
    require: Callable[[xr.Dataset], None] | None = None

    def check(self, data: xr.Dataset, labels: Mapping[str, Any]) -> None:
        """Refuse a case that does not meet the condition."""
        if self.require is not None:
            known = {key: value for key, value in labels.items() if key in data.indexes}
            self.require(data.sel(known))


# An identity holds of any weights; what a theorem assumes stands in its sentence.
ANY_STATE = Condition("any weights")
NO_ASSUMPTION = Condition("none but its sentence's")
AT_INITIALISATION = Condition("at initialisation")
THROUGHOUT_TRAINING = Condition("throughout training")

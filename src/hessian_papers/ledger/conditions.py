"""The conditions of a sentence: the state of the networks that it is about, and its assumptions.

A state is no size: a sentence about a minimum is neither confirmed nor refuted elsewhere, and
nothing is judged outside a sentence's own assumptions. A case that does not meet both is not
measured, and says why.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import xarray as xr

from hessian_papers.ledger.bounds import mean_of, needs


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
            known = {
                key: value
                for key, value in labels.items()
                if key in data.indexes and value in data.indexes[key]
            }
            self.require(data.sel(known))


# An identity holds of any weights; what a theorem assumes stands in its sentence.
ANY_STATE = Condition("any weights")
NO_ASSUMPTION = Condition("none but its sentence's")
AT_INITIALISATION = Condition("at initialisation")
AFTER_TRAINING = Condition("after training")
BEFORE_AND_AFTER = Condition("at initialisation and after training")
THROUGHOUT_TRAINING = Condition("throughout training")


def in_use(part: str) -> Condition:
    """The state of a sentence about a part of networks: they use it, as its removal costs loss.

    Args:
        part: of the networks, as a table says it: ``attention``.

    Returns:
        A condition that asks the data set for ``cost_of_removing_<part>``: the loss without the
        part minus that with it, in nats, by draw. Its mean has a 95 % interval above 0.

    Example:
        >>> in_use("attention").text
        'attention in use'
    """
    name = f"cost_of_removing_{part.replace(' ', '_')}"

    def require(data: xr.Dataset) -> None:
        needs(
            name in data,
            f"State not recorded: this run does not say what removing {part} costs. The statement "
            f"is about networks that use it.",
        )
        cost = mean_of(data[name].values.ravel())
        needs(
            cost.low > 0,
            f"Removing {part} costs {cost.value:.2g} nats here, not more than nothing beyond "
            f"doubt. The statement is about networks that use it.",
        )

    return Condition(f"{part} in use", require)

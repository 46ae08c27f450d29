"""What is said of trainings that diverged, beside every statement and below the figure."""

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.results import DIVERGED, StudyArrays


def left_out(arrays: StudyArrays) -> str:
    """The sentence on trainings that diverged; empty if none did.

    Raises:
        NothingToMeasure: all did, so that the study has nothing else.

    Example:
        >>> import numpy as np
        >>> rows = {"diverged": np.array([True, False]), "norm": np.ones(1)}
        >>> left_out(StudyArrays({"correlation": rows}))
        '1 training diverged and is left out.'
    """
    count = arrays.left_out
    names = {name for side in arrays.sides.values() for name in side}
    if names == {DIVERGED}:
        raise NothingToMeasure(
            f"nothing is left: all {count} trainings diverged; choose a smaller learning rate"
        )
    verb = "training diverged and is" if count == 1 else "trainings diverged and are"
    return f"{count} {verb} left out." if count else ""

"""The mistakes of users, by what is said of them; as a program, what is said now.

The sentences are parts of the messages, with dots for what stands between, and begin with the name
of the error unless that is a ValueError.
"""

import json
import warnings

from .mistakes_of_measures import (
    CURVLINOPS,
    ENSEMBLES,
    LAYERS,
    OPERATORS,
    SOLVERS,
    TRAININGS,
)
from .mistakes_of_problems import PROBLEMS, message

GROUPS = (PROBLEMS, OPERATORS, SOLVERS, TRAININGS, LAYERS, ENSEMBLES, CURVLINOPS)
MISTAKES = {said: attempt for group in GROUPS for said, attempt in group.items()}


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(json.dumps({said: message(attempt) for said, attempt in MISTAKES.items()}))

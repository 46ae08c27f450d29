"""Image networks through a training that was made up, for the claims about it."""

import numpy as np

from hessian_papers.labelled import assembled
from hessian_papers.studies.images.derived import NETWORK

EPOCHS = np.array([0, 1, 4, 16, 64, 256, 1024, 4096])
# Down to the floor of 0.2: the first five epochs have more than half of the way before them.
FLOOR = 0.2
LOSS = FLOOR + 0.8 * np.array([1.0, 0.99, 0.95, 0.8, 0.55, 0.3, 0.01, 1e-4])
LAST_EARLY = 4


def joined(networks, variables):
    """The sides of a study, of those of each of its networks."""
    return {
        side: assembled(
            [network["labels"] | network[side] for network in networks], variables, NETWORK
        )
        for side in ("closed_form", "numerics")
    }


def labels(source, width=5):
    """What tells a network from the others."""
    return {"source": np.array(source), "width": np.array(width), "replicate": np.array(0)}


def replaced(networks, number, side, **arrays):
    """The networks with some arrays of one of them replaced."""
    first = networks[number]
    new = {**first, side: first[side] | arrays}
    return [*networks[:number], new, *networks[number + 1 :]]

"""Both sides of the study of the identities at its smallest, computed once for all tests of it."""

from functools import cache

import numpy as np

from hessian_spectra.studies.identities.identities import study as identities

SMALL = {"instances": 6, "width": 4, "points": 6, "seed": 3}


def config(**changes: object) -> identities.Config:
    """A valid configuration of the study, with some fields changed."""
    fields = {
        "kind": "identities",
        "paper": "singh2026cracking",
        "artifact": "Theorems",
        "title": "Identities",
        "data": "gaussian-regression",
    }
    return identities.Config(**(fields | SMALL | changes))


def data(points: int = 200) -> dict[str, np.ndarray]:
    """A small Gaussian regression."""
    draw = np.random.default_rng(0)
    return {"x": draw.normal(size=points), "y": draw.normal(size=points)}


@cache
def both_sides() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The closed forms and brute force of the smallest study."""
    return identities.closed_form(config(), data()), identities.numerics(config(), data())

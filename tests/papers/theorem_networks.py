"""Small random networks for the theorems, from another seed than the ledger's."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from hessian_papers.theorems import Draw, Instance, drawn


def draw(points: int = 200, **changes: Any) -> Draw:
    """The draw of the networks."""
    x, y = np.random.default_rng(0).normal(size=(2, points))
    return replace(Draw(x=x, y=y, seed=3, instances=6, width=4, size=6), **changes)


@cache
def networks() -> dict[type[Instance], Sequence[Instance]]:
    """The networks by family, drawn and measured once for all tests."""
    return dict(drawn(draw()))

"""The recorded run of attention sinks, and the same with the sink of two networks removed."""

from functools import cache, partial

import numpy as np

from hessian_papers import labelled
from pipelines.folders import EVIDENCE
from tests.pipelines.workspace import ROOT

# The mean attention on the first of 128 tokens if all get the same.
UNIFORM = np.mean(1 / np.arange(1, 129))


@cache
def recorded():
    return labelled.read(ROOT / EVIDENCE / "cracking-fig6" / labelled.WHOLE, "")


def changed(change, name="eigenvalue"):
    """The run with a variable of which ``change`` changed a copy in place."""
    values = recorded()[name].copy(deep=True)
    change(values.values)
    return recorded().assign({name: values})


def without_a_sink(factor=0.8):
    """The run with a sink removed from two of three networks, which makes λ smaller."""
    made = {
        "eigenvalue": factor * recorded()["eigenvalue"].values[:2, 0, 0],
        "mass": UNIFORM,
        "strength": 1.0,
        "loss": 2.6,
    }

    def remove(values, value):
        values[:2, 3, -1] = value

    each = {name: changed(partial(remove, value=made[name]), name)[name] for name in made}
    return recorded().assign(each)

"""The contract of every measurement that fans out: what its items cost, and that they repeat.

    test_items_repeat_and_a_probe_costs_less = contract(study.layerwise, config)

The networks are a module's fixture of that name, unless they are given.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hessian_papers.work import KEEPS_NOTHING, FanOut


def contract(
    work: FanOut, config: Callable[[], Any], given: Callable[[], Any] | None = None
) -> Callable[..., None]:
    """The test of a measurement with some settings.

    Args:
        work: the measurement.
        config: makes the settings.
        given: makes what it is of.
    """

    def holds(request: pytest.FixtureRequest) -> None:
        networks = request.getfixturevalue("networks") if given is None else given()
        items = work.items(config(), networks)
        probes = [work.probe(item) for item in items]
        costs = [
            (work.cost(probe), work.cost(item)) for probe, item in zip(probes, items, strict=True)
        ]
        assert all(0 < fewer <= whole for fewer, whole in costs)
        cheapest = probes[int(np.argmin([fewer for fewer, _ in costs]))]
        also = {"run": KEEPS_NOTHING} if work.trains else {}
        first, again = (work.compute(**cheapest, **also) for _ in "ab")
        assert first.keys() == again.keys()
        for name, values in first.items():
            np.testing.assert_array_equal(values, again[name], err_msg=name)

    return holds

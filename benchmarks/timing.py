"""Fair timing on a shared machine: CPU time, one thread, random order, ratios within a round."""

import random
import statistics
import time
from collections.abc import Callable, Mapping


def rounds(
    methods: Mapping[str, Callable[[], object]],
    count: int,
    seed: int = 0,
    limit: float = float("inf"),
    known: Mapping[str, float] | None = None,
) -> dict[str, list[float]]:
    """CPU seconds of each method in each of ``count`` rounds, after one round that warms up.

    Args:
        methods: what to time, by name.
        count: how many rounds count.
        seed: seed of the order in which methods run, drawn anew for each round.
        limit: a method that took longer than this to warm up is not run again; that time counts
            in each round.
        known: CPU seconds that methods took before; those above the limit are not run at all.
    """
    order = random.Random(seed)
    names = list(methods)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    slow = {name: taken for name, taken in (known or {}).items() if taken > limit}
    for number in range(count + 1):
        order.shuffle(names)
        for name in names:
            if name in slow:
                seconds[name] += [slow[name]] if number else []
                continue
            start = time.process_time()
            methods[name]()
            taken = time.process_time() - start
            if number:
                seconds[name].append(taken)
            elif taken > limit:
                slow[name] = taken
    return seconds


def ratio(seconds: Mapping[str, list[float]], name: str, peer: str) -> float:
    """The median over rounds of one method's time over another's in the same round."""
    pairs = zip(seconds[name], seconds[peer], strict=True)
    return statistics.median(own / other for own, other in pairs)

"""The stages that are to run, and in which order: from what DVC says of them."""

import itertools
from collections.abc import Mapping, Sequence

# For each stage those that it depends on.
Graph = Mapping[str, set[str]]
# The stage that is always run, before all others: it finds what no dependency tells.
ALWAYS = "survey"
# How many seconds of stages one `dvc repro` is given at most: it takes some to start, and the work
# should not wait for one that has too much of it.
MOST_SECONDS = 30.0


def reached(first: set[str], edges: Graph) -> set[str]:
    """Some stages, and all that a graph leads to from them, however indirectly.

    Example:
        >>> sorted(reached({"a"}, {"a": {"b"}, "b": {"c"}, "c": set(), "d": {"a"}}))
        ['a', 'b', 'c']
    """
    stages, waiting = set(first), set(first)
    while waiting:
        waiting = {name for item in waiting for name in edges[item]} - stages
        stages |= waiting
    return stages


def items(before: Graph, first: set[str]) -> list[str]:
    """The stages after the first ones that are to run, in the order of dvc.yaml.

    Args:
        before: for each stage those that it depends on.
        first: the changed ones; what depends on them, however indirectly, may change as well.

    Example:
        >>> before = {"survey": set(), "b@x": {"survey"}, "b@y": set(), "c": {"b@x"}}
        >>> items(before, {"b@x"})
        ['b@x', 'c']
    """
    early = reached({ALWAYS} & before.keys(), before)
    late = [name for name in before if name not in early]
    return [name for name in late if reached({name}, before) & first]


def urgency(before: Graph, seconds: Mapping[str, float]) -> dict[str, float]:
    """The seconds from the start of each stage to the end of all that waits for it.

    Args:
        before: for each stage those that it depends on.
        seconds: of the stages that are to run.

    Example:
        >>> urgency({"a": set(), "b": {"a"}, "c": {"a"}}, {"a": 1.0, "b": 2.0, "c": 5.0})
        {'a': 6.0, 'b': 2.0, 'c': 5.0}
    """
    known: dict[str, float] = {}

    def of(stage: str) -> float:
        if stage not in known:
            after = (of(name) for name in seconds if stage in before[name])
            known[stage] = seconds[stage] + max(after, default=0.0)
        return known[stage]

    return {stage: of(stage) for stage in seconds}


def take(ready: Sequence[str], seconds: Mapping[str, float], jobs: int) -> list[str]:
    """The stages that one `dvc repro` is given next: less work the less is left, and at least one.

    Example:
        >>> take(["a", "b", "c"], {"a": 30.0, "b": 1.0, "c": 1.0}, 2)
        ['a']
        >>> take(["b", "c", "d", "e"], dict.fromkeys("bcde", 1.0), 1)
        ['b', 'c']
    """
    share = min(sum(seconds[name] for name in ready) / (2 * jobs), MOST_SECONDS)
    times = itertools.accumulate(seconds[name] for name in ready)
    return [name for name, time in zip(ready, times, strict=True) if time <= share] or [*ready[:1]]

"""The settings that are not the committed ones: which, and how to take them back.

An experiment's settings stay in `params.yaml`, and later runs keep them.
"""

import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from pipelines.departures import different
from pipelines.folders import CONF, PARAMS
from pipelines.git import git

# How a line of the settings begins that says what an experiment has left in them.
KEPT = "# Settings of an experiment: "
# What takes back what an experiment has left, and what is in no commit, or in the last one.
OF_EXPERIMENT, CONFIGURE = ("params.yaml", "dvc.lock"), "dvc repro --force configure"
# How many settings are named.
MOST_NAMED = 3


def named(pairs: Mapping[str, Sequence[Any]], other: str = "conf/ has") -> str:
    """Settings in words, the shortest first; empty if there are none.

    Args:
        pairs: of each setting by its key, the value here and the other one.
        other: the place of the other one.

    Example:
        >>> named({"studies.mine.width": [50, 10]})
        'studies.mine.width=50 (conf/ has 10)'
    """
    texts = [
        f"{key}={reprlib.repr(value)} ({other} {reprlib.repr(elsewhere)})"
        for key, (value, elsewhere) in pairs.items()
    ]
    first = sorted(texts, key=len)[:MOST_NAMED]
    further = len(texts) - len(first)
    return ", ".join([*first, *([f"{further} more"] if further else [])])


def back(*paths: str) -> str:
    """The command that takes back what differs from the last commit."""
    return f"git checkout HEAD -- {' '.join(paths)}"


def edited() -> list[str]:
    """The files of ``conf`` that are not as they were committed; none without Git."""
    return (git("diff", "--name-only", "HEAD", "--", str(CONF)) or "").splitlines()


def said() -> str:
    """The settings of `params.yaml` that the last commit has not, in one line, or nothing.

    Without Git it is known of an experiment's settings alone, which the file itself names.
    """
    here, committed = PARAMS.read_text("utf-8").strip(), git("show", f"HEAD:./{PARAMS}")
    lines = [line for line in here.splitlines() if line.startswith(KEPT)]
    if here == committed != git("show", f":./{PARAMS}"):
        # A commit would have them, and nothing else shows them.
        of_whom = f"{PARAMS} is staged with other settings, as a killed experiment leaves it"
        return f"{of_whom}; back with `{back(*OF_EXPERIMENT)}`"
    if here == committed or not committed:
        # Of a commit that has them, or of none.
        kept = [line.removeprefix(KEPT).partition(";")[0] for line in lines]
        return f"Settings of an experiment: {kept[0]}; back with `{CONFIGURE}`" if kept else ""
    now, before = ({"": yaml.load(text, yaml.CSafeLoader)} for text in (here, committed))
    pairs = {key[1:]: pair for key, pair in different(now, before)}
    if not pairs:
        return ""
    files = edited()
    ways = [*([str(CONF.name)] if files else []), *(OF_EXPERIMENT if lines or not files else [])]
    whose = " and ".join(["of an experiment"] * bool(lines) + ["of conf/"] * bool(files))
    shown = named(pairs, "committed:")
    whose = f", {whose}" if whose else ""
    return f"Settings that differ from the commit{whose}: {shown}; back with `{back(*ways)}`"


def of_run(pairs: Mapping[str, Sequence[Any]]) -> str:
    """The settings of one run that the last commit has not, in one line, or nothing.

    Args:
        pairs: what overrides changed: of each setting the value here, and that of ``conf``.
    """
    files = edited()
    parts = [f"settings of this run: {named(pairs)}"] if pairs else []
    if files:
        shown = ", ".join(files[:MOST_NAMED]) + (", …" if len(files) > MOST_NAMED else "")
        parts.append(f"conf/ is not as committed: {shown}; back with `{back(CONF.name)}`")
    return "; ".join(parts)

"""Command experiments: a table of what was tried, with the settings and numbers that differ.

    python -m pipelines.experiments [--all] [options of `dvc exp show`, such as -A]

`dvc exp show` has a column for each digest of a result. Here is a row for the workspace, the commit
and each experiment, with the settings that differ and, of what `reports/metrics.json` has of a run,
the numbers that do; where that is wider than the screen, a column for each.
"""

import argparse
import json
import reprlib
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hessian_spectra.files import MissingResultError
from pipelines.git import git

HOW = "make one with `dvc exp run -S studies.<study>.<setting>=<value>`; -A shows those of all"
# Where the output is no screen.
WIDTH = 120
NOTHING = "–"
# Where the metrics have the numbers that `--all` shows, whether they differ or not.
NAMED = "numbers."
TODAY = (NAMED, "digits")


class State(NamedTuple):
    """A state of the project.

    Attributes:
        name: of the experiment, the branch, or the workspace.
        settings: by key.
        numbers: those of its metrics, by name.
        lacks: why it has none, if so.
    """

    name: str
    settings: Mapping[str, Any]
    numbers: Mapping[str, Any]
    lacks: str = ""


def _flat(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """The entries of nested mappings, by keys that are joined by dots."""
    if not isinstance(value, Mapping):
        yield key, value
        return
    for name, entry in value.items():
        yield from _flat(entry, f"{key}.{name}" if key else name)


def _held(files: Mapping[str, Any]) -> dict[str, Any]:
    """The content of the files of a state, as DVC reports them."""
    return dict(pair for file in files.values() for pair in _flat(file.get("data") or {}))


def _state(entry: Mapping[str, Any], executor: Mapping[str, Any] | None) -> State:
    """One state, as DVC reports it."""
    name = entry["name"] or entry["rev"]
    lacks = (executor or {}).get("state") or ""
    if error := entry.get("error"):
        lacks = error.get("msg") or error.get("type") or "an error"
    data = entry.get("data") or {}
    settings, metrics = (_held(data.get(part) or {}) for part in ("params", "metrics"))
    # Those of today's runs: counts by verdict are of recorded ones as well.
    kept = {key: number for key, number in metrics.items() if key.startswith(TODAY)}
    numbers = {key.removeprefix(NAMED): number for key, number in kept.items()}
    if not (numbers or lacks):
        lacks = "no metrics here: they are in the cache of DVC where it was run"
    return State(name, settings, numbers, lacks)


def states(shown: Sequence[Mapping[str, Any]]) -> list[State]:
    """The workspace, the commits and their experiments, of ``dvc exp show --json``."""
    result = []
    for entry in shown:
        result.append(_state(entry, None))
        for experiment in entry.get("experiments") or []:
            # Of checkpoints the last one comes first.
            revision = {**experiment["revs"][0]}
            revision["name"] = revision["name"] or experiment.get("name")
            result.append(_state(revision, experiment.get("executor")))
    return result


def _differing(held: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys that not all of some mappings have with the same value; what holds none counts not.

    Example:
        >>> _differing([{"a": 1, "b": [2]}, {"a": 1, "b": [3]}, {}])
        ['b']
    """
    known = [each for each in held if each]
    keys = dict.fromkeys(key for each in known for key in each)
    return [key for key in keys if any(each.get(key) != known[0].get(key) for each in known)]


def _shown(value: Any) -> str:
    """A value in a cell."""
    if value is None:
        return NOTHING
    return f"{value:g}" if isinstance(value, float) else reprlib.repr(value).strip("'")


def table(tried: Sequence[State], *, whole: bool, width: int) -> str:
    """The states with the settings and numbers that differ; empty if none does.

    Args:
        tried: the states.
        whole: whether all numbers are shown, but for counts, not those alone that differ.
        width: the most characters of a line in which each state is a row; else it is a column.
    """
    # Most commands need no tables.
    import pandas as pd

    columns: dict[str, list[str]] = {}
    for part in ("settings", "numbers"):
        held = [getattr(state, part) for state in tried]
        keys = _differing(held)
        if whole and part == "numbers":
            named = (key for each in held for key in each if "." not in key)
            keys = [*dict.fromkeys([*keys, *named])]
        keys.sort(key=lambda key: part == "numbers" and key.startswith(TODAY))
        columns |= {key: [_shown(each.get(key)) for each in held] for key in keys}
    frame = pd.DataFrame(columns, index=[state.name for state in tried])
    text = frame.to_string() if columns else ""
    return text if len(text.partition("\n")[0]) <= width else frame.T.to_string()


def _report(options: Sequence[str]) -> list[dict[str, Any]]:
    """The experiments that DVC knows.

    Raises:
        MissingResultError: there is no repository of Git, or DVC refuses the options.
    """
    if git("rev-parse", "HEAD") is None:
        raise MissingResultError(
            "experiments: expected a Git repository with a commit, got none; experiments are "
            "commits of it: work in a clone, or run `git init`, `git add .` and `git commit`"
        )
    command = ("dvc", "exp", "show", "--json", *options)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        result: list[dict[str, Any]] = json.loads(done.stdout)
    except ValueError:
        said = (done.stderr or done.stdout).strip().splitlines() or ["nothing"]
        reason = next((line for line in said if line.startswith("ERROR")), said[-1])
        raise MissingResultError(f"`{' '.join(command)}`: {reason}") from None
    return result


def experiments(options: Sequence[str], *, whole: bool = False) -> str:
    """The table of what was tried, and what it lacks.

    Args:
        options: further ones of ``dvc exp show``.
        whole: whether all numbers are shown, but for counts, not those alone that differ.

    Raises:
        MissingResultError: there is no repository of Git, or DVC refuses the options.
    """
    tried = states(_report(options))
    width = shutil.get_terminal_size((WIDTH, 1)).columns
    lines = [f"{state.name}: {state.lacks}" for state in tried if state.lacks]
    if not (whole or _differing([state.numbers for state in tried])):
        lines.append("no number differs; --all shows those of each")
    if shown := table(tried, whole=whole, width=width):
        return "\n".join([shown, *lines])
    names = ", ".join(state.name for state in tried)
    return "\n".join([f"no setting differs between {names}; {HOW}", *lines])


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m pipelines.experiments", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--all", action="store_true", help="all numbers with a name")
    arguments, options = parser.parse_known_args()
    try:
        print(experiments(options, whole=arguments.all))
    except MissingResultError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    _main()

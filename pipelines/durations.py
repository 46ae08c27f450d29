"""Command durations: how long each figure took, which the report page says beside its command.

    make repro && python -m pipelines.durations

It writes conf/durations.yaml, in which a figure has the seconds of all stages that it is made from,
of one core each. They are a file of the repository, not what each run measures: the page would be
another one after every run.
"""

import sys
from collections.abc import Mapping

import yaml

from hessian_spectra.files import read_json, write_bytes
from pipelines.evidence import processor
from pipelines.inputs import DURATIONS
from pipelines.reproduce import SPENT, Graph, graph, reached

HEADER = """\
# How long each figure took on one core, with all that it is made from, in seconds: of the last
# `make repro` after which somebody called `python -m pipelines.durations`, which writes this file.
"""


def totals(spent: Mapping[str, float], before: Graph) -> dict[str, int]:
    """The seconds of each study: of its figure and of all its own stages that it depends on.

    Raises:
        ValueError: one of these stages has no time.

    Example:
        >>> before = {"a": set(), "train@x": {"a"}, "figures@x": {"train@x"}}
        >>> totals({"train@x": 2.5, "figures@x": 2.0}, before)
        {'x': 4}
    """
    totals = {}
    for figure in (name for name in before if name.startswith("figures@")):
        stages = sorted(name for name in reached({figure}, before) if "@" in name)
        missing = [name for name in stages if name not in spent]
        if missing:
            raise ValueError(
                f"durations: expected a time of every stage in {SPENT}, {missing[0]} has none: "
                "run `make repro` in a fresh clone"
            )
        totals[figure.partition("@")[2]] = round(sum(spent[name] for name in stages))
    return totals


def text_of(seconds: Mapping[str, int]) -> str:
    """The content of the file."""
    known = {"processor": processor(), "seconds": dict(seconds)}
    return HEADER + yaml.safe_dump(known, sort_keys=True, allow_unicode=True)


def main() -> None:
    """Write the file."""
    spent = read_json(SPENT) if SPENT.is_file() else {}
    write_bytes(DURATIONS, text_of(totals(spent, graph())).encode())
    print(f"wrote {DURATIONS.name}")


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(str(error))

"""Command durations: how long each stage took, which the report pages and `make repro` say.

    make repro && python -m pipelines.durations

It writes conf/durations.yaml, with the seconds of one core of each stage of one item. They are a
file of the repository, not what each run measures: pages would be others after every run.
"""

from collections.abc import Mapping

import yaml

from hessian_spectra.files import read_json, write_bytes
from pipelines.evidence import processor
from pipelines.inputs import DURATIONS
from pipelines.lifetime import mendable
from pipelines.reproduce import SPENT, graph

HEADER = """\
# How long each stage took on one core, in seconds: of the last `make repro` after which somebody
# called `python -m pipelines.durations`, which writes this file.
"""


def text_of(spent: Mapping[str, float], stages: list[str]) -> str:
    """The content of the file.

    Args:
        spent: the seconds of stages.
        stages: all that there are.

    Raises:
        ValueError: one of the stages of an item has no time.
    """
    named = [stage for stage in stages if "@" in stage]
    if missing := [stage for stage in named if stage not in spent]:
        raise ValueError(
            f"durations: expected a time of every stage in {SPENT}, {missing[0]} has none: "
            "run `make repro` in a fresh clone"
        )
    known = {"processor": processor(), "stages": {stage: spent[stage] for stage in named}}
    return HEADER + yaml.safe_dump(known, sort_keys=True, allow_unicode=True)


def main() -> None:
    """Write the file."""
    spent = read_json(SPENT) if SPENT.is_file() else {}
    write_bytes(DURATIONS, text_of(spent, [*graph()]).encode())
    print(f"wrote {DURATIONS.name}")


if __name__ == "__main__":
    with mendable():
        main()

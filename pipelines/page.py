"""Stage page: every figure, its statements and where they come from, of all papers.

All pages are made of the whole ledger: a statement that studies of several papers measure has the
same verdict on each.

Without DVC the page of one study with any settings, computed, drawn and held against the papers on
the spot:

    python -m pipelines.page only=cracking-fig7 studies.cracking-fig7.width=50
"""

import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from hessian_papers.ledger.changes import moves
from hessian_papers.ledger.evaluation import decided
from hessian_papers.ledger.record import write_ledger
from hessian_papers.memory import memory
from hessian_papers.progress import say
from hessian_papers.report import FRONT, INDEX, Alone, address, build, index, read
from hessian_papers.report.entries import shown
from hessian_papers.report.findings import findings
from hessian_papers.report.verdicts import setting
from hessian_spectra.files import write_bytes
from pipelines import chain, inputs, states
from pipelines.figures import Under, computed
from pipelines.kept import named, of_run
from pipelines.schema import plain
from pipelines.stage import Context, main
from pipelines.sweep import collect

# More settings are not said in a caption.
FEW = 3
# What a run stands beside, in words.
RUNS = {
    **dict.fromkeys((states.WORKSPACE, states.COMMITTED), "the committed settings"),
    states.RECORDED: "the recorded run",
    states.PAPER: "what is in print",
}


def page(context: Context) -> None:
    """Write ``reports/index.html``, ``states.html``, a page of each paper and of each figure.

    And ``search-index.js``, which all of them search.
    """
    if not context.locked:
        of_study(context)
        return
    settings = plain(context.config)
    content = read(context.reports, settings["durations"], leads=settings["leads"])
    result = findings(settings["findings"], content.statements)
    for part in content.parts:
        kept = named(_kept(settings["kept"], content.studies, part))
        text = build(content, result if part == FRONT else (), part=part, kept=kept)
        write_bytes(context.reports / address(part), text.encode())
    write_bytes(context.reports / INDEX, index(content).encode())


def _kept(
    kept: Mapping[str, Mapping[str, Any]], papers: Mapping[str, str], part: str
) -> dict[str, Any]:
    """The settings that an experiment left of what a page shows: one study, a paper, or all."""
    study = part.partition("/")[2]
    shown = [study] if study else [s for s, paper in papers.items() if part in (paper, FRONT)]
    return {key: pair for name in shown for key, pair in kept.get(name, {}).items()}


def of_study(context: Context) -> None:
    """Write ``index.html``, ``claims.json`` and the figure of one study, to the run's folder.

    The figure has under it what the study draws with the committed settings, if that is there, or
    its recorded run.
    """
    name, reports = context.name, context.reports
    chain.raw_study(context)  # raises if there is none
    departing = inputs.changes(plain(context.config), name)
    old = states.before(name)
    if old is not None and old.name != states.RECORDED and not departing:
        old = None  # it is the same
    alike = old is not None and old.name != states.RECORDED
    if departing and not (alike or context.estimate or context.sweep):
        beneath = "the recorded run" if old else "nothing"
        how = f"`make repro` or `hessian-papers page only={name}` makes one"
        say(name, f"beneath it {beneath}: no run of the committed settings is here, {how}")
    under = Under(old.series[name], _said(old.name, departing)) if old else None
    statements = decided(computed(context, under))
    write_ledger(reports / "claims.json", statements)
    memory().keep()
    path = reports / FRONT
    beside = old.name if old else states.PAPER
    compare = shlex.join(["hessian-papers", "compare", beside, str(reports)])
    alone = Alone(
        committed=departing,
        old=RUNS[old.name] if old else "",
        moves=moves(old.statements, statements) if old else [],
        command=shlex.join(["hessian-papers", "page", *sys.argv[1:]]),
        compare=compare,
        whole={each.id: each.verdict for each in states.whole()},
    )
    content = read(reports, leads=inputs.leads(), results=context.results)
    write_bytes(path, build(content, alone=alone).encode())
    if line := of_run(departing):
        print(line)
    print(f"wrote {path}")
    print(f"beside {RUNS[beside]}: {compare}")


def _said(name: str, departing: Mapping[str, Sequence[Any]]) -> str:
    """A state in words, the committed one with its values of the settings that a run changes."""
    values = [f"{setting(key)} = {shown(value)}" for key, (_, value) in departing.items()]
    known = f" ({', '.join(values)})" if 0 < len(values) <= FEW and name != states.RECORDED else ""
    return RUNS[name] + known


if __name__ == "__main__":
    main(page, "page", estimates=True, collect=collect)

"""Stage figures: draw a study's figure from its data set, and from that of its recorded run."""

from collections import defaultdict
from types import ModuleType
from typing import Any

from matplotlib.figure import Figure

from hessian_papers.case_axis import Row
from hessian_papers.drawing.forest import Block, forest
from hessian_papers.drawing.record import CONTROLS
from hessian_papers.drawing.save import save
from hessian_papers.formulas import plain
from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.ledger.divergence import left_out
from hessian_papers.ledger.evaluation import Measured, data_of, measurements
from hessian_papers.ledger.statements import Heading
from hessian_papers.results import DIVERGED
from hessian_spectra.pictures import style
from pipelines import chain, inputs
from pipelines.stage import Context, main

STATEMENTS = (
    "Not a figure of the paper. Points: cases of the statements measured here, with 95 % "
    "intervals. Green range: the statement holds; blue cases hold, red ones do not, grey intervals "
    "reach over the bound. Exact statements share an axis of errors, 0 at left."
)


def painted(module: ModuleType, data: Any) -> tuple[Figure, str]:
    """A figure and its caption, with how many trainings diverged if any did.

    Where they leave nothing to draw, both say why.
    """
    try:
        note = left_out(data)
        figure, caption = module.draw(data), module.caption(data)
    except NothingToMeasure as missing:
        return style.words(plain(str(missing))), f"{missing}."
    # Where some always diverge, the caption has more to say of them.
    return figure, caption if DIVERGED in caption else f"{caption} {note}".strip()


def controls(module: ModuleType, data: Any) -> tuple[Figure, str] | None:
    """A figure's second picture and its caption; ``None`` where it has none, or nothing to show."""
    if not hasattr(module, CONTROLS):
        return None
    try:
        left_out(data)  # of networks that all diverged there is nothing to show
        figure, caption = getattr(module, CONTROLS)(data)
    except NothingToMeasure:
        return None
    return figure, caption


def stated(run: Measured) -> tuple[Figure, str]:
    """The picture of the statements that are measured on a run, and its caption."""
    headings: dict[str, Heading] = {}
    rows: defaultdict[str, list[Row]] = defaultdict(list)
    for case in measurements([run]):
        heading = headings.setdefault(case.heading.id, case.heading)
        label = plain(", ".join(filter(None, case.record.labels.values())))
        name = case.record.id.rpartition("/")[2]
        allowed = case.bound.range
        row = Row(label, *case.estimate, allowed, case.record.outcome, name)
        rows[heading.id].append(row)
    blocks = [
        Block(plain(each.sentence), plain(each.statistic), rows[name])
        for name, each in headings.items()
    ]
    return forest(blocks), STATEMENTS


def _drawn(item: chain.Drawing) -> tuple[Figure, str, tuple[Figure, str] | None]:
    """The picture of a run, its caption, and the second picture if there is one."""
    if item.module is None:
        return *stated(item.run), None
    data = data_of(item.run)
    return *painted(item.module, data), controls(item.module, data)


def figures(context: Context) -> None:
    """Write ``reports/figures/<paper>/<study>.png`` and the folder ``<study>`` beside it."""
    # All of them are drawn before one is written.
    drawings = [(item.origin, *_drawn(item)) for item in chain.drawn(context)]
    for origin, figure, caption, second in drawings:
        save(figure, caption, origin, context.reports / "figures", second)
    if not context.locked:
        paper = drawings[0][0].config["paper"]
        print(f"wrote {context.reports / 'figures' / paper / context.name}.png")


if __name__ == "__main__":
    main(figures, inputs.DRAWS, estimates=True)

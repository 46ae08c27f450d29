"""Command figures: compute a study with any settings, and draw its figure.

    python -m pipelines.figures only=cracking-fig7 studies.cracking-fig7.width=50

With ``-m`` and several values the runs end in a data set and a picture, see :mod:`pipelines.sweep`.
Under DVC the stages `paper` draw the figures of a paper, from its data sets.
"""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from hessian_papers.drawing.interactive import Chart
from hessian_papers.drawing.record import CONTROLS
from hessian_papers.drawing.save import save
from hessian_papers.formulas import plain
from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.ledger.divergence import left_out
from hessian_papers.ledger.evaluation import Measured, Measurement, measurements
from hessian_papers.memory import memory
from hessian_papers.progress import say
from hessian_papers.results import DIVERGED, SCALES
from hessian_spectra.pictures import style
from pipelines import chain, schema
from pipelines.departures import check_run
from pipelines.stage import Context, main
from pipelines.sweep import collect

# The function of a kind that draws a small run over the recorded one.
OVER = "draw_over"


class Under(NamedTuple):
    """The series of another run, and which run that is."""

    series: Sequence[Chart]
    name: str


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


def picture(run: Measured, recorded: Measured | None = None) -> tuple[Figure, str]:
    """The figure of a run and its caption; see :func:`draw`."""
    module = schema.figure_of(run.provenance.config)
    if recorded is not None and hasattr(module, OVER) and is_small(run, recorded):
        with contextlib.suppress(NothingToMeasure):
            left_out(run.data)  # of networks that all diverged there is no point
            figure, caption = getattr(module, OVER)(recorded.data, run.data)
            return figure, caption
    return painted(module, run.data)


def is_small(run: Measured, recorded: Measured) -> bool:
    """Whether a run is the recorded one with smaller sizes, and with no setting of a user's."""
    scales = [SCALES.index(each.provenance.scale) for each in (run, recorded)]
    return scales[0] > scales[1] and not run.provenance.overrides


def draw(
    run: Measured,
    folder: Path,
    recorded: Measured | None = None,
    *,
    under: Under | None = None,
) -> None:
    """Draw the figure of a run, and write its files, see :func:`save`.

    Args:
        run: what it shows.
        folder: holds those of each paper.
        recorded: the recorded run of the study, on which a kind may draw a smaller one.
        under: what another run draws of a figure of a paper, which is drawn beneath it.
    """
    config = run.provenance.config
    module = schema.figure_of(config)
    second = controls(module, run.data)
    package = f"hessian_papers.{schema.kinds('studies')[config['kind']]}"
    figure, caption = picture(run, recorded)
    below = under.series if under else ()
    caption += f" Pale grey, beneath: {under.name}." if under and below else ""
    save(figure, caption, run.provenance, package, folder, second, below)


def computed(context: Context, under: Under | None = None) -> list[Measurement]:
    """Compute the study that a command works on, draw it, and measure its statements."""
    (run,) = chain.computed(context)
    say(context.name, "statements and figure ...")
    cases = measurements([run])
    context.measured.extend(cases)
    draw(run, context.reports / "figures", under=under)
    return cases


def figures(context: Context) -> None:
    """Write ``figures/<paper>/<study>.png`` and the folder ``<study>`` beside it, to the run's."""
    check_run(context.config, context.name)
    computed(context)
    memory().keep()
    paper = chain.raw_study(context)["paper"]
    print(f"wrote {context.reports / 'figures' / paper / context.name}.png")


if __name__ == "__main__":
    main(figures, estimates=True, collect=collect)

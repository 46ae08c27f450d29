"""Stage figures: draw a study's figure from its arrays, and from those of its recorded run."""

from types import ModuleType
from typing import Any

from matplotlib.figure import Figure

from hessian_papers.drawing.save import save
from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.ledger.divergence import left_out
from hessian_papers.results import DIVERGED
from hessian_spectra.pictures import style
from pipelines import chain, inputs
from pipelines.stage import Context, main


def painted(module: ModuleType, reading: Any) -> tuple[Figure, str]:
    """A figure and its caption, with how many trainings diverged if any did.

    Where they leave nothing to draw, both say why.
    """
    try:
        note = left_out(reading)
        figure, caption = module.draw(reading), module.caption(reading)
    except NothingToMeasure as missing:
        return style.words(str(missing)), f"{missing}."
    # Where some always diverge, the caption has more to say of them.
    return figure, caption if DIVERGED in caption else f"{caption} {note}".strip()


def figures(context: Context) -> None:
    """Write ``reports/figures/<paper>/<study>.png`` and the folder ``<study>`` beside it."""
    # All of them are drawn before one is written.
    drawings = [(item, *painted(item.module, item.reading)) for item in chain.drawn(context)]
    for drawing, figure, caption in drawings:
        save(figure, caption, drawing.origin, context.reports / "figures", drawing.recorded)
    if not context.locked:
        paper = drawings[0][0].origin.config["paper"]
        print(f"wrote {context.reports / 'figures' / paper / context.name}.png")


if __name__ == "__main__":
    main(figures, inputs.DRAWS, estimates=True)

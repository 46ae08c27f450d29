"""Stage figures: draw a study's figure from its arrays."""

from hessian_spectra.drawing.save import save
from pipelines import chain
from pipelines.stage import Context, run

READS = ["studies.{only}"]


def figures(context: Context) -> None:
    """Write ``reports/figures/<study>.png`` and ``<study>/{figure.pdf, figure.json}``."""
    drawing = chain.drawn(context)
    save(
        drawing.module.draw(drawing.reading),
        drawing.module.caption(drawing.reading),
        drawing.origin,
        context.reports / "figures",
    )


if __name__ == "__main__":
    run(figures, READS)

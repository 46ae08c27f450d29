"""Stage figures: draw a study's figure from its arrays, and from those of its recorded run."""

from hessian_spectra.drawing.save import save
from pipelines import chain, inputs
from pipelines.stage import Context, main


def figures(context: Context) -> None:
    """Write ``reports/figures/<study>.png`` and the folder ``<study>`` beside it."""
    # All of them are drawn before one is written.
    found = [
        (one, one.module.draw(one.reading), one.module.caption(one.reading))
        for one in chain.drawn(context)
    ]
    for drawing, figure, caption in found:
        save(figure, caption, drawing.origin, context.reports / "figures", drawing.recorded)
    if not context.locked:
        print(f"wrote {context.reports / 'figures' / context.name}.png")


if __name__ == "__main__":
    main(figures, inputs.DRAWS, estimates=True)

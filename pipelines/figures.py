"""Stage figures: draw a study's figure from its arrays."""

from hessian_spectra.drawing.save import save
from pipelines import chain
from pipelines.schema import module_of
from pipelines.stage import Context, run

READS = ["studies.{only}"]


def figures(context: Context) -> None:
    """Write ``reports/figures/<study>.png``, ``.pdf`` and ``.json``."""
    name = context.name
    config = chain.raw_study(context)
    module = module_of("studies", config["kind"], f"studies.{name}", "figure")
    arrays = chain.all_sides(context, name, chain.sides(module))
    figure, caption = module.draw(*arrays), module.caption(*arrays)
    save(figure, caption, name, config, context.reports / "figures")


if __name__ == "__main__":
    run(figures, READS)

"""Stages closed_form, numerics, correlation, gpt2, layerwise, pac_bayes: one side of a study."""

from hessian_papers import labelled
from hessian_papers.results import folder_of
from pipelines import computing, inputs
from pipelines.stage import Context, main


def side(context: Context) -> None:
    """Write ``results/<paper>/<study>/<side>.nc``."""
    study = computing.study_of(context)
    data = computing.evaluate(context, study, context.side)
    folder = folder_of(context.results, study.config.paper, study.name)
    labelled.write(folder / f"{context.side}.nc", data)


if __name__ == "__main__":
    main(side, inputs.COMPUTES, estimates=True)

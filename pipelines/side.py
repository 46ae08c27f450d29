"""Stages closed_form, numerics and correlation: one side of a study."""

from hessian_papers import labelled
from pipelines import computing, inputs
from pipelines.stage import Context, main


def side(context: Context) -> None:
    """Write ``results/<study>/<side>.nc``."""
    study = computing.study_of(context)
    data = computing.evaluate(context, study, context.side)
    labelled.write(context.results / study.name / f"{context.side}.nc", data)


if __name__ == "__main__":
    main(side, inputs.COMPUTES, estimates=True)

"""Stages closed_form, numerics and correlation: one side of a study."""

from hessian_papers import labelled
from pipelines import chain, inputs
from pipelines.stage import Context, main


def side(context: Context) -> None:
    """Write ``results/<study>/<side>.nc``."""
    study = chain.study_of(context)
    data = chain.evaluate(context, study, context.side)
    labelled.write(context.results / study.name / f"{context.side}.nc", data)


if __name__ == "__main__":
    main(side, inputs.COMPUTES, estimates=True)

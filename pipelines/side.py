"""Stages closed_form, numerics and correlation: one side of a study."""

from hessian_spectra.files import write_arrays
from pipelines import chain, inputs
from pipelines.stage import Context, main


def side(context: Context) -> None:
    """Write ``results/<study>/<side>.npz``."""
    study = chain.study_of(context)
    arrays = chain.evaluate(context, study, context.side)
    write_arrays(context.results / study.name / f"{context.side}.npz", arrays)


if __name__ == "__main__":
    main(side, inputs.COMPUTES, estimates=True)

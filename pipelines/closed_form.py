"""Stage closed_form: the exact spectra of a study's networks."""

from hessian_spectra.results import write_arrays
from pipelines import chain
from pipelines.stage import Context, run

READS = ["studies.{only}"]


def closed_form(context: Context) -> None:
    """Write ``results/closed_form/<study>.npz``."""
    study = chain.study_of(context)
    arrays = chain.evaluate(context, study, "closed_form")
    write_arrays(chain.path_of(context, "closed_form", study.name), arrays)


if __name__ == "__main__":
    run(closed_form, READS)

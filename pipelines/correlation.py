"""Stage correlation: what of the weights goes with the curvature over an ensemble's networks."""

from hessian_spectra.results import write_arrays
from pipelines import chain
from pipelines.stage import Context, run

READS = ["studies.{only}"]


def correlation(context: Context) -> None:
    """Write ``results/correlation/<study>.npz``."""
    study = chain.study_of(context)
    arrays = chain.evaluate(context, study, "correlation")
    write_arrays(chain.path_of(context, "correlation", study.name), arrays)


if __name__ == "__main__":
    run(correlation, READS)

"""Stage numerics: the spectra of the same networks by automatic differentiation."""

from hessian_spectra.results import write_arrays
from pipelines import chain
from pipelines.stage import Context, run

READS = ["studies.{only}"]


def numerics(context: Context) -> None:
    """Write ``results/numerics/<study>.npz``."""
    study = chain.study_of(context)
    arrays = chain.evaluate(context, study, "numerics")
    write_arrays(chain.path_of(context, "numerics", study.name), arrays)


if __name__ == "__main__":
    run(numerics, READS)

"""Stage ensembles: draw, train and measure the networks of an ensemble, wherever there is room."""

from hessian_spectra.results import write_arrays
from pipelines import chain
from pipelines.stage import Context, run

READS = ["ensembles.{only}"]


def ensembles(context: Context) -> None:
    """Write ``results/ensembles/<ensemble>.npz``."""
    name = context.only or ""
    write_arrays(chain.path_of(context, "ensembles", name), chain.make_ensemble(context, name))


if __name__ == "__main__":
    run(ensembles, READS)

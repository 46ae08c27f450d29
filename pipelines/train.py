"""Stage train: train a study's networks and keep what it recorded on the way."""

from hessian_spectra.results import write_arrays
from pipelines import chain, live
from pipelines.stage import Context, run

READS = ["studies.{only}"]


def train(context: Context) -> None:
    """Write ``results/train/<study>.npz``."""
    study = chain.study_of(context)
    chain.must_train(study)  # before a W&B run is begun
    if study.fans_out:  # its items log nothing, wherever they run
        arrays = chain.train(context, study)
    else:
        with live.run(context, "train", study) as log:
            arrays = chain.train(context, study, log)
    write_arrays(chain.path_of(context, "train", study.name), arrays)


if __name__ == "__main__":
    run(train, READS)

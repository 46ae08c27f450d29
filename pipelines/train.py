"""Stage train: train networks once and keep what they recorded on the way."""

from pipelines import chain
from pipelines.stage import Context, run

# Networks of several studies are configured for themselves, those of one study by the study.
READS = ["networks.{only}", "studies.{only}"]


def train(context: Context) -> None:
    """Write ``results/networks/<name>/``: ``arrays.npz``, and whatever else the training keeps."""
    chain.train(context, context.name)


if __name__ == "__main__":
    run(train, READS)

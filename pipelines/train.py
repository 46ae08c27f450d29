"""Stage train: train networks once and keep what they recorded on the way."""

from pipelines import computing, inputs
from pipelines.stage import Context, main


def train(context: Context) -> None:
    """Write ``results/networks/<name>/``: a data set, what else is kept, and a manifest of both."""
    computing.train(context, context.name)


if __name__ == "__main__":
    main(train, inputs.COMPUTES, estimates=True)

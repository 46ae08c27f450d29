"""Command publish: make the W&B workspace and report with one group of panels per paper."""

from hessian_papers import tracking
from pipelines.stage import REPORTS, Context, main


def publish(context: Context) -> None:
    """Save both on the server and print their addresses; needs `wandb login`."""
    for address in tracking.publish(context.tracking.project, context.tracking.entity, REPORTS):
        print(address)


if __name__ == "__main__":
    main(publish)

"""Command upload: send the W&B runs that were recorded offline, if runs go online now.

DVC skips stages that are up to date, so that a run which was made offline would stay there.
"""

from hessian_papers import tracking
from pipelines.computing import WANDB
from pipelines.stage import Context, main


def upload(context: Context) -> None:
    """Upload what was not uploaded yet, one line a run; offline nothing is done."""
    tracking.upload_waiting(WANDB, context.tracking.mode)


if __name__ == "__main__":
    main(upload)

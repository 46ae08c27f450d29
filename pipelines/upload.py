"""Command upload: send the W&B runs that were recorded offline, if runs go online now.

DVC skips stages that are up to date, so that a run which was made offline would stay there. Whether
runs go online is what conf/tracking says, or the variable WANDB_MODE.
"""

import sys

from hessian_papers.tracking import upload_waiting
from hessian_spectra.validation import require
from pipelines.folders import CONF, WANDB
from pipelines.lifetime import mendable
from pipelines.yaml_files import read_yaml


def upload(*arguments: str) -> None:
    """Upload what was not uploaded yet, one line a run; offline nothing is done."""
    require(not arguments, "upload", "no arguments, but the variable WANDB_MODE", arguments)
    upload_waiting(WANDB, read_yaml(CONF / "tracking" / "wandb.yaml")["mode"])


if __name__ == "__main__":
    # Without Hydra, which takes a second to compose all settings.
    with mendable():
        upload(*sys.argv[1:])

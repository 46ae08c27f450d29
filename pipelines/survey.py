"""Stage survey: look at settings, code, packages and files, and write what each stage is made from.

It is always run: DVC does not see a package that was upgraded, nor a file of the user's that was
changed in place. What depends on neither is not run again.
"""

import gc
import sys

from pipelines import inputs
from pipelines.lifetime import end_with_dvc
from pipelines.stage import INPUTS, PARAMS, failed
from pipelines.yaml_files import read_yaml


def survey() -> None:
    """Write ``results/inputs``."""
    inputs.write(INPUTS, read_yaml(PARAMS))


if __name__ == "__main__":
    end_with_dvc()
    # Syntax trees have no cycles: to look for some takes longer than to parse all modules.
    gc.disable()
    # Without Hydra, which takes a second to compose what stands resolved in the file.
    try:
        survey()
    except Exception as error:
        sys.exit(failed(error))

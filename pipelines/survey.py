"""Stage survey: look at settings, code, packages and files, and write what each stage is made from.

It is always run: DVC does not see a package that was upgraded, nor a file of the user's that was
changed in place. What depends on neither is not run again.
"""

import gc
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hessian_papers.drawing.record import files
from pipelines import inputs
from pipelines.configure import KEPT
from pipelines.lifetime import end_with_dvc
from pipelines.stage import INPUTS, PARAMS, REPORTS, failed
from pipelines.yaml_files import read_yaml


def remove_left_over(figures: Path, studies: Mapping[str, Any]) -> list[str]:
    """The files of figures are removed where the configuration has the study no more.

    DVC leaves what a stage wrote when the stage itself is gone, and the page is made of all figures
    that are there.

    Args:
        figures: the folder with those of each paper.
        studies: the studies that there are, by name.

    Returns:
        The studies whose figures were removed.
    """
    records = [path.parent for path in figures.glob("*/*/figure.json")]
    left_over = sorted(own for own in records if own.name not in studies)
    for own in left_over:
        files(own.parent, own.name)["png"].unlink(missing_ok=True)
        shutil.rmtree(own)
    return [own.name for own in left_over]


def survey() -> None:
    """Write ``results/inputs``."""
    params = read_yaml(PARAMS)
    for line in PARAMS.read_text("utf-8").splitlines():
        if line.startswith(KEPT):
            print(line.removeprefix("# "))
    for study in remove_left_over(REPORTS / "figures", params["studies"]):
        print(f"{study} is no study any more: its figures were removed")
    inputs.write(INPUTS, params)


if __name__ == "__main__":
    end_with_dvc()
    # Syntax trees have no cycles: to look for some takes longer than to parse all modules.
    gc.disable()
    # Without Hydra, which takes a second to compose what stands resolved in the file.
    try:
        survey()
    except Exception as error:
        sys.exit(failed(error))

"""Stage survey: look at settings, code, packages and files, and write what each stage is made from.

It is always run: DVC does not see a package that was upgraded, nor a file of the user's that was
changed in place. What depends on neither is not run again.
"""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hessian_papers.memory import memory
from pipelines import kept
from pipelines.folders import CONF, EVIDENCE, INPUTS, PARAMS, REPORTS, ROOT, fill
from pipelines.lifetime import end_with_dvc, mendable

# Where code, settings and recorded runs are.
FOLDERS = (ROOT / "src", ROOT / "pipelines", CONF, EVIDENCE)


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
        own.with_name(f"{own.name}.png").unlink(missing_ok=True)
        shutil.rmtree(own)
    return [own.name for own in left_over]


def looked_at() -> list[Path]:
    """The settings, the code, the recorded runs and the packages that stages are made from.

    A folder of packages changes when one comes, goes or gets another version.
    """
    files = [file for folder in FOLDERS for file in sorted(folder.rglob("*")) if file.is_file()]
    packages = [place for place in map(Path, sys.path) if place.is_dir()]
    ours = {Path.cwd(), ROOT, ROOT / "src"}
    kept = [file for file in files if file.suffix != ".pyc"]
    return [PARAMS, *kept, *(place for place in packages if place not in ours)]


def look(*_: Path) -> tuple[dict[str, str], bool]:
    """The files of all stages, see :func:`pipelines.inputs.texts`."""
    # With what they import they take longer to load than all else here.
    from pipelines import inputs
    from pipelines.yaml_files import read_yaml

    params = read_yaml(PARAMS)
    for study in remove_left_over(REPORTS / "figures", params["studies"]):
        print(f"{study} is no study any more: its figures were removed")
    return inputs.texts(params)


def survey() -> None:
    """Write ``results/inputs``."""
    if line := kept.said():
        print(line)
    # A user's own files change at other times.
    texts, _ = memory().of(look, *looked_at(), lasts=lambda result: not result[1])
    fill(INPUTS, texts)
    memory().keep()


if __name__ == "__main__":
    end_with_dvc()
    # Without Hydra, which takes a second to compose what stands resolved in the file.
    with mendable():
        survey()

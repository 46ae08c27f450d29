"""Where settings, results and pages are, and how a folder is filled."""

import os
from collections.abc import Mapping
from pathlib import Path

from hessian_spectra.files import write_bytes

ROOT = Path(__file__).resolve().parent.parent
CONF = ROOT / "conf"
# What lists all studies, and all keys of kinds.
MAP = "MAP.md"
# In the folder where a command runs.
PARAMS = Path("params.yaml")
RESULTS = Path("results")
REPORTS = Path("reports")
INPUTS = RESULTS / "inputs"
EVIDENCE = REPORTS / "evidence"
# Where W&B keeps its runs: of a queued experiment, which runs in a copy, in the repository itself.
WANDB = Path(os.environ.get("DVC_ROOT", "."))


def fill(folder: Path, texts: Mapping[str, str]) -> None:
    """Write the files of a folder that are not there as they should be, and remove all others."""
    contents = {folder / name: text.encode() for name, text in texts.items()}
    for left in {file for file in folder.rglob("*") if file.is_file()} - {*contents}:
        left.unlink()
    for file, content in contents.items():
        if not (file.is_file() and file.read_bytes() == content):
            write_bytes(file, content)

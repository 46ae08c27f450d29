"""Converts the recorded runs of some studies, once.

    python -m migration.evidence STUDY...

reads ``closed_form.npz``, ``numerics.npz`` or ``correlation.npz`` of ``reports/evidence/<study>``,
writes ``data.nc`` and removes them. The module ``migration.evidence.<kind>`` says which variable of
the study's data set each array is.
"""

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import xarray as xr

from hessian_papers import labelled
from hessian_papers.results import sides_of
from hessian_spectra.files import Arrays, read_arrays, read_json
from pipelines import schema
from pipelines.recorded import EVIDENCE


def data_of(folder: Path, config: Mapping[str, Any]) -> xr.Dataset:
    """The arrays of a folder as the data set of the study."""
    sides: dict[str, Arrays] = {
        side: read_arrays(folder / f"{side}.npz") for side in sides_of(config)
    }
    kind = config["kind"]
    arrays = import_module(f"migration.evidence.{kind}").arrays(sides, config)
    return labelled.data_set(arrays, schema.module_of("studies", kind, "").VARIABLES)


def convert(study: str) -> None:
    """Convert the recorded run of a study."""
    folder = EVIDENCE / study
    config = read_json(folder / "facts.json", "git checkout")["study"]
    data = data_of(folder, config)
    labelled.write(folder / labelled.WHOLE, data)
    assert labelled.read(folder / labelled.WHOLE).identical(data)
    for side in sides_of(config):
        (folder / f"{side}.npz").unlink()


if __name__ == "__main__":
    for study in sys.argv[1:]:
        convert(study)

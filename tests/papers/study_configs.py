"""Configurations of studies and what these compute, for tests of any kind."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import xarray as xr

# What no study computes with.
HEAD = {"kind": "test", "paper": "singh2026cracking", "artifact": "test", "title": "test"}


def configured(study: ModuleType, fields: Mapping[str, object]) -> Any:
    """A configuration of a kind of studies, by what it has of its own; the kind is its package."""
    return study.Config(**(HEAD | {"kind": study.__name__.split(".")[-2]} | dict(fields)))


def both_sides(
    study: ModuleType, config: object, given: xr.Dataset | None = None
) -> dict[str, xr.Dataset]:
    """The closed form and the numerics of a study, of its data or networks if it has any."""
    start = xr.Dataset() if given is None else given
    return {
        "closed_form": study.closed_form(config, start),
        "numerics": study.numerics(config, start),
    }

"""Exact and numerical spectra of neural-network Hessians."""

import importlib
from typing import Any

# They are loaded at first use, since torch takes seconds, and are no imports that the digest of a
# study's code would follow.
_ROOMS = (
    "closed_form",
    "curvature",
    "models",
    "pac_bayes",
    "pictures",
    "seeding",
    "spectrum",
    "statistics",
    "training",
)

# The version and its day.
_ABOUT = ("__version__", "__date__")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _ABOUT:
        return getattr(importlib.import_module(f"{__name__}._version"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS, *_ABOUT})

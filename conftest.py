"""Annotated signatures are checked in the tests: installed before anything imports the library."""

import os
import re
from pathlib import Path

from beartype import BeartypeConf
from beartype.claw import beartype_package
from hypothesis import settings
from jaxtyping import install_import_hook

SOURCE = Path(__file__).parent / "src"
# What jaxtyping wraps is checked for shapes as well, and takes ten times as long to call: so it
# wraps the modules alone that annotate shapes.
SHAPED = [
    ".".join(file.relative_to(SOURCE).with_suffix("").parts)
    for file in SOURCE.rglob("*.py")
    if re.search(r"^from jaxtyping import", file.read_text(), re.MULTILINE)
]

# Where the same tests have run with them before, a sixth of the time is saved.
if os.environ.get("SIGNATURES") != "unchecked":
    for package in ("hessian_spectra", "hessian_papers"):
        beartype_package(package, conf=BeartypeConf(claw_is_pep526=False))
    install_import_hook(SHAPED, "beartype.beartype")

# How long an example takes depends on what else the machine does: no test is one of time.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

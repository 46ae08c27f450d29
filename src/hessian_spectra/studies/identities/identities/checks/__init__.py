"""What the study of the identities compares, in numpy, for its claims and its figure alike."""

import numpy as np

from hessian_spectra.results import Arrays
from hessian_spectra.studies.identities.identities.checks import (
    attention,
    bias,
    deep,
    linear,
    relu,
    wide,
)
from hessian_spectra.studies.identities.identities.checks.check import EXACT, ROOT, Check
from hessian_spectra.studies.identities.identities.checks.ragged import parts, relative


def _second_library(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """Our Hessians against another library's, where that one was asked."""
    found = []
    for name in [key for key in numeric if key.endswith(".second_hessian")]:
        ours = parts(numeric, name.replace("second_hessian", "hessian"))
        pairs = zip(ours, parts(numeric, name), strict=True)
        found += [relative(one, other) for one, other in pairs if len(other)]
    return np.array(found)


CHECKS: dict[str, Check] = {
    **linear.CHECKS,
    **relu.CHECKS,
    **bias.CHECKS,
    **wide.CHECKS,
    **attention.CHECKS,
    **deep.CHECKS,
    "second-library": Check("brute force: curvlinops", _second_library),
}

# Printed formulas beyond their assumptions; here an error is what one expects.
WITHOUT_ASSUMPTIONS = {**bias.WITHOUT_ASSUMPTIONS, **wide.WITHOUT_ASSUMPTIONS}

__all__ = ["CHECKS", "EXACT", "ROOT", "WITHOUT_ASSUMPTIONS", "Check"]

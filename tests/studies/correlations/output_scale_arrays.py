"""Both sides of the study of output sizes at its smallest."""

from functools import cache

import numpy as np

from hessian_spectra.studies.correlations.output_scale import study

SMALL = {
    "parametrisations": list(study.SCALES),
    "activations": ["linear", "relu"],
    "depths": [2, 3],
    "widths": [8, 32],
    "size": 4,
    "samples": 8,
    "draws": 60,
    "seed": 0,
}


def config(**changes: object) -> study.Config:
    """A valid configuration of the study, with some fields changed."""
    fields = {
        "kind": "output_scale",
        "paper": "singh2026cracking",
        "artifact": "Appendix D.1.3",
        "title": "Output sizes",
    }
    return study.Config(**(fields | SMALL | changes))


@cache
def sides() -> dict[str, dict[str, np.ndarray]]:
    """The expected and the measured sizes of the smallest study."""
    return {
        "closed_form": study.closed_form(config(), {}),
        "numerics": study.numerics(config(), {}),
    }

"""Configurations of studies along sizes or depths, for planted ensembles."""

from ensemble_arrays import NORMS
from study_configs import configured

from hessian_papers.studies.correlations.norm_correlation import study as norm_correlation
from hessian_papers.studies.correlations.predicted_correlation import study as predictions
from hessian_papers.studies.correlations.sharpness_bounds import study as sharpness_bounds

FIELDS = {
    "ensemble": "test",
    "seed": 0,
    "parametrisations": ["sp", "ntp"],
    "along": "size",
    "depths": [2],
    "sizes": [],
}


def norms_config(**changes: object) -> norm_correlation.Config:
    """Squared norms of two matrices against the sharpness, with some fields changed."""
    own = {
        "target": "sharpness",
        "quantities": ["matrices"],
        "norms": list(NORMS),
        "highlighted": "spectral",
        "confidence": 0.95,
    }
    return configured(norm_correlation, FIELDS | own | changes)


def bounds_config(**changes: object) -> sharpness_bounds.Config:
    """The sharpness over both formulas, with some fields changed."""
    return configured(sharpness_bounds, FIELDS | changes)


def predictions_config(**changes: object) -> predictions.Config:
    """Correlations and what predicts them, with some fields changed."""
    return configured(predictions, FIELDS | changes)

"""Real data: the diabetes study that scikit-learn carries with it, standardised."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import xarray as xr

from hessian_papers.constraints import OneOf
from hessian_papers.data.base import (
    OFFLINE,
    ONE_FEATURE,
    SEVERAL_FEATURES,
    DataConfig,
    Form,
    Storage,
)
from hessian_papers.data.tools.pairs import SCALARS, VECTORS
from hessian_papers.labelled import Variable, Variables, data_set
from hessian_spectra.validation import optional_import

FEATURES = ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6")


@dataclass(frozen=True, kw_only=True)
class Config(DataConfig):
    """Settings of the diabetes data.

    Args:
        feature: one of the ten features for the scalar networks, or ``all`` of them.
    """

    feature: Annotated[str, OneOf(("all", *FEATURES))]

    @property
    def form(self) -> Form:
        """One feature of the patients, or all."""
        if self.feature == "all":
            return Form(SEVERAL_FEATURES, (442, len(FEATURES)))
        return Form(ONE_FEATURE, (442,))


VARIABLES: Variables = {**VECTORS, "feature": Variable("feature", "name of the measurement")}


def _standardised(columns: np.ndarray) -> np.ndarray:
    """Columns with zero mean and unit second moment."""
    centred = columns - columns.mean(axis=0)
    return centred / np.sqrt(np.mean(centred**2, axis=0))


def make(config: Config, storage: Storage = OFFLINE) -> xr.Dataset:
    """The 442 patients: baseline measurements x and disease progression a year later y.

    All columns and the target have zero mean and unit second moment, so that the closed forms for
    whitened scalar inputs apply to a single feature. The ten features stay correlated.

    Returns:
        ``x`` ``(442,)`` for one feature or ``(442, 10)`` for all with the names of each
        ``feature``, and ``y`` ``(442,)``.

    Example:
        >>> make(Config(kind="diabetes", seed=0, feature="all"))["x"].shape
        (442, 10)
    """
    # Imported here: scikit-learn takes a second to load, and only this function needs it.
    datasets = optional_import("sklearn.datasets", "pipeline")
    inputs, targets = datasets.load_diabetes(return_X_y=True, scaled=False)
    x, y = _standardised(inputs.astype(np.float64)), _standardised(targets.astype(np.float64))
    if config.feature != "all":
        column = np.ascontiguousarray(x[:, FEATURES.index(config.feature)])
        return data_set({"x": column, "y": y}, SCALARS)
    return data_set({"feature": np.array(FEATURES), "x": x, "y": y}, VARIABLES)

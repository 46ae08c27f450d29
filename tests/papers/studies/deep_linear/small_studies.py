"""Small instances of the studies of balanced networks."""

import numpy as np
import xarray as xr
from claims_contract import Kind, planted_data
from samples import samples
from study_configs import both_sides, configured

from hessian_papers.studies.deep_linear.balanced_spectrum import claims as spectrum_claims
from hessian_papers.studies.deep_linear.balanced_spectrum import study as balanced_spectrum
from hessian_papers.studies.deep_linear.depth_and_norm import claims as depth_claims
from hessian_papers.studies.deep_linear.depth_and_norm import study as depth_and_norm

SQUARE, RECTANGULAR = [3, 3, 3, 3], [4, 2, 5, 3]


class Small:
    """A kind of studies with settings at which one takes a moment.

    Args:
        study: its module.
        claims: the module of its claims.
        artifact: the figure that they are about.
        shape: samples and features of the data.
        fields: settings.
    """

    def __init__(self, study, claims, artifact, shape, **fields):
        self.study, self.claims, self.shape = study, claims, shape
        self.about = {"paper": "anon2026data", "artifact": artifact}
        self.fields = {"data": "test"} | fields

    def config(self, **changes):
        return configured(self.study, self.fields | self.about | changes)

    def sample(self, **changes):
        """The data; ``size`` and ``features`` are of another shape."""
        shape = {"size": self.shape[0], "features": self.shape[1]} | changes
        x = np.random.default_rng(0).normal(size=tuple(shape.values()))
        return samples(x, np.zeros(len(x)))

    def both(self, **changes):
        return both_sides(self.study, self.config(**changes), self.sample())

    def closed_only(self, **changes):
        """Both sides from the closed form, where the equation itself is in question."""
        exact = self.study.closed_form(self.config(**changes), self.sample())
        return {"closed_form": exact, "numerics": xr.Dataset({"sharpness": exact["predicted"]})}

    def data(self, sides):
        return planted_data(sides, self.study.VARIABLES)

    def entries(self, sides, **about):
        """The statements on a study with these sides, by their names."""
        kind = Kind(self.claims.statements, self.study.VARIABLES)
        return kind.entries(sides, **self.about | about)


SPECTRUM = Small(
    balanced_spectrum,
    spectrum_claims,
    "Figure 1a",
    (12, 5),
    seed=1,
    input_scale=3.0,
    architectures=[SQUARE, RECTANGULAR],
    residual=0.5,
    top=3,
)
DEPTHS = Small(
    depth_and_norm,
    depth_claims,
    "Figure 1b",
    (9, 4),
    seed=3,
    input_scale=1.0,
    largest_depth=5,
    norms=[0.125, 0.4, 1.5],
    contour_points=9,
    smallest_width=2,
    largest_width=4,
)

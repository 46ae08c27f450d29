"""Two eigenvalues, as figure and claims read them."""

import numpy as np

from hessian_papers.results import StudyArrays


class Reading(StudyArrays):
    """The two eigenvalues of both sides."""

    @property
    def error(self) -> float:
        """Their largest difference, relative to the largest eigenvalue."""
        exact, numeric = (side["eigenvalues"] for side in (self.closed_form, self.numerics))
        return float(np.abs(exact - numeric).max() / np.abs(numeric).max())

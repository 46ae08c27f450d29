"""The full Hessian's top beside its forms, as figure and claims read it."""

import numpy as np

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure, mean_of
from hessian_papers.results import StudyArrays
from hessian_papers.studies.stored import Stored, texts

CORRECTED, PRINTED = "corrected", "printed"


class Reading(StudyArrays):
    """Quantities of A architectures and S seeds after training, t eigenpairs of each."""

    networks = Stored("network", texts)  # the architectures

    @property
    def outliers(self) -> int:
        """``c − 1``, as many outliers as the paper expects for c classes.

        Raises:
            NothingToMeasure: the study has fewer eigenvalues.
        """
        count = int(self["classes"]) - 1
        if not 1 <= count <= self["hessian"].shape[-1]:
            raise NothingToMeasure(f"this configuration has fewer than {count} eigenvalues")
        return count

    def of(self, name: str, network: str, form: str = "") -> np.ndarray:
        """An array of an architecture, ``(S, t)``; of one form where there are several."""
        values = self[name][self.networks.index(network)]
        return np.asarray(values[:, self["form"].tolist().index(form)] if form else values)

    def value_error(self, network: str, form: str) -> Estimate:
        """The mean relative error of the top ``c − 1`` eigenvalues, mean over seeds."""
        top = slice(self.outliers)
        exact = self.of("hessian", network)[:, top]
        errors = np.abs(self.of("forms", network, form)[:, top] / exact - 1)
        return mean_of(errors.mean(axis=1))

    def space(self, network: str, form: str) -> np.ndarray:
        """The overlap of the top ``c − 1`` spaces, ``(S,)``."""
        return self.of("overlap", network, form)[:, self.outliers - 1]

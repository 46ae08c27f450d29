"""What figures and claims of all studies of ensembles read: places on axes, how training ended."""

from hessian_spectra.ledger.bounds import NothingToMeasure
from hessian_spectra.results import StudyArrays

# How texts say the names on the arrays' axes.
PARAMETRISATIONS = {"sp": "SP", "mup": "μP", "ntp": "NTP"}
TIMES = {"initialisation": "at initialisation", "trained": "after training"}
NORMS = {"spectral": "spectral", "frobenius": "Frobenius", "nuclear": "nuclear"}


class EnsembleReading(StudyArrays):
    """The arrays of a study of an ensemble, addressed by names instead of indices."""

    def place(self, axis: str, name: str | int) -> int:
        """Where a name stands on an axis.

        Raises:
            NothingToMeasure: it does not; the study leaves it out.
        """
        names = self[axis].tolist()
        if name not in names:
            raise NothingToMeasure(f"this configuration leaves out {axis} {name}")
        return int(names.index(name))

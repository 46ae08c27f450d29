"""What the configurations of all ensembles have in common."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class EnsembleConfig:
    """The fields that every ``conf/ensembles/<ensemble>.yaml`` has.

    Args:
        kind: the module of ``hessian_spectra.networks`` that makes it.
        seed: seed of all random draws of the ensemble.
    """

    kind: str
    seed: int

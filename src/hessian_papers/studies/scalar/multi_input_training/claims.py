"""What the paper says about several inputs, on correlated data, and how it is measured."""

import xarray as xr

from hessian_papers.ledger.bounds import NothingToMeasure, at_least, within
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.verdicts import always
from hessian_papers.studies.spectra import error, group
from hessian_papers.studies.trainings import compared
from hessian_spectra.agreement import EXACT

ROUND_OFF = "round-off of a dense float64 eigen-decomposition is below 1e-14 of λ₁"

statements = Statements()
real_data = statements.about("singh2026cracking", "Corollary B.1 on real data")


@statements.identity(
    "Corollary B.1, extended to correlated inputs",
    within(EXACT, ROUND_OFF, source="our extension of Corollary B.1"),
    id="correlated-spectrum-through-training",
    book="beyond",
)
def spectrum(data: xr.Dataset) -> float:
    """At every step of training on real, correlated data the spectrum is the bulk ±δx_d (m − 1
    times each) and the 2D eigenvalues of diag(δx_d, −δx_d) + Σ_de u_d u_eᵀ, u_d = (‖w_d + v_d‖,
    ‖w_d − v_d‖)/√2.
    """
    return float(error(compared(data)).max())


@statements.identity(
    "Corollary B.1", within(EXACT, ROUND_OFF, source="Corollary B.1"), id="bulk-of-several-inputs"
)
def bulk(data: xr.Dataset) -> float:
    """The bulk is ±δx_d with δx_d = E[x_d (f(x) − y)], for correlated inputs too."""
    data = compared(data)
    differences = group(data, "bulk") - group(data, "bulk", of="numerical")
    if not differences.size:
        raise NothingToMeasure("this configuration has width 1, with which there is no bulk")
    return float((abs(differences) / abs(data["numerical"]).max("rank")).max())


@real_data.statement(
    "Corollary B.1, assumption E[x_i x_j] = 0",
    always,
    at_least(
        0.1,
        "a lower bound that leaves no doubt; round-off is below 1e-14",
        source="our bound: a tenth of the largest eigenvalue",
    ),
    id="decorrelation-is-needed",
    otherwise="On inputs that are nearly decorrelated the direct sum is nearly right.",
    book="beyond",
)
def decorrelation_is_needed(data: xr.Dataset) -> float:
    """Where the inputs are correlated, the direct sum over coordinates is not the spectrum.

    Statistic: its largest error during training, relative to λ₁.
    """
    return float(error(compared(data.assign(exact=data["decorrelated"]))).max())

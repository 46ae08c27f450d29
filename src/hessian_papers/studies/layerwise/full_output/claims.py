"""Statements of appendix C of wu2022dissecting on the full Hessian."""

import xarray as xr

from hessian_papers.ledger.bounds import at_least
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.verdicts import typically
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.layerwise.full_output.derived import outliers

OPEN = "'reasonably accurate' has no number; set after a first look at small networks on digits"
VARIANCE = (
    "The form takes each layer's input for its mean. What the inputs vary by is left out of the "
    "values, which are then too small, and turns the vectors."
)

statements = Statements().having(otherwise=VARIANCE, over=["network"])


@statements.statement(
    "appendix C", typically, reading_of("nearly"), id="full-hessian-has-the-top-eigenvalues"
)
def top_values(data: xr.Dataset) -> xr.DataArray:
    """The full Hessian's top eigenvalues are nearly $σ_i ‖w_i‖^2$, of the eigenpairs of the second
    derivative by the outputs of all layers with the mean inputs attached.

    Statistic: mean relative error of as many as there are classes, minus one, mean over networks
    after training; interval: Student's t.
    """
    top = data.sel(form="printed").isel(rank=slice(outliers(data)))
    return abs(top["approximation"] / top["hessian"] - 1).mean("rank")


@statements.statement(
    "appendix C",
    typically,
    at_least(0.5, OPEN, source="ours"),
    id="full-hessian-has-the-top-eigenspace",
    book="readings",
)
def top_space(data: xr.Dataset) -> xr.DataArray:
    """The full Hessian's top eigenspace is nearly that of the $w_i$.

    Statistic: overlap of the spaces of as many eigenvectors as there are classes, minus one, mean
    over networks after training; interval: Student's t.
    """
    return data["overlap"].sel(form="printed").isel(rank=outliers(data) - 1)

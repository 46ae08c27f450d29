"""Statements of appendix C of wu2022dissecting on the full Hessian."""

import xarray as xr

from hessian_papers.ledger.bounds import at_least
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.layerwise.full_output.derived import outliers

OPEN = "'reasonably accurate' has no number; chosen after a first look at small networks on digits"
VARIANCE = (
    "The form replaces each layer's input by its mean. It neglects the variance of the "
    "inputs, so the eigenvalues are too small and the eigenvectors rotated."
)

statements = Statements().having(otherwise=VARIANCE, over=["network"])


@statements.typically("appendix C", reading_of("nearly"), id="full-hessian-has-the-top-eigenvalues")
def top_values(data: xr.Dataset) -> xr.DataArray:
    """The full Hessian's top eigenvalues are nearly $σ_i ‖w_i‖^2$. They come from the eigenpairs of
    the second derivative with respect to all layers' outputs, with the mean inputs attached.

    Statistic: mean relative error of the top $c - 1$, with c classes, mean over networks after
    training; interval: Student's t.
    """
    top = data.sel(form="printed").isel(rank=slice(outliers(data)))
    return abs(top["approximation"] / top["hessian"] - 1).mean("rank")


@statements.typically(
    "appendix C",
    at_least(0.5, OPEN, source="ours"),
    id="full-hessian-has-the-top-eigenspace",
    book="readings",
)
def top_space(data: xr.Dataset) -> xr.DataArray:
    """The full Hessian's top eigenspace is nearly that of the $w_i$.

    Statistic: overlap of the top $c - 1$ spaces, with c classes, mean over networks after training;
    interval: Student's t.
    """
    return data["overlap"].sel(form="printed").isel(rank=outliers(data) - 1)

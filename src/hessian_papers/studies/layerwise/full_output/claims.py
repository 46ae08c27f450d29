"""Statements of appendix C of wu2022dissecting on the full Hessian."""

import xarray as xr

from hessian_papers.ledger.bounds import at_least, needs
from hessian_papers.ledger.conditions import AFTER_TRAINING
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.layerwise.full_output.derived import GAUSS_NEWTON, outliers
from hessian_papers.studies.layerwise.standing import NEAR_A_MINIMUM

OPEN = "'reasonably accurate' has no number; chosen after a first look at small networks on digits"
VARIANCE = (
    "The form replaces each layer's input by its mean. It neglects the variance of the "
    "inputs, so the eigenvalues are too small and the eigenvectors rotated."
)

statements = Statements().having(otherwise=VARIANCE, over=["network"])
at_a_minimum = statements.having(state=NEAR_A_MINIMUM)


def _error(data: xr.Dataset, form: str) -> xr.DataArray:
    """The mean relative error of a form's top ``c − 1`` eigenvalues."""
    needs(form in data["form"], f"this run has no eigenvalues of the form {form}")
    top = data.sel(form=form).isel(rank=slice(outliers(data)))
    return abs(top["approximation"] / top["hessian"] - 1).mean("rank")


@at_a_minimum.typically(
    "appendix C, (260) to (263)",
    reading_of("nearly"),
    id="full-hessian-has-the-top-eigenvalues",
)
def top_values(data: xr.Dataset) -> xr.DataArray:
    """The full Hessian's top eigenvalues are nearly $σ_i ‖w_i‖^2$. They come from the eigenpairs of
    the second derivative with respect to all layers' outputs, with the mean inputs attached.

    Statistic: mean relative error of the top $c - 1$, with c classes, mean over networks after
    training; interval: Student's t.
    """
    return _error(data, "printed")


@at_a_minimum.typically(
    "appendix C, (260) to (263)",
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


@statements.typically(
    "appendix C, (255)",
    reading_of("nearly"),
    id="top-eigenvalues-are-those-of-the-gauss-newton-term",
    state=AFTER_TRAINING,
)
def gauss_newton(data: xr.Dataset) -> xr.DataArray:
    """Of trained networks the first term dominates the full Hessian, whose top eigenvalues come
    from it.

    Statistic: mean relative error of the Gauss-Newton matrix's top $c - 1$ eigenvalues, with c
    classes, mean over networks after training; interval: Student's t.
    """
    return _error(data, GAUSS_NEWTON)

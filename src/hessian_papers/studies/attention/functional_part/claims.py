"""The statements of section 3.3 of singh2026cracking about the functional Hessian."""

from collections.abc import Iterator

import xarray as xr

from hessian_papers.ledger.bounds import at_least, within
from hessian_papers.ledger.statements import Labels, Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.attention.functional_part.derived import functional_part
from hessian_spectra.agreement import EXACT

SECTION = 'section 3.3, "Comparison With the Linear Network Spectrum"'
NAMES = {"linear": "two-layer linear", "relu": "two-layer ReLU"}
MOST = reading_of("most")
NOT_MOST = reading_of("most", relation="<=")
UNNAMED = (
    "The sentence counts terms. How much of the bound those with residuals make depends on the "
    "weights' norms, and on the residuals, which the sentence does not name."
)

statements = Statements(values=NAMES).having(paper="singh2026cracking", book="readings")


@statements.beyond.identity(
    "Theorems 3.1, 3.4 and 3.5", within(EXACT, "round-off of float64 eigenvalues", source="theorem")
)
def without_residuals_it_is_the_gauss_newton_matrix(data: xr.Dataset) -> float:
    """With its own outputs as targets, a network's largest Hessian eigenvalue is that of the
    Gauss-Newton matrix.

    Statistic: largest difference from the numerical matrices over their eigenvalue, of Hessian and
    Gauss-Newton matrix.
    """
    exact = data.sel(quantity="largest eigenvalue", draw=data["checked_draw"])
    errors = [
        abs(exact[name] / exact[f"numerical_{name}"] - 1) for name in ("hessian", "gauss_newton")
    ]
    return float(max(error.max(skipna=False) for error in errors))


def _each(data: xr.Dataset) -> Iterator[Labels]:
    for quantity in ("lower bound", "upper bound"):
        for norm in data["weight_norm"].values.tolist():
            yield {"quantity": quantity, "norm": norm}


def _mean_part(data: xr.Dataset, model: str, quantity: str, norm: float) -> xr.DataArray:
    labels = {"model": model, "quantity": quantity, "weight_norm": norm}
    return functional_part(data.sel(labels)).rename("part")


@statements.left_open(SECTION, MOST, each=_each, otherwise=UNNAMED)
def functional_dictates_attention(data: xr.Dataset, quantity: str, norm: float) -> xr.DataArray:
    """In self-attention most of the largest eigenvalue's bounds is dictated by the functional
    Hessian.

    Statistic: what the residuals add to the bound, or take from it, over the sum of that and the
    bound without residuals; interval: Student's t over draws.
    """
    return _mean_part(data, "attention", quantity, norm)


def _each_other(data: xr.Dataset) -> Iterator[Labels]:
    for model in NAMES:
        for norm in data["weight_norm"].values.tolist():
            yield {"model": model, "norm": norm}


@statements.left_open(SECTION, NOT_MOST, each=_each_other)
def functional_does_not_dictate_others(data: xr.Dataset, model: str, norm: float) -> xr.DataArray:
    """Most of the largest eigenvalue is not dictated by the functional Hessian in linear and ReLU
    networks.

    Statistic: what the residuals add to the eigenvalue, or take from it, over the sum of that and
    the eigenvalue without residuals; interval: Student's t over draws.
    """
    return _mean_part(data, model, "largest eigenvalue", norm)


MORE = at_least(0.0, "a sign, for a paired difference", source="what the comparison says")


def _each_pair(data: xr.Dataset) -> Iterator[Labels]:
    for norm in data["weight_norm"].values.tolist():
        for model in NAMES:
            yield {"model": model, "norm": norm}


@statements.left_open(SECTION, MORE, each=_each_pair, otherwise=UNNAMED)
def functional_part_is_larger(data: xr.Dataset, model: str, norm: float) -> xr.DataArray:
    """More of the largest eigenvalue is dictated by the functional Hessian in self-attention than
    without it, at the same norms, inputs and targets.

    Statistic: what the residuals add to the eigenvalue or take from it, over the sum of that and
    the eigenvalue without residuals. That in self-attention minus that in the other network, with
    Student's t over draws.
    """
    parts = [_mean_part(data, name, "largest eigenvalue", norm) for name in ("attention", model)]
    return parts[0] - parts[1]

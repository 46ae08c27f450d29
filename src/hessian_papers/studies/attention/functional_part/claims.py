"""The statements of section 3.3 of singh2026cracking about the functional Hessian."""

from collections.abc import Iterator

import xarray as xr

from hessian_papers.ledger.bounds import at_least, at_most, within
from hessian_papers.ledger.conditions import ANY_STATE
from hessian_papers.ledger.statements import Labels, Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.attention.functional_part.derived import functional_part
from hessian_spectra.agreement import EXACT

SECTION = 'section 3.3, "Comparison With the Linear Network Spectrum"'
NAMES = {"linear": "two-layer linear", "relu": "two-layer ReLU", "attention": "self-attention"}
HALF = "most of some terms is more than half of them"
SCALED = "targets times "

statements = Statements(values=NAMES).having(paper="singh2026cracking", state=ANY_STATE)
ours = statements.beyond


@ours.identity(
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


@statements.always(SECTION, at_least(0.5, HALF), id="functional-dictates-attention")
def most_terms_have_residuals(data: xr.Dataset) -> float:
    """Most of the terms in the bounds on self-attention's largest eigenvalue come from the
    functional Hessian, which is not true of linear and ReLU networks.

    Statistic: fraction of the seven terms of (121) that change as the residuals are set to 0;
    smallest over draws and norms.
    """
    return float(data["residual_terms"].sel(model="attention").min(skipna=False))


@statements.always(SECTION, at_most(0.5, HALF), id="functional-dictates-attention")
def most_terms_have_none(data: xr.Dataset) -> float:
    """It is not true of linear and ReLU networks.

    Statistic: fraction of the five terms of (1), of a cell in a ReLU network, that change as the
    residuals are set to 0; largest over draws and norms.
    """
    return float(data["residual_terms"].drop_sel(model="attention").max(skipna=False))


def _places(data: xr.Dataset) -> list[str]:
    """The norms, and the scales of the targets at norm 1."""
    norms = [f"norm {norm:g}" for norm in data["weight_norm"].values]
    return norms + [f"{SCALED}{scale:g}" for scale in data["target_scale"].values]


def _parts(data: xr.Dataset, quantity: str) -> xr.DataArray:
    """The functional parts at each norm, and at each scale of the targets, along ``at``."""
    parts = [functional_part(data.sel(quantity=quantity, drop=True)).rename(weight_norm="at")]
    if quantity == "largest eigenvalue":
        scaled = {name: data[f"scaled_{name}"] for name in ("hessian", "gauss_newton")}
        parts.append(functional_part(xr.Dataset(scaled)).rename(target_scale="at"))
    places = xr.concat([each.drop_vars("at") for each in parts], "at")
    return places.assign_coords(at=_places(data)[: places.sizes["at"]])


def _each_part(data: xr.Dataset) -> Iterator[Labels]:
    for at in _places(data):
        for model in NAMES:
            yield {"model": model, "quantity": "largest eigenvalue", "at": at}
        if not at.startswith(SCALED):
            for quantity in ("lower bound", "upper bound"):
                yield {"model": "attention", "quantity": quantity, "at": at}


@ours.shown(SECTION, reading_of("most"), each=_each_part, id="functional-part-of-the-eigenvalue")
def part(data: xr.Dataset, model: str, quantity: str, at: str) -> xr.DataArray:
    """How much of the largest eigenvalue, or of its bounds, comes from the functional Hessian
    depends on the norms and the residuals.

    Statistic: what the residuals add to it, or take from it, over the sum of that and what it is
    without residuals; interval: Student's t over draws.

    Remark: It grows with the residuals. The paper's sentence counts terms, not how large they are.
    """
    return _parts(data, quantity).sel(model=model, at=at)


def _each_pair(data: xr.Dataset) -> Iterator[Labels]:
    for at in _places(data):
        for model in ("linear", "relu"):
            yield {"model": model, "at": at}


MORE = at_least(0.0, "a sign, for a paired difference", source="what the comparison says")


@ours.left_open(SECTION, MORE, each=_each_pair)
def functional_part_is_larger(data: xr.Dataset, model: str, at: str) -> xr.DataArray:
    """More of the largest eigenvalue comes from the functional Hessian in self-attention than
    without it, at the same norms, inputs and targets.

    Statistic: that part in self-attention minus that in the other network, with Student's t over
    draws.

    Remark: It depends on the norms of the weights and on the residuals, which the paper's sentence
    does not name: it counts terms.
    """
    parts = _parts(data, "largest eigenvalue").sel(at=at)
    return parts.sel(model="attention", drop=True) - parts.sel(model=model, drop=True)

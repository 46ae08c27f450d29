"""What section 6 and appendix H of wu2022dissecting say of bounds, and what bounds promise."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import Bound, NothingToMeasure, at_least, at_most, known_seeds
from hessian_papers.ledger.statements import Cases, Labels, Statements
from hessian_papers.studies.pac_bayes.bounds.derived import (
    chance,
    failures,
    printed_rows,
    rows_of,
)
from hessian_papers.table10 import Row

# Half of the last digit that is printed.
ROUNDED = 0.00005
FEWER = (
    "The networks and posteriors are trained for fewer epochs than in the paper, and the "
    "divergence of many parameters falls slowly."
)

TIGHTER = at_least(0.0, "a tighter bound is a smaller one")

statements = Statements().having(otherwise=FEWER)


def _networks(*methods: str) -> Callable[[xr.Dataset], list[str]]:
    """The networks of a run that has some methods."""

    def labels(data: xr.Dataset) -> list[str]:
        compared = {*methods} <= {*data["method"].values}
        return data["network"].values.tolist() if compared else []

    return labels


def _pairs(**compared: Sequence[str]) -> Cases:
    """Networks with two methods, of which the paper calls one, the name, worse than others."""

    def cases(data: xr.Dataset) -> Iterator[Labels]:
        for worse, methods in compared.items():
            for network in _networks(worse)(data):
                for method in methods:
                    if method in data["method"].values:
                        yield {"network": network, "better": method, "worse": worse}

    return cases


# Methods in the eigenbases of E[M] and E[xxᵀ], beside those that differ by the basis alone.
IN_EIGENBASES = {
    "base": ("approximate", "iterative", "iterative, printed output"),
    "local, standard": ("local",),
}


def _known(values: xr.DataArray) -> xr.DataArray:
    """Numbers of networks; those of posteriors whose training diverged are left out."""
    return known_seeds(values, "no posterior here has that number: their training diverged")


@statements.typically(
    "appendix H, Table 10",
    TIGHTER,
    id="renewed-bases-are-tighter",
    each=_pairs(approximate=("iterative",)),
    name="{better}-below-{worse}-{network}",
)
@statements.everywhere(
    "section 6 and appendix H, Tables 1 and 10",
    TIGHTER,
    id="hessian-basis-is-tighter",
    each=_pairs(**IN_EIGENBASES),
    name="{better}-below-{worse}-{network}",
)
def tighter(data: xr.Dataset, network: str, better: str, worse: str) -> xr.DataArray:
    """A posterior that is diagonal in the basis of the approximate Hessian gives a tighter bound
    than one in the standard basis. Renewed bases give a tighter bound than those computed once.

    Statistic: reduction of the bound, mean over networks with their own initial weights and images;
    interval: Student's t. It is asked where the tighter of both says more than guessing does.
    """
    bounds = data["bound"].sel(network=network)
    lower, upper = bounds.sel({"method": better}), bounds.sel({"method": worse})
    difference = _known(upper - lower)
    smallest = min(float(lower.mean()), float(upper.mean()))
    if smallest >= chance(data):
        raise NothingToMeasure(
            f"both bounds are above the error of guessing, the smaller of them {smallest:.3f}"
        )
    return difference


@statements.typically(
    "appendix H",
    at_most(0.078, "the largest in Table 10, for T-200^2 with ten classes", source="Table 10"),
    id="decaying-intervals-change-little",
    over={"network": _networks("iterative", "iterative, decaying")},
)
def decay_matters_little(data: xr.Dataset) -> xr.DataArray:
    """With bases renewed at growing intervals the bound is similar.

    Statistic: its relative increase over the bound with regular intervals, mean over the networks;
    interval: Student's t.
    """
    regular, decaying = (
        data["bound"].sel({"method": name}) for name in ("iterative", "iterative, decaying")
    )
    return _known(decaying / regular - 1)


def _rows(data: xr.Dataset) -> Iterator[Labels]:
    for row in printed_rows(data):
        case = {"row": row.network, "method": row.method, "network": row.architecture}
        yield case | {"printed": row.bound, "others": _terms(data, row)}


def _terms(data: xr.Dataset, row: Row) -> str:
    """The terms of a bound beside those of a row, in words."""
    terms = data.sel({"network": row.architecture, "method": row.method})
    names = ("divergence", "error", "prior_variance", "test_error")
    try:
        values = [float(_known(terms[name]).mean()) for name in names]
    except NothingToMeasure as missing:
        return str(missing)
    divergence, error, variance, test_error = values
    return (
        f"KL {divergence:.0f} ({row.divergence:g}), error of sampled networks {error:.4f} "
        rf"({row.error:g}), half of $\ln λ$ {np.log(variance) / 2:.4f} "
        f"({row.half_log_variance:g}), test error {test_error:.4f} ({row.test_error:g})"
    )


def _as_printed(case: Labels) -> Bound:
    return at_most(case["printed"] + ROUNDED, "no looser than printed", source="Table 10")


@statements.printed(
    "appendix H, Table 10",
    _as_printed,
    id="table-10",
    each=_rows,
    otherwise=lambda case: f"{FEWER} Its terms, as printed in brackets: {case['others']}.",
    name="table-10-{row}-{method}",
)
def row_of_the_table(data: xr.Dataset, network: str, method: str, **row: object) -> xr.DataArray:
    """The error of the stochastic network is at most the bound printed in Table 10.

    Statistic: mean bound over networks with their own initial weights and images; interval:
    Student's t. No looser than printed counts as printed.
    """
    return _known(data["bound"].sel({"network": network, "method": method}))


def _printed_ways(data: xr.Dataset) -> Iterator[Labels]:
    """The rows by the paper's three methods, for networks that the trainer bounds."""
    for row in rows_of(data) if "local" in data["method"].values else ():
        if row.method in ("base", "approximate", "iterative"):
            case = {"row": row.network, "method": row.method, "network": row.architecture}
            yield case | {"printed": row.bound}


@statements.beyond.typically(
    "appendix H, Table 10, beyond the paper",
    _as_printed,
    id="local-reparametrisation-against-print",
    each=_printed_ways,
    otherwise="",
    name="local-against-printed-{method}-{row}",
)
def local_against_print(data: xr.Dataset, network: str, **row: object) -> xr.DataArray:
    """Local reparametrisation with curvature's variances gives bounds no looser than printed.

    Statistic: mean bound over networks with their own initial weights and images; interval:
    Student's t.
    """
    return _known(data["bound"].sel({"network": network, "method": "local"}))


def _with_true_labels(data: xr.Dataset) -> list[str]:
    return [] if data["random_labels"] else _networks("local")(data)


@statements.beyond.everywhere(
    "appendix H, beyond the paper",
    at_least(0.0, "a bound above the error of guessing says nothing", source="ours"),
    id="local-bounds-say-something",
    over={"network": _with_true_labels},
    otherwise="",
    name="local-bound-below-guessing-{network}",
)
def bounds_say_something(data: xr.Dataset) -> xr.DataArray:
    """On true labels, bounds by local reparametrisation are below the error of guessing.

    Statistic: error of guessing minus bound, mean over networks with their own initial weights and
    images; interval: Student's t.
    """
    return _known(chance(data) - data["bound"].sel({"method": "local"}))


def _turned(data: xr.Dataset) -> list[str]:
    return [name for name in data["method"].values.tolist() if name not in IN_EIGENBASES]


@statements.typically(
    "appendix H",
    at_most(0.0, "smaller where the curvature is larger"),
    id="variance-falls-with-curvature",
    over={"network": _networks(), "method": _turned},
    name="variance-falls-with-curvature-{network}-{method}",
)
def variance_falls_with_curvature(data: xr.Dataset) -> xr.DataArray:
    """In the first layer, directions of larger curvature have a smaller posterior variance.

    Statistic: Spearman's rank correlation over the layer's directions, mean over the networks;
    interval: Student's t.
    """
    return _known(data["rank_correlation"].isel(layer=0))


@statements.typically(
    "appendix H",
    at_least(0.0, "more significant"),
    id="variance-falls-more-with-renewed-bases",
    over={"network": _networks("approximate", "iterative")},
    otherwise="",
)
def falls_more_where_bases_are_renewed(data: xr.Dataset) -> xr.DataArray:
    """The variance falls more with curvature where bases are renewed.

    Statistic: by how much the rank correlation in the first layer is below that with bases computed
    once, mean over the networks; interval: Student's t.
    """
    first = data["rank_correlation"].isel(layer=0)
    return _known(first.sel({"method": "approximate"}) - first.sel({"method": "iterative"}))


def _others(data: xr.Dataset) -> Iterator[Labels]:
    for case in _pairs(iterative=("iterative, nearest", "iterative, exact"))(data):
        yield {"network": case["network"], "other": case["better"]}


@statements.beyond.typically(
    "section 6, beyond the paper",
    at_least(0.0, "a better basis makes a tighter bound", source="ours"),
    id="other-bases-against-kronecker",
    each=_others,
    name="{other}-against-kronecker-{network}",
)
def other_bases(data: xr.Dataset, network: str, other: str) -> xr.DataArray:
    """Bases closer to that of the layer's Hessian give tighter bounds than those of $E[M]$ and
    $E[xx^⊤]$. They are the nearest Kronecker product's and the Hessian's own.

    Statistic: reduction of the bound, mean over the networks; interval: Student's t.
    """
    return tighter(data, network, other, "iterative")


@statements.beyond.everywhere(
    "Theorem 6.1",
    at_most(0.0, "an error above the bound"),
    id="held-out-errors-are-below-the-bound",
)
def held_out_errors_are_below(data: xr.Dataset) -> float:
    """Networks sampled from the posterior classify held-out images no worse than the bound says.

    Statistic: excess of their error over the bound, for the worst of all bounds of this study.

    Remark: A bound may fail with the promised probability.
    """
    return float(failures(data).max())

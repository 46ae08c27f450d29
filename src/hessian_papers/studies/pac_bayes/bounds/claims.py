"""What section 6 and appendix H of wu2022dissecting say of bounds, and what bounds promise."""

from collections.abc import Callable, Iterator

import numpy as np
import scipy
import xarray as xr

from hessian_papers.ledger.bounds import Bound, Estimate, NothingToMeasure, at_least, at_most
from hessian_papers.ledger.statements import Cases, Labels, Statements
from hessian_papers.ledger.verdicts import always, everywhere, printed, typically
from hessian_papers.studies.pac_bayes.bounds.derived import (
    Row,
    confidence,
    failures,
    printed_rows,
)

# Fewer bounds cannot tell a promised share of failures from a larger one.
REPEATED = 50
# Half of the last digit that is printed.
ROUNDED = 0.00005
FEWER = (
    "The networks and posteriors are trained for fewer epochs than in the paper, and the "
    "divergence of many parameters falls slowly."
)

TIGHTER = at_least(0.0, "a tighter bound is a smaller one")

statements = Statements().having(otherwise=FEWER)


def _networks(*methods: str) -> Callable[[xr.Dataset], list[str]]:
    """The networks of a run that has some methods; none where bounds are repeated."""

    def labels(data: xr.Dataset) -> list[str]:
        compared = {*methods} <= {*data["method"].values} and not _is_repeated(data)
        return data["network"].values.tolist() if compared else []

    return labels


def _is_repeated(data: xr.Dataset) -> bool:
    return data.sizes["seed"] >= REPEATED


def _pairs(worse: str, *better: str) -> Cases:
    """Networks with two methods, of which the paper calls one better."""

    def cases(data: xr.Dataset) -> Iterator[Labels]:
        for network in _networks(worse)(data):
            for method in better:
                if method in data["method"].values:
                    yield {"network": network, "better": method, "worse": worse}

    return cases


def _known(values: xr.DataArray) -> xr.DataArray:
    """Numbers of networks; those of posteriors whose training diverged are left out.

    Raises:
        NothingToMeasure: none is left.
    """
    known = values.dropna("seed")
    if not known.size:
        raise NothingToMeasure("no posterior here has that number: their training diverged")
    return known


@statements.statement(
    "appendix H, Table 10",
    typically,
    TIGHTER,
    id="renewed-bases-are-tighter",
    each=_pairs("approximate", "iterative"),
    name="{better}-below-{worse}-{network}",
)
@statements.statement(
    "section 6 and appendix H, Tables 1 and 10",
    everywhere,
    TIGHTER,
    id="hessian-basis-is-tighter",
    each=_pairs("base", "approximate", "iterative", "iterative, printed output"),
    name="{better}-below-{worse}-{network}",
)
def tighter(data: xr.Dataset, network: str, better: str, worse: str) -> xr.DataArray:
    """A posterior that is diagonal in the basis of the approximate Hessian gives a tighter bound
    than one in the standard basis. Renewed bases give a tighter bound than those computed once.

    Statistic: reduction of the bound, mean over networks with their own initial weights and images;
    interval: Student's t.
    """
    bounds = data["bound"].sel(network=network)
    return _known(bounds.sel({"method": worse}) - bounds.sel({"method": better}))


@statements.statement(
    "appendix H",
    typically,
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
    if _is_repeated(data):
        return
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


@statements.statement(
    "appendix H, Table 10",
    printed,
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


def _turned(data: xr.Dataset) -> list[str]:
    return [name for name in data["method"].values.tolist() if name != "base"]


@statements.statement(
    "appendix H",
    typically,
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


@statements.statement(
    "appendix H",
    typically,
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
    for case in _pairs("iterative", "iterative, nearest", "iterative, exact")(data):
        yield {"network": case["network"], "other": case["better"]}


@statements.statement(
    "section 6, beyond the paper",
    typically,
    at_least(0.0, "a better basis makes a tighter bound", source="ours"),
    id="other-bases-against-kronecker",
    each=_others,
    name="{other}-against-kronecker-{network}",
    book="beyond",
)
def other_bases(data: xr.Dataset, network: str, other: str) -> xr.DataArray:
    """Bases closer to that of the layer's Hessian give tighter bounds than those of $E[M]$ and
    $E[xx^⊤]$. They are the nearest Kronecker product's and the Hessian's own.

    Statistic: reduction of the bound, mean over the networks; interval: Student's t.
    """
    return tighter(data, network, other, "iterative")


@statements.statement(
    "Theorem 6.1",
    everywhere,
    at_most(0.0, "an error above the bound"),
    id="held-out-errors-are-below-the-bound",
    otherwise="A bound may fail with the promised probability.",
    book="beyond",
)
def held_out_errors_are_below(data: xr.Dataset) -> float:
    """Networks sampled from the posterior classify held-out images no worse than the bound says.

    Statistic: excess of their error over the bound, for the worst of all bounds of this study.
    """
    return float(failures(data).max())


def _promised(case: Labels) -> Bound:
    return at_most(case["promised"], "one minus the confidence", source="Theorem 6.1")


def _repeated(data: xr.Dataset) -> list[Labels]:
    return [{"promised": 1 - confidence(data)}] if _is_repeated(data) else []


@statements.statement(
    "Theorem 6.1, beyond the paper",
    always,
    _promised,
    id="bound-fails-as-rarely-as-promised",
    each=_repeated,
    otherwise="",
)
def fails_as_rarely_as_promised(data: xr.Dataset, promised: float) -> Estimate:
    """A bound fails no more often than its confidence allows.

    Statistic: fraction of networks, each with its own images, whose error on held-out images
    exceeds the bound; interval: Clopper and Pearson's.
    """
    values = failures(data).values
    if values.size < REPEATED:
        raise NothingToMeasure("too few bounds")
    test = scipy.stats.binomtest(int((values > 0).sum()), values.size)
    return Estimate(*map(float, (test.statistic, *test.proportion_ci(0.95))))

"""What section 6 and appendix H of wu2022dissecting say of bounds, and what bounds promise."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import (
    Bound,
    NothingToMeasure,
    at_least,
    at_most,
    known_seeds,
    needs,
)
from hessian_papers.ledger.conditions import ANY_STATE, Condition
from hessian_papers.ledger.statements import Cases, Labels, Statements
from hessian_papers.studies.pac_bayes.bounds.derived import (
    chance,
    failures,
    of_paper,
    rows_of,
    tightest_rows,
)
from hessian_papers.table10 import Row

# Half of the last digit that is printed.
ROUNDED = 0.00005
FEWER = (
    "The networks and posteriors are trained for fewer epochs than in the paper, and the "
    "divergence of many parameters falls slowly."
)

TIGHTER = at_least(0.0, "a tighter bound is a smaller one")

# What a sentence is about: posteriors as training left them, or any posterior at all.
TRAINED = Condition("after the posterior's own training")
statements = Statements().having(otherwise=FEWER, state=TRAINED)
# Tables 1 and 10, apart from networks of ours that the paper does not have.
figure = statements.about("wu2022dissecting", "Figure 31")
tables = figure | statements.about("wu2022dissecting", "Table 10", "Table 10 (random labels)")


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


# Methods in the eigenbases of E[M] and E[xxᵀ].
IN_EIGENBASES = {
    "base": ("approximate", "iterative", "iterative, decaying", "iterative, printed output")
}


def _known(values: xr.DataArray) -> xr.DataArray:
    """Numbers of networks; those of posteriors whose training diverged are left out."""
    return known_seeds(values, "no posterior here has that number: their training diverged")


@tables.typically(
    "appendix H, Table 10",
    TIGHTER,
    id="renewed-bases-are-tighter",
    sentence="Renewed bases give a tighter bound than those computed once.",
    each=_pairs(approximate=("iterative",)),
    name="{better}-below-{worse}-{network}",
)
@tables.everywhere(
    "section 6 and appendix H, Tables 1 and 10",
    TIGHTER,
    id="hessian-basis-is-tighter",
    each=_pairs(**IN_EIGENBASES),
    name="{better}-below-{worse}-{network}",
)
def tighter(data: xr.Dataset, network: str, better: str, worse: str) -> xr.DataArray:
    """A posterior that is diagonal in the basis of the approximate Hessian gives a tighter bound
    than one in the standard basis.

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


@tables.typically(
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
    if bool((decaying.values == regular.values).all()):
        raise NothingToMeasure("this training is so short that no interval has decayed")
    return _known(decaying / regular - 1)


def _rows(data: xr.Dataset) -> Iterator[Labels]:
    for row in rows_of(data):
        case = {"row": row.network, "method": row.method, "network": row.architecture}
        yield case | {"printed": row.bound, "others": _terms(data, row)}


def _terms(data: xr.Dataset, row: Row) -> str:
    """The terms of a bound beside those of a row, in words."""
    if row.method not in data["method"].values:
        return "not measured"
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


@tables.printed(
    "appendix H, Table 10",
    _as_printed,
    id="table-10",
    each=_rows,
    otherwise=lambda case: f"{FEWER} Its terms, as printed in brackets: {case['others']}.",
    name="table-10-{row}-{method}",
)
def row_of_the_table(data: xr.Dataset, network: str, method: str, **row: object) -> xr.DataArray:
    """Posteriors by Algorithm 1 have the bounds that Table 10 prints.

    Statistic: mean bound over networks with their own initial weights and images; interval:
    Student's t. No looser than printed counts as printed.
    """
    needs(method in data["method"].values, f"this run has no posterior by the method {method}")
    return _known(data["bound"].sel({"network": network, "method": method}))


def _tightest(data: xr.Dataset) -> Iterator[Labels]:
    """The tightest printed row of each network, where the trainer bounds the network."""
    for row in tightest_rows(data) if "local" in data["method"].values else ():
        case = {"row": row.network, "method": row.method, "network": row.architecture}
        yield case | {"bound": row.bound}


@statements.beyond.typically(
    "appendix H, Table 10, beyond the paper",
    at_most(0.0, "no looser than the tightest that is printed", source="Table 10"),
    id="local-reparametrisation-against-print",
    each=_tightest,
    otherwise="",
    name="local-against-printed-{method}-{row}",
)
def local_against_print(
    data: xr.Dataset, network: str, bound: float, **row: object
) -> xr.DataArray:
    """Local reparametrisation with curvature's variances gives bounds no looser than the tightest
    that is printed for the network.

    Statistic: the bound's relative excess over that print, mean over networks with their own
    initial weights and images; interval: Student's t.
    """
    ours = _known(data["bound"].sel({"network": network, "method": "local"}))
    return ours / bound - 1


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


def _drawn(data: xr.Dataset) -> list[str]:
    """The network of Figure 31; that of a smaller run."""
    names = data["network"].values.tolist()
    return [name for name in names if name == "F-200^2" or not of_paper(name)]


def _turned(data: xr.Dataset) -> list[str]:
    drawn = ("approximate", "iterative", "iterative, printed output")
    return [name for name in data["method"].values.tolist() if name in drawn]


@figure.typically(
    "section 6 and appendix H, Figure 31",
    at_most(0.0, "smaller where the curvature is larger"),
    id="variance-falls-with-curvature",
    over={"network": _drawn, "method": _turned},
    name="variance-falls-with-curvature-{network}-{method}",
)
def variance_falls_with_curvature(data: xr.Dataset) -> xr.DataArray:
    """In the first layer, directions of larger curvature have a smaller posterior variance.

    Statistic: Spearman's rank correlation over the layer's directions, mean over the networks;
    interval: Student's t.
    """
    return _known(data["rank_correlation"].isel(layer=0))


@figure.typically(
    "appendix H, Figure 31",
    at_least(0.0, "more significant"),
    id="variance-falls-more-with-renewed-bases",
    over={
        "network": lambda data: [*{*_drawn(data)} & {*_networks("approximate", "iterative")(data)}]
    },
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


@statements.beyond.typically(
    "section 6, beyond the paper",
    TIGHTER,
    id="curvature-basis-tightens-local-bounds",
    each=_pairs(**{"local, standard": ("local",)}),
    name="{better}-below-{worse}-{network}",
)
def curvature_basis(data: xr.Dataset, **compared: str) -> xr.DataArray:
    """By local reparametrisation, too, the bases of $E[M]$ and $E[xx^⊤]$ give a tighter bound than
    the standard basis.

    Statistic: reduction of the bound, mean over the networks; interval: Student's t.
    """
    return tighter(data, **compared)


@statements.beyond.everywhere(
    "Theorem 6.1",
    at_most(0.0, "an error above the bound"),
    id="held-out-errors-are-below-the-bound",
    state=ANY_STATE,
)
def held_out_errors_are_below(data: xr.Dataset) -> float:
    """Networks sampled from the posterior classify held-out images no worse than the bound says.

    Statistic: excess of their error over the bound, for the worst of all bounds of this study.

    Remark: A bound may fail with the promised probability.
    """
    return float(failures(data).max())

"""What section 6 and appendix H of wu2022dissecting say of bounds, and what bounds promise."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from hessian_papers.ledger.bounds import Bound, Estimate, NothingToMeasure, at_least, at_most
from hessian_papers.ledger.statements import Cases, Labels, Statements
from hessian_papers.ledger.verdicts import always, everywhere, printed, typically
from hessian_papers.studies.pac_bayes.bounds.reading import (
    Reading,
    Row,
    architecture,
    estimated,
    rows_of,
    share,
)

# Fewer bounds cannot tell a promised share of failures from a larger one.
REPEATED = 50
# Half of the last digit that is printed.
ROUNDED = 0.00005
FEWER = (
    "The networks and posteriors are trained for fewer epochs than in the paper: a divergence of "
    "many parameters falls slowly."
)

TIGHTER = at_least(0.0, "a tighter bound is a smaller one")

statements = Statements(Reading).having(otherwise=FEWER)


def _networks(reading: Reading) -> list[Labels]:
    return [{"network": name} for name in reading.networks] if not _is_repeated(reading) else []


def _is_repeated(reading: Reading) -> bool:
    return len(reading["seed"]) >= REPEATED


def _pairs(worse: str, *better: str) -> Cases:
    """Networks with two methods, of which the paper calls one better."""

    def cases(reading: Reading) -> Iterator[Labels]:
        for case in _networks(reading):
            for method in better:
                if {method, worse} <= {*reading.methods}:
                    yield {**case, "better": method, "worse": worse}

    return cases


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
def tighter(reading: Reading, network: str, better: str, worse: str) -> Estimate:
    """The posterior that is diagonal in the basis of the approximate Hessian gives a tighter bound
    than in the standard basis, and bases that are renewed a tighter one than those found once.

    Statistic: by how much the bound is lower, mean over networks with initial weights and images of
    their own; interval: Student's t.
    """
    return estimated(reading.gain(network, better, worse))


def _decaying(reading: Reading) -> list[Labels]:
    both = {"iterative", "iterative, decaying"} <= {*reading.methods}
    return _networks(reading) if both else []


@statements.statement(
    "appendix H",
    typically,
    at_most(0.078, "the largest in Table 10, of T-200^2 with ten classes", source="Table 10"),
    id="decaying-intervals-change-little",
    each=_decaying,
)
def decay_matters_little(reading: Reading, network: str) -> Estimate:
    """With bases found ever more rarely the bound is similar.

    Statistic: by how much it is higher, relative to that of regular intervals, mean over the
    networks; interval: Student's t.
    """
    regular = reading.of("bound", network, "iterative")
    return estimated(reading.of("bound", network, "iterative, decaying") / regular - 1)


def _rows(reading: Reading) -> Iterator[Labels]:
    if _is_repeated(reading):
        return
    for row in rows_of(reading):
        network = architecture(row)
        case = {"row": row.network, "method": row.method, "network": network}
        yield case | {"printed": row.bound, "others": _terms(reading, network, row)}


def _terms(reading: Reading, network: str, row: Row) -> str:
    """The terms of a bound beside those of a row, in words."""
    names = ("divergence", "error", "prior_variance", "test_error")
    try:
        values = [estimated(reading.of(name, network, row.method)).value for name in names]
    except NothingToMeasure as missing:
        return str(missing)
    divergence, error, variance, test_error = values
    return (
        f"KL {divergence:.0f} ({row.divergence:g}), error of drawn networks {error:.4f} "
        f"({row.error:g}), half of ln λ {np.log(variance) / 2:.4f} ({row.half_log_variance:g}), "
        f"test error {test_error:.4f} ({row.test_error:g})"
    )


def _as_printed(case: Mapping[str, Any]) -> Bound:
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
def row_of_the_table(reading: Reading, network: str, method: str, **row: object) -> Estimate:
    """The bounds of Table 10: the error of the stochastic network is at most so much.

    Statistic: the bound from networks with initial weights and images of their own, mean; interval:
    Student's t. No looser than printed is as printed.
    """
    return estimated(reading.of("bound", network, method))


def _turned(reading: Reading) -> Iterator[Labels]:
    if not _is_repeated(reading):
        for network in reading.networks:
            for method in reading.methods:
                if method != "base":
                    yield {"network": network, "method": method}


@statements.statement(
    "appendix H",
    typically,
    at_most(0.0, "smaller where the curvature is larger"),
    id="variance-falls-with-curvature",
    each=_turned,
    name="variance-falls-with-curvature-{network}-{method}",
)
def variance_falls_with_curvature(reading: Reading, network: str, method: str) -> Estimate:
    """Directions of larger curvature have a smaller posterior variance in the first layer.

    Statistic: Spearman's rank correlation over its directions, mean over the networks; interval:
    Student's t.
    """
    return estimated(reading.of("rank_correlation", network, method)[:, 0])


def _iterated(reading: Reading) -> list[Labels]:
    both = {"iterative", "approximate"} <= {*reading.methods}
    return _networks(reading) if both else []


@statements.statement(
    "appendix H",
    typically,
    at_least(0.0, "more significant"),
    id="variance-falls-more-with-renewed-bases",
    each=_iterated,
    otherwise="",
)
def falls_more_where_bases_are_renewed(reading: Reading, network: str) -> Estimate:
    """It does so more where bases are found again and again.

    Statistic: by how much the rank correlation in the first layer is below that of bases found
    once, mean over the networks; interval: Student's t.
    """
    once, renewed = (
        reading.of("rank_correlation", network, method)[:, 0]
        for method in ("approximate", "iterative")
    )
    return estimated(once - renewed)


def _others(reading: Reading) -> Iterator[Labels]:
    for case in _networks(reading):
        for other in ("iterative, nearest", "iterative, exact"):
            if {other, "iterative"} <= {*reading.methods}:
                yield {**case, "other": other}


@statements.statement(
    "section 6, beyond the paper",
    typically,
    at_least(0.0, "a better basis makes a tighter bound", source="ours"),
    id="other-bases-against-kronecker",
    each=_others,
    name="{other}-against-kronecker-{network}",
    book="beyond",
)
def other_bases(reading: Reading, network: str, other: str) -> Estimate:
    """A basis nearer to the layer's Hessian, the nearest Kronecker product's or its own, gives a
    tighter bound than those of E[M] and E[xxᵀ].

    Statistic: by how much the bound is lower, mean over the networks; interval: Student's t.
    """
    return estimated(reading.gain(network, other, "iterative"))


@statements.statement(
    "Theorem 6.1",
    everywhere,
    at_most(0.0, "an error above the bound"),
    id="held-out-errors-are-below-the-bound",
    otherwise="A bound may fail with the promised probability.",
    book="beyond",
)
def held_out_errors_are_below(reading: Reading) -> float:
    """Networks drawn from the posterior classify held-out images no worse than the bound says.

    Statistic: by how much their error is above it, the worst of all bounds of this study.
    """
    return float(reading.failures.max())


def _promised(case: Mapping[str, Any]) -> Bound:
    return at_most(case["promised"], "one less the confidence", source="Theorem 6.1")


def _repeated(reading: Reading) -> list[Labels]:
    promised = 1 - reading.confidence
    return [{"promised": promised}] if _is_repeated(reading) else []


@statements.statement(
    "Theorem 6.1, beyond the paper",
    always,
    _promised,
    id="bound-fails-as-rarely-as-promised",
    each=_repeated,
    otherwise="",
)
def fails_as_rarely_as_promised(reading: Reading, promised: float) -> Estimate:
    """A bound fails no more often than its confidence says.

    Statistic: fraction of the networks, each with images of its own, of which held-out ones are
    classified worse than the bound; interval: Clopper and Pearson's.
    """
    if reading.failures.size < REPEATED:
        raise NothingToMeasure("too few bounds")
    return share(reading.failures > 0)

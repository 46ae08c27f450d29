"""What section 6 and appendix H of wu2022dissecting say of bounds, and what bounds promise."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from hessian_papers.ledger.bounds import Bound, Estimate, NothingToMeasure, at_least, at_most
from hessian_papers.ledger.statements import Labels, Statements
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

statements = Statements(
    Reading,
    fields=lambda reading: {
        "seeds": len(reading["seed"]),
        "samples": int(reading["samples"].flat[0]),
        "confidence": f"{reading.confidence:g}",
    },
).having(otherwise=FEWER)


def _networks(reading: Reading) -> list[Labels]:
    return [{"network": name} for name in reading.networks] if not _is_repeated(reading) else []


def _is_repeated(reading: Reading) -> bool:
    return len(reading["seed"]) >= REPEATED


# What the paper says is better than what, and where.
ORDER = (
    ("approximate", "base", "section 6, Tables 1 and 10"),
    ("iterative", "approximate", "appendix H, Table 10"),
    ("iterative", "base", "section 6, Tables 1 and 10"),
    ("iterative, printed output", "base", "appendix H, Table 10"),
)


def _pairs(reading: Reading) -> Iterator[Labels]:
    for case in _networks(reading):
        for better, worse, _ in ORDER:
            if {better, worse} <= {*reading.methods}:
                yield {**case, "better": better, "worse": worse}


@statements.trend(
    "section 6 and appendix H, Tables 1 and 10",
    at_least(0.0, "a tighter bound is a smaller one"),
    each=_pairs,
    name="{better}-below-{worse}-{network}",
)
def tighter(reading: Reading, network: str, better: str, worse: str) -> Estimate:
    """{network}: the bound by the method "{better}" is tighter than by "{worse}" (statistic: by how
    much it is lower, mean over {seeds} networks with initial weights and images of their own;
    interval: Student's t).
    """
    return estimated(reading.gain(network, better, worse))


def _decaying(reading: Reading) -> list[Labels]:
    there = {"iterative", "iterative, decaying"} <= {*reading.methods}
    return _networks(reading) if there else []


@statements.value(
    "appendix H",
    at_most(0.078, "the largest in Table 10, of T-200^2 with ten classes", source="Table 10"),
    each=_decaying,
)
def decay_matters_little(reading: Reading, network: str) -> Estimate:
    """{network}: with bases found ever more rarely the bound is similar (statistic: by how much it
    is higher, relative to that of regular intervals, mean over {seeds} networks; interval:
    Student's t).
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


@statements.value("appendix H, Table 10", _as_printed, each=_rows, name="table-10-{row}-{method}")
def row_of_the_table(reading: Reading, network: str, method: str, **row: object) -> Estimate:
    """{row}, {method}: the error is at most {printed} (statistic: the bound at confidence
    {confidence} from {samples} images, mean over {seeds} networks; interval: Student's t). Its
    terms, as printed in brackets: {others}.
    """
    return estimated(reading.of("bound", network, method))


def _turned(reading: Reading) -> Iterator[Labels]:
    if not _is_repeated(reading):
        for network in reading.networks:
            for method in reading.methods:
                if method != "base":
                    yield {"network": network, "method": method}


@statements.correlation(
    "appendix H",
    at_most(0.0, "smaller where the curvature is larger"),
    each=_turned,
    name="variance-falls-with-curvature-{network}-{method}",
)
def variance_falls_with_curvature(reading: Reading, network: str, method: str) -> Estimate:
    """{network}, {method}: directions of larger curvature have a smaller posterior variance in the
    first layer (statistic: Spearman's rank correlation over its directions, mean over {seeds}
    networks; interval: Student's t).
    """
    return estimated(reading.of("rank_correlation", network, method)[:, 0])


def _iterated(reading: Reading) -> list[Labels]:
    there = {"iterative", "approximate"} <= {*reading.methods}
    return _networks(reading) if there else []


@statements.trend(
    "appendix H",
    at_least(0.0, "more significant"),
    each=_iterated,
    otherwise="",
)
def falls_more_where_bases_are_renewed(reading: Reading, network: str) -> Estimate:
    """{network}: it does so more where bases are found again and again (statistic: by how much the
    rank correlation in the first layer is below that of bases found once, mean over {seeds}
    networks; interval: Student's t).
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


@statements.value(
    "section 6, beyond the paper",
    at_least(0.0, "a better basis makes a tighter bound", source="ours"),
    each=_others,
    name="{other}-against-kronecker-{network}",
)
def other_bases(reading: Reading, network: str, other: str) -> Estimate:
    """{network}: the method "{other}" has a tighter bound than "iterative", whose bases are those
    of E[M] and E[xxᵀ], and of EKFAC as well (statistic: by how much it is lower, mean over {seeds}
    networks; interval: Student's t).
    """
    return estimated(reading.gain(network, other, "iterative"))


@statements.value(
    "Theorem 6.1",
    at_most(0.0, "an error above the bound"),
    otherwise="A bound may fail with the promised probability.",
)
def held_out_errors_are_below(reading: Reading) -> float:
    """Networks drawn from the posterior classify held-out images no worse than the bound says
    (statistic: by how much their error is above it, the worst of all bounds of this study).
    """
    return float(reading.failures.max())


def _promised(case: Mapping[str, Any]) -> Bound:
    return at_most(case["promised"], "one less the confidence", source="Theorem 6.1")


def _repeated(reading: Reading) -> list[Labels]:
    promised = 1 - reading.confidence
    return [{"promised": promised}] if _is_repeated(reading) else []


@statements.value(
    "Theorem 6.1, beyond the paper",
    _promised,
    each=_repeated,
    otherwise="",
)
def fails_as_rarely_as_promised(reading: Reading, promised: float) -> Estimate:
    """A bound at confidence {confidence} fails no more often than that says (statistic: the share
    of {seeds} networks, each with images of its own, of which held-out ones are classified worse
    than the bound; interval: Clopper and Pearson's).
    """
    if reading.failures.size < REPEATED:
        raise NothingToMeasure("too few bounds")
    return share(reading.failures > 0)

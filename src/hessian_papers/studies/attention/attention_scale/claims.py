"""What the paper says about weight norms, sinks and self-attention's spectrum."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from hessian_papers.ledger.bounds import Estimate, at_least, share_of, within
from hessian_papers.ledger.statements import Labels, Statements
from hessian_papers.ledger.words import MOST
from hessian_papers.studies.attention.attention_scale.reading import Reading
from hessian_spectra.agreement import EXACT

THEOREM = "theorem"
NORMS_SQUARED = "with the norms in ξ squared"
ROUND_OFF = within(
    EXACT, "round-off of float64 eigenvalues is below 1e-13 of the largest", source=THEOREM
)
RESOLVED = within(
    1e-6,
    "the smallest eigenvalue has an error of 1e-15 of the largest, 1e-6 of itself only at "
    "condition numbers of 1e9",
    source=THEOREM,
)
FIVE = "point at which all five eigenvalues can be told from each other"

ALL = at_least(1.0, "every draw", source="the paper, which says it without exception")


STATEMENTS = yaml.safe_load(Path(__file__).with_name("statements.yaml").read_text("utf-8"))

statements = Statements(Reading)
theorems = statements.having(paper="singh2026cracking")
figure_2 = statements.about("singh2026cracking", "Figure 2")


@theorems.identity("Theorem 3.5", ROUND_OFF, id="attention-spectrum")
def spectrum(reading: Reading) -> float:
    """The closed form is the whole spectrum of the Hessian, with its multiplicities."""
    what = "whole spectrum that is computed numerically"
    return reading.worst(lambda sweep: sweep.dense_error, what)


@theorems.identity("Theorem 3.5", ROUND_OFF, id="attention-bulk-repeats")
def bulk(reading: Reading) -> float:
    """The eigenvalues that repeat are γ and −γ."""
    return reading.worst(lambda sweep: sweep.part_errors("bulk"), FIVE)


@theorems.identity("Theorem 3.5", ROUND_OFF, id="attention-outliers-do-not-repeat")
def outliers(reading: Reading) -> float:
    """The eigenvalues that do not repeat are the three outliers, with a sink as without."""
    return reading.worst(lambda sweep: sweep.part_errors("outlier"), FIVE)


@theorems.identity(f"Theorem 3.5, {NORMS_SQUARED}", ROUND_OFF, id="attention-outlier-bounds")
def outlier_bounds(reading: Reading) -> float:
    """All outliers lie in tr/3 ± ξ.

    Statistic: how far outside the numerical eigenvalues that do not repeat lie, relative to the
    largest.
    """
    return reading.worst(lambda sweep: sweep.outliers_outside(), FIVE)


@theorems.identity(f"Remark B.4, {NORMS_SQUARED}", ROUND_OFF, id="attention-largest")
def largest_eigenvalue_bounds(reading: Reading) -> float:
    """The largest eigenvalue lies between tr/3 + ξ/2 and tr/3 + ξ, or |γ| where that is larger.

    Statistic: how far outside the largest numerical eigenvalue lies, relative to it.
    """
    return reading.worst(lambda sweep: sweep.largest_outside())


@theorems.identity(f"Remark 3.1, {NORMS_SQUARED}", RESOLVED, id="attention-condition")
def condition_bound(reading: Reading) -> float:
    """The condition number is at least (2 tr + 3 ξ) / (6 |γ|).

    Statistic: by how much the bound lies above the numerical condition number, relatively, at most.
    """
    what = "point at which the condition number is below 1e9"
    return max(0.0, reading.worst(lambda sweep: sweep.excess_of_bound(), what))


def _each_range(reading: Reading) -> Iterator[Labels]:
    """All statements, those about norms in a smaller range as well."""
    small = float(reading["small_norm"])
    for name, statement in STATEMENTS.items():
        case = {"name": name, "largest": math.inf, "range": "", **statement}
        yield case
        if statement["sweep"] in ("query_key", "value"):
            means = f"{case['means']}, to a norm of {small:g}"
            yield case | {"largest": small, "range": "-small", "means": means}


@figure_2.statement(
    "{place}",
    lambda case: case["quantifier"],
    lambda case: ALL if case["quantifier"] == "everywhere" else MOST,
    id="{id}",
    otherwise=lambda case: case["otherwise"],
    each=_each_range,
    name="{name}{range}",
    shown=("means",),
)
def in_most_draws(reading: Reading, sweep: str, largest: float, **of: Any) -> Estimate:
    """{sentence}.

    Statistic: fraction of the draws of weights, sequences and targets, independent and normal, for
    which it is so by a measure along the sweep; interval: Wilson's, 95 %.
    """
    low, high = of.get("at_least", -math.inf), of.get("at_most", math.inf)
    changes = [
        draw.measured(of["measure"], of["quantity"]) for draw in reading.draws(sweep, largest)
    ]
    fraction = share_of([low <= value <= high for value in changes])
    # One draw that is otherwise refutes what has no exception.
    return Estimate(fraction.value) if of["quantifier"] == "everywhere" else fraction

"""What the paper says about weight norms, sinks and self-attention's spectrum."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from hessian_papers.ledger.bounds import Estimate, at_least, share_of, within
from hessian_papers.ledger.statements import Labels, Statements
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
MOST = at_least(
    0.5,
    "what a figure shows of one draw is read as what holds for most, more than half, a number of "
    "ours",
)


STATEMENTS = yaml.safe_load(Path(__file__).with_name("statements.yaml").read_text("utf-8"))

statements = Statements(Reading)
theorems = statements.having(paper="singh2026cracking")
figure_2 = statements.about("singh2026cracking", "Figure 2")


@theorems.identity("Theorem 3.5", ROUND_OFF)
def spectrum(reading: Reading) -> float:
    """The closed form is the whole spectrum of the Hessian, with its multiplicities."""
    what = "whole spectrum that is computed numerically"
    return reading.worst(lambda sweep: sweep.dense_error, what)


@theorems.identity("Theorem 3.5", ROUND_OFF)
def bulk(reading: Reading) -> float:
    """The eigenvalues that repeat are γ and −γ."""
    return reading.worst(lambda sweep: sweep.part_errors("bulk"), FIVE)


@theorems.identity("Theorem 3.5", ROUND_OFF)
def outliers(reading: Reading) -> float:
    """The eigenvalues that do not repeat are the three outliers, with a sink as without."""
    return reading.worst(lambda sweep: sweep.part_errors("outlier"), FIVE)


@theorems.identity(f"Theorem 3.5, {NORMS_SQUARED}", ROUND_OFF)
def outlier_bounds(reading: Reading) -> float:
    """All outliers lie in tr/3 ± ξ (value: how far outside the numerical eigenvalues that do not
    repeat lie, relative to the largest).
    """
    return reading.worst(lambda sweep: sweep.outliers_outside(), FIVE)


@theorems.identity(f"Remark B.4, {NORMS_SQUARED}", ROUND_OFF)
def largest_eigenvalue_bounds(reading: Reading) -> float:
    """The largest eigenvalue lies between tr/3 + ξ/2 and tr/3 + ξ, or |γ| where that is larger
    (value: how far outside the largest numerical eigenvalue lies, relative to it).
    """
    return reading.worst(lambda sweep: sweep.largest_outside())


@theorems.identity(f"Remark 3.1, {NORMS_SQUARED}", RESOLVED)
def condition_bound(reading: Reading) -> float:
    """The condition number is at least (2 tr + 3 ξ) / (6 |γ|) (value: by how much the bound lies
    above the numerical condition number, relatively, at most).
    """
    what = "point at which the condition number is below 1e9"
    return max(0.0, reading.worst(lambda sweep: sweep.excess_of_bound(), what))


def _each_range(reading: Reading) -> Iterator[Labels]:
    """All statements, those about norms in a smaller range as well."""
    small = float(reading["small_norm"])
    for name, statement in STATEMENTS.items():
        case = {"name": name, "largest": math.inf, "range": "", "up_to": "", **statement}
        yield case
        if statement["sweep"] in ("query_key", "value"):
            yield case | {"largest": small, "range": "-small", "up_to": f", to a norm of {small:g}"}


@figure_2.trend(
    "{place}",
    MOST,
    otherwise=lambda case: case["otherwise"],
    each=_each_range,
    name="{name}{range}",
)
def in_most_draws(reading: Reading, sweep: str, largest: float, **of: Any) -> Estimate:
    """{says}{up_to}. Statistic: share of the draws of weights, sequences and targets, independent
    and normal, for which {means}; interval: Wilson's, 95 %
    """
    low, high = of.get("at_least", -math.inf), of.get("at_most", math.inf)
    found = [draw.measured(of["measure"], of["quantity"]) for draw in reading.draws(sweep, largest)]
    return share_of([low <= value <= high for value in found])

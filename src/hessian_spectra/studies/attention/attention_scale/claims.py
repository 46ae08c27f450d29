"""What the paper says about weight norms, sinks and self-attention's spectrum."""

from collections.abc import Iterator

import numpy as np

from hessian_spectra.agreement import EXACT
from hessian_spectra.ledger.bounds import Bound, NothingToMeasure, at_least, at_most, within
from hessian_spectra.ledger.claims import Case, Claims
from hessian_spectra.studies.attention.attention_scale.reading import Reading

THEOREM = "theorem"
SHOWN = "text and figure"
NORMS_SQUARED = "with the norms in ξ squared"
QUERY_KEY = "section 3.3 and Figure 2a"
VALUE = "section 3.3 and Figure 2b"
SINK = "section 3.3 and Figure 2c"
BELOW_THE_BOUND = "Remark 3.1, the text below it"

NOT_UNIFORM = (
    "The bulk follows the attention, which leaves uniformity with the score ⟨w_Q, w_K⟩/√d_K. For "
    "random directions and norms s that is of order s²/d_K, and so is the relative change ζ s²/α "
    "of the largest eigenvalue: in per cent of themselves both move alike, whatever d_K is. The "
    "bulk looks constant because it is small, of order 1/√d_K, beside the largest eigenvalue."
)
NOT_MONOTONE = (
    "A lower bound that grows does not make the condition number grow: the eigenvalue of smallest "
    "magnitude is an outlier here, and it moves as well. The bound itself is monotone for constant "
    "attention and ζ > 0 only; a growing norm also changes the attention, and γ with it."
)
MASSIVE = (
    "For a massive activation the variance m_2 under the attention is p (1 − p) x_1² to leading "
    "order, p the attention on the first token: it grows up to p = 1/2 before it shrinks, and so "
    "does the bulk. The paper's argument holds for larger p alone."
)
OTHER_SETTINGS = "It depends on the sequences, the targets and the range that is swept."

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
TREND = "a rank correlation of 1 is a monotone trend; 0.1 for wiggles"
GROWTH = "a rank correlation of 1 is a monotone growth; 0.1 for wiggles"


def _small(size: float, reason: str) -> Bound:
    return within(size, reason, source=SHOWN)


def _growing(reason: str) -> Bound:
    return at_least(1.0, reason, tolerance=0.1, source=SHOWN)


def _shrinking(reason: str) -> Bound:
    return at_most(-1.0, reason, tolerance=0.1, source=SHOWN)


def _change(values: np.ndarray) -> float:
    """Largest over smallest value, minus 1."""
    return float(values.max() / values.min() - 1)


def _fall(values: np.ndarray) -> float:
    """The largest relative fall below an earlier value."""
    return float((1 - values / np.maximum.accumulate(values)).max())


claims = Claims(Reading)
theorems = claims.having(paper="singh2026cracking")
figure_2 = claims.about("singh2026cracking", "Figure 2").having(otherwise=OTHER_SETTINGS)


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
    """All outliers lie in tr/3 ± ξ (value: how far outside, relative to the largest)."""
    return reading.worst(lambda sweep: sweep.outside("", sweep.outliers))


@theorems.identity(f"Remark B.4, {NORMS_SQUARED}", ROUND_OFF)
def largest_eigenvalue_bounds(reading: Reading) -> float:
    """The largest eigenvalue lies between tr/3 + ξ/2 and tr/3 + ξ, or |γ| where that is larger
    (value: how far outside, relative to the largest outlier).
    """
    return reading.worst(lambda sweep: sweep.outside("largest_", sweep.largest[:, None]))


@theorems.identity(f"Remark 3.1, {NORMS_SQUARED}", RESOLVED)
def condition_bound(reading: Reading) -> float:
    """The condition number is at least (2 tr + 3 ξ) / (6 |γ|) (value: by how much the bound lies
    above the numerical condition number, relatively, at most).
    """
    what = "point at which the condition number is below 1e9"
    return max(0.0, reading.worst(lambda sweep: sweep.excess_of_bound(), what))


@figure_2.trend(
    QUERY_KEY,
    _small(0.05, "'approximately constant' beside the largest eigenvalue: 5 % of its change"),
    otherwise=NOT_UNIFORM,
)
def a_bulk_against_largest(reading: Reading) -> float:
    """The bulk hardly moves while the norm of w_Q and w_K moves the largest eigenvalue (statistic:
    range of |γ| over range of the largest eigenvalue).
    """
    sweep = reading.sweep("query_key")
    moved = np.ptp(sweep.largest)
    if moved == 0:
        raise NothingToMeasure("in this configuration nothing moves the largest eigenvalue")
    return float(np.ptp(sweep.bulk) / moved)


@figure_2.value(
    QUERY_KEY,
    _small(0.1, "'approximately constant' is taken as within 10 %"),
    otherwise=NOT_UNIFORM,
)
def a_bulk_constant(reading: Reading) -> float:
    """The norm of w_Q and w_K does not affect the bulk (value: largest over smallest |γ|, minus 1,
    over all norms of the sweep).
    """
    return _change(reading.along("query_key", "bulk"))


@figure_2.trend(QUERY_KEY, _growing(GROWTH))
def a_largest_grows(reading: Reading) -> float:
    """The largest eigenvalue grows with the norm of w_Q and w_K (statistic: rank correlation)."""
    return reading.trend("query_key", "largest")


@figure_2.value(
    BELOW_THE_BOUND, _small(0.01, "1 % for what cannot be seen in a figure"), otherwise=NOT_MONOTONE
)
def a_condition_number_monotone(reading: Reading) -> float:
    """The condition number is monotone in the norm of w_Q and w_K (value: its largest relative fall
    below an earlier value).
    """
    return _fall(reading.along("query_key", "condition_number"))


@figure_2.value(
    BELOW_THE_BOUND,
    _small(0.01, "1 % for the change of the attention, which the paper neglects"),
    otherwise=NOT_MONOTONE,
)
def a_condition_bound_monotone(reading: Reading) -> float:
    """The lower bound on the condition number is monotone in the norm of w_Q and w_K (value: its
    largest relative fall below an earlier value).
    """
    return _fall(reading.along("query_key", "condition_bound"))


@figure_2.value(
    VALUE,
    at_least(9.0, "'depends' is taken as a change by a factor of 10 over the sweep", source=SHOWN),
)
def b_bulk_moves(reading: Reading) -> float:
    """The bulk depends on w_V (value: largest over smallest |γ|, minus 1)."""
    return _change(reading.along("value", "bulk"))


@figure_2.trend(VALUE, _growing(GROWTH))
def b_largest_grows(reading: Reading) -> float:
    """The largest eigenvalue depends on w_V: it grows (statistic: rank correlation)."""
    return reading.trend("value", "largest")


@figure_2.trend(
    VALUE, _small(0.2, "'no such relationship' is taken as a rank correlation of at most 0.2")
)
def b_condition_number_falls(reading: Reading) -> float:
    """Unlike for w_Q and w_K, the condition number does not grow with w_V (statistic: rank
    correlation of condition number and norm).
    """
    return reading.trend("value", "condition_number")


# What follows the sink's bias: the claim's name, the sweep, the quantity, and what is said of it.
ACTIVATION = "With a massive activation, the larger the sink, the"
WITH_THE_SINK = (
    ("c-bulk-shrinks", "sink", "bulk", "The larger the sink, the smaller the bulk"),
    (
        "c-largest-grows",
        "sink",
        "largest",
        "The larger the sink, the larger the largest eigenvalue",
    ),
    (
        "c-ill-conditioned",
        "sink",
        "condition_number",
        "The larger the sink, the larger the condition number",
    ),
    ("d-largest-grows", "massive_sink", "largest", f"{ACTIVATION} larger the largest eigenvalue"),
    ("d-bulk-shrinks", "massive_sink", "bulk", f"{ACTIVATION} smaller the bulk"),
)


def _with_the_sink(reading: Reading) -> Iterator[Case]:
    for row in WITH_THE_SINK:
        yield dict(zip(("name", "sweep", "quantity", "says"), row, strict=True))


@figure_2.trend(
    SINK,
    lambda case: (_shrinking if case["quantity"] == "bulk" else _growing)(TREND),
    otherwise=lambda case: MASSIVE if case["name"] == "d-bulk-shrinks" else OTHER_SETTINGS,
    each=_with_the_sink,
    name="{name}",
)
def with_the_sink(reading: Reading, sweep: str, quantity: str, **_: str) -> float:
    """{says} (statistic: rank correlation with the sink's bias)."""
    return reading.trend(sweep, quantity)


@figure_2.value(SINK, _small(0.1, "'towards zero' is taken as a tenth of what it was"))
def c_bulk_towards_zero(reading: Reading) -> float:
    """Under a large sink the bulk shrinks towards zero (value: |γ| at the largest bias over |γ|
    without sink).
    """
    bulk = reading.sweep("sink").bulk
    if bulk[0] == 0:
        raise NothingToMeasure("in this configuration the bulk is zero without a sink")
    return float(bulk[-1] / bulk[0])

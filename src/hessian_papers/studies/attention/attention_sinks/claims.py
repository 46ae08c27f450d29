"""What the paper says about sinks in self-attention with vector tokens."""

from collections.abc import Iterator

import numpy as np

from hessian_papers.ledger.bounds import Estimate, at_least, share_of, within
from hessian_papers.ledger.statements import Labels, Statements
from hessian_papers.ledger.verdicts import exists, left_open
from hessian_papers.ledger.words import MOST
from hessian_papers.studies.attention.attention_sinks.reading import Reading
from hessian_spectra.agreement import EXACT
from hessian_spectra.statistics import rank_correlation

EXTENDED = "Theorem 3.5, extended to vector tokens"
OURS = "our extension of the theorem"
SHOWN = "appendix D.3.1, Figure 9"
CAPTION = "caption of the figure"

WEIGHTS = (
    "It depends on the weights, which the paper leaves open. With large ones attention is on few "
    "tokens without any sink, and a sink moves the largest eigenvalue either way."
)
FEW = "a rank correlation of 1 is a monotone trend; 0.1 for one swap of neighbours among few sinks"

statements = Statements(Reading)
extension = statements.having(paper="singh2026cracking")
figure_9 = statements.about("singh2026cracking", "Figure 9").having(otherwise=WEIGHTS)


@extension.identity(
    EXTENDED,
    within(EXACT, "round-off of a dense float64 eigen-decomposition is below 1e-13", source=OURS),
    id="bulk-of-vector-tokens",
    book="beyond",
)
def bulk(reading: Reading) -> float:
    """The eigenvalues that repeat are ± the singular values of the loss's derivative by W_Q W_Kᵀ.

    Statistic: largest difference, relative to the largest eigenvalue.
    """
    return float(reading.where_resolved(reading.bulk_error).max())


@extension.identity(
    EXTENDED,
    within(0.0, "a count; eigenvalues count as equal within 1e-11 of the largest", source=OURS),
    id="multiplicity-for-vector-tokens",
    book="beyond",
)
def bulk_multiplicity(reading: Reading) -> float:
    """Each of them occurs d_K − 2 d + 1 times, as often as [W_Q; W_K] of full rank allows.

    Statistic: number of eigenvalues that repeat otherwise.
    """
    otherwise = reading.numerics["copies"] != reading.closed_form["copies"]
    return float(np.count_nonzero(reading.where_resolved(reading.repeats & otherwise)))


@figure_9.statement(
    SHOWN,
    exists,
    at_least(1.0, FEW, tolerance=0.1, source=CAPTION),
    id="larger-sinks-larger-outliers",
)
def outliers_grow(reading: Reading) -> float:
    """The larger the attention sink, the larger the outliers.

    Statistic: of the network that is drawn, whose whole spectrum is known, rank correlation of the
    mean attention on the first token and the mean of the largest outliers.
    """
    return rank_correlation(reading.attention, reading.largest_outliers.mean(axis=1))


# What the figure says of a network without and with the largest sink: by the case's name the
# statement, and what is meant by it.
SAID = {
    "bulk-shrinks": ("sinks-shrink-the-bulk", "its mean magnitude is smaller than without"),
    "bulk-towards-zero": ("sinks-shrink-the-bulk", "it is at most a tenth of that without"),
    "largest-grows": ("sinks-raise-the-largest-eigenvalue", "it is larger than without"),
}


def _said_at_each_norm(reading: Reading) -> Iterator[Labels]:
    for place, (value, query_key) in enumerate(reading["draw_norms"].tolist()):
        for name, (statement, means) in SAID.items():
            norms = f"‖W_V‖ = {value:g}, ‖W_Q‖ = ‖W_K‖ = {query_key:g}"
            case = {"name": name, "place": place, "query_key": f"{query_key:g}"}
            yield case | {"statement": statement, "means": means, "norms": norms}


@figure_9.statement(
    SHOWN,
    left_open,
    MOST,
    id="{statement}",
    each=_said_at_each_norm,
    name="{name}-{query_key}",
    shown=("means", "norms"),
)
def in_most_draws(reading: Reading, name: str, place: int, **_: str) -> Estimate:
    """With a large attention sink the bulk is smaller and the largest eigenvalue larger; the
    weights are left open.

    Statistic: fraction of the draws of weights, sequences and targets, independent and normal, in
    which at the largest sink it is so; interval: Wilson's, 95 %.
    """
    if name == "largest-grows":
        return reading.share_that_grows(place)
    without, with_sink = reading.draw_bulk(place)
    limit = 0.1 if name == "bulk-towards-zero" else 1.0
    return share_of(with_sink < limit * without)

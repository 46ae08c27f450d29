"""What the paper says about sinks in self-attention with vector tokens."""

import numpy as np

from hessian_spectra.agreement import EXACT
from hessian_spectra.ledger.bounds import NothingToMeasure, at_least, at_most, within
from hessian_spectra.ledger.claims import Claims
from hessian_spectra.statistics import rank_correlation
from hessian_spectra.studies.attention.attention_sinks.reading import Reading

EXTENDED = "Theorem 3.5, extended to vector tokens"
OURS = "our extension of the theorem"
SHOWN = "appendix D.3.1, Figure 9"
CAPTION = "caption of the figure"

WEIGHTS = (
    "It depends on the weights, which the paper leaves open. With those of a standard "
    "initialisation (value_norm 3.16, query_key_norm 10) the bulk shrinks and the mean of the "
    "largest 5 % grows all the same, but the single largest eigenvalue need not."
)
FEW = "a rank correlation of 1 is a monotone trend; 0.1 for one swap of neighbours among few sinks"
ALL = at_least(1.0, "a share of a few: all of them", source=CAPTION)

claims = Claims(Reading)
extension = claims.having(paper="singh2026cracking")
figure_9 = claims.about("singh2026cracking", "Figure 9").having(otherwise=WEIGHTS)


@extension.identity(
    EXTENDED,
    within(EXACT, "round-off of a dense float64 eigen-decomposition is below 1e-13", source=OURS),
)
def bulk(reading: Reading) -> float:
    """The eigenvalues that repeat are ± the singular values of the loss's derivative by W_Q W_Kᵀ
    (value: largest difference, relative to the largest eigenvalue).
    """
    return float(reading.where_resolved(reading.bulk_error).max())


@extension.identity(
    EXTENDED,
    within(0.0, "a count; eigenvalues count as equal within 1e-11 of the largest", source=OURS),
)
def bulk_multiplicity(reading: Reading) -> float:
    """Each of them occurs d_K − 2 d + 1 times, as often as [W_Q; W_K] of full rank allows (value:
    number of eigenvalues that repeat otherwise).
    """
    otherwise = reading.numerics["copies"] != reading.closed_form["copies"]
    return float(np.count_nonzero(reading.where_resolved(reading.repeats & otherwise)))


@figure_9.trend(SHOWN, at_most(-1.0, FEW, tolerance=0.1, source=CAPTION))
def bulk_shrinks(reading: Reading) -> float:
    """The larger the attention sink, the smaller the bulk (statistic: rank correlation of the mean
    attention on the first token and the mean magnitude of the bulk).
    """
    return rank_correlation(reading.attention, reading.mean_bulk)


@figure_9.value(
    "section 3.3", within(0.1, "'towards zero' is taken as a tenth of what it was", source="text")
)
def bulk_towards_zero(reading: Reading) -> float:
    """The bulk shrinks towards zero (value: its mean magnitude at the largest sink over that
    without sink).
    """
    bulk = reading.mean_bulk
    return float(bulk[-1] / bulk[0])


@figure_9.trend(SHOWN, at_least(1.0, FEW, tolerance=0.1, source=CAPTION))
def outliers_grow(reading: Reading) -> float:
    """The larger the attention sink, the larger the outliers (statistic: rank correlation of the
    mean attention on the first token and the mean of the largest outliers).
    """
    return rank_correlation(reading.attention, reading.largest_outliers.mean(axis=1))


@figure_9.value(SHOWN, ALL)
def bulk_shrinks_in_replicates(reading: Reading) -> float:
    """So it is with other weights and another sink token (value: share of the replicates whose bulk
    is smaller at the largest sink than without).
    """
    bulk = reading["replicate_bulk"]
    if not bulk.any():
        raise NothingToMeasure("in this configuration the replicates have no bulk but zeros")
    return float(np.mean(bulk[:, -1] < bulk[:, 0]))


@figure_9.value(SHOWN, ALL)
def largest_grows_in_replicates(reading: Reading) -> float:
    """So it is with other weights and another sink token (value: share of the replicates whose
    largest eigenvalue is larger at the largest sink than without).
    """
    largest = reading["replicate_largest"]
    return float(np.mean(largest[:, -1] > largest[:, 0]))

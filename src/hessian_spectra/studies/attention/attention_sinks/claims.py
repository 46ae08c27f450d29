"""What the paper says about sinks in self-attention with vector tokens, and how it is measured."""

import numpy as np

from hessian_spectra.agreement import distinct_error
from hessian_spectra.ledger.vocabulary import Claim, Kind, Measure, Relation
from hessian_spectra.results import Arrays
from hessian_spectra.statistics import rank_correlation

TEST = "tests/studies/test_attention_sinks.py"


def _bulk_error(closed_form: Arrays, numerics: Arrays) -> float:
    """Largest distance between repeating eigenvalues and ±σ_i, relative to the largest of all."""
    errors = []
    for exact, spectrum, copies in zip(
        closed_form["numeric_bulk"], numerics["eigenvalues"], numerics["copies"], strict=True
    ):
        repeated = spectrum[copies > 1]
        share = np.abs(repeated).max() / np.abs(spectrum).max()
        errors.append(distinct_error(exact, repeated) * share)
    return float(max(errors))


def _wrong_copies(closed_form: Arrays, numerics: Arrays) -> float:
    """How many repeating eigenvalues do not occur as often as they should."""
    copies = numerics["copies"]
    return float(np.count_nonzero((copies > 1) & (copies != closed_form["copies"])))


def _mean_bulk(numerics: Arrays) -> np.ndarray:
    """Mean magnitude of the repeating eigenvalues for each sink, ``(n,)``."""
    repeated = numerics["copies"] > 1
    return np.array(
        [
            np.abs(row[mask]).mean()
            for row, mask in zip(numerics["eigenvalues"], repeated, strict=True)
        ]
    )


def largest_outliers(numerics: Arrays) -> np.ndarray:
    """The largest eigenvalues that do not repeat, ascending, for each sink, ``(n, c)``."""
    single = [
        row[copies == 1]
        for row, copies in zip(numerics["eigenvalues"], numerics["copies"], strict=True)
    ]
    count = max(1, round(float(numerics["outlier_share"]) * min(len(row) for row in single)))
    return np.array([row[-count:] for row in single])


def _bulk_trend(closed_form: Arrays, numerics: Arrays) -> float:
    return rank_correlation(numerics["attention"], _mean_bulk(numerics))


def _bulk_left(closed_form: Arrays, numerics: Arrays) -> float:
    bulk = _mean_bulk(numerics)
    return float(bulk[-1] / bulk[0])


def _outlier_trend(closed_form: Arrays, numerics: Arrays) -> float:
    return rank_correlation(numerics["attention"], largest_outliers(numerics).mean(axis=1))


def _replicates_with_smaller_bulk(closed_form: Arrays, numerics: Arrays) -> float:
    bulk = closed_form["replicate_bulk"]
    return float(np.mean(bulk[:, -1] < bulk[:, 0]))


def _replicates_with_larger_outlier(closed_form: Arrays, numerics: Arrays) -> float:
    largest = numerics["replicate_largest"]
    return float(np.mean(largest[:, -1] > largest[:, 0]))


WEIGHTS = (
    "It depends on the weights, which the paper leaves open. With those of a standard "
    "initialisation (value_norm 3.16, query_key_norm 10) the bulk shrinks and the mean of the "
    "largest 5 % grows all the same, but the single largest eigenvalue need not."
)
FEW = "a rank correlation of 1 is a monotone trend; 0.1 for one swap of neighbours among few sinks"


def _claim(
    study: str,
    name: str,
    statement: str,
    kind: Kind,
    measure: Measure,
    *,
    location: str = "appendix D.3.1, Figure 9",
    source: str = "caption of the figure",
    expected: float = 0.0,
    relation: Relation = "<=",
    tolerance: float = 0.0,
    reason: str,
) -> Claim:
    return Claim(
        id=f"{study}/{name}",
        paper="singh2026cracking",
        location=location,
        statement=statement,
        kind=kind,
        study=study,
        test=TEST,
        measure=measure,
        expected=expected,
        source=source,
        relation=relation,
        tolerance=tolerance,
        reason=reason,
        explanation="" if kind == "identity" else WEIGHTS,
    )


def claims(study: str) -> list[Claim]:
    """The claims of one study of this kind."""
    return _bulk(study) + _trends(study) + _replicates(study)


def _bulk(study: str) -> list[Claim]:
    extension = "Theorem 3.5, extended to vector tokens"
    return [
        _claim(
            study,
            "bulk",
            "The eigenvalues that repeat are ± the singular values of the loss's derivative by "
            "W_Q W_Kᵀ (value: largest difference, relative to the largest eigenvalue).",
            "identity",
            _bulk_error,
            tolerance=1e-10,
            reason="round-off of a dense float64 eigen-decomposition is below 1e-13",
            location=extension,
            source="our extension of the theorem",
        ),
        _claim(
            study,
            "bulk-multiplicity",
            "Each of them occurs d_K − 2 d + 1 times, as often as [W_Q; W_K] of full rank allows "
            "(value: number of eigenvalues that repeat otherwise).",
            "identity",
            _wrong_copies,
            reason="a count; eigenvalues count as equal within 1e-11 of the largest",
            location=extension,
            source="our extension of the theorem",
        ),
    ]


def _trends(study: str) -> list[Claim]:
    return [
        _claim(
            study,
            "bulk-shrinks",
            "The larger the attention sink, the smaller the bulk (statistic: rank correlation of "
            "the mean attention on the first token and the mean magnitude of the bulk).",
            "trend",
            _bulk_trend,
            expected=-1.0,
            tolerance=0.1,
            reason=FEW,
        ),
        _claim(
            study,
            "bulk-towards-zero",
            "The bulk shrinks towards zero (value: its mean magnitude at the largest sink over "
            "that without sink).",
            "value",
            _bulk_left,
            location="section 3.3",
            source="text",
            tolerance=0.1,
            reason="'towards zero' is taken as a tenth of what it was",
        ),
        _claim(
            study,
            "outliers-grow",
            "The larger the attention sink, the larger the outliers (statistic: rank correlation "
            "of the mean attention on the first token and the mean of the largest outliers).",
            "trend",
            _outlier_trend,
            expected=1.0,
            relation=">=",
            tolerance=0.1,
            reason=FEW,
        ),
    ]


def _replicates(study: str) -> list[Claim]:
    return [
        _claim(
            study,
            "bulk-shrinks-in-replicates",
            "So it is with other weights and another sink token (value: share of the replicates "
            "whose bulk is smaller at the largest sink than without).",
            "value",
            _replicates_with_smaller_bulk,
            expected=1.0,
            relation=">=",
            reason="a share of a few: all of them",
        ),
        _claim(
            study,
            "largest-grows-in-replicates",
            "So it is with other weights and another sink token (value: share of the replicates "
            "whose largest eigenvalue is larger at the largest sink than without).",
            "value",
            _replicates_with_larger_outlier,
            expected=1.0,
            relation=">=",
            reason="a share of a few: all of them",
        ),
    ]

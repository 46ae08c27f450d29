"""What the paper says about weight norms, sinks and self-attention's spectrum, as measured."""

from collections.abc import Callable
from functools import partial

import numpy as np

from hessian_spectra.agreement import distinct_error, spectrum_error
from hessian_spectra.ledger.vocabulary import Claim, Kind, Measure, Relation
from hessian_spectra.results import Arrays
from hessian_spectra.statistics import rank_correlation

TEST = "tests/studies/test_attention_scale.py"
SWEEPS = ("query_key", "value", "sink", "massive_sink")


def _all_eigenvalues(closed_form: Arrays, name: str, point: int) -> np.ndarray:
    copies = int(closed_form["key_dimension"]) - 1
    bulk = closed_form[f"{name}/bulk"][point] * np.repeat([1.0, -1.0], copies)
    return np.sort(np.concatenate([closed_form[f"{name}/outliers"][point], bulk]))


def _dense_error(closed_form: Arrays, numerics: Arrays) -> float:
    """Largest error of a whole spectrum, multiplicities included."""
    errors = [
        float(spectrum_error(_all_eigenvalues(closed_form, name, point), spectrum))
        for name in SWEEPS
        for point, spectrum in zip(
            numerics[f"{name}/dense_index"].tolist(), numerics[f"{name}/dense"], strict=True
        )
    ]
    if not errors:
        raise ValueError("dense_points: expected at least 1 for this claim, got 0")
    return max(errors)


def _distinct_error(closed_form: Arrays, numerics: Arrays, *, bulk: bool) -> float:
    """Largest error of the bulk ±γ among the repeated values, or of the outliers among the rest."""
    errors = []
    for name in SWEEPS:
        for row, point in enumerate(numerics[f"{name}/index"].tolist()):
            values, repeated = numerics[f"{name}/values"][row], numerics[f"{name}/repeated"][row]
            largest = np.nanmax(np.abs(values))
            exact = closed_form[f"{name}/outliers"][point]
            if bulk:
                exact = closed_form[f"{name}/bulk"][point] * np.array([1.0, -1.0])
            numeric = values[np.isfinite(values) & (repeated == bulk)]
            scale = np.abs(numeric).max() / largest
            errors.append(distinct_error(exact, numeric) * scale)
    return float(max(errors))


def _outside(closed_form: Arrays, numerics: Arrays, *, largest: bool) -> float:
    """How far outliers (or the largest eigenvalue) lie outside their bounds, relative to both."""
    worst = 0.0
    for name in SWEEPS:
        outliers = closed_form[f"{name}/outliers"]
        lower, upper = closed_form[f"{name}/lower"], closed_form[f"{name}/upper"]
        smallest, biggest = outliers[:, -1], outliers[:, 0]
        if largest:
            lower, upper = (closed_form[f"{name}/largest_{end}"] for end in ("lower", "upper"))
            smallest = biggest = np.maximum(biggest, np.abs(closed_form[f"{name}/bulk"]))
        distance = np.maximum(lower - smallest, biggest - upper)
        worst = max(worst, float((distance / np.abs(outliers).max(axis=1)).max()))
    return worst


def _condition_bound(closed_form: Arrays, numerics: Arrays) -> float:
    """By how much, relatively, the bound lies above the numerical condition number, if it does."""
    ratios = []
    for name in SWEEPS:
        bound = closed_form[f"{name}/condition_bound"][numerics[f"{name}/index"]]
        number = numerics[f"{name}/condition_number"]
        finite = np.isfinite(number)
        ratios.append(bound[finite] / number[finite])
    return max(float(np.concatenate(ratios).max()) - 1, 0.0)


def _bulk(closed_form: Arrays, name: str) -> np.ndarray:
    return np.abs(closed_form[f"{name}/bulk"])


def _largest(closed_form: Arrays, name: str) -> np.ndarray:
    """The largest eigenvalue, ``(s,)``."""
    return np.maximum(closed_form[f"{name}/outliers"][:, 0], _bulk(closed_form, name))


def _bulk_against_largest(closed_form: Arrays, numerics: Arrays) -> float:
    """The range of |γ| over the range of the largest eigenvalue, along the norm of w_Q and w_K."""
    change = np.ptp(_bulk(closed_form, "query_key"))
    return float(change / np.ptp(_largest(closed_form, "query_key")))


def _bulk_change(closed_form: Arrays, numerics: Arrays, *, name: str) -> float:
    """Largest over smallest |γ| along a sweep, minus 1."""
    bulk = _bulk(closed_form, name)
    return float(bulk.max() / bulk.min() - 1) if bulk.min() > 0 else float("inf")


def _trend(
    closed_form: Arrays,
    numerics: Arrays,
    *,
    name: str,
    quantity: Callable[[Arrays, str], np.ndarray],
) -> float:
    """Rank correlation of a quantity with what the sweep varies."""
    return rank_correlation(closed_form[f"{name}/varied"], quantity(closed_form, name))


def _shrinks_to(closed_form: Arrays, numerics: Arrays, *, name: str) -> float:
    """|γ| at the end of a sweep over |γ| at its start."""
    bulk = _bulk(closed_form, name)
    return float(bulk[-1] / bulk[0]) if bulk[0] > 0 else float("inf")


def _condition(closed_form: Arrays, name: str) -> np.ndarray:
    return closed_form[f"{name}/condition_number"]


def _condition_fall(closed_form: Arrays, numerics: Arrays, *, key: str) -> float:
    """The largest relative fall below an earlier value along the norm of w_Q and w_K."""
    values = closed_form[f"query_key/{key}"]
    return float((1 - values / np.maximum.accumulate(values)).max())


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


def _claim(
    study: str,
    name: str,
    statement: str,
    kind: Kind,
    measure: Measure,
    *,
    location: str,
    expected: float = 0.0,
    relation: Relation = "<=",
    tolerance: float = 0.0,
    reason: str,
    explanation: str = OTHER_SETTINGS,
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
        source="theorem" if kind == "identity" else "text and figure",
        relation=relation,
        tolerance=tolerance,
        reason=reason,
        explanation="" if kind == "identity" else explanation,
    )


def _identities(study: str) -> list[Claim]:
    round_off = "round-off of float64 eigenvalues is below 1e-13 of the largest"
    identity = partial(_claim, study, kind="identity", tolerance=1e-10, reason=round_off)
    theorem = "Theorem 3.5"
    return [
        identity(
            "spectrum",
            "The closed form is the whole spectrum of the Hessian, with its multiplicities.",
            measure=_dense_error,
            location=theorem,
        ),
        identity(
            "bulk",
            "The eigenvalues that repeat are γ and −γ.",
            measure=partial(_distinct_error, bulk=True),
            location=theorem,
        ),
        identity(
            "outliers",
            "The eigenvalues that do not repeat are the three outliers, with a sink as without.",
            measure=partial(_distinct_error, bulk=False),
            location=theorem,
        ),
        identity(
            "outlier-bounds",
            "All outliers lie in tr/3 ± ξ (value: how far outside, relative to the largest).",
            measure=partial(_outside, largest=False),
            location="Theorem 3.5, with the norms in ξ squared",
        ),
        identity(
            "largest-eigenvalue-bounds",
            "The largest eigenvalue lies between tr/3 + ξ/2 and tr/3 + ξ, or |γ| where that is "
            "larger (value: how far outside, relative to the largest outlier).",
            measure=partial(_outside, largest=True),
            location="Remark B.4, with the norms in ξ squared",
        ),
        _claim(
            study,
            "condition-bound",
            "The condition number is at least (2 tr + 3 ξ) / (6 |γ|) (value: by how much the bound "
            "lies above the numerical condition number, relatively, at most).",
            "identity",
            _condition_bound,
            location="Remark 3.1, with the norms in ξ squared",
            tolerance=1e-6,
            reason="the smallest eigenvalue has an error of 1e-15 of the largest, 1e-6 of itself "
            "only at condition numbers of 1e9",
        ),
    ]


def _query_key_norms(study: str) -> list[Claim]:
    a = "section 3.3 and Figure 2a"
    return [
        _claim(
            study,
            "a-bulk-against-largest",
            "The bulk hardly moves while the norm of w_Q and w_K moves the largest eigenvalue "
            "(statistic: range of |γ| over range of the largest eigenvalue).",
            "trend",
            _bulk_against_largest,
            location=a,
            tolerance=0.05,
            reason="'approximately constant' beside the largest eigenvalue: 5 % of its change",
            explanation=NOT_UNIFORM,
        ),
        _claim(
            study,
            "a-bulk-constant",
            "The norm of w_Q and w_K does not affect the bulk (value: largest over smallest |γ|, "
            "minus 1, over all norms of the sweep).",
            "value",
            partial(_bulk_change, name="query_key"),
            location=a,
            tolerance=0.1,
            reason="'approximately constant' is taken as within 10 %",
            explanation=NOT_UNIFORM,
        ),
        _claim(
            study,
            "a-largest-grows",
            "The largest eigenvalue grows with the norm of w_Q and w_K (statistic: rank "
            "correlation).",
            "trend",
            partial(_trend, name="query_key", quantity=_largest),
            location=a,
            expected=1.0,
            relation=">=",
            tolerance=0.1,
            reason="a rank correlation of 1 is a monotone growth; 0.1 for wiggles",
        ),
    ]


def _query_key_condition(study: str) -> list[Claim]:
    return [
        _claim(
            study,
            "a-condition-number-monotone",
            "The condition number is monotone in the norm of w_Q and w_K (value: its largest "
            "relative fall below an earlier value).",
            "value",
            partial(_condition_fall, key="condition_number"),
            location="Remark 3.1, the text below it",
            tolerance=0.01,
            reason="1 % for what cannot be seen in a figure",
            explanation=NOT_MONOTONE,
        ),
        _claim(
            study,
            "a-condition-bound-monotone",
            "The lower bound on the condition number is monotone in the norm of w_Q and w_K "
            "(value: its largest relative fall below an earlier value).",
            "value",
            partial(_condition_fall, key="condition_bound"),
            location="Remark 3.1, the text below it",
            tolerance=0.01,
            reason="1 % for the change of the attention, which the paper neglects",
            explanation=NOT_MONOTONE,
        ),
    ]


def _value_norms(study: str) -> list[Claim]:
    b = "section 3.3 and Figure 2b"
    return [
        _claim(
            study,
            "b-bulk-moves",
            "The bulk depends on w_V (value: largest over smallest |γ|, minus 1).",
            "value",
            partial(_bulk_change, name="value"),
            location=b,
            expected=9.0,
            relation=">=",
            reason="'depends' is taken as a change by a factor of 10 over the sweep",
        ),
        _claim(
            study,
            "b-largest-grows",
            "The largest eigenvalue depends on w_V: it grows (statistic: rank correlation).",
            "trend",
            partial(_trend, name="value", quantity=_largest),
            location=b,
            expected=1.0,
            relation=">=",
            tolerance=0.1,
            reason="a rank correlation of 1 is a monotone growth; 0.1 for wiggles",
        ),
        _claim(
            study,
            "b-condition-number-falls",
            "Unlike for w_Q and w_K, the condition number does not grow with w_V (statistic: rank "
            "correlation of condition number and norm).",
            "trend",
            partial(_trend, name="value", quantity=_condition),
            location=b,
            tolerance=0.2,
            reason="'no such relationship' is taken as a rank correlation of at most 0.2",
        ),
    ]


def _sinks(study: str) -> list[Claim]:
    c = "section 3.3 and Figure 2c"

    def trend(
        name: str,
        statement: str,
        quantity: Callable[[Arrays, str], np.ndarray],
        sign: int,
        sweep: str,
        explanation: str,
    ) -> Claim:
        return _claim(
            study,
            name,
            f"{statement} (statistic: rank correlation with the sink's bias).",
            "trend",
            partial(_trend, name=sweep, quantity=quantity),
            location=c,
            expected=float(sign),
            relation=">=" if sign > 0 else "<=",
            tolerance=0.1,
            reason="a rank correlation of 1 is a monotone trend; 0.1 for wiggles",
            explanation=explanation,
        )

    claims = [
        trend("c-bulk-shrinks", "The larger the sink, the smaller the bulk", _bulk, -1, "sink",
              OTHER_SETTINGS),
        trend("c-largest-grows", "The larger the sink, the larger the largest eigenvalue", _largest,
              1, "sink", OTHER_SETTINGS),
        trend("c-ill-conditioned", "The larger the sink, the larger the condition number",
              _condition, 1, "sink", OTHER_SETTINGS),
        trend("d-largest-grows", "With a massive activation, the larger the sink, the larger the "
              "largest eigenvalue", _largest, 1, "massive_sink", OTHER_SETTINGS),
        trend("d-bulk-shrinks", "With a massive activation, the larger the sink, the smaller the "
              "bulk", _bulk, -1, "massive_sink", MASSIVE),
    ]  # fmt: skip
    claims.append(
        _claim(
            study,
            "c-bulk-towards-zero",
            "Under a large sink the bulk shrinks towards zero (value: |γ| at the largest bias over "
            "|γ| without sink).",
            "value",
            partial(_shrinks_to, name="sink"),
            location=c,
            tolerance=0.1,
            reason="'towards zero' is taken as a tenth of what it was",
        )
    )
    return claims


def claims(study: str) -> list[Claim]:
    """The claims of one study of this kind."""
    norms = _query_key_norms(study) + _query_key_condition(study) + _value_norms(study)
    return _identities(study) + norms + _sinks(study)

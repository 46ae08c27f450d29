"""What anon2026data says about the eigenvalues of two-layer networks through training."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from hessian_spectra.agreement import spectrum_error
from hessian_spectra.ledger.vocabulary import Claim
from hessian_spectra.results import Arrays
from hessian_spectra.statistics import rank_correlation
from hessian_spectra.studies.images.epochs import GROWTH, Sides, excess_loss, lowest_early, networks

TEST = "tests/claims/test_through_training_claims.py::"
PRINTED_INDICES = "i ∈ [min{d_0, d_1}] and j ∈ [min{d_1, d_2}]"
SOLVER = (
    "the eigen-solver stops at residuals of 1e-6 of the largest eigenvalue, which no error exceeds"
)
UNFITTED = (
    "The residual (f(X) − Y)Xᵀ is still large: training was too short or the network too narrow "
    "to fit the least-squares solution."
)


def input_scale(exact: Arrays) -> float:
    """σ_x from the largest eigenvalue at the start, σ_x²(‖W_1‖₂² + ‖W_2‖₂²)."""
    return float(np.sqrt(exact["corrected"][0, -1] / (exact["spectral_norms"][0] ** 2).sum()))


def error(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """Mean of |eq. 15 − λ_k| / λ_k over the Hessian's top eigenvalues at each epoch, ``(t,)``."""
    return np.asarray(np.abs(exact["corrected"] / numeric["hessian"] - 1).mean(axis=1))


def _widest(closed_form: Arrays, numerics: Arrays) -> Iterator[Sides]:
    """The networks of the study's largest width, which is the paper's."""
    found = networks(closed_form, numerics)
    width = max(int(exact["width"]) for exact, _ in found)
    return (sides for sides in found if int(sides[0]["width"]) == width)


def gauss_newton_error(closed_form: Arrays, numerics: Arrays, indices: str) -> float:
    """The largest error of eq. (15) against the top of the Gauss-Newton matrix, over λ_max."""
    return max(
        float(spectrum_error(exact[indices], numeric["ggn"]).max())
        for exact, numeric in networks(closed_form, numerics)
    )


def sum_error(closed_form: Arrays, numerics: Arrays, indices: str) -> float:
    """|Σ of eq. (15) over its indices / trace by eq. (11) − 1|, the largest."""
    return max(
        float(np.abs(exact[f"{indices}_sum"] / exact["trace"] - 1).max())
        for exact, _ in networks(closed_form, numerics)
    )


def missing_share(closed_form: Arrays, numerics: Arrays, indices: str) -> float:
    """The share of the trace that so many eigenvalues of at most λ_max cannot hold, the largest."""
    shares = (
        1 - exact[f"{indices}_count"] * numeric["ggn"][:, -1] / exact["trace"]
        for exact, numeric in networks(closed_form, numerics)
    )
    return max(0.0, *(float(share.max()) for share in shares))


def largest_eigenvalue_error(closed_form: Arrays, numerics: Arrays) -> float:
    """|λ_max of the Gauss-Newton matrix / σ_x²(‖W_1‖₂² + ‖W_2‖₂²) − 1|, the largest."""
    return max(
        float(np.abs(numeric["ggn"][:, -1] / _combined(exact, "sum") - 1).max())
        for exact, numeric in networks(closed_form, numerics)
    )


def _combined(exact: Arrays, combine: str) -> np.ndarray:
    squares = exact["spectral_norms"] ** 2
    combined = squares.sum(axis=1) if combine == "sum" else squares.max(axis=1)
    return np.asarray(input_scale(exact) ** 2 * combined)


def trained_sharpness_error(closed_form: Arrays, numerics: Arrays, combine: str) -> float:
    """The same for the Hessian at the last epoch and the paper's width, or with the maximum."""
    return max(
        float(abs(numeric["hessian"][-1, -1] / _combined(exact, combine)[-1] - 1))
        for exact, numeric in _widest(closed_form, numerics)
    )


def beyond_bound(closed_form: Arrays, numerics: Arrays) -> float:
    """By how much a Hessian eigenvalue is further from eq. (15) than the residual allows.

    Relative to λ_max and at least 0; the bound is σ_x √(2 (loss − least loss)) ≥ ‖(f(X) − Y)Xᵀ/n‖₂.
    """
    worst = 0.0
    for exact, numeric in networks(closed_form, numerics):
        excess = np.maximum(exact["loss"] - exact["floor"], 0.0)
        distance = np.abs(exact["corrected"] - numeric["hessian"]).max(axis=1)
        beyond = distance - input_scale(exact) * np.sqrt(2 * excess)
        worst = max(worst, float((beyond / numeric["hessian"][:, -1]).max()))
    return worst


def error_trend(closed_form: Arrays, numerics: Arrays) -> float:
    """Spearman's correlation of error and epoch of the paper's width, the largest."""
    return max(
        rank_correlation(exact["epoch"].astype(float), error(exact, numeric))
        for exact, numeric in _widest(closed_form, numerics)
    )


def error_ratio(closed_form: Arrays, numerics: Arrays) -> float:
    """The last error over the first one of the paper's width, the largest."""
    found = (error(*sides) for sides in _widest(closed_form, numerics))
    return max(float(values[-1] / values[0]) for values in found)


def last_error(closed_form: Arrays, numerics: Arrays) -> float:
    """The last error of the paper's width, the largest."""
    return max(float(error(*sides)[-1]) for sides in _widest(closed_form, numerics))


def wrong_side(closed_form: Arrays, numerics: Arrays) -> float:
    """Networks whose last error is above 1 % although they fit, or below although they do not."""
    found = networks(closed_form, numerics)
    return float(
        sum((error(*sides)[-1] < 0.01) != (excess_loss(sides[0])[-1] < 0.02) for sides in found)
    )


def index_sets_apart(closed_form: Arrays, numerics: Arrays) -> float:
    """What both index sets differ by in the top eigenvalues of the paper's width, over λ_max."""
    return max(
        float(spectrum_error(exact["printed"], exact["corrected"]).max())
        for exact, _ in _widest(closed_form, numerics)
    )


def norm_fall(closed_form: Arrays, numerics: Arrays) -> float:
    """The lowest early trace by eq. (11) over the start's, less 1, where it falls least."""
    return float(
        np.max(
            [lowest_early(exact["trace"], exact) for exact, _ in networks(closed_form, numerics)]
        )
    )


def sharpness_fall(closed_form: Arrays, numerics: Arrays) -> float:
    """The same of the Hessian's largest eigenvalue."""
    return float(
        np.max(
            [
                lowest_early(numeric["hessian"][:, -1], exact)
                for exact, numeric in networks(closed_form, numerics)
            ]
        )
    )


def _equations(study: str) -> list[Claim]:
    """What holds at every epoch, for the Gauss-Newton matrix or at any loss."""
    common: dict[str, Any] = {"paper": "anon2026data", "study": study, "kind": "identity"}
    return [
        Claim(
            id=f"{study}/gauss-newton",
            location="eq. (15); Figure 4",
            statement="At every epoch the top eigenvalues of the Gauss-Newton matrix are the "
            "largest σ_x²(σ_i²(W_1) + σ_j²(W_2)) with i ∈ [d_0] and j ∈ [d_2], where singular "
            "values beyond the size of a layer are 0; the layers need not be balanced.",
            test=f"{TEST}test_a_wrong_spectrum_is_noticed",
            measure=partial(gauss_newton_error, indices="corrected"),
            source="Lanczos' method on products with the matrix",
            tolerance=1e-6,
            reason=SOLVER,
            printed=PRINTED_INDICES,
            measure_printed=partial(gauss_newton_error, indices="printed"),
            **common,
        ),
        Claim(
            id=f"{study}/sums",
            location="eq. (15) with eq. (11)",
            statement="The eigenvalues of eq. (15) sum to the trace of eq. (11), "
            "σ_x²(d_2‖W_1‖_F² + d_0‖W_2‖_F²), with i ∈ [d_0] and j ∈ [d_2].",
            test=f"{TEST}test_sums_over_an_index_set",
            measure=partial(sum_error, indices="corrected"),
            source="the definition of a trace",
            tolerance=1e-10,
            reason="float64 rounding of a sum of a few thousand terms, with room",
            printed=PRINTED_INDICES,
            measure_printed=partial(sum_error, indices="printed"),
            **common,
        ),
        Claim(
            id=f"{study}/count",
            location="Appendix B, below eq. (16)",
            statement="At most d_0 d_2 − (d_0 − r_1)(d_2 − r_2) eigenvalues are non-zero. Value: "
            "the share of the trace that so many eigenvalues could not hold if each were as large "
            "as the largest numerical one.",
            test=f"{TEST}test_too_few_eigenvalues_cannot_hold_the_trace",
            measure=partial(missing_share, indices="corrected"),
            source="N eigenvalues sum to at most N λ_max",
            tolerance=1e-6,
            reason=SOLVER,
            printed="at most min{d_0, d_1} × min{d_1, d_2} may be non-zero",
            measure_printed=partial(missing_share, indices="printed"),
            **common,
        ),
        Claim(
            id=f"{study}/largest-eigenvalue",
            location="eq. (10)",
            statement="At every epoch the largest eigenvalue of the Gauss-Newton matrix is "
            "σ_x²(‖W_1‖₂² + ‖W_2‖₂²), whether or not the layers are balanced.",
            test=f"{TEST}test_sum_or_maximum",
            measure=largest_eigenvalue_error,
            source="Lanczos' method on products with the matrix",
            tolerance=1e-6,
            reason=SOLVER,
            **common,
        ),
        Claim(
            id=f"{study}/residual-bound",
            location="Assumption 1; Figure 4",
            statement="What keeps eq. (15) from the Hessian's eigenvalues is not the loss but "
            "(f(X) − Y)Xᵀ/n: at every epoch they are at most its norm apart, which is at most "
            "σ_x √(2(loss − loss of least squares)). Value: the excess over that, relative to "
            "λ_max, if any.",
            test=f"{TEST}test_an_eigenvalue_beyond_the_bound",
            measure=beyond_bound,
            source="Weyl's inequality: what the Hessian has beside the Gauss-Newton matrix has the "
            "eigenvalues ± σ_k((f(X) − Y)Xᵀ/n)",
            tolerance=1e-6,
            reason=SOLVER,
            **common,
        ),
    ]


def _training(study: str) -> list[Claim]:
    """What changes with training."""
    common: dict[str, Any] = {"paper": "anon2026data", "study": study}
    figure: dict[str, Any] = {"location": "Appendix B, text on Figure 4"}
    mean = "the mean over the top eigenvalues of |eq. 15 − λ| / λ of the Hessian"
    worst = "of the paper's width and the image set where it is largest"
    return [
        Claim(
            id=f"{study}/error-trend",
            statement="The approximation becomes increasingly precise as training progresses. "
            f"Statistic: Spearman's correlation with the epoch of the error, {mean}, {worst}",
            kind="trend",
            test=f"{TEST}test_a_shrinking_error",
            measure=error_trend,
            expected=-1.0,
            tolerance=0.1,
            reason="−1 is a fall at every recorded epoch; 0.1 leaves room for two neighbours out "
            "of order",
            explanation=UNFITTED,
            **figure,
            **common,
        ),
        Claim(
            id=f"{study}/error-ratio",
            statement="Training makes the approximation more precise. Statistic: the last error "
            f"over that at the start, {worst}; the error is {mean}",
            kind="trend",
            test=f"{TEST}test_a_shrinking_error",
            measure=error_ratio,
            expected=0.1,
            reason="a tenth, which nobody would overlook in the figure; the paper gives no number",
            explanation=UNFITTED,
            **figure,
            **common,
        ),
        Claim(
            id=f"{study}/last-error",
            statement="After training eq. (15) has the Hessian's top eigenvalues within 1 %. "
            f"Statistic: the last error, {mean}, {worst}",
            kind="value",
            test=f"{TEST}test_a_shrinking_error",
            measure=last_error,
            tolerance=0.01,
            reason="1 % is what can be seen in a figure of eigenvalues; the paper gives no number",
            explanation=UNFITTED,
            **figure,
            **common,
        ),
        Claim(
            id=f"{study}/fitted",
            location="Assumption 1; Figure 4",
            statement="The error vanishes with training just where the network can fit the "
            "least-squares solution, which it cannot with fewer hidden units than outputs: it ends "
            "below 1 % if and only if the loss ends within 2 % of the way down to that of least "
            "squares. Value: number of networks for which it is otherwise",
            kind="value",
            test=f"{TEST}test_networks_on_the_wrong_side",
            measure=wrong_side,
            source="our addition; the network of fewer hidden units is ours too",
            relation="=",
            reason="a count",
            explanation="Both limits are round numbers; networks near them may be on either side.",
            **common,
        ),
        Claim(
            id=f"{study}/print-suffices",
            location="eq. (15); Figure 4",
            statement="For the paper's width the printed indices give the same top eigenvalues: "
            "the erratum does not show in Figure 4. Value: their largest difference over λ_max",
            kind="value",
            test=f"{TEST}test_index_sets_apart",
            measure=index_sets_apart,
            source="a network with more hidden units than outputs has all largest sums of positive "
            "terms",
            tolerance=1e-12,
            reason="the same sums, to rounding",
            explanation="With few hidden units σ_j²(W_2) + 0 is among the largest sums.",
            **common,
        ),
        _against_the_maximum(study),
        *_flattening(study),
    ]


def _against_the_maximum(study: str) -> Claim:
    return Claim(
        id=f"{study}/sharpness",
        paper="singh2026cracking",
        location="appendix D.3.3, which anon2026data contradicts below eq. (10)",
        statement="After training the Hessian's largest eigenvalue is σ_x²(‖W_1‖₂² + ‖W_2‖₂²). "
        "Value: relative error at the last epoch, of the paper's width and the image set where "
        "it is largest",
        kind="value",
        study=study,
        test=f"{TEST}test_sum_or_maximum",
        measure=partial(trained_sharpness_error, combine="sum"),
        source="anon2026data, eq. (10)",
        tolerance=0.01,
        reason="what is left of the residual, as for the top eigenvalues",
        printed="max{‖W_1‖₂², ‖W_2‖₂²}, from a Hessian without blocks of two layers",
        measure_printed=partial(trained_sharpness_error, combine="maximum"),
        explanation=UNFITTED,
    )


def _flattening(study: str) -> list[Claim]:
    early = (
        "while more than half of the loss that training can remove is still there, relative to "
        "the start, less 1, of the network where it falls least"
    )
    common: dict[str, Any] = {
        "paper": "anon2026data",
        "study": study,
        "location": "text below eq. (11)",
        "kind": "trend",
        "test": f"{TEST}test_an_early_fall_is_found",
        "reason": "a sign",
        "explanation": GROWTH,
    }
    return [
        Claim(
            id=f"{study}/norm-falls-early",
            statement="The norm of the parameters decreases early in training. Statistic: lowest "
            f"σ_x²(d_2‖W_1‖_F² + d_0‖W_2‖_F²), the trace of eq. (11), {early}",
            measure=norm_fall,
            **common,
        ),
        Claim(
            id=f"{study}/sharpness-falls-early",
            statement="Sharpness decreases early in training. Statistic: lowest largest eigenvalue "
            f"of the Hessian {early}",
            measure=sharpness_fall,
            **common,
        ),
    ]


def claims(study: str) -> list[Claim]:
    """The claims of one study of this kind."""
    return _equations(study) + _training(study)

"""What anon2026data says about the whole spectrum of a balanced deep linear network."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from hessian_spectra.agreement import spectrum_error
from hessian_spectra.ledger.vocabulary import Claim, Measure
from hessian_spectra.results import Arrays

ROUND_OFF = "float64 leaves about 1e-15 of the largest eigenvalue; 1e-10 is our bound for exact"
TEST = "tests/studies/test_balanced_spectrum.py::"
# Relative to the largest eigenvalue: rounding leaves less where an eigenvalue is zero.
ZERO = 1e-13


def _networks(closed_form: Arrays) -> Iterator[str]:
    """The beginnings of the networks' arrays' names."""
    return (name.removesuffix("sizes") for name in closed_form if name.endswith("/sizes"))


def error_of(exact: str, numeric: str, square: bool | None = None) -> Measure:
    """The largest error of a spectrum over the networks, relative to the largest eigenvalue.

    Args:
        exact: the array of the closed form.
        numeric: the array of the numerical side.
        square: whether only networks count whose first and last layers are the narrowest, for
            which the indices in print are all there are; infinity if there is none.
    """

    def measure(closed_form: Arrays, numerics: Arrays) -> float:
        errors = []
        for of in _networks(closed_form):
            sizes = closed_form[of + "sizes"]
            if square is None or square == (max(sizes[0], sizes[-1]) == min(sizes)):
                errors.append(
                    float(spectrum_error(closed_form[of + exact], numerics[of + numeric]))
                )
        return max(errors, default=np.inf)

    return measure


def excess(count: str) -> Measure:
    """By how many the numerical eigenvalues that are not zero exceed a count, at most."""

    def measure(closed_form: Arrays, numerics: Arrays) -> float:
        found = []
        for of in _networks(closed_form):
            numeric = numerics[of + "hessian_exact"]
            nonzero = int((numeric > ZERO * numeric[-1]).sum())
            found.append(max(0, nonzero - int(closed_form[of + count])))
        return float(max(found))

    return measure


def sharpness_error(exact: str, numeric: str) -> Measure:
    """Relative error of a prediction of the largest eigenvalue, the largest over the networks."""

    def measure(closed_form: Arrays, numerics: Arrays) -> float:
        pairs = [
            (closed_form[o + exact], numerics[o + numeric][-1]) for o in _networks(closed_form)
        ]
        return max(abs(float(predicted / largest) - 1) for predicted, largest in pairs)

    return measure


def largest(name: str) -> Measure:
    """The largest of a number of the numerical side over the networks."""

    def measure(closed_form: Arrays, numerics: Arrays) -> float:
        return max(float(numerics[of + name]) for of in _networks(closed_form))

    return measure


def smallest(name: str) -> Measure:
    """The smallest of a number of the numerical side over the networks."""

    def measure(closed_form: Arrays, numerics: Arrays) -> float:
        return min(float(numerics[of + name]) for of in _networks(closed_form))

    return measure


def trace_error(closed_form: Arrays, numerics: Arrays) -> float:
    """Relative error of eq. (7) for the Hessian's trace, at all three kinds of labels."""
    return max(
        abs(float(numerics[of + f"trace_{labels}"] / closed_form[of + "trace"]) - 1)
        for of in _networks(closed_form)
        for labels in ("exact", "least_squares", "unfitted")
    )


def lanczos_error(closed_form: Arrays, numerics: Arrays) -> float:
    """Error of the closed form for the top eigenvalues by Lanczos' method."""
    return max(
        float(
            spectrum_error(
                closed_form[of + "labels_exact"][-len(numerics[of + "top"]) :],
                numerics[of + "top"],
            )
        )
        for of in _networks(closed_form)
    )


def vectors_outside(closed_form: Arrays, numerics: Arrays) -> float:
    """How much of a top eigenvector by Lanczos' method is outside its eigenspace, at most.

    Returns:
        1 − ‖Vᵀ q‖, with V the closed form's eigenvectors whose eigenvalues are closer to q's than
        1e-6 of the largest.
    """
    worst = 0.0
    for of in _networks(closed_form):
        vectors = closed_form[of + "top_vectors"]
        values = closed_form[of + "from_weights"][-vectors.shape[1] :]
        for value, vector in zip(numerics[of + "top"], numerics[of + "top_vectors"].T, strict=True):
            near = np.abs(values - value) < 1e-6 * values[-1]
            worst = max(worst, 1 - float(np.linalg.norm(vectors[:, near].T @ vector)))
    return worst


def claims(study: str) -> list[Claim]:
    """The claims that a study of this kind measures."""
    return [*_spectrum_claims(study), *_other_claims(study), *_residual_claims(study)]


def _spectrum_claims(study: str) -> list[Claim]:
    common: dict[str, Any] = {"paper": "anon2026data", "study": study}
    magnified = (
        "the smallest singular values of Y carry its rounding ε, which the L-th root magnifies to "
        "at worst ε^{2/L} of the largest eigenvalue, 1e-6 for 5 layers, but hardly ever does"
    )
    return [
        Claim(
            **common,
            id=f"{study}/labels",
            location="Equation 13, Equation 9; Figure 1a",
            statement=(
                "The labels' singular values alone give all Hessian eigenvalues of a balanced "
                "solution of zero loss, with i = 1, ..., d_0 and j = 1, ..., d_L, singular values "
                "beyond the rank counting as 0"
            ),
            kind="identity",
            test=f"{TEST}test_labels_give_the_whole_spectrum",
            measure=error_of("labels_exact", "hessian_exact"),
            source="the Hessian-vector products of the loss",
            tolerance=1e-8,
            reason=magnified,
            printed="Both indices end at min(d_0, ..., d_L)",
            measure_printed=error_of("printed_exact", "hessian_exact"),
            explanation=(
                "Wherever the first or the last layer is wider than the narrowest, d_L − r copies "
                "of s_i^{2(L−1)} σ_x² and d_0 − r copies of s_j^{2(L−1)} σ_x² are left out."
            ),
        ),
        Claim(
            **common,
            id=f"{study}/equal-widths",
            location="Figure 1a",
            statement=(
                "Where the first and the last layer are the narrowest, as in the paper's network "
                "of equal widths, its indices give all eigenvalues, from the labels alone"
            ),
            kind="value",
            test=f"{TEST}test_printed_indices_are_enough_for_equal_widths",
            measure=error_of("printed_exact", "hessian_exact", square=True),
            source="the Hessian-vector products of the loss",
            tolerance=1e-8,
            reason=magnified,
            explanation="Without such a network in the configuration nothing is measured.",
        ),
        Claim(
            **common,
            id=f"{study}/weights",
            location="Equation 8, Equation 9",
            statement="The layers' singular values give all eigenvalues of the Gauss-Newton matrix",
            kind="identity",
            test=f"{TEST}test_weights_give_the_whole_spectrum",
            measure=error_of("from_weights", "ggn"),
            source="the products of the Gauss-Newton matrix",
            tolerance=1e-10,
            reason=ROUND_OFF,
        ),
        Claim(
            **common,
            id=f"{study}/count",
            location="text below Equation 9",
            statement=(
                "Of the p eigenvalues at most r d_0 + r d_L − r² are not zero, r = min(d_0, ..., "
                "d_L). Statistic: by how many those above 1e-13 of the largest exceed that"
            ),
            kind="value",
            test=f"{TEST}test_more_eigenvalues_are_positive_than_in_print",
            measure=excess("count"),
            source="the count of pairs with a positive singular value",
            reason="a count",
            printed="At most (min{d_0, ..., d_L})² are not zero",
            measure_printed=excess("printed_count"),
            explanation="The two are equal for d_0 = d_L = r only.",
        ),
    ]


def _other_claims(study: str) -> list[Claim]:
    common: dict[str, Any] = {"paper": "anon2026data", "study": study}
    return [
        Claim(
            **common,
            id=f"{study}/trace",
            location="Equation 7",
            statement=(
                "The sum of eigenvalues is σ_x² Σ_l ‖P_l‖_F² ‖S_l‖_F², for the Hessian at any loss"
            ),
            kind="identity",
            test=f"{TEST}test_trace_is_exact_at_any_loss",
            measure=trace_error,
            source="the trace of the dense Hessian, with three kinds of labels",
            tolerance=1e-10,
            reason=ROUND_OFF,
        ),
        Claim(
            **common,
            id=f"{study}/bound",
            location="Equation 6",
            statement="Balanced networks attain the upper bound of the largest eigenvalue",
            kind="identity",
            test=f"{TEST}test_bound_is_attained",
            measure=sharpness_error("bound", "ggn"),
            source="the products of the Gauss-Newton matrix",
            tolerance=1e-10,
            reason=ROUND_OFF,
        ),
        Claim(
            **common,
            id=f"{study}/lanczos",
            location="Equation 13; Figure 1a",
            statement="The largest eigenvalues, found without the whole matrix, are as predicted",
            kind="identity",
            test=f"{TEST}test_lanczos_finds_the_predicted_eigenpairs",
            measure=lanczos_error,
            source="Lanczos' method",
            tolerance=1e-8,
            reason="the largest residual that Lanczos' method accepts, relative",
        ),
        Claim(
            **common,
            id=f"{study}/vectors",
            location="Eigenvectors, text below Equation 8",
            statement=(
                "The eigenvector of pair (i, j) has in layer l the matrix S_lᵀ u_j (P_l v_i)ᵀ. "
                "Statistic: 1 − the length of a numerical eigenvector's part in its eigenspace"
            ),
            kind="identity",
            test=f"{TEST}test_lanczos_finds_the_predicted_eigenpairs",
            measure=vectors_outside,
            source="Lanczos' method",
            tolerance=1e-6,
            reason="a residual of 1e-8 turns a vector by 1e-8 over the gap to the next eigenvalue",
        ),
    ]


def _residual_claims(study: str) -> list[Claim]:
    common: dict[str, Any] = {"paper": "anon2026data", "study": study}
    return [
        Claim(
            **common,
            id=f"{study}/gauss-newton",
            location="Equation 3, Assumption 1",
            statement=(
                "The Hessian is its Gauss-Newton part at zero loss, and wherever (f(X) − Y) Xᵀ is "
                "0, whatever the loss. Statistic: ‖H − G‖_F / ‖G‖_F at a loss that is not zero"
            ),
            kind="identity",
            test=f"{TEST}test_hessian_is_gauss_newton_where_the_residual_is_uncorrelated",
            measure=largest("difference_least_squares"),
            source="the dense matrices",
            tolerance=1e-10,
            reason=ROUND_OFF,
        ),
        Claim(
            **common,
            id=f"{study}/correlated-residual",
            location="Assumption 1",
            statement=(
                "With a residual of the same size that is correlated with the inputs the Hessian "
                "is another matrix. Statistic: ‖H − G‖_F / ‖G‖_F, the smallest over the networks"
            ),
            kind="trend",
            test=f"{TEST}test_hessian_is_gauss_newton_where_the_residual_is_uncorrelated",
            measure=smallest("difference_unfitted"),
            expected=0.01,
            source="our control: without it the claim before would say nothing",
            relation=">=",
            reason="a hundredth is far above rounding",
            explanation=(
                "A residual that is small beside the outputs, as a configuration may ask for, "
                "leaves the Hessian close to its Gauss-Newton part."
            ),
        ),
        Claim(
            **common,
            id=f"{study}/sharpness",
            location="Equation 14",
            statement="At zero loss the labels alone give the largest eigenvalue",
            kind="identity",
            test=f"{TEST}test_sharpness_of_labels_that_are_not_fitted",
            measure=sharpness_error("labels_sharpness_exact", "hessian_exact"),
            source="the Hessian-vector products of the loss",
            tolerance=1e-10,
            reason=ROUND_OFF,
        ),
        Claim(
            **common,
            id=f"{study}/least-squares-spectrum",
            location="Equation 13",
            statement=(
                "At a balanced least-squares solution, the loss being whatever it is, the layers "
                "have the singular values (σ_i(Y Xᵀ)/(n σ_x²))^{1/L}, which give the whole spectrum"
            ),
            kind="identity",
            test=f"{TEST}test_labels_that_are_not_fitted",
            measure=error_of("solution_least_squares", "hessian_least_squares"),
            source="the Hessian-vector products of the loss",
            tolerance=1e-8,
            reason="the smallest singular values carry rounding, which the L-th root magnifies",
            printed="σ_i(W)^L = σ_i(Y)/(√n σ_x), there for zero loss",
            measure_printed=error_of("labels_least_squares", "hessian_least_squares"),
            explanation="More samples than inputs cannot be fitted exactly in general.",
        ),
        Claim(
            **common,
            id=f"{study}/least-squares-sharpness",
            location="Equation 14",
            statement=(
                "At a balanced least-squares solution λ_max = L σ_x² (σ_max(Y Xᵀ)/(n σ_x²))"
                "^{2(1−1/L)}, the loss being whatever it is"
            ),
            kind="identity",
            test=f"{TEST}test_sharpness_of_labels_that_are_not_fitted",
            measure=sharpness_error("solution_sharpness_least_squares", "hessian_least_squares"),
            source="the Hessian-vector products of the loss",
            tolerance=1e-10,
            reason=ROUND_OFF,
            printed="λ_max = L σ_x² (σ_max(Y)/(√n σ_x))^{2(1−1/L)}, there for zero loss",
            measure_printed=sharpness_error(
                "labels_sharpness_least_squares", "hessian_least_squares"
            ),
            explanation="In print it is too large: only what the inputs explain of Y counts.",
        ),
    ]

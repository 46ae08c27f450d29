"""What the papers say about the spectrum of the scalar linear network and the data scale."""

import numpy as np

from hessian_spectra.agreement import spectrum_error
from hessian_spectra.ledger.vocabulary import Claim
from hessian_spectra.results import Arrays

KEYS = tuple(
    f"{network}_{targets}" for network in ("first", "second") for targets in ("fixed", "scaled")
)
ROUND_OFF = "float64 leaves about 1e-15 of the largest eigenvalue; 1e-10 is our bound for exact"
TEST = "tests/studies/test_data_scale.py::"


def _pairs(closed_form: Arrays, numerics: Arrays) -> list[tuple[np.ndarray, np.ndarray]]:
    """The exact and the numerical spectra ``(s, 2m)``."""
    names = [f"eigenvalues_{key}" for key in KEYS]
    return [(closed_form[name], numerics[name]) for name in names]


def largest_error(closed_form: Arrays, numerics: Arrays) -> float:
    """The largest error of all spectra, relative to the largest eigenvalue of each."""
    return max(spectrum_error(*pair).max() for pair in _pairs(closed_form, numerics))


def trace_error(closed_form: Arrays, numerics: Arrays) -> float:
    """Relative difference of the sum of the numerical eigenvalues and σ_x²(‖w‖² + ‖v‖²)."""
    moments = closed_form["second_moments"]
    return max(
        np.abs(
            numerics[f"eigenvalues_{network}_{targets}"].sum(axis=1) / (moments * norms) - 1
        ).max()
        for network, norms in zip(("first", "second"), closed_form["squared_norms"], strict=True)
        for targets in ("fixed", "scaled")
    )


def order_violation(closed_form: Arrays, numerics: Arrays) -> float:
    """By how much, relative to the largest, a numerical λ_2 or bulk value leaves its place.

    The bulk size b is the numerical spectrum's first entry. What should be in order is
    -b = ... = -b <= λ_2 <= b = ... = b <= λ_1.
    """
    worst = 0.0
    for _, numeric in _pairs(closed_form, numerics):
        width = numeric.shape[1] // 2
        bulk, largest = np.abs(numeric[:, :1]), np.abs(numeric).max(axis=1)
        errors = np.hstack(
            [
                np.abs(numeric[:, : width - 1] + bulk),
                np.abs(numeric[:, width : 2 * width - 1] - bulk),
                np.abs(numeric[:, width - 1 : width]) - bulk,
                bulk - numeric[:, 2 * width - 1 :],
            ]
        )
        worst = max(worst, float((errors.max(axis=1) / largest).max()))
    return worst


def departure(numerics: Arrays, targets: str) -> float:
    """The largest departure from proportionality that the numerical spectra show."""
    return max(
        float(numerics[f"departure_{group}_{targets}"].max()) for group in ("outlier", "bulk")
    )


def least_growth(closed_form: Arrays, numerics: Arrays) -> float:
    """The smallest relative growth of λ_1 from one scale to the next, over the scale's."""
    moments = closed_form["second_moments"]
    return min(
        (np.diff(np.log(numerics[f"eigenvalues_{key}"][:, -1])) / np.diff(np.log(moments))).min()
        for key in ("first_fixed", "second_fixed")
    )


def claims(study: str) -> list[Claim]:
    """The claims that a study of this kind measures."""
    paper, artifact = {
        "closed2024-fig1": ("singh2024closed", "Figure 1"),
    }.get(study, ("singh2026cracking", "Figure 7"))
    theorem = "Theorem 1" if paper == "singh2024closed" else "Theorem 3.1"
    return [
        Claim(
            id=f"{study}/spectrum",
            paper=paper,
            location=f"{theorem}, eq. (1); {artifact}",
            statement=(
                "At every data scale all 2m eigenvalues of the closed form are those of the loss"
            ),
            kind="identity",
            study=study,
            test=f"{TEST}test_closed_form_is_the_spectrum_of_the_loss",
            measure=largest_error,
            source="the Hessian-vector products of the loss",
            tolerance=1e-10,
            reason=ROUND_OFF,
        ),
        Claim(
            id=f"{study}/structure",
            paper=paper,
            location=f"{theorem}; {artifact}",
            statement=(
                "The spectrum is a bulk of m - 1 signed pairs ±δx and two outliers, with "
                "-|δx| ≤ λ_2 ≤ |δx| ≤ λ_1"
            ),
            kind="identity",
            study=study,
            test=f"{TEST}test_outliers_stand_around_the_bulk",
            measure=order_violation,
            source="the theorem; the order of the outliers follows from Weyl's inequality",
            tolerance=1e-10,
            reason=ROUND_OFF,
        ),
        Claim(
            id=f"{study}/trace",
            paper=paper,
            location="section 1, trace formula" if paper == "singh2024closed" else "Appendix C",
            statement="The trace is σ_x²(‖w‖² + ‖v‖²), proportional to σ_x² whatever the targets",
            kind="identity",
            study=study,
            test=f"{TEST}test_trace_is_proportional_whatever_the_targets",
            measure=trace_error,
            tolerance=1e-10,
            reason=ROUND_OFF,
        ),
        Claim(
            id=f"{study}/proportional",
            paper=paper,
            location=f"text below {theorem}; {artifact}",
            statement=(
                "If the targets are scaled along with the inputs (or E[yx] = 0), λ/σ_x² of the "
                "large outlier and of the bulk is the same at every scale"
            ),
            kind="identity",
            study=study,
            test=f"{TEST}test_proportional_if_and_only_if_targets_are_scaled_along",
            measure=lambda closed_form, numerics: departure(numerics, "scaled"),
            source="the spectrum depends on the data through E[x²] and E[yx] alone",
            # The bulk is small beside λ_1, whose round-off it carries.
            tolerance=1e-8,
            reason="float64, for a bulk down to 1e-6 of λ_1, which sets the size of the round-off",
            printed="The eigenvalues scale in proportion to σ_x² (targets left alone)",
            measure_printed=lambda closed_form, numerics: departure(numerics, "fixed"),
        ),
        Claim(
            id=f"{study}/proportional-in-print",
            paper=paper,
            location=f"text below {theorem}; {artifact}",
            statement=(
                "With targets left alone the eigenvalues scale in proportion to σ_x², to the eye "
                "if not exactly. Statistic: "
                "largest departure of λ/σ_x² from its value at the largest scale, over λ_1 and the "
                "bulk of both networks"
            ),
            kind="trend",
            study=study,
            test=f"{TEST}test_proportional_if_and_only_if_targets_are_scaled_along",
            measure=lambda closed_form, numerics: departure(numerics, "fixed"),
            tolerance=0.1,
            reason="a tenth is what the eye would notice in the figure",
            explanation=(
                "E[yx] of a finite sample is not 0. It grows with σ_x only, so |δx|/σ_x² = "
                "|⟨w, v⟩ - E[yx]/σ_x²| of the bulk changes with the scale: by little if n is large "
                "(10^5 in singh2026cracking's Figure 7) and by much if n is small or ⟨w, v⟩ near "
                "0. The large outlier hardly feels it."
            ),
        ),
        Claim(
            id=f"{study}/sharpening",
            paper=paper,
            location=artifact,
            statement=(
                "A larger data scale sharpens the spectrum. Statistic: least exponent a of "
                "λ_1 ~ (σ_x²)^a between neighbouring scales, both networks, targets left alone"
            ),
            kind="trend",
            study=study,
            test=f"{TEST}test_sharpness_grows_with_the_scale",
            measure=least_growth,
            expected=1.0,
            relation=">=",
            tolerance=0.05,
            reason="E[yx] ≠ 0 bends the line: the exponent is 1 only for targets scaled along",
            explanation=(
                "Where E[yx] is large beside σ_x²(‖w‖² + ‖v‖²), at small scales and small weights, "
                "λ_1 is about |E[yx]| and grows with σ_x only: an exponent of 1/2."
            ),
        ),
    ]

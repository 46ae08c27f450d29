"""What the papers say about the phases of learning, and how it is measured."""

from collections.abc import Callable
from functools import partial

import numpy as np

from hessian_spectra.agreement import spectrum_error
from hessian_spectra.ledger.vocabulary import Claim
from hessian_spectra.results import Arrays

TEST = "tests/studies/test_learning_phases.py"
PAPER = "singh2026cracking"
LOCATION = "appendix C (singh2024closed, section 1)"

# The numerical eigenvalues carry an error of about 1e-15 of the largest one.
RESOLVED = 1e-12


def _numeric_pair(numerics: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """Large and small outlier: −|δx| ≤ λ₂ ≤ |δx| ≤ λ₁, so λ₂ is the m-th of 2m eigenvalues."""
    eigenvalues = numerics["eigenvalues"]
    return eigenvalues[:, -1], eigenvalues[:, eigenvalues.shape[1] // 2 - 1]


def _spectrum(closed_form: Arrays, numerics: Arrays) -> float:
    return float(spectrum_error(closed_form["eigenvalues"], numerics["eigenvalues"]).max())


def _product(closed_form: Arrays, numerics: Arrays) -> float:
    """Largest |λ₁ λ₂ + (E[x²])² (c − θ*) (3c − θ*)| / λ₁²."""
    large, small = _numeric_pair(numerics)
    alignment, solution = closed_form["alignment"], closed_form["solution"]
    product = (alignment - solution) * (3 * alignment - solution)
    error = np.abs(large * small + closed_form["second_moment"] ** 2 * product)
    return float((error / large**2).max())


# Which networks are in the early or the divergent phase, and which in the late one.
Phases = tuple[np.ndarray, np.ndarray]


def _corrected(closed_form: Arrays) -> Phases:
    """The phases by t = ⟨w, v⟩ / θ*."""
    late = closed_form["phase"] == "late"
    return ~late, late


def _printed(closed_form: Arrays) -> Phases:
    """The phases by ⟨w, v⟩ itself, as in print."""
    alignment, solution = closed_form["alignment"], closed_form["solution"]
    outside = (alignment <= solution / 3) | (alignment >= solution)
    return outside, (alignment >= solution / 3) & (alignment <= solution)


def _violations(
    closed_form: Arrays, numerics: Arrays, *, phases: Callable[[Arrays], Phases]
) -> float:
    """Number of networks whose pair contradicts a phase that they are in."""
    large, small = _numeric_pair(numerics)
    excess = large - closed_form["trace"]
    outside, late = phases(closed_form)
    margin = RESOLVED * large
    wrong = outside & ((small > margin) | (excess < -margin))
    wrong |= late & ((small < -margin) | (excess > margin))
    return float(np.count_nonzero(wrong))


def _without_signal(closed_form: Arrays, numerics: Arrays) -> float:
    """Number of networks with θ* = 0 and a positive small outlier."""
    large, small = _numeric_pair(numerics)
    chosen = closed_form["solution"] == 0
    return float(np.count_nonzero(chosen & (small > RESOLVED * large)))


def claims(study: str) -> list[Claim]:
    """The claims of one study of this kind."""
    count = "a count; deviations below 1e-12 of the largest eigenvalue are round-off"
    return [
        Claim(
            id=f"{study}/spectrum",
            paper=PAPER,
            location="Theorem 3.1",
            statement="The closed form is the whole spectrum of the Hessian, in every phase.",
            kind="identity",
            study=study,
            test=TEST,
            measure=_spectrum,
            source="theorem",
            tolerance=1e-10,
            reason="round-off of a dense float64 eigen-decomposition is below 1e-14 of λ₁",
        ),
        Claim(
            id=f"{study}/product",
            paper=PAPER,
            location=f"{LOCATION}, text below equation (122)",
            statement="−λ₁ λ₂ = (E[x²] θ*)² (t − 1) (3t − 1) with t = ⟨w, v⟩/θ*.",
            kind="identity",
            study=study,
            test=TEST,
            measure=_product,
            source="theorem",
            tolerance=1e-10,
            reason="round-off of a product of two eigenvalues, relative to λ₁²",
        ),
        Claim(
            id=f"{study}/signs",
            paper=PAPER,
            location=LOCATION,
            statement="With t = ⟨w, v⟩/θ*: early (t ≤ 1/3) and divergent (t ≥ 1) have λ₁ ≥ tr and "
            "λ₂ ≤ 0, late (1/3 ≤ t ≤ 1) has λ₁ ≤ tr and λ₂ ≥ 0 (value: number of networks that "
            "contradict it).",
            kind="identity",
            study=study,
            test=TEST,
            measure=partial(_violations, phases=_corrected),
            source="the sign of (t − 1) (3t − 1)",
            reason=count,
            printed="the same with ⟨w, v⟩ ≤ θ*/3, θ*/3 ≤ ⟨w, v⟩ ≤ θ*, θ* ≤ ⟨w, v⟩, which is "
            "right for θ* > 0 alone",
            measure_printed=partial(_violations, phases=_printed),
        ),
        Claim(
            id=f"{study}/without-signal",
            paper=PAPER,
            location=LOCATION,
            statement="With θ* = 0 there is no late phase: λ₂ ≤ 0 for all weights (value: number "
            "of networks that contradict it).",
            kind="identity",
            study=study,
            test=TEST,
            measure=_without_signal,
            source="−λ₁ λ₂ = 3 (E[x²] ⟨w, v⟩)² ≥ 0",
            reason=count,
        ),
    ]

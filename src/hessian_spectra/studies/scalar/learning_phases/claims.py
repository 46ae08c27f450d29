"""What the papers say about the phases of learning, and how it is measured."""

import numpy as np

from hessian_spectra.agreement import EXACT
from hessian_spectra.ledger.bounds import at_most, within
from hessian_spectra.ledger.claims import Claims, Print
from hessian_spectra.studies.scalar.learning_phases.reading import RESOLVED, Reading

APPENDIX = "appendix C (singh2024closed, section 1)"
COUNT = "a count; deviations below 1e-12 of the largest eigenvalue are round-off"

claims = Claims(Reading)


@claims.identity(
    "Theorem 3.1",
    within(
        EXACT,
        "round-off of a dense float64 eigen-decomposition is below 1e-14 of λ₁",
        source="theorem",
    ),
)
def spectrum(reading: Reading) -> float:
    """The closed form is the whole spectrum of the Hessian, in every phase."""
    return float(reading.error().max())


@claims.identity(
    f"{APPENDIX}, text below equation (122)",
    within(EXACT, "round-off of a product of two eigenvalues, relative to λ₁²", source="theorem"),
)
def product(reading: Reading) -> float:
    """−λ₁ λ₂ = (E[x²] θ*)² (t − 1) (3t − 1) with t = ⟨w, v⟩/θ*."""
    alignment, solution = reading["alignment"], reading["solution"]
    # Multiplied out, so that it holds for θ* = 0 as well.
    expected = (alignment - solution) * (3 * alignment - solution)
    error = np.abs(reading.large * reading.small + reading["second_moment"] ** 2 * expected)
    return float((error / reading.large**2).max())


def _contradict_print(reading: Reading) -> float:
    return float(np.count_nonzero(reading.contradict(reading.printed_phases)))


@claims.identity(
    APPENDIX,
    at_most(0.0, COUNT, source="the sign of (t − 1) (3t − 1)"),
    printed=Print(
        "the same with ⟨w, v⟩ ≤ θ*/3, θ*/3 ≤ ⟨w, v⟩ ≤ θ*, θ* ≤ ⟨w, v⟩, which is right for θ* > 0 "
        "alone",
        _contradict_print,
    ),
)
def signs(reading: Reading) -> float:
    """With t = ⟨w, v⟩/θ*: early (t ≤ 1/3) and divergent (t ≥ 1) have λ₁ ≥ tr and λ₂ ≤ 0, late
    (1/3 ≤ t ≤ 1) has λ₁ ≤ tr and λ₂ ≥ 0 (value: number of networks that contradict it).
    """
    return float(np.count_nonzero(reading.contradict(reading.phases)))


@claims.identity(APPENDIX, at_most(0.0, COUNT, source="−λ₁ λ₂ = 3 (E[x²] ⟨w, v⟩)² ≥ 0"))
def without_signal(reading: Reading) -> float:
    """With θ* = 0 there is no late phase: λ₂ ≤ 0 for all weights (value: number of networks that
    contradict it).
    """
    chosen = reading.networks(0)
    return float(np.count_nonzero(chosen.small > RESOLVED * chosen.large))

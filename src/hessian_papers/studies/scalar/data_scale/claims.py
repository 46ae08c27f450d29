"""What the papers say about the spectrum of the scalar linear network and the data scale."""

import numpy as np

from hessian_papers.ledger.bounds import at_least, within
from hessian_papers.ledger.statements import Print, Statements
from hessian_papers.ledger.verdicts import typically
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.scalar.data_scale.reading import NETWORKS, Reading, Spectra
from hessian_spectra.agreement import EXACT

ROUND_OFF = "float64 leaves about 1e-15 of the largest eigenvalue; 1e-10 is our bound for exact"
THEOREM = {"singh2026cracking": "Theorem 3.1", "singh2024closed": "Theorem 1"}
EQUATION = {paper: f"{theorem}, eq. (1); {{artifact}}" for paper, theorem in THEOREM.items()}
DRAWN = {paper: f"{theorem}; {{artifact}}" for paper, theorem in THEOREM.items()}
BELOW = {paper: f"text below {theorem}; {{artifact}}" for paper, theorem in THEOREM.items()}
TRACE = {"singh2026cracking": "Appendix C", "singh2024closed": "section 1, trace formula"}

statements = Statements(Reading)
drawn = statements.about("singh2026cracking", "Figure 7") | statements.about(
    "singh2024closed", "Figure 1"
)


@statements.identity(
    EQUATION,
    within(EXACT, ROUND_OFF, source="the Hessian-vector products of the loss"),
    id="linear-spectrum",
)
def spectrum(reading: Reading) -> float:
    """At every data scale all 2m eigenvalues of the closed form are those of the loss."""
    return max(float(spectra.error().max()) for spectra in reading.everything)


def _disorder(spectra: Spectra) -> float:
    """By how much, relative to the largest, a numerical λ_2 or bulk value leaves its place.

    The bulk size b is that of its smallest value. In order are -b = ... <= λ_2 <= ... = b <= λ_1.
    """
    negative, positive = np.hsplit(spectra.group("bulk", numeric=True), 2)
    small, large = (spectra.group(name, numeric=True) for name in ("outlier 2", "outlier 1"))
    size = np.abs(negative[:, :1])
    unequal = np.abs(negative + size), np.abs(positive - size)
    errors = np.hstack([*unequal, np.abs(small) - size, size - large])
    largest = np.abs(spectra.numerics["eigenvalues"]).max(axis=1)
    return max(0.0, float((errors.max(axis=1) / largest).max()))


@statements.identity(
    DRAWN,
    within(
        EXACT,
        ROUND_OFF,
        source="the theorem; the order of the outliers follows from Weyl's inequality",
    ),
    id="bulk-of-signed-pairs-and-two-outliers",
)
def structure(reading: Reading) -> float:
    """The spectrum is a bulk of m - 1 signed pairs ±δx and two outliers, with -|δx| ≤ λ_2 ≤ |δx| ≤
    λ_1.
    """
    return max(map(_disorder, reading.everything))


@statements.identity(TRACE, within(EXACT, ROUND_OFF), id="trace-scales-with-the-input-variance")
def trace(reading: Reading) -> float:
    """The trace is σ_x²(‖w‖² + ‖v‖²), proportional to σ_x² whatever the targets."""
    return reading.trace_error()


def _with_fixed_targets(reading: Reading) -> float:
    return reading.largest_departure("fixed")


@statements.identity(
    BELOW,
    within(
        1e-8,
        "float64, for a bulk down to 1e-6 of λ_1, which sets the size of the round-off",
        source="the spectrum depends on the data through E[x²] and E[yx] alone",
    ),
    id="eigenvalues-scale-with-the-input-variance",
    printed=Print(
        "The eigenvalues scale in proportion to σ_x² (targets left alone)", _with_fixed_targets
    ),
)
def proportional(reading: Reading) -> float:
    """If the targets are scaled along with the inputs (or E[yx] = 0), λ/σ_x² of the large outlier
    and of the bulk is the same at every scale.
    """
    return reading.proportional_departure()


@drawn.statement(
    BELOW,
    typically,
    reading_of("to the eye"),
    id="proportional-with-targets-left-alone",
    otherwise="E[yx] of a finite sample is not 0. It grows with σ_x only, so |δx|/σ_x² = "
    "|⟨w, v⟩ - E[yx]/σ_x²| of the bulk changes with the scale: by little if n is large (10^5 in "
    "singh2026cracking's Figure 7) and by much if n is small or ⟨w, v⟩ near 0. The large outlier "
    "hardly feels it.",
)
def proportional_in_print(reading: Reading) -> float:
    """With targets left alone the eigenvalues scale in proportion to σ_x², to the eye if not
    exactly.

    Statistic: largest departure of λ/σ_x² from its value at the largest scale, over λ_1 and the
    bulk of both networks.
    """
    return reading.largest_departure("fixed")


@drawn.statement(
    "{artifact}",
    typically,
    at_least(
        1.0,
        "E[yx] ≠ 0 bends the line: the exponent is 1 only for targets scaled along",
        tolerance=0.05,
    ),
    id="larger-data-sharpen-the-spectrum",
    otherwise="Where E[yx] is large beside σ_x²(‖w‖² + ‖v‖²), at small scales and small weights, "
    "λ_1 is about |E[yx]| and grows with σ_x only: an exponent of 1/2.",
)
def sharpening(reading: Reading) -> float:
    """A larger data scale sharpens the spectrum.

    Statistic: least exponent a of λ_1 ~ (σ_x²)^a between neighbouring scales, both networks,
    targets left alone.
    """
    steps = np.diff(np.log(reading.moments))
    largest = (reading.spectra(n, "fixed").group("outlier 1", numeric=True)[:, 0] for n in NETWORKS)
    return min(float((np.diff(np.log(values)) / steps).min()) for values in largest)

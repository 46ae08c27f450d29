"""What the papers say about the spectrum of the scalar ReLU network and its two cells."""

from typing import Any

import numpy as np

from hessian_spectra.agreement import spectrum_error
from hessian_spectra.ledger.vocabulary import Claim
from hessian_spectra.results import Arrays

ROUND_OFF = "float64 leaves about 1e-15 of the largest eigenvalue; 1e-10 is our bound for exact"
TEST = "tests/studies/test_relu_cells.py::"
# For each study: its paper, its figure, and the theorem there.
PLACES = {
    "cracking-fig1": ("singh2026cracking", "Figure 1", "Theorem 3.4"),
    "closed2024-fig2": ("singh2024closed", "Figure 2", "Theorem 4 and Corollary 5"),
    "poster-relu": ("singh2024poster", "Bulk vs outlier spectrum", "Key result, ReLU case"),
}


def largest_error(closed_form: Arrays, numerics: Arrays) -> float:
    """The error of the whole spectrum, relative to its largest eigenvalue."""
    return float(spectrum_error(closed_form["eigenvalues"], numerics["eigenvalues"]))


def mass_in_other_cell(closed_form: Arrays, numerics: Arrays) -> float:
    """The largest share of an eigenvector's squared norm outside the cell it belongs to.

    The cell is the closed form's, so that a wrong colour in the figure would show here.
    """
    mass = numerics["mass"]
    return float(np.where(closed_form["cell"] == "+", 1 - mass, mass).max())


def multiplicity_error(closed_form: Arrays, numerics: Arrays) -> float:
    """How many eigenvalues the four bulks have too many or too few, in theory and in numbers."""
    exact, numeric = closed_form["eigenvalues"], numerics["eigenvalues"]
    units = {"+": int(closed_form["positive_units"])}
    units["-"] = int(closed_form["width"]) - units["+"]
    wrong = 0
    for cell in units:
        bulk = exact[(closed_form["kind"] == "bulk") & (closed_form["cell"] == cell)]
        wrong += abs(len(bulk) - 2 * max(units[cell] - 1, 0))
        for value in (bulk.min(), bulk.max()) if len(bulk) else ():
            # Counted in the whole spectrum on both sides: two bulks may coincide.
            exactly, numerically = (
                (np.abs(side - value) <= 1e-10 * np.abs(exact).max()).sum()
                for side in (exact, numeric)
            )
            wrong += abs(int(exactly) - int(numerically))
    return float(wrong)


def sharpness_error(closed_form: Arrays, numerics: Arrays) -> float:
    """Relative difference of the largest numerical eigenvalue and max(λ_1^+, λ_1^-)."""
    outliers = closed_form["eigenvalues"][closed_form["kind"] == "outlier"]
    return float(abs(outliers.max() / numerics["eigenvalues"].max() - 1))


def density_error(closed_form: Arrays, numerics: Arrays) -> float:
    """By how much the eigenvalues fail to follow their cell's share of the points.

    With every point x < 0 taken twice, the averages over the cells stay and their shares change by
    1/growth for the positive cell and 2/growth for the negative one.
    """
    largest = np.abs(numerics["doubled_eigenvalues"]).max()
    worst = 0.0
    for positive, factor in ((True, 1.0), (False, 2.0)):
        before = numerics["eigenvalues"][(numerics["mass"] > 0.5) == positive]
        after = numerics["doubled_eigenvalues"][(numerics["doubled_mass"] > 0.5) == positive]
        difference = np.abs(after - before * factor / numerics["growth"])
        worst = max(worst, float(difference.max(initial=0) / largest))
    return worst


def claims(study: str) -> list[Claim]:
    """The claims that a study of this kind measures."""
    paper, artifact, theorem = PLACES.get(study, PLACES["cracking-fig1"])
    common: dict[str, Any] = {"paper": paper, "kind": "identity", "study": study}
    return [
        Claim(
            id=f"{study}/spectrum",
            location=f"{theorem}; {artifact}",
            statement="All 2m eigenvalues of the cell-wise closed form are those of the loss",
            test=f"{TEST}test_closed_form_is_the_spectrum_of_the_loss",
            measure=largest_error,
            source="the Hessian-vector products of the loss",
            tolerance=1e-10,
            reason=ROUND_OFF,
            **common,
        ),
        Claim(
            id=f"{study}/decoupling",
            location=f"{theorem}; {artifact}",
            statement=(
                "The Hessian decouples: every eigenvector lives on the hidden units of one cell, "
                "the one that gives the eigenvalue its colour"
            ),
            test=f"{TEST}test_eigenvectors_keep_to_their_cell",
            measure=mass_in_other_cell,
            tolerance=1e-10,
            reason=ROUND_OFF,
            **common,
        ),
        Claim(
            id=f"{study}/multiplicities",
            location=theorem,
            statement=(
                "The bulk has q - 1 signed pairs in the positive cell and m - q - 1 in the "
                "negative one. Measured: eigenvalues too many or too few"
            ),
            test=f"{TEST}test_bulk_has_its_multiplicities",
            measure=multiplicity_error,
            reason="a count",
            **common,
        ),
        Claim(
            id=f"{study}/largest",
            location="section 3.2, text below Theorem 3.4",
            statement="The largest eigenvalue is the larger of the two cells' large outliers",
            test=f"{TEST}test_largest_eigenvalue_is_an_outlier_of_a_cell",
            measure=sharpness_error,
            tolerance=1e-10,
            reason=ROUND_OFF,
            **(common | {"paper": "singh2026cracking"}),
        ),
        Claim(
            id=f"{study}/density",
            location=(
                "the factors n±/n of the cell-wise Hessian"
                if paper == "singh2024poster"
                else "'Impact of ReLU on the Hessian spectrum'"
            ),
            statement=(
                "The eigenvalues scale in proportion to the share of points in their cell, the "
                "averages over the cell being the same. Measured by taking all points x < 0 twice"
            ),
            test=f"{TEST}test_eigenvalues_follow_the_density_of_their_cell",
            measure=density_error,
            tolerance=1e-10,
            reason=ROUND_OFF,
            **common,
        ),
    ]

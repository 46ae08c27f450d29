"""What the papers say about the spectrum of the scalar ReLU network and its two cells."""

import numpy as np

from hessian_papers.ledger.bounds import at_most, within
from hessian_papers.ledger.statements import Statements
from hessian_papers.studies.scalar.relu_cells.reading import CELLS, Reading
from hessian_spectra.agreement import EXACT

ROUND_OFF = "float64 leaves about 1e-15 of the largest eigenvalue; 1e-10 is our bound for exact"
# The theorem of each paper.
THEOREM = {
    "singh2026cracking": "Theorem 3.4",
    "singh2024closed": "Theorem 4 and Corollary 5",
    "singh2024poster": "Key result, ReLU case",
}
DRAWN = {paper: f"{theorem}; {{artifact}}" for paper, theorem in THEOREM.items()} | {
    "singh2024poster": f"{THEOREM['singh2024poster']}; Bulk vs outlier spectrum"
}
DENSITY = {
    "singh2026cracking": "'Impact of ReLU on the Hessian spectrum'",
    "singh2024closed": "'Impact of ReLU on the Hessian spectrum'",
    "singh2024poster": "the factors n±/n of the cell-wise Hessian",
}

statements = Statements(Reading)


@statements.identity(
    DRAWN,
    within(EXACT, ROUND_OFF, source="the Hessian-vector products of the loss"),
    id="relu-spectrum",
)
def spectrum(reading: Reading) -> float:
    """All 2m eigenvalues of the cell-wise closed form are those of the loss."""
    return float(reading.error())


@statements.identity(DRAWN, within(EXACT, ROUND_OFF), id="hessian-decouples-into-cells")
def decoupling(reading: Reading) -> float:
    """The Hessian decouples: every eigenvector lives on the hidden units of one cell, the one that
    gives the eigenvalue its colour.
    """
    return float(reading.mass_elsewhere.max())


@statements.identity(THEOREM, at_most(0.0, "a count"), id="multiplicities-of-the-cells")
def multiplicities(reading: Reading) -> float:
    """The bulk has q − 1 signed pairs in the positive cell and m − q − 1 in the negative one.

    Statistic: eigenvalues too many or too few.
    """
    return float(sum(map(reading.miscounted, CELLS)))


@statements.identity(
    "section 3.2, text below Theorem 3.4",
    within(EXACT, ROUND_OFF),
    id="relu-largest",
    paper="singh2026cracking",
)
def largest(reading: Reading) -> float:
    """The largest eigenvalue is the larger of the two cells' large outliers."""
    sharpness = reading.numerics["eigenvalues"].max()
    return float(abs(reading.select("outlier").max() / sharpness - 1))


@statements.identity(DENSITY, within(EXACT, ROUND_OFF), id="eigenvalues-scale-with-cell-density")
def density(reading: Reading) -> float:
    """The eigenvalues scale in proportion to the fraction of points in their cell, the averages
    over the cell being the same.

    Statistic: largest error as all points x < 0 are taken twice.
    """
    before, after = reading.numerics["eigenvalues"], reading["doubled_eigenvalues"]
    # The shares change by 1/growth for the positive cell and by 2/growth for the negative one.
    differences = [
        after[reading.lives_in(cell, doubled=True)]
        - before[reading.lives_in(cell)] * copies / reading["growth"]
        for cell, copies in (("+", 1.0), ("-", 2.0))
    ]
    return float(np.abs(np.concatenate(differences)).max() / np.abs(after).max())

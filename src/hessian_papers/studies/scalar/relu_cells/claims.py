"""Statements about the spectrum of the scalar ReLU network and its two cells."""

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import at_most, within
from hessian_papers.ledger.statements import Statements
from hessian_papers.studies.scalar.relu_cells.derived import CELLS, lives_in, mass_elsewhere
from hessian_papers.studies.spectra import error, group
from hessian_spectra.agreement import EXACT

ROUND_OFF = "float64 leaves about 1e-15 of the largest eigenvalue; 1e-10 is our bound for exact"
# Where each paper has the spectrum, and that the Hessian decouples.
THEOREM = {
    "singh2026cracking": "Theorem 3.4",
    "singh2024closed": "Corollary 5",
    "singh2024poster": "Key result, ReLU case; Bulk vs outlier spectrum",
}
DECOUPLED = {
    "singh2026cracking": "appendix B.2",
    "singh2024closed": "Theorem 4",
    "singh2024poster": "Key result, ReLU case",
}
DENSITY = {
    "singh2026cracking": "'Impact of ReLU on the Hessian spectrum'",
    "singh2024closed": "'Impact of ReLU on the Hessian spectrum'",
    "singh2024poster": "the factors $n_±/n$ of the cell-wise Hessian",
}

ROUNDING = within(EXACT, ROUND_OFF)

statements = Statements()


@statements.identity(
    THEOREM,
    within(EXACT, ROUND_OFF, source="the Hessian-vector products of the loss"),
    id="relu-spectrum",
)
def spectrum(data: xr.Dataset) -> float:
    """All 2m eigenvalues of the cell-wise closed form are those of the loss."""
    return float(error(data))


@statements.identity(DECOUPLED, ROUNDING, id="relu-blocks")
def decoupling(data: xr.Dataset) -> float:
    """The Hessian decouples: every eigenvector is supported on the hidden units of one cell, which
    gives the eigenvalue its colour.
    """
    return float(mass_elsewhere(data).max())


@statements.identity(THEOREM, at_most(0.0, "a count"), id="relu-spectrum")
def multiplicities(data: xr.Dataset) -> float:
    """The bulk has $q - 1$ signed pairs in the positive cell and $m - q - 1$ in the negative one.

    Statistic: number of eigenvalues too many or too few.
    """
    return float(sum(_miscounted(data, cell) for cell in CELLS))


def _miscounted(data: xr.Dataset, cell: str) -> int:
    """The number of eigenvalues that the two bulks of a cell have too many or too few.

    In theory, against q - 1 pairs for q units; and in numbers, where the eigenvalues within
    round-off of a bulk value are counted.
    """
    positive, bulk = int(data["positive_units"]), group(data, "bulk", cell)
    units = positive if cell == "+" else int(data["width"]) - positive
    wrong = abs(bulk.size - 2 * max(units - 1, 0))
    near = EXACT * abs(data["exact"]).max()
    for value in (bulk.min(), bulk.max()) if bulk.size else ():
        # Counted in the whole spectrum on both sides: two bulks may coincide.
        counts = (abs(data[of] - value) <= near for of in ("exact", "numerical"))
        wrong += abs(int(np.subtract(*(count.sum().item() for count in counts))))
    return wrong


@statements.identity(
    "section 3.2, text below Theorem 3.4", ROUNDING, id="relu-largest", paper="singh2026cracking"
)
def largest(data: xr.Dataset) -> float:
    """The largest eigenvalue is the larger of the two cells' large outliers."""
    return float(abs(group(data, "outlier").max() / data["numerical"].max() - 1))


@statements.identity(DENSITY, ROUNDING, id="eigenvalues-scale-with-cell-density")
def density(data: xr.Dataset) -> float:
    """The eigenvalues scale in proportion to the fraction of points in their cell, for equal
    averages over the cell.

    Statistic: largest error when all points $x < 0$ are duplicated.
    """
    before, after = data["numerical"], data["doubled_numerical"]
    # The shares change by 1/growth for the positive cell and by 2/growth for the negative one.
    differences = [
        after.values[lives_in(data["doubled_mass"], cell)]
        - before.values[lives_in(data["mass"], cell)] * copies / data["growth"].item()
        for cell, copies in (("+", 1.0), ("-", 2.0))
    ]
    return float(np.abs(np.concatenate(differences)).max() / abs(after).max())

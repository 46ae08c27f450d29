"""One catalogue of theorems for tests and ledger: instances, what is stated, measured and printed.

Each module has families of random networks and the theorems about them, in the papers' order, which
is the order of :data:`THEOREMS`. See :mod:`hessian_papers.theorems.catalogue`.
"""

from hessian_papers.theorems import (  # noqa: I001, F401 - in the order of the ledger
    linear,
    linear_errata,
    relu,
    any_loss,
    training,
    sharpness_terms,
    bias,
    several,
    two_matrices,
    consecutive,
    attention,
    attention_errata,
    deep,
    labels,
    raw_inputs,
    random_start,
    brute_force,
    layerwise,
    convolutions,
    overlaps,
    rectified,
    certificates,
    further_losses,
)
from hessian_papers.theorems.catalogue import PAPERS, THEOREMS, Theorem, drawn
from hessian_papers.theorems.instances import Instance
from hessian_spectra.closed_form.instances import Draw

__all__ = ["PAPERS", "THEOREMS", "Draw", "Instance", "Theorem", "drawn"]

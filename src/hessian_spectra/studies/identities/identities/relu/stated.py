"""The two-layer ReLU network: Theorem 3.4 (singh2024closed: Theorem 4, Corollary 5), Remark B.1."""

import torch
from torch import Tensor

from hessian_spectra import closed_form as cf
from hessian_spectra.models import TwoLayerReLU
from hessian_spectra.studies.identities.identities.instances import Instance
from hessian_spectra.studies.identities.identities.linear.formulas import (
    bulk_vector,
    outlier_vector,
    outliers_by_squares,
)
from hessian_spectra.studies.identities.identities.relu import formulas
from hessian_spectra.studies.identities.identities.relu.formulas import Cell
from hessian_spectra.studies.identities.identities.relu.instances import relu
from hessian_spectra.studies.identities.identities.theorem import Quantities, Theorem


def _joined(columns: list[Tensor], *empty: int) -> Tensor:
    """Numbers or vectors side by side; none is fine, too."""
    return torch.stack(columns, dim=-1) if columns else torch.zeros(*empty, dtype=torch.float64)


def _vectors(instance: Instance, found: list[Cell]) -> Quantities:
    """Eigenvectors cell by cell, right and as printed, with their eigenvalues."""
    c, rows = instance["c"], 2 * len(instance["w"])
    pairs = [(cell, value) for cell in found for value in outliers_by_squares(cell.of)]
    bulk = [(cell, sign) for cell in found if cell.neurons.sum() >= 2 for sign in (1.0, -1.0)]
    numbers = {
        "outliers": [value for _, value in pairs],
        "bulk_values": [sign * cell.of.residual_covariance for cell, sign in bulk],
        "printed_bulk_values": [sign * cell.printed_residual for cell, sign in bulk],
    }
    vectors = {
        "outlier_vectors": [
            outlier_vector(cell.w, cell.v, value, cell.of.residual_covariance)
            for cell, value in pairs
        ],
        "printed_outlier_vectors": [
            outlier_vector(cell.w, cell.v, value, cell.printed_residual) for cell, value in pairs
        ],
        "bulk_vectors": [
            bulk_vector(cell.w, cell.v, sign, c * cell.neurons) for cell, sign in bulk
        ],
        # After eq. (64): "for some vector c", one with entries outside the cell as well.
        "printed_bulk_vectors": [bulk_vector(cell.w, cell.v, sign, c) for cell, sign in bulk],
    }
    return {name: _joined(entries, 0) for name, entries in numbers.items()} | {
        name: _joined(entries, rows, 0) for name, entries in vectors.items()
    }


def stated(instance: Instance) -> Quantities:
    """What the theorem says about one instance."""
    w, v, x, y = (instance[name] for name in "wvxy")
    spectrum = cf.two_layer_relu(w, v, x, y)
    found = formulas.cells(w, v, x, y)
    # The printed count of bulk eigenvalues makes sense only where both cells have neurons.
    dead = bool((v == 0).any()) and bool((v > 0).any()) and bool((v < 0).any())
    nothing = spectrum.eigenvalues[:0]
    return {
        "eigenvalues": spectrum.eigenvalues,
        "eigenvectors": spectrum.eigenvectors(),
        "largest_outlier": spectrum.select("outlier").max(),
        "hessian": formulas.relu_hessian(found, len(w)),
        "zero_neuron_spectrum": spectrum.eigenvalues if dead else nothing,
        "printed_zero_neuron_spectrum": (
            formulas.printed_spectrum(w, v, x, y) if dead else nothing
        ),
        **_vectors(instance, found),
    }


THEOREMS = {
    "relu": Theorem(
        relu,
        stated,
        lambda i: TwoLayerReLU(i["v"], i["w"]),
        smooth=lambda i: bool((i["v"] != 0).all()),
    ),
}

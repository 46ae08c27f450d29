"""The two-layer ReLU network: Theorem 3.4 (singh2024closed: Theorem 4, Corollary 5), Remark B.1."""

import torch
from torch import Tensor

from hessian_spectra import closed_form as cf
from hessian_spectra.models import HalfSquaredError, TwoLayerReLU
from hessian_spectra.studies.identities.identities import errata_relu as printed
from hessian_spectra.studies.identities.identities import formulas
from hessian_spectra.studies.identities.identities.errata_relu import Cell
from hessian_spectra.studies.identities.identities.family import Family, Quantities, Setting
from hessian_spectra.studies.identities.identities.instances import Instance, relu


def _columns(columns: list[Tensor], rows: int) -> Tensor:
    """Vectors side by side; none is fine, too."""
    return torch.stack(columns, dim=1) if columns else torch.zeros(rows, 0, dtype=torch.float64)


def _numbers(numbers: list[Tensor]) -> Tensor:
    return torch.stack(numbers) if numbers else torch.zeros(0, dtype=torch.float64)


def _hessian(found: list[Cell], m: int) -> Tensor:
    """Theorem 4 of singh2024closed: a sum over the cells, each with rows and columns of its own."""
    total = torch.zeros(2 * m, 2 * m, dtype=torch.float64)
    for cell in found:
        shift = cell.of.residual_covariance * torch.diag(cell.neurons.double())
        cross = cell.of.second_moment * torch.outer(cell.w, cell.v) + shift
        ww, vv = (cell.of.second_moment * torch.outer(a, a) for a in (cell.w, cell.v))
        total += torch.cat([torch.cat([ww, cross], dim=1), torch.cat([cross.mT, vv], dim=1)])
    return total


def _vectors(instance: Instance, found: list[Cell]) -> Quantities:
    """Eigenvectors cell by cell, right and as printed, with their eigenvalues."""
    c, rows = instance["c"], 2 * len(instance["w"])
    values, right, wrong = [], [], []
    bulk_values, printed_values, bulk, printed_bulk = [], [], [], []
    for cell in found:
        for value in formulas.outliers_by_squares(cell.of):
            values.append(value)
            right.append(
                formulas.outlier_vector(cell.w, cell.v, value, cell.of.residual_covariance)
            )
            wrong.append(printed.printed_outlier_vector(cell, value))
        if cell.neurons.sum() < 2:
            continue
        for sign in (1.0, -1.0):
            bulk_values.append(sign * cell.of.residual_covariance)
            printed_values.append(sign * printed.printed_bulk_value(cell))
            bulk.append(formulas.bulk_vector(cell.w, cell.v, sign, c * cell.neurons))
            printed_bulk.append(printed.printed_bulk_vector(cell, sign, c))
    return {
        "outliers": _numbers(values),
        "outlier_vectors": _columns(right, rows),
        "printed_outlier_vectors": _columns(wrong, rows),
        "bulk_values": _numbers(bulk_values),
        "printed_bulk_values": _numbers(printed_values),
        "bulk_vectors": _columns(bulk, rows),
        "printed_bulk_vectors": _columns(printed_bulk, rows),
    }


def exact(instance: Instance) -> Quantities:
    """What the theorem says about one instance."""
    w, v, x, y = (instance[name] for name in "wvxy")
    spectrum = cf.two_layer_relu(w, v, x, y)
    found = printed.cells(w, v, x, y)
    dead = bool((v == 0).any()) and bool((v > 0).any()) and bool((v < 0).any())
    return {
        "eigenvalues": spectrum.eigenvalues,
        "eigenvectors": spectrum.eigenvectors(),
        "largest_outlier": spectrum.select("outlier").max(),
        "hessian": _hessian(found, len(w)),
        # The printed count of bulk eigenvalues makes sense only where both cells have neurons.
        "zero_neuron_spectrum": spectrum.eigenvalues if dead else spectrum.eigenvalues[:0],
        "printed_zero_neuron_spectrum": (
            printed.printed_spectrum(w, v, x, y) if dead else spectrum.eigenvalues[:0]
        ),
        **_vectors(instance, found),
    }


def setting(instance: Instance) -> Setting:
    """The instance for brute force."""
    model = TwoLayerReLU(instance["v"], instance["w"])
    smooth = bool((instance["v"] != 0).all())
    return Setting(model, HalfSquaredError("sample"), instance["x"], instance["y"], smooth)


FAMILY = Family(relu, exact, setting)

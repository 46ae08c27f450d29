"""The two-layer ReLU network: Theorem 3.4 (singh2024closed: Theorem 4, Corollary 5), Remark B.1."""

import torch
from torch import Tensor

from hessian_papers.studies.identities.identities.instances import Draw, Instance, changed, tensor
from hessian_papers.studies.identities.identities.linear.formulas import (
    bulk_vector,
    outlier_vector,
    outliers_by_squares,
)
from hessian_papers.studies.identities.identities.linear.theorems import network
from hessian_papers.studies.identities.identities.relu import formulas
from hessian_papers.studies.identities.identities.relu.formulas import Cell
from hessian_papers.studies.identities.identities.theorem import Quantities, Theorem, outputs
from hessian_spectra import closed_form as cf
from hessian_spectra.models import TwoLayerReLU


def draw_relu(draw: Draw) -> list[Instance]:
    """Two-layer ReLU networks: ``w``, ``v`` ``(m,)``, ``x``, ``y`` ``(n,)``, free vector ``c``.

    The edge cases: width 1; all neurons in one cell; neurons with v_j = 0; inputs of one sign only;
    an input at 0; one neuron in each cell; equal weights in a cell; zero residual.
    """

    def base(width: int = 5, points: int = 8) -> Instance:
        return network(draw, width, points)

    def output(instance: Instance) -> torch.Tensor:
        return torch.relu(instance["x"][:, None] * instance["v"]) @ instance["w"]

    found = [
        base(width=1),
        *changed(
            base,
            lambda i: {"v": i["v"].abs()},
            lambda i: {"v": -i["v"].abs()},
            lambda i: {"v": torch.cat([i["v"][:3], tensor(0.0, 0.0)])},
            lambda i: {"v": torch.cat([i["v"][:3].abs(), tensor(0.0, 0.0)])},
            lambda i: {"v": tensor(1.0, -2.0, 0.0, 0.5, 0.0)},
            # -0.3 as float32 has it: the digits of the recorded errors depend on it.
            lambda i: {"v": torch.tensor([0.0, -2.0, -0.3, 0.5, 1.0]).double()},
            lambda i: {"x": i["x"].abs()},
            lambda i: {"x": -i["x"].abs()},
            lambda i: {"x": torch.cat([i["x"][:-1], tensor(0.0)])},
            lambda i: {"w": i["w"][:2], "v": tensor(1.5, -0.5)},
            lambda i: {"w": torch.where(i["v"] > 0, i["v"], i["w"])},
            lambda i: {"y": output(i)},
        ),
        *(
            base(draw.integer(2, draw.width), draw.integer(2, draw.size))
            for _ in range(draw.instances)
        ),
    ]
    return [instance | {"c": draw.normal(len(instance["w"]))} for instance in found]


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
        "theta": torch.cat([v, w]),
        "gradient": formulas.relu_gradient(found, len(w)),
        "outputs": formulas.relu_outputs(w, v, x),
        "printed_outputs": formulas.printed_outputs(w, v, x),
        "zero_neuron_spectrum": spectrum.eigenvalues if dead else nothing,
        "printed_zero_neuron_spectrum": (
            formulas.printed_spectrum(w, v, x, y) if dead else nothing
        ),
        **_vectors(instance, found),
    }


THEOREMS = {
    "relu": Theorem(
        draw_relu,
        stated,
        lambda i: TwoLayerReLU(i["v"], i["w"]),
        outputs,
        smooth=lambda i: bool((i["v"] != 0).all()),
    ),
}

"""The two-layer linear network: Theorems 3.1 to 3.3, Corollary 3.1, eq. (1) to (34) and (122)."""

import copy
from dataclasses import replace

import torch
from torch import Tensor

from hessian_papers.studies.identities.identities.instances import (
    Draw,
    Instance,
    changed,
    tensor,
    without,
)
from hessian_papers.studies.identities.identities.linear import formulas
from hessian_papers.studies.identities.identities.linear.formulas import Moments
from hessian_papers.studies.identities.identities.theorem import Quantities, Setting, Theorem
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.models import TwoLayerLinear


def network(draw: Draw, width: int, points: int) -> Instance:
    """One random network ``w``, ``v`` ``(m,)`` with data ``x``, ``y`` ``(n,)``."""
    x, y = draw.points(points)
    # A slope, so that targets and inputs correlate in most instances.
    slope, noise = 2 * draw.normal(1), draw.scale()
    return {
        "w": draw.scale() * draw.normal(width),
        "v": draw.scale() * draw.normal(width),
        "x": draw.scale() * x,
        "y": slope * x + noise * y,
    }


def draw_linear(draw: Draw) -> list[Instance]:
    """Two-layer linear networks: ``w``, ``v`` ``(m,)``, ``x``, ``y`` ``(n,)``.

    ``c`` ``(m,)`` is the free vector of Theorem 3.3, ``step`` a learning rate for Corollary 3.1.
    The edge cases: width 1; w = v; w = -v; w = 0; all weights zero; zero residual; a residual
    uncorrelated with the input; equal outliers; one point; negative slope; orthogonal weights;
    large inputs.
    """

    def base(width: int = 4, points: int = 7) -> Instance:
        return network(draw, width, points)

    def slope(instance: Instance) -> torch.Tensor:
        return instance["w"] @ instance["v"]

    found = [
        base(width=1),
        base(width=1) | {"w": tensor(1.0), "v": tensor(1.0)},
        *changed(
            base,
            lambda i: {"w": i["v"]},
            lambda i: {"w": -i["v"]},
            lambda i: {"w": 0 * i["w"]},
            lambda i: {"w": 0 * i["w"], "v": 0 * i["v"]},
            lambda i: {"y": slope(i) * i["x"]},
            lambda i: {"y": slope(i) * i["x"] + without(i["y"], i["x"][:, None])},
            lambda i: {"w": i["v"], "y": 2 * (i["v"] @ i["v"]) * i["x"]},
            lambda i: {"y": -3 * i["x"]},
            lambda i: {"w": without(i["w"], i["v"][:, None])},
            lambda i: {"x": 1e3 * i["x"]},
        ),
        base(points=1),
        *(
            base(draw.integer(1, draw.width), draw.integer(1, draw.size))
            for _ in range(draw.instances)
        ),
    ]
    for instance in found:
        instance["c"] = draw.normal(len(instance["w"]))
        instance["step"] = 0.2 * draw.normal(1).abs()
    return found


def _vectors(instance: Instance, of: Moments, outliers: Tensor) -> Quantities:
    """The eigenvectors of Theorems 3.2 and 3.3, right and as printed; columns, not normalised."""
    w, v, c, dx = instance["w"], instance["v"], instance["c"], of.residual_covariance
    # The two kinds of bulk vector: (a; a) for the eigenvalue δx and (a; -a) for -δx.
    values = torch.stack([dx, -dx])
    gradient, theta = dx * torch.cat([w, v]), torch.cat([v, w])
    safe = torch.where(dx == 0, torch.ones_like(dx), dx)
    columns = {
        "outlier_vectors": [formulas.outlier_vector(w, v, value, dx) for value in outliers],
        "gradient_vectors": [value / safe * gradient + dx * theta for value in outliers],
        "bulk_vectors": [formulas.bulk_vector(w, v, sign, c) for sign in (1.0, -1.0)],
        "printed_bulk_vectors": [
            formulas.bulk_vector(w, v, float(value.sign()), c) for value in values
        ],
    }
    stacked = {name: torch.stack(vectors, dim=1) for name, vectors in columns.items()}
    return {"bulk_values": values, **stacked}


def _determinants(instance: Instance, of: Moments) -> Quantities:
    """The characteristic polynomial and its Schur complements at one λ away from the spectrum."""
    w, v, dx = instance["w"], instance["v"], of.residual_covariance
    # Well above all eigenvalues.
    probe = 1 + 2 * of.trace + 2 * dx.abs()
    powers = torch.stack([probe**2, probe, torch.ones_like(probe)])
    lower = of.second_moment * torch.outer(v, v) - probe * torch.eye(len(w), dtype=w.dtype)
    wv, vw = torch.outer(w, v), torch.outer(v, w)
    ww, vv = torch.outer(w, w), torch.outer(v, v)

    def schur(left: Tensor, right: Tensor) -> Tensor:
        return formulas.schur_determinant(w, v, of, probe, left, right)

    return {
        "probe": probe,
        "determinant": (probe**2 - dx**2) ** (len(w) - 1)
        * (formulas.outlier_quadratic(of) @ powers),
        "lower_determinant": torch.linalg.det(lower),
        "schur": schur(wv, vw),
        "printed_schur_14": schur(vw, vw),
        "printed_schur_16": schur(ww, vv),
    }


def _next_residual_covariance(instance: Instance, dx: Tensor) -> Tensor:
    """mean(δ x) after one step of gradient descent, in the corollary's own words."""
    w, v, x, y, step = (instance[name] for name in ("w", "v", "x", "y", "step"))
    return Moments.of(w - step * dx * v, v - step * dx * w, x, y).residual_covariance


def stated(instance: Instance) -> Quantities:
    """What the theorems say about one instance."""
    w, v, x, y = (instance[name] for name in "wvxy")
    spectrum = cf.two_layer_linear(w, v, x, y)
    of = Moments.of(w, v, x, y)
    outliers = spectrum.select("outlier").flip(0)
    dx = of.residual_covariance
    return {
        "width": torch.tensor(len(w)),
        "eigenvalues": spectrum.eigenvalues,
        "eigenvectors": spectrum.eigenvectors(),
        "bulk_space": cf.gradient_descent_subspace(w, v).bulk,
        "residual_covariance": dx,
        "outliers": outliers,
        "outliers_by_root": formulas.outliers_by_root(of),
        "outliers_by_squares": formulas.outliers_by_squares(of),
        "outliers_by_trace": formulas.outliers_by_trace(of),
        "product": formulas.product_of_outliers(of),
        "trace": of.trace,
        "theta": torch.cat([v, w]),
        "gradient": dx * torch.cat([w, v]),
        "hessian": formulas.linear_hessian(w, v, of),
        # Eq. (12), written out.
        "hessian_gradient": dx * of.trace * torch.cat([w, v]) + dx**2 * torch.cat([v, w]),
        "smallest": -dx.abs() if len(w) > 1 else outliers[1],
        "loss_bound": -cf.smallest_eigenvalue_bound(w, v, x, y),
        "next_residual_covariance": _next_residual_covariance(instance, dx),
        "cubic": torch.cat([-formulas.outlier_quadratic(of), torch.zeros(1, dtype=w.dtype)]),
        "printed_poster_outliers": formulas.printed_poster_outliers(of),
        # After eq. (34), in both papers: without an absolute value.
        "printed_smallest": -dx,
        "printed_hessian": formulas.linear_hessian(w, v, of, upper=torch.outer(v, v)),
        "printed_hessian_2024": formulas.linear_hessian(w, v, of, upper=torch.outer(v, w)),
        "printed_cubic": formulas.printed_cubic(of),
        **_vectors(instance, of, outliers),
        **_determinants(instance, of),
    }


def measured(instance: Instance, of: Setting) -> Quantities:
    """The Hessian after one step of gradient descent with autograd's gradient."""
    after = replace(of, model=copy.deepcopy(of.model))
    _, gradients = of.value_and_gradients()
    with torch.no_grad():
        for parameter, gradient in zip(after.model.parameters(), gradients, strict=True):
            parameter.sub_(instance["step"] * gradient)
    return {"next_hessian": cv.dense_matrix(cv.hessian(after.problem()))}


THEOREMS = {
    "linear": Theorem(draw_linear, stated, lambda i: TwoLayerLinear(i["v"], i["w"]), measured),
}

"""The two-layer linear network: Theorems 3.1 to 3.3, Corollary 3.1, eq. (1) to (34) and (122)."""

import torch
from torch import Tensor

from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.models import HalfSquaredError, TwoLayerLinear
from hessian_spectra.studies.identities.identities import errata_linear as printed
from hessian_spectra.studies.identities.identities import formulas
from hessian_spectra.studies.identities.identities.family import Family, Quantities, Setting
from hessian_spectra.studies.identities.identities.instances import Instance, linear


def _probe(of: formulas.Moments) -> Tensor:
    """A value of λ well above all eigenvalues, to compare determinants at."""
    return 1 + 2 * of.trace + 2 * of.residual_covariance.abs()


def _vectors(instance: Instance, of: formulas.Moments, outliers: Tensor) -> Quantities:
    """The eigenvectors of Theorems 3.2 and 3.3, right and as printed; columns, not normalised."""
    w, v, c, dx = instance["w"], instance["v"], instance["c"], of.residual_covariance
    # The two kinds of bulk vector: (a; a) for the eigenvalue δx and (a; -a) for -δx.
    values = torch.stack([dx, -dx])
    gradient, theta = dx * torch.cat([w, v]), torch.cat([v, w])
    safe = torch.where(dx == 0, torch.ones_like(dx), dx)
    return {
        "outlier_vectors": torch.stack(
            [formulas.outlier_vector(w, v, value, dx) for value in outliers], dim=1
        ),
        "gradient_vectors": torch.stack(
            [value / safe * gradient + dx * theta for value in outliers], dim=1
        ),
        "bulk_values": values,
        "bulk_vectors": torch.stack(
            [formulas.bulk_vector(w, v, sign, c) for sign in (1.0, -1.0)], dim=1
        ),
        "printed_bulk_vectors": torch.stack(
            [printed.printed_bulk_vector(w, v, value, c) for value in values], dim=1
        ),
    }


def _determinants(instance: Instance, of: formulas.Moments) -> Quantities:
    """The characteristic polynomial and its Schur complements at one λ away from the spectrum."""
    w, v, probe = instance["w"], instance["v"], _probe(of)
    dx, m = of.residual_covariance, len(w)
    quadratic = formulas.outlier_quadratic(of)
    powers = torch.stack([probe**2, probe, torch.ones_like(probe)])
    lower = of.second_moment * torch.outer(v, v) - probe * torch.eye(m, dtype=w.dtype)
    right, left = torch.outer(v, w), torch.outer(w, v)
    return {
        "probe": probe,
        "determinant": (probe**2 - dx**2) ** (m - 1) * (quadratic @ powers),
        "lower_determinant": torch.linalg.det(lower),
        "schur": printed.schur_determinant(w, v, of, probe, left, right),
        "printed_schur_14": printed.printed_schur_2024_14(w, v, of, probe),
        "printed_schur_16": printed.printed_schur_2024_16(w, v, of, probe),
    }


def exact(instance: Instance) -> Quantities:
    """What the theorems say about one instance."""
    w, v, x, y = (instance[name] for name in "wvxy")
    spectrum = cf.two_layer_linear(w, v, x, y)
    of = formulas.Moments.of(w, v, x, y)
    outliers = spectrum.select("outlier").flip(0)
    dx = of.residual_covariance
    hessian = formulas.linear_hessian(w, v, of)
    gradient = dx * torch.cat([w, v])
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
        "gradient": gradient,
        "hessian": hessian,
        # Eq. (12), written out.
        "hessian_gradient": dx * of.trace * torch.cat([w, v]) + dx**2 * torch.cat([v, w]),
        "smallest": -dx.abs() if len(w) > 1 else outliers[1],
        "loss_bound": -cf.smallest_eigenvalue_bound(w, v, x, y),
        "next_residual_covariance": _next_residual_covariance(instance, of),
        "theta": torch.cat([v, w]),
        "printed_poster_outliers": printed.printed_poster_outliers(of),
        "printed_smallest": printed.printed_smallest(of),
        "printed_hessian": printed.printed_hessian(w, v, of),
        "printed_hessian_2024": printed.printed_hessian_2024(w, v, of),
        "cubic": torch.cat([-formulas.outlier_quadratic(of), torch.zeros(1, dtype=w.dtype)]),
        "printed_cubic": printed.printed_cubic(of),
        **_vectors(instance, of, outliers),
        **_determinants(instance, of),
    }


def _after_one_step(instance: Instance, dx: Tensor) -> Instance:
    """The weights after one step of gradient descent, in the corollary's own words."""
    w, v, step = instance["w"], instance["v"], instance["step"]
    return instance | {"w": w - step * dx * v, "v": v - step * dx * w}


def _next_residual_covariance(instance: Instance, of: formulas.Moments) -> Tensor:
    after = _after_one_step(instance, of.residual_covariance)
    return formulas.Moments.of(
        after["w"], after["v"], instance["x"], instance["y"]
    ).residual_covariance


def setting(instance: Instance) -> Setting:
    """The instance for brute force."""
    model = TwoLayerLinear(instance["v"], instance["w"])
    return Setting(model, HalfSquaredError("sample"), instance["x"], instance["y"])


def further(instance: Instance) -> Quantities:
    """The Hessian after one step of gradient descent with autograd's gradient."""
    before = setting(instance)
    loss = before.loss(before.model(before.inputs), before.targets)
    parameters = list(before.model.parameters())
    gradients = torch.autograd.grad(loss, parameters)
    with torch.no_grad():
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.sub_(instance["step"] * gradient)
    return {"next_hessian": cv.dense_matrix(cv.hessian(before.problem()))}


FAMILY = Family(linear, exact, setting, further)

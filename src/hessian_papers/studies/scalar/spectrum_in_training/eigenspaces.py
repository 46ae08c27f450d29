"""The bulk eigenspace of the linear network, and how far it and the weights are from the first one.

Z₀ is an orthonormal basis of the bulk eigenspace at the start (singh2026cracking, Corollary 3.1).
"""

import numpy as np
import torch
from torch import Tensor

from hessian_papers.labelled import Variable, Variables
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.spectrum import Spectrum

# The numerical bulk is told from the small outlier where their distance is above this share of the
# largest eigenvalue; eigenvectors then carry an error of about 1e-16 / 1e-5.
RESOLVED_GAP = 1e-5

_SHARE = "‖Z₀ᵀ θ_t‖ / ‖θ_t‖, the share of the iterate in the initial bulk space with basis Z₀"
_SINE = "sine of the largest principal angle between the bulk spaces at step t and at the start"
_COSINE = "mean squared cosine of the principal angles between both bulk spaces"
_UNRESOLVED = "NaN where the bulk cannot be told from the outliers"
VARIABLES: Variables = {
    "iterate": Variable("run step", f"{_SHARE}, by the closed form"),
    "numerical_iterate": Variable("run step", f"{_SHARE}, by eigenvectors"),
    "rotation": Variable("run step", f"{_SINE}, by the closed form"),
    "numerical_rotation": Variable("run step", f"{_SINE}, by eigenvectors; {_UNRESOLVED}"),
    "invariance": Variable("run step", "‖(I − Z₀ Z₀ᵀ) H_t Z₀‖ / ‖H_t‖"),
    "overlap": Variable("run step", f"{_COSINE}; {_UNRESOLVED}"),
}


def _outside(basis: Tensor, vectors: Tensor) -> Tensor:
    """The part of ``vectors`` that is orthogonal to the space of an orthonormal ``basis``."""
    return vectors - basis @ (basis.T @ vectors)


def _share_inside(basis: Tensor, v: Tensor, w: Tensor) -> np.ndarray:
    """‖Zᵀ θ‖ / ‖θ‖ with θ = (v, w)."""
    theta = torch.cat([v, w])
    inside = torch.linalg.vector_norm(basis.T @ theta) / torch.linalg.vector_norm(theta)
    return inside.numpy()


def _sine(first: Tensor, second: Tensor) -> np.ndarray:
    """Sine of the largest principal angle between two spaces of one dimension."""
    return torch.linalg.matrix_norm(_outside(first, second), ord=2).numpy()


def by_closed_form(start: Tensor | None, v: Tensor, w: Tensor) -> tuple[Tensor, Arrays]:
    """Iterate and bulk eigenspace of one step, by Corollary 3.1, beside the space at the start.

    Args:
        start: the basis Z₀; ``None`` at the start itself.
        v: the weights of the first layer.
        w: the weights of the second layer.

    Returns:
        Z₀ and the variables.
    """
    bulk = cf.gradient_descent_subspace(w, v).bulk
    start = bulk if start is None else start
    return start, {"iterate": _share_inside(start, v, w), "rotation": _sine(start, bulk)}


def _numerical_bulk(spectrum: Spectrum) -> tuple[Tensor, float]:
    """The numerical bulk space and its distance to the outliers, relative to the largest.

    −|δx| ≤ λ₂ ≤ |δx| ≤ λ₁ with the bulk at ±|δx|, so of 2m ascending eigenvalues the outliers are
    the m-th and the last.
    """
    eigenvalues = spectrum.eigenvalues
    is_bulk = torch.ones(len(eigenvalues), dtype=torch.bool)
    is_bulk[[len(eigenvalues) // 2 - 1, -1]] = False
    gaps = (eigenvalues[~is_bulk, None] - eigenvalues[is_bulk]).abs()
    return spectrum.eigenvectors()[:, is_bulk], float(gaps.min() / eigenvalues.abs().max())


def by_eigenvectors(
    start: Tensor | None, v: Tensor, w: Tensor, hessian: cv.Operator, spectrum: Spectrum
) -> tuple[Tensor, Arrays]:
    """The quantities of :func:`by_closed_form` from eigenvectors of the Hessian at one step."""
    bulk, gap = _numerical_bulk(spectrum)
    start = bulk if start is None else start
    outside = torch.linalg.matrix_norm(_outside(start, hessian @ start), ord=2)
    arrays = {
        "numerical_iterate": _share_inside(start, v, w),
        "invariance": (outside / spectrum.eigenvalues.abs().max()).numpy(),
    }
    if gap > RESOLVED_GAP:
        arrays["overlap"] = np.array(cv.subspace_overlap(start, bulk))
        arrays["numerical_rotation"] = _sine(start, bulk)
    return start, arrays

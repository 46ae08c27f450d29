"""The top eigenspace of one layer in one network, and what two of them have in common."""

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor, nn

from hessian_papers.studies.layerwise.ensembles import top_of
from hessian_papers.studies.layerwise.model_overlaps.quantities import (
    Factor,
    eigenpairs,
    permuted_squares,
    product_overlaps,
    top_places,
)
from hessian_spectra import curvature as cv


class Space(NamedTuple):
    """The top of a layer's Hessian in one network, and of its Kronecker approximation.

    Attributes:
        values: the Hessian's largest eigenvalues, descending, ``(K,)``.
        residuals: of the eigenpairs, ``(K,)``.
        vectors: its eigenvectors, ``(m n, K)``.
        output: of ``E[M]``.
        inputs: of ``E[x xᵀ]``.
        places: the first pairs of eigenvectors of the two, ``(2, K)``.
    """

    values: Tensor
    residuals: Tensor
    vectors: Tensor
    output: Factor
    inputs: Factor
    places: Tensor


def top_space(
    model: nn.Module,
    batches: list[Any],
    name: str,
    *,
    count: Callable[[int, int], int],
    tol: float,
    seed: int,
) -> Space:
    """The top of a layer's Hessian, of as many dimensions as ``count`` says of its sizes."""
    layer = cv.layerwise(cv.Problem(model, nn.CrossEntropyLoss(), batches), name)
    k = count(*layer.shape)
    pairs = top_of(layer.hessian, k, tol=tol, seed=seed)
    output, inputs = map(eigenpairs, (layer.output_hessian, layer.input_autocorrelation))
    return Space(
        values=pairs.values,
        residuals=pairs.residuals,
        # In less than what they were computed in: those of all networks are held at once.
        vectors=pairs.vectors.float(),
        output=output,
        inputs=inputs,
        places=top_places(output.values, inputs.values, k),
    )


def pair_of(space: Space, other: Space) -> dict[str, Tensor]:
    """The overlaps of two networks; see ``study.measure``."""
    (r, s), (t, u) = ((a.output.vectors, a.inputs.vectors) for a in (space, other))
    inputs = (s.T @ u).square()
    outputs = {"kronecker": (r.T @ t).square(), "permuted": permuted_squares(r, t)}
    entries = {
        name: product_overlaps(squares, inputs, space.places, other.places)
        for name, squares in outputs.items()
    }
    overlap = cv.subspace_overlaps(space.vectors, other.vectors)
    return entries | {"overlap": overlap, "first_inputs": inputs[0, 0]}

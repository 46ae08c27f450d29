"""The full Hessian's top eigenpairs from the second derivative by all layers' outputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from hessian_spectra.curvature.dense import numeric_spectrum
from hessian_spectra.curvature.layerwise.checks import require_products
from hessian_spectra.curvature.layerwise.layers import Layer, layers_of
from hessian_spectra.curvature.layerwise.passes import SymmetricSum, layer_batches
from hessian_spectra.curvature.problem import Problem, require_problem
from hessian_spectra.spectrum import KnownVectors, Spectrum
from hessian_spectra.validation import is_count, require, require_word

Form = Literal["corrected", "printed"]


@dataclass(frozen=True, kw_only=True)
class FullOutputHessian:
    """``E[M]`` with ``M = Gᵀ A G``, G the Jacobian of the network's outputs by those of all layers.

    Attributes:
        matrix: ``E[M] (Σ m_p, Σ m_p)``, the layers one after the other.
        means: ``E[x̃_p]`` of each layer, ``(d_p + 1,)`` with a 1 at the end for its bias, ``(d_p,)``
            where it has none.
        layers: their sizes.
    """

    matrix: Tensor
    means: tuple[Tensor, ...]
    layers: tuple[Layer, ...]

    def approximation(self, k: int, form: Form = "corrected") -> Spectrum:
        """Top eigenpairs of the Hessian over these layers, as the two give them.

        Where inputs hardly vary, ``x̃_p ≈ E[x̃_p]``, the Gauss-Newton matrix is ``U E[M] Uᵀ`` with
        ``U = blockdiag_p(I ⊗ E[x̃_p])``, whose columns are orthogonal and of length ``‖E[x̃_p]‖``.
        The corrected form is that, by the eigenpairs ``(s, u)`` of ``L E[M] L`` with the lengths on
        the diagonal of L: values ``s``, vectors ``U L⁻¹ u``; it is exact for constant inputs. The
        printed one takes eigenpairs ``(σ, u)`` of ``E[M]`` itself, which is right where all lengths
        are equal: vectors ``U u``, made orthonormal by Gram and Schmidt, and values ``σ ‖U u‖²``.

        Args:
            k: how many, from 1 to ``Σ m_p``.
            form: ``"corrected"`` or ``"printed"``.

        Returns:
            A spectrum. Its eigenvectors are over the parameters of the layers, of each its weight
            row by row and then its bias.

        Raises:
            ValueError: ``k`` or ``form`` is something else.

        Source: wu2022dissecting, equations (259) to (263).
        """
        require_word("form", form, get_args(Form))
        require(is_count(k, 1, len(self.matrix)), "k", f"1 to {len(self.matrix)}", k)
        lengths = torch.cat(
            [
                mean.norm().expand(layer.outputs)
                for mean, layer in zip(self.means, self.layers, strict=True)
            ]
        )
        if form == "corrected":
            values, vectors = _top(lengths[:, None] * self.matrix * lengths, k)
            basis = self._mapped(vectors / lengths[:, None])
        else:
            values, vectors = _top(self.matrix, k)
            mapped = self._mapped(vectors)
            values = values * mapped.square().sum(dim=0)
            basis, triangle = torch.linalg.qr(mapped)
            basis = basis * triangle.diagonal().sign()
        return numeric_spectrum(values, KnownVectors(basis), f"full output Hessian, {form} form")

    def _mapped(self, vectors: Tensor) -> Tensor:
        """``U`` times the columns."""
        pieces = vectors.split([layer.outputs for layer in self.layers])
        parts = []
        for piece, mean, layer in zip(pieces, self.means, self.layers, strict=True):
            extended = torch.einsum("ok,i->oik", piece, mean)
            weight, bias = extended[:, : layer.inputs], extended[:, layer.inputs :]
            parts += [weight.reshape(-1, piece.shape[1]), bias.reshape(-1, piece.shape[1])]
        return torch.cat(parts)


def _top(matrix: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The largest eigenvalues of a matrix, descending, and their eigenvectors."""
    values, vectors = torch.linalg.eigh(matrix)
    return values[-k:].flip(0), vectors[:, -k:].flip(1)


def full_output_hessian(problem: Problem, names: Sequence[str] | None = None) -> FullOutputHessian:
    """The second derivative of the loss by the outputs of all layers together, over all data.

    Its Gauss-Newton part, which for a piecewise linear network has the layers' own blocks of the
    second derivative on its diagonal.

    Args:
        problem: network, loss and data.
        names: linear layers as in ``model.named_modules()``; by default all.

    Raises:
        ValueError: as for :func:`layerwise`; a layer is no linear one with one input a sample.

    Source: wu2022dissecting, equations (256) to (259).

    Example:
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1)).double()
        >>> x = torch.ones(1, 1, dtype=torch.float64)
        >>> blocks = full_output_hessian(Problem(model, nn.MSELoss(), [(x, x)]))
        >>> blocks.matrix.shape, blocks.means[0]
        (torch.Size([2, 2]), tensor([1., 1.], dtype=torch.float64))
    """
    require_problem(problem)
    layers = layers_of(problem.model, names)
    held = problem.fixed_at([layer.weight for layer in layers])
    total = SymmetricSum(sum(layer.outputs for layer in layers), held)
    sums: list[Any] = [0.0] * len(layers)
    require_products(held, layers)
    samples = 0.0
    for batch in layer_batches(held, layers):
        for layer, inputs in zip(layers, batch.inputs, strict=True):
            if inputs.shape[2] > 1 or layer.groups > 1:
                raise ValueError(
                    f"full_output_hessian: expected layers used at one position, {layer.name!r} is "
                    f"used at {inputs.shape[2]}"
                )
        for pairs in batch.squares():
            rows, signed = (
                torch.cat([item[:, 0] for item in part], dim=1) for part in zip(*pairs, strict=True)
            )
            total.add(signed, rows)
        weights = batch.counts.sum(dim=1)
        samples += float(weights.sum())
        for place, inputs in enumerate(batch.inputs):
            sums[place] = sums[place] + (inputs[:, 0, 0] * weights[:, None]).sum(dim=0)
    means = tuple(
        torch.cat([item / samples, item.new_ones(int(layer.has_bias))])
        for item, layer in zip(sums, layers, strict=True)
    )
    return FullOutputHessian(matrix=total.matrix, means=means, layers=tuple(layers))

"""One pass over the data that shows what goes into layers, and how the loss bends in what leaves.

For sample n let ``X_n (P, d)`` be a layer's inputs at the P positions where its weight is used (the
patches of a convolution, the tokens of a sequence; one position for a plain linear layer), and
``Z_n = X_n Wᵀ (P, m)`` its outputs. With the Jacobian ``J_n`` of the network's outputs with respect
to ``Z_n`` and ``A_n = Σ_r s_r a_r a_rᵀ`` the second derivative of the loss with respect to these
outputs, the Gauss-Newton part of the second derivative with respect to ``Z_n`` is
``Σ_r s_r N_nr N_nrᵀ`` with ``N_nr = J_nᵀ a_r (P, m)``: one backward pass for each r.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from hessian_spectra.curvature.interface import OperatorError
from hessian_spectra.curvature.layerwise.layers import Captured, Layer
from hessian_spectra.curvature.network import FixedNetwork, undisturbed
from hessian_spectra.curvature.problem import Problem
from hessian_spectra.curvature.products import output_gradient
from hessian_spectra.curvature.second_derivatives import FastSecondDerivatives
from hessian_spectra.seeding import generator

# What rounding leaves of a zero, relative to the largest entry, in units of the last digit.
_ROUNDING = 100.0
# Second derivatives by the outputs of a batch's samples that take more bytes are refused.
_LARGEST = 4 << 30


@dataclass(frozen=True, kw_only=True)
class Roots:
    """A symmetric matrix for each of n samples as a signed sum of squares, ``Σ_r s_r a_r a_rᵀ``.

    Args:
        vectors: ``(n, K, R)`` the ``a_r`` as columns.
        signs: ``(n, R)`` of 1 and −1.
    """

    vectors: Tensor
    signs: Tensor


def square_roots(matrices: Tensor) -> Roots:
    """Write matrices as signed sums of few squares.

    Positive semi-definite ones by elimination without pivots, which gives ``R`` columns where their
    rank is ``R`` throughout in leading order: ``C − 1`` for the cross-entropy of C classes. Others
    by their eigenvectors.

    Args:
        matrices: ``(n, K, K)``, symmetric.

    Example:
        >>> p = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
        >>> roots = square_roots((torch.diag(p) - torch.outer(p, p))[None])
        >>> roots.vectors.shape
        torch.Size([1, 3, 2])
    """
    scale = matrices.diagonal(dim1=1, dim2=2).abs().amax(dim=1)
    floor = _ROUNDING * matrices.shape[1] * torch.finfo(matrices.dtype).eps
    left, columns = matrices.clone(), []
    for place in range(matrices.shape[1]):
        pivot = left[:, place, place]
        kept = pivot > floor * scale
        root = torch.where(kept, pivot, 1.0).sqrt()
        column = torch.where(kept[:, None], left[:, :, place], 0.0) / root[:, None]
        if bool(kept.any()):
            columns.append(column)
            left = torch.baddbmm(left, column[:, :, None], column[:, None, :], alpha=-1)
    if bool((left.abs().amax(dim=(1, 2)) <= floor * scale).all()):
        found = torch.stack(columns, dim=2) if columns else matrices[:, :, :0]
        return Roots(vectors=found, signs=found.new_ones(len(found), found.shape[2]))
    values, vectors = torch.linalg.eigh(matrices)
    return Roots(vectors=vectors * values.abs().sqrt()[:, None, :], signs=values.sign())


@dataclass(frozen=True, kw_only=True)
class LayerBatch:
    """What a batch of n samples says of a layer with g groups.

    Args:
        inputs: ``(n, g, P, d)`` what each group's weights are multiplied by.
        backward: ``(n, R, P, m)`` the ``N_nr``, scaled so that their squares add up to the second
            derivative of the loss over all data.
        signs: ``(n, R)`` the ``s_r``.
    """

    inputs: Tensor
    backward: Tensor
    signs: Tensor


def layer_batches(problem: Problem, layers: Sequence[Layer]) -> Iterator[list[LayerBatch]]:
    """What each batch says of some layers, in their order; one forward pass, R backward passes.

    Raises:
        OperatorError: the loss couples samples, is linear in the outputs, or these are not known.
    """
    network = problem.fixed()
    with undisturbed(problem.device):
        for batch, weight in problem.batches():
            with torch.enable_grad(), Captured(network.model, layers) as captured:
                loss, outputs = network.forward(batch)
                curvature = output_curvature(loss, outputs, network)
                roots = square_roots(curvature * weight)
                assert outputs is not None
                rows = _backward(outputs, roots, captured.outputs)
            yield [
                LayerBatch(inputs=inputs, backward=one, signs=roots.signs)
                for inputs, one in zip(captured.inputs, rows, strict=True)
            ]


def _backward(outputs: Tensor, roots: Roots, variables: Sequence[Tensor]) -> list[Tensor]:
    """``Jᵀ a_r`` for each layer and each r, ``(n, R, P, m)``."""
    count = roots.vectors.shape[2]
    rows: list[list[Tensor]] = [[] for _ in variables]
    for place in range(count):
        seeds = roots.vectors[:, :, place].reshape(outputs.shape)
        found = torch.autograd.grad(
            outputs, variables, seeds, retain_graph=place + 1 < count, materialize_grads=True
        )
        for row, one in zip(rows, found, strict=True):
            row.append(one)
    if not count:  # the loss is linear in the outputs
        return [variable.detach()[:, None][:, :0] for variable in variables]
    return [torch.stack(row, dim=1) for row in rows]


def output_curvature(loss: Tensor, outputs: Tensor | None, network: FixedNetwork) -> Tensor:
    """The second derivative of a batch's loss with respect to each sample's outputs, (n, K, K).

    Raises:
        OperatorError: it is not one for each sample: the loss couples them, as a contrastive one
            does; or the Gauss-Newton matrix says nothing.
        ValueError: there are too many outputs.
    """
    residual = output_gradient(loss, outputs, network.parameters)
    assert outputs is not None
    samples, size = len(outputs), outputs[0].numel()
    if (needed := samples * size**2 * outputs.element_size()) > _LARGEST:
        raise ValueError(
            f"layerwise: the second derivatives of {samples} samples with {size} outputs each take "
            f"{needed / 2**30:.0f} GiB; expected smaller batches, or a network with fewer outputs"
        )

    def product(direction: Tensor) -> Tensor:
        if not residual.requires_grad:
            return torch.zeros_like(direction)
        (image,) = torch.autograd.grad(
            residual, outputs, direction.reshape(outputs.shape), retain_graph=True,
            materialize_grads=True,
        )  # fmt: skip
        return image.reshape(samples, size)

    units = torch.eye(size, dtype=outputs.dtype, device=outputs.device)
    matrices = torch.stack([product(unit.expand(samples, size)) for unit in units], dim=1)
    draws = torch.randn(samples, size, generator=generator(0, "samples"), dtype=torch.float64)
    probe = draws.to(outputs)
    difference = product(probe) - (matrices @ probe[:, :, None])[:, :, 0]
    tolerance = torch.finfo(outputs.dtype).eps ** 0.5 * float(matrices.abs().max())
    if float(difference.abs().max()) > tolerance * size:
        raise OperatorError(
            "layerwise: the loss couples samples, so that there is no second derivative for each; "
            "expected a sum or mean over samples"
        )
    return matrices


def bends_after(problem: Problem, layers: Sequence[Layer]) -> list[bool]:
    """Whether the network's outputs have second derivatives with respect to those of each layer.

    Of piecewise linear networks they have none, and the Gauss-Newton part is all there is.
    """
    sample = problem.sample(4)
    network = sample.fixed()
    draws = generator(0, "bends")

    def like(tensor: Tensor) -> Tensor:
        return torch.randn(tensor.shape, generator=draws, dtype=torch.float64).to(tensor)

    batch, _ = next(sample.batches())
    fast = FastSecondDerivatives()
    with undisturbed(problem.device), torch.enable_grad():
        with fast, Captured(network.model, layers) as captured:
            _, outputs = network.forward(batch)
        assert outputs is not None
        gradients = torch.autograd.grad(
            outputs, captured.outputs, like(outputs), create_graph=True, materialize_grads=True
        )
        return [
            _varies(gradient, variable, like(gradient))
            for gradient, variable in zip(gradients, captured.outputs, strict=True)
        ]


def _varies(gradient: Tensor, variable: Tensor, direction: Tensor) -> bool:
    if not gradient.requires_grad:
        return False
    (image,) = torch.autograd.grad(
        gradient, variable, direction, retain_graph=True, materialize_grads=True
    )
    return bool(image.abs().max() > 0)


def position_curvature(problem: Problem, layer: Layer) -> Tensor:
    """``Σ_n Σ_p ∂²L / ∂z_np²``, ``(m, m)``: the whole second derivative, position by position.

    For each output and position one product in reverse over the whole data.
    """
    network = problem.fixed()
    total: Tensor | None = None
    with undisturbed(problem.device):
        for batch, weight in problem.batches():
            with torch.enable_grad(), Captured(network.model, [layer]) as captured:
                with FastSecondDerivatives():
                    loss, _ = network.forward(batch)
                (variable,) = captured.outputs
                (gradient,) = torch.autograd.grad(loss, variable, create_graph=True)
                found = _diagonal_blocks(gradient, variable)
            total = found * weight if total is None else total + found * weight
    assert total is not None
    return total


def _diagonal_blocks(gradient: Tensor, variable: Tensor) -> Tensor:
    positions, width = variable.shape[1:]
    total = variable.new_zeros(width, width)
    product: Callable[[Tensor], Tensor] = lambda v: torch.autograd.grad(  # noqa: E731
        gradient, variable, v, retain_graph=True, materialize_grads=True
    )[0]
    for place in range(positions):
        for output in range(width):
            direction = torch.zeros_like(variable)
            direction[:, place, output] = 1
            total[output] += product(direction)[:, place].sum(dim=0)
    return (total + total.T) / 2

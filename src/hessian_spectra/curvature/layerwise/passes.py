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

    Those of rank ``K − 1`` without a negative eigenvalue, as the cross-entropy of K classes has
    them, by Cholesky's factor of all rows and columns but the last; others by their eigenvectors.

    Args:
        matrices: ``(n, K, K)``, symmetric.

    Example:
        >>> p = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
        >>> roots = square_roots((torch.diag(p) - torch.outer(p, p))[None])
        >>> roots.vectors.shape
        torch.Size([1, 3, 2])
    """
    scale = matrices.diagonal(dim1=1, dim2=2).abs().amax(dim=1)
    floor = _ROUNDING * matrices.shape[1] * torch.finfo(matrices.dtype).eps * scale
    factor, failed = torch.linalg.cholesky_ex(matrices[:, :-1, :-1])
    if not bool(failed.any()):
        last = torch.linalg.solve_triangular(factor, matrices[:, :-1, -1:], upper=False)
        left = matrices[:, -1, -1] - last.square().sum(dim=(1, 2))
        if bool((left.abs() <= floor).all()):
            vectors = torch.cat([factor, last.mT], dim=1)
            return Roots(vectors=vectors, signs=vectors.new_ones(len(vectors), vectors.shape[2]))
    values, basis = torch.linalg.eigh(matrices)
    kept = (values.abs() > floor[:, None]).any(dim=0)
    values, basis = values[:, kept], basis[:, :, kept]
    return Roots(vectors=basis * values.abs().sqrt()[:, None, :], signs=values.sign())


@dataclass(frozen=True, kw_only=True)
class LayerBatch:
    """What a batch of n samples says of a layer with g groups.

    Args:
        inputs: ``(n, g, P, d)`` what each group's weights are multiplied by.
        backward: for each r ``(n, P, m)`` the ``N_nr``, scaled so that their squares add up to the
            second derivative of the loss over all data.
        signs: ``(n, R)`` the ``s_r``.
    """

    inputs: Tensor
    backward: Sequence[Tensor]
    signs: Tensor

    def squares(self) -> Iterator[tuple[Tensor, Tensor]]:
        """For each r the ``N_nr (n, P, m)`` and the ``s_r N_nr``."""
        for rows, signs in zip(self.backward, self.signs.T, strict=True):
            yield rows, rows if bool((signs == 1).all()) else rows * signs[:, None, None]


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


def _backward(outputs: Tensor, roots: Roots, variables: Sequence[Tensor]) -> list[list[Tensor]]:
    """``Jᵀ a_r`` for each layer and each r, ``(n, P, m)`` each."""
    count = roots.vectors.shape[2]
    rows: list[list[Tensor]] = [[] for _ in variables]
    for place in range(count):
        seeds = roots.vectors[:, :, place].reshape(outputs.shape)
        found = torch.autograd.grad(
            outputs, variables, seeds, retain_graph=place + 1 < count, materialize_grads=True
        )
        for row, one in zip(rows, found, strict=True):
            row.append(one)
    return rows


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

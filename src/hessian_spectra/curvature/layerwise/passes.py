"""One pass over the data that shows what goes into layers, and how the loss bends in what leaves.

For sample n let ``X_n (P, d)`` be a layer's inputs at the P positions where its weight is used (the
patches of a convolution, the tokens of a sequence; one position for a plain linear layer), and
``Z_n = X_n Wᵀ (P, m)`` its outputs. With the Jacobian ``J_n`` of the network's outputs with respect
to ``Z_n`` and ``A_n = Σ_r s_r a_r a_rᵀ`` the second derivative of the loss with respect to these
outputs, the Gauss-Newton part of the second derivative with respect to ``Z_n`` is
``Σ_r s_r N_nr N_nrᵀ`` with ``N_nr = J_nᵀ a_r (P, m)``: one backward pass for each r.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from hessian_spectra.curvature.interface import OperatorError
from hessian_spectra.curvature.layerwise.layers import Captured, Layer
from hessian_spectra.curvature.network import FixedNetwork, weighted_derivatives
from hessian_spectra.curvature.problem import Problem
from hessian_spectra.curvature.products import output_gradient
from hessian_spectra.curvature.second_derivatives import FastSecondDerivatives
from hessian_spectra.curvature.undisturbed import undisturbed
from hessian_spectra.seeding import generator

# N_nr and s_r N_nr of all samples, (n, P, m) each.
Pair = tuple[Tensor, Tensor]
# What rounding leaves of a zero, relative to the largest entry, in units of the last digit.
_ROUNDING = 100.0
# Second derivatives by the outputs of a batch's samples that take more bytes are refused.
_LARGEST = 4 << 30
# Rows of a symmetric matrix that are computed together, from the diagonal on.
_STRIP = 64


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
    them, by Cholesky's factor of all rows and columns but one; others by their eigenvectors.

    Args:
        matrices: ``(n, K, K)``, symmetric.

    Example:
        >>> p = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
        >>> roots = square_roots((torch.diag(p) - torch.outer(p, p))[None])
        >>> roots.vectors.shape
        torch.Size([1, 3, 2])
    """
    samples, size = matrices.shape[:2]
    vectors, left = _without_one(matrices)
    scale = matrices.diagonal(dim1=1, dim2=2).abs().amax(dim=1)
    # A probability near 1 is rounded as one of 1/2 is, whatever is left of its sample's curvature.
    floor = torch.finfo(matrices.dtype).eps * torch.maximum(
        _ROUNDING * size * scale, 10 * scale.max()
    )
    good = left.abs() <= floor
    if bool(good.all()):
        return Roots(vectors=vectors, signs=vectors.new_ones(samples, size - 1))
    values, basis = torch.linalg.eigh(matrices[~good])
    order = values.abs().argsort(dim=1, descending=True)
    values, basis = values.gather(1, order), basis.gather(2, order[:, None].expand_as(basis))
    rank = int((values.abs() > floor[~good, None]).any(dim=0).sum())
    count = max(rank, size - 1) if bool(good.any()) else rank
    result = matrices.new_zeros(samples, size, count)
    signs = matrices.new_ones(samples, count)
    if bool(good.any()):
        result[good, :, : size - 1] = vectors[good]
    result[~good, :, :rank] = (basis * values.abs().sqrt()[:, None])[:, :, :rank]
    signs[~good, :rank] = torch.where(values[:, :rank] < 0, -1.0, 1.0).to(signs)
    return Roots(vectors=result, signs=signs)


def _without_one(matrices: Tensor) -> tuple[Tensor, Tensor]:
    """Factors ``(n, K, K − 1)``, and what they leave of one entry, NaN where there is none.

    The row of the largest entry is left out, which of the cross-entropy is that of the likeliest
    class: with it the others would nearly cancel.
    """
    samples, size = matrices.shape[:2]
    largest = matrices.diagonal(dim1=1, dim2=2).abs().argmax(dim=1)
    # The largest and the last change places.
    places = torch.arange(size, device=matrices.device).repeat(samples, 1)
    places[:, -1] = largest
    places.scatter_(1, largest[:, None], size - 1)
    rows = places[:, :, None].expand_as(matrices)
    changed = matrices.gather(1, rows).gather(2, rows.mT)
    last = changed[:, -1, -1].clone()
    # With as much as that to spare the last column is there as well, and is not looked at.
    changed[:, -1, -1] += last.abs()
    factor, failed = torch.linalg.cholesky_ex(changed)
    vectors = factor[:, :, :-1]
    left = (last - vectors[:, -1].square().sum(dim=1)).where(failed == 0, torch.nan)
    return vectors.gather(1, rows[:, :, :-1]), left


@dataclass(frozen=True, kw_only=True)
class LayersBatch:
    """The tensors that a batch of n samples gives of some layers, in their order.

    Args:
        inputs: of each layer, with g groups, ``(n, g, P, d)`` what a group's weights are multiplied
            by.
        outputs: of the network, with the graph behind them.
        variables: of each layer its outputs ``(n, P, m)``, in that graph.
        roots: of the second derivative of the loss over all data by the outputs of each sample.
        counts: ``(n, T)`` how much each of a sample's targets counts in the loss.
    """

    inputs: Sequence[Tensor]
    outputs: Tensor
    variables: Sequence[Tensor]
    roots: Roots
    counts: Tensor

    def weights(self, place: int) -> Tensor:
        """``(n, P)`` how much the inputs of a layer at each position count in expectations.

        Where there are as many targets as positions each belongs to one, as those of tokens do.
        """
        positions = self.inputs[place].shape[2]
        if self.counts.shape[1] == positions:
            return self.counts
        return self.counts.sum(dim=1, keepdim=True).expand(-1, positions)

    def squares(self, among: Sequence[int] | None = None) -> Iterator[list[Pair]]:
        """The pair of each layer for each r, by one backward pass.

        The graph is gone after the last, so that they can be asked for once.

        Args:
            among: the layers' places; all by default.
        """
        variables = self.variables if among is None else [self.variables[at] for at in among]
        count = self.roots.vectors.shape[2] if variables else 0
        for place in range(count):
            seeds = self.roots.vectors[:, :, place].reshape(self.outputs.shape)
            signs = self.roots.signs[:, place, None, None]
            keep = place + 1 < count
            rows = weighted_derivatives([self.outputs], variables, [seeds], keep=keep)
            positive = bool((signs == 1).all())
            yield [(row, row if positive else row * signs) for row in rows]


def layer_batches(problem: Problem, layers: Sequence[Layer]) -> Iterator[LayersBatch]:
    """The tensors that each batch gives of some layers; one forward pass.

    Raises:
        OperatorError: the loss couples samples, is linear in the outputs, or these are not known.
        ValueError: samples do not stand along the first axis of inputs and outputs.
    """
    network = problem.fixed()
    unit: Tensor | None = None
    with undisturbed(problem.device):
        for batch, weight in problem.batches():
            with torch.enable_grad(), Captured(network.model, layers) as captured:
                loss, outputs = network.forward(batch)
                curvature = output_curvature(loss, outputs, network)
            assert outputs is not None
            for layer, inputs in zip(layers, captured.inputs, strict=True):
                _require_samples(layer, inputs, outputs)
            counts = problem.counts(batch, weight).to(problem.device)
            if len(counts) != len(outputs):
                counts = counts.new_full((len(outputs), 1), weight / len(outputs))
            # Where all count alike they count 1, so that a mean is computed without weights.
            if unit is None and bool(counts.any()):
                unit = counts.max()
            yield LayersBatch(
                counts=(counts if unit is None else counts / unit).to(outputs),
                inputs=captured.inputs,
                outputs=outputs,
                variables=captured.outputs,
                roots=square_roots(curvature * weight),
            )


def _require_samples(layer: Layer, inputs: Tensor, outputs: Tensor) -> None:
    if len(inputs) != len(outputs):
        raise ValueError(
            f"layerwise: expected the samples along the first axis of what enters {layer.name!r} "
            f"and of the network's outputs, got {len(inputs)} and {len(outputs)}; keep tokens in "
            "an axis of their own, (n, tokens, features), with scores (n, classes, tokens)"
        )


class SymmetricSum:
    """A symmetric sum of products ``Lᵀ R``, of which half is computed.

    Args:
        size: its rows, and the columns of each factor.
        problem: whose type and device it has.
    """

    def __init__(self, size: int, problem: Problem) -> None:
        self._upper = torch.zeros(size, size, dtype=problem.dtype, device=problem.device)

    def add(self, left: Tensor, right: Tensor) -> None:
        """Add ``Lᵀ R`` of matrices ``(n, size)``; only the sum need be symmetric."""
        for start in range(0, len(self._upper), _STRIP):
            strip = slice(start, start + _STRIP)
            self._upper[strip, start:].addmm_(left[:, strip].T, right[:, start:])

    @property
    def matrix(self) -> Tensor:
        """``(size, size)``."""
        return self._upper.triu() + self._upper.triu(1).T


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
        given = [direction.reshape(outputs.shape)]
        (image,) = weighted_derivatives([residual], [outputs], given, keep=True)
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
            "expected a sum or mean over samples, and outputs that are not so sure that rounding "
            "is left of it, as after a training that diverged: choose a smaller learning rate"
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
            loss, outputs = network.forward(batch)
        # Refuses what has no second derivative by outputs, before all data is passed.
        output_gradient(loss, outputs, network.parameters)
        assert outputs is not None
        gradients = torch.autograd.grad(
            outputs, captured.outputs, like(outputs), create_graph=True, materialize_grads=True
        )
        images = [
            weighted_derivatives([gradient], [variable], [like(gradient)], keep=True)[0]
            for gradient, variable in zip(gradients, captured.outputs, strict=True)
        ]
        return [bool(image.abs().max() > 0) for image in images]


def position_curvature(problem: Problem, layer: Layer, *, reduced: bool = False) -> Tensor:
    """``Σ_n Σ_p ∂²L / ∂z_np²``, ``(m, m)``: the whole second derivative, position by position.

    For each output and position one product in reverse over the whole data; ``reduced`` for each
    output one, of all positions with all: ``Σ_n Σ_pq ∂²L / ∂z_np ∂z_nq``.
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
                result = _diagonal_blocks(gradient, variable, reduced=reduced)
            total = result * weight if total is None else total + result * weight
    assert total is not None
    return total


def _diagonal_blocks(gradient: Tensor, variable: Tensor, *, reduced: bool) -> Tensor:
    positions, width = variable.shape[1:]
    total = variable.new_zeros(width, width)
    every = [slice(None)] if reduced else [slice(at, at + 1) for at in range(positions)]
    for places in every:
        for output in range(width):
            direction = torch.zeros_like(variable)
            direction[:, places, output] = 1
            (image,) = weighted_derivatives([gradient], [variable], [direction], keep=True)
            total[output] += image[:, places].sum(dim=(0, 1))
    return (total + total.T) / 2

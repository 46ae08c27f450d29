"""Hessian and Gauss-Newton products by reverse-mode differentiation, with the graph kept."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

from hessian_spectra.curvature.batches import Batch
from hessian_spectra.curvature.composition import Operator
from hessian_spectra.curvature.interface import DIVERGED, NotFiniteError, OperatorError
from hessian_spectra.curvature.network import (
    first_derivatives,
    leaves,
    require_graph,
    split,
    weighted_derivatives,
)
from hessian_spectra.curvature.plain_derivatives import (
    explaining_missing_derivatives,
    is_plain,
    or_plainly,
)
from hessian_spectra.curvature.problem import Problem
from hessian_spectra.curvature.second_derivatives import FastSecondDerivatives
from hessian_spectra.curvature.selection import grouped
from hessian_spectra.curvature.undisturbed import undisturbed

# Multiplies tensors of the shapes of some parameters, given by their positions, by the block of one
# batch's matrix that belongs to these; and whether the graph is kept for another product.
Product = Callable[[Sequence[int], Sequence[Tensor], bool], Sequence[Tensor]]


@dataclass
class _Built:
    """One batch, the product with its matrix, and its weight."""

    batch: Batch
    product: Product
    weight: float


class DifferentiatedOperator(Operator):
    """A symmetric matrix over the parameters that is a weighted sum over batches.

    With a single batch the differentiated graph is built once and kept, unless it is not to be.
    With several batches each product builds the graphs anew, one after the other, so that memory
    does not grow with the data. What is not kept is let go while the last vector passes through.

    Args:
        problem: network, loss and data. Their values at this moment are copied.
        keep_graph: whether a single batch's graph is kept from one product to the next.

    Raises:
        OperatorError: an operation in the model cannot be differentiated twice, or the loss does
            not depend on the parameters.
    """

    def __init__(self, problem: Problem, keep_graph: bool = True) -> None:
        super().__init__(problem.size, problem.dtype, problem.device)
        self.problem = problem
        self.network = problem.fixed()
        # Whether the model computes in a shorter type inside.
        self.autocast = False
        self._kept: list[_Built] | None = None
        if problem.batch_count == 1 and keep_graph:
            self._kept = undisturbed(self.device)(lambda: list(self._build()))()

    @abstractmethod
    def _differentiate(self, batch: Batch) -> Product:
        """Build one batch's graph and return the product with its matrix, or a block of it."""

    def _build(self) -> Iterator[_Built]:
        checked = self.problem.checked
        for batch, weight in self.problem.batches():
            # No reference stays here: who multiplies lets go of one graph before the next is built.
            yield _Built(batch, or_plainly(checked, partial(self._attempt, batch)), weight)

    def _multiplied(
        self, built: _Built, block: Sequence[int], vector: Sequence[Tensor], keep: bool
    ) -> Sequence[Tensor]:
        """A product with one batch's matrix; some layers fail only here."""

        def product() -> Sequence[Tensor]:
            with explaining_missing_derivatives():
                return built.product(block, vector, keep)

        def anew() -> Sequence[Tensor]:
            built.product = self._attempt(built.batch)
            return product()

        return or_plainly(self.problem.checked, product, anew)

    def _attempt(self, batch: Batch) -> Product:
        """The product with one batch's matrix, by torch's own layers where the fast ones failed."""
        fast = self._fast = FastSecondDerivatives(plain=is_plain(self.problem.checked))
        # The caller may have switched gradients off, and means those of training.
        with torch.enable_grad(), explaining_missing_derivatives(), fast:
            product = self._differentiate(batch)
        self.autocast |= fast.autocast
        return product

    def _forward(self, batch: Batch) -> tuple[Tensor, Any]:
        """Loss and outputs of one batch.

        Raises:
            OperatorError: the model or the loss takes derivatives itself, which the fast layers are
                not made for.
        """
        loss, outputs = self.network.forward(batch)
        if self._fast.nested and not is_plain(self.problem.checked):
            raise OperatorError("the model or the loss takes derivatives itself")
        return loss, outputs

    def _matmat(self, columns: Tensor) -> Tensor:
        return self.blockwise([tuple(range(len(self.problem.names)))], columns)

    def blockwise(self, blocks: Sequence[tuple[int, ...]], columns: Tensor) -> Tensor:
        """The product with the matrix of these diagonal blocks, one after the other.

        Args:
            blocks: the positions of the parameters of each block.
            columns: ``(s, k)`` with ``s`` the size of all blocks together.
        """
        # Rows are contiguous; the columns of a matrix would be copied piece by piece.
        rows = columns.T.contiguous()
        shapes = [self.problem.shapes[at] for block in blocks for at in block]
        guard = undisturbed(self.device, foreign=self._kept is None)
        return guard(self._blockwise)(blocks, rows, shapes).T

    def _blockwise(
        self,
        blocks: Sequence[tuple[int, ...]],
        rows: Tensor,
        shapes: Sequence[torch.Size],
    ) -> Tensor:
        total, first = torch.empty_like(rows), True
        for built in self._kept or self._build():
            left = len(rows) * len(blocks)
            for row, result in tqdm(
                zip(rows, total, strict=True),
                total=len(rows),
                desc="products",
                # Few products are counted by the solver that asks for them.
                disable=None if len(rows) > 50 else True,
                leave=False,
            ):
                # A complex view of real parameters begins at an even position.
                pieces = (
                    piece.clone() if piece.storage_offset() % 2 else piece
                    for piece in split(row, shapes)
                )
                sums = iter(split(result, shapes))
                for block in blocks:
                    left -= 1
                    keep = self._kept is not None or left > 0
                    images = self._multiplied(built, block, [next(pieces) for _ in block], keep)
                    for image in images:
                        if first:
                            torch.mul(image, built.weight, out=next(sums))
                        else:
                            next(sums).add_(image, alpha=built.weight)
            first = False
            del built
        return total

    def block_size(self, block: Sequence[int]) -> int:
        """The number of entries of the parameters at these positions."""
        return sum(self.problem.shapes[at].numel() for at in block)

    def blocks(self, by: str = "module") -> Mapping[str, "BlockOperator"]:
        """The diagonal blocks of layers or of single parameters, by name.

        All share one graph, and a product with a block takes only the part of it that the block's
        parameters reach.

        Args:
            by: ``"module"`` or ``"parameter"``.

        Example:
            >>> from torch import nn
            >>> from hessian_spectra.curvature import Problem, hessian
            >>> model = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
            >>> model[0].weight.data.fill_(2.0), model[1].weight.data.fill_(3.0)
            (tensor([[2.]]), tensor([[3.]]))
            >>> x = torch.ones(1, 1)
            >>> blocks = hessian(Problem(model, nn.MSELoss(), [(x, x)])).blocks()
            >>> {name: block @ torch.ones(1) for name, block in blocks.items()}
            {'0': tensor([18.]), '1': tensor([8.])}
        """
        groups = grouped(self.problem.names, by)
        return {name: BlockOperator(self, (block,)) for name, block in groups.items()}

    def block_diagonal(self, by: str = "module") -> "BlockOperator":
        """The matrix with these blocks alone; a product builds each batch's graph once for all.

        Its vectors have the blocks one after the other, which is the order of the parameters where
        those of a module stand side by side.
        """
        return BlockOperator(self, tuple(grouped(self.problem.names, by).values()))


class BlockOperator(Operator):
    """The matrix of some diagonal blocks of another, with zeros between them.

    Args:
        whole: the other matrix.
        blocks: the positions of each block's parameters among ``whole.problem.names``.
    """

    def __init__(self, whole: DifferentiatedOperator, blocks: tuple[tuple[int, ...], ...]) -> None:
        size = sum(whole.block_size(block) for block in blocks)
        super().__init__(size, whole.dtype, whole.device)
        self.whole = whole
        self.positions = blocks
        self.names = tuple(whole.problem.names[at] for block in blocks for at in block)

    def blocks(self, by: str = "module") -> Mapping[str, Operator]:
        """The diagonal blocks alone, where there are several; ``by`` changes nothing."""
        if len(self.positions) == 1:
            return super().blocks(by)
        names = self.whole.problem.names
        return {
            ", ".join(names[at] for at in block): BlockOperator(self.whole, (block,))
            for block in self.positions
        }

    def _matmat(self, columns: Tensor) -> Tensor:
        return self.whole.blockwise(self.positions, columns)


class HessianOperator(DifferentiatedOperator):
    """``H = Σ_b c_b ∇²L_b / Σ_b c_b``: the gradient is differentiated once more, in reverse."""

    def _differentiate(self, batch: Batch) -> Product:
        parameters = self.network.parameters
        loss, _ = self._forward(batch)
        gradient = first_derivatives(loss, parameters, keep_graph=True)
        require_graph(gradient)

        def product(block: Sequence[int], vector: Sequence[Tensor], keep: bool) -> Sequence[Tensor]:
            # A gradient that is constant in θ has no graph and adds nothing.
            chosen = [parameters[at] for at in block]
            return weighted_derivatives([gradient[at] for at in block], chosen, vector, keep)

        return product


class GaussNewtonOperator(DifferentiatedOperator):
    """``G = Σ_b c_b Jᵀ (∇²_f L_b) J / Σ_b c_b`` with ``J`` the Jacobian of the outputs ``f``.

    ``J v`` is the derivative of ``u ↦ Jᵀ u`` along v, so that reverse mode is all it takes.

    Raises:
        OperatorError: the outputs are not known, the loss is linear in them, or it depends on the
            parameters beside through them.
    """

    def _differentiate(self, batch: Batch) -> Product:
        parameters = self.network.parameters
        loss, outputs = self._forward(batch)
        residual = output_gradient(loss, outputs, parameters)
        assert outputs is not None
        dummy = torch.zeros_like(outputs, requires_grad=True)
        transposed = torch.autograd.grad(
            outputs, parameters, dummy, create_graph=True, materialize_grads=True
        )
        require_graph([residual, *transposed])

        def product(block: Sequence[int], vector: Sequence[Tensor], keep: bool) -> Sequence[Tensor]:
            chosen, varying = zip(*((transposed[at], parameters[at]) for at in block), strict=True)
            forward = weighted_derivatives(chosen, [dummy], vector, keep)
            curved = weighted_derivatives([residual], [outputs], forward, keep)
            return weighted_derivatives([outputs], varying, curved, keep)

        return product


def output_gradient(loss: Tensor, outputs: Any, parameters: Sequence[Tensor]) -> Tensor:
    """The gradient of a loss with respect to the outputs, with its graph.

    Raises:
        OperatorError: the Gauss-Newton matrix of this loss and these outputs says nothing.
    """
    if outputs is None:
        raise OperatorError(
            "Gauss-Newton matrix: the outputs that the loss is a function of are not known; let "
            "loss_fn return the pair (loss, outputs)"
        )
    if not isinstance(outputs, Tensor):
        raise OperatorError(
            "Gauss-Newton matrix: expected outputs that are one tensor, got "
            f"{type(outputs).__name__}; give loss_fn=lambda model, batch: (loss, tensor), with the "
            "part of the outputs that the loss is a function of"
        )
    if not outputs.requires_grad:
        raise OperatorError("Gauss-Newton matrix: the outputs do not depend on the parameters")
    if not bool(torch.isfinite(loss)):
        raise NotFiniteError(f"Gauss-Newton matrix: the loss is not finite; {DIVERGED}")
    own = {id(parameter) for parameter in parameters}
    if any(id(leaf) in own for leaf in leaves(loss, behind=outputs)):
        raise OperatorError(
            "Gauss-Newton matrix: the loss depends on the parameters beside through the outputs "
            "(weight decay, say); take that part out of the loss and add its own Hessian"
        )
    residual: Tensor
    (residual,) = torch.autograd.grad(loss, [outputs], create_graph=True, materialize_grads=True)
    return residual


@undisturbed()
def require_curved_loss(problem: Problem) -> None:
    """Refuse a loss without curvature in the outputs, whose Gauss-Newton matrix is zero.

    Raises:
        OperatorError: the second derivative vanishes at the outputs of all batches.
    """
    network = problem.fixed()
    with torch.enable_grad():
        for batch, _ in problem.batches():
            loss, outputs = network.forward(batch)
            residual = output_gradient(loss, outputs, network.parameters)
            assert outputs is not None
            # Not constant, which the softmax of the cross-entropy would map to zero.
            probe = torch.linspace(1, 2, outputs.numel()).to(outputs).view_as(outputs).square()
            (curved,) = weighted_derivatives([residual], [outputs], [probe], keep=False)
            if bool(curved.any()):
                return
    raise OperatorError(
        "Gauss-Newton matrix: the loss is linear in the outputs, so that it would be zero; for "
        "LogSoftmax and NLLLoss leave LogSoftmax out and take CrossEntropyLoss; for an absolute or "
        "hinge loss no Gauss-Newton matrix says anything; of a cross-entropy, each softmax is sure "
        "of a class, as after a training that diverged: choose a smaller learning rate"
    )

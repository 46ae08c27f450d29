"""The Hessian of one layer, and its approximation as a Kronecker product."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Literal, get_args, overload

import torch
from torch import Tensor

from hessian_spectra.curvature.composition import Derived, Operator
from hessian_spectra.curvature.eigenpairs import top_eigenpairs
from hessian_spectra.curvature.layerwise.held import HeldGaussNewton, Part, Squares
from hessian_spectra.curvature.layerwise.kronecker import (
    BestKronecker,
    EigenbasisOperator,
    KroneckerOperator,
    best_kronecker,
    corrected_in,
    eigenbasis,
    weighted_factors,
)
from hessian_spectra.curvature.layerwise.layers import Layer, layers_of
from hessian_spectra.curvature.layerwise.passes import (
    LayersBatch,
    SymmetricSum,
    bends_after,
    layer_batches,
    position_curvature,
)
from hessian_spectra.curvature.layerwise.shared import Shared, without_fault
from hessian_spectra.curvature.operators import Check
from hessian_spectra.curvature.problem import Problem, require_problem
from hessian_spectra.spectrum import Spectrum
from hessian_spectra.validation import require, require_word

FactorKind = Literal["expand", "reduce", "weighted", "nearest"]


@overload
def layerwise(problem: Problem, name: str, *, check: Check = "once") -> "Layerwise": ...


@overload
def layerwise(
    problem: Problem, name: list[str] | None = None, *, check: Check = "once"
) -> "dict[str, Layerwise]": ...


def layerwise(
    problem: Problem, name: str | list[str] | None = None, *, check: Check = "once"
) -> "Layerwise | dict[str, Layerwise]":
    """The Hessian of a layer's weight, and what it is nearly a Kronecker product of.

    With the inputs ``x`` and outputs ``z = W x + b`` of a linear layer, and ``M = ∂²ℓ / ∂z²`` of a
    sample's loss, the Hessian of the loss with respect to ``W``, taken row by row, is
    ``E[M ⊗ x xᵀ]``; the decoupling conjecture takes ``E[M] ⊗ E[x xᵀ]`` for it. All belongs to the
    parameters' values at this moment; training may go on.

    Args:
        problem: network, loss and data. Which parameters vary in it does not matter.
        name: of a linear or convolutional layer, as in ``model.named_modules()``; or several, or
            none for all that have factors (a warning names the others): these share the passes
            over the data. Hugging Face's ``Conv1D`` is a linear layer.
        check: of the Hessian, as for :func:`hessian`.

    Raises:
        ValueError: no such layer, another kind, a shared or computed weight, a layer used more than
            once or whose output is not ``W x + b``, or a batch norm or dropout in training mode.

    Source: wu2022dissecting, equations (1) to (3); (29) to (35) for convolutions.

    Example:
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Linear(2, 1, bias=False, dtype=torch.float64))
        >>> x = torch.tensor([[1.0, 0.0], [1.0, 2.0]], dtype=torch.float64)
        >>> layer = layerwise(Problem(model, nn.MSELoss(), [(x, x[:, :1])]), "0")
        >>> layer.output_hessian, layer.input_autocorrelation
        (tensor([[2.]], dtype=torch.float64), tensor([[1., 1.],
                [1., 2.]], dtype=torch.float64))
    """
    require_problem(problem)
    names = [name] if isinstance(name, str) else name
    listed = isinstance(names, Sequence) and all(isinstance(entry, str) for entry in names)
    expected = "a layer's name, several, or none for all"
    require(listed or names is None, "name", expected, name)
    layers = layers_of(problem.model, names)
    if name is None:
        layers = without_fault(problem, layers)
    held = problem.fixed_at([layer.weight for layer in layers])
    shared = Shared(held, layers, check, verified=name is None)
    entries = {layer.name: Layerwise(shared, layer) for layer in layers}
    return entries[name] if isinstance(name, str) else entries


class Layerwise:
    """The Hessian of a weight ``(m, d)``, its factors, and what they make of it.

    It is what :func:`layerwise` returns. A convolution's weight is ``m`` output channels times
    ``d`` input channels and places of the kernel, the kernel flattened; it is used at P positions.
    With g groups the inputs of all of them stand one after the other, ``g d`` numbers.
    """

    def __init__(self, shared: Shared, layer: Layer) -> None:
        self._shared, self._layer = shared, layer
        self.name = layer.name
        self.shape = (layer.outputs, layer.inputs)

    @property
    def hessian(self) -> Operator:
        """``E[M ⊗ x xᵀ]``, the Hessian of the loss over all data, ``(m d, m d)``."""
        whole, (m, d) = self._shared.hessians[self._layer.weight], self.shape
        if not self._layer.transposed:
            return whole

        def product(columns: Tensor) -> Tensor:
            # Of a weight that is kept as its transpose (d, m), over (m, d) instead.
            kept = columns.reshape(m, d, -1).transpose(0, 1).reshape(columns.shape)
            return (whole @ kept).reshape(d, m, -1).transpose(0, 1).reshape(columns.shape)

        return Derived("RowByRow", whole, product)

    @property
    def output_hessian(self) -> Tensor:
        """``E[M]``, the second derivative by the layer's outputs, ``(m, m)``.

        It is that of the whole loss, as in the paper. Where the network is piecewise linear in
        these outputs, as with ReLU, only its Gauss-Newton part is there, which is KFAC's factor;
        where a tanh or GELU follows there is more, and it may be indefinite.

        Of a weight that is used at P positions the mean over these of what belongs to one position,
        (33) of the paper. Samples are weighed as in the loss; of a loss that is a sum it is a sum.
        Where batches have different numbers of positions, P is their mean.
        """
        return self._shared.factors[self.name].output_hessian

    @property
    def input_autocorrelation(self) -> Tensor:
        """``E[x xᵀ]`` over samples, ``(g d, g d)``; of P positions the sum over these.

        Samples count as in the loss: by their class's weight, and not where they are ignored. Of as
        many targets a sample as positions, each position counts as its target does.
        """
        return self._shared.factors[self.name].input_autocorrelation

    @property
    def input_mean(self) -> Tensor:
        """``E[x]`` at each position, ``(g d, P)``.

        Raises:
            ValueError: batches have different numbers of positions.
        """
        mean = self._shared.factors[self.name].input_mean
        if mean is None:
            raise ValueError(
                f"input_mean: expected {self.name!r} to be used at as many positions in each batch"
            )
        return mean

    @cached_property
    def approximation(self) -> Operator:
        """``E[M] ⊗ E[x xᵀ]``; with groups each pair of them has its block of the second factor."""
        return KroneckerOperator(
            self.output_hessian, self.input_autocorrelation, self._layer.groups
        )

    def factors(self, kind: FactorKind = "expand") -> tuple[Tensor, Tensor]:
        """Two matrices ``(m, m)`` and ``(g d, g d)`` whose Kronecker product is nearly the Hessian.

        With the blocks ``M_pq`` of a sample's second derivative by the outputs at two of P
        positions, the input ``x_p`` at each and their mean ``x̄``:

        * ``"expand"``: ``E[Σ_p M_pp]`` and ``E_p[x xᵀ]``, the decoupling conjecture's, and KFAC's
          where :attr:`output_hessian` is;
        * ``"reduce"``: ``E[Σ_pq M_pq]`` and ``E[x̄ x̄ᵀ]``;
        * ``"weighted"``: ``L / tr L`` and ``R`` with ``L = E[W Wᵀ]``, ``R = E[Wᵀ W]``, W a sample's
          gradient by each root of the loss's curvature: each input counts by its own curvature.
          Their product is one step of the power iteration from I to the nearest one, and the square
          of Shampoo's approximation, up to its scale;
        * ``"nearest"``: those of :meth:`best_kronecker`.

        The first two are of the Hessian, the others of its Gauss-Newton part. In expectations
        samples count as in :attr:`input_autocorrelation`.

        Args:
            kind: which.

        Raises:
            ValueError: another kind; of the last two, the layer has groups.
            OperatorError: of the last two, the Gauss-Newton matrix is zero.

        Source: wu2022dissecting, equations (29) to (35); Eschenhagen et al. (2023), section 3, for
        the first two; Morwani et al. (2025) for the third; Van Loan and Pitsianis (1993) for the
        last.

        Example:
            >>> from torch import nn
            >>> model = nn.Sequential(nn.Linear(2, 1, bias=False, dtype=torch.float64))
            >>> x = torch.tensor([[[1.0, 0.0], [1.0, 2.0]]], dtype=torch.float64)  # two positions
            >>> layer = layerwise(Problem(model, nn.MSELoss(), [(x, x[..., :1])]), "0")
            >>> layer.factors("reduce")
            (tensor([[2.]], dtype=torch.float64), tensor([[1., 1.],
                    [1., 1.]], dtype=torch.float64))
        """
        known = get_args(FactorKind)
        require(kind in known, "factors", f"one of {', '.join(map(repr, known))}", kind)
        if kind == "expand":
            positions = self._shared.factors[self.name].positions
            return self.output_hessian * positions, self.input_autocorrelation / positions
        if kind == "nearest":
            best = self.best_kronecker()
            return best.output, best.inputs
        return self._reduced if kind == "reduce" else self._weighted

    @cached_property
    def _weighted(self) -> tuple[Tensor, Tensor]:
        self._require_no_groups("factors")
        self._shared.require_products()
        return weighted_factors(self._parts, (self.output_hessian, self.input_autocorrelation))

    def _parts(self) -> Iterable[Part]:
        """The Gauss-Newton matrix in parts: those that are held, or by a pass over the data."""
        if "gauss_newton" in vars(self):
            return self.gauss_newton.parts
        return (
            Squares(batch.inputs[0][:, 0], (pair for (pair,) in batch.squares()))
            for batch in self._batches()
        )

    def _batches(self) -> Iterator[LayersBatch]:
        """One pass over the data, of this layer alone."""
        return layer_batches(self._shared.problem, [self._layer])

    @cached_property
    def _reduced(self) -> tuple[Tensor, Tensor]:
        problem, layer = self._shared.problem, self._layer
        self._shared.require_products()
        (bent,) = bends_after(problem, [layer])
        squares = SymmetricSum(layer.outputs, problem)
        products = SymmetricSum(layer.groups * layer.inputs, problem)
        samples = 0.0
        for batch in self._batches():
            weights = batch.weights(0)
            counts = weights.mean(dim=1)
            samples += float(counts.double().sum())
            # A sample of which nothing counts has no mean, and no weight.
            among = weights / weights.sum(dim=1, keepdim=True).where(counts[:, None] > 0, 1)
            means = torch.einsum("ngpd,np->ngd", batch.inputs[0], among).flatten(1)
            products.add(means * counts[:, None], means)
            for ((rows, signed),) in batch.squares([] if bent else None):
                squares.add(signed.sum(dim=1), rows.sum(dim=1))
        output = position_curvature(problem, layer, reduced=True) if bent else squares.matrix
        return output, products.matrix / samples

    def kronecker(self, k: int, factors: FactorKind = "expand") -> Spectrum:
        """The ``k`` largest eigenvalues of the factors' product, with eigenvectors.

        Args:
            k: from 1 to ``m d``.
            factors: which, as for :meth:`factors`; by default those of the approximation.

        Raises:
            ValueError: ``k`` is not among them; or as :meth:`factors`.
            OperatorError: as :meth:`factors`.
        """
        if self._layer.groups > 1:
            return top_eigenpairs(KroneckerOperator(*self._pair(factors), self._layer.groups), k)
        return eigenbasis(*self._pair(factors)).spectrum(k)

    def _pair(self, factors: FactorKind) -> tuple[Tensor, Tensor]:
        """Factors; those of "expand" with the scale as :attr:`approximation` divides it."""
        given = self.output_hessian, self.input_autocorrelation
        return given if factors == "expand" else self.factors(factors)

    def eigenbasis(self, factors: FactorKind = "expand") -> EigenbasisOperator:
        """The factors' product by its eigenpairs, with a damped inverse that is exact.

        Args:
            factors: which, as for :meth:`factors`.

        Raises:
            ValueError: the layer has groups; or as :meth:`factors`.
            OperatorError: as :meth:`factors`.

        Example:
            >>> from torch import nn
            >>> model = nn.Sequential(nn.Linear(2, 1, bias=False, dtype=torch.float64))
            >>> x = torch.tensor([[1.0, 0.0], [0.0, 3.0]], dtype=torch.float64)
            >>> layer = layerwise(Problem(model, nn.MSELoss(), [(x, x[:, :1])]), "0")
            >>> layer.eigenbasis().damped_inverse(1.0) @ torch.ones(2, dtype=torch.float64)
            tensor([0.5000, 0.1000], dtype=torch.float64)
        """
        self._require_no_groups("eigenbasis")
        return eigenbasis(*self._pair(factors))

    def corrected(self, basis: EigenbasisOperator) -> EigenbasisOperator:
        """The diagonal of the Gauss-Newton matrix in a basis of products, as an operator in it.

        Of all matrices with these eigenvectors it is the nearest in the Frobenius norm: EKFAC's in
        that of ``"expand"`` where these factors are KFAC's, SOAP's in that of ``"weighted"``. One
        pass over the data.

        Args:
            basis: such as :meth:`eigenbasis` gives, of a layer of this shape.

        Raises:
            ValueError: the layer has groups, or the basis another shape.

        Source: George et al. (2018), section 3; Vyas et al. (2024), section 4.
        """
        self._require_no_groups("corrected")
        fits = tuple(basis.values.shape) == self.shape
        require(fits, "basis", f"one of products {self.shape}", tuple(basis.values.shape))
        return corrected_in(self._parts(), basis)

    @cached_property
    def gauss_newton(self) -> HeldGaussNewton:
        """The Hessian's Gauss-Newton part, held in memory after one pass over the data.

        It is the whole where the network is piecewise linear in the layer's outputs. A product
        needs no pass through the network any more, nor do the layer's factors. Kept are one matrix
        ``(m d, m d)``, or what enters the layer and some c derivatives by what leaves it, with c
        classes, if these are less.

        Raises:
            ValueError: the layer has groups.
            OperatorError: the loss is linear in the network's outputs.
        """
        self._require_no_groups("gauss_newton")
        self._shared.require_products()
        return HeldGaussNewton(self._batches(), self.shape)

    def eigenvalue_corrected(self, k: int, factors: FactorKind = "expand") -> Spectrum:
        """The ``k`` largest eigenvalues of the corrected matrix, with eigenvectors.

        It has the approximation's eigenvectors, and in their basis the diagonal of the layer's
        Gauss-Newton matrix, the second moments of gradients under the model's own labels: EKFAC's
        where the factors are KFAC's. See :meth:`corrected`.

        Args:
            k: from 1 to ``m d``.
            factors: whose eigenvectors, as for :meth:`factors`.

        Raises:
            ValueError: ``k`` is not among them, or the layer has groups; or as :meth:`factors`.
            OperatorError: as :meth:`factors`.

        Source: George et al. (2018), section 3.

        Example:
            >>> from torch import nn
            >>> model = nn.Sequential(nn.Linear(2, 1, bias=False, dtype=torch.float64))
            >>> x = torch.tensor([[1.0, 0.0], [0.0, 3.0]], dtype=torch.float64)
            >>> layer = layerwise(Problem(model, nn.MSELoss(), [(x, x[:, :1])]), "0")
            >>> layer.eigenvalue_corrected(2).eigenvalues  # of 2 E[xxᵀ], which is diagonal
            tensor([1., 9.], dtype=torch.float64)
        """
        self._require_no_groups("eigenvalue_corrected")
        return self.corrected(self.eigenbasis(factors)).spectrum(k)

    def best_kronecker(self, *, tolerance: float = 1e-6, steps: int = 100) -> BestKronecker:
        """The Kronecker product nearest to the layer's Gauss-Newton matrix in the Frobenius norm.

        A yardstick for the approximation: no product of two matrices comes closer.

        Args:
            tolerance: of the relative change of the product at which it stops.
            steps: the most, each of two passes over the data.

        Raises:
            ValueError: the layer has groups.

        Source: Van Loan and Pitsianis (1993), section 4.
        """
        self._require_no_groups("best_kronecker")
        start = self.output_hessian, self.input_autocorrelation
        return best_kronecker(self._parts, start, tolerance=tolerance, steps=steps)

    def _require_no_groups(self, method: str) -> None:
        if self._layer.groups > 1:
            raise ValueError(f"{method}: expected a layer without groups, got {self.name!r}")

    def matricise(self, vectors: Tensor) -> Tensor:
        """Vectors of the layer's space ``(m d, k)`` as matrices of the weight's shape, (k, m, d).

        Raises:
            ValueError: they have another length.

        Source: wu2022dissecting, Definition 2.2, with the index (i − 1) n + j that it means.
        """
        m, d = self.shape
        fits = vectors.ndim == 2 and len(vectors) == m * d
        require(fits, "matricise", f"vectors as columns, ({m * d}, k)", tuple(vectors.shape))
        return vectors.T.reshape(-1, m, d)

    def correspondence(self, vectors: Tensor, side: Literal["output", "input"]) -> Tensor:
        """The share of each vector that lies along each eigenvector of a factor.

        ``‖Mat(h_i)ᵀ r_j‖²`` for the eigenvectors r of ``E[M]``, or ``‖Mat(h_i) t_j‖²`` for those of
        ``E[x xᵀ]``, by descending eigenvalue. For unit vectors h each row adds up to 1.

        Args:
            vectors: ``(m d, k)`` as columns, such as the Hessian's top eigenvectors.
            side: which factor.

        Returns:
            ``(k, m)`` or ``(k, d)``.

        Raises:
            ValueError: another length, another side, or a layer with groups.

        Source: wu2022dissecting, equations (265) and (266).
        """
        require_word("side", side, ("output", "input"))
        self._require_no_groups("correspondence")
        matrices = self.matricise(vectors)
        factor = self.output_hessian if side == "output" else self.input_autocorrelation
        basis = torch.linalg.eigh(factor).eigenvectors.flip(1).to(matrices)
        if side == "output":
            matrices = matrices.transpose(1, 2)
        return (matrices @ basis).square().sum(dim=1)

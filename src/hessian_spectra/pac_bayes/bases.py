"""Bases of a network's layers in which a posterior's covariance is diagonal."""

from collections.abc import Mapping, Sequence

import torch
from scipy import linalg
from torch import Tensor, nn
from torch.nn import functional

from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.pac_bayes.layers import layers_of
from hessian_spectra.pac_bayes.posterior import Basis, GaussianPosterior
from hessian_spectra.training import Observer
from hessian_spectra.validation import require

# Samples that pass through the network together.
BATCH = 1000
STANDARD = "standard"


def layer_bases(model: nn.Module, inputs: Tensor, labels: Tensor, kind: str) -> Mapping[str, Basis]:
    """Eigenbases of what stands for the layers' Hessians of the cross-entropy, largest first.

    ``kronecker``: of E[M] and E[xxᵀ]. ``nearest``: of the factors of the Kronecker product nearest
    to the Gauss-Newton matrix. ``printed output``: of ``M̃ = Tᵀ E[A] T`` in place of E[M], where T
    is the product of the weights behind the layer, halved once for each of them, and
    ``A = diag(p) − p pᵀ`` is the softmax's Hessian. ``exact``: of the layer's Hessian itself, of as
    many rows as it has weights.

    Args:
        model: its parameters are those of linear and convolutional layers.
        inputs: ``(n, ...)``.
        labels: ``(n,)``.
        kind: one of these, or ``standard`` for none.

    Returns:
        Of each linear layer by name; the columns by descending eigenvalue.

    Raises:
        ValueError: no such kind; ``printed output`` of convolutions, of which it is not printed.

    Source: wu2022dissecting, section 2.2, appendix H and eq. (272).
    """
    require(kind in KINDS, "basis", f"one of {', '.join(KINDS)}", kind)
    names = [layer.name for layer in layers_of(model)]
    if kind == STANDARD:
        return {name: Basis() for name in names}
    outputs = _printed(model, inputs, names) if kind == "printed output" else {}
    factors = layer_factors(model, inputs, labels)
    return {name: basis_of([factors[name]], kind, outputs.get(name)) for name in names}


def layer_factors(model: nn.Module, inputs: Tensor, labels: Tensor) -> Mapping[str, cv.Layerwise]:
    """The factors of the Hessian of the cross-entropy, of each layer by name."""
    batches = list(zip(inputs.split(BATCH), labels.split(BATCH), strict=True))
    problem = cv.Problem(model, nn.CrossEntropyLoss(), batches)
    return cv.layerwise(problem, [layer.name for layer in layers_of(model)], check=False)


def basis_of(layers: Sequence[cv.Layerwise], kind: str, output: Tensor | None = None) -> Basis:
    """The basis of a kind of one layer, of which several networks may have the factors.

    Args:
        layers: the layer in each of them; the eigenvectors are those of the mean.
        kind: as for :func:`layer_bases`.
        output: stands in the place of its E[M].
    """
    if kind == STANDARD:
        return Basis()
    if kind == "exact":
        return _exact(layers[0])
    factors = [(_nearest if kind == "nearest" else _kronecker)(layer) for layer in layers]
    outputs, inputs = (torch.stack(parts).mean(dim=0) for parts in zip(*factors, strict=True))
    return Basis(
        outputs=_eigenbasis(outputs if output is None else output), inputs=_eigenbasis(inputs)
    )


def turned_precision(before: Basis, after: Basis, precision: Tensor) -> Tensor:
    """The diagonal of a diagonal precision matrix ``diag(1/s)`` in another basis.

    ``Σ_kl (Uᵀ U')²_ik (Vᵀ V')²_jl / s_kl`` of a weight ``(m, d)``, the same without V of a bias
    ``(m,)``. Of all Gaussians that are diagonal in the other basis, the one with this precision has
    the smallest divergence from the given one.
    """
    for old, new, axis in ((before.outputs, after.outputs, 0), (before.inputs, after.inputs, 1)):
        if old is not None and new is not None and axis < precision.ndim:
            squares = (new.T @ old).square()
            precision = squares @ precision if axis == 0 else precision @ squares.T
    return precision


def _eigenbasis(matrix: Tensor) -> Tensor:
    """Eigenvectors as columns, the largest eigenvalue's first."""
    double = matrix.double()
    try:
        vectors = torch.linalg.eigh(double).eigenvectors
    except torch.linalg.LinAlgError:
        # Divide and conquer may fail where hundreds of eigenvalues are nearly zero, as of pixels
        # and units that are always so; the slower iteration does not.
        bases = linalg.eigh(double.cpu().numpy(), driver="ev")[1]
        vectors = torch.from_numpy(bases).to(double)
    return vectors.flip(1).to(matrix.dtype).contiguous()


def _kronecker(layer: cv.Layerwise) -> tuple[Tensor, Tensor]:
    return layer.output_hessian, layer.input_autocorrelation


def _nearest(layer: cv.Layerwise) -> tuple[Tensor, Tensor]:
    try:
        best = layer.best_kronecker(tolerance=1e-3)
    except cv.OperatorError:
        # The matrix is zero, behind units that are all silent: every basis is an eigenbasis.
        return _kronecker(layer)
    return best.output, best.inputs


def _exact(layer: cv.Layerwise) -> Basis:
    hessian = layer.hessian
    dense = hessian @ torch.eye(hessian.shape[0], dtype=hessian.dtype, device=hessian.device)
    whole = _eigenbasis((dense + dense.T) / 2)
    return Basis(outputs=_eigenbasis(layer.output_hessian), whole=whole)


KINDS = (STANDARD, "kronecker", "printed output", "nearest", "exact")


class BasesObserver(Observer):
    """An observer of a posterior's training, with the posterior's bases and terms of its bound.

    Args:
        posterior: the one that is trained.
        inputs: ``(n, ...)``.
    """

    def __init__(self, posterior: GaussianPosterior, inputs: Tensor) -> None:
        self._posterior, self._inputs = posterior, inputs
        # What the first layer's basis makes of the samples.
        self.leading: Tensor | None = None
        self._terms: dict[int, dict[str, float]] = {}

    def use(self, bases: Mapping[str, Basis]) -> None:
        """Take the posterior's numbers as those in other bases."""
        self._posterior.bases = dict(bases)
        self.leading = self._posterior.leading(self._inputs)

    def metrics(self, step: int) -> Mapping[str, float]:
        """The terms of the bound."""
        return self._terms.get(step, {})

    def state(self) -> Arrays:
        """The bases."""
        return {
            f"bases/{layer}/{name}": value.cpu().numpy()
            for layer, basis in self._posterior.bases.items()
            for name, value in basis.arrays().items()
        }

    def restore(self, state: Arrays) -> None:
        """Go on from there."""
        parts: dict[str, dict[str, Tensor]] = {name: {} for name in self._posterior.names}
        for key, value in state.items():
            if key.startswith("bases/"):
                layer, _, name = key.removeprefix("bases/").rpartition("/")
                parts[layer][name] = torch.from_numpy(value).to(self._posterior.mean.device)
        self.use({layer: Basis(**part) for layer, part in parts.items()})


def _printed(model: nn.Module, inputs: Tensor, names: Sequence[str]) -> dict[str, Tensor]:
    """``M̃`` of each layer.

    Raises:
        ValueError: not all of them are linear.
    """
    linear = all(isinstance(model.get_submodule(name), nn.Linear) for name in names)
    require(linear, "basis", "'printed output' for linear layers alone", "convolutions")
    with torch.no_grad():
        shares = functional.softmax(torch.cat([model(x) for x in inputs.split(BATCH)]), dim=1)
        behind = torch.diag(shares.mean(dim=0)) - shares.T @ shares / len(shares)
        entries = {}
        for name in reversed(names):
            entries[name] = behind
            module = model.get_submodule(name)
            assert isinstance(module, nn.Linear)
            weight = module.weight / 2
            behind = weight.T @ behind @ weight
    return entries


def curvature_in(basis: Basis, layer: cv.Layerwise) -> tuple[Tensor, Tensor]:
    """The curvature in a basis's directions, of the weight ``(m, d)`` and of the bias ``(m,)``.

    In the direction ``u_i v_jᵀ`` it is that of the Kronecker product, ``u_iᵀ E[M] u_i`` times
    ``v_jᵀ E[xxᵀ] v_j``; in a basis of the whole layer that of its Hessian. Of a bias it is the
    first of these, times the positions of a convolution.

    Args:
        basis: of the layer.
        layer: its factors.

    Source: wu2022dissecting, eq. (3) and (33).
    """
    output, inputs = layer.factors("expand")
    along_outputs = _quotients(output, basis.outputs)
    if basis.whole is not None:
        weight = (basis.whole * (layer.hessian @ basis.whole)).sum(dim=0)
        return weight.view(len(output), -1), along_outputs
    return torch.outer(along_outputs, _quotients(inputs, basis.inputs)), along_outputs


def _quotients(matrix: Tensor, columns: Tensor | None) -> Tensor:
    """``u_iᵀ A u_i`` of the columns, or of the unit vectors."""
    return matrix.diagonal() if columns is None else (columns * (matrix @ columns)).sum(dim=0)

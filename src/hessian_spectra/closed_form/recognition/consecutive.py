"""The bulk of two consecutive linear layers of a user's network: found, checked, differentiated."""

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from hessian_spectra.closed_form._pairs import rank_of
from hessian_spectra.closed_form.bulk import Spaces
from hessian_spectra.closed_form.recognition.objective import Data
from hessian_spectra.closed_form.recognition.verdicts import NoClosedFormError
from hessian_spectra.models import HalfSquaredError
from hessian_spectra.seeding import generator
from hessian_spectra.spectrum import Spectrum
from hessian_spectra.validation import one_of, require, require_length

Loss = nn.Module | Callable[[Tensor, Tensor], Tensor]
# What rounding in float64 changes of outputs, relative to the largest.
_ROUNDING = 1e-9
# How far parameters are moved, relative to their size, to where none vanishes by chance.
_AWAY = 0.3


def bulk_of(
    model: nn.Module, data: Data, loss: Loss | None = None, *, layers: tuple[str, str]
) -> Spectrum:
    """The bulk of two consecutive linear layers of a network, a part of its Hessian spectrum.

    Nothing is assumed of the network before and behind the two layers, of the loss, or of the data,
    of which a sample may pass the layers at several positions. What is checked is that the outputs
    depend on the layers through their product alone: on a copy with other parameters the second
    layer's input is the first one's output, and ``(T W_1, W_2 T⁻¹)`` gives the same outputs for a
    random ``T``. See :func:`bulk` for the theorem. Its numbers of conditions are those of the
    network:

    * a bias of the first layer is one more column where it varies, and one more condition where it
      is frozen;
    * inputs that do not depend on parameters count by the dimensions that they span;
    * outputs of which the loss only takes differences, such as the logits of a softmax or what goes
      into a layer norm, count as ``K - 1``.

    Args:
        model: the network, which is copied and left as it is; everything is computed in float64.
        data: batches ``(inputs, targets)``, which are joined, or one pair of tensors.
        loss: from outputs and targets to a scalar; by default half the squared error, averaged over
            samples.
        layers: the names of both layers in ``model.named_modules()``, in the order in which they
            are passed.

    Returns:
        The part of the spectrum, with eigenvectors in the order of ``model.named_parameters()``
        without those that are frozen, each parameter row by row; values and kinds as for
        :func:`bulk` with layers, without the zeros.

    Raises:
        NoClosedFormError: the bulk is empty or 0, the layers are tied, something stands between
            them, or the outputs depend on them otherwise than by their product.
        ValueError: no such layers, layers that do not fit or are frozen, outputs that are no tensor
            or random, or data that is no batches.

    Source: this project.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> model = nn.Sequential(nn.Linear(2, 6), nn.Linear(6, 2), nn.Tanh(), nn.Linear(2, 3))
        >>> data = torch.randn(5, 2), torch.tensor([0, 1, 2, 0, 1])
        >>> s = bulk_of(model, data, nn.CrossEntropyLoss(), layers=("0", "1"))
        >>> s.multiplicities, len(s.eigenvectors())  # 6 - 3 - 2 + 1, with the bias as an input
        ([2, 2, 2, 2], 41)
    """
    _require_layers(model, layers)
    network = copy.deepcopy(getattr(model, "_orig_mod", model)).double()
    if isinstance(loss, nn.Module):
        loss = copy.deepcopy(loss).double()
    pair = _Pair(network, layers, loss or HalfSquaredError("sample"), *_joined(network, data))
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        differences = pair.require_product()
        gradient = pair.gradient()
    before, inside = pair.input_basis(), pair.hidden_basis()
    after = _orthogonal_to(torch.ones_like(gradient[:, 0])) if differences else _eye(gradient)
    first = inside.T @ pair.first_matrix() @ before
    last = after.T @ pair.last.weight.detach() @ inside
    spaces = Spaces(first, last, after.T @ gradient @ before)
    part = spaces.spectrum(partial(pair.placed, before=before, inside=inside, after=after))
    if spaces.rank == 0:
        raise _refused("the loss has no gradient in the product, so that the bulk is 0")
    if len(part.eigenvalues) == 0:
        (width, inputs), outputs = first.shape, len(last)
        raise _refused(
            f"the bulk is empty: m = {width}, needs at least D + K = {inputs} + {outputs} = "
            f"{inputs + outputs}"
        )
    return part


class _Pair:
    """Two linear layers inside a network, watched while it runs.

    Args:
        network: in float64.
        names: those of the layers.
        loss: from its outputs and targets to a scalar.
        x: all inputs.
        y: all targets.
    """

    def __init__(
        self, network: nn.Module, names: Sequence[str], loss: Loss, x: Tensor, y: Tensor
    ) -> None:
        self.network, self.names, self.loss, self.x, self.y = network, names, loss, x, y
        self.first, self.last = (cast(nn.Linear, network.get_submodule(name)) for name in names)
        self.inputs: list[Tensor] = []
        self.apart = False

    @property
    def bias(self) -> Tensor | None:
        """The first layer's bias where it varies."""
        return self.first.bias if _varies(self.first.bias) else None

    def first_matrix(self) -> Tensor:
        """``W_1``, beside it the bias where it varies."""
        columns = [self.first.weight] + [bias[:, None] for bias in [self.bias] if bias is not None]
        return torch.cat(columns, dim=1).detach()

    def outputs(self, change: Callable[[Tensor, Tensor], Tensor] | None = None) -> Tensor:
        """The network's outputs, with something added to those of the second layer.

        Args:
            change: what is added, from the inputs of the first layer and the outputs of the second.
        """
        self.inputs, self.apart = [], False

        def enter(layer: nn.Module, arguments: tuple[Any, ...]) -> None:
            self.inputs.append(arguments[0])

        def leave(layer: nn.Module, arguments: tuple[Any, ...], out: Tensor) -> Tensor:
            first, last = self.first, self.last
            if not self.inputs:
                self.apart = True
                return out
            x, hidden = self.inputs[-1], arguments[0]
            self.apart |= not (
                _close(hidden, functional.linear(x, first.weight, first.bias))
                and _close(out, functional.linear(hidden, last.weight, last.bias))
            )
            return out if change is None or self.apart else out + change(x, out).view_as(out)

        hooks = [
            self.first.register_forward_pre_hook(enter),
            self.last.register_forward_hook(leave, prepend=True),
        ]
        try:
            outputs = self.network(self.x)
        finally:
            for hook in hooks:
                hook.remove()
        require(isinstance(outputs, Tensor), "model", "a tensor as its output", outputs)
        return outputs

    def require_product(self) -> bool:
        """Refuse layers of which not the product alone counts; whether differences alone count.

        Other parameters are taken, where none vanishes by chance, as those of a last layer do at
        the start of training.

        Raises:
            NoClosedFormError: the outputs depend on the layers otherwise.
            ValueError: random outputs.
        """
        pair = _Pair(copy.deepcopy(self.network), self.names, self.loss, self.x, self.y)
        first, last, numbers = pair.first, pair.last, generator(0, "two consecutive layers")

        def draw(like: Tensor) -> Tensor:
            return torch.randn(like.shape, dtype=like.dtype, generator=numbers).to(like.device)

        with torch.no_grad():
            for parameter in filter(_varies, pair.network.parameters()):
                size = float(parameter.square().mean().sqrt()) or 1.0
                parameter.add_(draw(parameter), alpha=_AWAY * size)
            outputs, again = pair.outputs(), pair.outputs()
            if not _close(outputs, again):
                raise ValueError(
                    "model: expected the same outputs twice, got random ones; call model.eval()"
                )
            if not pair.inputs or pair.apart:
                raise _refused(
                    f"something stands between {self.names[0]!r} and {self.names[1]!r}: what goes "
                    "into the second is not what comes out of the first"
                )
            shifted = pair.outputs(lambda x, out: draw(out[..., :1]).expand_as(out))
            values = [self.loss(of, self.y) for of in (outputs, shifted)]
            turn = torch.linalg.qr(draw(first.weight @ first.weight.T)).Q
            turn *= torch.linspace(0.5, 2.0, len(turn), dtype=turn.dtype, device=turn.device)
            first.weight.copy_(turn @ first.weight)
            if first.bias is not None:
                first.bias.copy_(turn @ first.bias)
            last.weight.copy_(torch.linalg.solve(turn, last.weight, left=False))
            if not _close(outputs, pair.outputs()):
                raise _refused(
                    f"the outputs depend on {self.names[0]!r} and {self.names[1]!r} not through "
                    "their product alone: their weights, or what is between them, have another use"
                )
        return last.out_features > 1 and _close(*values)

    def gradient(self) -> Tensor:
        """``G``, with a column more for a bias that varies; what the layers' inputs are is kept."""
        first = self.first_matrix()
        added = first.new_zeros(self.last.out_features, first.shape[1], requires_grad=True)
        columns = self.first.in_features

        def change(x: Tensor, out: Tensor) -> Tensor:
            bias = added[:, columns] if self.bias is not None else None
            return functional.linear(x, added[:, :columns], bias)

        loss = self.loss(self.outputs(change), self.y)
        (gradient,) = torch.autograd.grad(loss, added)
        return gradient

    def input_basis(self) -> Tensor:
        """An orthonormal basis of what the inputs span that no parameter changes, else of all."""
        size = self.first_matrix()
        if any(part.requires_grad for part in self.inputs):
            return _eye(size.T)
        x = torch.cat([part.flatten(end_dim=-2) for part in self.inputs])
        if self.bias is not None:
            x = torch.cat([x, torch.ones_like(x[:, :1])], dim=1)
        _, sizes, right = torch.linalg.svd(torch.linalg.qr(x, mode="r").R)
        return right[: rank_of(sizes, max(x.shape))].T

    def hidden_basis(self) -> Tensor:
        """An orthonormal basis of what is orthogonal to a bias that does not vary."""
        bias = self.first.bias
        fixed = bias is not None and self.bias is None and bool(bias.any())
        return _orthogonal_to(bias.detach()) if fixed else _eye(self.first_matrix())

    def placed(self, columns: Tensor, *, before: Tensor, inside: Tensor, after: Tensor) -> Tensor:
        """Directions of both layers, in coordinates of the bases, as those of all parameters."""
        width, inputs, outputs = (basis.shape[1] for basis in (inside, before, after))
        first, last = columns.split([width * inputs, outputs * width])
        first = torch.einsum("ma,db,abk->mdk", inside, before, first.unflatten(0, (width, inputs)))
        last = torch.einsum("oc,ma,cak->omk", after, inside, last.unflatten(0, (outputs, width)))
        parts = {
            id(self.first.weight): first[:, : self.first.in_features],
            id(self.last.weight): last,
        }
        if self.bias is not None:
            parts[id(self.bias)] = first[:, -1:]
        blocks = [
            parts[id(parameter)].flatten(end_dim=-2)
            if id(parameter) in parts
            else columns.new_zeros(parameter.numel(), columns.shape[1])
            for parameter in filter(_varies, self.network.parameters())
        ]
        return torch.cat(blocks)


def _refused(text: str) -> NoClosedFormError:
    return NoClosedFormError([], text)


def _varies(parameter: Tensor | None) -> bool:
    return parameter is not None and parameter.requires_grad


def _close(first: Tensor, second: Tensor) -> bool:
    """Whether both are the same up to rounding."""
    if first.shape != second.shape:
        return False
    first, second = first.detach(), second.detach()
    return bool((first - second).abs().max() <= _ROUNDING * first.abs().max())


def _eye(matrix: Tensor) -> Tensor:
    """The identity of as many rows as the matrix has."""
    return torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device)


def _orthogonal_to(vector: Tensor) -> Tensor:
    """An orthonormal basis of what is orthogonal to a vector that is not 0."""
    return torch.linalg.svd(vector[None]).Vh[1:].T


def _require_layers(model: nn.Module, layers: Sequence[str]) -> None:
    """Refuse names that are not those of two linear layers that fit, with weights of their own."""
    require(isinstance(model, nn.Module), "model", "a torch.nn.Module", type(model).__name__)
    require(len(layers) == 2, "layers", "the names of two layers", layers)
    modules = {name: module for name, module in model.named_modules() if name}
    for name in layers:
        require(name in modules, "layers", one_of(modules, name), name)
        layer = modules[name]
        require(isinstance(layer, nn.Linear), "layers", "two nn.Linear", f"{name}: {layer}")
        own = layer._parameters.get("weight")
        require(_varies(own), "layers", "weights that vary", f"a frozen or a derived one in {name}")
    first, last = (cast(nn.Linear, modules[name]) for name in layers)
    require(
        first.out_features == last.in_features,
        "layers",
        f"a second one of {first.out_features} inputs, as many as the first has outputs",
        last.in_features,
    )
    for weight in (first.weight, last.weight):
        uses = [n for n, p in model.named_parameters(remove_duplicate=False) if p is weight]
        if len(uses) > 1:
            raise _refused(f"{uses[0]} and {uses[1]} are tied")


def _joined(model: nn.Module, data: Data) -> tuple[Tensor, Tensor]:
    """All inputs and all targets, float64 where they are no integers, on the model's device."""
    require_length("data", data)
    pair = isinstance(data, list | tuple) and all(isinstance(part, Tensor) for part in data)
    with torch.random.fork_rng(devices=[]):  # a loader draws a seed whenever it is iterated
        batches = [data] if pair else list(data)
    good = len(batches) > 0 and all(isinstance(b, list | tuple) and len(b) == 2 for b in batches)
    require(good, "data", "batches (inputs, targets), or one pair of tensors", batches)
    x, y = (torch.cat([*parts]).detach() for parts in zip(*batches, strict=True))
    device = next(model.parameters()).device
    x, y = (of.to(device, torch.float64 if of.is_floating_point() else of.dtype) for of in (x, y))
    return x, y

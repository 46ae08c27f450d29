"""The theorems, each with the forms that it is about, its assumptions and its parameter order."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations

import torch
from torch import Tensor

from hessian_spectra.closed_form._layers import end_to_end, prefixes_and_suffixes, whitened
from hessian_spectra.closed_form._losses import derivatives
from hessian_spectra.closed_form.assumptions import Assumption
from hessian_spectra.closed_form.deep_linear import deep_linear
from hessian_spectra.closed_form.linear_with_bias import linear_with_bias, standardised
from hessian_spectra.closed_form.multi_input import multi_input
from hessian_spectra.closed_form.multi_output import multi_output
from hessian_spectra.closed_form.orthogonal_first_layer import (
    orthogonal_columns,
    orthogonal_first_layer,
    uncorrelated,
)
from hessian_spectra.closed_form.recognition.forms import Form, LayeredNetwork, WholeNetwork
from hessian_spectra.closed_form.self_attention import self_attention
from hessian_spectra.closed_form.two_layer_linear import two_layer_linear
from hessian_spectra.closed_form.two_layer_relu import two_layer_relu
from hessian_spectra.spectrum import Spectrum

# Relative to the sharpness: what the Hessian may differ from the Gauss-Newton matrix.
_GAUSS_NEWTON = 1e-10


@dataclass(frozen=True)
class LayeredShape:
    """Which layers a theorem about :class:`LayeredNetwork` is about.

    Args:
        depth: number of layers; ``None`` for any.
        inputs: of the network; ``None`` for any number.
        outputs: likewise.
        bias: whether the first layer has one; ``None`` for either.
        output_bias: whether the last layer may have one.
        relu: whether ReLUs stand between the layers.
    """

    depth: int | None = 2
    inputs: int | None = None
    outputs: int | None = 1
    bias: bool | None = False
    output_bias: bool = False
    relu: bool = False

    def concerns(self, form: Form) -> bool:
        """Whether the network is layered, with ReLUs as the theorem has them or without."""
        return isinstance(form, LayeredNetwork) and any(form.activations) == self.relu

    def misfit(self, form: Form) -> str | None:
        """The part of the network that the theorem has not; ``None`` if it fits."""
        if not isinstance(form, LayeredNetwork):
            return f"it is about layers one after the other, not {_kind(form)}"
        relus = [name for name in form.activations if name]
        if relus and not self.relu:
            return f"it has no activation, and {relus[0]} is one"
        if self.relu and not relus:
            return "it has a ReLU between its layers, and the network has none"
        if form.activations[-1]:
            return f"it has no activation behind the last layer, and {form.activations[-1]} is one"
        first, last = form.layers[0], form.layers[-1]
        if self.depth is not None and len(form.layers) < self.depth:
            return f"it has {self.depth} layers, and {last.label} is the only one"
        if self.depth is not None and len(form.layers) > self.depth:
            return f"it has {self.depth} layers, and {form.layers[self.depth].label} is one more"
        if self.inputs is not None and first.weight.shape[1] != self.inputs:
            return f"it has {self.inputs} input, and {first.label} has {first.weight.shape[1]}"
        if self.outputs is not None and len(last.weight) != self.outputs:
            return f"it has {self.outputs} output, and {last.label} has {len(last.weight)}"
        if self.bias and first.bias is None:
            return f"it has a bias in the first layer, and {first.label} has none"
        bare = form.layers[1:-1] if self.output_bias else form.layers[1:]
        later = [layer.label for layer in bare if layer.bias is not None]
        if self.bias is False and first.bias is not None:
            return f"it has no bias, and {first.label} has one"
        return f"it has no bias behind the first layer, and {later[0]} has one" if later else None


@dataclass(frozen=True)
class KindOfForm:
    """A theorem about one of the other forms."""

    kind: str

    def concerns(self, form: Form) -> bool:
        """Whether the network is of that kind."""
        return _kind(form) == self.kind

    def misfit(self, form: Form) -> str | None:
        """The part of the network that the theorem has not; ``None`` if it fits."""
        return None if self.concerns(form) else f"it is about {self.kind}, not {_kind(form)}"


def _kind(form: Form) -> str:
    return form.kind if isinstance(form, WholeNetwork) else "layers one after the other"


def _nothing(form: Form, tolerance: float) -> list[Assumption]:
    return []


def _scalar(closed_form: Callable[..., Spectrum], form: LayeredNetwork) -> Spectrum:
    """The spectrum by a closed form of two layers with one input and one output."""
    first, second = form.layers
    x, y = form.x[:, 0], form.y[:, 0]
    return closed_form(second.weight[0], first.weight[:, 0], x, y, loss=form.loss)


def _layer_after_layer(form: LayeredNetwork) -> Tensor:
    layers = form.with_constant_input().layers
    return torch.cat([layer.weight_places.flatten() for layer in layers])


def _with_bias(form: LayeredNetwork) -> Spectrum:
    first, second = form.with_constant_input().layers
    v, b = first.weight.T
    c = None if second.bias is None else second.bias[0]
    x, y = form.x[:, 0], form.y[:, 0]
    return linear_with_bias(
        second.weight[0], v, b, x, y, output_bias=c, loss=form.loss, check=False
    )


def _standardised(form: LayeredNetwork, tolerance: float) -> list[Assumption]:
    """The theorem's own; under another loss the closed form assumes nothing."""
    return standardised(form.x[:, 0], tolerance) if form.loss is None else []


def _second_layer_first(form: LayeredNetwork) -> Tensor:
    first, second = form.with_constant_input().layers
    last = [] if second.bias_places is None else [second.bias_places]
    return torch.cat([second.weight_places[0], *first.weight_places.T, *last])


def _orthogonal(form: LayeredNetwork) -> Spectrum:
    form = form.with_constant_input()
    first, second = form.layers
    x, y = form.x, form.y[:, 0]
    return orthogonal_first_layer(second.weight[0], first.weight, x, y, loss=form.loss, check=False)


def _orthogonal_and_whitened(form: LayeredNetwork, tolerance: float) -> list[Assumption]:
    """The theorem's own, for inputs in any unit: ``x`` and ``y`` times ``a`` make it ``a² H``.

    Under another loss the closed form assumes nothing.
    """
    if form.loss is not None:
        return []
    form = form.with_constant_input()
    size = form.x.square().mean().sqrt().clamp(min=torch.finfo(form.x.dtype).tiny)
    return [
        orthogonal_columns(form.layers[0].weight, tolerance),
        whitened(_moments(form.x), tolerance),
        uncorrelated(form.x / size, form.y[:, 0], tolerance),
    ]


def _deep(form: LayeredNetwork) -> Spectrum:
    form = form.with_constant_input()
    weights = [layer.weight for layer in form.layers]
    return deep_linear(weights, form.x.T, form.y.T, loss=form.loss)


def _least_squares(form: LayeredNetwork, tolerance: float) -> list[Assumption]:
    form = form.with_constant_input()
    layers = [layer.weight for layer in form.layers]
    if len(layers) == 1:
        return []
    slopes, curvatures = derivatives(form.loss, form.x @ end_to_end(layers).T, form.y)
    violation = _residual_curvature(layers, form.x, slopes, curvatures)
    formula, advice = "mean((f(x) - y) xᵀ) = 0", "train on to the least-squares solution"
    if form.loss is not None:
        formula, advice = "mean(l' xᵀ) = 0", "train on to the minimum"
    return [Assumption(formula, violation, _GAUSS_NEWTON, advice)]


def _moments(x: Tensor) -> Tensor:
    return x.T @ x / len(x)


def _residual_curvature(
    layers: Sequence[Tensor], x: Tensor, slopes: Tensor, curvatures: Tensor
) -> float:
    """A bound on what the Hessian differs from the Gauss-Newton matrix, relative to its sharpness.

    With ``R = mean(l' xᵀ)`` the block of layers ``k < l`` of the difference is no larger than
    ``‖R‖`` times the norms of all other layers, and there are ``L - 1`` blocks in each row. The
    sharpness is at least that of any one layer, ``‖S_l‖² ‖P_l Σ P_lᵀ‖``, where ``Σ`` weights each
    sample with its smallest ``l''``; if some are negative it may be 0.
    """
    before, after = prefixes_and_suffixes(layers)
    weights = curvatures.amin(1).sqrt() if bool((curvatures >= 0).all()) else 0 * curvatures[:, 0]
    samples = torch.linalg.qr(weights[:, None] * x / len(x) ** 0.5, mode="r").R.T
    norms = [_norm(layer) for layer in layers]
    others = max(
        math.prod(norm for layer, norm in enumerate(norms) if layer not in pair)
        for pair in combinations(range(len(layers)), 2)
    )
    difference = (len(layers) - 1) * _norm(slopes.T @ x / len(x)) * others
    root = max(_norm(s) * _norm(p @ samples) for p, s in zip(before, after, strict=True))
    if difference == 0:
        return 0.0
    # One after the other: their squares may be no numbers where the share is one.
    return difference / root / root if root > 0 else math.inf


def _norm(matrix: Tensor) -> float:
    finite = bool(torch.isfinite(matrix).all())
    return float(torch.linalg.matrix_norm(matrix, 2)) if finite else math.inf


@dataclass(frozen=True)
class Theorem:
    """A theorem and how it is applied.

    Args:
        function: the name of its closed form.
        title: what messages call it.
        shape: which networks it is about.
        spectrum: the closed form of a network that fits, without checks of what it assumes.
        places: where its parameters stand among the model's.
        assumptions: what it assumes beyond the shape, measured with a tolerance for rounding.
        paper: the key of its paper.
    """

    function: str
    title: str
    shape: LayeredShape | KindOfForm
    spectrum: Callable[..., Spectrum]
    places: Callable[..., Tensor] = field(default=_layer_after_layer)
    assumptions: Callable[..., Sequence[Assumption]] = field(default=_nothing)
    paper: str = "singh2026cracking"


def _whole(closed_form: Callable[..., Spectrum], form: WholeNetwork) -> Spectrum:
    """The spectrum of a network that this library has a closed form of as it is."""
    return closed_form(**form.arguments, loss=form.loss)


def _own_places(form: WholeNetwork) -> Tensor:
    return form.places


# The first one that applies is taken: those that say most about the eigenvalues stand first.
THEOREMS = (
    Theorem(
        "two_layer_linear",
        "Theorem 3.1, the two-layer linear network",
        LayeredShape(inputs=1),
        partial(_scalar, two_layer_linear),
    ),
    Theorem(
        "two_layer_relu",
        "Theorem 3.4, the two-layer ReLU network",
        LayeredShape(inputs=1, relu=True),
        partial(_scalar, two_layer_relu),
    ),
    Theorem(
        "linear_with_bias",
        "Theorem B.1, the two-layer linear network with bias",
        LayeredShape(inputs=1, bias=True, output_bias=True),
        _with_bias,
        _second_layer_first,
        _standardised,
    ),
    Theorem(
        "multi_input",
        "Corollary B.1, several inputs",
        KindOfForm("separate networks for each input"),
        partial(_whole, multi_input),
        _own_places,
    ),
    Theorem(
        "multi_output",
        "Corollary B.2, several outputs",
        KindOfForm("separate networks for each output"),
        partial(_whole, multi_output),
        _own_places,
    ),
    Theorem(
        "orthogonal_first_layer",
        "Section 4.1, the orthogonal first layer",
        LayeredShape(bias=None),
        _orthogonal,
        assumptions=_orthogonal_and_whitened,
    ),
    Theorem(
        "self_attention",
        "Theorem 3.5, self-attention",
        KindOfForm("self-attention"),
        partial(_whole, self_attention),
        _own_places,
    ),
    Theorem(
        "deep_linear",
        "eq. (5), the deep linear network",
        LayeredShape(depth=None, outputs=None, bias=None),
        _deep,
        assumptions=_least_squares,
        paper="anon2026data",
    ),
)
# Those of another matrix than the Hessian assume less.
OF_MATRIX = {
    "hessian": THEOREMS,
    "gauss-newton": (
        Theorem(
            "deep_linear",
            "eq. (5), the Gauss-Newton matrix of a linear network",
            LayeredShape(depth=None, outputs=None, bias=None),
            _deep,
            paper="anon2026data",
        ),
    ),
}

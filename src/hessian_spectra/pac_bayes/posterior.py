"""Gaussian posteriors over the weights of a fully connected network, in a basis of each layer.

The posterior ``Q = N(w, Σ)`` stands beside a prior ``P = N(w₀, λ I)``. Of each weight ``W (m, d)``
the perturbation is ``U E Vᵀ`` with independent entries ``E_ij ~ N(0, s_ij)``, where the columns of
``U`` and ``V`` are a basis of the layer's outputs and inputs; that of a bias is ``U e``, since its
Hessian is E[M] itself. Turned or not, the prior is the same.

Source: wu2022dissecting, section 6 and appendix H; Dziugaite and Roy (2017).
"""

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from hessian_spectra.seeding import generator
from hessian_spectra.validation import require

# Samples that are evaluated together.
EVALUATED = 1000
# The smallest size of a weight whose logarithm is its first deviation.
SMALLEST = 1e-8


@dataclass(frozen=True, kw_only=True)
class Basis:
    """The basis that diagonalises the covariance of a layer, ``I`` where nothing is said.

    Args:
        outputs: ``U (m, m)``, orthonormal columns.
        inputs: ``V (d, d)``, the same.
        whole: instead of both ``(m d, m d)`` for the weight row by row; ``outputs`` is the bias's.
    """

    outputs: Tensor | None = None
    inputs: Tensor | None = None
    whole: Tensor | None = None

    def turned(self, entries: Tensor) -> Tensor:
        """``U E Vᵀ``, from this basis to the standard one, of ``E (m, d)``."""
        if self.whole is not None:
            return (self.whole @ entries.flatten()).view_as(entries)
        if self.outputs is not None:
            entries = self.outputs @ entries
        return entries if self.inputs is None else entries @ self.inputs.T

    def returned(self, entries: Tensor) -> Tensor:
        """``Uᵀ G V``, back to this basis, of ``G (m, d)``."""
        if self.whole is not None:
            return (self.whole.T @ entries.flatten()).view_as(entries)
        if self.outputs is not None:
            entries = self.outputs.T @ entries
        return entries if self.inputs is None else entries @ self.inputs

    def pays(self, samples: int, outputs: int, inputs: int) -> bool:
        """Whether ``((X V) Eᵀ) Uᵀ`` costs less than ``U E Vᵀ``, in multiplications."""
        m, d = outputs * (self.outputs is not None), inputs * (self.inputs is not None)
        turned = samples * (m * outputs + d * inputs + outputs * inputs)
        return self.whole is None and turned <= outputs * inputs * (m + d)

    def arrays(self) -> dict[str, Tensor]:
        """The arrays of the basis, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class _Layer:
    """Where a linear layer's numbers are among those of all: its weight's, then its bias's."""

    name: str
    outputs: int
    inputs: int
    start: int
    has_bias: bool

    @property
    def end(self) -> int:
        return self.start + self.outputs * (self.inputs + self.has_bias)

    def weight(self, numbers: Tensor) -> Tensor:
        """The layer's weight ``(m, d)`` among the numbers of all, a view."""
        size = self.outputs * self.inputs
        return numbers[self.start : self.start + size].view(self.outputs, self.inputs)

    def bias(self, numbers: Tensor) -> Tensor | None:
        """The layer's bias ``(m,)`` among the numbers of all, a view."""
        return numbers[self.end - self.outputs : self.end] if self.has_bias else None


class GaussianPosterior(nn.Module):
    """A Gaussian posterior and its prior; both are trained, but for the prior's mean.

    Args:
        model: of linear layers and functions without parameters, one after the other; its weights
            are the posterior's mean w, and the logarithms of their sizes those of its deviations,
            as in Algorithm 1.
        prior: the weights w₀ by name, as ``model.state_dict()`` has them before the training.
        half_log_variance: ``½ ln λ`` of the prior at the start; paper: -3.

    Raises:
        ValueError: a network of another kind, or weights of another one.

    Attributes:
        mean: ``w (P,)``, layer by layer, the weight's rows and then the bias.
        log_deviation: ``½ ln s (P,)``, in the layers' bases.
        half_log_variance: ``½ ln λ``, a number.
        prior: ``w₀ (P,)``.

    Source: wu2022dissecting, Algorithm 1.

    Example:
        >>> model = nn.Sequential(nn.Linear(2, 1, bias=False))
        >>> posterior = GaussianPosterior(model, model.state_dict(), half_log_variance=0.0)
        >>> moments = posterior.moments()
        >>> moments.squared_distance, moments.parameters
        (0.0, 2)
    """

    def __init__(
        self, model: nn.Module, prior: Mapping[str, Tensor], half_log_variance: float = -3.0
    ) -> None:
        super().__init__()
        self._functions, self.layers = _chain(model)
        state = model.state_dict()
        mean, before = (_flat(self.layers, values) for values in (state, prior))
        self.mean = nn.Parameter(mean.clone())
        self.log_deviation = nn.Parameter(mean.abs().clamp_min(SMALLEST).log())
        self.half_log_variance = nn.Parameter(torch.tensor(half_log_variance).to(mean))
        self.prior: Tensor
        self.register_buffer("prior", before.clone(), persistent=False)
        self.bases = {layer.name: Basis() for layer in self.layers}

    @property
    def names(self) -> list[str]:
        """The names of the layers."""
        return [layer.name for layer in self.layers]

    def deviations(self, name: str) -> Tensor:
        """``s^½ (m, d)`` of a layer's weight, in its basis."""
        (layer,) = (layer for layer in self.layers if layer.name == name)
        return layer.weight(self.log_deviation.detach()).exp()

    def moments(self) -> "Moments":
        """The moments that the divergence from a prior with any variance is computed from."""
        deviation = self.log_deviation.detach().double()
        distance = self.mean.detach().double() - self.prior.double()
        return Moments(
            squared_distance=float(distance.square().sum()),
            variance_sum=float((2 * deviation).exp().sum()),
            log_variance_sum=float(2 * deviation.sum()),
            parameters=self.mean.numel(),
        )

    def leading(self, inputs: Tensor) -> Tensor | None:
        """``X V`` of the first layer, if it has a basis: the same for all steps."""
        basis = self.bases[self.layers[0].name].inputs
        return None if basis is None else inputs.flatten(1) @ basis

    def forward(self, inputs: Tensor, draw: "Draw") -> Tensor:
        """The scores ``(n, c)`` of perturbed networks, as a ``draw`` perturbs each layer."""
        x, place = inputs, 0
        for function in self._functions:
            if function is None:
                x = draw(self, self.layers[place], x)
                place += 1
            else:
                x = function(x)
        return x

    def model_state(self, noise: Tensor | None = None) -> dict[str, Tensor]:
        """The weights of one network by name: the mean, or with ``noise (P,)`` a draw."""
        values = self.mean.detach()
        if noise is not None:
            values = values + self._turned(noise * self.log_deviation.detach().exp())
        state = {}
        for layer in self.layers:
            state[f"{layer.name}.weight"] = layer.weight(values).clone()
            bias = layer.bias(values)
            if bias is not None:
                state[f"{layer.name}.bias"] = bias.clone()
        return state

    def _turned(self, entries: Tensor) -> Tensor:
        """Perturbations ``(P,)`` in the standard basis."""
        result = torch.empty_like(entries)
        for layer in self.layers:
            basis = self.bases[layer.name]
            layer.weight(result).copy_(basis.turned(layer.weight(entries)))
            bias, own = layer.bias(result), layer.bias(entries)
            if bias is not None and own is not None:
                bias.copy_(own if basis.outputs is None else basis.outputs @ own)
        return result


@dataclass(frozen=True, kw_only=True)
class Moments:
    """The moments that ``KL(Q ‖ P)`` is computed from, for any λ (``closed_form.gaussian_kl``).

    Args:
        squared_distance: ``‖w − w₀‖²``.
        variance_sum: ``Σ s``.
        log_variance_sum: ``Σ ln s``.
        parameters: ``P``.
    """

    squared_distance: float
    variance_sum: float
    log_variance_sum: float
    parameters: int


# From a posterior, one of its layers and what goes into it (n, d) to what comes out (n, m).
Draw = Callable[[GaussianPosterior, _Layer, Tensor], Tensor]


class OneNetwork:
    """The same perturbation for all samples; what follows it backwards adds to the gradients.

    Where that costs less than the perturbed weight ``W + U E Vᵀ``, what passes through is computed,
    ``X Wᵀ + ((X V) Eᵀ) Uᵀ``: products with the batch, none of weights with bases.

    Args:
        entries: ``(P,)`` perturbations in the layers' bases, ``ξ s^½``.
        leading: ``X V`` of the first layer, if it is known.
    """

    def __init__(self, entries: Tensor, leading: Tensor | None = None) -> None:
        self._entries, self._leading = entries, leading

    def __call__(self, posterior: GaussianPosterior, layer: _Layer, x: Tensor) -> Tensor:
        """The outputs of a layer."""
        turned = self._leading if layer is posterior.layers[0] else None
        outputs: Tensor = _OneNetworkLayer.apply(
            x, posterior.mean, posterior, layer, self._entries, turned
        )
        return outputs


class _OneNetworkLayer(torch.autograd.Function):
    """A perturbed layer, whose gradients go where the posterior's optimizer finds them."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        mean: Tensor,
        posterior: GaussianPosterior,
        layer: _Layer,
        entries: Tensor,
        turned: Tensor | None,
    ) -> Tensor:
        basis = posterior.bases[layer.name]
        weight, noise = layer.weight(mean), layer.weight(entries)
        bias, own = layer.bias(mean), layer.bias(entries)
        if basis.pays(len(x), layer.outputs, layer.inputs):
            if turned is None:
                turned = x if basis.inputs is None else x @ basis.inputs
            out, inner = x @ weight.T, turned @ noise.T
            if own is not None:
                inner += own
            out += inner if basis.outputs is None else inner @ basis.outputs.T
        else:
            turned, noise = None, weight + basis.turned(noise)
            out = x @ noise.T
            if own is not None:
                out += own if basis.outputs is None else basis.outputs @ own
        if bias is not None:
            out += bias
        ctx.save_for_backward(x, turned)
        ctx.about = posterior, layer, entries, noise
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (x, turned), (posterior, layer, entries, noise) = ctx.saved_tensors, ctx.about
        (gradient,) = gradients
        basis = posterior.bases[layer.name]
        of_mean, of_deviation = posterior.mean.grad, posterior.log_deviation.grad
        weight = layer.weight(of_mean)
        if turned is None:
            plain = gradient.T @ x
            weight += plain
            slope = basis.returned(plain)
        else:
            weight.addmm_(gradient.T, x)
            inner = gradient if basis.outputs is None else gradient @ basis.outputs
            slope = inner.T @ turned
        layer.weight(of_deviation).addcmul_(slope, layer.weight(entries))
        bias = layer.bias(of_mean)
        if bias is not None:
            plain = gradient.sum(dim=0)
            bias += plain
            plain = plain if basis.outputs is None else plain @ basis.outputs
            layer.bias(of_deviation).addcmul_(plain, layer.bias(entries))
        if not ctx.needs_input_grad[0]:
            return (None,) * 6
        if turned is None:
            return (gradient @ noise, *(None,) * 5)
        back = gradient @ layer.weight(posterior.mean.detach())
        inner = inner @ noise
        back += inner if basis.inputs is None else inner @ basis.inputs.T
        return (back, *(None,) * 5)


class OwnNetworks:
    """A perturbation of its own for each sample: what comes out is drawn, not the weights.

    Given what goes in, ``U E Vᵀ x`` is Gaussian with independent entries of variance
    ``Σ_j s_ij (Vᵀ x)_j²`` in the basis U: exact, layer after layer.

    Args:
        posterior: at whose deviations.
        draws: where the numbers come from.
    """

    def __init__(self, posterior: GaussianPosterior, draws: torch.Generator) -> None:
        self._deviation = posterior.log_deviation.detach().exp()
        self._variance = self._deviation.square()
        self._draws = draws

    def __call__(self, posterior: GaussianPosterior, layer: _Layer, x: Tensor) -> Tensor:
        """The outputs of a layer."""
        basis = posterior.bases[layer.name]
        mean = posterior.mean.detach()
        out = x @ layer.weight(mean).T
        bias, variance = layer.bias(mean), layer.bias(self._variance)
        if bias is not None:
            out += bias
        if basis.whole is not None:
            return out + self._whole(basis, layer, x)
        turned = x if basis.inputs is None else x @ basis.inputs
        spread = turned.square() @ layer.weight(self._variance).T
        if variance is not None:
            spread += variance
        noise = spread.sqrt() * self._normal(spread.shape, out)
        return out + (noise if basis.outputs is None else noise @ basis.outputs.T)

    def _whole(self, basis: Basis, layer: _Layer, x: Tensor) -> Tensor:
        """With a basis that is no product the weights are drawn."""
        deviations, whole = layer.weight(self._deviation).flatten(), basis.whole
        assert whole is not None
        entries = deviations * self._normal((len(x), len(deviations)), x)
        weights = (entries @ whole.T).view(len(x), layer.outputs, layer.inputs)
        noise = (weights @ x[:, :, None])[..., 0]
        own = layer.bias(self._deviation)
        if own is not None:
            bias = own * self._normal((len(x), layer.outputs), x)
            noise += bias if basis.outputs is None else bias @ basis.outputs.T
        return noise

    def _normal(self, shape: Sequence[int], like: Tensor) -> Tensor:
        return torch.randn(tuple(shape), generator=self._draws).to(like)


def error_of_draws(
    posterior: GaussianPosterior, inputs: Tensor, labels: Tensor, *, draws: int, seed: int
) -> float:
    """The mean error of so many pairs of a network drawn from the posterior and a sample.

    The pairs are independent: each sample, drawn with replacement, meets a network of its own.

    Args:
        posterior: where networks are drawn from.
        inputs: ``(n, ...)``.
        labels: ``(n,)`` classes.
        draws: how many pairs.
        seed: of samples and networks.

    Returns:
        The share of them that is classified wrongly, an unbiased estimate of the error ``ê(Q)``.

    Raises:
        ValueError: no draws.

    Source: wu2022dissecting, appendix H, whose draws are of networks alone.

    Example:
        >>> model = nn.Sequential(nn.Linear(1, 2))
        >>> _ = model[0].weight.data.copy_(torch.tensor([[-100.0], [100.0]]))
        >>> _ = model[0].bias.data.zero_()
        >>> posterior = GaussianPosterior(model, model.state_dict())
        >>> _ = posterior.log_deviation.data.fill_(-9.0)
        >>> x = torch.tensor([[-1.0], [1.0]])
        >>> error_of_draws(posterior, x, torch.tensor([0, 1]), draws=100, seed=0)
        0.0
    """
    require(draws >= 1, "draws", "at least 1", draws)
    wrong = 0
    with torch.no_grad():
        for part, count in enumerate(_parts(draws)):
            numbers = generator(seed, f"networks and samples {part}")
            chosen = torch.randint(len(labels), (count,), generator=numbers).to(labels.device)
            scores = posterior(inputs[chosen].flatten(1), OwnNetworks(posterior, numbers))
            wrong += int((scores.argmax(dim=1) != labels[chosen]).sum())
    return wrong / draws


def _parts(total: int) -> Iterator[int]:
    for start in range(0, total, EVALUATED):
        yield min(EVALUATED, total - start)


def _flat(layers: Sequence[_Layer], values: Mapping[str, Tensor]) -> Tensor:
    """The weights of the layers, one after the other.

    Raises:
        ValueError: one is missing, or of another shape.
    """
    parts = []
    for layer in layers:
        shapes = {f"{layer.name}.weight": (layer.outputs, layer.inputs)}
        if layer.has_bias:
            shapes[f"{layer.name}.bias"] = (layer.outputs,)  # type: ignore[assignment]
        for name, shape in shapes.items():
            value = values.get(name)
            if value is None or value.shape != shape:
                got = "none" if value is None else tuple(value.shape)
                raise ValueError(f"prior: expected {name} of shape {shape}, got {got}")
            parts.append(value.detach().flatten())
    return torch.cat(parts)


def _chain(model: nn.Module) -> tuple[list[nn.Module | None], list[_Layer]]:
    """The functions of a network in their order, ``None`` for a linear layer; and these layers.

    Raises:
        ValueError: it is no such chain.
    """
    functions: list[nn.Module | None] = []
    layers: list[_Layer] = []
    start = 0
    for name, module in _modules(model, ""):
        if isinstance(module, nn.Linear):
            layer = _Layer(
                name=name,
                outputs=module.out_features,
                inputs=module.in_features,
                start=start,
                has_bias=module.bias is not None,
            )
            layers.append(layer)
            functions.append(None)
            start = layer.end
        elif module.state_dict() or next(module.children(), None) is not None:
            expected = "linear layers and functions without parameters, one after the other"
            kind = type(module).__name__
            raise ValueError(f"model: expected {expected}, got {kind} at {name!r}")
        else:
            functions.append(copy.deepcopy(module).eval())
    if not layers:
        raise ValueError("model: expected at least one linear layer, got none")
    if not math.prod(layer.outputs * layer.inputs for layer in layers):
        raise ValueError("model: expected layers with weights, got an empty one")
    return functions, layers


def _modules(model: nn.Module, prefix: str) -> Iterator[tuple[str, nn.Module]]:
    """The members of nested sequences, in their order."""
    if not isinstance(model, nn.Sequential):
        yield prefix, model
        return
    for name, module in model.named_children():
        yield from _modules(module, f"{prefix}.{name}" if prefix else name)

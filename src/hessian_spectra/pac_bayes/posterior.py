"""Gaussian posteriors over the weights of a network, in a basis of each layer.

The posterior ``Q = N(w, Σ)`` stands beside a prior ``P = N(w₀, λ I)``. Of each weight ``W (m, d)``
the perturbation is ``U E Vᵀ`` with independent entries ``E_ij ~ N(0, s_ij)``, where the columns of
``U`` and ``V`` are a basis of the layer's outputs and inputs; that of a bias is ``U e``, since its
Hessian is E[M] itself. Turned or not, the prior is the same.

Source: wu2022dissecting, section 6 and appendix H; Dziugaite and Roy (2017).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from hessian_spectra.pac_bayes.layers import Layer, layers_of, wired
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require

# Samples that are evaluated together, and numbers of their own weights that are drawn together.
EVALUATED, DRAWN = 1000, 2**24
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


class GaussianPosterior(nn.Module):
    """A Gaussian posterior and its prior; both are trained, but for the prior's mean.

    Args:
        model: its parameters are those of linear and convolutional layers. They are the posterior's
            mean w, and the logarithms of their sizes those of its deviations, as in Algorithm 1.
        prior: the weights w₀ by name, as ``model.state_dict()`` has them before the training.
        half_log_variance: ``½ ln λ`` of the prior at the start; paper: -3.

    Raises:
        ValueError: a network of another kind, weights of another one, or some that are not finite.

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
        self.layers = layers_of(model)
        self._network, self._wiring = wired(model, self.layers)
        state = model.state_dict()
        mean, before = (_flat(self.layers, values) for values in (state, prior))
        self.mean = nn.Parameter(mean.clone())
        self.log_deviation = nn.Parameter(mean.abs().clamp_min(SMALLEST).log())
        self.half_log_variance = nn.Parameter(torch.tensor(half_log_variance).to(mean))
        self.prior: Tensor
        self.register_buffer("prior", before.to(mean, copy=True), persistent=False)
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
        """``X V`` of the first layer, the same for all steps; ``None`` if it has no basis.

        Or if it is given something else than the samples, row by row.
        """
        basis = self.bases[self.layers[0].name].inputs
        fits = basis is not None and self._begins_with(inputs[:2])
        return inputs.flatten(1) @ basis if fits and basis is not None else None

    def _begins_with(self, inputs: Tensor) -> bool:
        """Whether samples, row by row, are what the first layer is given."""
        calls: list[tuple[Layer, Tensor]] = []

        def keep(posterior: GaussianPosterior, layer: Layer, rows: Tensor) -> Tensor:
            calls.append((layer, rows))
            return rows.new_zeros(*rows.shape[:2], layer.outputs)

        self(inputs, keep)
        layer, rows = calls[0]
        samples = inputs.flatten(1)[:, None]
        return layer is self.layers[0] and torch.equal(rows, samples)

    def forward(self, inputs: Tensor, draw: "Draw") -> Tensor:
        """The scores ``(n, c)`` of perturbed networks, as a ``draw`` perturbs each layer."""
        self._wiring.compute = partial(draw, self)
        try:
            scores: Tensor = self._network(inputs)
        finally:
            self._wiring.compute = None
        return scores

    @torch.no_grad()
    def prediction(self, inputs: Tensor) -> Tensor:
        """The classes ``(n,)`` that the network with the posterior's mean says."""
        return self(inputs, _mean).argmax(dim=1)

    def classes(self, inputs: Tensor) -> int:
        """The number of classes that there are scores for."""
        with torch.no_grad():
            return int(self(inputs[:1], _mean).shape[1])

    def model_state(self, noise: Tensor | None = None) -> dict[str, Tensor]:
        """The weights of one network by name: the mean, or with ``noise (P,)`` a draw."""
        values = self.mean.detach()
        if noise is not None:
            values = values + self.turned(noise * self.log_deviation.detach().exp())
        state = {}
        for layer in self.layers:
            weight = layer.weight(values).view(layer.shape)
            state[layer.parameter("weight")] = weight.clone()
            bias = layer.bias(values)
            if bias is not None:
                state[layer.parameter("bias")] = bias.clone()
        return state

    def turned(self, entries: Tensor) -> Tensor:
        """Numbers ``(P,)`` from the layers' bases in the standard one."""
        return self._by_layer(entries, lambda basis, part: basis.turned(part), _from_outputs)

    def returned(self, values: Tensor) -> Tensor:
        """Numbers ``(P,)`` from the standard basis in those of the layers."""
        return self._by_layer(values, lambda basis, part: basis.returned(part), _to_outputs)

    def _by_layer(
        self,
        numbers: Tensor,
        of_weight: Callable[[Basis, Tensor], Tensor],
        of_bias: Callable[[Basis, Tensor], Tensor],
    ) -> Tensor:
        result = torch.empty_like(numbers)
        for layer in self.layers:
            basis = self.bases[layer.name]
            layer.weight(result).copy_(of_weight(basis, layer.weight(numbers)))
            bias, own = layer.bias(result), layer.bias(numbers)
            if bias is not None and own is not None:
                bias.copy_(of_bias(basis, own))
        return result


def _from_outputs(basis: Basis, bias: Tensor) -> Tensor:
    return bias if basis.outputs is None else basis.outputs @ bias


def _to_outputs(basis: Basis, bias: Tensor) -> Tensor:
    return bias if basis.outputs is None else bias @ basis.outputs


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


# From a posterior, one of its layers and what goes into it at P positions, (n, P, d), to what comes
# out, (n, P, m).
Draw = Callable[[GaussianPosterior, Layer, Tensor], Tensor]


def _mean(posterior: GaussianPosterior, layer: Layer, x: Tensor) -> Tensor:
    """The outputs of a layer of the network with the mean as weights."""
    out, bias = x @ layer.weight(posterior.mean).T, layer.bias(posterior.mean)
    return out if bias is None else out + bias


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

    def __call__(self, posterior: GaussianPosterior, layer: Layer, x: Tensor) -> Tensor:
        """The outputs of a layer."""
        turned = self._leading if layer is posterior.layers[0] else None
        outputs: Tensor = _OneNetworkLayer.apply(
            x.flatten(0, 1), posterior.mean, posterior, layer, self._entries, turned
        )
        return outputs.view(*x.shape[:2], layer.outputs)


class _OneNetworkLayer(torch.autograd.Function):
    """A perturbed layer, whose gradients go where the posterior's optimizer finds them."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        mean: Tensor,
        posterior: GaussianPosterior,
        layer: Layer,
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
    """A perturbation of its own for each sample.

    At a single position what comes out is drawn, not the weights: given what goes in, ``U E Vᵀ x``
    is Gaussian with independent entries of variance ``Σ_j s_ij (Vᵀ x)_j²`` in the basis U: exact,
    layer after layer. At several positions, as in a convolution, a sample meets the same weights,
    which are drawn; as in a basis that is no product.

    Args:
        posterior: at whose deviations.
        draws: where the numbers come from; for a posterior on another device than this generator,
            one there takes its seed: what would be copied is a number a weight and sample.
    """

    def __init__(self, posterior: GaussianPosterior, draws: torch.Generator) -> None:
        self._deviation = posterior.log_deviation.detach().exp()
        self._variance = self._deviation.square()
        device = posterior.mean.device
        own = draws.device.type == device.type
        seed = draws.initial_seed()
        self._draws = draws if own else torch.Generator(device).manual_seed(seed)

    def __call__(self, posterior: GaussianPosterior, layer: Layer, x: Tensor) -> Tensor:
        """The outputs of a layer."""
        basis = posterior.bases[layer.name]
        mean = posterior.mean.detach()
        out = x @ layer.weight(mean).T
        bias = layer.bias(mean)
        if bias is not None:
            out += bias
        if basis.whole is not None or x.shape[1] > 1:
            size = max(DRAWN // (layer.outputs * layer.inputs), 1)
            noise = torch.cat([self._of_weights(basis, layer, part) for part in x.split(size)])
            return out + noise
        turned = x if basis.inputs is None else x @ basis.inputs
        spread = turned.square() @ layer.weight(self._variance).T
        variance = layer.bias(self._variance)
        if variance is not None:
            spread += variance
        noise = spread.sqrt() * self._normal(spread.shape, out)
        return out + (noise if basis.outputs is None else noise @ basis.outputs.T)

    def _of_weights(self, basis: Basis, layer: Layer, x: Tensor) -> Tensor:
        """The share of weights and biases that are sampled for each sample anew."""
        deviations = layer.weight(self._deviation).flatten()
        entries = deviations * self._normal((len(x), len(deviations)), x)
        if basis.whole is not None:
            entries = entries @ basis.whole.T
        elif basis.inputs is not None:
            x = x @ basis.inputs
        noise = x @ entries.view(len(x), layer.outputs, layer.inputs).transpose(1, 2)
        outputs = None if basis.whole is not None else basis.outputs
        noise = noise if outputs is None else noise @ outputs.T
        own = layer.bias(self._deviation)
        if own is not None:
            bias = own * self._normal((len(x), 1, layer.outputs), x)
            noise += bias if basis.outputs is None else bias @ basis.outputs.T
        return noise

    def _normal(self, shape: Sequence[int], like: Tensor) -> Tensor:
        device = self._draws.device
        return torch.randn(tuple(shape), generator=self._draws, device=device).to(like)


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
            scores = posterior(inputs[chosen], OwnNetworks(posterior, numbers))
            wrong += int((scores.argmax(dim=1) != labels[chosen]).sum())
    return wrong / draws


def _parts(total: int) -> Iterator[int]:
    for start in range(0, total, EVALUATED):
        yield min(EVALUATED, total - start)


def _named(value: object) -> str:
    """The kind of a thing that should be a tensor."""
    return "none" if value is None else type(value).__name__


def _flat(layers: Sequence[Layer], values: Mapping[str, Tensor]) -> Tensor:
    """The weights of the layers, one after the other.

    Raises:
        ValueError: one is missing, no tensor, of another shape, or not finite.
    """
    parts = []
    for layer in layers:
        shapes = {layer.parameter("weight"): layer.shape}
        if layer.has_bias:
            shapes[layer.parameter("bias")] = torch.Size([layer.outputs])
        for name, shape in shapes.items():
            value = values.get(name)
            if not torch.is_tensor(value) or value.shape != shape:
                got = tuple(value.shape) if torch.is_tensor(value) else _named(value)
                raise ValueError(f"prior: expected {name} of shape {tuple(shape)}, got {got}")
            if not bool(torch.isfinite(value).all()):
                raise ValueError(f"{name}: expected finite weights, got NaN or infinite ones")
            parts.append(value.detach().flatten())
    return torch.cat(parts)

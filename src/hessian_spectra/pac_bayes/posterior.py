"""Gaussian posteriors over the weights of a network, in a basis of each layer.

The posterior ``Q = N(w, Σ)`` stands beside a prior ``P = N(w₀, λ I)``. Of each weight ``W (m, d)``
the perturbation is ``U E Vᵀ`` with independent entries ``E_ij ~ N(0, s_ij)``, where the columns of
``U`` and ``V`` are a basis of the layer's outputs and inputs; that of a bias is ``U e``, since its
Hessian is E[M] itself. Turned or not, the prior is the same.

Source: wu2022dissecting, section 6 and appendix H; Dziugaite and Roy (2017).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from hessian_spectra.pac_bayes.layers import Layer, layers_of, wired

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
        """``U E Vᵀ``, from this basis to the standard one, of ``E (m, d)``; ``U e`` of a bias."""
        is_bias = entries.ndim == 1
        if self.whole is not None and not is_bias:
            return (self.whole @ entries.flatten()).view_as(entries)
        if self.outputs is not None:
            entries = self.outputs @ entries
        return entries if self.inputs is None or is_bias else entries @ self.inputs.T

    def returned(self, entries: Tensor) -> Tensor:
        """``Uᵀ G V``, back to this basis, of ``G (m, d)``; ``Uᵀ g`` of a bias."""
        if entries.ndim == 1:
            return entries if self.outputs is None else entries @ self.outputs
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

    def require_used_once(self, inputs: Tensor) -> None:
        """Refuse a network that uses one of its layers several times on a sample, or never.

        Raises:
            ValueError: it does.
        """
        uses = Counter(layer.name for layer, _ in self._calls(inputs))
        for name in self.names:
            expected = "each layer to be used once on a sample"
            if uses[name] != 1:
                raise ValueError(
                    f"model: expected {expected}, got {name!r} used {uses[name]} times"
                )

    def _calls(self, inputs: Tensor) -> list[tuple[Layer, Tensor]]:
        """The layers in the order of their use, each with what it is given where all are zero."""
        calls: list[tuple[Layer, Tensor]] = []

        def keep(posterior: GaussianPosterior, layer: Layer, rows: Tensor) -> Tensor:
            calls.append((layer, rows))
            return rows.new_zeros(*rows.shape[:2], layer.outputs)

        with torch.no_grad():
            self(inputs, keep)
        return calls

    def _begins_with(self, inputs: Tensor) -> bool:
        """Whether samples, row by row, are what the first layer is given."""
        layer, rows = self._calls(inputs)[0]
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
        return {
            name: part.reshape(shape).clone()
            for layer in self.layers
            for (name, shape), part in zip(layer.shapes.items(), layer.parts(values), strict=True)
        }

    def parts(self, numbers: Tensor) -> list[Tensor]:
        """The weights and biases of the layers among the numbers of all, one after the other."""
        return [part for layer in self.layers for part in layer.parts(numbers)]

    def turned(self, entries: Tensor) -> Tensor:
        """Numbers ``(P,)`` from the layers' bases in the standard one."""
        return self._by_layer(entries, Basis.turned)

    def returned(self, values: Tensor) -> Tensor:
        """Numbers ``(P,)`` from the standard basis in those of the layers."""
        return self._by_layer(values, Basis.returned)

    def _by_layer(self, numbers: Tensor, change: Callable[[Basis, Tensor], Tensor]) -> Tensor:
        result = torch.empty_like(numbers)
        for layer in self.layers:
            for own, new in zip(layer.parts(numbers), layer.parts(result), strict=True):
                new.copy_(change(self.bases[layer.name], own))
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


# From a posterior, one of its layers and what goes into it at P positions, (n, P, d), to what comes
# out, (n, P, m).
Draw = Callable[[GaussianPosterior, Layer, Tensor], Tensor]


def _mean(posterior: GaussianPosterior, layer: Layer, x: Tensor) -> Tensor:
    """The outputs of a layer of the network with the mean as weights."""
    out, bias = x @ layer.weight(posterior.mean).T, layer.bias(posterior.mean)
    return out if bias is None else out + bias


def _flat(layers: Sequence[Layer], values: Mapping[str, Tensor]) -> Tensor:
    """The weights of the layers, one after the other.

    Raises:
        ValueError: one is missing, no tensor, of another shape, or not finite.
    """
    parts = []
    for name, shape in (entry for layer in layers for entry in layer.shapes.items()):
        value = values.get(name)
        if not torch.is_tensor(value) or value.shape != shape:
            kind = "none" if value is None else type(value).__name__
            got = tuple(value.shape) if torch.is_tensor(value) else kind
            raise ValueError(f"prior: expected {name} of shape {tuple(shape)}, got {got}")
        if not bool(torch.isfinite(value).all()):
            raise ValueError(f"{name}: expected finite weights, got NaN or infinite ones")
        parts.append(value.detach().flatten())
    return torch.cat(parts)

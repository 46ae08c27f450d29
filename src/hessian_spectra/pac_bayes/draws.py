"""Networks that are drawn from a posterior: one for all samples, or each its own."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hessian_spectra.pac_bayes.layers import Layer
from hessian_spectra.pac_bayes.posterior import Basis, GaussianPosterior
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require

# Samples that are evaluated together, and numbers of their own weights that are drawn together.
EVALUATED, DRAWN = 1000, 2**24


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
        (weight, *bias), (noise, *own) = layer.parts(mean), layer.parts(entries)
        if basis.pays(len(x), layer.outputs, layer.inputs):
            if turned is None:
                turned = x if basis.inputs is None else x @ basis.inputs
            out, inner = x @ weight.T, turned @ noise.T
            for part in own:
                inner += part
            out += inner if basis.outputs is None else inner @ basis.outputs.T
        else:
            turned, noise = None, weight + basis.turned(noise)
            out = x @ noise.T
            for part in own:
                out += basis.turned(part)
        for part in bias:
            out += part
        ctx.save_for_backward(x, turned)
        ctx.about = posterior, layer, entries, noise
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (x, turned), (posterior, layer, entries, noise) = ctx.saved_tensors, ctx.about
        (gradient,) = gradients
        basis = posterior.bases[layer.name]
        of_mean, *of_bias = layer.parts(posterior.mean.grad)
        of_deviation, *of_spread = layer.parts(posterior.log_deviation.grad)
        scaled, *own = layer.parts(entries)
        if turned is None:
            plain = gradient.T @ x
            of_mean += plain
            slope = basis.returned(plain)
        else:
            of_mean.addmm_(gradient.T, x)
            inner = gradient if basis.outputs is None else gradient @ basis.outputs
            slope = inner.T @ turned
        of_deviation.addcmul_(slope, scaled)
        for bias, spread, part in zip(of_bias, of_spread, own, strict=True):
            plain = gradient.sum(dim=0)
            bias.add_(plain)
            spread.addcmul_(basis.returned(plain), part)
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
        (weight, *bias), (variance, *of_bias) = (
            layer.parts(numbers) for numbers in (posterior.mean.detach(), self._variance)
        )
        out = x @ weight.T
        for part in bias:
            out += part
        if basis.whole is not None or x.shape[1] > 1:
            size = max(DRAWN // (layer.outputs * layer.inputs), 1)
            noise = torch.cat([self._of_weights(basis, layer, part) for part in x.split(size)])
            return out + noise
        turned = x if basis.inputs is None else x @ basis.inputs
        spread = turned.square() @ variance.T
        for part in of_bias:
            spread += part
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
        >>> model = torch.nn.Sequential(torch.nn.Linear(1, 2))
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
        for part, start in enumerate(range(0, draws, EVALUATED)):
            count = min(EVALUATED, draws - start)
            numbers = generator(seed, f"networks and samples {part}")
            chosen = torch.randint(len(labels), (count,), generator=numbers).to(labels.device)
            scores = posterior(inputs[chosen], OwnNetworks(posterior, numbers))
            wrong += int((scores.argmax(dim=1) != labels[chosen]).sum())
    return wrong / draws


def rate_of_errors(scores: Tensor, labels: Tensor) -> float:
    """The share of samples whose largest score is not that of their class."""
    return float((scores.detach().argmax(dim=1) != labels).double().mean())

"""Where a posterior's training starts: bases, deviations and λ as the curvature says."""

import itertools
import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.pac_bayes.bases import basis_of, curvature_in, layer_factors
from hessian_spectra.pac_bayes.draws import OwnNetworks, rate_of_errors
from hessian_spectra.pac_bayes.natural import LocalPlan
from hessian_spectra.pac_bayes.posterior import GaussianPosterior
from hessian_spectra.pac_bayes.settings import LocalDescent
from hessian_spectra.seeding import generator

# Samples that curvature is computed from, that starts are tried on, and the best of them again.
CURVED, TRIED, AGAIN = 4000, 500, 2000
# Where a start is looked for: multiples of the curvature, which sampled networks see larger than
# the trained one does; and prior variances as parts of the largest one, from which the best are
# followed to their neighbours.
MULTIPLES = (0.0, 1.0, 5.0)
VARIANCES, NEXT, BEST = tuple(10.0**-power for power in range(7)), 10**0.5, 4
# Rounds in which curvature and divergence agree on the variances.
ROUNDS = 6


def start_locally(
    posterior: GaussianPosterior,
    model: nn.Module,
    inputs: Tensor,
    labels: Tensor,
    settings: LocalDescent,
    *,
    seed: int,
    at_prior: bool = False,
) -> None:
    """Set a posterior's bases, deviations and λ where the curvature says.

    Variances start where the objective's derivative by them vanishes, ``s = 1 / (1/λ + 2 R n h /
    ln 2)`` with the curvature ``h`` in their direction and ``R = (2 B_RE)^½``. λ and how much the
    curvature counts are those of which a few samples show the smallest objective.

    Args:
        posterior: changed in place.
        model: the trained network.
        inputs: ``(n, ...)``.
        labels: ``(n,)``.
        settings: of the training that follows.
        seed: of the samples and networks.
        at_prior: whether the mean is the prior's, from which training goes nowhere where the
            variances are small, but which may be good already; else it is the trained weights'.
    """
    plan = LocalPlan(samples=len(labels), **vars(settings))
    draws = generator(seed, "samples of the curvature")
    chosen = torch.randperm(len(labels), generator=draws)[:CURVED].to(labels.device)
    inputs, labels = inputs[chosen], labels[chosen]
    factors = layer_factors(model, inputs, labels)
    posterior.bases = {name: basis_of([factors[name]], plan.basis) for name in posterior.names}
    curvature = _curvatures(posterior, factors)
    if at_prior:
        posterior.mean.data.copy_(posterior.prior)

    def value_of(multiple: float, part: float, samples: int) -> float:
        # No larger prior is among those that the bound holds for.
        variance = plan.largest_variance * min(part, 1.0) * math.exp(-1 / plan.grid_precision)
        _fit(posterior, multiple * curvature, variance, plan)
        return _tried(posterior, inputs[:samples], labels[:samples], plan, seed)

    first = [(value_of(*start, TRIED), *start) for start in itertools.product(MULTIPLES, VARIANCES)]
    near = [
        (multiple, part * factor)
        for _, multiple, part in sorted(first)[:BEST]
        for factor in (1 / NEXT, 1.0, NEXT)
    ]
    *_, multiple, part = min((value_of(*start, AGAIN), *start) for start in near)
    value_of(multiple, part, 1)


def _curvatures(posterior: GaussianPosterior, factors: Mapping[str, cv.Layerwise]) -> Tensor:
    """The curvature ``h (P,)`` of the loss in the direction of each number, none negative."""
    result = torch.empty_like(posterior.mean.detach())
    for layer in posterior.layers:
        curvature = curvature_in(posterior.bases[layer.name], factors[layer.name])
        # Of a layer without a bias it is not asked for.
        for own, part in zip(layer.parts(result), curvature, strict=False):
            own.copy_(part.clamp_min(0.0))
    return result


def _fit(posterior: GaussianPosterior, curvature: Tensor, variance: float, plan: LocalPlan) -> None:
    """Set the deviations where the objective's derivative by them vanishes, for a prior's λ."""
    half, root = math.log(variance) / 2, 1.0
    posterior.half_log_variance.data.fill_(half)
    for _ in range(ROUNDS):
        inverse = 1 / variance + 2 * root * plan.samples * curvature / math.log(2)
        posterior.log_deviation.data = -inverse.log() / 2
        root = math.sqrt(2 * plan.complexity(_divergence(posterior, variance), plan.index(half)))


def _divergence(posterior: GaussianPosterior, variance: float) -> float:
    return float(cf.gaussian_kl(**vars(posterior.moments()), prior_variance=variance))


@torch.no_grad()
def _tried(
    posterior: GaussianPosterior, inputs: Tensor, labels: Tensor, plan: LocalPlan, seed: int
) -> float:
    """The objective on a few samples, the same for all starts."""
    draws = OwnNetworks(posterior, generator(seed, "networks of a start"))
    scores = posterior(inputs, draws)
    if plan.objective == "inverse":
        # Of few samples, none of them wrong, one error more is no surprise.
        error = rate_of_errors(scores, labels) + 1 / len(labels)
    else:
        error = float(functional.cross_entropy(scores, labels)) / math.log(2)
    half = float(posterior.half_log_variance.detach())
    complexity = plan.complexity(_divergence(posterior, math.exp(2 * half)), plan.index(half))
    value = plan.measured(error, complexity)[0] if math.isfinite(error + complexity) else math.inf
    return value if math.isfinite(value) else math.inf

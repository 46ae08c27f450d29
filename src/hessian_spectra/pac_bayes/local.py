"""Minimisation of a PAC-Bayes bound by local reparametrisation, from where the curvature says.

Algorithm 1 of wu2022dissecting draws one network for all samples of an update, starts the variances
at the squared weights, which mean nothing in an eigenbasis, and follows RMSprop. Posteriors,
objective and certificate are the same here.
"""

import copy
import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.pac_bayes.bases import BasesObserver, basis_of, layer_factors
from hessian_spectra.pac_bayes.draws import rate_of_errors
from hessian_spectra.pac_bayes.natural import LocalPlan, Turned
from hessian_spectra.pac_bayes.posterior import GaussianPosterior
from hessian_spectra.pac_bayes.settings import DivergedError, LocalDescent
from hessian_spectra.pac_bayes.starts import CURVED
from hessian_spectra.seeding import generator
from hessian_spectra.training import train_by_passes

# Bases are those of the mean over so many networks drawn from the posterior.
DRAWN_NETWORKS = 4


class _Spent(Exception):  # noqa: N818
    """The seconds are over."""


class _Watch(BasesObserver):
    """Finds bases anew, and the bound so far: the error over an epoch of the drawn networks."""

    def __init__(
        self,
        turned: Turned,
        plan: LocalPlan,
        posterior: GaussianPosterior,
        model: nn.Module,
        data: tuple[Tensor, Tensor],
        seed: int,
    ) -> None:
        super().__init__(posterior, data[0])
        self.leading = posterior.leading(data[0])
        self._turned, self._plan, self._model = turned, plan, model
        self._data, self._seed = data, seed
        self._wrong, self._seen = 0.0, 0

    def count(self, scores: Tensor, labels: Tensor) -> None:
        """Count the errors of a batch."""
        self._wrong += rate_of_errors(scores, labels) * len(labels)
        self._seen += len(labels)

    def __call__(self, step: int) -> None:
        """Look at the posterior before an epoch."""
        self._terms = {step: self._now()}
        part = max(step / self._plan.steps, self._turned.spent(self._plan.seconds))
        due = self._plan.due(part)
        # At the end no update follows that would fit the variances to other bases.
        if due > self._turned.renewals and part < 1:
            self._renew(due)

    def _now(self) -> dict[str, float]:
        divergence = self._turned.divergence(self._turned.variances())
        terms = self._plan.terms_of(divergence, float(self._turned.half_log_variance.detach()))
        if self._seen and math.isfinite(terms["complexity"]):
            terms["bound"] = float(cf.kl_inverse(self._wrong / self._seen, terms["complexity"]))
        self._wrong, self._seen = 0.0, 0
        return terms

    def _renew(self, renewals: int) -> None:
        """Turn the posterior into the bases of networks drawn from it."""
        self._turned.hand_back()
        draws = generator(self._seed, f"renewal {renewals}")
        factors = _drawn_factors(self._posterior, self._model, *self._data, draws)
        kind = self._plan.basis
        bases = {name: basis_of([part[name] for part in factors], kind) for name in factors[0]}
        self._turned.renew(bases, renewals)
        self.leading = self._posterior.leading(self._inputs)

    def state(self) -> Arrays:
        """The bases, and how often they were found anew."""
        return super().state() | {"renewals": np.array(self._turned.renewals)}

    def restore(self, state: Arrays) -> None:
        """Go on from there."""
        super().restore(state)
        self._turned.use(self._posterior.bases, int(state["renewals"]))


def _drawn_factors(
    posterior: GaussianPosterior,
    model: nn.Module,
    inputs: Tensor,
    labels: Tensor,
    draws: torch.Generator,
) -> list[Mapping[str, cv.Layerwise]]:
    """The curvature of networks drawn from the posterior, each on samples of its own."""
    chosen = torch.randperm(len(labels), generator=draws)[: DRAWN_NETWORKS * CURVED]
    factors = []
    for part in chosen.to(labels.device).tensor_split(DRAWN_NETWORKS):
        noise = torch.randn(posterior.mean.numel(), generator=draws).to(posterior.mean)
        network = copy.deepcopy(model)
        network.load_state_dict(posterior.model_state(noise), strict=False)
        factors.append(layer_factors(network, inputs[part], labels[part]))
    return factors


def minimise_locally(
    posterior: GaussianPosterior,
    model: nn.Module,
    inputs: Tensor,
    labels: Tensor,
    settings: LocalDescent,
    *,
    seed: int,
    **how: Any,
) -> bool:
    """Minimise a bound over a posterior's mean and deviations and the prior's λ.

    Each sample of an update meets a network of its own: what comes out of a layer is drawn where
    that is exact, at a single position, else the weights. Updates follow natural gradients.

    Args:
        posterior: changed in place, with its bases; see :func:`start_locally`.
        model: a network of its kind, to find the bases with.
        inputs: ``(n, ...)``.
        labels: ``(n,)``.
        settings: how.
        seed: of the samples' orders and the networks.
        how: ``log``, which is told the terms of the bound and the bound so far, and
            ``checkpoint``, as for :func:`~hessian_spectra.training.train_by_minibatches`.

    Returns:
        Whether the training came to its end; else the seconds were over, or it was interrupted
        (Ctrl-C), and the posterior is the one so far.

    Raises:
        DivergedError: the training diverges.
        ValueError: as :func:`~hessian_spectra.training.train_by_minibatches`.

    Source: Kingma, Salimans and Welling (2015) for local reparametrisation; Pérez-Ortiz et al.
    (2021) for the quadratic objective; Thiemann et al. (2017) for that with ``l``.
    """
    plan = LocalPlan(samples=len(labels), **vars(settings))
    turned = Turned(posterior)
    turned.ends = time.monotonic() + plan.seconds
    watch = _Watch(turned, plan, posterior, model, (inputs, labels), seed)

    def loss(network: Turned, chosen: Tensor) -> Tensor:
        if time.monotonic() > network.ends:
            raise _Spent
        variances, leading, y = network.variances(), watch.leading, labels[chosen]
        scores = network(inputs[chosen], None if leading is None else leading[chosen], variances)
        watch.count(scores, y)
        error = functional.cross_entropy(scores, y) / math.log(2)
        half = float(network.half_log_variance.detach())
        complexity = plan.complexity(network.divergence(variances), plan.index(half))
        entropy, rate = network.followed(float(error.detach()), rate_of_errors(scores, y))
        if plan.objective == "inverse":
            value, weight = plan.measured(rate, complexity)
            network.weight = weight * rate / entropy
        else:
            value, network.weight = plan.measured(float(error.detach()), complexity)
        # Its value, with the gradients of the error alone: the optimizer knows those of the rest.
        return error + (value - error.detach())

    try:
        losses = train_by_passes(
            turned,
            loss,
            plan,
            lambda step, chosen: (chosen.to(labels.device),),
            seed=seed,
            unit="samples",
            observer=watch,
            observed=range(plan.epochs + 1),
            identity=vars(settings),
            **how,
        )
    except (_Spent, KeyboardInterrupt):
        turned.hand_back()
        return False
    if not math.isfinite(losses[-1, -1]):
        raise DivergedError(settings.learning_rate)
    turned.hand_back()
    return True

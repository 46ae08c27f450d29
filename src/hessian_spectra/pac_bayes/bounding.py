"""A certificate for a network of one's own, from its weights before and after training."""

import copy
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from hessian_spectra.pac_bayes.certificate import Certificate
from hessian_spectra.pac_bayes.draws import error_of_draws
from hessian_spectra.pac_bayes.local import minimise_locally
from hessian_spectra.pac_bayes.minimisation import minimise_bound
from hessian_spectra.pac_bayes.posterior import GaussianPosterior
from hessian_spectra.pac_bayes.priors import NOTHING, Seen, refuse_if_seen, unseen
from hessian_spectra.pac_bayes.samples import (
    COMPARED,
    Data,
    classes_of,
    read,
    require_fixed_order,
    warn_of_samples,
)
from hessian_spectra.pac_bayes.settings import BoundDescent, Descent, DivergedError, LocalDescent
from hessian_spectra.pac_bayes.starts import start_locally
from hessian_spectra.progress import Log, silent
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require

# b of the prior's variances, the paper's; and how long RMSprop remembers.
PRECISION, SMOOTHING = 100.0, 0.9
# By method: epochs, samples of an update, and the rate at the start.
LOCAL, PAPER = "local", "paper"
DEFAULTS = {LOCAL: (20, 512, 0.01), PAPER: (300, 128, 0.01)}
# How often local reparametrisation finds its bases anew.
RENEWALS = 7
# As many epochs as a budget of seconds may end.
BUDGETED = 1000
# Local reparametrisation makes so many updates at least, of fewer samples where there are few.
UPDATES = 2000
# Pairs by which the trained posterior and the one that training began with are compared.
COMPARING = 5000


def bound(
    model: nn.Module,
    data: Data,
    *,
    prior: nn.Module | Mapping[str, Tensor],
    prior_saw: Seen | None = None,
    method: str = LOCAL,
    objective: str = "inverse",
    basis: str = "kronecker",
    epochs: int | None = None,
    seconds: float = math.inf,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    refresh: int = 10,
    renewals: int = RENEWALS,
    largest_variance: float = 0.1,
    grid_precision: float = PRECISION,
    draws: int = 200_000,
    delta: float = 0.025,
    delta_monte_carlo: float = 0.01,
    seed: int = 0,
    log: Log = silent,
    checkpoint: Path | None = None,
) -> Certificate:
    """A PAC-Bayes bound on the error of a classifier whose weights are drawn around the model's.

    A Gaussian posterior ``Q`` starts between the prior and the model's weights and is moved to
    where the cross-entropy of its networks and ``B_RE`` are small together; the bound is
    ``kl_inverse(ê, B_RE)`` with the error ``ê`` of networks drawn from it. It holds for these
    networks, not for the model itself, which is left as it is. Where training makes it no smaller,
    the posterior is the one that it began with.

    No sample of the bound may have had an influence on the prior, ``N(w₀, λ I)``. Where it was
    trained on a part of the data, the bound is computed on the others, and ``n`` is their number.

    Args:
        model: its parameters are those of linear and convolutional layers, each used once on a
            sample; its outputs are scores of the classes, of which the largest wins.
        data: inputs ``(n, ...)`` and labels ``(n,)``, or batches of them, in a fixed order. Each
            sample is one that was sampled by itself: neither a copy of another, nor standardised
            by moments that were taken from these samples.
        prior: the weights ``w₀``, as before the training: a network, or its ``state_dict()``.
        prior_saw: what the prior was trained on. ``"nothing"``: its weights are random.
            ``"other data"``: samples that are not among the data. Or which samples of the data, as
            a mask ``(n,)`` or as indices.
        method: ``"local"``, by local reparametrisation along natural gradients from where the
            curvature says (:func:`minimise_locally`); or ``"paper"``, Algorithm 1.
        objective: of ``"local"``: ``"inverse"``, ``"quadratic"``, ``"lambda"`` or ``"paper"``.
        basis: in which the covariance is diagonal: ``"kronecker"``, the eigenbasis of each layer's
            E[M] and E[xxᵀ]; or ``"standard"``, ``"nearest"``; by the paper's method also
            ``"exact"`` and ``"printed output"``.
        epochs: of the posterior's training. By default 20, or more for few samples, or as many as
            a budget has time for; 300 by the paper's method, whose rate falls to a tenth after
            each fifth; paper: 2000.
        seconds: of ``"local"``: a budget, at whose end the certificate is that of the posterior so
            far; so it is after Ctrl-C.
        batch_size: of an update. By default 512, or fewer of few samples; by the paper's method
            128.
        learning_rate: at the start. By default 0.01; paper: 0.001.
        refresh: epochs after which the paper's method finds the basis anew, 0 for never.
        renewals: how often ``"local"`` does, of networks drawn from the posterior.
        largest_variance: c of the prior's variances ``λ = c exp(−j/b)``, fixed before the samples
            are looked at; about that of the weights in ``prior``, or more.
        grid_precision: b, fixed before them as well.
        draws: pairs of a sample and a network of its own, for ``ê``.
        delta: ``δ``, the probability over samples with which the bound may fail.
        delta_monte_carlo: ``δ'``, that over the draws.
        seed: of all random numbers.
        log: called while the posterior is trained, with a step and its metrics, such as the terms
            of the bound, and by ``"local"`` the bound so far.
        checkpoint: a folder for the unfinished state, from which the same call goes on.

    Returns:
        The bound, its confidence and every term; ``print`` shows them with the alternatives.

    Raises:
        ValueError: a prior that has seen the samples, or of which nothing is said; a ``δ`` that is
            spent; a network of another kind; bad data; a training that diverges.

    Warns:
        UserWarning: samples that occur more than once, or inputs standardised by their own moments.

    Source: wu2022dissecting, section 6 and appendix H; Dziugaite and Roy (2017).

    Example:
        >>> _ = torch.manual_seed(0)
        >>> x = torch.randn(400, 2)
        >>> y = (x[:, 0] > 0).long()
        >>> before = nn.Sequential(nn.Linear(2, 2, bias=False))
        >>> model = nn.Sequential(nn.Linear(2, 2, bias=False))
        >>> _ = model[0].weight.data.copy_(torch.tensor([[-1.0, 0.0], [1.0, 0.0]]))
        >>> certificate = bound(model, (x, y), prior=before, prior_saw="nothing", epochs=2)
        >>> certificate.mean_error < certificate.bound < 0.5
        True
    """
    _require_chances(delta, delta_monte_carlo, draws)
    require(method in DEFAULTS, "method", f"one of {', '.join(DEFAULTS)}", method)
    network = copy.deepcopy(model).float().eval().requires_grad_(True)
    weights = prior.state_dict() if isinstance(prior, nn.Module) else prior
    posterior = _started(network, weights)
    require_fixed_order(data, prior_saw)
    inputs, labels = read(data, posterior.mean.device)
    classes_of(network, inputs, labels)
    posterior.require_used_once(inputs[:COMPARED])
    others, words = unseen(prior_saw, len(labels))
    if words == NOTHING:
        refuse_if_seen(network, weights, inputs, labels, seed)
    kept = inputs[others.to(inputs.device)], labels[others.to(inputs.device)]
    warn_of_samples(*kept)
    passes, size, rate = _schedule(method, len(others), batch_size, endless=math.isinf(seconds))
    passes = passes if epochs is None else epochs
    rate = rate if learning_rate is None else learning_rate
    family: Any = {"largest_variance": largest_variance, "grid_precision": grid_precision,
                   "delta": delta}  # fmt: skip
    common = {"epochs": passes, "batch_size": size, "learning_rate": rate, "basis": basis, **family}
    chances = {**family, "delta_monte_carlo": delta_monte_carlo}
    how: Any = {"seed": seed, "log": log, "checkpoint": checkpoint}
    if method == LOCAL:
        descent = LocalDescent(**common, objective=objective, renewals=renewals, seconds=seconds)
        _train_locally(posterior, network, kept, descent, chances, **how)
    else:
        settings = BoundDescent(**common, decay_every=max(passes // 5, 1), smoothing=SMOOTHING,
                                refresh=refresh, refresh_grows=False)  # fmt: skip
        _train(posterior, network, kept, settings, **how)
    return certify(posterior, (inputs, labels), prior_saw=prior_saw, draws=draws, seed=seed,
                   basis=basis, epochs=passes, **chances)  # fmt: skip


def certify(
    posterior: GaussianPosterior,
    data: Data,
    *,
    prior_saw: Seen | None = None,
    largest_variance: float = 0.1,
    grid_precision: float = PRECISION,
    draws: int = 200_000,
    delta: float = 0.025,
    delta_monte_carlo: float = 0.01,
    seed: int = 0,
    basis: str = "as given",
    epochs: int = 0,
) -> Certificate:
    """The certificate of a posterior, however it was found.

    Args:
        posterior: the stochastic network, beside its prior.
        data: as for :func:`bound`.
        prior_saw: as for :func:`bound`; what was said of the prior before is not known here.
        largest_variance: c of the prior's variances ``λ = c exp(−j/b)``, fixed before the samples
            are looked at.
        grid_precision: b, fixed before them as well.
        draws: pairs of a sample and a network of its own, for ``ê``.
        delta: ``δ``, the probability over samples with which the bound may fail.
        delta_monte_carlo: ``δ'``, that over the draws.
        seed: of the draws, other than those that the posterior was chosen by.
        basis: in which its covariance is diagonal, in words.
        epochs: of its training.

    Raises:
        ValueError: as :func:`bound`.

    Source: wu2022dissecting, section 6 and appendix H.

    Example:
        >>> model = nn.Sequential(nn.Linear(1, 2))
        >>> posterior = GaussianPosterior(model, model.state_dict())
        >>> _ = posterior.log_deviation.data.fill_(math.log(0.01))
        >>> x = torch.linspace(-1, 1, 1000)[:, None]
        >>> labels = posterior.prediction(x)
        >>> certificate = certify(posterior, (x, labels), prior_saw="other data")
        >>> certificate.bound < 0.05
        True
    """
    _require_chances(delta, delta_monte_carlo, draws)
    for name, size in (("largest_variance", largest_variance), ("grid_precision", grid_precision)):
        require(0 < size < math.inf, name, "a positive number", size)
    require_fixed_order(data, prior_saw)
    inputs, labels = read(data, posterior.mean.device)
    others, words = unseen(prior_saw, len(labels))
    kept = inputs[others.to(inputs.device)], labels[others.to(inputs.device)]
    return Certificate(
        prior_saw=words,
        given=len(labels),
        samples=len(others),
        classes=posterior.classes(inputs),
        moments=posterior.moments(),
        trained_variance=math.exp(2 * float(posterior.half_log_variance.detach())),
        precision=grid_precision,
        largest_variance=largest_variance,
        draws=draws,
        mean_error=error_of_draws(posterior, *kept, draws=draws, seed=seed),
        delta=delta,
        delta_monte_carlo=delta_monte_carlo,
        seed=seed,
        basis=basis,
        epochs=epochs,
        posterior=posterior,
    )


def _schedule(
    method: str, samples: int, batch_size: int | None, *, endless: bool
) -> tuple[int, int, float]:
    """Epochs, samples of an update and rate that a method has where nothing is said."""
    passes, size, rate = DEFAULTS[method]
    if method == LOCAL:
        size = min(size, max(samples // 50, 8))
    size = size if batch_size is None else batch_size
    if method == LOCAL and size >= 1:
        passes = max(passes, math.ceil(UPDATES / math.ceil(samples / size)))
        passes = passes if endless else BUDGETED
    return passes, size, rate


def _started(network: nn.Module, weights: Mapping[str, Tensor]) -> GaussianPosterior:
    """A posterior beside the prior of its family that is the nearest to it."""
    posterior = GaussianPosterior(network, weights)
    moments = posterior.moments()
    fitting = (moments.variance_sum + moments.squared_distance) / moments.parameters
    with torch.no_grad():
        posterior.half_log_variance.fill_(math.log(fitting) / 2)
    return posterior


def _require_chances(delta: float, delta_monte_carlo: float, draws: int) -> None:
    chances = (delta, delta_monte_carlo)
    spent = all(0 < chance < 1 for chance in chances) and sum(chances) < 1
    expected = "positive numbers whose sum is below 1"
    require(spent, "delta, delta_monte_carlo", expected, chances)
    require(draws >= 1, "draws", "at least 1", draws)


def _train_locally(
    posterior: GaussianPosterior,
    network: nn.Module,
    samples: tuple[Tensor, Tensor],
    settings: LocalDescent,
    chances: Mapping[str, Any],
    *,
    seed: int,
    log: Log,
    **how: Any,
) -> None:
    """Train the posterior, and go back to where it began, or to the prior, if that is better."""
    states, trained = [], posterior.mean.detach().clone()
    for at_prior in (True, False):
        posterior.mean.data.copy_(trained)
        start_locally(posterior, network, *samples, settings, seed=seed, at_prior=at_prior)
        states.append(copy.deepcopy((posterior.state_dict(), posterior.bases)))
    with _bar(len(samples[1]), settings, log) as report:
        minimise_locally(posterior, network, *samples, settings, seed=seed, log=report, **how)
    states.append(copy.deepcopy((posterior.state_dict(), posterior.bases)))

    def bound_of(state: Any) -> float:
        posterior.load_state_dict(state[0])
        posterior.bases = state[1]
        # Of draws of their own: the certificate's know nothing of the choice.
        own = generator(seed, "choice").initial_seed()
        given: Any = {"prior_saw": "other data", "draws": COMPARING, "seed": own, **chances}
        return certify(posterior, samples, **given).bound

    bounds = [bound_of(state) for state in states]
    # The trained one where it is no worse than where it, or the prior, began.
    best = max(range(3), key=lambda place: (-bounds[place], place))
    posterior.load_state_dict(states[best][0])
    posterior.bases = states[best][1]


def _train(
    posterior: GaussianPosterior,
    network: nn.Module,
    samples: tuple[Tensor, Tensor],
    settings: BoundDescent,
    *,
    log: Log,
    **how: Any,
) -> None:
    """Train the posterior as Algorithm 1 does.

    Raises:
        ValueError: the training diverges.
    """
    with _bar(len(samples[1]), settings, log) as report:
        path = minimise_bound(posterior, network, *samples, settings, log=report, **how)
    if not np.isfinite(path["surrogate"]).all():
        raise DivergedError(settings.learning_rate)


@contextmanager
def _bar(samples: int, settings: Descent, log: Log) -> Iterator[Log]:
    """A bar of a training's progress, with the bound so far; it gives a log that moves it."""
    steps = settings.epochs * math.ceil(samples / settings.batch_size)
    with tqdm(total=steps, desc="posterior", unit="update", disable=None, leave=False) as bar:

        def report(step: int, metrics: Mapping[str, float]) -> None:
            bar.update(step - bar.n)
            if "bound" in metrics:
                bar.set_postfix(bound=f"{metrics['bound']:.4f}")
            log(step, metrics)

        yield report

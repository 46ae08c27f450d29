"""A certificate for a network of one's own, from its weights before and after training."""

import copy
import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from hessian_spectra.pac_bayes.certificate import Certificate
from hessian_spectra.pac_bayes.minimisation import BoundDescent, minimise_bound
from hessian_spectra.pac_bayes.posterior import GaussianPosterior, error_of_draws
from hessian_spectra.pac_bayes.priors import NOTHING, Seen, refuse_if_seen, unseen
from hessian_spectra.pac_bayes.samples import Data, classes_of, read
from hessian_spectra.progress import Log, silent
from hessian_spectra.validation import require

# b of the prior's variances, the paper's; and how long RMSprop remembers.
PRECISION, SMOOTHING = 100.0, 0.9


def bound(
    model: nn.Module,
    data: Data,
    *,
    prior: nn.Module | Mapping[str, Tensor],
    prior_saw: Seen | None = None,
    basis: str = "kronecker",
    epochs: int = 300,
    batch_size: int = 128,
    learning_rate: float = 0.01,
    refresh: int = 10,
    largest_variance: float = 0.1,
    draws: int = 50_000,
    delta: float = 0.025,
    delta_monte_carlo: float = 0.01,
    seed: int = 0,
    log: Log = silent,
) -> Certificate:
    """A PAC-Bayes bound on the error of a classifier whose weights are drawn around the model's.

    A Gaussian posterior ``Q`` starts with the model's weights as its mean and is moved to where the
    cross-entropy of its networks and ``(B_RE/2)^½`` are small together; the bound is
    ``kl_inverse(ê, B_RE)`` with the error ``ê`` of networks drawn from it. It holds for these
    networks, not for the model itself, which is left as it is.

    No sample of the bound may have had an influence on the prior, ``N(w₀, λ I)``. Where it was
    trained on a part of the data, the bound is computed on the others, and ``n`` is their number.

    Args:
        model: linear layers and functions without parameters in an ``nn.Sequential``; its outputs
            are scores of the classes, of which the largest wins.
        data: inputs ``(n, ...)`` and labels ``(n,)``, or a list of such batches, in a fixed order.
        prior: the weights ``w₀``, as before the training: a network, or its ``state_dict()``.
        prior_saw: what the prior was trained on. ``"nothing"``: its weights are random.
            ``"other data"``: samples that are not among the data. Or which samples of the data, as
            a mask ``(n,)`` or as indices.
        basis: in which the covariance is diagonal: ``"kronecker"``, the eigenbasis of each layer's
            E[M] and E[xxᵀ]; or ``"standard"``, ``"nearest"``, ``"exact"``, ``"printed output"``.
        epochs: of the posterior's training, whose rate falls to a tenth after each fifth; paper:
            2000.
        batch_size: of an update.
        learning_rate: of RMSprop at the start; paper: 0.001.
        refresh: epochs after which the basis is found anew, 0 for never.
        largest_variance: c of the prior's variances ``λ = c exp(−j/100)``, fixed before the samples
            are looked at; about that of the weights in ``prior``, or more.
        draws: pairs of a sample and a network of its own, for ``ê``.
        delta: ``δ``, the probability over samples with which the bound may fail.
        delta_monte_carlo: ``δ'``, that over the draws.
        seed: of all random numbers.
        log: called while the posterior is trained, with a step and its metrics, such as the terms
            of the bound.

    Returns:
        The bound, its confidence and every term; ``print`` shows them with the alternatives.

    Raises:
        ValueError: a prior that has seen the samples, or of which nothing is said; a ``δ`` that is
            spent; a network of another kind; bad data; a training that diverges.

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
    network = copy.deepcopy(model).float().eval()
    weights = prior.state_dict() if isinstance(prior, nn.Module) else prior
    posterior = _started(network, weights)
    inputs, labels = read(data, posterior.mean.device)
    classes = classes_of(network, inputs, labels)
    others, words = unseen(prior_saw, len(labels))
    if words == NOTHING:
        refuse_if_seen(network, weights, inputs, labels, seed)
    kept = inputs[others.to(inputs.device)], labels[others.to(inputs.device)]
    settings = BoundDescent(
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        decay_every=max(epochs // 5, 1),
        smoothing=SMOOTHING,
        basis=basis,
        refresh=refresh,
        refresh_grows=False,
        delta=delta,
        grid_precision=PRECISION,
        largest_variance=largest_variance,
    )
    _train(posterior, network, kept, settings, seed, log)
    return Certificate(
        prior_saw=words,
        given=len(labels),
        samples=len(others),
        classes=classes,
        moments=posterior.moments(),
        trained_variance=math.exp(2 * float(posterior.half_log_variance.detach())),
        precision=PRECISION,
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


def _train(
    posterior: GaussianPosterior,
    network: nn.Module,
    samples: tuple[Tensor, Tensor],
    settings: BoundDescent,
    seed: int,
    log: Log,
) -> None:
    """Train the posterior with a bar of its progress.

    Raises:
        ValueError: the training diverges.
    """
    updates = math.ceil(len(samples[0]) / settings.batch_size)
    steps = settings.epochs * updates
    with tqdm(total=steps, desc="posterior", unit="update", disable=None, leave=False) as bar:

        def report(step: int, metrics: Mapping[str, float]) -> None:
            bar.update(step - bar.n)
            log(step, metrics)

        certificate = minimise_bound(posterior, network, *samples, settings, seed=seed, log=report)
    if not np.isfinite(certificate["surrogate"]).all():
        expected = "a rate at which the posterior's training does not diverge"
        require(False, "learning_rate", expected, settings.learning_rate)

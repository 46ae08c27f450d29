"""PAC-Bayes bounds of trained networks, with posteriors in the eigenbases of their layers.

wu2022dissecting, section 6 and appendix H: the prior is around a network's weights before its
training, the posterior's mean starts at those after it. A method says in which bases the
posterior's covariance is diagonal, and when these are found.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy
import torch
import xarray as xr
from torch import Tensor, nn

from hessian_papers.constraints import Checked, Count
from hessian_papers.labelled import Variable, Variables, assembled, left_out
from hessian_papers.networks.base import shared
from hessian_papers.networks.classifiers import KeptClassifier, kept_classifier
from hessian_papers.networks.tools.divergence import surviving
from hessian_papers.studies.layerwise.ensembles import LABELS, ClassifierStudyConfig
from hessian_papers.work import FanOut, Item, TrainingRun
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.pac_bayes import (
    BATCH,
    BoundDescent,
    BoundSettings,
    GaussianPosterior,
    curvature_in,
    error_of_draws,
    layer_factors,
    minimise_bound,
)
from hessian_spectra.validation import require

# Of how many parts of a layer's directions, by their curvature, deviations are kept.
PARTS = 50
# Which of the deviations in a part: a band and the middle.
QUANTILES = (0.1, 0.5, 0.9)
# What only a posterior whose training converged has: the certificate's terms, and an error.
TERMS = (
    "index",
    "prior_variance",
    "divergence",
    "complexity",
    "drawn_error",
    "error",
    "bound",
    "held_out_error",
)


class Method(NamedTuple):
    """In which bases, and whether they are found again."""

    basis: str
    renewed: bool
    grows: bool = False


METHODS = {
    "base": Method("standard", renewed=False),
    "approximate": Method("kronecker", renewed=False),
    "iterative": Method("kronecker", renewed=True),
    "iterative, decaying": Method("kronecker", renewed=True, grows=True),
    "iterative, printed output": Method("printed output", renewed=True),
    "iterative, nearest": Method("nearest", renewed=True),
    "iterative, exact": Method("exact", renewed=True),
}


@dataclass(frozen=True, kw_only=True)
class BoundMeasurement(BoundSettings):
    """The settings that the bound of a network depends on.

    Args:
        half_log_variance: ``½ ln λ`` of the prior at the start; paper: -3.
        draws_delta: the probability that draws are such that the bound fails; paper: 0.01.
        draws: of networks, for the posterior's error; paper: 50000.
        refresh: epochs after which an iterative method finds its basis anew; paper: 10.
    """

    half_log_variance: float
    draws_delta: float
    draws: Count
    refresh: Count

    def descent(self, method: str) -> BoundDescent:
        """The settings by which a posterior is trained with a method."""
        chosen, settings = METHODS[method], shared(BoundSettings, self)
        settings["refresh"] = self.refresh if chosen.renewed else 0
        return BoundDescent(**settings, basis=chosen.basis, refresh_grows=chosen.grows)


@dataclass(frozen=True, kw_only=True)
class Config(BoundMeasurement, ClassifierStudyConfig):
    """The study's configuration.

    Args:
        methods: different names of those above.
    """

    methods: list[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        # The library's settings end the chain before it.
        Checked.__post_init__(self)
        names = [*self.methods]
        fits = bool(names) and len({*names}) == len(names) and {*names} <= {*METHODS}
        require(fits, "methods", f"different names of {', '.join(METHODS)}", names)
        both = self.delta + self.draws_delta
        fits = 0 < self.draws_delta < 1 and both < 1
        require(fits, "draws_delta", "a probability that leaves room for delta", self.draws_delta)
        self.descent(names[0])

    def require_networks(self, networks: Any) -> None:
        """Refuse networks that are no such classifiers, or of which the first weights are gone."""
        super().require_networks(networks)
        kept = 0 in networks.kept and max(networks.kept) > 0
        require(kept, "ensemble", "classifiers with the weights of epoch 0 kept", self.ensemble)
        fits = all(name.startswith("F-") and "-BN" not in name for name in networks.networks)
        require(fits, "ensemble", "fully connected classifiers F-n^m alone", self.ensemble)
        alone = networks.inputs != "standardised"
        expected = "classifiers whose inputs are in the unit interval: no prior may know the images"
        require(alone, "ensemble", expected, self.ensemble)
        held_out = networks.held_out
        require(held_out >= 1, "held_out", "at least 1", held_out)


def measure(
    kept: KeptClassifier,
    before: KeptClassifier,
    method: str,
    labels: Mapping[str, Any],
    settings: BoundMeasurement,
    run: TrainingRun,
) -> Arrays:
    """The bound of one network by one method, with all that went into it.

    Args:
        kept: the network.
        before: the same before its training.
        method: how its posterior is found.
        labels: what tells it from the others.
        settings: the rest.
        run: where it logs, and keeps its unfinished state.

    Returns:
        What :data:`VARIABLES` declares, with single values for the first three dimensions; the
        terms of the bound, and what goes with the curvature, are NaN if the training diverges.
    """
    (inputs, classes), (others, left) = kept.samples.trained(), kept.samples.left_out()
    model, seed = kept.load(), int(labels["seed"])
    test_error = _error(model, others, left)
    posterior = GaussianPosterior(model, before.load().state_dict(), settings.half_log_variance)
    path = minimise_bound(
        posterior,
        model,
        inputs,
        classes,
        settings.descent(method),
        seed=seed,
        log=run.log,
        checkpoint=run.checkpoint,
        identity=[kept.network, method],
    )
    converged = bool(np.isfinite([*path["surrogate"], *path["complexity"]]).all())
    layers = len(posterior.names)
    values = {
        **labels,
        "method": method,
        "layer": posterior.names,
        "quantile": QUANTILES,
        "classes": kept.samples.classes,
        "random_labels": kept.samples.random_labels,
        "samples": len(inputs),
        "held_out": len(left),
        "parameters": posterior.mean.numel(),
        "delta": settings.delta,
        "draws_delta": settings.draws_delta,
        "test_error": test_error,
        "diverged": not converged,
        **{f"path_{name}": array for name, array in path.items()},
        "path_surrogate": [np.nan, *path["surrogate"]],
        **dict.fromkeys(TERMS, np.nan),
        "variance": np.full((layers, PARTS, len(QUANTILES)), np.nan),
        "rank_correlation": np.full(layers, np.nan),
    }
    if converged:
        values |= certificate(posterior, inputs, classes, settings, seed)
        values["held_out_error"] = error_of_draws(
            posterior, others, left, draws=settings.draws, seed=seed + 1
        )
        model.load_state_dict(posterior.model_state())
        # So sure of the classes may it be that rounding is all that is left of the curvature.
        with suppress(cv.OperatorError, torch.linalg.LinAlgError):
            values |= deviations(posterior, model, inputs, classes)
    return {name: np.array(value) for name, value in values.items()}


def certificate(
    posterior: GaussianPosterior,
    inputs: Tensor,
    labels: Tensor,
    settings: BoundMeasurement,
    seed: int,
) -> dict[str, int | float]:
    """The bound with every term, at the best prior of the grid.

    Returns:
        ``index`` j, ``prior_variance`` λ, ``divergence`` KL(Q ‖ P), ``complexity`` B_RE;
        ``drawn_error``, the mean over draws, ``error``, what it is at most but for ``draws_delta``;
        and the ``bound``.
    """
    moments, count = posterior.moments(), len(labels)
    best = cf.best_prior(
        moments.squared_distance,
        moments.variance_sum,
        moments.log_variance_sum,
        moments.parameters,
        variance=_variance(posterior, settings),
        n=count,
        c=settings.largest_variance,
        b=settings.grid_precision,
        delta=settings.delta,
    )
    drawn = error_of_draws(posterior, inputs, labels, draws=settings.draws, seed=seed)
    error = float(cf.monte_carlo_error(drawn, settings.draws, settings.draws_delta))
    return {
        "index": best.index,
        "prior_variance": best.variance,
        "divergence": best.kl,
        "complexity": float(cf.complexity(best.kl, count, best.index, settings.delta)),
        "drawn_error": drawn,
        "error": error,
        "bound": float(cf.pac_bayes_bound(error, best.kl, count, best.index, settings.delta)),
    }


def _variance(posterior: GaussianPosterior, settings: BoundMeasurement) -> float:
    """The prior's variance, no larger than the grid's first: the last step may have gone beyond."""
    first = float(cf.prior_variance(1, settings.largest_variance, settings.grid_precision))
    return math.exp(min(2 * float(posterior.half_log_variance.detach()), math.log(first)))


def deviations(
    posterior: GaussianPosterior, model: nn.Module, inputs: Tensor, labels: Tensor
) -> Arrays:
    """The relation of a posterior's variances to the curvature in their directions.

    The curvature in the direction ``u_i v_jᵀ`` is that of the Kronecker product at the posterior's
    mean, ``(u_iᵀ E[M] u_i) (v_jᵀ E[xxᵀ] v_j)``; in a basis of the whole layer that of its Hessian.

    Returns:
        For L layers: ``variance (L, PARTS, 3)``, quantiles of s among directions by descending
        curvature, in parts of equal size; ``rank_correlation (L,)``, Spearman's of s and curvature.
    """
    layers = layer_factors(model, inputs, labels)
    rows, correlations = [], []
    for name, layer in layers.items():
        variances = posterior.deviations(name).square().flatten().cpu().numpy()
        curvature = curvature_in(posterior.bases[name], layer)[0].flatten().cpu().numpy()
        order = np.argsort(-curvature, kind="stable")
        parts = np.array_split(variances[order], PARTS)
        rows.append([np.quantile(part, QUANTILES) if len(part) else np.full(3, np.nan)
                     for part in parts])  # fmt: skip
        with warnings.catch_warnings():
            # Of a curvature that is zero, behind units that are all silent, there is none: NaN.
            warnings.simplefilter("ignore", scipy.stats.ConstantInputWarning)
            correlations.append(scipy.stats.spearmanr(variances, curvature).statistic)
    return {"variance": np.array(rows), "rank_correlation": np.array(correlations)}


@torch.no_grad()
def _error(model: nn.Module, inputs: Tensor, labels: Tensor) -> float:
    wrong = sum(
        int((model(x).argmax(dim=1) != y).sum())
        for x, y in zip(inputs.split(BATCH), labels.split(BATCH), strict=True)
    )
    return wrong / len(labels)


def _items(config: Config, networks: xr.Dataset) -> list[Item]:
    settings, last = BoundMeasurement(**shared(BoundMeasurement, config)), int(networks["kept"][-1])
    names, seeds = surviving(networks, "network")
    return [
        {
            "kept": kept_classifier(networks, network, seed, last),
            "before": kept_classifier(networks, network, seed, 0),
            "method": method,
            "labels": dict(zip(LABELS, (network, seed, last), strict=True)),
            "settings": settings,
        }
        for network in names
        for method in config.methods
        for seed in seeds
    ]


EACH = "network method seed"
PATH = f"{EACH} path_epoch"
VARIABLES: Variables = {
    "network": Variable("network", "the architecture"),
    "method": Variable("method", "how the posterior is found"),
    "seed": Variable("seed", "seed of the network's training"),
    "layer": Variable("layer", "the layer, of which some networks have fewer"),
    "quantile": Variable("quantile", "which quantile"),
    "path_epoch": Variable("path_epoch", "epochs of the posterior's training"),
    "epoch": Variable("", "epochs of the network's training"),
    "classes": Variable("", "number of classes"),
    "random_labels": Variable("", "whether the labels are drawn at random"),
    "samples": Variable("", "images n that a network is trained on"),
    "held_out": Variable("", "images that are held out"),
    "delta": Variable("", "probability over samples with which a bound may fail"),
    "draws_delta": Variable("", "probability over draws with which a bound may fail"),
    "parameters": Variable("network", "number of weights"),
    "test_error": Variable("network seed", "the network's own error on held-out images"),
    "diverged": Variable(EACH, "whether the posterior's training diverged"),
    "index": Variable(EACH, "index j of the prior's variance"),
    "prior_variance": Variable(EACH, "variance λ of the prior"),
    "divergence": Variable(EACH, "KL(Q ‖ P)", "nats"),
    "complexity": Variable(EACH, "B_RE"),
    "drawn_error": Variable(EACH, "mean error of drawn networks"),
    "error": Variable(EACH, "what the error is at most but for draws_delta"),
    "bound": Variable(EACH, "bound on the error"),
    "held_out_error": Variable(EACH, "error of drawn networks on held-out images"),
    "variance": Variable(f"{EACH} layer part quantile", "s by descending curvature, in parts"),
    "rank_correlation": Variable(f"{EACH} layer", "Spearman's correlation of s and curvature"),
    "path_index": Variable(PATH, "j through the posterior's training"),
    "path_prior_variance": Variable(PATH, "λ through the posterior's training"),
    "path_divergence": Variable(PATH, "KL(Q ‖ P) through the posterior's training", "nats"),
    "path_complexity": Variable(PATH, "B_RE through the posterior's training"),
    "path_surrogate": Variable(PATH, "surrogate loss of the epoch that ends here"),
}


def _gather(config: Config, parts: Sequence[Arrays]) -> xr.Dataset:
    """The arrays of all networks, with how many posteriors diverged."""
    # Layers are called alike in all networks: those of the deepest are all that there are.
    deepest = max((part["layer"] for part in parts), key=len)
    parts = [{**part, "layer": deepest} for part in parts]
    data = assembled(parts, VARIABLES, ("network", "method", "seed"))
    return left_out(data, int(data["diverged"].sum()))


def _cost(item: Item) -> float:
    """Samples times parameters, with what a step takes whatever its size."""
    size = sum(value.numel() for value in item["kept"].load().parameters())
    per_step = size * (1 + METHODS[item["method"]].renewed * 0.3) + 3e5
    steps = item["settings"].epochs * item["kept"].samples.count / item["settings"].batch_size
    return float(steps * per_step)


def _probe(item: Item) -> Item:
    """A twentieth of the epochs, and few draws."""
    settings = item["settings"]
    few = max(settings.epochs // 20, 1)
    return {**item, "settings": replace(settings, epochs=few, draws=1000)}


pac_bayes = FanOut(
    items=_items, compute=measure, gather=_gather, cost=_cost, probe=_probe, trains=True
)

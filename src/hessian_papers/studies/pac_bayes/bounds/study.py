"""PAC-Bayes bounds of trained networks, with posteriors in the eigenbases of their layers.

wu2022dissecting, section 6 and appendix H: the prior is around a network's weights before its
training, the posterior's mean starts at those after it. A method says in which bases the
posterior's covariance is diagonal, when these are found, and how the posterior is.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy
import torch
import xarray as xr
from torch import Tensor, nn

from hessian_papers.constraints import Checked, Count, Different, OneOf, Positive
from hessian_papers.labelled import Variable, Variables, assembled, left_out
from hessian_papers.networks.base import shared
from hessian_papers.networks.classifiers import KeptClassifier, kept_classifier
from hessian_papers.networks.tools.divergence import surviving
from hessian_papers.studies.layerwise.ensembles import LABELS, ClassifierStudyConfig
from hessian_papers.work import FanOut, Item, TrainingRun
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.pac_bayes import (
    BATCH,
    OBJECTIVES,
    BoundDescent,
    BoundSettings,
    Certificate,
    DivergedError,
    GaussianPosterior,
    bound,
    certify,
    curvature_in,
    error_of_draws,
    layer_factors,
    minimise_bound,
)
from hessian_spectra.validation import require

# Of how many parts of a layer's directions, by their curvature, deviations are kept. They grow
# geometrically: the directions that the samples decide on are the first few of many.
PARTS = 50
# Which of the deviations in a part: a band and the middle.
QUANTILES = (0.1, 0.5, 0.9)
# What a certificate says, at the best prior of the grid: only a posterior whose training converged
# has it. The errors are the mean over draws, and what it is at most but for ``draws_delta``.
TERMS: Mapping[str, Callable[[Certificate], float]] = {
    # A number that a network without this method lacks, as the other terms.
    "index": lambda certificate: float(certificate.prior.index),
    "prior_variance": lambda certificate: certificate.prior.variance,
    "divergence": lambda certificate: certificate.prior.kl,
    "complexity": lambda certificate: certificate.complexity,
    "drawn_error": lambda certificate: certificate.mean_error,
    "error": lambda certificate: certificate.error,
    "bound": lambda certificate: certificate.bound,
}


class Method(NamedTuple):
    """A choice of bases, whether Algorithm 1 finds them again, or whether it is not followed."""

    basis: str
    renewed: bool = False
    grows: bool = False
    local: bool = False


METHODS = {
    "base": Method("standard"),
    "approximate": Method("kronecker"),
    "iterative": Method("kronecker", renewed=True),
    "iterative, decaying": Method("kronecker", renewed=True, grows=True),
    "iterative, printed output": Method("printed output", renewed=True),
    "iterative, nearest": Method("nearest", renewed=True),
    "iterative, exact": Method("exact", renewed=True),
    "local": Method("kronecker", local=True),
    "local, standard": Method("standard", local=True),
}


@dataclass(frozen=True, kw_only=True)
class BoundMeasurement(BoundSettings):
    """The settings that the bound of a network depends on.

    Args:
        half_log_variance: ``½ ln λ`` of the prior at the start; paper: -3.
        draws_delta: the probability that draws are such that the bound fails; paper: 0.01.
        draws: of networks, for the posterior's error; paper: 50000.
        refresh: epochs after which an iterative method finds its basis anew; paper: 10.
        local_epochs: of a posterior that is found by local reparametrisation.
        local_batch_size: samples of an update there.
        local_learning_rate: the part of a natural gradient that it follows at the start.
        local_objective: what it minimises.
    """

    half_log_variance: float
    draws_delta: float
    draws: Count
    refresh: Count
    local_epochs: Count
    local_batch_size: Count
    local_learning_rate: Positive
    local_objective: Annotated[str, OneOf((*OBJECTIVES,))]

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
        paper_seeds: networks of each architecture that the paper's methods take; they are slow.
    """

    methods: Annotated[list[str], Different(tuple(METHODS))]
    paper_seeds: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        # The library's settings end the chain before it.
        Checked.__post_init__(self)
        both = self.delta + self.draws_delta
        fits = 0 < self.draws_delta < 1 and both < 1
        require(fits, "draws_delta", "a probability that leaves room for delta", self.draws_delta)
        self.descent(self.methods[0])

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
    certificate, path = _found(kept, before, method, settings, seed, run)
    layers = GaussianPosterior(model, model.state_dict()).names
    values = {
        **labels,
        "method": method,
        "layer": layers,
        "quantile": QUANTILES,
        "classes": kept.samples.classes,
        "random_labels": kept.samples.random_labels,
        "samples": len(inputs),
        "held_out": len(left),
        "parameters": sum(value.numel() for value in model.parameters()),
        "delta": settings.delta,
        "draws_delta": settings.draws_delta,
        "test_error": _error(model, others, left),
        "diverged": certificate is None,
        **path,
        **dict.fromkeys([*TERMS, "held_out_error"], np.nan),
        "variance": np.full((len(layers), PARTS, len(QUANTILES)), np.nan),
        "rank": np.full((len(layers), PARTS), np.nan),
        "dip": np.full(len(layers), np.nan),
        "rank_correlation": np.full(len(layers), np.nan),
    }
    if certificate is not None:
        posterior = certificate.posterior
        values |= {name: of(certificate) for name, of in TERMS.items()}
        values["held_out_error"] = error_of_draws(
            posterior, others, left, draws=settings.draws, seed=seed + 1
        )
        model.load_state_dict(posterior.model_state())
        # So sure of the classes may it be that rounding is all that is left of the curvature.
        with suppress(cv.OperatorError, torch.linalg.LinAlgError):
            values |= deviations(posterior, model, inputs, classes, certificate.prior.variance)
    return {name: np.array(value) for name, value in values.items()}


def _found(
    kept: KeptClassifier,
    before: KeptClassifier,
    method: str,
    settings: BoundMeasurement,
    seed: int,
    run: TrainingRun,
) -> tuple[Certificate | None, Arrays]:
    """The certificate of a posterior, none if it diverged; and the path of Algorithm 1."""
    chosen, samples, model = METHODS[method], kept.samples.trained(), kept.load()
    how: Any = {"seed": seed, "log": run.log, "checkpoint": run.checkpoint}
    chances: Any = {
        "prior_saw": "nothing",
        "largest_variance": settings.largest_variance,
        "grid_precision": settings.grid_precision,
        "draws": settings.draws,
        "delta": settings.delta,
        "delta_monte_carlo": settings.draws_delta,
    }
    if chosen.local:
        local: Any = {
            "objective": settings.local_objective,
            "epochs": settings.local_epochs,
            "batch_size": settings.local_batch_size,
            "learning_rate": settings.local_learning_rate,
        }
        with suppress(DivergedError):
            prior, basis = before.load(), chosen.basis
            return bound(model, samples, prior=prior, basis=basis, **local, **chances, **how), {}
        return None, {}
    posterior = GaussianPosterior(model, before.load().state_dict(), settings.half_log_variance)
    descent, identity = settings.descent(method), [kept.network, method]
    path = minimise_bound(posterior, model, *samples, descent, identity=identity, **how)
    arrays = {f"path_{name}": array for name, array in path.items()}
    arrays["path_surrogate"] = np.array([np.nan, *path["surrogate"]])
    converged = np.isfinite([*path["surrogate"], *path["complexity"]]).all()
    return certify(posterior, samples, seed=seed, **chances) if converged else None, arrays


def deviations(
    posterior: GaussianPosterior,
    model: nn.Module,
    inputs: Tensor,
    labels: Tensor,
    prior_variance: float,
) -> Arrays:
    """The relation of a posterior's variances to the curvature in their directions.

    The curvature in the direction ``u_i v_jᵀ`` is that of the Kronecker product at the posterior's
    mean, ``(u_iᵀ E[M] u_i) (v_jᵀ E[xxᵀ] v_j)``; in a basis of the whole layer that of its Hessian.

    Returns:
        For L layers: ``variance (L, PARTS, 3)``, quantiles of s among directions by descending
        curvature, in parts that end at the ``rank (L, PARTS)``; ``dip (L,)``, how many s are below
        half of the prior's variance, so that the samples outweigh the prior in these directions;
        ``rank_correlation (L,)``, Spearman's of s and curvature.
    """
    layers = layer_factors(model, inputs, labels)
    rows: dict[str, list[Any]] = {name: [] for name in ("variance", "rank", "dip")}
    correlations = []
    for name, layer in layers.items():
        variances = posterior.deviations(name).square().flatten().cpu().numpy()
        curvature = curvature_in(posterior.bases[name], layer)[0].flatten().cpu().numpy()
        ends = _ends(len(variances))
        parts = np.split(variances[np.argsort(-curvature, kind="stable")], ends[:-1])
        rows["variance"].append([np.quantile(part, QUANTILES) if len(part) else np.full(3, np.nan)
                                 for part in parts])  # fmt: skip
        rows["rank"].append(ends)
        rows["dip"].append((variances < prior_variance / 2).sum())
        with warnings.catch_warnings():
            # Of a curvature that is zero, behind units that are all silent, there is none: NaN.
            warnings.simplefilter("ignore", scipy.stats.ConstantInputWarning)
            correlations.append(scipy.stats.spearmanr(variances, curvature).statistic)
    arrays = {name: np.array(values, dtype=float) for name, values in rows.items()}
    return {**arrays, "rank_correlation": np.array(correlations)}


def _ends(count: int) -> np.ndarray:
    """The ranks at which parts end, growing geometrically up to all directions.

    Example:
        >>> _ends(10**6)[[0, 1, 2, 24, 49]].tolist()
        [1, 2, 3, 869, 1000000]
    """
    ends = np.geomspace(1, count, PARTS).round().astype(int)
    # The first parts have one direction each, as long as there are enough of them.
    return np.minimum(np.maximum(ends, np.arange(1, PARTS + 1)), count)


@torch.no_grad()
def _error(model: nn.Module, inputs: Tensor, labels: Tensor) -> float:
    scores = torch.cat([model(x) for x in inputs.split(BATCH)])
    return float((scores.argmax(dim=1) != labels).double().mean())


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
        for seed in (seeds if METHODS[method].local else seeds[: config.paper_seeds])
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
    "rank": Variable(f"{EACH} layer part", "rank by descending curvature at which a part ends"),
    "dip": Variable(f"{EACH} layer", "directions whose s is below half of the prior's variance"),
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
    method, settings, count = METHODS[item["method"]], item["settings"], item["kept"].samples.count
    per_step = size * (1 + method.renewed * 0.3) + 3e5
    if method.local:
        # Each sample has a network of its own, but the gradients are those of a few matrices.
        return float(settings.local_epochs * count / settings.local_batch_size * 3 * per_step)
    return float(settings.epochs * count / settings.batch_size * per_step)


def _probe(item: Item) -> Item:
    """A twentieth of the epochs, and few draws."""
    settings = item["settings"]
    few = {name: max(getattr(settings, name) // 20, 1) for name in ("epochs", "local_epochs")}
    return {**item, "settings": replace(settings, **few, draws=1000)}


pac_bayes = FanOut(
    items=_items,
    compute=measure,
    gather=_gather,
    cost=_cost,
    probe=_probe,
    trains=True,
    words=lambda given, item: (
        item["labels"]["network"],
        item["method"],
        f"seed {item['labels']['seed']}",
    ),
)

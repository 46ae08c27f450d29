"""Linear networks on images at several epochs of their training (anon2026data, Figures 3 and 4).

Of deep ones the trace of the Hessian, by equation (7) and by random probes; of two-layer ones its
largest eigenvalues, by equation (15) and numerically. That equation takes sums of the squared
singular values of both layers. In print their indices end where the singular values do; the
eigenvalues go on with zeros in place of those that are missing. A narrow network, which has fewer
hidden units than outputs, shows the difference.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from hessian_papers.constraints import AtLeast, Between, Count, OneOf
from hessian_papers.labelled import Variable, Variables, assembled, gathering
from hessian_papers.networks.tools.images import (
    INITIALISATIONS,
    image_sets,
    network_item,
    split,
    training,
)
from hessian_papers.studies.images.base import ImageStudyConfig, recorded_epochs
from hessian_papers.studies.images.curvature import (
    at_epoch,
    parameters,
    problem,
    top_eigenvalues,
    weights_at,
)
from hessian_papers.studies.images.through_training.derived import FORMS, NETWORK
from hessian_papers.work import FanOut, Item
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require

AXES = (*NETWORK, "epoch")


@dataclass(frozen=True, kw_only=True)
class Config(ImageStudyConfig):
    """Settings of networks that are looked at through their training.

    Args:
        initialisation: ``balanced`` or ``kaiming``.
        recorded: number of epochs, evenly spaced in the logarithm, at which they are looked at,
            beside the start.
        narrow: hidden units of a second network, fewer than there are outputs; 0 for none.
        probes: random vectors of Hutchinson's estimate of the trace; 0 for none.
        top: how many eigenvalues of two-layer networks; 0 for none.
        tolerance: residual of the numerical ones, relative to the largest.
    """

    initialisation: Annotated[str, OneOf(INITIALISATIONS)]
    recorded: Count
    narrow: Annotated[int, AtLeast(0)]
    probes: Annotated[int, AtLeast(0)]
    top: Annotated[int, AtLeast(0)]
    # What the claims allow the solver, and what rounding lets it reach.
    tolerance: Annotated[float, Between(1e-12, 1e-6, "a number from 1e-12 to 1e-06")]

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.probes != 1, "probes", "0, or at least 2 for a standard error", self.probes)
        fits = self.top == 0 or self.depth == 2
        require(fits, "depth", "2: equation (15) is about two layers", self.depth)
        require(self.top + self.probes > 0, "top", "at least 1, as there are no probes", self.top)


_EACH, _NETWORK = " ".join(AXES), " ".join(NETWORK)
VARIABLES: Variables = {
    "source": Variable("source", "image set that the networks are trained on"),
    "width": Variable("width", "units of each hidden layer"),
    "replicate": Variable("replicate", "which of the networks, each on a subset of its own"),
    "epoch": Variable("epoch", "recorded epoch of training"),
    "loss": Variable(_EACH, "loss"),
    "rate": Variable(_EACH, "learning rate"),
    "floor": Variable(_NETWORK, "loss of least squares"),
    "features": Variable(_NETWORK, "independent features of the inputs"),
    "samples": Variable(_NETWORK, "images of a subset"),
    "diverged_at": Variable(_NETWORK, "epoch at which training diverged, -1 for never"),
    "trace": Variable(_EACH, "trace of the Hessian by equation (7), of two layers (11)"),
    "estimate": Variable(_EACH, "trace of the Hessian by Hutchinson's method"),
    "standard_error": Variable(_EACH, "of the estimate"),
    "form": Variable("form", "indices of equation (15), as printed or corrected"),
    "matrix": Variable("matrix", "Hessian or Gauss-Newton matrix"),
    "layer": Variable("layer", "layer, from the inputs on"),
    "spectral_norm": Variable(f"{_EACH} layer", "spectral norm of the layer"),
    "exact": Variable(f"{_EACH} form rank", "largest eigenvalues by equation (15), ascending"),
    "sum": Variable(f"{_EACH} form", "sum of all eigenvalues by equation (15)"),
    "count": Variable(f"{_EACH} form", "number of positive eigenvalues by equation (15)"),
    "numerical": Variable(f"{_EACH} matrix rank", "largest eigenvalues of the matrix, ascending"),
    "residual": Variable(f"{_EACH} matrix rank", "of the numerical one, over the largest"),
}


def training_items(config: Config, data: xr.Dataset) -> Iterator[Item]:
    """A network of each width and replicate on a random subset of each image set."""
    for source, images in image_sets(data).items():
        for width in filter(None, (config.width, config.narrow)):
            for replicate in range(config.replicates):
                draws = generator(config.seed, f"subset {source} {replicate}")
                yield network_item(
                    config,
                    images,
                    source,
                    torch.randperm(images.sizes["image"], generator=draws)[: config.samples],
                    case=f"whitened-{config.initialisation}-linear",
                    width=width,
                    replicate=replicate,
                    record=recorded_epochs(config.epochs, config.recorded),
                )


train = training(training_items)


def _epochs(networks: xr.Dataset) -> Iterator[tuple[Arrays, int, Arrays]]:
    """Each network at each of its recorded epochs, with what tells it from the others."""
    for network in split(networks):
        width = np.array(network["weights 1"].shape[1])
        labels = {name: network[name] for name in ("source", "replicate")} | {"width": width}
        for at, epoch in enumerate(network["epoch"]):
            yield network, at, labels | {"epoch": epoch}


def closed_form(config: Config, networks: xr.Dataset) -> xr.Dataset:
    """Equations (7) and (15), the latter with the printed and with the corrected indices."""
    parts = []
    for network, at, labels in _epochs(networks):
        facts = {name: network[name] for name in ("floor", "diverged_at")}
        facts |= {"features": network["rank"], "samples": network["counts"].sum()}
        facts |= {name: network[name][at] for name in ("loss", "rate")}
        parts.append(labels | facts | _theory(config, weights_at(network, at)))
    return assembled(parts, VARIABLES, AXES)


def _theory(config: Config, weights: Sequence[Tensor]) -> Arrays:
    # White inputs, whose moments are a multiple of the identity.
    moments = config.input_scale**2 * torch.eye(weights[0].shape[1], dtype=torch.float64)
    trace = {"trace": cf.deep_linear_trace(weights, moments).numpy()}
    return trace | (_pair_sums(config, *weights) if config.top else {})


def _pair_sums(config: Config, first: Tensor, last: Tensor) -> Arrays:
    of_first, of_last = torch.linalg.svdvals(first), torch.linalg.svdvals(last)
    sizes, scale = (first.shape[1], last.shape[0]), config.input_scale
    pairs = [
        cf.pair_eigenvalues(of_first, of_last, *sizes, input_scale=scale, index_set=form)
        for form in FORMS
    ]
    spectra = [pair.eigenvalues.numpy() for pair in pairs]
    # In print a narrow network has fewer of them than are asked for.
    top = min(config.top, first.numel() + last.numel())
    return {
        "form": np.array(FORMS),
        "layer": np.array([1, 2]),
        "spectral_norm": np.array([float(of_first[0]), float(of_last[0])]),
        "exact": np.stack([np.pad(each, (top, 0))[-top:] for each in spectra]),
        "sum": np.array([each.sum() for each in spectra]),
        "count": np.array([(each > 0).sum() for each in spectra]),
    }


def _numerics_items(config: Config, networks: xr.Dataset) -> list[Item]:
    settings = {name: getattr(config, name) for name in ("seed", "probes", "top", "tolerance")}
    return [
        {"labels": labels, "network": at_epoch(network, at)} | settings
        for network, at, labels in _epochs(networks)
    ]


def measure(
    labels: Arrays, network: Arrays, seed: int, probes: int, top: int, tolerance: float
) -> Arrays:
    """The numerical curvature of a linear network at one epoch.

    Args:
        labels: which network it is, at which epoch.
        network: what :func:`at_epoch` gives.
        seed: of the probes.
        probes: random vectors of Hutchinson's estimate of the Hessian's trace; 0 for none.
        top: how many eigenvalues, all if there are fewer; 0 for none.
        tolerance: their residual, relative to the largest.

    Returns:
        The labels; ``estimate`` and ``standard_error``; ``numerical`` and ``residual`` (2, k) of
        each ``matrix``, ascending.
    """
    arrays = dict(labels)
    if probes:
        operator = cv.hessian(problem(network, "linear"), backend="curvlinops")
        # Other probes at each epoch, so that the errors are independent.
        own = seed + int(labels["epoch"])
        trace = cv.trace(operator, "hutchinson", blocks=None, probes=probes, seed=own)
        arrays["estimate"] = np.array(trace.value)
        arrays["standard_error"] = np.array(trace.standard_error)
    if top:
        most = min(top, parameters(network))
        values, residuals = top_eigenvalues(network, "linear", most, tolerance)
        arrays |= {"matrix": np.array(["hessian", "ggn"])}
        arrays |= {"numerical": values, "residual": residuals}
    return arrays


numerics = FanOut(
    items=_numerics_items,
    compute=measure,
    gather=gathering(VARIABLES, *AXES),
    # The time of a product is roughly proportional to the parameters, beside its calls.
    cost=lambda item: 1e5 + float(parameters(item["network"])),
)

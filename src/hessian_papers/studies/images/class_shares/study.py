"""The sharpness of a solution and the share of the largest class (anon2026data, figures 1c and 2).

Subsets of images in which one class has a given share; a network is trained on each, and the
largest eigenvalue of its Hessian is compared with what the labels alone predict. Subsets of several
sizes show how far the sharpness depends on the number of samples.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from hessian_papers.labelled import Variable, Variables, assembled
from hessian_papers.networks.tools.images import split, training
from hessian_papers.studies.images.class_subsets import ClassSubsetsConfig, training_items
from hessian_papers.studies.images.curvature import at_epoch, measure_sharpness, weights_at
from hessian_papers.work import FanOut, Item
from hessian_spectra import closed_form as cf
from hessian_spectra.files import Arrays


@dataclass(frozen=True, kw_only=True)
class Config(ClassSubsetsConfig):
    """Settings of the study of class shares: those of its networks."""


VARIABLES: Variables = {
    "network": Variable("network", "number of the network, in the order of their training"),
    "source": Variable("network", "image set that the networks are trained on"),
    "case": Variable("network", "what is done to the inputs, initialisation and activation"),
    "samples": Variable("network", "images of a subset, the study's own number first"),
    "share": Variable("network", "share of class 0"),
    "replicate": Variable("network", "which of the networks, each on a subset of its own"),
    "time": Variable("time", "start or end of training"),
    "classes": Variable("network", "number of classes"),
    "edge": Variable("", "2/η at the start"),
    "features": Variable("network", "independent features of the inputs"),
    "labels": Variable("network", "sharpness from the labels alone, eq. (14)"),
    "fit": Variable("network", "the same from what the inputs fit, at the least-squares point"),
    "bound": Variable("network", "bound on the sharpness at the trained weights, eq. (6)"),
    "second_moment": Variable("network", "largest second moment μ of the inputs"),
    "first_layer": Variable(
        "network", "μ σ_max²(W_L ... W_2), the first layer's part of the sharpness"
    ),
    "defect": Variable("network time", "defect of balancedness"),
    "loss": Variable("network", "loss after training"),
    "floor": Variable("network", "smallest loss that linear networks could reach"),
    "halvings": Variable("network", "how often the learning rate was halved"),
    "finished": Variable("network", "last epoch"),
    "diverged_at": Variable("network", "epoch at which training diverged, -1 for never"),
    "sharpness": Variable("network", "largest eigenvalue of the Hessian"),
    "ggn": Variable("network", "largest eigenvalue of the Gauss-Newton matrix"),
    "residual": Variable("network", "of the Hessian's, relative"),
    "ggn_residual": Variable("network", "of the Gauss-Newton matrix's, relative"),
}

train = training(training_items)


def closed_form(config: Config, networks: xr.Dataset) -> xr.Dataset:
    """What the theory says of each trained network, NaN where it says nothing.

    That is of nonlinear networks or raw inputs what is said of the least-squares point and the
    bound, of nonlinear ones what is said of the first layer.
    """
    return _numbered(
        [_facts(config, network) | _theory(config, network) for network in split(networks)]
    )


def _numbered(parts: Sequence[Arrays]) -> xr.Dataset:
    """The data set of all networks, of the arrays of each."""
    rows = [{"network": np.array(number)} | part for number, part in enumerate(parts)]
    return assembled(rows, VARIABLES, ["network"])


def _facts(config: Config, network: Arrays) -> Arrays:
    """What is known of a network without theory."""
    defects = [cf.balancedness_defect(weights_at(network, at)) for at in (0, -1)]
    names = ("source", "case", "replicate", "halvings", "finished", "diverged_at")
    counts = network["counts"]
    return {
        **{name: network[name] for name in names},
        "samples": np.array(counts.sum()),
        "share": np.array(counts[0] / counts.sum()),
        "features": network["rank"],
        "classes": np.array(len(counts)),
        "edge": np.array(2 / config.learning_rate),
        "time": np.array(["start", "end"]),
        "defect": np.array(defects),
        "loss": network["loss"][-1],
        "floor": network.get("floor", np.array(np.nan)),
    }


def _theory(config: Config, network: Arrays) -> Arrays:
    counts, depth, scale = network["counts"], config.depth, config.input_scale
    values = dict.fromkeys(("fit", "bound", "second_moment", "first_layer"), np.nan)
    values["labels"] = float(cf.sharpness_from_labels(counts.max() / counts.sum(), depth, scale))
    weights = weights_at(network, -1)
    if "root" in network:
        moment = float(network["root"].max()) ** 2
        after = functools.reduce(torch.matmul, reversed(weights[1:]))
        values["second_moment"] = moment
        values["first_layer"] = moment * float(torch.linalg.matrix_norm(after, 2)) ** 2
    if str(network["case"]).startswith("whitened") and "root" in network:
        norm = float(np.linalg.norm(network["target"], 2)) / scale
        values["fit"] = float(cf.least_squares_sharpness(norm, depth, scale))
        values["bound"] = float(cf.deep_linear_bound(weights, scale))
    return {name: np.array(value) for name, value in values.items()}


def _numerics_items(config: Config, networks: xr.Dataset) -> list[Item]:
    return [
        {
            "network": at_epoch(network, -1),
            "activation": str(network["case"]).rsplit("-", maxsplit=1)[1],
            "diverged": int(network["diverged_at"]) >= 0,
        }
        for network in split(networks)
    ]


def _numerics_cost(item: Item) -> float:
    """Roughly the operations of a product with the Hessian."""
    network = item["network"]
    signals = 10 if item["activation"] == "linear" else len(network["inputs"])
    parameters = sum(array.size for name, array in network.items() if name.startswith("weights "))
    return 1e6 + float(signals * parameters)


numerics = FanOut(
    items=_numerics_items,
    compute=measure_sharpness,
    gather=lambda config, parts: _numbered(parts),
    cost=_numerics_cost,
)

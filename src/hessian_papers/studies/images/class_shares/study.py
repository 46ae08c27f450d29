"""The sharpness of a solution and the share of the largest class (anon2026data, figures 1c and 2).

Subsets of images in which one class has a given share; a network is trained on each, and the
largest eigenvalue of its Hessian is compared with what the labels alone predict. Subsets of several
sizes show how far the sharpness depends on the number of samples.
"""

import functools
from dataclasses import dataclass

import numpy as np
import torch

from hessian_papers.networks.tools.images import split, training
from hessian_papers.results import stacked
from hessian_papers.studies.images.class_subsets import ClassSubsetsConfig, training_items
from hessian_papers.studies.images.curvature import at_epoch, measure_sharpness, weights_at
from hessian_papers.work import FanOut, Item
from hessian_spectra import closed_form as cf
from hessian_spectra.files import Arrays


@dataclass(frozen=True, kw_only=True)
class Config(ClassSubsetsConfig):
    """Settings of the study of class shares: those of its networks."""


train = training(training_items)


def closed_form(config: Config, networks: Arrays) -> Arrays:
    """What the theory says of each trained network.

    Returns:
        For each of N networks: ``source``, ``case``, ``samples``, ``classes``, ``share`` (of class
        0), ``replicate``, ``rank`` of the inputs; ``labels``, the sharpness predicted from the
        labels alone, eq. (14); ``fit``, the same from the part that the inputs fit, at the
        least-squares point; ``bound``, eq. (6) at the trained weights; ``second_moment``, the
        largest one μ of a linear network's inputs, and ``first_layer``, μ σ_max²(W_L ... W_2) at
        the trained weights, the largest eigenvalue of the first layer's block of the Gauss-Newton
        matrix; ``defect`` (N, 2) of balancedness before and after training; ``loss`` and ``floor``,
        the smallest loss that the linear networks could reach; ``edge``, 2/η at the start;
        ``halvings``, ``finished``, ``diverged_at``. NaN where the theory says nothing: ``fit`` and
        ``bound`` of nonlinear networks or raw inputs, the two of the first layer of nonlinear ones.
    """
    rows = [_theory(config, network) for network in split(networks)]
    return stacked(rows)


def _theory(config: Config, network: Arrays) -> dict[str, object]:
    counts = network["counts"]
    row: dict[str, object] = {name: network[name] for name in ("source", "case", "replicate")}
    row |= {name: network[name] for name in ("rank", "halvings", "finished", "diverged_at")}
    row |= {"samples": counts.sum(), "share": counts[0] / counts.sum(), "classes": len(counts)}
    scale = config.input_scale
    row["labels"] = float(
        cf.sharpness_from_labels(counts.max() / counts.sum(), config.depth, scale)
    )
    row["edge"] = 2 / config.learning_rate
    row["fit"] = row["bound"] = row["second_moment"] = row["first_layer"] = np.nan
    weights = weights_at(network, -1)
    if "root" in network:
        moment = float(network["root"].max()) ** 2
        after = functools.reduce(torch.matmul, reversed(weights[1:]))
        row["second_moment"] = moment
        row["first_layer"] = moment * float(torch.linalg.matrix_norm(after, 2)) ** 2
    if str(network["case"]).startswith("whitened") and "root" in network:
        norm = float(np.linalg.norm(network["target"], 2)) / scale
        row["fit"] = float(cf.least_squares_sharpness(norm, config.depth, scale))
        row["bound"] = float(cf.deep_linear_bound(weights, scale))
    row["defect"] = [cf.balancedness_defect(weights_at(network, at)) for at in (0, -1)]
    row["loss"] = network["loss"][-1]
    row["floor"] = network.get("floor", np.array(np.nan))
    return row


def _numerics_items(config: Config, networks: Arrays) -> list[Item]:
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
    gather=lambda config, parts: stacked(parts),
    cost=_numerics_cost,
)

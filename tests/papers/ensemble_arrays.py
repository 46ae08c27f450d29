"""An ensemble in the form of ``results/networks/<name>/``, from random matrices.

Nothing is trained: "trained" networks have other draws. On whitened inputs the sharpness at zero
loss is the sum over layers of (σ_max(left product) σ_max(right product))², which stands here for
the measured one, up to a factor that is noise.
"""

import itertools
from functools import reduce
from pathlib import Path

import numpy as np
import xarray as xr
import yaml

from hessian_papers.labelled import data_set
from hessian_papers.networks.multilayer import VARIABLES
from hessian_papers.training.ensemble import NOT_TRAINED

CONF = Path(__file__).resolve().parents[2] / "conf" / "studies"

NORMS = ("spectral", "frobenius", "nuclear")
# Settings of networks that train for a moment.
SETTINGS = {
    "seed": 3,
    "activation": "linear",
    "parametrisations": ["sp", "ntp"],
    "depths": [2],
    "sizes": [2, 6],
    "width": 6,
    "teachers": 2,
    "drawn_teachers": 0,
    "networks": 6,
    "noise_variance": 0.01,
    "order": "own",
    "learning_rates": {"sp": 0.05, "ntp": 0.3},
    "large_size": 100,
    "large_learning_rates": {"sp": 0.05, "ntp": 0.3},
    "smallest_learning_rate": 1e-2,
    "factor": 0.1,
    "patience": 2,
    "threshold": 1e-2,
    "epochs": 40,
    "tolerance": 1e-5,
    "networks_per_item": 6,
}
# Standard deviation of an entry by the layer's output and input size.
ENTRIES = {
    "sp": lambda out, fan_in: fan_in**-0.5,
    "mup": lambda out, fan_in: (min(1.0, out / fan_in) / fan_in) ** 0.5,
    "ntp": lambda out, fan_in: 1.0,
}


def configurations(kind):
    """The configurations of all studies of a kind, which no scale changes, by their names."""
    studies = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(CONF.rglob("*.yaml"))}
    for fields in studies.values():
        for key in ("published", "lead"):
            fields.pop(key, None)
    return {name: fields for name, fields in studies.items() if fields["kind"] == kind}


def norms_of(matrices: np.ndarray) -> np.ndarray:
    """Spectral, Frobenius and nuclear norm of each of some matrices."""
    values = np.linalg.svd(matrices, compute_uv=False)
    return np.stack([values[..., 0], np.sqrt((values**2).sum(-1)), values.sum(-1)], axis=-1)


def product(matrices: list[np.ndarray]) -> np.ndarray:
    """W_k ⋯ W_1 of the matrices W_1, ..., W_k."""
    return reduce(lambda left, right: right @ left, matrices)


def measured(weights: list[np.ndarray], depth: int) -> dict[str, np.ndarray]:
    """The arrays of networks of the same sizes, their layers padded to ``depth``."""
    number, _, size = weights[0].shape
    ends = [weights[:b] + weights[b + 1 :] for b in range(len(weights))]
    around = [(weights[:b], weights[b + 1 :]) for b in range(len(weights))]
    spectral = [[norms_of(product(side))[:, 0] for side in sides if side] for sides in around]
    blocks = np.stack([np.prod(each, axis=0) ** 2 for each in spectral], axis=1)
    layers = {
        "norms": np.stack([norms_of(own) for own in weights], axis=1),
        "products": np.stack([norms_of(product(rest)) for rest in ends], axis=1),
        "sampled_terms": blocks,
    }
    missing = depth - len(weights)
    padded = {
        name: np.pad(each, [(0, 0), (0, missing), *[(0, 0)] * (each.ndim - 2)],
                     constant_values=np.nan)
        for name, each in layers.items()
    }  # fmt: skip
    alignments = np.full((number, 3), np.nan)
    if len(weights) == 2:
        end = product(weights)
        alignments = norms_of(end)
        alignments[:, 1] = abs(np.trace(end, axis1=1, axis2=2))
    return padded | {
        "alignments": alignments,
        "largest_block": blocks.max(axis=1),
        "ggn_sum": blocks.sum(axis=1),
        "gauss_newton": blocks.sum(axis=1),
        "trace": size * (layers["norms"][..., 1] ** 2).sum(axis=1),
    }


def ensemble(
    parametrisations=("sp", "ntp"),
    depths=(2,),
    sizes=(1, 3),
    networks=12,
    width=6,
    seed=0,
    noise=0.0,
    teachers=1,
) -> xr.Dataset:
    """Every combination of parametrisation, depth and size; the last network of each diverged."""
    draw = np.random.default_rng(seed)
    grid = len(parametrisations), len(depths), len(sizes)
    points: list[dict[str, np.ndarray]] = []
    for name, depth, size in itertools.product(parametrisations, depths, sizes):
        shape = [size, *[width] * (depth - 1), size]
        weights = [
            draw.normal(size=(2 * networks, out, fan_in)) * ENTRIES[name](out, fan_in)
            for fan_in, out in itertools.pairwise(shape)
        ]
        points.append(measured(weights, max(depths)))
    actual = {
        key: np.stack([point[key] for point in points]).reshape(
            *grid, 2, networks, *points[0][key].shape[1:]
        )
        for key in points[0]
    }
    actual["sharpness"] = actual["ggn_sum"] * np.exp(
        noise * draw.normal(size=actual["ggn_sum"].shape)
    )
    actual["residual"] = np.zeros_like(actual["sharpness"])
    actual["loss"] = np.full_like(actual["sharpness"], 0.01)
    for key in actual:
        actual[key][:, :, :, 1, -1] = np.nan
    status = np.zeros((*grid, networks), dtype=np.int8)
    status[..., -1], status[..., 0] = 2, 1
    labels = {
        "parametrisation": np.array(parametrisations),
        "depth": np.array(depths),
        "size": np.array(sizes),
        "layer": np.arange(1, max(depths) + 1),
        "teacher": np.repeat(np.arange(teachers), networks // teachers),
        "time": np.array(["initialisation", "trained"]),
        "norm": np.array(NORMS),
        "width": np.array(width),
        "activation": np.array("linear"),
        "epochs": np.full((*grid, networks), 7),
        "status": status,
    }
    return data_set(actual | labels, VARIABLES)


def drawn_alone(networks: xr.Dataset, teacher: int) -> xr.Dataset:
    """Networks of which those of one teacher are measured as they are drawn."""
    trained = networks["teacher"] != teacher
    left = {
        name: values.where(trained | (networks["time"] != "trained")).transpose(*values.dims)
        for name, values in networks.items()
        if {"time", "network"} <= {*values.dims}
    }
    left["status"] = networks["status"].where(trained, NOT_TRAINED).astype(np.int8)
    return networks.assign(left)


def replaced(networks: xr.Dataset, **arrays: object) -> xr.Dataset:
    """Networks with other values of some variables."""
    return networks.assign({name: networks[name].copy(data=arrays[name]) for name in arrays})

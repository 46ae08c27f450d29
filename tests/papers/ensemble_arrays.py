"""An ensemble in the form of ``results/networks/<name>/``, from random matrices.

Nothing is trained: "trained" networks have other draws. On whitened inputs the sharpness at zero
loss is the sum over layers of (σ_max(left product) σ_max(right product))², which stands here for
the measured one, up to a factor that is noise.
"""

import itertools
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


def norms_of(matrix: np.ndarray) -> list[float]:
    """Spectral, Frobenius and nuclear norm."""
    values = np.linalg.svd(matrix, compute_uv=False)
    return [values.max(), np.sqrt((values**2).sum()), values.sum()]


def product(matrices: list[np.ndarray], size: int) -> np.ndarray:
    """W_k ⋯ W_1 of the matrices W_1, ..., W_k; the identity if there are none."""
    actual = np.eye(size)
    for matrix in matrices:
        actual = matrix @ actual
    return actual


def network(weights: list[np.ndarray], depth: int) -> dict[str, np.ndarray]:
    """The arrays of one network, its layers padded to ``depth``."""
    size, width, layers = weights[0].shape[1], weights[0].shape[0], len(weights)
    padding = [[np.nan] * 3] * (depth - layers)
    rest = [weights[:b] + weights[b + 1 :] for b in range(layers)]
    blocks = []
    for b in range(layers):
        left = product(weights[b + 1 :], width if b + 1 < layers else size)
        right = product(weights[:b], size)
        blocks.append((norms_of(left)[0] * norms_of(right)[0]) ** 2)
    aligned = [np.nan] * 3
    if layers == 2:
        end = weights[1] @ weights[0]
        spectral, _, nuclear = norms_of(end)
        aligned = [spectral, abs(np.trace(end)), nuclear]
    return {
        "norms": np.array([norms_of(w) for w in weights] + padding),
        "products": np.array(
            [norms_of(w[0] if len(w) == 1 else np.linalg.multi_dot(w[::-1])) for w in rest]
            + padding
        ),
        "alignments": np.array(aligned),
        "largest_block": np.array(max(blocks)),
        "ggn_sum": np.array(sum(blocks)),
        "sampled_terms": np.array(blocks + [np.nan] * (depth - layers)),
        "gauss_newton": np.array(sum(blocks)),
        "trace": np.array(size * sum(norms_of(w)[1] ** 2 for w in weights)),
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
    measured: list[dict[str, np.ndarray]] = []
    for name, depth, size in itertools.product(parametrisations, depths, sizes):
        shape = [size, *[width] * (depth - 1), size]
        for _ in range(2 * networks):
            weights = [
                draw.normal(size=(out, fan_in)) * ENTRIES[name](out, fan_in)
                for fan_in, out in itertools.pairwise(shape)
            ]
            measured.append(network(weights, max(depths)))
    actual = {
        key: np.stack([item[key] for item in measured]).reshape(
            *grid, 2, networks, *measured[0][key].shape
        )
        for key in measured[0]
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

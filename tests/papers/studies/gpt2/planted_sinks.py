"""Ladders of attention sinks with known growths, in the form of a study's arrays."""

import numpy as np
from claims_contract import planted_data

from hessian_papers.studies.gpt2.sink_density.study import VARIABLES

SEEDS, RUNGS, PROBES, PRODUCTS, POINTS = 3, 4, 2, 6, 40
STEPS = np.array([0, 10, 50, 400])
EDITS = ("first-token", "middle-token", "random-weights", "no-sink")
# The mean attention on the first of 16 tokens if all get the same.
UNIFORM = np.mean(1 / np.arange(1, 17))
TARGET = np.array([0.4, 0.6, 0.81])
# The released product is measured at the first and the last rung.
OUTER = np.array([1, np.nan, np.nan, 1])[:, None]


def ladder(
    growth=0.5,
    *,
    middle=0.1,
    weights=0.1,
    none=-0.1,
    negative=0.5,
    own=0.32,
    near=0.9,
    part=-0.5,
):
    """Arrays of networks whose extreme eigenvalues grow evenly with the rungs.

    Args:
        growth: of the largest eigenvalue up to the last rung; other networks 0.01 more each.
        middle: the same by a sink on a middle token, weights: by a random change of the weights.
        none: the same without any sink; the last network has none to remove.
        negative: the growth of the most negative eigenvalue.
        own: the attention without an edit.
        near: the share of the eigenvalues that are close to zero.
        part: the growth of the part of softmax, relative to itself.
    """
    way = np.linspace(0, 1, RUNGS)
    seeds = 0.01 * np.arange(SEEDS)
    largest = 50.0 * (1 + (growth + seeds[:, None]) * way)
    smallest = np.tile(-10.0 * (1 + negative * way), (SEEDS, 1))
    ends = 50.0 * (1 + np.array([middle, weights, none]) + seeds[:, None])
    eigenvalue = np.stack([edited(largest, ends), edited(smallest, -10 * (1 + negative / 5))], -1)
    eigenvalue[-1, -1] = np.nan
    softmax = 0.2 * 50.0 * (1 + (part - seeds[:, None]) * way) / largest
    residual = np.where(np.isnan(eigenvalue), np.nan, 1e-3)
    sinks = eigenvalue[:, 0]
    node = np.zeros((SEEDS, RUNGS, PROBES, PRODUCTS))
    node[..., -1] = 0.9 * largest[..., None]
    node[..., 0] = 0.5 * smallest[..., None]
    weight = np.full(node.shape, near / (PRODUCTS - 2))
    weight[..., [0, -1]] = (1 - near) / 2
    grid = np.linspace(-20, 90, POINTS)
    density = np.exp(-np.abs(grid)) + 1e-6
    heads = np.broadcast_to(0.1 + 0.002 * STEPS[:, None, None] ** 0.5, (SEEDS, 4, 2, 3))

    def where(ladder, controls):
        whole = edited(ladder, controls)
        whole[-1, -1] = np.nan
        return whole

    arrays = {
        "seed": np.arange(SEEDS),
        "edit": np.array(EDITS),
        "rung": np.arange(RUNGS),
        "end": np.array(["largest", "smallest"]),
        "step": STEPS,
        "target": np.append(np.nan, TARGET),
        "parameters": np.array(1000),
        "sequences": np.array(8),
        "length": np.array(16),
        "strength": where(3.0 * way, 2.0),
        "mass": where(np.append(own, TARGET), [*TARGET[[-1, -1]], UNIFORM]),
        "loss": where(2.5 + 0.1 * way, 2.6),
        "eigenvalue": eigenvalue,
        "residual": residual,
        "ggn": 0.8 * largest,
        "ggn_residual": np.full(largest.shape, 1e-3),
        "operation": np.array(["softmax", "LayerNorm"]),
        "operation_part": np.stack([softmax, 0.5 * softmax], axis=-1),
        "functional": 1.5 * softmax,
        "released_eigenvalue": sinks * [1.001, 0.999] * OUTER,
        "released_residual": np.full(sinks.shape, 1e-3) * OUTER,
        "grid": np.broadcast_to(grid, (SEEDS, RUNGS, POINTS)),
        "density": np.broadcast_to(density, (SEEDS, RUNGS, POINTS)),
        "density_error": np.broadcast_to(0.1 * density, (SEEDS, RUNGS, POINTS)),
        "width": np.ones((SEEDS, RUNGS)),
        "node": node,
        "weight": weight,
        "released_node": node[:, -1],
        "released_weight": weight[:, -1],
        "training_mass": heads,
        "training_largest": np.tile([5.0, 10.0, 30.0, 50.0], (SEEDS, 1)),
    }
    return {"correlation": arrays}


def edited(ladder, controls):
    """A ladder of sinks with its controls, which stand beside the last rung."""
    whole = np.full((SEEDS, len(EDITS), RUNGS), np.nan)
    whole[:, 0], whole[:, 1:, -1] = ladder, controls
    return whole


def data_of(sides, networks=slice(None)):
    """The data set of a study, of some of the networks."""
    return planted_data(sides, VARIABLES).isel(seed=networks)

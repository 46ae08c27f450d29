"""Ladders of attention sinks with known growths, in the form of a study's arrays."""

import numpy as np

SEEDS, RUNGS, PROBES, PRODUCTS, POINTS = 3, 4, 2, 6, 40
STEPS = np.array([0, 10, 50, 400])
CONTROLS = ("middle-token", "random-weights")
TARGET = np.array([0.4, 0.6, 0.81])


def ladder(growth=0.5, *, middle=0.1, weights=0.1, negative=0.5, own=0.32, near=0.9):
    """Arrays of networks whose extreme eigenvalues grow evenly with the rungs.

    Args:
        growth: of the largest eigenvalue up to the last rung; other networks 0.01 more each.
        middle: the same by a sink on a middle token, weights: by a random change of the weights.
        negative: the growth of the most negative eigenvalue.
        own: the attention without an edit.
        near: the share of the eigenvalues that are close to zero.
    """
    way = np.linspace(0, 1, RUNGS)
    seeds = 0.01 * np.arange(SEEDS)
    largest = 50.0 * (1 + (growth + seeds[:, None]) * way)
    ends = 50.0 * (1 + np.array([middle, weights]) + seeds[:, None])
    smallest = np.tile(-10.0 * (1 + negative * way), (SEEDS, 1))
    controls = (SEEDS, len(CONTROLS))
    mass = np.tile(np.append(own, TARGET), (SEEDS, 1))
    nodes = np.zeros((SEEDS, RUNGS, PROBES, PRODUCTS))
    nodes[..., -1] = 0.9 * largest[..., None]
    nodes[..., 0] = 0.5 * smallest[..., None]
    weights_ = np.full(nodes.shape, near / (PRODUCTS - 2))
    weights_[..., [0, -1]] = (1 - near) / 2
    grid = np.linspace(-20, 90, POINTS)
    density = np.exp(-np.abs(grid)) + 1e-6
    heads = np.broadcast_to(0.1 + 0.002 * STEPS[:, None, None] ** 0.5, (SEEDS, 4, 2, 3))
    actual = {
        "control": np.array(CONTROLS),
        "target": TARGET,
        "strength": np.tile(3.0 * way, (SEEDS, 1)),
        "mass": mass,
        "loss": np.tile(2.5 + 0.1 * way, (SEEDS, 1)),
        "largest": largest,
        "smallest": smallest,
        "largest_residual": np.full(mass.shape, 1e-3),
        "smallest_residual": np.full(mass.shape, 1e-3),
        "control_strength": np.full(controls, 2.0),
        "control_mass": np.full(controls, TARGET[-1]),
        "control_loss": np.full(controls, 2.6),
        "control_largest": ends,
        "control_smallest": np.full(controls, -10.0 * (1 + negative / 5)),
        "control_largest_residual": np.full(controls, 1e-3),
        "control_smallest_residual": np.full(controls, 1e-3),
        "grid": np.broadcast_to(grid, (SEEDS, RUNGS, POINTS)),
        "density": np.broadcast_to(density, (SEEDS, RUNGS, POINTS)),
        "density_error": np.broadcast_to(0.1 * density, (SEEDS, RUNGS, POINTS)),
        "nodes": nodes,
        "weights": weights_,
        "width": np.ones((SEEDS, RUNGS)),
        "parameters": np.full(SEEDS, 1000),
        "sequences": np.tile([8, 16], (SEEDS, 1)),
        "released_largest": 1.001 * largest[:, [0, -1]],
        "released_smallest": 0.999 * smallest[:, [0, -1]],
        "released_largest_residual": np.full((SEEDS, 2), 1e-3),
        "released_smallest_residual": np.full((SEEDS, 2), 1e-3),
        "released_nodes": nodes[:, -1],
        "released_weights": weights_[:, -1],
        "training_step": np.tile(STEPS, (SEEDS, 1)),
        "training_mass": heads,
        "training_largest": np.tile([5.0, 10.0, 30.0, 50.0], (SEEDS, 1)),
    }
    return {"correlation": actual}


def some(sides, networks=slice(None)):
    """The arrays of some of the networks."""
    apart = {"control", "target"}
    return {
        side: {name: a if name in apart else a[networks] for name, a in arrays.items()}
        for side, arrays in sides.items()
    }

"""Arrays of overlaps of independently trained networks; nothing is measured."""

from itertools import combinations

import numpy as np

NETWORKS = ("F-200^2", "F-200^2-BN")
SHAPES = {"fc1": (20, 30), "fc2": (20, 200), "fc3": (4, 20)}
# (t₁ · t₁')² of each layer; of fc2 such that the overlap is 0.012 at k = 9.
HEIGHTS = {"fc1": 0.8, "fc2": 0.012 * 20 / 9, "fc3": 0.5}
CURVES = ("overlap", "kronecker", "permuted")
LONGEST = 30


def peaked(height, outputs):
    """Up to the outputs linear growth, and beyond a decrease."""
    k = np.arange(1, round(1.5 * outputs) + 1)
    return height * np.minimum(k / outputs, outputs / k)


def rising(height, outputs):
    """Linear growth, beyond the outputs as well."""
    return height * np.arange(1, round(1.5 * outputs) + 1) / outputs


def early(height, outputs):
    """Linear growth with a dip from k = 4 to 6."""
    actual = rising(height, outputs)
    actual[3:6] *= 0.5
    return actual


def expected(network, layer):
    """The curve that the paper says of a layer."""
    height, outputs = HEIGHTS[layer], SHAPES[layer][0]
    if layer == "fc3":
        return np.full(6, height)
    if layer == "fc1" or network == "LeNet5":
        return peaked(height, outputs)
    return rising(0.02, outputs) if network.endswith("-BN") else early(height, outputs)


def contrary(network, layer):
    """The contrary, lower."""
    outputs = SHAPES[layer][0]
    return {"fc1": rising(0.1, outputs), "fc2": peaked(0.008, outputs)}.get(
        layer, rising(0.1, outputs)
    )


def monotone(network, layer):
    """A curve without a peak."""
    return rising(HEIGHTS[layer], SHAPES[layer][0])


def sides(
    curve=expected,
    *,
    networks=NETWORKS,
    layers=("fc1", "fc2", "fc3"),
    seeds=4,
    top=LONGEST,
    rank=True,
    noise=0.003,
    last=-0.0,
    differing=1.0,
    seed=0,
    late=0.01,
    broken=True,
):
    """A study's side.

    Args:
        curve: of the Hessians and their approximations by network and layer; what is predicted is
            always what the paper says.
        networks: architectures.
        layers: of each.
        seeds: networks of each.
        top: the most eigenpairs.
        rank: whether the inputs of fc1 are of nearly rank one.
        noise: relative deviation of each network's overlaps.
        last: the smallest eigenvalue of the last layer's E[M].
        differing: the overlaps of networks trained differently, as every other one is, by others'.
        seed: of the noise.
        late: the share of the loss's fall that came late.
        broken: whether fc2 breaks what Theorem G.1 assumes.
    """
    pairs, variation = np.array(list(combinations(range(seeds), 2))), np.arange(seeds) % 2
    factor = np.where(variation[pairs[:, 0]] != variation[pairs[:, 1]], differing, 1.0)
    shape, draws = (len(networks), 1, len(layers)), np.random.default_rng(seed)
    arrays = {name: np.full((*shape, len(pairs), LONGEST), np.nan) for name in CURVES}
    arrays |= {"first_inputs": np.zeros((*shape, len(pairs)))}
    arrays |= {name: np.full((*shape, seeds, LONGEST), np.nan) for name in ("hessian", "residual")}
    arrays |= {"output": np.full((*shape, seeds, 20), np.nan)}
    arrays |= {"input": np.full((*shape, seeds, 200), np.nan)}
    for a, network in enumerate(networks):
        for place, layer in enumerate(layers):
            m, n = SHAPES[layer]
            at, count = (a, 0, place), min(top, round(1.5 * m))
            factors = 1 + noise * draws.standard_normal(seeds)
            for name in CURVES:
                of = curve if name in ("overlap", "kronecker") else expected
                arrays[name][at][:, :count] = of(network, layer)[:count]
                arrays[name][at] *= factors[pairs].prod(axis=1, keepdims=True)
            arrays["overlap"][at] *= factor[:, None]
            arrays["first_inputs"][at] = HEIGHTS[layer]
            arrays["hessian"][at][:, :count] = np.linspace(2, 1, count)
            arrays["residual"][at][:, :count] = 1e-6
            meets = layer == "fc1" or not broken
            second = 0.1 if meets and rank else 0.9
            arrays["input"][at][:, :n] = np.append([1.0], np.linspace(second, 0, n - 1))
            # Of fc2 the first three are above 0.9 of the first.
            values = np.linspace(1, 0.5, m) if meets else np.linspace(1, 0.1, m)
            values[:3] = 1.0
            arrays["output"][at][:, :m] = np.append(values[:-1], last) if layer == "fc3" else values
    sizes = np.array([SHAPES[layer] for layer in layers])
    arrays |= {
        "network": np.array(networks),
        "epoch": np.array([60]),
        "layer": np.arange(len(layers)),
        "layer_name": np.array([layers] * len(networks)),
        "outputs": np.tile(sizes[:, 0], (len(networks), 1)),
        "inputs": np.tile(sizes[:, 1], (len(networks), 1)),
        "images": np.array(200),
        "loss": np.full((len(networks), 1, seeds), 0.02),
        "accuracy": np.ones((len(networks), 1, seeds)),
        "late_progress": np.full((len(networks), seeds), late),
        "variation": variation,
    }
    return {"correlation": arrays}

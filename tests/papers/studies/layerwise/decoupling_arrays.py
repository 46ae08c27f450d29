"""Arrays of the study of the decoupling conjecture; nothing is measured."""

from collections.abc import Mapping, Sequence

import numpy as np

TOP, PROBES, EPOCHS = 25, 4, (0, 5, 60)
# Layers with their outputs and inputs.
FULLY_CONNECTED = {"fc1": (200, 784), "fc2": (200, 200), "fc3": (10, 200)}
LENET5 = {
    "conv1": (6, 75),
    "conv2": (16, 150),
    "fc1": (120, 400),
    "fc2": (84, 120),
    "fc3": (10, 84),
}
LAYERS = {
    "F-200^2": FULLY_CONNECTED,
    "F-200^2-BN": FULLY_CONNECTED,
    "LeNet5": LENET5,
    "LeNet5-BN": LENET5,
}
# What the paper has, of networks without batch normalisation and with.
RIGHT = {
    "gap": (9, 9),  # after how many eigenvalues
    "scale": (1.0, 1.0),  # the Hessian's eigenvalues over those of E[M] times the first of E[x x']
    "factor": (1.05, 1.3),  # the approximation's eigenvalues over the Hessian's
    "overlap": (0.9, 0.6),
    "rank_one": (0.95, 0.9),
    "along_first": (0.9, 0.5),
    "spectral": (0.15, 0.2),
    "missed": (0.11, 0.3),
    "input_ratio": (12.0, 1.15),
}
# By network and kind of layer, squared dot products and ratios.
TABLES = {
    ("F-200^2", "fc"): (0.9999, 12.3),
    ("F-200^2-BN", "fc"): (0.06, 1.16),
    ("LeNet5", "fc"): (0.998, 7.2),
    ("LeNet5", "conv"): (0.999, 15.0),
    ("LeNet5-BN", "fc"): (0.2, 1.5),
    ("LeNet5-BN", "conv"): (0.5, 1.6),
}


def _spectrum(gap: int, length: int) -> np.ndarray:
    """Descending eigenvalues with one large gap, NaN beyond what there is."""
    values = np.where(np.arange(TOP) < gap, 1.0, 0.05) * 0.95 ** np.arange(TOP)
    return np.where(np.arange(TOP) < length, values, np.nan)


def _layer(name: str, network: str, numbers: Mapping[str, float]) -> dict[str, np.ndarray]:
    m, d = LAYERS[network][name]
    output, k = _spectrum(int(numbers["gap"]), m), min(TOP, m * d)
    inputs = 10 / numbers["input_ratio"] * 0.9 ** np.arange(TOP)
    inputs = np.where(np.arange(TOP) < d, np.append(10.0, inputs[1:]), np.nan)
    hessian = 10 * numbers["scale"] * _spectrum(int(numbers["gap"]), TOP)
    known = np.where(np.arange(TOP) < k, 1.0, np.nan)
    lists = ("overlap", "rank_one", "along_first")
    return {
        "output": np.stack([output] * len(EPOCHS)),
        "input": np.stack([inputs] * len(EPOCHS)),
        "squares": np.ones((len(EPOCHS), PROBES)),
        "missed": np.full((len(EPOCHS), PROBES), numbers["missed"]),
        "hessian": hessian * known,
        "approximation": hessian * numbers["factor"] * known,
        "residual": 1e-4 * known,
        **{item: numbers[item] * known for item in lists},
        "spectral": np.array(numbers["spectral"]),
        "spectral_residual": np.array(1e-3),
    }


def sides(
    networks: Sequence[str] = ("F-200^2", "F-200^2-BN", "LeNet5", "LeNet5-BN"),
    *,
    seeds: int = 5,
    noise: float = 1e-4,
    changed: Mapping[str, tuple[float, float]] | None = None,
    epochs: int = len(EPOCHS),
    late: float = 0.01,
) -> dict[str, dict[str, np.ndarray]]:
    """The arrays of a study.

    Args:
        networks: architectures.
        seeds: networks of each.
        noise: of all quantities over the seeds, relative.
        changed: of :data:`RIGHT`.
        epochs: the last so many are kept.
        late: the share of the loss's fall that came late.
    """
    draws = np.random.default_rng(0)
    numbers = RIGHT | dict(changed or {})
    most = max(len(LAYERS[name]) for name in networks)
    actual: dict[str, np.ndarray] = {}

    def put(name: str, place: int, at: int, value: np.ndarray) -> None:
        throughout = name in ("output", "input", "squares", "missed")
        shape = (seeds, epochs, most) if throughout else (seeds, most)
        own = value.shape[1:] if throughout else value.shape
        array = actual.setdefault(name, np.full((len(networks), *shape, *own), np.nan))
        value = value[-epochs:] if throughout else value
        for seed in range(seeds):
            array[(place, seed, *([slice(None)] if throughout else []), at)] = value * np.exp(
                noise * draws.normal()
            )

    for place, network in enumerate(networks):
        own = {name: pair["-BN" in network] for name, pair in numbers.items()}
        for at, layer in enumerate(LAYERS[network]):
            for name, value in _layer(layer, network, own).items():
                put(name, place, at, value)
            aligned, ratio = TABLES[network, layer[:2].replace("co", "conv")]
            put("mean_aligned", place, at, np.array(aligned))
            put("spectral_ratio", place, at, np.array(ratio))
    names = [[*LAYERS[name], *[""] * (most - len(LAYERS[name]))] for name in networks]
    sizes = [
        [LAYERS[n].get(layer, (0, 0)) for layer in row]
        for n, row in zip(networks, names, strict=True)
    ]
    actual |= {
        "network": np.array(networks),
        "seed": np.arange(seeds),
        "epoch": np.array(EPOCHS[-epochs:]),
        "loss": np.full((len(networks), seeds, epochs), 0.125),
        "accuracy": np.full((len(networks), seeds, epochs), 0.9375),
        "late_progress": np.full((len(networks), seeds), late),
        "layer_name": np.array(names),
        "outputs": np.array(sizes)[..., 0],
        "inputs": np.array(sizes)[..., 1],
        "shown": np.array([f"fc2:{networks[0]}", f"fc1:{networks[-1]}"]),
        "output_share": np.full((2, TOP, TOP), 0.04),
        "input_share": np.full((2, TOP, TOP), 0.04),
    }
    return {"correlation": actual}

"""Arrays as the study of output spaces has them, planted."""

import numpy as np

NETWORKS = ("F-5", "F-5^2", "F-5-BN")


def sides(
    *, networks=NETWORKS, seeds=4, epochs=(0, 9), rows=0.8, complement=0.75, jacobian=0.95,
    printed_error=0.9, jacobian_error=0.2, late=0.01, noise=0.01,
):  # fmt: skip
    """Two architectures with one and two hidden layers, one with batch norm behind them all.

    Values may be one for each layer.
    """
    three = ["fc1", "fc2", "fc3"]
    layers = [["fc1", "fc2", ""], three, ["fc2", "", ""], three]
    places = [(*NETWORKS, "LeNet5").index(name) for name in networks]
    names = np.array(layers)[places]
    draws = np.random.default_rng(0)
    values = {
        "rows": rows,
        "complement": complement,
        "jacobian": jacobian,
        "printed_error": printed_error,
        "jacobian_error": jacobian_error,
    }
    arrays = {}
    for name, value in values.items():
        exact = 0.0 if name.endswith("error") else 1.0
        shape = (len(networks), seeds, len(epochs), 3)
        array = value + noise * draws.standard_normal(shape)
        for place, row in enumerate(names):
            last = int((row != "").sum()) - 1
            array[place, ..., last] = exact
            array[place, ..., last + 1 :] = np.nan
        arrays[name] = array
    labels = {
        "network": np.array(networks),
        "layer_name": names,
        "seed": np.arange(seeds),
        "epoch": np.array(epochs),
        "loss": np.full((len(networks), seeds, len(epochs)), 0.125),
        "accuracy": np.full((len(networks), seeds, len(epochs)), 0.9375),
        "late_progress": np.full((len(networks), seeds), late),
    }
    return {"correlation": {**labels, **arrays}}

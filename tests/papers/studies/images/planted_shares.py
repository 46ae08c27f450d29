"""Networks on subsets with a largest class that agree with every formula, for figure and claims."""

import numpy as np

BALANCED = "whitened-balanced-linear"
RAW, KAIMING, TANH = "raw-balanced-linear", "whitened-kaiming-linear", "whitened-balanced-tanh"
ABLATIONS = (RAW, KAIMING, TANH)
DEPTH = 4


def networks(cases, sizes=(50,), shares=(0.1, 0.4, 0.9), replicates=(0, 1), sources=("one", "two")):
    """The sides of a study, of which all arrays have one row a network.

    All numbers of samples for the first case.
    """
    rows = [
        {"source": source, "case": case, "samples": n, "share": share, "replicate": replicate}
        for source in sources
        for case in cases
        for n in (sizes if case == cases[0] else sizes[:1])
        for share in shares
        for replicate in replicates
    ]
    actual = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    number = {"network": np.arange(len(rows))}
    actual |= number | {"time": np.array(["start", "end"]), "classes": np.full(len(rows), 10)}
    labels = DEPTH * actual["share"] ** (1 - 1 / DEPTH)
    actual |= {"labels": labels, "fit": labels, "bound": labels, "first_layer": labels / DEPTH}
    actual |= {"floor": np.zeros(len(rows)), "loss": np.full(len(rows), 1e-3)}
    actual["defect"] = np.tile([0.1, 1e-4], (len(rows), 1))
    return {"closed_form": actual, "numerics": number | {"sharpness": labels, "ggn": labels}}


def kept(sides, rows):
    """The sides with some networks left out."""
    return {
        side: {name: a if name in ("time", "edge") else a[rows] for name, a in arrays.items()}
        for side, arrays in sides.items()
    }

"""The claims about Kronecker factors, and their figures, on planted arrays."""

import numpy as np
import pytest
from claims_contract import Kind, of_records, planted_data

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.layerwise.kronecker_factors.claims import (
    independence_ends,
    statements,
    worse_than_zero,
)
from hessian_papers.studies.layerwise.kronecker_factors.quantities import FORMS
from hessian_papers.studies.layerwise.kronecker_factors.study import VARIABLES

LAYERS = ("conv1", "fc1", "fc2")
ERRORS = {"expand": 0.9, "reduce": 0.7, "weighted": 0.4, "nearest": 0.3}
DECREASES = {
    "expand": 0.5, "reduce": 0.5, "weighted": 0.7, "expand, corrected": 0.6,
    "weighted, corrected": 0.8,
}  # fmt: skip


def sides(*, late=0.01, seeds=4, epochs=(0, 2, 9)):
    """The error of the printed product grows from a third of its size to 1.3 times of it."""
    draws = np.random.default_rng(0)
    shape = (1, seeds, len(epochs), len(LAYERS), len(FORMS))
    noise = 1 + 0.01 * draws.standard_normal(shape)
    spectral = noise * [ERRORS.get(form, 0.3) for form in FORMS]
    spectral[:, :, 0, :, 0] /= 3
    spectral[:, :, -1, :, 0] *= 1.3
    decrease = noise * [DECREASES.get(form, 0.5) for form in FORMS]
    arrays = {
        "network": np.array(["LeNet5"]),
        "seed": np.arange(seeds),
        "epoch": np.array(epochs),
        "form": np.array(FORMS),
        "damping": np.array([0.1, 0.01]),
        "layer_name": np.array([LAYERS]),
        "convolution": np.array([[name.startswith("conv") for name in LAYERS]]),
        "images": np.array(100),
        "loss": np.full((1, seeds, len(epochs)), 0.01),
        "accuracy": np.ones((1, seeds, len(epochs))),
        "spectral": spectral,
        "frobenius": spectral,
        "overlap": np.full((*shape, 2), 0.8),
        "step_error": np.full((*shape, 2), 0.3),
        "decrease": decrease[..., None] * [1.0, 1.0],
        "plain_decrease": np.full((*shape[:4], 2), 0.2),
        "largest": np.ones(shape[:4]),
        "residual": np.full(shape[:4], 1e-5),
        "late_progress": np.full((1, seeds), late),
    }
    return {"layerwise": arrays}


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records("kronecker_factors")


def test_what_is_said_of_a_minimum_is_not_judged_elsewhere():
    kind = Kind(statements, VARIABLES)
    for name in ("misses_the_top_space", "independence_ends", "worse_than_zero"):
        entries = kind.entries(sides(late=0.5), "wu2022dissecting", name=name)
        assert entries
        for entry in entries.values():
            with pytest.raises(NothingToMeasure, match="50% of the fall came late"):
                entry.measure()


def test_independence_is_told_by_the_nearest_product_in_all_layers():
    data, arrays = planted_data(sides(), VARIABLES), sides()
    arrays["layerwise"]["spectral"][:, :, -1, 1, FORMS.index("nearest")] = 0.8
    other = planted_data(arrays, VARIABLES)
    for layer in LAYERS:
        case = {"network": "LeNet5", "layer": layer}
        before, after = (float(independence_ends(each, **case).mean()) for each in (data, other))
        assert (after > before + 0.4) == (layer == "fc1")


def test_networks_without_curvature_are_left_out():
    data = planted_data(sides(), VARIABLES)
    some = data["spectral"].where(data["seed"] > 1)
    case = {"network": "LeNet5", "layer": "fc2"}
    assert worse_than_zero(data.assign(spectral=some), **case).sizes["seed"] == 2
    with pytest.raises(NothingToMeasure, match=r"^in no network here the layer has a curvature"):
        worse_than_zero(data.assign(spectral=some.where(False)), **case)

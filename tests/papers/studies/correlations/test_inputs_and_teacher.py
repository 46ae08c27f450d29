"""Correlations by inputs and teachers, against dense Hessians of the networks."""

import math

import numpy as np
import pytest
import torch
import xarray as xr
from inputs_and_teacher_arrays import config, measured
from matplotlib import pyplot as plt

from hessian_papers.models import draw
from hessian_papers.models.teacher import teacher_data
from hessian_papers.studies.correlations.inputs_and_teacher import derived, figure, study


def _top(networks, network, x, y):
    """The largest eigenvalue of one network's Hessian by automatic differentiation."""
    first, second = (weights[network] for weights in networks.weights)
    factor = math.prod(networks.multipliers)

    def loss(parameters):
        w1, w2 = parameters[: first.numel()], parameters[first.numel() :]
        outputs = factor * x @ w1.view_as(first).T @ w2.view_as(second).T
        return (outputs - y).square().sum() / (2 * len(x))

    parameters = torch.cat([first.flatten(), second.flatten()])
    hessian = torch.autograd.functional.hessian(loss, parameters)
    return torch.linalg.eigvalsh(hessian)[-1].item()


@pytest.mark.parametrize(
    ("inputs", "samples", "white"), [("3", 18, False), ("40", 240, False), ("white", 240, True)]
)
def test_correlations_are_those_with_the_dense_hessians_top(inputs, samples, white):
    teacher, size, scale = 1, 6, 2.0
    networks = draw("ntp", (size, 6, size), "linear", 0, range(6, 12))
    x, y = teacher_data(samples, size, size, "linear", 0, 0.01, teacher, scale=scale, white=white)
    top = [_top(networks, network, x, y) for network in range(6)]
    first, second = networks.weights
    values = {
        ("first matrix", "frobenius"): first.square().sum(dim=(1, 2)),
        ("second matrix", "spectral"): torch.linalg.matrix_norm(second, 2) ** 2,
        ("second matrix", "nuclear"): torch.linalg.matrix_norm(second, "nuc") ** 2,
    }
    of = {"parametrisation": "ntp", "size": size, "inputs": inputs, "scale": scale}
    r = measured()["correlation"].sel(of).isel(teacher=teacher)
    for (factor, norm), quantity in values.items():
        expected = np.corrcoef(top, quantity.numpy())[0, 1]
        assert r.sel(factor=factor, norm=norm).item() == pytest.approx(expected, abs=1e-5)


def test_networks_are_the_same_under_all_inputs_and_teachers():
    settings = {"samples_per_input": [40], "teacher_scales": [2.0], "parametrisations": ["ntp"]}
    fewer = study.numerics(config(**settings, sizes=[6]), xr.Dataset())
    same = {name: fewer[name].values for name in ("parametrisation", "size", "inputs", "scale")}
    actual = measured()[["correlation"]].sel(same)
    xr.testing.assert_allclose(actual, fewer[["correlation"]], atol=1e-9)


@pytest.mark.parametrize("name", ["sp", "ntp"])
def test_the_magnitudes_are_those_of_the_networks(name):
    networks = draw(name, (2, 200, 2), "linear", 0, range(20))
    first, second = (weights.square().mean().sqrt().item() for weights in networks.weights)
    ratio = study.closed_form(config(sizes=[2], width=200), xr.Dataset())["magnitude_ratio"]
    assert ratio.sel(parametrisation=name).item() == pytest.approx(first / second, rel=0.05)


def test_a_lead_is_the_best_alignment_less_the_best_norm():
    data = measured()
    of = {"parametrisation": "sp", "size": 2, "inputs": "3", "scale": 0.5}
    r = data["correlation"].sel(of)
    mean = r.mean("teacher")
    matrices, alignments = mean.drop_sel(factor="alignment"), mean.sel(factor="alignment")
    expected = alignments.max() - matrices.max()
    assert derived.lead(data).sel(of).mean().item() == pytest.approx(expected.item())


def test_no_curve_and_no_band_is_left_out():
    picture = figure.draw(measured())
    for axes in picture.axes:
        assert len(axes.collections) == 3
    assert {text.get_text() for text in picture.legends[0].get_texts()} == {
        "$n/D$ = 3",
        "$n/D$ = 40",
        "white inputs",
    }
    controls, caption = figure.controls(measured())
    assert [text.get_text() for text in controls.legends[0].get_texts()] == [
        "teacher's scale 0.5",
        "teacher's scale 2",
    ]
    assert "3 samples" in caption
    plt.close("all")


@pytest.mark.parametrize(
    "changes",
    [
        {"sizes": []},
        {"samples_per_input": [0]},
        {"teacher_scales": [1.0, 1.0]},
        {"teacher_scales": []},
        {"teacher_scales": [-1.0]},
        {"teachers": 1},
        {"networks": 2},
        {"noise_variance": -1.0},
        {"tolerance": 0.0},
        {"tolerance": 1.0},
    ],
)
def test_what_makes_no_sense_is_refused(changes):
    with pytest.raises(ValueError, match=f"{next(iter(changes))}: expected"):
        config(**changes)

"""Correlations by inputs and teachers, against dense Hessians of the networks."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr
from inputs_and_teacher_arrays import SMALL, STUDY, measured, trained
from matplotlib import pyplot as plt

from hessian_papers.models.parametrisation import draw, parametrise
from hessian_papers.models.teacher import teacher_data
from hessian_papers.networks import inputs_and_teacher as networks_of
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
    networks = draw("ntp", (size, 6, size), "linear", 0, range(6, 12), torch.float32)
    networks = networks.to(torch.float64)
    x, y = teacher_data(samples, size, size, "linear", 0, 0.01, teacher, scale=scale, white=white)
    top = [_top(networks, network, x, y) for network in range(6)]
    first, second = networks.weights
    values = {
        ("first matrix", "frobenius"): first.square().sum(dim=(1, 2)),
        ("second matrix", "spectral"): torch.linalg.matrix_norm(second, 2) ** 2,
        ("second matrix", "nuclear"): torch.linalg.matrix_norm(second, "nuc") ** 2,
    }
    of = {"parametrisation": "ntp", "size": size, "inputs": inputs, "scale": scale}
    r = measured()["correlation"].sel(of | {"time": "initialisation"}).isel(teacher=teacher)
    for (factor, norm), quantity in values.items():
        expected = np.corrcoef(top, quantity.numpy())[0, 1]
        assert r.sel(factor=factor, norm=norm).item() == pytest.approx(expected, abs=1e-4)


def test_networks_begin_the_same_under_all_inputs_and_teachers():
    norms = trained()["norms"].sel(time="initialisation")
    assert (norms == norms.isel(inputs=0, scale=0)).all()
    ends = trained()["norms"].sel(time="trained")
    assert (ends != ends.isel(inputs=0, scale=0)).isel(inputs=1, scale=1).all()


def test_the_settings_of_others_change_no_network():
    settings = {"samples_per_input": [40], "teacher_scales": [2.0], "sizes": [6]}
    fewer = networks_of.train(replace(SMALL, **settings), xr.Dataset())
    same = {"inputs": ["40", "white"], "scale": [2.0], "size": [6]}
    for name in ("loss", "sharpness", "norms", "alignments"):
        xr.testing.assert_allclose(fewer[name], trained()[name].sel(same), rtol=1e-6)


@pytest.mark.parametrize("white", [False, True])
def test_training_nears_the_least_squares_of_its_teacher(white):
    size, samples, scale, teacher = 2, 80, 2.0, 1
    x, y = teacher_data(samples, size, size, "linear", 0, 0.01, teacher, scale=scale, white=white)
    rest = torch.linalg.lstsq(x, y).solution
    least = ((x @ rest - y) ** 2).sum().item() / (2 * samples)
    of = {"inputs": "white" if white else "40", "scale": scale, "size": size, "time": "trained"}
    loss = trained()["loss"].sel(of).isel(network=slice(6, 12))
    assert loss.min() >= least * (1 - 1e-6)
    assert loss.max() < 1.2 * least


def test_without_epochs_networks_are_measured_as_they_are_drawn():
    drawn = networks_of.train(replace(SMALL, epochs=0, parametrisations=["sp"]), xr.Dataset())
    of = {"time": ["initialisation"], "parametrisation": ["sp"]}
    assert drawn["time"].values.tolist() == of["time"]
    assert (drawn["epochs"] == 0).all()
    for name in ("loss", "sharpness", "norms"):
        xr.testing.assert_equal(drawn[name], trained()[name].sel(of))
    r = study.correlation(STUDY, drawn)["correlation"]
    xr.testing.assert_equal(r, measured()["correlation"].sel(of))


def test_a_batch_is_its_share_of_the_samples():
    for item in networks_of.items(replace(SMALL, updates=7), xr.Dataset()):
        each = 40 if item["white"] else item["samples"] // item["size"]
        assert each in (3, 40)
        assert item["batch_size"] == math.ceil(item["samples"] / 7)


@pytest.mark.parametrize("name", ["sp", "ntp"])
def test_the_magnitudes_are_those_of_the_parametrisation(name):
    deviations = parametrise(name, (2, 6, 2)).standard_deviations
    ratio = measured()["magnitude_ratio"].sel(parametrisation=name, size=2).item()
    assert ratio == pytest.approx(deviations[0] / deviations[1], rel=0.3)


def test_a_lead_is_the_best_alignment_less_the_best_norm():
    data = measured()
    of = {"parametrisation": "sp", "size": 2, "inputs": "3", "scale": 0.5, "time": "trained"}
    r = data["correlation"].sel(of)
    mean = r.mean("teacher")
    matrices, alignments = mean.drop_sel(factor="alignment"), mean.sel(factor="alignment")
    expected = alignments.max() - matrices.max()
    assert derived.lead(data).sel(of).mean().item() == pytest.approx(expected.item())


def test_no_curve_and_no_band_is_left_out():
    picture = figure.draw(measured())
    parametrisations = measured().sizes["parametrisation"]
    assert picture.axes[0].get_gridspec().get_geometry() == (4, parametrisations)
    assert picture.get_figwidth() <= 4.5, "beside each other four were too small to read"
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
    ("changes", "message"),
    [
        ({"samples_per_input": [0]}, "samples_per_input: expected different numbers"),
        ({"samples_per_input": []}, "samples_per_input: expected different numbers"),
        ({"teacher_scales": [1.0, 1.0]}, "teacher_scales: expected different numbers"),
        ({"teacher_scales": [-1.0]}, "teacher_scales: expected different numbers"),
        ({"updates": 0}, "updates: expected at least 1, got 0"),
        ({"epochs": -1}, "epochs: expected at least 0, got -1"),
        ({"activation": "relu"}, "activation: expected linear, got 'relu'"),
        ({"depths": [3]}, r"depths: expected \[2\], got \[3\]"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **changes)

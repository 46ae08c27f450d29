"""Ladders of sinks: targets are reached, eigenvalues are those of the edited model."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr
from fan_out_contract import contract
from study_configs import configured

from hessian_papers.labelled import data_set
from hessian_papers.models import gpt2
from hessian_papers.networks.base import shared
from hessian_papers.networks.gpt2 import VARIABLES
from hessian_papers.networks.tools.kept_models import KeptModel
from hessian_papers.networks.tools.result import kept_in
from hessian_papers.studies.gpt2.released_hessian import ReleasedHessian
from hessian_papers.studies.gpt2.sink_density import edits, study
from hessian_spectra import curvature as cv
from hessian_spectra.curvature.curvlinops_operators import load_curvlinops

ROOT = Path(__file__).resolve().parents[4]
SHAPE = gpt2.Shape(layers=1, width=4, heads=2, context=6, vocabulary=5, variant="attention")
LENGTH, SEEDS, STEPS = 6, 2, np.array([0, 2, 4])


def config(**changes):
    fields = {
        "ensemble": "test", "seed": 0, "masses": [0.5, 0.81], "directions": 2, "tolerance": 1e-3,
        "probes": 2, "products": 8, "points": 30, "kappa": 3.0, "memory": 100,
    }  # fmt: skip
    return configured(study, fields | changes)


def model(seed=0, shape=SHAPE):
    """A model whose attention is far from uniform, with a gradient that is not zero."""
    made = gpt2.gpt2(shape, seed).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(8 if parameter.ndim == 2 else 1)
    return made


def loss_of(edited, tokens):
    return float(gpt2.language_loss(edited, tokens)[0].detach())


@pytest.fixture(scope="module")
def tokens():
    return torch.randint(5, (4, LENGTH + 1), generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def networks(tmp_path_factory, tokens):
    """Trained networks in their folder, those with attention in the second place."""
    folder = tmp_path_factory.mktemp("networks")
    for seed in range(SEEDS):
        gpt2.save(model(seed), folder / str(SEEDS + seed), "4")
    draws = np.random.default_rng(0)
    arrays = {
        "variant": np.array(["no attention", "attention"]),
        "seed": np.arange(SEEDS),
        "kept": np.array([4]),
        "step": STEPS,
        "mass": draws.random((2, SEEDS, len(STEPS), 1, 2)),
        "hessian": draws.random((2, SEEDS, len(STEPS))),
        "measured_tokens": np.stack([tokens.numpy()] * SEEDS),
        "diverged": np.zeros((2, SEEDS), dtype=bool),
    }
    return kept_in(folder, data_set(arrays, VARIABLES))


@pytest.fixture(scope="module")
def actual(networks):
    return study.gpt2(config(), networks)


@pytest.mark.parametrize("seed", range(5))
def test_a_crossing_is_where_the_target_is(seed):
    draws = np.random.default_rng(seed)
    rate, start = draws.uniform(0.1, 5), draws.uniform(0, 2)
    target = math.log1p(rate * (start + draws.uniform(0.1, 30)))
    at = edits.crossing(
        lambda x: math.log1p(rate * x), target, start=start, step=draws.uniform(0.01, 4), most=100.0
    )
    assert at == pytest.approx(math.expm1(target) / rate, rel=1e-5)


def test_what_is_not_reached_is_no_number():
    assert math.isnan(edits.crossing(math.tanh, 1.5, start=0.0, step=1.0, most=50.0))


@pytest.mark.parametrize(("kappa", "products"), [(3.0, 12), (1.04, 30)])
def test_the_kernel_is_as_wide_as_that_of_curvlinops(kappa, products):
    """The density of a spectrum that is one point, half-way between its bounds, is the kernel."""
    spectrum = load_curvlinops("curvlinops.papyan2020traces.spectrum")
    nodes = torch.full((products,), 2.0, dtype=torch.float64)
    vectors = torch.full((products, products), products**-0.5, dtype=torch.float64)
    grid, density = spectrum.lanczos_approximate_spectrum_from_iter(
        (nodes, vectors), (-1.0, 5.0), 1001, kappa, 0.05
    )
    width = study.kernel_width(kappa, products) * 6.0
    expected = torch.exp(-(((grid - 2.0) / width) ** 2) / 2) / (width * math.sqrt(2 * math.pi))
    torch.testing.assert_close(density, expected)


@pytest.mark.parametrize("token", [0, 4])
def test_the_bias_brings_the_attention_that_was_asked_for(tokens, token):
    deeper, targets = replace(SHAPE, layers=3), [0.5, 0.6, 0.81, 0.97]
    edited = model(shape=deeper)
    biases = []
    for target, bias in zip(targets, edits.sinks(edited, tokens, targets, token), strict=True):
        mass = gpt2.attention_mass(edited, tokens, token)
        assert float(mass[:, 0].mean()) == pytest.approx(target, abs=1e-5)
        biases.append(bias)
    assert biases == sorted(biases)
    # A copy with the last bias is the same model.
    again = model(shape=deeper)
    gpt2.set_sink(again, biases[-1], token=token)
    torch.testing.assert_close(gpt2.attention_mass(again, tokens, token), mass)


def test_a_target_below_the_models_own_attention_is_named(tokens):
    own = float(gpt2.attention_mass(model(), tokens)[:, 0].mean())
    message = rf"^masses: expected one above the {own:.3g} that token 1 has without an edit, got \["
    with pytest.raises(ValueError, match=message):
        list(edits.sinks(model(), tokens, [own / 2, own]))


def test_a_target_below_the_models_own_attention_is_passed_over(tokens, networks):
    own = float(gpt2.attention_mass(model(), tokens)[:, 0].mean())
    passed, bias = edits.sinks(model(), tokens, [own / 2, 0.9])
    assert math.isnan(passed)
    assert bias > 0
    item = study.gpt2.items(config(masses=[own / 2, 0.9]), networks)[0]
    arrays = study.measure(**item)
    assert np.isnan(arrays["mass"]).tolist() == [False, True, False]
    assert np.isnan(arrays["eigenvalue"]).all(axis=1).tolist() == [False, True, False]


def test_a_random_change_brings_the_loss_that_was_asked_for(tokens):
    changed, start = model(), torch.nn.utils.parameters_to_vector(model().parameters()).detach()
    own = loss_of(changed, tokens)
    losses = [own + 0.05, own - 0.05, own + 0.3]
    moved = []
    for loss, change in zip(
        losses,
        edits.changes(changed, tokens, losses, torch.Generator().manual_seed(0)),
        strict=True,
    ):
        moved.append(torch.nn.utils.parameters_to_vector(changed.parameters()).detach() - start)
        assert float(moved[-1].norm() / start.norm()) == pytest.approx(change, abs=1e-6)
        expected = max(loss, own)
        assert loss_of(changed, tokens) == pytest.approx(expected, abs=1e-4)
    # A loss that is no rise changes nothing; all others lie in one direction.
    assert not moved[1].any()
    cosine = torch.nn.functional.cosine_similarity(moved[0], moved[2], dim=0)
    assert float(cosine) == pytest.approx(1, abs=1e-5)


def test_a_loss_that_no_change_brings_is_named(tokens):
    changes = edits.changes(model(), tokens, [1e9], torch.Generator().manual_seed(0))
    message = "masses: expected a loss that a random change of the weights brings, from "
    with pytest.raises(ValueError, match=message):
        list(changes)


def close_to_dense(edited, tokens, measured):
    """Whether extreme eigenvalues, and the loss, are those of a model, by its dense matrix."""
    values = [*measured["eigenvalue"].values, float(measured["loss"])]
    problem = cv.Problem(edited, loss_fn=gpt2.language_loss, data=[tokens])
    exact = torch.linalg.eigvalsh(cv.dense_matrix(cv.hessian(problem, check=False)).double())
    expected = [float(exact[-1]), float(exact[0]), problem.value()]
    np.testing.assert_allclose(values, expected, atol=1e-3 * float(exact.abs().max()))


@pytest.mark.parametrize(("number", "place"), [(0, 0), (1, 2)])
def test_extreme_eigenvalues_are_those_of_the_edited_model(actual, tokens, number, place):
    edited = model(number)
    gpt2.set_sink(edited, float(actual["strength"][number, 0, place]))
    close_to_dense(edited, tokens, actual.isel(seed=number, edit=0, rung=place))


def test_a_control_is_an_edit_of_its_own(actual, tokens):
    edited = model(1)
    control = actual.isel(seed=1, rung=-1).sel(edit="middle-token")
    gpt2.set_sink(edited, float(control["strength"]), token=LENGTH // 2)
    close_to_dense(edited, tokens, control)


def test_random_weights_are_the_mean_over_directions(actual, tokens):
    first, second = (model(), model())
    strength, values = [], []
    for number, edited in enumerate((first, second)):
        seed = number * study.BETWEEN
        strength += list(edits.edited("random-weights", edited, tokens, [0.81], seed))
        problem = cv.Problem(edited, loss_fn=gpt2.language_loss, data=[tokens])
        values.append(torch.linalg.eigvalsh(cv.dense_matrix(cv.hessian(problem)).double())[-1])
    control = actual.isel(seed=0, rung=-1).sel(edit="random-weights")
    assert float(control["strength"]) == pytest.approx(np.mean(strength), rel=1e-6)
    largest = float(control["eigenvalue"].sel(end="largest"))
    assert largest == pytest.approx(float(np.mean(values)), rel=2e-3)
    assert abs(values[0] - values[1]) > 0.01 * largest


def test_ladders_have_their_targets(actual):
    assert actual["edit"].values.tolist() == [*edits.EDITS]
    ladder = actual.sel(edit="first-token")
    controls = actual.drop_sel(edit=["first-token", "no-sink"])
    for name in ("strength", "mass", "loss", "eigenvalue", "residual"):
        assert ladder[name].shape[:2] == (SEEDS, 3), name
        assert np.isfinite(ladder[name]).all(), name
        # Controls stand beside the strongest sink.
        assert np.isfinite(controls[name][:, :, -1]).all(), name
        assert np.isnan(controls[name][:, :, :-1]).all(), name
    assert (ladder["strength"][:, 0] == 0).all()
    assert actual["target"][1:].values.tolist() == [0.5, 0.81]
    np.testing.assert_allclose(ladder["mass"][:, 1:], [[0.5, 0.81]] * SEEDS, atol=1e-5)
    last = controls.isel(rung=-1)
    np.testing.assert_allclose(last["mass"].sel(edit="middle-token"), 0.81, atol=1e-5)
    # Random weights have the loss of the strongest sink, if that is a rise.
    rises = np.maximum(ladder["loss"][:, -1], ladder["loss"][:, 0])
    np.testing.assert_allclose(last["loss"].sel(edit="random-weights"), rises, atol=1e-4)


@pytest.mark.parametrize(("number", "place"), [(0, 0), (1, 2)])
def test_gauss_newton_matrix_and_functional_part_are_those_of_the_edited_model(
    actual, tokens, number, place
):
    """Brute force in float64; the parts of single operations have a study of their own."""
    edited = model(number)
    gpt2.set_sink(edited, float(actual["strength"][number, 0, place]))
    problem = cv.Problem(edited.double(), loss_fn=gpt2.language_loss, data=[tokens])
    hessian, ggn = (cv.dense_matrix(matrix(problem)) for matrix in (cv.hessian, cv.ggn))
    values, vectors = torch.linalg.eigh(hessian)
    measured = actual.isel(seed=number, rung=place)
    assert float(measured["ggn"]) == pytest.approx(float(torch.linalg.eigvalsh(ggn)[-1]), rel=2e-3)
    assert 0 <= float(measured["ggn_residual"]) <= 1e-3
    # The eigenvector is known to some digits.
    share = float(vectors[:, -1] @ (hessian - ggn) @ vectors[:, -1] / values[-1])
    assert float(measured["functional"]) == pytest.approx(share, abs=0.02)
    parts = measured["operation_part"].sum()
    assert float(parts) == pytest.approx(float(measured["functional"]), abs=1e-6)
    assert abs(share) > 0.5


def test_a_sink_is_removed_down_to_uniform_attention(tokens, tmp_path):
    uniform = np.mean(1 / np.arange(1, LENGTH + 1))
    gpt2.save(model(4), tmp_path, "4")
    kept = KeptModel(folder=str(tmp_path), file="4.safetensors", digest="", tokens=tokens.numpy())
    settings = study.LadderMeasurement(**shared(study.LadderMeasurement, config()))
    last = {
        name: xr.DataArray(values[-1])
        for name, values in study.measure("no-sink", kept, {}, settings).items()
        if name in ("strength", "mass", "loss", "eigenvalue")
    }
    assert float(gpt2.attention_mass(model(4), tokens)[:, 0].mean()) > uniform + 1e-3
    assert last["strength"] < 0
    assert float(last["mass"]) == pytest.approx(uniform, abs=1e-5)
    edited = model(4)
    gpt2.set_sink(edited, float(last["strength"]))
    close_to_dense(edited, tokens, last)


def test_without_a_sink_there_is_none_to_remove(actual, tokens):
    untouched = model()
    assert math.isnan(edits.without_sink(untouched, tokens))
    assert torch.equal(gpt2.attention_mass(untouched, tokens), gpt2.attention_mass(model(), tokens))
    for name in ("strength", "mass", "loss", "eigenvalue", "residual"):
        assert np.isnan(actual[name].sel(edit="no-sink")).all(), name


def test_the_released_product_is_that_of_curvlinops(actual, tokens):
    """The product's eigenvalues are those of its dense matrix, which is not symmetric."""
    assert np.isnan(actual["released_eigenvalue"][:, 1:-1]).all()
    for number, place in ((0, 0), (1, -1)):
        edited = model(number)
        gpt2.set_sink(edited, float(actual["strength"][number, 0, place]))
        problem = cv.Problem(edited, loss_fn=gpt2.language_loss, data=[tokens])
        operator = ReleasedHessian(problem)
        matrix = (operator @ torch.eye(problem.size)).double()
        assert float((matrix - matrix.T).norm() / matrix.norm()) > 1e-3
        real = torch.linalg.eigvals(matrix).real
        for end, value in (("largest", real.max()), ("smallest", real.min())):
            expected = pytest.approx(float(value), abs=3e-3 * float(real.abs().max()))
            assert actual["released_eigenvalue"][number, place].sel(end=end) == expected


def test_the_density_is_that_of_the_edited_model(actual, tokens):
    edited = model(1)
    gpt2.set_sink(edited, float(actual["strength"][1, 0, 2]))
    problem = cv.Problem(edited, loss_fn=gpt2.language_loss, data=[tokens])
    for matrix, prefix, of in (
        (cv.hessian(problem), "", actual.isel(rung=2)),
        (ReleasedHessian(problem), "released_", actual),
    ):
        expected = study._density(matrix, config(seed=1))
        for name in ("node", "weight"):
            array = of[f"{prefix}{name}"][1]
            np.testing.assert_allclose(array, expected[name], rtol=1e-3, atol=1e-5, err_msg=name)
    assert np.abs(actual["released_node"][1] - actual["node"][1, 2]).max() > 1e-4
    nodes = actual["node"][1, 2]
    expected = study.kernel_width(3.0, 8) * float(nodes.max() - nodes.min())
    assert actual["width"][1, 2] == pytest.approx(expected)


test_items_repeat_and_a_probe_costs_less = contract(study.gpt2, config)

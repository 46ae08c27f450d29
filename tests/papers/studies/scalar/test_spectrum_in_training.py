"""The spectrum in training: arrays of all runs, reproducible, and what is refused."""

import numpy as np
import pytest
from samples import samples
from spectrum_in_training_sides import (
    COORDINATES,
    DATA,
    EIGENSPACE,
    PAIR,
    config,
    data_of,
    linear,
    pair_sides,
    sides,
    three_features,
    wedge,
)

from hessian_papers.labelled import joined
from hessian_papers.studies.scalar.spectrum_in_training import study
from hessian_papers.studies.scalar.spectrum_in_training.claims import EXTENDED, LEAVING, PROVED
from hessian_papers.studies.scalar.spectrum_in_training.derived import pair
from hessian_papers.studies.spectra import error, group
from hessian_papers.studies.trainings import compared, training
from hessian_papers.work import TrainingRun

HIGH = {"learning_rate": 0.4, "initial_scale": 2.0}
ALL = {settings["follows"]: settings for settings in (PAIR, EIGENSPACE, COORDINATES)}


@pytest.fixture(scope="module")
def plain():
    """Gradient descent without momentum, with a third run of its own rate and scale."""
    return data_of(pair_sides(high=HIGH))


@pytest.fixture(scope="module")
def spaces():
    return data_of(sides(EIGENSPACE))


@pytest.fixture(scope="module")
def several():
    """The run of a network of several inputs."""
    return data_of(sides(COORDINATES)).squeeze("run")


def test_the_pair_keeps_its_kind_and_its_cell(plain):
    large, small = pair(plain)
    assert (large > small).all()
    np.testing.assert_allclose(large + small, plain["trace"], rtol=1e-10)
    assert pair(compared(plain), "numerical")[0].shape == (3, 26)
    # In the negative cell there are outliers, too.
    assert group(plain.sel(run="relu"), "outlier").shape == (121, 4)


def test_the_bulk_is_the_mean_of_residual_times_input():
    """The residual is of the networks' own outputs; of ReLU it is over what the cell sees."""
    data, settings = wedge(), config(PAIR, steps=10)
    trained = study.train(settings, data)
    actual = study.closed_form(settings, trained)
    x, y = data["x"].values, data["y"].values
    for run, seen in (("linear", np.ones_like(x)), ("relu", x > 0)):
        weights = trained.sel(run=run)
        hidden = weights["v"].values[:, None, :] * x[:, None]
        if run == "relu":
            hidden = np.maximum(hidden, 0)
        outputs = np.einsum("snm,sm->sn", hidden, weights["w"].values)
        expected = ((outputs - y) * x * seen).mean(axis=1)
        np.testing.assert_allclose(actual["bulk"].sel(run=run), expected, rtol=1e-12)
        assert expected[0] < -0.05


def test_all_runs_start_from_the_same_draw_and_go_their_own_ways():
    high = {"linear_high": {"learning_rate": 0.1, "initial_scale": 1.5}}
    trained = study.train(config(PAIR, runs=PAIR["runs"] | high), wedge())
    linear, relu, larger = (trained.sel(run=run, step=0) for run in trained["run"])
    np.testing.assert_array_equal(linear["v"], relu["v"])
    np.testing.assert_allclose(larger["w"], 2 * linear["w"])
    trained = study.train(config(EIGENSPACE), DATA["eigenspace"]())
    runs = EIGENSPACE["runs"]
    assert [*runs] == [*PROVED, *EXTENDED, *LEAVING.values()]
    first, last = (trained["v"].sel(run=[*runs]).isel(step=place).values for place in (0, -1))
    assert len({tuple(v) for v in first}) == 1
    assert len({tuple(v) for v in last}) == trained.sizes["run"] == len(runs)
    assert (trained["diverged_at"] == -1).all()


def test_recorded_weights_are_the_networks():
    trained = study.train(config(COORDINATES), three_features())
    x, y, v, w = (trained.squeeze("run")[name].values for name in "xyvw")
    losses = np.mean((np.einsum("nd,rdm,rdm->rn", x, v, w) - y) ** 2, axis=1) / 2
    np.testing.assert_allclose(losses, trained["loss"].squeeze("run"))
    assert (np.diff(losses) < 0).all()


@pytest.mark.parametrize("name", ALL)
def test_what_is_logged_is_the_spectrum_of_that_step(name):
    logged, settings = {}, config(ALL[name])
    trained = study.train(settings, DATA[name](), TrainingRun(log=logged.__setitem__))
    spectra = study.closed_form(settings, trained)["exact"]
    assert list(logged) == list(range(0, settings.steps + 1, settings.record_every))
    for run in settings.runs:
        exact = spectra.sel(run=run)
        steps = [step for step in logged if f"{run}/sharpness" in logged[step]]
        assert {0, settings.steps} <= {*steps} or len(steps) > 5
        for step in steps:
            values, shown = exact.sel(step=step).values, logged[step]
            assert {f"{run}/{what}" for what in ("loss", "sharpness", "trace")} <= set(shown)
            actual = shown[f"{run}/sharpness"], shown[f"{run}/trace"]
            expected = values.max(), values.sum()
            assert actual == pytest.approx(expected, abs=1e-12 * np.abs(values).max())


def test_a_run_that_diverges_keeps_what_it_had():
    runs = linear(learning_rate=0.1)
    data = data_of(sides(PAIR, runs=runs, learning_rate=30.0))
    run = training(data, run="linear")
    assert 0 < run["diverged_at"] < 120
    assert run["step"][-1] < run["diverged_at"]
    assert training(data, run="linear_high")["step"][-1] == 120
    numerical = compared(run)["numerical"]
    several = sides(COORDINATES, learning_rate=20.0)["closed_form"]
    assert 0 < several["diverged_at"] <= 20
    for made in (run.drop_vars("numerical").assign(numerical=numerical.values[0]), several):
        for name, values in made.variables.items():
            assert values.dtype.kind == "U" or np.isfinite(values).all(), name


def test_width_one_has_outliers_and_no_bulk():
    run = data_of(sides(PAIR, width=1, runs=linear(), steps=5)).sel(run="linear")
    assert run["exact"].shape == (6, 2)
    np.testing.assert_array_equal(run["exact"].T, pair(run)[::-1])
    assert group(run, "bulk").shape == (6, 0)
    diagonal = data_of(sides(COORDINATES, width=1)).squeeze("run")
    assert group(diagonal, "bulk").shape == (6, 0)
    assert error(compared(diagonal)).max() < 1e-12


def test_a_relu_network_is_followed_until_its_positive_cell_is_empty():
    # Large steps towards targets that fall take v of the positive units below zero.
    falling = samples(wedge()["x"], -0.5 * wedge()["x"])
    changes = {"width": 4, "steps": 40, "learning_rate": 0.3, "seed": 8}
    settings = config(PAIR, **changes)
    trained = study.train(settings, falling)
    relu = training(trained, run="relu")
    end = int(relu["emptied_at"])
    assert 0 < end == relu["step"][-1] + 1
    assert (relu["v"] > 0).any("unit").all()
    assert trained["emptied_at"].sel(run="linear") == -1
    data = joined([study.closed_form(settings, trained), study.numerics(settings, trained)])
    run = training(data, run="relu")
    assert run["emptied_at"] == end
    assert data["emptied_at"].sel(run="linear") == -1
    assert error(compared(run)).max() < 1e-10
    assert len(run["step"]) == end
    assert pair(run)[0].notnull().all()


@pytest.mark.parametrize("name", LEAVING.values())
def test_the_others_leave_and_both_sides_see_the_same(name, spaces):
    run = spaces.sel(run=name)
    assert run["iterate"].max() > 0.01
    for key, tolerance in (("iterate", 1e-12), ("rotation", 1e-9)):
        numerical = run[f"numerical_{key}"].dropna("step")
        assert len(numerical) > 2
        np.testing.assert_allclose(run[key].sel(step=numerical["step"]), numerical, atol=tolerance)


def test_a_relu_network_needs_inputs_that_it_sees():
    hidden = samples(-np.abs(wedge()["x"]), wedge()["y"])
    with pytest.raises(ValueError, match=r"data: expected a sample with x > 0 .*, got 'test'"):
        study.train(config(PAIR), hidden)
    alone = config(PAIR, runs=linear(), steps=1)
    assert study.train(alone, hidden).sizes["step"] == 2


@pytest.mark.parametrize("seed", range(6))
def test_a_relu_network_without_positive_units_is_refused(seed):
    """Every other seed draws none at width 1."""
    if config(PAIR, width=1, runs=linear(), seed=seed).initial_weights()[0] > 0:
        config(PAIR, width=1, seed=seed)
    else:
        with pytest.raises(ValueError, match=rf"seed: expected one that draws .*, got {seed}"):
            config(PAIR, width=1, seed=seed)


def test_a_relu_network_is_predicted_until_a_unit_changes_its_cell():
    momentum = {"relu": {"network": "relu", "momentum": 0.9}}
    made = data_of(sides(PAIR, runs=momentum, width=10, initial_scale=0.95, learning_rate=0.18))
    run = made.squeeze("run")
    until = int(run["predicted_until"])
    assert 0 < until <= int((run["units"].values != run["units"].values[0]).argmax())
    np.testing.assert_array_equal(run["predicted_large"].isnull(), run["step"] >= until)


@pytest.mark.parametrize("settings", [{"adam": True}, {"batch_size": 5}])
def test_what_is_no_map_of_two_numbers_is_not_predicted(settings):
    made = data_of(sides(PAIR, runs={"linear": settings}, steps=5))
    assert "predicted_large" not in made

"""The outlier pair in training: arrays of all runs, reproducible, and what is refused."""

import numpy as np
import pytest
from samples import samples
from trainings import outlier_pair_config as config
from trainings import outlier_pair_sides, wedge

from hessian_papers.labelled import joined
from hessian_papers.studies.scalar.outlier_pair import study
from hessian_papers.studies.scalar.outlier_pair.derived import pair
from hessian_papers.studies.spectra import error, group
from hessian_papers.studies.trainings import compared, training
from hessian_papers.work import TrainingRun


def data_of(**changes):
    return joined([*outlier_pair_sides(**changes).values()])


@pytest.fixture(scope="module")
def plain():
    """Gradient descent without momentum, with a third run of its own rate and scale."""
    return data_of(high_learning_rate=0.4, high_initial_scale=2.0)


def test_arrays_have_one_row_a_step(plain):
    assert plain["run"].values.tolist() == ["linear", "relu", "linear_high"]
    assert plain["exact"].shape == (3, 121, 12)
    # The first twelve steps and every eighth one.
    numerical = plain["numerical"].dropna("step")
    assert numerical["step"].values.tolist() == [*range(12), *range(16, 121, 8)]
    assert numerical.shape == (3, 26, 12)


def test_the_pair_keeps_its_kind_and_its_cell(plain):
    large, small = pair(plain)
    assert (large > small).all()
    np.testing.assert_allclose(large + small, plain["trace"], rtol=1e-10)
    assert pair(compared(plain), "numerical")[0].shape == (3, 26)
    # In the negative cell there are outliers, too.
    assert group(plain.sel(run="relu"), "outlier").shape == (121, 4)


def test_the_bulk_is_the_mean_of_residual_times_input():
    """The residual is of the networks' own outputs; of ReLU it is over what the cell sees."""
    data, settings = wedge(), config(steps=10)
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


def test_all_runs_start_from_the_same_draw():
    trained = study.train(config(high_learning_rate=0.1, high_initial_scale=1.5), wedge())
    linear, relu, high = (trained.sel(run=run, step=0) for run in ("linear", "relu", "linear_high"))
    np.testing.assert_array_equal(linear["v"], relu["v"])
    np.testing.assert_allclose(high["w"], 2 * linear["w"])


def test_the_same_configuration_gives_the_same_arrays(plain):
    assert plain.identical(data_of(high_learning_rate=0.4, high_initial_scale=2.0))


def test_training_reports_all_runs_under_rising_steps():
    seen = []
    study.train(
        config(steps=3),
        wedge(),
        TrainingRun(log=lambda step, metrics: seen.append((step, metrics))),
    )
    assert [step for step, _ in seen] == [0, 1, 2, 3]
    shown = {
        f"{run}/{what}" for run in ("linear", "relu") for what in ("loss", "sharpness", "trace")
    }
    assert set(seen[0][1]) == shown


def test_a_run_that_diverges_keeps_what_it_had():
    data = data_of(learning_rate=30.0, networks=["linear"], high_learning_rate=0.1)
    run = training(data, run="linear")
    assert 0 < run["diverged_at"] < 120
    assert run["step"][-1] < run["diverged_at"]
    assert training(data, run="linear_high")["step"][-1] == 120
    for name, values in (
        run.drop_vars("numerical") | {"numerical": compared(run)["numerical"]}
    ).items():
        assert values.dtype.kind == "U" or np.isfinite(values).all(), name


def test_width_one_has_a_pair_and_no_bulk():
    run = data_of(width=1, networks=["linear"], steps=5).sel(run="linear")
    assert run["exact"].shape == (6, 2)
    np.testing.assert_array_equal(run["exact"].T, pair(run)[::-1])
    assert group(run, "bulk").shape == (6, 0)


def test_a_relu_network_is_followed_until_its_positive_cell_is_empty():
    data = wedge()
    # Large steps towards targets that fall take v of the positive units below zero.
    falling = samples(data["x"], -0.5 * data["x"])
    changes = {"width": 4, "steps": 40, "learning_rate": 0.3, "seed": 8}
    settings = config(networks=["relu", "linear"], **changes)
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


def test_a_relu_network_needs_inputs_that_it_sees():
    data = wedge()
    hidden = samples(-np.abs(data["x"]), data["y"])
    with pytest.raises(ValueError, match=r"data: expected a sample with x > 0 .*, got 'test'"):
        study.train(config(), hidden)
    assert study.train(config(networks=["linear"], steps=1), hidden).sizes["step"] == 2


@pytest.mark.parametrize("seed", range(6))
def test_a_relu_network_without_positive_units_is_refused(seed):
    """Every other seed draws none at width 1."""
    drawn = config(width=1, networks=["linear"], seed=seed).initial_weights()
    if drawn[0] > 0:
        config(width=1, seed=seed)
    else:
        with pytest.raises(ValueError, match=rf"seed: expected one that draws .*, got {seed}"):
            config(width=1, seed=seed)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"networks": []}, r"networks: expected different ones of linear, relu, got \[\]"),
        ({"networks": ["tanh"]}, "networks: expected different ones of linear, relu"),
        ({"width": 0}, "width: expected at least 1, got 0"),
        ({"width": -3}, "width: expected at least 1, got -3"),
        ({"initial_scale": 0.0}, "initial_scale: expected a positive number"),
        ({"learning_rate": -0.1}, "learning_rate: expected a positive number, got -0.1"),
        ({"momentum": 1.0}, r"momentum: expected a number in \[0, 1\), got 1.0"),
        ({"high_learning_rate": -1.0}, "high_learning_rate: expected a positive number, or 0"),
        ({"high_momentum": 1.0}, "high_momentum: expected"),
        ({"high_initial_scale": 0.0}, "high_initial_scale: expected a positive number"),
        ({"input_scales": [2.0, 0.5, 2.0]}, "input_scales: expected each of them once, got"),
        (
            {"high_settings": [[1.0, 2.0], [1.0, 2.0]]},
            "high_settings: expected each of them once, got",
        ),
        ({"width": 3000}, "width: expected at most 5000 parameters .*, got 6000"),
        ({"steps": 0}, "steps: expected at least 1, got 0"),
        ({"record_every": 0}, "record_every: expected at least 1"),
        ({"numeric_every": 0}, "numeric_every: expected at least 1"),
    ],
)
def test_a_bad_setting_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        config(**changes)


def test_data_with_several_features_are_refused():
    with pytest.raises(
        ValueError, match="data: expected a data set with one feature per sample, got 'test'"
    ):
        study.train(config(), samples(np.ones((5, 2)), np.ones(5)))

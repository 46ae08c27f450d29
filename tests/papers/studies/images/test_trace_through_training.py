"""The trace through training is that of all samples' loss, at the epochs that were asked for."""

import numpy as np
import pytest
import torch
from samples import samples
from small_images import CLASSES, image_sets, loss_and_hessian, whole_samples

from hessian_papers.labelled import joined
from hessian_papers.networks.tools.images import split
from hessian_papers.studies.images.curvature import at_epoch, measure_trace, problem, weights_at
from hessian_papers.studies.images.derived import networks
from hessian_papers.studies.images.through_training import recorded_epochs
from hessian_papers.studies.images.trace_through_training import figure, study
from hessian_spectra import curvature as cv

SETS = image_sets(first=24, second=20)


def config(**changes):
    fields = {
        "kind": "trace_through_training",
        "paper": "anon2026data",
        "artifact": "Figure 3",
        "title": "test",
        "data": "test",
        "seed": 0,
        "samples": 20,
        "replicates": 2,
        "depth": 3,
        "width": 5,
        "input_scale": 1.5,
        "initialisation": "kaiming",
        "initial_range": [0.3, 0.7],
        "learning_rate": 0.02,
        "epochs": 40,
        "precision": "float64",
        "recorded": 4,
        "probes": 20,
    }
    return study.Config(**(fields | changes))


@pytest.fixture(scope="module")
def trained():
    return study.train(config(), SETS)


@pytest.fixture(scope="module")
def data(trained):
    return joined([study.closed_form(config(), trained), study.numerics(config(), trained)])


def test_epochs_begin_at_the_start_and_end_at_the_last():
    assert recorded_epochs(10000, 5) == [0, 1, 10, 100, 1000, 10000]
    # Those that fall on the same epoch are one.
    assert recorded_epochs(3, 20) == [0, 1, 2, 3]
    assert recorded_epochs(7, 1) == [0, 1]


def test_networks_come_by_image_set_and_replicate(trained, data):
    actual = [(item["source"].item(), int(item["replicate"])) for item in networks(data)]
    assert actual == [("first", 0), ("first", 1), ("second", 0), ("second", 1)]
    assert data["epoch"].values.tolist() == [0, 1, 3, 12, 40]
    for network, item in zip(split(trained), networks(data), strict=True):
        assert network["losses"].shape == (41,)
        np.testing.assert_array_equal(item["loss"], network["losses"][item["epoch"]])
        assert item["features"] == 8  # a pixel of nine is constant
        assert item["samples"] == 20
        assert (np.diff(item["loss"]) < 0).all()
        assert item["loss"].isel(epoch=-1) > item["floor"] > 0


def test_replicates_differ_and_a_study_is_reproducible(trained):
    assert trained.identical(study.train(config(), SETS))
    single, other = split(trained)[:2]
    assert not np.allclose(single["weights 1"][0], other["weights 1"][0])
    assert not np.allclose(single["target"], other["target"])


@pytest.mark.parametrize("depth", [2, 4])
def test_the_reduced_problem_is_that_of_all_samples(depth):
    """Loss, Hessian and trace at each epoch, where the subset is the whole set."""
    settings = config(depth=depth, samples=20, replicates=1, width=3)
    data = image_sets(only=20)
    trained = study.train(settings, data)
    (network,), traces = (
        split(trained),
        study.closed_form(settings, trained)["trace"].values.ravel(),
    )
    # The order of the subset's images is its own, on which nothing depends but signs of the SVD.
    inputs, targets = whole_samples(data, "only", settings.input_scale)
    for at in range(len(network["epoch"])):
        weights = weights_at(network, at)
        aligned = _aligned(network, inputs, targets)
        loss, dense = loss_and_hessian([weights[0] @ aligned, *weights[1:]], inputs, targets)
        assert loss == pytest.approx(float(network["loss"][at]), rel=1e-12)
        assert float(dense.trace()) == pytest.approx(traces[at], rel=1e-12)
        operator = cv.hessian(problem(at_epoch(network, at), "linear"), backend="curvlinops")
        np.testing.assert_allclose(
            cv.dense_spectrum(operator).eigenvalues.numpy(),
            torch.linalg.eigvalsh(dense).numpy(),
            atol=1e-10 * float(dense.abs().max()),
        )


def _aligned(network, inputs, targets):
    """The signs by which a subset's whitened inputs differ from those of the set in its order."""
    moments = targets.T @ inputs / (len(inputs) * inputs.square().mean(dim=0).sqrt())
    signs = torch.sign((torch.from_numpy(network["target"]) * moments).sum(dim=0))
    np.testing.assert_allclose(network["target"], (moments * signs).numpy(), atol=1e-10)
    return torch.diag(signs)


def test_hutchinson_is_within_its_error(data):
    actual = (data["estimate"] - data["trace"]) / data["standard_error"]
    assert abs(actual).max() < 5
    assert 0.3 < np.sqrt((actual**2).mean()) < 2


def test_the_exact_trace_is_the_formula(trained, data):
    for network, item in zip(split(trained), networks(data), strict=True):
        for at in (0, -1):
            operator = cv.hessian(problem(at_epoch(network, at), "linear"))
            exact = float(item["trace"].isel(epoch=at))
            assert cv.trace(operator, "exact").value == pytest.approx(exact, rel=1e-12)


def test_each_epoch_has_probes_of_its_own(trained):
    item = at_epoch(split(trained)[0], 0)
    single, other, again = (
        measure_trace({"epoch": np.array(epoch)}, item, 20, seed=0) for epoch in (1, 2, 1)
    )
    assert single["estimate"] != other["estimate"]
    assert single == again


def test_a_network_that_diverges_keeps_what_came_before():
    settings = config(learning_rate=20.0, replicates=1)
    trained = study.train(settings, image_sets(only=20))
    exact, numeric = (side(settings, trained) for side in (study.closed_form, study.numerics))
    assert exact["diverged_at"] > 0
    assert exact["epoch"].equals(numeric["epoch"])
    assert (exact["epoch"] < exact["diverged_at"]).all()
    assert np.isfinite(exact["trace"]).all()
    assert np.isfinite(numeric["estimate"]).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"probes": 1}, "probes: expected at least 2, for a standard error, got 1"),
        ({"recorded": 0}, "recorded: expected at least 1, got 0"),
        (
            {"initialisation": "xavier"},
            "initialisation: expected balanced or kaiming, got 'xavier'",
        ),
        ({"samples": 0}, "samples: expected at least 1, got 0"),
        ({"depth": 1}, "depth: expected at least 2 layers, got 1"),
        ({"initial_range": [0.7, 0.3]}, "initial_range: expected two numbers"),
        ({"learning_rate": 0.0}, "learning_rate: expected a positive number"),
        ({"epochs": 0}, "epochs: expected at least 1, got 0"),
        ({"precision": "half"}, "precision: expected float32 or float64"),
    ],
)
def test_a_bad_setting_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        config(**changes)


def test_more_samples_than_there_are_is_named():
    with pytest.raises(ValueError, match="samples: expected at most 20, all of second, got 24"):
        study.train(config(samples=24), SETS)


def test_other_data_are_refused():
    with pytest.raises(ValueError, match="data: expected a data set of images, got one of x, y"):
        study.train(config(), samples(np.ones(3), np.ones(3)))


def test_the_figure_shows_every_network(data):
    drawn = figure.draw(data)
    assert len(drawn.axes) == 3 * 2
    # An error bar and a line for each of two replicates.
    trace = drawn.axes[0]
    assert [len(container) for container in trace.containers] == [3, 3]
    assert "(b) second, 20 images of 8 independent features" in figure.caption(data)


def test_the_figure_does_without_errors(data):
    exact = data.assign(standard_error=0 * data["standard_error"])
    assert len(figure.draw(exact).axes) == 3 * 2
    assert "all random probes give the same trace" in figure.caption(exact)


def test_classes_are_all_there(trained):
    for network in split(trained):
        assert network["target"].shape == (CLASSES, 8)

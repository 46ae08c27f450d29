"""Sums over pairs of singular values against the Hessian of all samples, wide and narrow."""

import numpy as np
import pytest
import torch
from small_images import CLASSES, image_sets, loss_and_hessian, whole_samples

from hessian_papers.networks.tools.images import split
from hessian_papers.studies.images.pair_sums_through_training import figure, study
from hessian_papers.studies.images.pair_sums_through_training.reading import Reading
from hessian_papers.studies.images.through_training import gather_epochs

RANK = 8  # of nine pixels one is constant
SETS = image_sets(first=24, second=20)


def config(**changes):
    fields = {
        "kind": "pair_sums_through_training",
        "paper": "anon2026data",
        "artifact": "Figure 4",
        "title": "test",
        "data": "test",
        "seed": 0,
        "samples": 20,
        "replicates": 1,
        "depth": 2,
        "width": 6,
        "input_scale": 1.5,
        "initialisation": "kaiming",
        "initial_range": [0.3, 0.7],
        "learning_rate": 0.05,
        "epochs": 1500,
        "precision": "float64",
        "recorded": 3,
        "narrow": 3,
        "top": 6,
        "tolerance": 1e-8,
    }
    return study.Config(**(fields | changes))


@pytest.fixture(scope="module")
def trained():
    return study.train(config(), SETS)


@pytest.fixture(scope="module")
def sides(trained):
    return study.closed_form(config(), trained), study.numerics(config(), trained)


@pytest.fixture(scope="module")
def reading(sides):
    return Reading(dict(zip(("closed_form", "numerics"), sides, strict=True)))


def test_networks_come_by_image_set_and_width(trained, sides):
    exact, numeric = (split(side) for side in sides)
    assert [(str(item["source"]), int(item["width"])) for item in exact] == [
        ("first", 6),
        ("first", 3),
        ("second", 6),
        ("second", 3),
    ]
    for network, item, other in zip(split(trained), exact, numeric, strict=True):
        assert item["epoch"].tolist() == other["epoch"].tolist() == [0, 1, 39, 1500]
        assert item["printed"].shape == item["corrected"].shape == other["hessian"].shape == (4, 6)
        assert (other["hessian_residual"] <= 1e-8).all()
        assert network["weights 1"].shape == (4, item["width"], RANK)


def test_no_narrow_network_where_none_is_asked_for():
    settings = config(narrow=0, epochs=1)
    exact = study.closed_form(settings, study.train(settings, SETS))
    assert [int(item["width"]) for item in split(exact)] == [6, 6]


def test_the_print_may_name_fewer_than_are_asked_for():
    settings = config(narrow=2, epochs=1)
    narrow = split(study.closed_form(settings, study.train(settings, SETS)))[1]
    assert narrow["printed_count"].tolist() == [4, 4]
    assert (narrow["printed"][:, :2] == 0).all()
    assert (narrow["printed"][:, 2:] > 0).all()


def test_all_eigenvalues_are_taken_where_there_are_fewer_than_asked_for():
    settings = config(top=50, width=3, narrow=1, epochs=30, recorded=1)
    networks = study.train(settings, SETS)
    reading = Reading(
        {
            "closed_form": study.closed_form(settings, networks),
            "numerics": study.numerics(settings, networks),
        }
    )
    parameters = {3: 3 * (RANK + CLASSES), 1: RANK + CLASSES}
    for network in reading.networks:
        assert network["hessian"].shape == (2, parameters[network.width])
        assert network.gauss_newton_error("corrected") < 1e-10
        # Of those that are zero there is no relative error, and the mean is of the others.
        errors = network.errors("corrected", "ggn")
        zero = network["corrected"] == 0
        assert np.isnan(errors[zero]).all()
        assert np.isfinite(network.error).all()
    assert len(figure.draw(reading).axes) == 8
    assert "nan" not in figure.caption(reading)


def test_both_widths_see_the_same_samples(trained):
    wide, narrow = split(trained)[:2]
    np.testing.assert_array_equal(wide["target"], narrow["target"])


def test_eigenvalues_are_those_of_all_samples():
    """Where the subset is the whole set; a rotation of the inputs leaves the spectrum alone."""
    settings = config(epochs=60)
    data = image_sets(only=20)
    trained = study.train(settings, data)
    numerics = study.numerics(settings, trained)
    inputs, targets = whole_samples(data, "only", settings.input_scale)
    for network, numeric in zip(split(trained), split(numerics), strict=True):
        signs = np.sign((network["target"] * (targets.T @ inputs).numpy()).sum(axis=0))
        for at in range(len(network["epoch"])):
            first = torch.from_numpy(network["weights 1"][at] * signs)
            last = torch.from_numpy(network["weights 2"][at])
            loss, dense = loss_and_hessian([first, last], inputs, targets)
            assert loss == pytest.approx(float(network["loss"][at]), rel=1e-12)
            top = torch.linalg.eigvalsh(dense)[-6:].numpy()
            np.testing.assert_allclose(numeric["hessian"][at], top, rtol=1e-9)


def test_corrected_sums_are_exact_for_the_gauss_newton_matrix(sides):
    for exact, numeric in zip(*map(split, sides), strict=True):
        np.testing.assert_allclose(exact["corrected"], numeric["ggn"], rtol=1e-9)
        np.testing.assert_allclose(exact["corrected_sum"], exact["trace"], rtol=1e-12)
        norms = (exact["spectral_norms"] ** 2).sum(axis=1) * config().input_scale ** 2
        np.testing.assert_allclose(exact["corrected"][:, -1], norms, rtol=1e-12)


def test_counts_of_both_index_sets(sides):
    for exact in split(sides[0]):
        first, last = min(int(exact["width"]), RANK), min(int(exact["width"]), CLASSES)
        count = RANK * CLASSES - (RANK - first) * (CLASSES - last)
        assert (exact["corrected_count"] == count).all()
        assert (exact["printed_count"] == first * last).all()


def test_the_print_fails_for_the_narrow_network_only(sides):
    for exact, numeric in zip(*map(split, sides), strict=True):
        error = np.abs(exact["printed"] / numeric["ggn"] - 1).max()
        assert error > 0.3 if exact["width"] == 3 else error < 1e-9


def test_a_network_of_too_low_rank_keeps_its_error(sides):
    """The residual is not 0, and the Hessian therefore not its Gauss-Newton part."""
    for exact, numeric in zip(*map(split, sides), strict=True):
        error = np.abs(exact["corrected"] / numeric["hessian"] - 1).mean(axis=1)
        excess = (exact["loss"][-1] - exact["floor"]) / (exact["loss"][0] - exact["floor"])
        if exact["width"] == 3:
            assert excess > 0.01
            assert error[-1] > 0.01
        else:
            assert excess < 1e-4
            assert error[-1] < 1e-4 * error[0]


def test_the_residual_of_least_rank_is_what_is_left(trained):
    """At its minimum a network of three hidden units leaves the fourth singular value of YXᵀ/n."""
    for network in split(trained):
        target = network["target"] * network["root"]
        product = network["weights 2"][-1] @ network["weights 1"][-1]
        residual = np.linalg.svd(product * network["root"] ** 2 - target, compute_uv=False)
        if len(network["weights 1"][-1]) == 3:
            (left,) = np.linalg.svd(target, compute_uv=False)[3:]
            assert residual[0] == pytest.approx(left, rel=0.02)


def test_epochs_are_gathered_by_network():
    def parts(*epochs):
        return [{"epoch": np.array(e), "hessian": np.array([float(e)])} for e in epochs]

    actual = split(gather_epochs(config(), parts(0, 1, 5) + parts(0, 2) + parts(0) + parts(0, 3)))
    assert [item["epoch"].tolist() for item in actual] == [[0, 1, 5], [0, 2], [0], [0, 3]]
    assert actual[1]["hessian"].tolist() == [[0.0], [2.0]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"depth": 3}, r"depth: expected 2: equation \(15\) is about two layers, got 3"),
        ({"narrow": -1}, "narrow: expected a width, or 0 for none, got -1"),
        ({"top": 0}, "top: expected at least 1, got 0"),
        ({"tolerance": 0.0}, "tolerance: expected a number from 1e-12 to 1e-06, got 0.0"),
        ({"width": 0}, "width: expected at least 1, got 0"),
        ({"tolerance": 1e-3}, "tolerance: expected a number from 1e-12"),
        ({"input_scale": 0.0}, "input_scale: expected a positive number from 1e-06"),
        ({"replicates": 0}, "replicates: expected at least 1, got 0"),
    ],
)
def test_a_bad_setting_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        config(**changes)


def test_the_figure_shows_every_network(reading):
    drawn = figure.draw(reading)
    assert len(drawn.axes) == 4 * 2
    hessian, gauss_newton = drawn.axes[0], drawn.axes[2]
    # Two index sets and the bound; two index sets.
    assert [len(line.get_xdata()) for line in hessian.lines] == [4, 4, 4]
    assert len(gauss_newton.lines) == 2
    texts = [text.get_text() for axes in drawn.axes for text in axes.texts]
    assert {"27 positive eigenvalues", "in print 9"} <= {*texts}
    assert f"over the {reading.top} largest" in figure.caption(reading)


def test_no_error_is_beyond_the_bound_that_is_drawn(reading):
    bound = figure.draw(reading).axes[0].lines[-1]
    assert bound.get_color() == figure.BOUND["color"]
    error = 100 * reading.networks[0].errors("corrected", "hessian").max(axis=1)
    assert (error <= bound.get_ydata() + 1e-5).all()
    for network in reading.networks:
        distance = np.abs(network["corrected"] - network["hessian"]).max(axis=1)
        assert (distance <= network.residual_bound + 1e-7).all()

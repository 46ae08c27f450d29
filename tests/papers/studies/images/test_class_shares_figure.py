"""Figures 1c and 2 show every network, and say which ones diverged."""

import numpy as np
import pytest
from claims_contract import planted_data

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.images.class_shares import figure as figures
from hessian_papers.studies.images.class_shares.study import VARIABLES
from hessian_spectra.pictures import style
from tests.pipelines.marks import undrawn

BALANCED = "whitened-balanced-linear"
ABLATIONS = ("raw-balanced-linear", "whitened-kaiming-linear", "whitened-balanced-tanh")
SOURCES = ("mnist", "fashion-mnist", "cifar10-train")


def arrays(cases, sizes=(5000,), replicates=3):
    """Three image sets; the third has large shares in small subsets only, as CIFAR-10."""
    rows = [
        {"source": source, "case": case, "samples": n, "share": share, "replicate": replicate}
        for source in SOURCES
        for case in cases
        for n in sizes
        for share in (0.1, 0.2, 0.39, 0.6, 0.9)
        if not (source == SOURCES[2] and n == 5000 and share > 0.4)
        for replicate in range(replicates)
    ]
    actual = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    whitened = np.char.startswith(actual["case"], "whitened-") & (actual["case"] != ABLATIONS[2])
    rng = np.random.default_rng(0)
    actual["labels"] = 4 * actual["share"] ** 0.75
    actual["fit"] = np.where(whitened, actual["labels"] * 0.9, np.nan)
    actual["bound"] = actual["fit"] * 1.2
    actual["first_layer"] = np.where(actual["case"] == ABLATIONS[2], np.nan, actual["labels"] / 2)
    actual["floor"] = np.where(actual["samples"] > 500, 0.1, 1e-18)
    actual["defect"] = rng.uniform(1e-4, 0.1, size=(len(rows), 2))
    actual["diverged_at"] = np.full(len(rows), -1)
    actual |= {"time": np.array(["start", "end"]), "edge": np.array(200.0)}
    sharpness = actual["labels"] * rng.uniform(0.85, 0.95, size=len(rows))
    measured = {"sharpness": sharpness, "ggn": sharpness * (1 + 1e-4)}
    return actual, measured | {"residual": np.full(len(rows), 1e-6)}


def data_of(closed_form, numerics):
    return planted_data({"closed_form": closed_form, "numerics": numerics}, VARIABLES)


def points(axes):
    """All marked points ``(points, 2)`` of a panel."""
    lines = [line for line in axes.lines if line.get_marker() not in ("None", None)]
    return np.concatenate([np.column_stack(line.get_data()) for line in lines])


def assert_same_points(axes, x, y):
    actual = points(axes)
    wanted = np.column_stack([x, y])
    np.testing.assert_allclose(
        actual[np.lexsort(actual.T)], wanted[np.lexsort(wanted.T)], rtol=1e-12, atol=1e-15
    )


def test_one_case_shows_every_network():
    closed_form, numerics = arrays([BALANCED], (5000, 500, 2000))
    data = data_of(closed_form, numerics)
    (panel,), (over, sizes, errors) = figures.draw(data).axes, figures.controls(data)[0].axes
    main = closed_form["samples"] == 5000
    share, sharpness = closed_form["share"], numerics["sharpness"]
    ratio = sharpness / closed_form["labels"]
    assert_same_points(panel, share[main], sharpness[main])
    assert_same_points(over, share[main], ratio[main])
    assert sorted(points(sizes)[:, 1]) == pytest.approx(sorted(ratio))
    both = [np.abs(sharpness / closed_form[name] - 1) for name in ("labels", "fit")]
    assert_same_points(errors, np.tile(share, 2), np.concatenate(both))
    # Eq. (14) is drawn as a power of the share.
    (curve,) = [line for line in panel.lines if line.get_color() == style.BLACK]
    share, sharpness = curve.get_data()
    np.testing.assert_allclose(sharpness, 4 * share**0.75)


def test_each_of_several_cases_has_its_panel():
    closed_form, numerics = arrays(ABLATIONS)
    data = data_of(closed_form, numerics)
    axes = figures.draw(data).axes
    titles = [axe.get_title(loc="left") for axe in axes]
    assert titles == ["(a) raw inputs", "(b) Kaiming initialisation", "(c) Tanh layers"]
    for axe, case in zip(axes, ABLATIONS, strict=True):
        rows = closed_form["case"] == case
        assert_same_points(axe, closed_form["share"][rows], numerics["sharpness"][rows])
    over, _, gauss_newton = figures.controls(data)[0].axes
    ratio = numerics["sharpness"] / closed_form["labels"]
    assert_same_points(over, closed_form["share"], ratio)
    assert points(gauss_newton)[:, 1] == pytest.approx(1e-4)


@pytest.mark.parametrize("cases", [[BALANCED], ABLATIONS])
@pytest.mark.parametrize("sizes", [(5000,), (5000, 500)])
def test_captions_name_the_images_and_the_marks_that_are_drawn(cases, sizes):
    data = data_of(*arrays(cases, sizes))
    drawn, caption = figures.draw(data), figures.caption(data)
    assert f"None of {data.sizes['network']} networks diverged" in caption
    assert "5000 images of MNIST, Fashion-MNIST, CIFAR-10" in caption
    for figure, text in ((drawn, caption), figures.controls(data)):
        assert undrawn(figure, text) == []
        assert all(axes.get_xlabel() and axes.get_ylabel() for axes in figure.axes)
    # The legend names no formula that is not there.
    names = [text.get_text() for text in drawn.legends[0].texts]
    assert ("first layer (raw inputs)" in names) == (len(cases) > 1)


def test_diverged_networks_are_counted_not_drawn():
    closed_form, numerics = arrays(ABLATIONS)
    gone = (closed_form["case"] == ABLATIONS[0]) & (closed_form["source"] == SOURCES[2])
    closed_form["diverged_at"][gone] = 7
    for array in numerics.values():
        array[gone] = np.nan
    data = data_of(closed_form, numerics)
    axes = figures.draw(data).axes[0]
    assert [text.get_text() for text in axes.texts] == ["9 of 39 diverged"]
    assert np.isfinite(points(axes)[:, 1]).sum() == 30
    caption = figures.caption(data)
    assert "9 of 117 networks diverged" in caption
    assert "nan" not in caption


@pytest.mark.parametrize("cases", [[BALANCED], ABLATIONS])
def test_without_any_network_the_curve_is_left(cases):
    closed_form, numerics = arrays(cases)
    closed_form["diverged_at"][:] = 7
    for array in numerics.values():
        array[:] = np.nan
    data = data_of(closed_form, numerics)
    (axes,) = figures.draw(data).axes
    assert axes.get_title() == "eq. (14); no network has a sharpness"
    count = len(closed_form["share"])
    assert f"{count} of {count} networks diverged" in figures.caption(data)
    with pytest.raises(NothingToMeasure, match="no network has a sharpness"):
        figures.controls(data)


@pytest.mark.parametrize("cases", [[BALANCED], ABLATIONS])
def test_an_image_set_of_which_all_diverged_leaves_the_others(cases):
    closed_form, numerics = arrays(cases, (5000, 500))
    gone = closed_form["source"] == SOURCES[1]
    closed_form["diverged_at"][gone] = 7
    for array in numerics.values():
        array[gone] = np.nan
    data = data_of(closed_form, numerics)
    assert figures.draw(data).axes
    assert figures.controls(data)[0].axes
    assert f"{gone.sum()} of {len(gone)} networks diverged" in figures.caption(data)


def test_networks_whose_weights_vanished_have_no_ratio():
    closed_form, numerics = arrays(ABLATIONS)
    numerics["sharpness"][::2] = numerics["ggn"][::2] = 0.0
    data = data_of(closed_form, numerics)
    assert figures.draw(data).axes
    assert figures.controls(data)[0].axes
    assert "nan" not in figures.caption(data)


def test_a_case_without_least_squares_has_a_caption():
    text = figures.caption(data_of(*arrays(ABLATIONS[-1:])))
    assert "in which one class has a given share" in text
    assert "Thin lines" not in text


def test_many_cases_stand_in_rows_of_three():
    cases = [f"{x}-{w}-{phi}" for x in ("whitened", "raw") for w in ("balanced", "kaiming")
             for phi in ("linear", "tanh")]  # fmt: skip
    axes = figures.draw(data_of(*arrays(cases, replicates=1))).axes
    assert [axe.get_visible() for axe in axes] == [True] * 8 + [False]
    assert axes[7].get_title(loc="left") == "(h) raw inputs, Kaiming initialisation, Tanh layers"

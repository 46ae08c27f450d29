"""Figures 1c and 2 show every network, and say which ones diverged."""

import numpy as np
import pytest
from claims_contract import planted_data

from hessian_papers.studies.images.class_shares import figure as figures
from hessian_papers.studies.images.class_shares.study import VARIABLES
from hessian_spectra.pictures import style

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


def draw(closed_form, numerics):
    return figures.draw(planted_data({"closed_form": closed_form, "numerics": numerics}, VARIABLES))


def caption_of(closed_form, numerics):
    return figures.caption(
        planted_data({"closed_form": closed_form, "numerics": numerics}, VARIABLES)
    )


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
    top_left, top_right, sizes, errors = draw(closed_form, numerics).axes
    main = closed_form["samples"] == 5000
    share, sharpness = closed_form["share"], numerics["sharpness"]
    ratio = sharpness / closed_form["labels"]
    assert_same_points(top_left, share[main], sharpness[main])
    assert_same_points(top_right, share[main], ratio[main])
    assert sorted(points(sizes)[:, 1]) == pytest.approx(sorted(ratio))
    both = [np.abs(sharpness / closed_form[name] - 1) for name in ("labels", "fit")]
    assert_same_points(errors, np.tile(share, 2), np.concatenate(both))


def test_eq_14_is_drawn_as_a_power_of_the_share():
    closed_form, numerics = arrays([BALANCED])
    axes = draw(closed_form, numerics).axes[0]
    (curve,) = [line for line in axes.lines if line.get_color() == style.BLACK]
    share, sharpness = curve.get_data()
    np.testing.assert_allclose(sharpness, 4 * share**0.75)


def test_each_of_several_cases_has_its_panel():
    closed_form, numerics = arrays(ABLATIONS)
    axes = draw(closed_form, numerics).axes
    titles = [axe.get_title(loc="left") for axe in axes]
    assert titles[:3] == ["(a) raw inputs", "(b) Kaiming initialisation", "(c) Tanh layers"]
    for axe, case in zip(axes, ABLATIONS, strict=False):
        rows = closed_form["case"] == case
        assert_same_points(axe, closed_form["share"][rows], numerics["sharpness"][rows])
    ratio = numerics["sharpness"] / closed_form["labels"]
    assert_same_points(axes[3], closed_form["share"], ratio)


def test_diverged_networks_are_counted_not_drawn():
    closed_form, numerics = arrays(ABLATIONS)
    gone = (closed_form["case"] == ABLATIONS[0]) & (closed_form["source"] == SOURCES[2])
    closed_form["diverged_at"][gone] = 7
    for array in numerics.values():
        array[gone] = np.nan
    axes = draw(closed_form, numerics).axes[0]
    assert [text.get_text() for text in axes.texts] == ["9 of 39 diverged"]
    assert np.isfinite(points(axes)[:, 1]).sum() == 30
    caption = caption_of(closed_form, numerics)
    assert "9 of 117 networks diverged" in caption
    assert "nan" not in caption


def test_the_caption_names_the_images():
    closed_form, numerics = arrays([BALANCED], (5000, 500))
    numerics["sharpness"] = closed_form["labels"] * np.where(closed_form["floor"] > 0.01, 0.75, 0.9)
    caption = caption_of(closed_form, numerics)
    assert f"None of {len(closed_form['share'])} networks diverged" in caption
    assert "MNIST, Fashion-MNIST, CIFAR-10" in caption


@pytest.mark.parametrize("cases", [[BALANCED], ABLATIONS])
def test_without_any_network_the_curve_is_left(cases):
    closed_form, numerics = arrays(cases)
    closed_form["diverged_at"][:] = 7
    for array in numerics.values():
        array[:] = np.nan
    (axes,) = draw(closed_form, numerics).axes
    assert axes.get_title() == "eq. (14); no network has a sharpness"
    count = len(closed_form["share"])
    assert f"{count} of {count} networks diverged" in caption_of(closed_form, numerics)


def test_networks_whose_weights_vanished_have_no_ratio():
    closed_form, numerics = arrays(ABLATIONS)
    numerics["sharpness"][::2] = numerics["ggn"][::2] = 0.0
    assert draw(closed_form, numerics).axes
    assert "nan" not in caption_of(closed_form, numerics)


def test_a_case_without_least_squares_has_a_caption():
    text = caption_of(*arrays(ABLATIONS[-1:]))
    assert "in which one class has a given share" in text


def test_many_cases_stand_in_rows_of_three():
    cases = [f"{x}-{w}-{phi}" for x in ("whitened", "raw") for w in ("balanced", "kaiming")
             for phi in ("linear", "tanh")]  # fmt: skip
    axes = draw(*arrays(cases, replicates=1)).axes
    assert len(axes) == 12
    assert [axe.get_visible() for axe in axes] == [True] * 8 + [False] + [True] * 3
    assert axes[-1].get_title(loc="left") == "(k) Gauss-Newton matrix"


@pytest.mark.parametrize("cases", [[BALANCED], ABLATIONS])
def test_networks_that_all_diverged_are_a_figure_too(cases):
    closed_form, numerics = arrays(cases, (5000, 500))
    gone = closed_form["source"] == SOURCES[1]
    closed_form["diverged_at"][gone] = 7
    for array in numerics.values():
        array[gone] = np.nan
    assert draw(closed_form, numerics).axes
    assert f"{gone.sum()} of {len(gone)} networks diverged" in caption_of(closed_form, numerics)

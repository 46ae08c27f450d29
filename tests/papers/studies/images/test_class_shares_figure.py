"""Figures 1c and 2 show every network, and say which ones diverged."""

import numpy as np
import pytest
from claims_contract import planted_data
from planted_shares import ABLATIONS, BALANCED, TANH, kept, networks

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.images.class_shares import figure as figures
from hessian_papers.studies.images.class_shares.study import VARIABLES
from hessian_spectra.pictures import style

SOURCES = ("mnist", "fashion-mnist", "cifar10-train")


def arrays(cases, sizes=(5000,), replicates=3):
    """Three image sets; the third has large shares in small subsets only, as CIFAR-10."""
    shares = (0.1, 0.2, 0.39, 0.6, 0.9)
    sides = networks(cases, sizes, shares, range(replicates), SOURCES)
    every = sides["closed_form"]
    large = (every["samples"] == 5000) & (every["share"] > 0.4)
    actual, measured = kept(sides, ~(large & (every["source"] == SOURCES[2]))).values()
    whitened = np.char.startswith(actual["case"], "whitened-") & (actual["case"] != TANH)
    rng = np.random.default_rng(0)
    actual["fit"] = np.where(whitened, actual["labels"] * 0.9, np.nan)
    actual["bound"] = actual["fit"] * 1.2
    actual["first_layer"] = np.where(actual["case"] == TANH, np.nan, actual["first_layer"])
    actual["floor"] = np.where(actual["samples"] > 500, 0.1, 1e-18)
    actual["defect"] = rng.uniform(1e-4, 0.1, size=(len(whitened), 2))
    actual |= {"diverged_at": np.full(len(whitened), -1), "edge": np.array(200.0)}
    sharpness = actual["labels"] * rng.uniform(0.85, 0.95, size=len(whitened))
    measured |= {"sharpness": sharpness, "ggn": sharpness * (1 + 1e-4)}
    return actual, measured | {"residual": np.full(len(whitened), 1e-6)}


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


def diverged(cases, gone, sizes=(5000,)):
    """The data set in which some networks diverged."""
    closed_form, numerics = arrays(cases, sizes)
    rows = gone(closed_form)
    closed_form["diverged_at"][rows] = 7
    for name in ("sharpness", "ggn", "residual"):
        numerics[name][rows] = np.nan
    return data_of(closed_form, numerics), int(rows.sum())


def test_diverged_networks_are_counted_not_drawn():
    data, count = diverged(
        ABLATIONS, lambda rows: (rows["case"] == ABLATIONS[0]) & (rows["source"] == SOURCES[2])
    )
    axes = figures.draw(data).axes[0]
    assert [text.get_text() for text in axes.texts] == [f"{count} of 39 diverged"]
    assert np.isfinite(points(axes)[:, 1]).sum() == 39 - count
    caption = figures.caption(data)
    assert f"{count} of 117 networks diverged" in caption
    assert "nan" not in caption


@pytest.mark.parametrize("cases", [[BALANCED], ABLATIONS])
def test_an_image_set_of_which_all_diverged_leaves_the_others(cases):
    data, count = diverged(cases, lambda rows: rows["source"] == SOURCES[1], (5000, 500))
    assert figures.draw(data).axes
    assert figures.controls(data)[0].axes
    assert f"{count} of {data.sizes['network']} networks diverged" in figures.caption(data)
    nothing, count = diverged(cases, lambda rows: rows["replicate"] >= 0)
    for draw in (figures.draw, figures.controls):
        with pytest.raises(
            NothingToMeasure, match=f"no network has a sharpness: {count} of {count}"
        ):
            draw(nothing)


def test_networks_whose_weights_vanished_have_no_ratio():
    closed_form, numerics = arrays(ABLATIONS)
    numerics["sharpness"][::2] = numerics["ggn"][::2] = 0.0
    data = data_of(closed_form, numerics)
    for figure, text in ((figures.draw(data), figures.caption(data)), figures.controls(data)):
        assert figure.axes
        assert "nan" not in text

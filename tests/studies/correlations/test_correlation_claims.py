"""Measures of the correlation claims find what was planted, and see it where it is not."""

import importlib

import numpy as np
import pytest
import scipy.stats
from ensemble_arrays import NORMS, ensemble

from hessian_spectra.studies.correlations.norm_correlation import reading as measures
from hessian_spectra.studies.correlations.norm_correlation import study as norm_correlation
from hessian_spectra.studies.correlations.norm_correlation.claims import claims
from hessian_spectra.studies.correlations.sharpness_bounds import claims as bounds
from hessian_spectra.studies.correlations.sharpness_bounds import study as sharpness_bounds

PARAMETRISATIONS = ("sp", "mup", "ntp")
WIDE = ("cracking-fig4", "cracking-fig14", "cracking-fig15", "cracking-fig16", "cracking-fig26")
DEEP = tuple(f"cracking-fig{number}" for number in range(17, 23))


def study(networks, **changes):
    """The arrays of a study on networks of all parametrisations."""
    fields = {
        "kind": "norm_correlation",
        "paper": "singh2026cracking",
        "artifact": "test",
        "title": "test",
        "ensemble": "test",
        "seed": 0,
        "target": "sharpness",
        "quantities": ["matrices"],
        "norms": list(NORMS),
        "highlighted": "spectral",
        "parametrisations": list(PARAMETRISATIONS),
        "along": "size",
        "depths": [2],
        "sizes": [],
        "resamples": 200,
        "confidence": 0.95,
    }
    config = norm_correlation.Config(**(fields | changes))
    return norm_correlation.correlation(config, networks)


def along_depth(networks, **changes):
    chosen = {"along": "depth", "depths": [], "sizes": [3]}
    return study(networks, **(chosen | changes))


@pytest.fixture(scope="module")
def wide():
    return ensemble(PARAMETRISATIONS, sizes=(1, 3, 5), networks=40)


@pytest.fixture(scope="module")
def deep():
    return ensemble(PARAMETRISATIONS, depths=(2, 3, 4), sizes=(3,), networks=40)


def planted(networks, name, layer, norm, noise=0.3):
    """Networks whose sharpness and trace are one squared norm, up to noise."""
    square = networks[name][..., layer, NORMS.index(norm)] ** 2
    deviation = np.nanstd(square, axis=-1, keepdims=True)
    draw = np.random.default_rng(0).normal(size=square.shape)
    target = square + noise * deviation * draw
    return networks | {"sharpness": target, "trace": target}


def measured(study_name, arrays, part):
    """The estimates of the claims whose name holds a text."""
    found = {c.id: c.measure(arrays) for c in claims(study_name) if part in c.id}
    assert found
    return found


@pytest.mark.parametrize(
    ("norm", "leads"), [("spectral", True), ("frobenius", False), ("nuclear", False)]
)
def test_the_leading_norm_is_found(wide, norm, leads):
    arrays = study(planted(wide, "norms", 0, norm))
    for found in measured("cracking-fig4", arrays, "spectral-most").values():
        assert found.low > 0 if leads else found.high < 0
    for name, found in measured("cracking-fig26", arrays, "frobenius-over").items():
        if norm == "frobenius":
            assert found.low > 0
        elif norm in name:
            assert found.high < 0


@pytest.mark.parametrize("layer", [0, 1])
def test_the_driving_matrix_is_found(wide, layer):
    arrays = study(planted(wide, "norms", layer, "spectral"))
    for name, found in measured("cracking-fig4", arrays, "-matrix-").items():
        drives = ("first" in name) == (layer == 0)
        assert found.low > 0.2 if drives else found.high < -0.2
    (mup,) = [c for c in claims("cracking-fig4") if c.printed is not None]
    assert mup.measure_printed(arrays).value == pytest.approx(-mup.measure(arrays).value)


def test_the_strongest_norm_is_found(wide):
    arrays = study(planted(wide, "norms", 1, "frobenius", noise=0.1))
    for found in measured("cracking-fig4", arrays, "weak-where-similar").values():
        assert found.value > 0.9
    shuffled = wide | {"sharpness": wide["sharpness"][:, :, ::-1].copy()}
    for found in measured("cracking-fig4", study(shuffled), "weak-where-similar").values():
        assert found.value < 0.5


def test_the_weakest_norm_is_found(wide):
    arrays = study(planted(wide, "norms", 0, "nuclear", noise=0.1))
    for found in measured("cracking-fig26", arrays, "all-norms").values():
        r = arrays["mean_best_correlation"]
        assert found.value in r[:, 0].min(axis=-1)
        assert found.value < 0.97


def test_the_weaker_matrix_is_found(wide):
    arrays = study(planted(wide, "norms", 1, "spectral"))
    (found,) = measured("cracking-fig14", arrays, "both-matrices").values()
    row = PARAMETRISATIONS.index("ntp")
    assert found.value == arrays["mean_correlation"][row, 0, 1, 0, 0]
    assert found.low < found.value < found.high


@pytest.mark.parametrize("best", ["alignments", "matrices"])
def test_groups_are_compared(wide, deep, best):
    if best == "alignments":
        aligned = wide["alignments"][..., 0] + 0.05 * wide["alignments"][..., 2]
        networks = wide | {"sharpness": aligned}
    else:
        networks = planted(wide, "norms", 0, "spectral", noise=0.1)
    arrays = study(networks, quantities=["alignments", "matrices"])
    for found in measured("cracking-fig15", arrays, "alignment").values():
        assert found.low > 0 if best == "alignments" else found.high < 0
    name = "products" if best == "alignments" else "norms"
    arrays = along_depth(planted(deep, name, 1, "spectral"), quantities=["matrices", "products"])
    for found in measured("cracking-fig19", arrays, "products-more").values():
        assert found.high < 0 if name == "products" else found.low > 0


@pytest.mark.parametrize("where", ["larger", "similar"])
def test_regions_are_compared(wide, where):
    # The first matrix drives in one region, the second in the other.
    first, second = (wide["norms"][..., layer, 0] ** 2 for layer in (0, 1))
    ratio = np.median(wide["norms"][:, 0, :, 0, 1] / wide["norms"][:, 0, :, 1, 1], axis=-1)
    driven = (ratio > 1.5) == (where == "larger")
    arrays = study(wide | {"sharpness": np.where(driven[:, None, None], first, second)})
    for found in measured("cracking-fig4", arrays, "magnitude-drives").values():
        assert found.low > 0.5 if where == "larger" else found.high < -0.5


def test_the_furthest_is_found(wide):
    arrays = study(planted(wide, "norms", 0, "spectral", noise=0.1))
    (found,) = measured("cracking-fig16", arrays, "spectral-between").values()
    r = arrays["mean_correlation"][:, 0, :, 0, 0]
    assert found.value == np.abs(r - 0.5).max()
    assert found.low <= found.value <= found.high


@pytest.mark.parametrize("last", [True, False])
def test_the_leading_product_is_found(deep, last):
    networks = dict(deep)
    square = deep["products"][..., 0] ** 2
    for point, depth in enumerate(deep["depth"]):
        chosen = square[point, ..., depth - 1 if last else 0]
        networks["sharpness"] = networks["sharpness"].copy()
        networks["sharpness"][point] = chosen
    arrays = along_depth(networks, quantities=["products"])
    for found in measured("cracking-fig17", arrays, "last-most").values():
        assert found.value > 0.2 if last else found.value < -0.2
    (least,) = measured("cracking-fig17", arrays, "everywhere").values()
    assert least.value == np.nanmin(arrays["last_lead"][:, :, 1, 0])


def test_the_last_product_is_followed(deep):
    arrays = along_depth(deep, quantities=["products"])
    found = measured("cracking-fig18", arrays, "last-well")["cracking-fig18/last-well-mup"]
    r = arrays["correlation"][1, :, 1, :, 0]
    assert found.value == min(r[position, depth - 1] for position, depth in enumerate((2, 3, 4)))


def test_two_layers_have_the_same_products(deep):
    arrays = along_depth(deep, quantities=["matrices", "products"])
    assert measures.two_layer_difference(arrays) < 1e-9
    r = arrays["correlation"].copy()
    r[0, 0, 0, 0, 0] += 1e-3
    assert measures.two_layer_difference(arrays | {"correlation": r}) == pytest.approx(1e-3)


def ratios(**factors):
    """The study of the bounds on networks whose sharpness is a multiple of one of the formulas."""
    networks = ensemble(PARAMETRISATIONS, sizes=(1, 3), noise=0.01)
    for name, factor in factors.items():
        networks["sharpness"] = factor * networks[name]
    config = sharpness_bounds.Config(
        kind="sharpness_bounds",
        paper="singh2026cracking",
        artifact="test",
        title="test",
        ensemble="test",
        seed=0,
        parametrisations=list(PARAMETRISATIONS),
        along="size",
        depths=[2],
        sizes=[],
    )
    return sharpness_bounds.correlation(config, networks)


@pytest.mark.parametrize("factor", [0.7, 1.0, 1.3])
def test_the_smallest_ratio_is_found(factor):
    assert bounds.smallest_ratio(ratios(largest_block=factor)) == pytest.approx(factor)


def test_the_sum_is_closer_where_it_is():
    for time in ("initialisation", "trained"):
        share, low, high = bounds.share_closer(ratios(ggn_sum=1.0), time)
        assert share == pytest.approx(high) == 1
        assert 0.8 < low < 1
        assert bounds.share_closer(ratios(largest_block=1.0), time).value == 0
    share, low, high = bounds.share_closer(ratios(), "initialisation")
    expected = scipy.stats.binomtest(round(share * 72), 72).proportion_ci(method="wilson")
    np.testing.assert_allclose((low, high), expected, atol=1e-6)


def test_the_typical_error_is_found():
    for factor in (0.8, 1.3):
        found = bounds.typical_error(ratios(ggn_sum=factor), "sum", "mup", "trained")
        np.testing.assert_allclose(found, abs(factor - 1), atol=1e-9)
    around = bounds.typical_error(ratios(), "sum", "sp", "trained")
    assert around.low <= around.value <= around.high


@pytest.mark.parametrize("name", [*WIDE, *DEEP, "cracking-d33"])
def test_claims_are_complete(name):
    kind = "sharpness_bounds" if name == "cracking-d33" else "norm_correlation"
    entries = importlib.import_module(f"hessian_spectra.claims.{kind}").claims(name)
    assert entries
    assert not [problem for claim in entries for problem in claim.problems()]
    assert all(claim.study == name and claim.id.startswith(f"{name}/") for claim in entries)
    assert all(claim.sides == ("correlation",) for claim in entries)
    assert all("Statistic: " in claim.statement for claim in entries)

"""Spectra of a data set: which eigenvalues are of a kind, their ranks, and their error."""

import numpy as np
import pytest

from hessian_papers.labelled import Variable, data_set
from hessian_papers.results import stacked
from hessian_papers.studies.spectra import (
    error,
    group,
    of_closed_form,
    ranks,
    spectra,
    variables,
)
from hessian_spectra.closed_form import two_layer_linear

CELLS = ("negative", "positive")


def networks(widths=(3, 2)):
    """The data set of networks of different widths, with kinds and cells that are known."""
    draw = np.random.default_rng(0)
    longest = 2 * max(widths)
    exact = np.full((len(widths), longest), np.nan)
    kinds, cells = np.full_like(exact, "", dtype="U8"), np.full_like(exact, "", dtype="U8")
    for row, width in enumerate(widths):
        exact[row, : 2 * width] = np.sort(draw.normal(size=2 * width))
        kinds[row, : 2 * width] = ["outlier"] + ["bulk"] * (2 * width - 2) + ["outlier"]
        cells[row, : 2 * width] = [CELLS[rank % 2] for rank in range(2 * width)]
    declared = {"network": Variable("network", "its width"), **variables("network")}
    names = np.array([f"m={width}" for width in widths])
    arrays = {"network": names, "exact": exact, "numerical": exact, "kind": kinds, "cell": cells}
    return data_set(arrays, declared)


def test_a_closed_form_is_a_row_of_each_array():
    exact = (two_layer_linear(w=[k, 0.0], v=[k, 0.0], x=[1.0], y=[0.0]) for k in (1.0, 0.5))
    data = data_set(
        stacked([of_closed_form(each.arrays()) for each in exact]), variables("network")
    )
    assert data["exact"].dims == data["kind"].dims == data["cell"].dims == ("network", "rank")
    np.testing.assert_allclose(group(data, "outlier").isel(network=0), [-1, 3])
    np.testing.assert_allclose(group(data, "bulk").isel(network=0), [-1, 1])


def test_spectra_of_one_label_have_no_ranks_of_the_others():
    data = networks()
    assert spectra(data, network="m=2").sizes == {"rank": 4}
    assert spectra(data, network="m=3").sizes == {"rank": 6}
    assert not spectra(data, network="m=2")["exact"].isnull().any()
    # Without a label as many ranks as the longest has.
    assert spectra(data).sizes["rank"] == 6


@pytest.mark.parametrize("width", [2, 5])
def test_kinds_and_cells_divide_a_spectrum(width):
    data = networks([width])
    parts = [group(data, kind, cell) for kind in ("outlier", "bulk") for cell in CELLS]
    together = np.sort(np.concatenate([part.values[0] for part in parts]))
    np.testing.assert_array_equal(together, data["exact"].values[0])
    for part in parts:
        np.testing.assert_array_equal(part, np.sort(part))


def test_ranks_say_where_in_the_spectrum_a_kind_is():
    data = networks([3])
    assert ranks(data, "outlier").values.tolist() == [[1, 6]]
    assert ranks(data, "bulk", "positive").values.tolist() == [[2, 4]]
    # Of the numerical spectrum those at the same places.
    shifted = data.assign(numerical=data["numerical"] + 1)
    np.testing.assert_array_equal(group(shifted, "bulk", of="numerical"), group(data, "bulk") + 1)
    np.testing.assert_array_equal(
        group(data, "bulk", of=abs(data["exact"])), abs(group(data, "bulk"))
    )


def test_different_numbers_of_a_kind_are_no_rectangle():
    with pytest.raises(ValueError, match=r"expected as many of a kind everywhere, got \[2 4\]"):
        group(networks(), "bulk")


def test_an_error_is_relative_to_the_largest_eigenvalue_of_each_spectrum():
    data = networks([2, 2])
    assert error(data).values.tolist() == [0, 0]
    largest = abs(data["numerical"]).max("rank").values
    moved = data["exact"].copy()
    moved.values[1, 1] += 0.25
    expected = [0, 0.25 / largest[1]]
    np.testing.assert_allclose(error(data.assign(exact=moved)), expected, atol=1e-15)
    assert error(data).dims == ("network",)

"""Paired eigenvalues: the data, the networks, what is known, what chance does."""

import numpy as np
import pytest
import torch
import xarray as xr
from fan_out_contract import contract
from paired_arrays import CASES, config, features, sides

from hessian_papers.labelled import arrays_of
from hessian_papers.studies.correlations.paired_eigenvalues import study
from hessian_spectra import curvature as cv
from hessian_spectra.models import HalfSquaredError


@pytest.fixture(scope="module")
def two_layers():
    actual = sides()
    return actual["closed_form"], actual["numerics"]


class TestData:
    def test_decorrelated_features_and_target_are_orthonormal(self):
        data = arrays_of(features())
        # As many features as there can be.
        x, y = study.prepared("decorrelated", data["x"][:17, :15], data["y"][:17])
        table = np.column_stack([x, y])
        np.testing.assert_allclose(table.mean(axis=0), 0, atol=1e-13)
        np.testing.assert_allclose(table.T @ table / 17, np.eye(16), atol=1e-13)

    def test_normalised_ones_keep_their_correlations(self):
        data = arrays_of(features())
        x, y = study.prepared("normalised", data["x"], data["y"])
        table = np.column_stack([x, y])
        np.testing.assert_allclose(table.mean(axis=0), 0, atol=1e-13)
        np.testing.assert_allclose(table.std(axis=0), 1, rtol=1e-13)
        expected = np.corrcoef(np.column_stack([data["x"], data["y"]]).T)
        np.testing.assert_allclose(np.corrcoef(table.T), expected, atol=1e-13)

    def test_the_first_feature_keeps_its_direction(self):
        data = arrays_of(features())
        x, y = study.prepared("decorrelated", data["x"], data["y"])
        assert np.corrcoef(y, data["y"])[0, 1] == pytest.approx(1)
        assert np.corrcoef(x[:, 0], data["x"][:, 0])[0, 1] > 0.9


def point(parametrisation, activation, depth=2, width=6, size=3, seed=0):
    case, data = f"{parametrisation}-normalised", {"x": np.ones((1, size)), "y": np.ones(1)}
    common = {"activation": activation, "depth": depth, "width": width, "seed": seed}
    return study.Point(case=case, **common, **data)


class TestNetworks:
    @pytest.mark.parametrize("depth", [2, 4])
    def test_orthogonal_ones_have_orthonormal_columns_in_all_layers_but_the_last(self, depth):
        ensemble = point("orthogonal", "relu", depth).networks([0, 1, 2])
        for weight in ensemble.weights[:-1]:
            columns = weight.shape[2]
            identity = torch.eye(columns, dtype=torch.float64).expand(3, columns, columns)
            torch.testing.assert_close(weight.mT @ weight, identity, rtol=0, atol=1e-14)
        standard = point("sp", "relu", depth).networks([0, 1, 2])
        assert torch.equal(ensemble.weights[-1], standard.weights[-1])
        assert standard.sizes == ensemble.sizes == (3, *[6] * (depth - 1), 1)

    def test_a_network_is_the_same_in_any_company(self):
        networks = point("orthogonal", "linear").networks
        for weights, weight in zip(networks(range(5)).weights, networks([4]).weights, strict=True):
            torch.testing.assert_close(weights[4:], weight, rtol=0, atol=1e-15)

    def test_widths_and_sizes_have_draws_of_their_own(self):
        first, second = (
            point("sp", "linear", 2, 4, size).networks([0]).weights[0] for size in (1, 2)
        )
        assert not torch.isclose(first.flatten()[:2], second.flatten()[:2] * 2**0.5).any()


class TestNumbers:
    @pytest.mark.parametrize("activation", ["linear", "relu"])
    def test_distances_are_those_of_all_pairs_of_the_dense_spectrum(self, activation):
        settings = config(activation=activation, widths=[5], samples=[20], sizes=[3], networks=3)
        numeric = study.numerics(settings, features())
        for case in CASES:
            parametrisation, kind = case.split("-")
            data = arrays_of(features())
            x, y = study.prepared(kind, data["x"][:20, :3], data["y"][:20])
            x, y = torch.from_numpy(x), torch.from_numpy(y)[:, None]
            ensemble = point(parametrisation, activation, 2, 5, 3, seed=3).networks(range(3))
            for network in range(3):
                own = numeric.sel(case=case, width=5, size=3, network=network)
                problem = cv.Problem(ensemble.network(network), HalfSquaredError(), [(x, y)])
                values = cv.dense_spectrum(cv.hessian(problem)).eigenvalues.numpy()
                target = values.sum() / 3
                # Equal pairs count once: distances that differ by more than round-off.
                pairs = [values[i] + values[j] for i in range(20) for j in range(i)]
                distances = np.sort(np.abs(np.array(pairs) - target))
                actual = own["distance"].values
                assert actual[0] == pytest.approx(distances[0], abs=1e-13)
                second = distances[distances > distances[0] + 1e-11][0]
                assert actual[1] == pytest.approx(second, abs=1e-13)
                assert own["target"] == pytest.approx(target, rel=1e-12)
                assert own["mean"] == pytest.approx(values.mean(), rel=1e-11)
                largest = np.abs(values).max()
                assert own["largest"] == pytest.approx(largest, rel=1e-12)

    def test_the_spectrum_is_known_for_one_input_and_under_the_assumptions(self, two_layers):
        exact, _ = two_layers
        known = exact["exact_distance"].notnull().all(["network", "pair"])
        present = exact["exact_target"].notnull().all("network")
        assumed = (exact["case"] == "orthogonal-decorrelated") | (exact["size"] == 1)
        xr.testing.assert_equal(known, present & assumed)

    def test_items_may_be_computed_in_any_order_and_chunks(self, two_layers):
        settings = config(networks_per_item=8)
        items = study.numerics.items(settings, features())
        assert len(items) == 28
        parts = [study.numerics.compute(**item) for item in reversed(items)]
        again = study.numerics.gather(settings, parts[::-1])
        # A network in another company differs by the rounding of batched products.
        xr.testing.assert_allclose(again, two_layers[1], rtol=1e-6, atol=1e-14)


test_items_repeat_and_a_probe_costs_less = contract(study.numerics, config, features)

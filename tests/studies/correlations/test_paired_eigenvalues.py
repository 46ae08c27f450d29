"""Paired eigenvalues: the data, the networks, what is known, what chance does, figure, claims."""

import numpy as np
import pytest
import torch
from hessian_spectra.ledger.vocabulary import Estimate, holds

from hessian_spectra import curvature as cv
from hessian_spectra.models import HalfSquaredError
from hessian_spectra.studies.correlations.paired_eigenvalues import claims, study
from hessian_spectra.studies.correlations.paired_eigenvalues import figure as figures

CASES = list(study.CASES)


def config(**changes):
    fields = {
        "kind": "paired_eigenvalues",
        "paper": "singh2026cracking",
        "artifact": "Figure 10",
        "title": "test",
        "data": "test",
        "seed": 3,
        "activation": "linear",
        "depth": 2,
        "cases": CASES,
        "widths": [5, 12],
        "samples": [20, 30],
        "sizes": [1, 2, 5, 12],
        "networks": 8,
        "jitters": 19,
        "networks_per_item": 3,
    }
    return study.Config(**(fields | changes))


def features(samples=40, size=15, seed=0):
    draws = np.random.default_rng(seed)
    return {"x": draws.normal(1.0, 2.0, (samples, size)), "y": draws.normal(-1.0, 3.0, samples)}


def sides(settings):
    data = features()
    return study.closed_form(settings, data), study.numerics(settings, data)


@pytest.fixture(scope="module")
def two_layers():
    return sides(config())


@pytest.fixture(scope="module")
def four_layers():
    return sides(config(activation="relu", depth=4, widths=[4], samples=[20], sizes=[2, 4]))


def measured(name, arrays, figure="cracking-fig10"):
    (claim,) = [c for c in claims.claims(figure) if c.id == f"{figure}/{name}"]
    found = claim.measure(*arrays)
    value = getattr(found, claim.decides) if isinstance(found, Estimate) else found
    return found, holds(value, claim.relation, claim.expected, claim.tolerance)


class TestData:
    def test_decorrelated_features_and_target_are_orthonormal(self):
        data = features()
        # As many features as there can be.
        x, y = study.prepared("decorrelated", data["x"][:17, :15], data["y"][:17])
        table = np.column_stack([x, y])
        np.testing.assert_allclose(table.mean(axis=0), 0, atol=1e-13)
        np.testing.assert_allclose(table.T @ table / 17, np.eye(16), atol=1e-13)

    def test_normalised_ones_keep_their_correlations(self):
        data = features()
        x, y = study.prepared("normalised", data["x"], data["y"])
        table = np.column_stack([x, y])
        np.testing.assert_allclose(table.mean(axis=0), 0, atol=1e-13)
        np.testing.assert_allclose(table.std(axis=0), 1, rtol=1e-13)
        expected = np.corrcoef(np.column_stack([data["x"], data["y"]]).T)
        np.testing.assert_allclose(np.corrcoef(table.T), expected, atol=1e-13)

    def test_the_first_feature_keeps_its_direction(self):
        data = features()
        x, y = study.prepared("decorrelated", data["x"], data["y"])
        assert np.corrcoef(y, data["y"])[0, 1] == pytest.approx(1)
        assert np.corrcoef(x[:, 0], data["x"][:, 0])[0, 1] > 0.9


class TestNetworks:
    @pytest.mark.parametrize("depth", [2, 4])
    def test_orthogonal_ones_have_orthonormal_columns_in_all_layers_but_the_last(self, depth):
        ensemble = study.drawn("orthogonal", "relu", depth, 6, 3, 0, [0, 1, 2])
        for weight in ensemble.weights[:-1]:
            columns = weight.shape[2]
            identity = torch.eye(columns, dtype=torch.float64).expand(3, columns, columns)
            torch.testing.assert_close(weight.mT @ weight, identity, rtol=0, atol=1e-14)
        standard = study.drawn("sp", "relu", depth, 6, 3, 0, [0, 1, 2])
        assert torch.equal(ensemble.weights[-1], standard.weights[-1])
        assert standard.sizes == ensemble.sizes == (3, *[6] * (depth - 1), 1)

    def test_a_network_is_the_same_in_any_company(self):
        together = study.drawn("orthogonal", "linear", 2, 6, 3, 0, range(5))
        alone = study.drawn("orthogonal", "linear", 2, 6, 3, 0, [4])
        for weights, one in zip(together.weights, alone.weights, strict=True):
            torch.testing.assert_close(weights[4:], one, rtol=0, atol=1e-15)

    def test_widths_and_sizes_have_draws_of_their_own(self):
        first, second = (
            study.drawn("sp", "linear", 2, 4, size, 0, [0]).weights[0] for size in (1, 2)
        )
        assert not torch.isclose(first.flatten()[:2], second.flatten()[:2] * 2**0.5).any()


class TestNumbers:
    def test_points_are_cases_widths_and_the_sizes_that_fit(self, two_layers):
        exact, numeric = two_layers
        # Sizes 1, 2, 5 at width 5; 1, 2, 5, 12 at width 12; in four cases.
        assert exact["width"].tolist() == ([5] * 3 + [12] * 4) * 4
        assert exact["size"][:7].tolist() == [1, 2, 5, 1, 2, 5, 12]
        assert numeric["distance"].shape == exact["distance"].shape == (28, 8, 2)
        assert numeric["chance"].shape == (28, 8, 19)

    @pytest.mark.parametrize("activation", ["linear", "relu"])
    def test_distances_are_those_of_all_pairs_of_the_dense_spectrum(self, activation):
        settings = config(activation=activation, widths=[5], samples=[20], sizes=[3], networks=3)
        numeric = study.numerics(settings, features())
        for row, case in enumerate(CASES):
            parametrisation, kind = case.split("-")
            x, y = study.prepared(kind, features()["x"][:20, :3], features()["y"][:20])
            x, y = torch.from_numpy(x), torch.from_numpy(y)[:, None]
            ensemble = study.drawn(parametrisation, activation, 2, 5, 3, 3, range(3))
            for network in range(3):
                problem = cv.Problem(ensemble.network(network), HalfSquaredError(), [(x, y)])
                values = cv.dense_spectrum(cv.hessian(problem)).eigenvalues.numpy()
                target = values.sum() / 3
                # Equal pairs count once: distances that differ by more than round-off.
                pairs = [values[i] + values[j] for i in range(20) for j in range(i)]
                distances = np.sort(np.abs(np.array(pairs) - target))
                found = numeric["distance"][row, network]
                assert found[0] == pytest.approx(distances[0], abs=1e-13)
                second = distances[distances > distances[0] + 1e-11][0]
                assert found[1] == pytest.approx(second, abs=1e-13)
                assert numeric["target"][row, network] == pytest.approx(target, rel=1e-12)
                assert numeric["mean"][row, network] == pytest.approx(values.mean(), rel=1e-11)
                largest = np.abs(values).max()
                assert numeric["largest"][row, network] == pytest.approx(largest, rel=1e-12)

    def test_the_spectrum_is_known_for_one_input_and_under_the_assumptions(self, two_layers):
        exact, _ = two_layers
        known = np.isfinite(exact["distance"]).all(axis=(1, 2))
        assumed = (exact["parametrisation"] == "orthogonal") & (exact["data"] == "decorrelated")
        np.testing.assert_array_equal(known, assumed | (exact["size"] == 1))

    def test_nothing_is_known_of_other_networks(self, four_layers):
        exact, _ = four_layers
        assert np.isnan(exact["distance"]).all()

    @pytest.mark.parametrize("name", ["trace", "pair", "second-distance"])
    def test_what_is_known_agrees_with_the_eigenvalues(self, name, two_layers):
        assert measured(name, two_layers)[1]

    def test_the_trace_is_known_of_every_network(self, four_layers):
        assert measured("trace", four_layers, "cracking-fig13")[1]

    def test_of_four_layers_those_that_occur_once_sum_to_the_fraction_of_the_trace(self):
        settings = config(
            depth=4, cases=["orthogonal-decorrelated"], widths=[8], samples=[20], sizes=[3, 5]
        )
        arrays = sides(settings)
        assert measured("eigenvalues-that-occur-once", arrays, "cracking-fig11")[1]
        numeric = arrays[1] | {"single": 1.001 * arrays[1]["single"]}
        wrong = measured("eigenvalues-that-occur-once", (arrays[0], numeric), "cracking-fig11")
        assert not wrong[1]
        # They are more than a pair: two of them alone miss it.
        assert (numeric["distance"][..., 0] > 1e-8).all()

    @pytest.mark.parametrize("name", ["trace", "pair", "second-distance"])
    def test_wrong_eigenvalues_would_be_noticed(self, name, two_layers):
        exact, numeric = two_layers
        wrong = numeric | {
            "target": numeric["target"] * 1.001,
            "distance": numeric["distance"] + 1e-3,
        }
        assert not measured(name, (exact, wrong))[1]

    def test_items_may_be_computed_in_any_order_and_chunks(self, two_layers):
        settings = config(networks_per_item=8)
        items = study.numerics.items(settings, features())
        assert len(items) == 28
        parts = [study.numerics.compute(**item) for item in reversed(items)]
        again = study.numerics.gather(settings, parts[::-1])
        for name, array in two_layers[1].items():
            # A network in another company differs by the rounding of batched products.
            np.testing.assert_allclose(again[name], array, rtol=1e-6, atol=1e-14, err_msg=name)

    def test_an_item_costs_more_the_larger_it_is(self):
        items = study.numerics.items(
            config(cases=["sp-normalised"], widths=[12], samples=[30]), features()
        )
        costs = [study.numerics.cost(item) for item in items[::3]]
        assert costs == sorted(costs)
        assert costs[0] > 0
        assert study.numerics.probe(items[0])["networks"] == [0, 1]


class TestClaims:
    @pytest.mark.parametrize("figure", ["3", "10", "11", "12", "13"])
    def test_claims_are_well_formed_and_explain_where_they_may_differ(self, figure):
        found = claims.claims(f"cracking-fig{figure}")
        assert len({claim.id for claim in found}) == len(found)
        for claim in found:
            assert claim.problems() == []
            assert claim.kind == "identity" or claim.explanation or claim.decides == "high"

    def test_cases_that_are_not_there_are_named(self, four_layers):
        exact, numeric = four_layers
        chosen = exact["parametrisation"] == "sp"
        exact = {name: array[chosen] if array.ndim else array for name, array in exact.items()}
        with pytest.raises(ValueError, match=r"cases: expected orthogonal-decorrelated with an"):
            claims.least_ratio(exact, numeric)

    def test_the_pair_stands_out_under_the_assumptions_alone(self, two_layers):
        ratio, stands_out = measured("pair-stands-out", two_layers)
        assert stands_out
        assert ratio > 1e8
        found, close = measured("no-pair-stands-out", two_layers)
        assert close
        assert 1 < found.low < found.value < found.high < 10

    def test_chance_is_told_from_a_pair(self, two_layers):
        """The exact pair is closer than chance in every network; without it few networks are."""
        exact, numeric = two_layers
        with_pair = claims.closer_than_chance(exact, numeric, "orthogonal-decorrelated")
        assert with_pair.value == 1
        assert 0.7 < with_pair.low < with_pair.high <= 1
        for case in ("orthogonal-normalised", "sp-decorrelated", "sp-normalised"):
            found, holds_beyond = measured(f"closer-than-chance-{case}", two_layers)
            assert found.low < 0.05 < found.high
            assert not holds_beyond

    def test_the_furthest_point_decides(self, two_layers):
        exact, numeric = two_layers
        chosen = (exact["data"] == "normalised") & (exact["parametrisation"] == "sp")
        point = np.flatnonzero(chosen & (exact["size"] > 1))[-1]
        distance = numeric["distance"].copy()
        distance[point, :, 0] = 5 * numeric["target"][point]
        changed = numeric | {"distance": distance}
        found = claims.furthest(exact, changed, ("sp-normalised",))
        assert found == pytest.approx(5)

    def test_one_input_is_left_out_where_the_pair_is_a_theorem(self, two_layers):
        exact, numeric = two_layers
        distance = numeric["distance"].copy()
        distance[exact["size"] == 1] = 1e6
        changed = numeric | {"distance": distance}
        assert measured("nearly", (exact, changed)) == measured("nearly", two_layers)


class TestFigure:
    def test_every_point_is_drawn(self, two_layers):
        exact, numeric = two_layers
        figure = figures.draw(exact, numeric)
        assert len(figure.axes) == 8
        assert figure.axes[0].get_ylabel()
        assert all(panel.get_xlabel() for panel in figure.axes[4:])
        # (a): all sizes at width 5 for the pair, the second distance and chance; rings, twice.
        drawn = [line.get_xdata().tolist() for line in figure.axes[0].lines]
        assert drawn == [[1, 2, 5]] * 6
        smallest = figure.axes[0].lines[0].get_ydata()
        np.testing.assert_allclose(smallest, np.median(figures.drawable(numeric)[:3, :, 0], axis=1))

    def test_a_distance_of_zero_is_at_the_foot_beside_others_that_are_not(self, two_layers):
        panel = figures.draw(*two_layers).axes[1]
        marks = [line for line in panel.lines if line.get_marker() == "v"]
        assert [line.get_xdata().tolist() for line in marks] == [[1]]
        assert marks[0].get_ydata()[0] == panel.get_ylim()[0]

    def test_the_caption_says_how_often_chance_is_beaten(self, two_layers):
        text = figures.caption(*two_layers)
        assert "linear networks of 2 layers with one output, width 5 and 12, 8 networks" in text
        assert "orthogonal, decorrelated: the second distance is" in text
        assert "beyond chance in 100.0% of the networks with D > 1" in text
        assert "by chance 5.0% of the networks" in text
        assert "Rings: the exact spectrum" in text

    def test_what_is_not_run_is_said(self, four_layers):
        text = figures.caption(*four_layers)
        assert "The paper's width 150 is not run" in text
        assert "Rings" not in text
        assert len(figures.draw(*four_layers).axes) == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activation": "tanh"}, "activation: expected linear or relu, got 'tanh'"),
        ({"depth": 1}, "depth: expected at least 2, got 1"),
        ({"cases": []}, "cases: expected different ones of orthogonal-decorrelated, "),
        ({"cases": ["sp-whitened"]}, r"cases: expected .*, got \['sp-whitened'\]"),
        ({"cases": ["sp-normalised"] * 2}, "cases: expected different ones"),
        ({"widths": []}, "widths: expected different numbers of at least 1"),
        ({"widths": [5, 5]}, "widths: expected different numbers"),
        ({"sizes": [0, 2]}, "sizes: expected different numbers of at least 1"),
        ({"sizes": [1]}, "sizes: expected one above 1 and of at most the largest width"),
        ({"sizes": [6, 12]}, "sizes: expected one of at most the width 5"),
        ({"samples": [20]}, "samples: expected one number for each of widths, got"),
        ({"samples": [6, 30]}, r"samples: expected at least D \+ 2 = 7 at width 5, to decorrelate"),
        (
            {"activation": "relu", "depth": 4, "widths": [40], "samples": [30]},
            "widths: expected at most 3000 parameters in a ReLU network of more than two layers",
        ),
        ({"networks": 0}, "networks: expected at least 1, got 0"),
        ({"jitters": 18}, "jitters: expected at least 19, got 18"),
        ({"networks_per_item": 0}, "networks_per_item: expected at least 1, got 0"),
    ],
)
def test_a_bad_setting_is_named(changes, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        config(**changes)


@pytest.mark.parametrize("data", [features(size=5), features(samples=25), {"x": np.ones(40)}])
def test_a_data_set_that_is_too_small_is_named(data):
    data = {"y": np.ones(40)} | data
    with pytest.raises(ValueError, match=r"^data: expected at least 30 points with 12 features"):
        study.numerics(config(), data)

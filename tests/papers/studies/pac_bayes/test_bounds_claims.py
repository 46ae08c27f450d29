"""The claims about bounds, their reading and their figure, on planted arrays."""

import numpy as np
import pytest
from claims_contract import Kind, changed, of_records, planted_data

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.pac_bayes.bounds.claims import decay_matters_little, statements, tighter
from hessian_papers.studies.pac_bayes.bounds.derived import failures
from hessian_papers.studies.pac_bayes.bounds.figure import caption, controls, draw
from hessian_papers.studies.pac_bayes.bounds.study import VARIABLES

ALL = (
    "base", "approximate", "iterative", "iterative, decaying", "iterative, printed output",
    "iterative, nearest", "iterative, exact", "local", "local, standard",
)  # fmt: skip
# Bounds in their order, and rank correlations.
ORDERED = dict(zip(ALL, (0.15, 0.13, 0.11, 0.111, 0.12, 0.105, 0.1, 0.1, 0.11), strict=True))
CORRELATED = dict(zip(ALL, (-0.2, -0.4, -0.6, -0.6, -0.5, -0.5, -0.5, -0.5, -0.5), strict=True))


def sides(*, methods=ALL, seeds=4, network="F-600", bounds=ORDERED, ranks=CORRELATED, rises=0.0):
    """Held-out errors are 0.1 below the bounds, and ``rises`` above that."""
    draws = np.random.default_rng(0)
    shape = (1, len(methods), seeds)
    noise = 1e-4 * draws.standard_normal(shape)
    bound = np.array([bounds[method] for method in methods])[None, :, None] + noise
    rank = np.array([ranks[method] for method in methods])[None, :, None] + noise
    arrays = {
        "network": np.array([network]), "method": np.array(methods), "seed": np.arange(seeds),
        "epoch": np.array(9), "classes": np.array(2), "random_labels": np.array(False),
        "delta": np.array(0.025), "draws_delta": np.array(0.01),
        "layer": np.array(["fc1", "fc2"]), "quantile": np.array([0.1, 0.5, 0.9]),
        "bound": bound, "error": bound / 4, "held_out_error": bound - 0.1 + rises,
        "samples": np.array(60000), "held_out": np.array(10000), "divergence": 1e4 * bound,
        "prior_variance": np.full(shape, 0.05), "test_error": np.full((1, seeds), 0.015),
        "rank": np.broadcast_to(np.arange(1.0, 51.0), (*shape, 2, 50)),
        "dip": np.full((*shape, 2), 7.0),
        "rank_correlation": np.stack([rank, rank], axis=-1),
        "variance": np.full((*shape, 2, 50, 3), [0.01, 0.02, 0.03]),
        "path_epoch": np.arange(5), "path_divergence": 1 + draws.random((*shape, 5)),
    }  # fmt: skip
    return {"correlation": arrays}


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records(
    "bounds", "decay_matters_little", "variance_falls_with_curvature"
)


def data_of(arrays):
    return planted_data(arrays, VARIABLES)


@pytest.mark.parametrize("arrays", [sides(), sides(methods=("base", "iterative"), seeds=1)])
def test_the_figure_shows_each_method(arrays):
    data = data_of(arrays)
    figure, (second, text) = draw(data), controls(data)
    shown = {text.get_text() for text in figure.legends[0].get_texts()}
    assert shown == {*data["method"].values, "printed", "held-out error", "guessing"}
    assert {text.get_text() for text in second.legends[0].get_texts()} == {*data["method"].values}
    assert (len(figure.axes), len(second.axes)) == (1, 2)
    assert "while Algorithm 1 runs" in text
    assert "confidence 0.965" in caption(data)
    assert "60000 images" in caption(data)


def test_bounds_of_posteriors_that_diverged_are_no_failures_and_no_successes():
    arrays = sides(seeds=100, methods=("base",))
    lost, held_out = (arrays["correlation"][name].copy() for name in ("bound", "held_out_error"))
    held_out[..., :3] += 1
    lost[..., -10:] = np.nan
    data = data_of(changed(arrays, "correlation", bound=lost, held_out_error=held_out))
    assert failures(data).size == 90
    assert (failures(data) > 0).sum() == 3
    (axes,) = draw(data).axes
    assert len(axes.lines[0].get_ydata()) == 90


def test_bounds_above_guessing_decide_nothing():
    vacuous = {name: value + 0.45 for name, value in ORDERED.items()}
    data = data_of(sides(bounds=vacuous))
    with pytest.raises(NothingToMeasure, match=r"above the error of guessing, the smaller .* 0.56"):
        tighter(data, "F-600", "iterative", "base")
    # One of them below is enough: the other is looser then.
    mixed = vacuous | {"iterative": 0.45}
    assert (tighter(data_of(sides(bounds=mixed)), "F-600", "iterative", "base") > 0).all()


def test_a_bound_with_decaying_intervals_is_held_against_the_regular_one():
    increase = decay_matters_little(data_of(sides()).sel(network="F-600"))
    np.testing.assert_allclose(increase, 0.111 / 0.11 - 1, atol=2e-3)
    same = data_of(sides()).sel(network="F-600").copy(deep=True)
    regular = same["bound"].sel({"method": "iterative"}).values
    same["bound"].loc[{"method": "iterative, decaying"}] = regular
    with pytest.raises(NothingToMeasure, match="no interval has decayed"):
        decay_matters_little(same)


def cases_of(data, artifact="Table 10"):
    """The cases on a run by their names."""
    return Kind(statements, VARIABLES).entries(data, "wu2022dissecting", artifact)


def test_the_trainer_is_held_against_the_tightest_row_of_its_network():
    cases = cases_of(data_of(sides()))
    (name,) = (name for name in cases if "local-against-printed" in name)
    assert name == "local-against-printed-iterative-T-600"
    for bound, outcome in ((0.1, "holds"), (0.1198, "open"), (0.123, "fails")):
        planted = data_of(sides(bounds=ORDERED | {"local": bound}))
        entry = cases_of(planted)[name]
        assert entry.bound.outcome(entry.measure()) == outcome
    assert entry.measure().value == pytest.approx(0.123 / 0.1198 - 1, abs=1e-3)


def test_every_row_that_is_printed_is_a_case_measured_or_not():
    run = cases_of(data_of(sides(methods=("base", "iterative", "local"))))
    rows = {name: entry for name, entry in run.items() if name.startswith("table-10-")}
    assert [*rows] == [
        "table-10-T-600-base", "table-10-T-600-approximate", "table-10-T-600-iterative",
        "table-10-T-600-iterative, decaying", "table-10-T-600-iterative, printed output",
    ]  # fmt: skip
    assert len(rows["table-10-T-600-base"].measure().replicates.numbers) == 4
    with pytest.raises(NothingToMeasure, match="no posterior by the method approximate"):
        rows["table-10-T-600-approximate"].measure()


@pytest.mark.parametrize(("sign", "outcome"), [(1, "holds"), (-1, "fails")])
def test_variances_of_figure_31_fall_with_curvature(sign, outcome):
    ranks = {name: sign * value for name, value in CORRELATED.items()}
    data = data_of(sides(network="F-200^2", ranks=ranks))
    cases = cases_of(data, "Figure 31")
    fall = {name: each for name, each in cases.items() if name.startswith("variance-falls-with")}
    assert {name.rpartition("F-200^2-")[2] for name in fall} == {
        "approximate", "iterative", "iterative, printed output",
    }  # fmt: skip
    for entry in fall.values():
        assert entry.bound.outcome(entry.measure()) == outcome


def test_a_network_that_the_paper_does_not_have_is_beyond_it():
    cases = cases_of(data_of(sides(network="F-8")), "section 6, beyond the paper")
    assert {entry.heading.book for entry in cases.values()} == {"beyond"}
    assert "local-below-local, standard-F-8" in cases

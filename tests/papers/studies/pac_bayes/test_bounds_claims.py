"""The claims about bounds, their reading and their figure, on planted arrays."""

import numpy as np
import pytest
from claims_contract import Planted, changed, contract, planted_data

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.pac_bayes.bounds.claims import fails_as_rarely_as_promised, statements
from hessian_papers.studies.pac_bayes.bounds.derived import failures
from hessian_papers.studies.pac_bayes.bounds.figure import caption, controls, draw
from hessian_papers.studies.pac_bayes.bounds.study import VARIABLES

ALL = (
    "base", "approximate", "iterative", "iterative, decaying", "iterative, printed output",
    "iterative, nearest", "iterative, exact",
)  # fmt: skip
# Bounds in their order, and rank correlations.
ORDERED = dict(zip(ALL, (0.15, 0.13, 0.11, 0.111, 0.12, 0.105, 0.1), strict=True))
CORRELATED = dict(zip(ALL, (-0.2, -0.4, -0.6, -0.6, -0.5, -0.5, -0.5), strict=True))


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
        "rank_correlation": np.stack([rank, rank], axis=-1),
        "variance": np.full((*shape, 2, 50, 3), [0.01, 0.02, 0.03]),
        "path_epoch": np.arange(5), "path_divergence": 1 + draws.random((*shape, 5)),
    }  # fmt: skip
    return {"correlation": arrays}


def repeated(failed=0, number=110):
    """One method, many networks, of which some bounds fail."""
    actual = sides(methods=("approximate",), seeds=number)
    held_out = actual["correlation"]["bound"] - 0.05
    held_out[..., :failed] += 0.1
    return changed(actual, "correlation", held_out_error=held_out)


REVERSED = dict(zip(ALL, (0.1, 0.14, 0.16, 0.25, 0.26, 0.27, 0.28), strict=True))
RISING = dict(zip(ALL, (0.2, 0.4, 0.6, 0.6, 0.5, 0.5, 0.5), strict=True))
LOOSER = {name: value + 0.1 for name, value in REVERSED.items()}


@pytest.fixture(scope="module")
def planted():
    return [
        Planted(
            paper="wu2022dissecting",
            artifact="Table 10",
            holds=sides(),
            fails=[sides(bounds=REVERSED, ranks=RISING), sides(bounds=LOOSER), sides(rises=0.2)],
            reduced=[sides(methods=("base", "iterative"), seeds=1), sides(network="F-7")],
        ),
        Planted(
            paper="wu2022dissecting",
            artifact="Theorem 6.1",
            holds=repeated(),
            fails=[repeated(failed=30)],
            reduced=[repeated(number=60)],
        ),
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)


def data_of(arrays):
    return planted_data(arrays, VARIABLES)


@pytest.mark.parametrize("arrays", [sides(), sides(methods=("base", "iterative"), seeds=1)])
def test_the_figure_shows_each_method(arrays):
    data = data_of(arrays)
    figure, (second, text) = draw(data), controls(data)
    shown = {text.get_text() for text in figure.legends[0].get_texts()}
    assert shown == {*data["method"].values, "printed", "guessing"}
    assert {text.get_text() for text in second.legends[0].get_texts()} == {*data["method"].values}
    assert len(figure.axes) == len(second.axes) == 2
    assert "posterior is trained" in text
    assert "Confidence 0.965, 60000 images" in caption(data)


def test_bounds_of_posteriors_that_diverged_are_no_failures_and_no_successes():
    arrays = repeated(failed=3)
    lost = arrays["correlation"]["held_out_error"].copy()
    lost[..., -10:] = np.nan
    data = data_of(changed(arrays, "correlation", held_out_error=lost))
    assert failures(data).size == 100
    assert (failures(data) > 0).sum() == 3
    axes = draw(data).axes[0]
    assert axes.get_xlim()[1] < 1


def test_repeated_bounds_are_held_against_held_out_errors():
    data = data_of(repeated())
    axes, bar = draw(data).axes
    (points,) = axes.collections
    assert len(points.get_offsets()) == 110
    assert bar.get_ylabel() == r"$\mathrm{KL}(Q \, \| \, P)$ (nats)"
    assert axes.lines[0].get_ydata()[0] == 0.5  # two classes
    assert "on 10000 held-out images" in caption(data)
    with pytest.raises(NothingToMeasure, match="one method alone"):
        controls(data)


def test_shares_have_the_exact_interval():
    actual = fails_as_rarely_as_promised(data_of(repeated()), 0.035)
    assert (actual.value, actual.low) == (0.0, 0.0)
    assert actual.high == pytest.approx(1 - 0.025 ** (1 / 110))

"""The claims about the trace through training, on planted traces and estimates."""

import numpy as np
import pytest
from claims_contract import Planted, contract, planted_data
from planted_training import EPOCHS, FLOOR, LAST_EARLY, LOSS, joined, labels, replaced

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.images.trace_through_training import claims as module
from hessian_papers.studies.images.trace_through_training.claims import statements
from hessian_papers.studies.images.trace_through_training.study import VARIABLES

# Signs that sum to 0 and have a mean square of 1.
SIGNS = np.array([1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0])


def traces(count=2, fall=0.9):
    """Networks whose estimates are one standard error off, in turn above and below."""
    actual = []
    for number in range(count):
        exact = np.array([1.0, 0.99, 0.97, 0.95, fall, 1.1, 1.4, 1.5]) * 100 * (number + 1)
        error = 0.01 * exact
        facts = {"epoch": EPOCHS, "loss": LOSS, "floor": np.array(FLOOR), "trace": exact}
        numeric = {"estimate": exact + SIGNS * error, "standard_error": error, "epoch": EPOCHS}
        own = labels(f"set {number}")
        actual.append({"labels": own, "closed_form": facts, "numerics": numeric})
    return actual


def biased(by):
    """Networks whose estimates are all off by so many standard errors."""
    actual = traces()
    for number, item in enumerate(actual):
        off = by * item["numerics"]["standard_error"]
        actual = replaced(actual, number, "numerics", estimate=item["closed_form"]["trace"] + off)
    return actual


def off_by(factor):
    """Networks of which the second one's errors are so many times what they say."""
    first = traces()[1]
    exact, estimate = first["closed_form"]["trace"], first["numerics"]["estimate"]
    return replaced(traces(), 1, "numerics", estimate=exact + factor * (estimate - exact))


def sides(networks):
    return joined(networks, VARIABLES)


def measured(name, networks):
    return getattr(module, name)(planted_data(sides(networks), VARIABLES))


@pytest.fixture(scope="module")
def planted():
    growing = replaced(traces(), 1, "closed_form", trace=np.linspace(1, 2, len(EPOCHS)))
    only_start = replaced(
        traces(), 0, "closed_form", loss=np.array([1.0] + [FLOOR] * (len(EPOCHS) - 1))
    )
    return [
        Planted(
            paper="anon2026data",
            artifact="Figure 3",
            holds=sides(traces()),
            fails=[sides(item) for item in (off_by(5), biased(-2), growing)],
            reduced=[sides(traces(1)), sides(only_start)],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)


def test_errors_are_compared_with_what_they_should_be():
    assert measured("trace", traces()) == pytest.approx(1.0)
    # One network of two decides, whether its errors are too large or too small to be true.
    assert measured("trace", off_by(2)) == pytest.approx(2.0)
    assert measured("trace", off_by(0)) == pytest.approx(0.0)


def test_a_bias_is_that_of_all_epochs_together():
    assert measured("no_bias", traces()) == pytest.approx(0.0, abs=1e-9)
    assert measured("no_bias", biased(-0.9)) == pytest.approx(-0.9 * np.sqrt(2 * len(EPOCHS)))


@pytest.mark.parametrize(("at", "counts"), [(LAST_EARLY, True), (LAST_EARLY + 1, False)])
def test_only_early_epochs_are_early(at, counts):
    numeric = traces()[0]["numerics"]
    far = numeric["estimate"].copy()
    far[at] += 10 * numeric["standard_error"][at]
    value = measured("early", replaced(traces(), 0, "numerics", estimate=far))
    assert value == pytest.approx(10 + SIGNS[at] if counts else 1.0)


def test_the_fall_is_that_of_the_network_where_it_is_least():
    assert measured("falls_early", traces()) == pytest.approx(-0.1)
    growing = np.linspace(1, 2, len(EPOCHS))
    value = measured("falls_early", replaced(traces(), 1, "closed_form", trace=growing))
    assert value == pytest.approx(1 / 7)


def test_a_fall_after_the_early_epochs_does_not_count():
    late = np.array([1.0, 1.1, 1.1, 1.1, 1.1, 0.5, 0.5, 0.5])
    value = measured("falls_early", replaced(traces(), 0, "closed_form", trace=late))
    assert value == pytest.approx(0.1)


def test_without_a_standard_error_nothing_is_compared():
    """Where all probes give the same trace, as of a diagonal Hessian."""
    exact = traces()
    for number in range(2):
        exact = replaced(exact, number, "numerics", standard_error=np.zeros(len(EPOCHS)))
    for name in ("trace", "no_bias"):
        with pytest.raises(NothingToMeasure, match="all random probes give the same trace"):
            measured(name, exact)
    with pytest.raises(NothingToMeasure, match="no networks of which that can be said"):
        measured("early", exact)
    # An epoch without an error leaves the others.
    first = np.append(0.0, 0.01 * traces()[0]["closed_form"]["trace"][1:])
    assert measured(
        "trace", replaced(traces(), 0, "numerics", standard_error=first)
    ) == pytest.approx(1)


def test_without_early_epochs_nothing_is_measured():
    sudden = np.array([1.0] + [FLOOR] * (len(EPOCHS) - 1))
    with pytest.raises(NothingToMeasure, match="no early epoch beside the start"):
        measured("falls_early", replaced(traces(), 0, "closed_form", loss=sudden))


def test_networks_that_diverge_count_up_to_then():
    """Later epochs, which would break the claim, are none of theirs."""
    long, short = traces()
    rises = {**long["closed_form"], "trace": long["closed_form"]["trace"] * [*[1] * 6, 9, 9]}
    cut = {
        side: {name: array[:6] if np.ndim(array) else array for name, array in short[side].items()}
        for side in ("closed_form", "numerics")
    }
    assert measured("trace", [long, {**short, **cut}]) == pytest.approx(1.0)
    assert measured("trace", [{**long, "closed_form": rises}, {**short, **cut}]) > 100
    assert measured("falls_early", [long, {**short, **cut}]) == pytest.approx(-0.1)

"""The claims about what the GGN misses, on planted arrays."""

import re

import numpy as np
import pytest
from claims_contract import Planted, contract
from gauss_newton_parts_arrays import GROUPS, MISSED, parts
from matplotlib.text import Text

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.gpt2.gauss_newton_parts import claims as functions
from hessian_papers.studies.gpt2.gauss_newton_parts import figure
from hessian_papers.studies.gpt2.gauss_newton_parts.claims import statements
from hessian_papers.studies.gpt2.gauss_newton_parts.reading import HELD_TO, Reading
from hessian_papers.studies.gpt2.seeds import ATTENTION, TWIN


def sides(**changes):
    return {"correlation": parts(**changes)}


def read(**changes):
    return Reading(sides(**changes))


@pytest.fixture(scope="module")
def planted():
    return [
        Planted(
            paper="singh2026cracking",
            artifact="Section 4.3",
            holds=sides(),
            fails=[
                sides(errors={ATTENTION: 0.02}),
                sides(released=0.1),
                sides(missed={"attention": 0.2}),
                sides(gap=(0.3, 0.5, 0.1, 0.1)),
            ],
            reduced=[
                sides(variants=(ATTENTION,)),
                sides(variants=(TWIN,)),
                sides(seeds=1),
                sides(gap=(0.0, -0.1, 0.0, 0.0)),
            ],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements)


@pytest.mark.parametrize("held", HELD_TO)
def test_what_attention_adds_is_found(held):
    actual = read(noise=0.0).added(held)
    added = 1.0001 if held == "released" else 1.0
    expected = (1 - 0.8 / added) - 0.05
    assert actual.value == pytest.approx(expected, rel=1e-9)
    # Of equal seeds only the eigenvalues' residuals are left: 1e-5 of either, of both networks.
    off = 2e-5 * (0.8 / added + 0.95)
    np.testing.assert_allclose(
        [actual.high - actual.value, actual.value - actual.low], off, rtol=1e-6
    )


def test_the_ratio_of_errors_is_found():
    actual = read(noise=0.0).added("squared", "ratio")
    assert actual.value == pytest.approx(np.log(0.2 / 0.05), rel=1e-9)
    assert actual.low < actual.value < actual.high


def test_the_released_product_is_compared_with_the_right_one():
    reading = read(released=-0.03, noise=0.0)
    # The eigenvalues' residuals are 1e-5 each.
    ends = (0.03, 0.03 - 0.97 * 2e-5, 0.03 + 0.97 * 2e-5)
    np.testing.assert_allclose(functions.released_sharpness(reading), ends, rtol=1e-9)
    right, released = 0.2 - 0.05, 1 - 0.8 / 0.97 - 0.05
    assert functions.released_verdict(reading) == pytest.approx(abs(released / right - 1))


def test_shares_are_those_of_the_norms():
    reading = read(noise=0.0)
    shares = reading.missing()
    np.testing.assert_allclose(shares[0], np.broadcast_to([*MISSED.values()], (3, 2, 4)))
    assert np.isnan(shares[1, ..., GROUPS.index("attention")]).all()
    released = reading.missing("released_rows")[0, 0, 0]
    np.testing.assert_allclose(released, [0, 0, 1e-3, 0])
    difference = reading.missing_difference(ATTENTION, "attention", "MLP")
    np.testing.assert_allclose(difference, 0.3)
    with pytest.raises(NothingToMeasure, match=r"a run has no attention or no MLP$"):
        reading.missing_difference(TWIN, "attention", "MLP")


def test_parts_of_the_gap_add_up():
    reading = read(gap=(0.9, -0.3, 0.2, 0.1))
    parts = [reading.part_of_the_gap(ATTENTION, group).value for group in GROUPS]
    np.testing.assert_allclose(parts, np.array([0.9, -0.3, 0.2, 0.1]) / 0.9, atol=1e-12)
    with pytest.raises(NothingToMeasure, match=r"misses nothing at the top$"):
        read(gap=(0.0, 0.0, 0.0, 0.0)).part_of_the_gap(ATTENTION, "MLP")


def test_a_run_that_diverged_has_nothing_to_say():
    arrays = parts()
    arrays["hessian"][0, 1, -1] = np.nan
    with pytest.raises(NothingToMeasure, match=r"has no error at its last step$"):
        Reading({"correlation": arrays}).added("right")


def test_every_run_and_group_is_drawn():
    reading = read()
    errors, *groups = figure.draw(reading).axes
    drawn = [tuple(line.get_ydata()) for line in errors.lines]
    for held in HELD_TO:
        for run in reading.error(held).value.reshape(-1, 2):
            assert tuple(run) in drawn
    numbers = (reading.missing(), reading["missed"], reading.missing("released_rows"))
    for axes, number in zip(groups, numbers, strict=True):
        shown = [np.array(line.get_ydata()) for line in axes.lines]
        for run in number[:, :, -1].reshape(-1, len(GROUPS)):
            assert any(np.array_equal(run, line, equal_nan=True) for line in shown)
        assert next(label.get_text() for label in axes.get_xticklabels()) == "attention"


@pytest.mark.parametrize("changes", [{"variants": (TWIN,)}, {"seeds": 1}])
def test_what_is_missing_is_said(changes):
    reading = read(**changes)
    drawn = figure.draw(reading)
    drawn.set_layout_engine("none")
    drawn.draw_without_rendering()
    texts = [text.get_text() for text in drawn.findobj(Text)] + [figure.caption(reading)]
    assert not [text for text in texts if re.search(r"\b(nan|inf)\b", text)]

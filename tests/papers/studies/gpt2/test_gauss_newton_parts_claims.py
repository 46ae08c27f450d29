"""The claims about what the GGN misses, on planted arrays."""

import numpy as np
import pytest
from claims_contract import Planted, changed, contract, planted_data
from gauss_newton_parts_arrays import OPERATIONS, parts

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.gpt2.gauss_newton_parts import claims as functions
from hessian_papers.studies.gpt2.gauss_newton_parts import figure
from hessian_papers.studies.gpt2.gauss_newton_parts.claims import HELD_TO, statements
from hessian_papers.studies.gpt2.gauss_newton_parts.study import VARIABLES
from hessian_papers.studies.gpt2.seeds import ATTENTION, TWIN


def sides(**changes):
    return {"correlation": parts(**changes)}


def without_operations():
    """A run that is older than the parts by operation."""
    names = ("operation", "operation_part", "functional")
    return {"correlation": {k: v for k, v in parts().items() if k not in names}}


def read(**changes):
    return planted_data(sides(**changes), VARIABLES)


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
                sides(operations=dict.fromkeys(OPERATIONS, -0.1)),
                sides(operations={"LayerNorm": 0.5}),
            ],
            reduced=[
                sides(variants=(ATTENTION,)),
                sides(variants=(TWIN,)),
                sides(seeds=1),
                changed(sides(), "correlation", functional=np.negative),
                without_operations(),
            ],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)


@pytest.mark.parametrize("held", HELD_TO)
def test_what_attention_adds_is_found(held):
    actual = functions.worse_with_attention(read(noise=0.0), held, "difference")
    added = 1.0001 if held == "released" else 1.0
    expected = (1 - 0.8 / added) - 0.05
    assert actual.value == pytest.approx(expected, rel=1e-9)
    # Of equal seeds only the eigenvalues' residuals are left: 1e-5 of either, of both networks.
    off = 2e-5 * (0.8 / added + 0.95)
    np.testing.assert_allclose(
        [actual.high - actual.value, actual.value - actual.low], off, rtol=1e-6
    )


def test_the_ratio_of_errors_is_found():
    actual = functions.worse_with_attention(read(noise=0.0), "squared", "ratio")
    assert actual.value == pytest.approx(np.log(0.2 / 0.05), rel=1e-9)
    assert actual.low < actual.value < actual.high


def test_the_released_product_is_compared_with_the_right_one():
    data = read(released=-0.03, noise=0.0)
    # The eigenvalues' residuals are 1e-5 each.
    ends = (0.03, 0.03 - 0.97 * 2e-5, 0.03 + 0.97 * 2e-5)
    np.testing.assert_allclose(functions.released_sharpness(data), ends, rtol=1e-9)


def test_softmax_is_compared_with_the_largest_other_part():
    np.testing.assert_allclose(functions.softmax_makes_most(read()), 0.4 - 0.2, atol=1e-12)
    data = read(operations={"softmax": -0.1, "GELU": 0.6})
    np.testing.assert_allclose(functions.softmax_makes_most(data), -0.7, atol=1e-12)
    np.testing.assert_allclose(functions.part_of(data, "softmax"), -0.1, atol=1e-12)
    assert functions.operations_add_up(read()) < 1e-15


def test_shares_are_of_sums_over_the_steps_after_the_start():
    def other(values):
        values[:, :, 1] = [0.0, *values[:, :, 1].sum(-1).max() * np.eye(6)[0]]
        return values

    data = planted_data(changed(sides(), "correlation", operation_part=other), VARIABLES)
    # Of equal gaps at the two steps, the share is the mean of those of the steps.
    np.testing.assert_allclose(functions.part_of(data, "softmax"), 0.2, atol=1e-12)
    first = data.assign_coords(step=[0, 400])
    np.testing.assert_allclose(functions.part_of(first, "softmax"), 0.0, atol=1e-12)


def test_a_run_without_operations_says_so():
    data = planted_data(without_operations(), VARIABLES)
    for use in (functions.operations_add_up, figure.draw, figure.caption):
        with pytest.raises(NothingToMeasure, match="without the parts of the operations"):
            use(data)


def test_the_figure_has_the_means_of_all_operations_that_are_there():
    data = read()
    attention, twin = figure.draw(data).axes
    lines = {tuple(line.get_ydata()) for line in attention.lines}
    mean = data.mean("seed").sel(variant=ATTENTION)
    for name in OPERATIONS:
        assert tuple(mean["operation_part"].sel(operation=name).values) in lines
    assert tuple(mean["functional"].values) in lines
    assert [label.get_text() for label in twin.get_xticklabels()] == ["100", "400"]
    assert "Means of 3 seeds" in figure.caption(data)


def test_a_run_that_diverged_has_nothing_to_say():
    def diverged(eigenvalues):
        eigenvalues[0, 1, -1, 0] = np.nan
        return eigenvalues

    data = planted_data(changed(sides(), "correlation", eigenvalue=diverged), VARIABLES)
    with pytest.raises(NothingToMeasure, match=r"has no error at its last step$"):
        functions.worse_with_attention(data, "right", "difference")

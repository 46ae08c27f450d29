"""The claims about the phases of learning, on small networks and on wrong pairs of them."""

import numpy as np
import pytest
from claims_contract import Kind, Planted, changed, contract
from learning_phases_sides import both

from hessian_papers.studies.scalar.learning_phases.claims import select_signs, statements
from hessian_papers.studies.scalar.learning_phases.study import VARIABLES

ABOUT = {"paper": "singh2026cracking", "artifact": "Appendix C"}


@pytest.fixture(scope="module")
def sides():
    return both()


def with_heads(sides, *, reverse=False, retarded=-0.1):
    """With heads that reach zero as they learn, or the other way round."""
    learned = np.tile([3, 9, 27], (1, 20, 1))
    zero = learned[..., ::-1] if reverse else learned
    heads = {"learned": learned, "reached_zero": zero, "retarded": np.full((1, 20), retarded)}
    heads["leads"] = np.full((1, 20), not reverse)
    return changed(sides, "closed_form", **heads)


def with_small_outlier_times(sides, factor):
    small = [1.0, 1.0, 1.0, factor, 1.0, 1.0, 1.0, 1.0]  # the fourth of eight
    return changed(sides, "numerics", numerical=lambda values: values * small)


@pytest.fixture(scope="module")
def planted(sides):
    return [
        Planted(
            **ABOUT,
            holds=with_heads(sides),
            fails=[
                with_heads(with_small_outlier_times(sides, factor), reverse=True, retarded=0.1)
                for factor in (1.001, -1.0)
            ],
            reduced=[
                both(without_signal=0, instances=2),
                both(width=1, instances=1),
                both(head_steps=1, instances=2),
            ],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)


def test_the_print_is_right_where_the_solution_is_positive(sides):
    kind = Kind(statements, VARIABLES)
    data = kind.data(sides)
    values = {
        sign: [
            entry.measure_printed()
            for entry in kind.entries(select_signs(data, sign), **ABOUT).values()
            if entry.measure_printed is not None
        ]
        for sign in (1, -1)
    }
    late = select_signs(data, -1)["phase"] == "late"
    assert values == {1: [0.0], -1: [late.sum()]}

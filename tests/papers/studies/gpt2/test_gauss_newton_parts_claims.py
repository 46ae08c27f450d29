"""The claims about what the GGN misses, on planted arrays."""

import numpy as np
import pytest
from claims_contract import changed, of_records, planted_data
from gauss_newton_parts_arrays import OPERATIONS, parts

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.gpt2.gauss_newton_parts import claims as functions
from hessian_papers.studies.gpt2.gauss_newton_parts import figure
from hessian_papers.studies.gpt2.gauss_newton_parts.study import VARIABLES
from hessian_papers.studies.gpt2.seeds import ATTENTION


def sides(**changes):
    return {"correlation": parts(**changes)}


def without_operations():
    """A run that is older than the parts by operation."""
    names = ("operation", "operation_part", "functional")
    return {"correlation": {k: v for k, v in parts().items() if k not in names}}


def read(**changes):
    return planted_data(sides(**changes), VARIABLES)


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records("gauss_newton_parts")


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

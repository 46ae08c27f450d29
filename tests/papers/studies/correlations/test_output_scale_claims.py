"""The claims about output sizes, their reading and their figure, on planted arrays."""

import numpy as np
import pytest
from claims_contract import Planted, changed, contract
from output_scale_arrays import config, sides

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.correlations.output_scale import study
from hessian_papers.studies.correlations.output_scale.claims import statements
from hessian_papers.studies.correlations.output_scale.figure import caption, draw
from hessian_papers.studies.correlations.output_scale.reading import Reading


def with_chance(factor=1.0):
    """The expected sizes times what chance adds to each network, to some power of the width."""
    closed = sides()["closed_form"]
    chance = np.exp(0.01 * np.random.default_rng(0).standard_normal(60))
    grown = closed["expected"] * closed["width"] ** (factor - 1.0)
    return changed(sides(), "numerics", size=grown[..., None] * chance)


def of(**changes):
    """The expected sizes of another configuration as those of three networks."""
    closed = study.closed_form(config(**changes), {})
    return {
        "closed_form": closed,
        "numerics": {"size": np.repeat(closed["expected"][..., None], 3, axis=-1)},
    }


@pytest.fixture(scope="module")
def planted():
    return [
        Planted(
            paper="singh2026cracking",
            artifact="Appendix D.1.3",
            holds=with_chance(),
            fails=[with_chance(2.0), with_chance(0.2)],
            reduced=[
                of(parametrisations=["mup"]),
                of(widths=[8]),
                of(depths=[2], activations=["relu"]),
            ],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements)


def test_the_print_is_the_largest_exponent_over_depths():
    reading = Reading(with_chance())
    assert reading.largest_exponent("mup_printed", "linear").value == pytest.approx(1.0)
    assert reading.largest_exponent("mup", "linear").value == pytest.approx(-0.5)


def test_what_is_left_out_is_not_measured():
    reading = Reading(of(parametrisations=["sp"]))
    with pytest.raises(NothingToMeasure, match="no scale mup"):
        reading.exponent("mup", "linear", 2)


@pytest.mark.parametrize("arrays", [sides(), of(depths=[2])])
def test_the_figure_has_a_panel_for_each_depth(arrays):
    reading = Reading(arrays)
    figure = draw(reading)
    assert len(figure.axes) == len(reading.closed_form["depth"])
    assert "as printed" in {text.get_text()[3:] for text in figure.axes[0].get_legend().texts}
    assert "networks a point" in caption(reading)

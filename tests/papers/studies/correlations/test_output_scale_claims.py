"""The claims about output sizes, on planted arrays."""

import numpy as np
import pytest
import xarray as xr
from claims_contract import Planted, contract, planted_data
from output_scale_arrays import config, sides

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.correlations.output_scale import study
from hessian_papers.studies.correlations.output_scale.claims import (
    exponent,
    outputs_do_not_grow,
    statements,
)


def data_of(arrays):
    return planted_data(arrays, study.VARIABLES)


def drawn(closed, factors, power=0.0):
    """The closed form, and its expected sizes as those of networks that chance makes larger.

    Args:
        closed: the closed form.
        factors: by which, one for each draw.
        power: further power of the width.
    """
    grown = closed["expected"] * closed["width"] ** power * xr.DataArray(factors, dims="draw")
    return {"closed_form": closed, "numerics": xr.Dataset({"output": grown})}


def with_chance(power=0.0):
    """The smallest study with sizes that differ a little from network to network."""
    chance = np.exp(0.01 * np.random.default_rng(0).standard_normal(60))
    return drawn(sides()["closed_form"], chance, power)


def of(**changes):
    """The expected sizes of another configuration as those of three networks."""
    return drawn(study.closed_form(config(**changes), xr.Dataset()), np.ones(3))


@pytest.fixture(scope="module")
def planted():
    return [
        Planted(
            paper="singh2026cracking",
            artifact="Appendix D.1.3",
            holds=with_chance(),
            fails=[with_chance(1.0), with_chance(-0.8)],
            reduced=[of(widths=[8]), of(depths=[2])],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(
    statements, study.VARIABLES
)


def test_the_print_is_the_largest_exponent_over_depths():
    actual = data_of(with_chance())
    for printed, expected in ((True, 1.0), (False, -0.5)):
        powers = outputs_do_not_grow(actual, "mup", "linear", printed=printed)
        assert powers.mean() == pytest.approx(expected)


def test_a_single_width_is_not_measured():
    with pytest.raises(NothingToMeasure, match="a single width has no exponent"):
        exponent(data_of(of(widths=[8])), "mup", 2)

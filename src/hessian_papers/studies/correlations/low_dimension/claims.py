"""What singh2026cracking says of low dimension in section 4.2."""

import xarray as xr

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure, at_least
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.verdicts import typically
from hessian_papers.studies.correlations.ensembles import (
    ACTIVATIONS,
    PARAMETRISATIONS,
    TIMES,
    estimates,
    require_finished,
)

POSITIVE = at_least(0.0, "the sign; chance rarely puts the whole interval on one side of 0")

statements = Statements(values=PARAMETRISATIONS | TIMES | ACTIVATIONS).having(
    paper="singh2026cracking"
)


@statements.statement(
    "section 4.2",
    typically,
    POSITIVE,
    over=["parametrisation", "time"],
    otherwise="The sentence sets low dimension against larger sizes under all parametrisations at "
    "once; under NTP no product leads at either size, since the network read backwards is as "
    "likely as the network.",
)
def most_in_low_dimension(data: xr.Dataset) -> Estimate:
    """Of the products of all matrices but one, that without the last correlates most with the
    sharpness especially in low dimension.

    Statistic: its r minus the largest other, squared spectral norms, mean over the depths, at the
    smaller D minus at the larger; paired bootstrap over teachers and networks.
    """
    require_finished(data)
    difference = estimates(data["mean_difference"])
    if not difference:
        raise NothingToMeasure("this configuration has a depth without correlations")
    return difference[0]

"""What singh2026cracking says of low dimension in section 4.2."""

from hessian_papers.ledger.bounds import Estimate, at_least
from hessian_papers.ledger.statements import Statements, over
from hessian_papers.ledger.verdicts import typically
from hessian_papers.studies.correlations.low_dimension.reading import Reading
from hessian_papers.studies.correlations.reading import ACTIVATIONS, PARAMETRISATIONS, TIMES

POSITIVE = at_least(0.0, "the sign; chance rarely puts the whole interval on one side of 0")


statements = Statements(Reading, values=PARAMETRISATIONS | TIMES | ACTIVATIONS).having(
    paper="singh2026cracking"
)


@statements.statement(
    "section 4.2",
    typically,
    POSITIVE,
    each=over("parametrisation", "time"),
    otherwise="The sentence sets low dimension against larger sizes under all parametrisations at "
    "once; under NTP no product leads at either size, since the network read backwards is as "
    "likely as the network.",
)
def most_in_low_dimension(reading: Reading, parametrisation: str, time: str) -> Estimate:
    """Of the products of all matrices but one, that without the last correlates most with the
    sharpness especially in low dimension.

    Statistic: its r minus the largest other, squared spectral norms, mean over the depths, at the
    smaller D minus at the larger; paired bootstrap over teachers and networks.
    """
    return reading.difference(parametrisation, time)

"""Our statements about correlations that the terms of the sharpness predict."""

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import at_least, at_most, needs
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.correlations.ensembles import (
    TIMES,
    of_the_time,
    require_finished,
)
from hessian_papers.studies.correlations.predicted_correlation.derived import (
    misses,
    over_points,
    root_mean_square,
)

PAPER, PLACE = "singh2026cracking", "section 4.2, beyond the paper"
ARTIFACT = "Section 4.2, predicted correlations"
NEARER = at_least(0.0, "a sign, for a paired difference", source="ours")
KNOWN = at_most(1.0, "a correlation is not known better than its standard error", source="ours")
# After training the Gauss-Newton matrix is the Hessian: that it predicts all then says nothing.
TERMS = "terms"

statements = Statements(values=TIMES).having(paper=PAPER, book="beyond")
two_layers = statements.about(PAPER, ARTIFACT, f"{ARTIFACT} (width 100)")
# The recorded run had D = 1 as well at first, where the terms are the sharpness: it was taken out
# after it was seen to make the mean smaller.
deep_networks = statements.about(PAPER, f"{ARTIFACT} (deep networks)")


def _defined(data: xr.Dataset) -> xr.Dataset:
    """The data at a time, of which every teacher has some correlation.

    Raises:
        NothingToMeasure: a teacher has none, or training did not end.
    """
    require_finished(data)
    data = of_the_time(data)
    needs(np.isfinite(misses(data)).all(), "this configuration has a teacher without correlations")
    return data


@two_layers.typically(PLACE, NEARER, over=["time"])
def second_moments_predict_better(data: xr.Dataset) -> xr.DataArray:
    """The terms of the sharpness predict its correlations with norms better with the second moments
    of the inputs than without.

    Statistic: root mean square over points of predicted minus measured r by the terms without the
    second moments, minus that by the terms with them; interval: Student's t over teachers.
    """
    off = misses(_defined(data))
    return off.sel(formula="norms") - off.sel(formula=TERMS)


@two_layers.typically(PLACE, KNOWN)
def predicted_as_well_as_known(data: xr.Dataset) -> xr.DataArray:
    """After training the terms with the second moments of the inputs predict the correlations as
    well as these are known from so many networks.

    Statistic: root mean square over points of predicted minus measured r, over that of the standard
    error of r; interval: Student's t over teachers.
    """
    trained = _defined(data.sel(time="trained"))
    return misses(trained).sel(formula=TERMS) / root_mean_square(trained["error"])


@two_layers.typically(PLACE, reading_of("almost every"), over=["time"])
def predicted_driver(data: xr.Dataset) -> xr.DataArray:
    """The terms with the second moments say which norm correlates more with the sharpness.

    Statistic: fraction of the points, of each teacher, at which predicted and measured r say the
    same; interval: Student's t over teachers.
    """
    chosen = _defined(data)
    pair = chosen["predicted"].sel(formula=TERMS), chosen["measured"]
    known = xr.concat(pair, "of").notnull().all("of").any("layer")
    leaders = [r.fillna(-np.inf).argmax("layer") for r in pair]
    return over_points((leaders[0] == leaders[1]).where(known))


@deep_networks.typically(PLACE, NEARER, over=["time"])
def second_moments_predict_better_in_deep_networks(data: xr.Dataset) -> xr.DataArray:
    """In deep networks, too, the terms predict the correlations with norms of products better with
    the second moments of the inputs than without.

    Statistic: as for two layers, of the products of all matrices but one.
    """
    return second_moments_predict_better(data)


@deep_networks.typically(PLACE, KNOWN)
def predicted_as_well_as_known_in_deep_networks(data: xr.Dataset) -> xr.DataArray:
    """In deep networks, too, the terms with the second moments predict the correlations after
    training as well as these are known from so many networks.

    Statistic: as for two layers.
    """
    return predicted_as_well_as_known(data)


@deep_networks.typically(PLACE, reading_of("almost every"), over=["time"])
def predicted_driver_in_deep_networks(data: xr.Dataset) -> xr.DataArray:
    """In deep networks, too, the terms with the second moments say which norm correlates most with
    the sharpness.

    Statistic: as for two layers, of up to as many norms as there are layers.

    Remark: Norms of several products correlate nearly alike with the sharpness. Which of them does
    most is then known less well than the correlations themselves.
    """
    return predicted_driver(data)

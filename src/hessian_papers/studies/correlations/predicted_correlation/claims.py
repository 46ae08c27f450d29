"""Our statements about correlations with what stands for the sharpness, of the same networks."""

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import at_least, needs
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.correlations.ensembles import (
    AT_BOTH_TIMES,
    FINISHED,
    TIMES,
    of_the_time,
    over_points,
)
from hessian_papers.studies.correlations.predicted_correlation.derived import misses, off

PAPER, PLACE = "singh2026cracking", "section 4.2, beyond the paper"
ARTIFACT = "Section 4.2, surrogates of the sharpness"
SIGN = at_least(0.0, "a sign, for a paired difference", source="ours")
# What stands for the sharpness: the sum of the layers' terms with the inputs' second moments.
TERMS = "terms"

statements = Statements(values=TIMES).having(
    paper=PAPER, book="beyond", state=AT_BOTH_TIMES, surrogate=True
)
two_layers = statements.about(PAPER, ARTIFACT, f"{ARTIFACT} (width 100)")


def _defined(data: xr.Dataset) -> xr.Dataset:
    """The data at a time, of which every teacher has some correlation, and D is more than 1.

    With one input and output the sum is the Gauss-Newton matrix's eigenvalue, whatever the inputs.

    Raises:
        NothingToMeasure: a teacher has none, or there is no such D.
    """
    data = of_the_time(data)
    data = data.isel(size=np.flatnonzero(data["size"] > 1))
    needs(data.sizes["size"], "this configuration has no D above 1")
    needs(np.isfinite(misses(data)).all(), "this configuration has a teacher without correlations")
    return data


@statements.typically(PLACE, SIGN, over=["time"])
def second_moments_come_nearer(data: xr.Dataset) -> xr.DataArray:
    """The sum of the layers' terms is a surrogate of the sharpness. With the second moments of the
    inputs its correlations with norms are nearer to those of the sharpness than without.

    Statistic: root mean square over points with $D > 1$ of r with the sum minus r with the
    sharpness, of the same networks; without the second moments minus with them; interval:
    Student's t over teachers.
    """
    miss = misses(_defined(data))
    return miss.sel(formula="norms") - miss.sel(formula=TERMS)


@two_layers.typically(PLACE, SIGN, state=FINISHED)
def surrogate_favours_the_first_matrix(data: xr.Dataset) -> xr.DataArray:
    r"""The sum of $λ_{\max}(W_1 S W_1^⊤)$ and $‖W_2‖_2^2 λ_{\max}(S)$ is a surrogate of the
    sharpness that is biased towards the first matrix, after training on sampled inputs. It is exact
    for white ones.

    Statistic: r of the squared norm with the surrogate minus r with the sharpness, for $W_1$ minus
    for $W_2$, mean over points with $D > 1$; interval: Student's t over teachers.
    """
    bias = off(_defined(data.sel(time="trained"))).sel(formula=TERMS)
    return over_points(bias.sel(layer=1) - bias.sel(layer=2))


@statements.typically(PLACE, reading_of("almost every"), over=["time"])
def surrogate_says_which_norm_leads(data: xr.Dataset) -> xr.DataArray:
    """The sum with the second moments of the inputs says which norm correlates most with the
    sharpness.

    Statistic: fraction of the points with $D > 1$, of each teacher, at which r with the sum and r
    with the sharpness say the same; interval: Student's t over teachers.

    Remark: Norms of several products correlate nearly alike with the sharpness. Which of them does
    most is then known less well than the correlations themselves.
    """
    chosen = _defined(data)
    pair = chosen["surrogate"].sel(formula=TERMS), chosen["measured"]
    known = xr.concat(pair, "of").notnull().all("of").any("layer")
    leaders = [r.fillna(-np.inf).argmax("layer") for r in pair]
    return over_points((leaders[0] == leaders[1]).where(known))

"""Our statements about correlations with surrogates, and by laws of a random start.

Surrogates are computed of the same networks. Laws know the configuration alone; they replace the
surrogates of two layers at initialisation.
"""

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import at_least, at_most, needs
from hessian_papers.ledger.conditions import AT_INITIALISATION
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.correlations.ensembles import (
    AT_BOTH_TIMES,
    FINISHED,
    TIMES,
    of_the_time,
    over_points,
)
from hessian_papers.studies.correlations.predicted_correlation.derived import (
    law_off,
    misses,
    off,
    squared_miss,
)

PAPER, PLACE = "singh2026cracking", "section 4.2, beyond the paper"
ARTIFACT = "Section 4.2, surrogates of the sharpness"
SIGN = at_least(0.0, "a sign, for a paired difference", source="ours")
# What stands for the sharpness: the sum of the layers' terms with the inputs' second moments.
TERMS = "terms"

# The r of 50 networks has a standard error near 0.1: half of that shows in no panel's marks.
NEAR = at_most(
    0.05**2, "an error of 0.05, half of what the r of 50 networks errs by", source="ours"
)
# The squared norms whose terms the sharpness has.
SPECTRAL = "spectral"


def _surrogate_times(data: xr.Dataset) -> list[str]:
    """The times of which surrogates are said something: at initialisation laws predict instead."""
    times = np.atleast_1d(data["time"].values).tolist()
    return [time for time in times if time == "trained" or "predicted" not in data]


statements = Statements(values=TIMES).having(
    paper=PAPER, book="beyond", state=AT_BOTH_TIMES, surrogate=True
)
two_layers = statements.about(PAPER, ARTIFACT, f"{ARTIFACT} (width 100)")
laws = two_layers.having(surrogate=False, state=AT_INITIALISATION)


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


@statements.typically(PLACE, SIGN, over={"time": _surrogate_times})
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


@statements.typically(PLACE, reading_of("almost every"), over={"time": _surrogate_times})
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


def _start(data: xr.Dataset) -> xr.Dataset:
    """The data of the points with D > 1, if there are laws and more than one teacher."""
    needs("predicted" in data, "this configuration has no law of its random start")
    needs(data.sizes["teacher"] > 1, "this configuration has a single teacher")
    data = data.isel(size=np.flatnonzero(data["size"] > 1))
    needs(data.sizes["size"], "this configuration has no D above 1")
    return data


def _spectral(data: xr.Dataset, target: str, law: str) -> xr.DataArray:
    return squared_miss(law_off(_start(data), target, law).sel(norm=SPECTRAL))


@laws.typically(PLACE, NEAR)
def start_law_of_white_inputs(data: xr.Dataset) -> xr.DataArray:
    r"""At initialisation with $D = K$, entries of variance $v_1$ and $v_2$ predict r of
    $‖W_l‖_2^2$ with $‖W_1‖_2^2 + ‖W_2‖_2^2$: $v_l/\sqrt{v_1^2 + v_2^2}$, whatever the sizes.

    Statistic: squared miss of the expected r, mean over points with $D > 1$ and both matrices:
    each teacher's miss times the mean of the others'; interval: Student's t over teachers.

    Remark: It is exact for white inputs at zero residual. r with the sharpness is another.
    """
    return _spectral(data, "norms", "white")


@laws.typically(PLACE, NEAR)
def start_law_of_the_edge(data: xr.Dataset) -> xr.DataArray:
    r"""The edge of the spectrum under n sampled inputs is predicted from D, m, n and both
    variances. It predicts r with the Gauss-Newton sharpness: of $W_1$ for the Frobenius norm, of
    $W_2$ for all norms.

    Statistic: squared miss of the expected r, mean over points with $D > 1$ and norms: each
    teacher's miss times the mean of the others'; interval: Student's t over teachers.

    Remark: The formula is of large sizes. At D of 3 to 10 its variance of the largest eigenvalue
    is some tenth too large, and r of the Frobenius norm too small. No formula is known of the
    spectral and the nuclear norm of $W_1$.
    """
    return squared_miss(law_off(_start(data), "Gauss-Newton", "edge"))


@laws.typically(PLACE, NEAR)
def start_law_predicts_the_sharpness(data: xr.Dataset) -> xr.DataArray:
    """The law of the random start predicts r of every norm with the sharpness. It is simulated:
    matrices, inputs and teachers are drawn anew from D, m, n and the variances.

    Statistic: squared miss of the expected r, mean over points with $D > 1$, matrices and norms:
    each teacher's miss times the mean of the others'; interval: Student's t over teachers.

    Remark: Draws have the distribution of the networks. They say what r rests on, and not why.
    """
    return squared_miss(law_off(_start(data), "sharpness", "Hessian"))


@laws.typically(PLACE, SIGN)
def sampling_moves_the_start(data: xr.Dataset) -> xr.DataArray:
    """At initialisation sampled inputs have other correlations with the Gauss-Newton sharpness than
    white ones. The law of n sampled inputs predicts r better.

    Statistic: squared miss of the expected r of the spectral norms, mean over points with $D > 1$;
    by the law of white inputs minus by the simulated one; interval: Student's t over teachers.
    """
    target = "Gauss-Newton"
    return _spectral(data, target, "white") - _spectral(data, target, "Gauss-Newton")


@laws.typically(PLACE, SIGN)
def residual_moves_the_start(data: xr.Dataset) -> xr.DataArray:
    """The residual's part of the Hessian is not small at initialisation. The law of the whole
    Hessian predicts r with the sharpness better than that of the Gauss-Newton matrix.

    Statistic: squared miss of the expected r of the spectral norms, mean over points with $D > 1$;
    by the simulated law of the Gauss-Newton matrix minus by that of the Hessian; interval:
    Student's t over teachers.

    Remark: It is large from D near 15 on. In few small networks it is below the error of r.
    """
    target = "sharpness"
    return _spectral(data, target, "Gauss-Newton") - _spectral(data, target, "Hessian")

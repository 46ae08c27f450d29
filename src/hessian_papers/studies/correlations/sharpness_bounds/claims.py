"""The statements about the sharpness of two linear layers and formulas for it, on any inputs."""

import xarray as xr

from hessian_papers.ledger.bounds import at_least, needs, within
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.correlations.ensembles import (
    AT_BOTH_TIMES,
    FINISHED,
    PARAMETRISATIONS,
    TIMES,
    of_the_time,
    over_points,
    require_two_layers,
)

ARGUMENT = 'Appendix D.3.3, "Why Squared Spectral Norm?"'
BEYOND = f"{ARGUMENT}, beyond the paper"
SOLVED = "what the eigenvalue solver and the end of training leave"

statements = Statements(
    values=PARAMETRISATIONS | {name: text.capitalize() for name, text in TIMES.items()}
)


def _of_two_layers(data: xr.Dataset, name: str, **labels: str) -> xr.DataArray:
    """A statistic of each teacher that has networks of two layers everywhere."""
    require_two_layers(data)
    known = of_the_time(data)[name].sel(labels).dropna("teacher")
    needs(known.size, "this configuration has no teacher whose ratios are all finite")
    return known


@statements.typically(
    "section 4.2", reading_of("approximately"), over=["parametrisation"], state=FINISHED
)
def gauss_newton_approximates(data: xr.Dataset) -> xr.DataArray:
    """In trained networks the Hessian is well approximated by the Gauss-Newton matrix.

    Statistic: relative distance of the sharpness from that matrix's largest eigenvalue, median over
    a teacher's networks, mean over D; interval: Student's t over teachers.
    """
    return over_points(_of_two_layers(data.sel(time="trained"), "miss", formula="Gauss-Newton"))


@statements.beyond.everywhere(
    BEYOND, within(1e-3, SOLVED, source="ours"), over=["parametrisation"], state=FINISHED
)
def sharpness_at_least_squares(data: xr.Dataset) -> float:
    r"""At least squares, whatever the inputs, the sharpness of two linear layers is the largest
    eigenvalue of $S^{1/2}(W_1^⊤W_1 + ‖W_2‖_2^2 I)S^{1/2}$, with S the inputs' second moments.

    Statistic: largest relative error of a trained network.
    """
    trained = data.sel(time="trained")
    return float(_of_two_layers(trained, "largest_miss", formula="Gauss-Newton").max())


@statements.beyond.shown(
    BEYOND, within(0.1, "a tenth", source="ours"), over=["formula", "time"], state=AT_BOTH_TIMES
)
def formulas_miss(data: xr.Dataset) -> xr.DataArray:
    r"""On sampled inputs the larger of both squared spectral norms, and their sum, miss the
    sharpness of two linear layers. Both neglect the second moments of the inputs.

    Statistic: relative distance of the sharpness from a formula, median over a teacher's networks,
    mean over D and parametrisations; interval: Student's t over teachers.
    """
    return over_points(_of_two_layers(data, "miss"))


@statements.beyond.typically(
    BEYOND,
    at_least(
        0.5,
        "more often than not",
        source="anon2026data (10): the sum is exact for white inputs and no residual",
    ),
    id="sum-of-norms-is-closer",
    over=["parametrisation", "size"],
    state=FINISHED,
)
def sum_closer(data: xr.Dataset) -> xr.DataArray:
    """After training on sampled inputs the sum of both squared spectral norms is closer to the
    sharpness than the larger of them.

    Statistic: fraction of a teacher's networks for which it is closer, in logarithms; interval:
    Student's t over teachers.

    Remark: Where D is 1 or 2 one norm is a small part of the sum under SP and μP. The second
    moments of the inputs change the larger term by more.
    """
    return over_points(_of_two_layers(data.sel(time="trained"), "closer"))

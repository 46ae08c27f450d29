"""The statements of D.3.3 of singh2026cracking about a block-diagonal Hessian and the sharpness."""

import math

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import NORMAL, Estimate, at_least, needs, wilson, within
from hessian_papers.ledger.statements import Statements
from hessian_papers.studies.correlations.ensembles import (
    PARAMETRISATIONS,
    TIMES,
    distance_from,
    estimates,
    require_finished,
    require_two_layers,
)

ARGUMENT = 'Appendix D.3.3, "Why Squared Spectral Norm?"'
SAMPLED = (
    "a tenth allows for the second moments of Gaussian inputs, which are only nearly the identity"
)
NOT_WHITE = (
    "With the second moments S of the inputs the exact bound is "
    r"$\max(λ_{\max}(W_1 S W_1^⊤), σ_{\max}^2(W_2) λ_{\max}(S))$ (study {study of Theorems "
    "3.1 to 3.5, appendix B}). In print S is the identity. In the paper's experiments, with "
    r"n Gaussian samples, its eigenvalues range from about $(1 - \sqrt{D/n})^2$ to "
    r"$(1 + \sqrt{D/n})^2$."
)

# The standard error of a median times √n over the quartiles' distance, if normal between these.
MEDIAN_ERROR = math.sqrt(math.pi / 2) / 1.348980
ALL_DIVERGED = "this configuration has no network whose ratio is finite"

statements = Statements(
    values=PARAMETRISATIONS | {name: text.capitalize() for name, text in TIMES.items()}
)
appendix = statements.about("singh2026cracking", "Appendix D.3.3")


@statements.always(
    ARGUMENT,
    at_least(1.0, "exact for the white inputs that the argument assumes"),
    id="larger-norm-bounds-the-sharpness",
    otherwise=NOT_WHITE,
)
def lower_bound(data: xr.Dataset) -> float:
    """Whether or not the Hessian is block-diagonal, its largest eigenvalue is at least the larger
    of the two matrices' squared spectral norms.

    Statistic: smallest ratio over all networks of the experiments, at initialisation and after
    training.
    """
    require_two_layers(data)
    needs(data["used"].any(), ALL_DIVERGED)
    return float(data["ratio"].sel(formula="maximum").min())


def _typical_error(data: xr.Dataset, formula: str = "sum") -> Estimate:
    """|ratio − 1| of the median network after training at the position where it is largest.

    With the median's 95 % interval by the quartiles.
    """
    require_two_layers(data)
    trained = data.sel(time="trained", formula=formula)
    require_finished(trained)
    lower, middle, upper = (trained["ratio"].sel(level=level) for level in (0.25, 0.5, 0.75))
    half = NORMAL * MEDIAN_ERROR * (upper - lower) / np.sqrt(trained["used"].clip(min=1))
    medians = estimates(xr.concat([middle, middle - half, middle + half], "estimate"))
    needs(medians, ALL_DIVERGED)
    return max(distance_from(1.0, median) for median in medians)


@appendix.everywhere(
    ARGUMENT,
    within(0.1, f"exact at zero loss for white inputs; {SAMPLED}", source="anon2026data (10)"),
    otherwise=NOT_WHITE,
    id="sharpness-is-the-sum-of-both-norms",
    over=["parametrisation"],
)
def value(data: xr.Dataset, printed: bool = False) -> Estimate:
    """After training the sharpness is the sum of both squared spectral norms.

    Statistic: |ratio − 1| of the median network, at the D where it is largest; interval: 95 % for
    the median, from the quartiles.

    In print: The sharpness is the larger of the two squared spectral norms
    """
    return _typical_error(data, "maximum" if printed else "sum")


@appendix.beyond.typically(
    ARGUMENT,
    at_least(
        0.5,
        "more often than not",
        source="anon2026data (10): the sum is exact for white inputs and no residual",
    ),
    id="sum-of-norms-is-closer",
    over=["time"],
)
def sum_closer(data: xr.Dataset) -> Estimate:
    """The sum of both squared spectral norms is closer to the sharpness than the larger of them.

    Statistic: fraction of networks for which it is closer, in logarithms.
    """
    require_two_layers(data)
    require_finished(data)
    used, number = data["used"], int(data["used"].sum())
    needs(number, ALL_DIVERGED)
    # Where no network is used there is no share.
    return wilson(float((data["closer"] * used).sum(skipna=True) / number), number, NORMAL)

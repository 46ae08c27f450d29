"""Our statements on the sharpness on raw inputs, beyond the assumption of white ones.

An image set and a number of layers are no draws: each pair is a case. Its replicates have subsets
and initial weights of their own, and are what its interval is made of.
"""

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import at_least, at_most, needs, within
from hessian_papers.ledger.conditions import AFTER_TRAINING, Condition
from hessian_papers.ledger.statements import Statements
from hessian_papers.studies.images.derived import quotient, worst
from hessian_papers.studies.images.raw_inputs.derived import late, of_network

PLACE = "section 5; Figure 2 (left), beyond its assumption"
EACH = ("source", "depth")
FACTOR = 3.0
# Of balanced layers that are trained: as much as `balanced-layers-stay-balanced` allows.
IMBALANCE = 0.01


def _require_balance(data: xr.Dataset) -> None:
    defect = float(of_network(data)["defect"].max())
    needs(
        defect <= IMBALANCE,
        f"the defect of balancedness comes to {defect:.2g} here; steps beyond stability unbalance "
        "layers, and the statement is about balanced ones",
    )


BALANCED = Condition("balanced layers")
STAY_BALANCED = Condition(BALANCED.text, _require_balance)
AT_LEAST_SQUARES = Condition("at least squares")
LATE_IN_TRAINING = Condition("once a fifth of the epochs is over")

statements = Statements()
on_raw = statements.about("anon2026data", "Figure 2 (left), beyond its assumption").beyond
after_training = on_raw.having(state=AFTER_TRAINING, over=EACH)


@on_raw.identity(
    PLACE,
    within(1e-8, "an iterative eigenvalue, whose error is the square of its residual"),
    id="least-squares-sharpness-on-raw-inputs",
    state=AT_LEAST_SQUARES,
    assumes=BALANCED,
    over=EACH,
)
def at_least_squares(data: xr.Dataset) -> float:
    r"""Balanced layers whose product is the least-squares one, $B = Y X^+$, have as sharpness the
    largest eigenvalue of
    $S^{1/2} [\sum_l ‖B‖^{2(L-l)/L} (B^⊤ B)^{(l-1)/L}] S^{1/2}$ with $S = X X^⊤ / n$. It is known
    from the data alone, whatever loss is left.

    Statistic: largest relative deviation from the largest eigenvalue of the Hessian at such layers.
    """
    return worst(abs(quotient(data["at_limit"], data["limit"]) - 1))


@on_raw.everywhere(
    PLACE,
    within(
        IMBALANCE,
        "of the order of the layers' defect of balancedness, at most 0.01 here; the residual that "
        "is left lies in directions of small second moments, which curve little",
        source="ours: for exact balance the formula is exact at least squares",
    ),
    id="sharpness-from-the-product-on-raw-inputs",
    state=LATE_IN_TRAINING,
    assumes=STAY_BALANCED,
    over=EACH,
)
def from_the_product(data: xr.Dataset) -> xr.DataArray:
    r"""The sharpness of balanced linear networks on raw inputs follows from their product $B$ and
    the second moments $S$, far from least squares as well. It is the largest eigenvalue of
    $S^{1/2} [\sum_l ‖B‖^{2(L-l)/L} (B^⊤ B)^{(l-1)/L}] S^{1/2}$.

    Statistic: largest relative deviation at the recorded epochs from a fifth of them on, over all
    shares. Interval: Student's t over replicates.

    Remark: At initialisation the residual is large, and its part of the Hessian is not small.
    """
    network = late(of_network(data))
    deviation = abs(quotient(network["product"], network["sharpness"]) - 1)
    return deviation.max(["share", "epoch"], skipna=False)


@after_training.typically(
    PLACE,
    at_most(
        0.01,
        "a hundredth is two orders of magnitude",
        source="ours: least squares takes times of 1/μ, for which the smallest μ are too small",
    ),
    id="part-of-the-least-squares-sharpness",
)
def part_of_the_limit(data: xr.Dataset) -> xr.DataArray:
    """Training on raw inputs ends far below the sharpness of its least-squares solution.

    Statistic: sharpness after training over that at least squares, mean over the shares. Interval:
    Student's t over replicates.

    Remark: With few images of few pixels the smallest second moment is not small.
    """
    network = of_network(data).isel(epoch=-1)
    return quotient(network["sharpness"], network["limit"]).mean("share", skipna=False)


@after_training.typically(
    PLACE,
    at_least(
        0.8,
        "nine tenths of one and a tenth of the other",
        source=(
            "ours: regression learns a direction at the rate μ; in a network it is multiplied by "
            r"up to $L ‖B‖^{2 - 2/L}$, which is of order 1"
        ),
    ),
    id="directions-are-learnt-by-their-eigenvalue",
)
def by_eigenvalue(data: xr.Dataset) -> xr.DataArray:
    r"""Training learns the eigendirections of $S$ by their eigenvalues μ and the time t, the sum of
    the learning rates. Directions with a μ t of at least 100 are learnt, and those below 0.1 are
    not.

    Statistic: part of the loss that is removed in the former minus that in the latter, mean over
    shares and powers of ten of μ t. Interval: Student's t over replicates.
    """
    learnt, of = of_network(data)["learnt"].isel(epoch=-1), data["decade"]
    # From 100 on, and below a tenth.
    large, small = (learnt.sel(decade=chosen).mean("decade") for chosen in (of >= 2, of < -1))
    known = (large - small).mean("share").dropna("replicate")
    needs(known.size, "this configuration has no inputs with directions of both kinds")
    return known


@after_training.typically(
    PLACE,
    at_most(
        float(np.log(FACTOR)),
        "a factor of three",
        source="ours: half an order of magnitude; least squares itself is orders of magnitude off",
    ),
    id="sharpness-of-what-can-be-learnt-in-time",
)
def of_the_learnable(data: xr.Dataset) -> xr.DataArray:
    r"""The least squares of the directions with $μ t ≥ 1$ predicts the sharpness after training,
    from the data and the time t alone.

    Statistic: $|\ln|$ of the predicted over the measured sharpness, mean over the shares. Interval:
    Student's t over replicates.

    Remark: A direction is learnt at a rate that the network's own size multiplies. On inputs with
    large second moments networks stay small, and learn less.
    """
    network = of_network(data).isel(epoch=-1)
    ratio = quotient(network["cut"], network["sharpness"])
    return abs(xr.apply_ufunc(np.log, ratio.where(ratio > 0))).mean("share", skipna=False)

"""The statements of anon2026data on learning one class, peak sharpness, and balance of layers."""

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import NothingToMeasure, at_most, within
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.verdicts import everywhere, typically
from hessian_papers.ledger.words import MOST
from hessian_papers.studies.images.derived import quotient, worst

LEARNING = "section 4, last paragraph"
BALANCE = "section 3, below Assumption 3"
ALGEBRAIC = (
    "The one mode that is learnt is learnt faster. But nine others, which the weights have at the "
    "start and the labels do not, vanish by a power of the time alone, since with four layers "
    "their slope vanishes with them; with equal shares all ten approach a solution exponentially."
)
RAW_PEAKS = (
    "With raw inputs it depends on the images: on Fashion-MNIST one class peaks higher, on digits "
    "of 8 x 8 pixels and on CIFAR-10, at the edge of stability, equal shares do. One class needs "
    "the direction of the mean image alone, along which the second moment is large and small "
    "weights do; to tell classes apart takes directions of smaller moments and larger weights."
)
OTHER_MODES = (
    "The rate is beyond stability for modes near the sharpest alone. Where labels are not fitted "
    "their singular values differ, and a layer's largest one may belong to another mode, which "
    "stays as it was drawn; imbalance as a whole falls all the same."
)

UNSTABLE = "A rate at which training is unstable adds imbalance."

statements = Statements()
courses = statements.about("anon2026data", "Sections 3 and 4, courses of training")


def kept(imbalance: xr.DataArray) -> xr.DataArray:
    """Imbalance over that at the start."""
    return quotient(imbalance, imbalance.sel(epoch=0))


def spread(data: xr.Dataset) -> xr.DataArray:
    """The distance of the layers' largest singular values, squared.

    (max_l σ₁²(W_l) − min_l σ₁²(W_l)) over the mean of the σ₁²(W_l).
    """
    squares = data["top"] ** 2
    return quotient(squares.max("layer") - squares.min("layer"), squares.mean("layer"))


def _clean(data: xr.Dataset) -> xr.DataArray:
    """The replicates of which none of the runs diverged.

    Raises:
        NothingToMeasure: there is none.
    """
    diverged = data["diverged"]
    clean = ~diverged.any([dim for dim in diverged.dims if dim != "replicate"])
    if not clean.any():
        raise NothingToMeasure("in this configuration training diverges")
    return clean


@courses.statement(
    LEARNING,
    typically,
    MOST,
    id="one-class-is-easier-to-learn",
    otherwise=ALGEBRAIC,
    over=["done", "inputs"],
    name="easier-{done}-{inputs}",
)
def easier(data: xr.Dataset) -> xr.DataArray:
    """A data set with all inputs in one class should be easier to learn than one with equal shares.

    Statistic: fraction of the pairs of networks, from the same weights at the same rate, of which
    fewer epochs remove a half, 99 % or 99.9 % of the loss that training can remove, without pairs
    of which neither gets there; interval: Wilson's, 95 %.
    """
    runs = data.sel(treated=data["inputs"])
    epochs = runs["epochs"]
    # Never is later than any epoch.
    sooner = epochs.sel(labels="one").fillna(np.inf) < epochs.sel(labels="uniform").fillna(np.inf)
    chosen = sooner.sel(replicate=_clean(runs) & epochs.notnull().any("labels"))
    if not chosen.size:
        raise NothingToMeasure("in this configuration neither of the two gets that far")
    return chosen


@courses.statement(
    f"{LEARNING}, against Cohen et al., Caveat 2",
    typically,
    MOST,
    id="simpler-data-do-not-peak-lower",
    otherwise=RAW_PEAKS,
    over=["inputs"],
    name="peak-{inputs}",
)
def peak_is_not_lower(data: xr.Dataset) -> xr.DataArray:
    """The simpler data set does not have the lower peak sharpness: one class has a higher one than
    equal shares.

    Statistic: fraction of the pairs of networks of which the largest sharpness at the recorded
    epochs is so; interval: Wilson's, 95 %.
    """
    peaks = _peaks(data)
    higher = peaks.sel(labels="one") > peaks.sel(labels="uniform")
    return higher.sel(replicate=_clean(data.sel(treated=data["inputs"])))


def _peaks(data: xr.Dataset) -> xr.DataArray:
    """The largest sharpness at the recorded epochs."""
    return data["sharpness"].max("epoch", skipna=False)


@courses.statement(
    f"{LEARNING}; Figure 2 (left)",
    typically,
    MOST,
    id="peak-sharpness-follows-the-geometry",
    otherwise="Inputs whose second moments are all near 1 have little geometry.",
)
def geometry_matters_more(data: xr.Dataset) -> xr.DataArray:
    """Peak sharpness is strongly influenced by the geometry of the inputs: whitening them changes
    it more than giving all of them one label does.

    Statistic: fraction of the replicates of which |ln| of the ratio of peaks, raw over whitened
    inputs at equal shares, is more than that of one class over equal shares, whatever the inputs;
    interval: Wilson's, 95 %.
    """
    peaks = xr.apply_ufunc(np.log, _peaks(data))
    uniform = peaks.sel(labels="uniform")
    by_inputs = abs(uniform.sel(inputs="raw") - uniform.sel(inputs="whitened"))
    by_labels = abs(peaks.sel(labels="one") - uniform).max("inputs", skipna=False)
    return (by_inputs > by_labels).sel(replicate=_clean(data.sel(treated=data["inputs"])))


@courses.statement(
    BALANCE,
    typically,
    at_most(1.0, "1 is no change; increasingly is at every step"),
    id="weight-decay-balances",
    otherwise=UNSTABLE,
    over=["labels"],
    name="decay-{labels}",
)
def decay_balances(data: xr.Dataset) -> float:
    r"""Layers that are unbalanced at the start become increasingly balanced under weight decay.

    Statistic: the largest ratio of $\max_l ‖W_l W_l^⊤ - W_{l+1}^⊤ W_{l+1}‖_F$ at one recorded epoch
    to that at the one before, of all networks.
    """
    runs = data.sel(treated="decay")
    left = kept(runs["unbalance"]).sel(replicate=_clean(runs))
    return worst(left / left.shift(epoch=1))


@courses.statement(
    f"{BALANCE}, as gradient flow with weight decay has it",
    everywhere,
    within(
        0.05,
        "steps of a finite rate leave about a twentieth",
        source=(
            "ours: $D = W_l W_l^⊤ - W_{l+1}^⊤ W_{l+1}$ has $dD/dt = -2λD$ for any loss of the "
            "product"
        ),
    ),
    id="law-of-imbalance",
    otherwise="Steps near the edge of stability are far from gradient flow.",
    over={
        "labels": lambda data: data["labels"].values.tolist(),
        "treated": lambda data: ["plain", "decay"],
    },
    name="law-{labels}-{treated}",
    book="beyond",
)
def law_of_imbalance(data: xr.Dataset) -> float:
    r"""Imbalance is $\exp(-2λt)$ of that at the start, at time $t =$ learning rate times epoch,
    with weight decay $λ$ or none.

    Statistic: largest relative deviation at any recorded epoch of all networks.
    """
    deviation = abs(kept(data["unbalance"]) / kept(data["law"]) - 1)
    return worst(deviation.sel(replicate=_clean(data)))


@courses.statement(
    f"{BALANCE}, at the edge of stability",
    typically,
    MOST,
    id="edge-of-stability-balances",
    otherwise=OTHER_MODES,
    over=["labels"],
    name="edge-{labels}",
)
def edge_balances(data: xr.Dataset) -> xr.DataArray:
    r"""Gradient descent at the edge of stability balances the singular values of the layers.

    Statistic: fraction of the networks of which the largest singular values of the layers, squared,
    end at most half as far apart as after a training at a small rate from the same weights (the
    paper gives no number); interval: Wilson's, 95 %. Of imbalance as a whole,
    $\max_l ‖W_l W_l^⊤ - W_{l+1}^⊤ W_{l+1}‖_F$ at the end over that at the start, the largest of all
    networks.
    """
    end = spread(data).isel(epoch=-1)
    closer = end.sel(treated="edge") <= end.sel(treated="plain") / 2
    return closer.sel(replicate=_clean(data.sel(treated=["edge", "plain"])))


@courses.statement(
    f"{BALANCE}, at the edge of stability",
    typically,
    at_most(1.0, "1 is what gradient flow leaves"),
    id="edge-of-stability-balances",
    otherwise=UNSTABLE,
    over=["labels"],
    name="edge-imbalance-{labels}",
)
def edge_lowers_imbalance(data: xr.Dataset) -> float:
    """Gradient descent at the edge of stability leaves layers less unbalanced than they were."""
    runs = data.sel(treated="edge")
    return worst(kept(runs["unbalance"]).isel(epoch=-1).sel(replicate=_clean(runs)))

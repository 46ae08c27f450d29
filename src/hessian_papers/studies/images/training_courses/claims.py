"""The statements of anon2026data on learning one class, peak sharpness, and balance of layers."""

import itertools
from collections.abc import Iterable

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import at_most, needs, within
from hessian_papers.ledger.conditions import THROUGHOUT_TRAINING, Condition
from hessian_papers.ledger.statements import Cases, Statements
from hessian_papers.ledger.words import MOST
from hessian_papers.studies.images.derived import EARLY, EARLY_IN_TRAINING, quotient, spread, worst
from hessian_spectra.statistics import rank_correlation

LEARNING = "section 4, last paragraph"
BALANCE = "section 3, below Assumption 3"

UNSTABLE = "A rate at which training is unstable adds imbalance."


def _require_edge(data: xr.Dataset) -> None:
    edge = data.sel(treated="edge")
    least = float((edge["rate"] * edge["solution"] / 2).min())
    needs(
        least > 1,
        f"the rate is {least:.3g} times that at which the balanced solution turns unstable; the "
        "statement is about the edge of stability",
    )


AT_THE_EDGE = Condition("after training at the edge of stability", _require_edge)
statements = Statements().having(state=THROUGHOUT_TRAINING)
courses = statements.about("anon2026data", "Sections 3 and 4, courses of training")


def kept(values: xr.DataArray) -> xr.DataArray:
    """Values over those at the start."""
    return quotient(values, values.sel(epoch=0))


def _of_each_set(*dimensions: str) -> Cases:
    """A case for each label along some dimensions and each image set: sets are no draws."""

    def cases(data: xr.Dataset) -> Iterable[dict[str, str]]:
        names = (*dimensions, "source")
        labels = [dict.fromkeys(np.asarray(data[name]).tolist()) for name in names]
        return [dict(zip(names, each, strict=True)) for each in itertools.product(*labels)]

    return cases


def _of_set(data: xr.Dataset, source: str, **labels: str) -> xr.Dataset:
    """The runs on one image set, at some labels; replicates count from 0, to pair those of sets."""
    own = data.sel(labels).isel(replicate=np.flatnonzero(data["source"].values == source))
    return own.assign_coords(replicate=np.arange(own.sizes["replicate"]))


def _clean(data: xr.Dataset) -> xr.DataArray:
    """The replicates of which none of the runs diverged.

    Raises:
        NothingToMeasure: there is none.
    """
    diverged = data["diverged"]
    clean = ~diverged.any([dim for dim in diverged.dims if dim != "replicate"])
    needs(clean.any(), "in this configuration training diverges")
    return clean


@courses.typically(
    LEARNING,
    MOST,
    id="one-class-is-easier-to-learn",
    each=_of_each_set("done", "inputs"),
    name="easier-{done}-{inputs}-{source}",
)
def easier(data: xr.Dataset, source: str, done: str, inputs: str) -> xr.DataArray:
    """A data set with all inputs in one class should be easier to learn than one with equal shares.

    Statistic: fraction of pairs in which one class takes fewer epochs to remove half, 99 % or 99.9
    % of the loss that training can remove. A pair has the same initial weights and rate. Where
    neither of some pair gets there nothing is measured. Interval: Wilson's, 95 %.

    Remark: The single mode that is learnt is learnt faster. The weights start with nine further
    modes that the labels lack. These decay only as a power of time, since with four layers their
    slope vanishes with them. With equal shares all ten modes approach a solution exponentially.
    """
    runs = _of_set(data, source, treated=inputs)
    epochs = runs["epochs"].sel(done=done)
    # Never is later than any epoch.
    sooner = epochs.sel(labels="one").fillna(np.inf) < epochs.sel(labels="uniform").fillna(np.inf)
    arrived = epochs.notnull().any("labels").sel(replicate=_clean(runs))
    missing = f"{int((~arrived).sum())} of {arrived.size} pairs"
    needs(arrived.all(), f"in this configuration neither of the two gets that far in {missing}")
    return sooner.sel(replicate=_clean(runs))


@courses.typically(
    f"{LEARNING}, against Cohen et al., Caveat 2",
    MOST,
    id="simpler-data-do-not-peak-lower",
    each=_of_each_set("inputs"),
    name="peak-{inputs}-{source}",
)
def peak_is_not_lower(data: xr.Dataset, source: str, inputs: str) -> xr.DataArray:
    """The simpler data set does not have the lower peak sharpness: one class has a higher peak than
    equal shares.

    Statistic: fraction of pairs of networks whose largest sharpness at the recorded epochs is
    higher for one class; interval: Wilson's, 95 %.

    Remark: With raw inputs it depends on the images. On Fashion-MNIST one class peaks higher. On
    digits of 8 x 8 pixels and on CIFAR-10, at the edge of stability, equal shares do. One class
    needs only the direction of the mean image, where the second moment is large and small weights
    suffice. Distinguishing classes requires directions with smaller moments and larger weights.
    """
    runs = _of_set(data, source, inputs=inputs, treated=inputs)
    peaks = _peaks(runs)
    higher = peaks.sel(labels="one") > peaks.sel(labels="uniform")
    return higher.sel(replicate=_clean(runs))


def _peaks(data: xr.Dataset) -> xr.DataArray:
    """The largest sharpness at the recorded epochs."""
    return data["sharpness"].max("epoch", skipna=False)


@courses.typically(
    f"{LEARNING}; Figure 2 (left)",
    MOST,
    id="peak-sharpness-follows-the-geometry",
    each=_of_each_set(),
    name="geometry-{source}",
)
def geometry_matters_more(data: xr.Dataset, source: str) -> xr.DataArray:
    """Peak sharpness is strongly influenced by the geometry of the inputs: whitening them changes
    it more than giving all of them one label does.

    Statistic: fraction of replicates in which |ln| of the peaks' ratio, raw over whitened inputs,
    exceeds that of one class over equal shares. The former is at equal shares, the latter for
    either inputs; interval: Wilson's, 95 %.

    Remark: Inputs whose second moments are all near 1 have little geometry.
    """
    runs = _of_set(data, source)
    peaks = xr.apply_ufunc(np.log, _peaks(runs))
    uniform = peaks.sel(labels="uniform")
    by_inputs = abs(uniform.sel(inputs="raw") - uniform.sel(inputs="whitened"))
    by_labels = abs(peaks.sel(labels="one") - uniform).max("inputs", skipna=False)
    return (by_inputs > by_labels).sel(replicate=_clean(runs.sel(treated=data["inputs"])))


@courses.typically(
    BALANCE,
    at_most(0.0, "less is left than without decay, and 'increasingly' means at every step"),
    id="weight-decay-balances",
    otherwise=UNSTABLE,
    each=_of_each_set("labels"),
    name="decay-{labels}-{source}",
)
def decay_balances(data: xr.Dataset, source: str, labels: str) -> xr.DataArray:
    r"""Layers that are unbalanced at initialisation become increasingly balanced under weight
    decay.

    Statistic: fraction of $\max_l ‖W_l W_l^⊤ - W_{l+1}^⊤ W_{l+1}‖_F$ that is left at the end, minus
    that without decay. Where it rises between two recorded epochs, all of it counts as left.
    Interval: Student's t over replicates.
    """
    runs = _of_set(data, source, labels=labels).sel(treated=["decay", "plain"])
    left = kept(runs["unbalance"]).sel(replicate=_clean(runs))
    end, decay = left.isel(epoch=-1), left.sel(treated="decay")
    rises = (decay > decay.shift(epoch=1)).any("epoch")
    return end.sel(treated="decay").where(~rises, 1.0) - end.sel(treated="plain")


@courses.beyond.everywhere(
    f"{BALANCE}, as gradient flow with weight decay has it",
    within(
        0.05,
        "steps of a finite rate leave about a twentieth",
        source=(
            "ours: $D = W_l W_l^⊤ - W_{l+1}^⊤ W_{l+1}$ has $dD/dt = -2λD$ for any loss of the "
            "product"
        ),
    ),
    id="law-of-imbalance",
    over={
        "labels": lambda data: data["labels"].values.tolist(),
        "treated": lambda data: ["plain", "decay"],
    },
    name="law-{labels}-{treated}",
)
def law_of_imbalance(data: xr.Dataset) -> float:
    r"""At time $t =$ learning rate times epoch, the imbalance is $\exp(-2λt)$ times its initial
    value, with weight decay $λ$ or none.

    Statistic: largest relative deviation at any recorded epoch, over all networks.

    Remark: Steps near the edge of stability are far from gradient flow.
    """
    deviation = abs(kept(data["unbalance"]) / kept(data["law"]) - 1)
    return worst(deviation.sel(replicate=_clean(data)))


@courses.typically(
    f"{BALANCE}, at the edge of stability",
    MOST,
    id="edge-of-stability-balances",
    state=AT_THE_EDGE,
    each=_of_each_set("labels"),
    name="edge-{labels}-{source}",
)
def edge_balances(data: xr.Dataset, source: str, labels: str) -> xr.DataArray:
    r"""Gradient descent at the edge of stability balances the singular values of the layers.

    Statistic: fraction of networks whose layers' largest squared singular values end nearer to each
    other than with a small rate from the same weights. Interval: Wilson's, 95 %.

    Remark: The rate is beyond stability only for modes near the sharpest. Where labels are not
    fitted, their singular values differ, and a layer's largest may belong to another mode, which
    keeps its initial value. In 64 by 64 matrices of Kaiming's initialisation it does: the learnt
    modes are smaller.
    """
    runs = _of_set(data, source, labels=labels)
    end = spread(runs).isel(epoch=-1)
    closer = end.sel(treated="edge") < end.sel(treated="plain")
    return closer.sel(replicate=_clean(runs.sel(treated=["edge", "plain"])))


@courses.typically(
    "text below eq. (11)",
    at_most(0.0, "a sign"),
    id="sharpness-falls-early",
    state=EARLY_IN_TRAINING,
    each=_of_each_set("labels", "inputs"),
    name="falls-{labels}-{inputs}-{source}",
)
def sharpness_falls_early(data: xr.Dataset, source: str, labels: str, inputs: str) -> xr.DataArray:
    """Sharpness decreases early in training.

    Statistic: lowest sharpness at the recorded epochs over the initial one, minus 1, while more
    than half of the loss above that of least squares remains. Interval: Student's t over
    replicates.

    Remark: From a small initialisation the labels decide the sign, and the weights may grow from
    the first epoch on.
    """
    runs = _of_set(data, source, labels=labels, inputs=inputs, treated=inputs)
    early = (kept(runs["loss"]) > EARLY) & (runs["epoch"] > 0)
    lowest = kept(runs["sharpness"]).where(early).min("epoch").sel(replicate=_clean(runs))
    known = lowest.dropna("replicate")
    needs(known.size, "this configuration records no early epoch beside the start")
    return known - 1


@courses.typically(
    "Assumption 1, last sentence",
    at_most(
        -1.0,
        "−1 is a fall at every recorded epoch; 0.1 allows for two neighbours out of order",
        tolerance=0.1,
    ),
    id="assumption-1-gains-with-training",
    each=_of_each_set("labels", "inputs"),
    name="loss-{labels}-{inputs}-{source}",
)
def loss_falls(data: xr.Dataset, source: str, labels: str, inputs: str) -> xr.DataArray:
    """Assumption 1, that the loss is near zero, becomes more accurate with training.

    Statistic: Spearman's correlation of epoch and loss above that of least squares. Interval:
    Student's t over replicates.
    """
    runs = _of_set(data, source, labels=labels, treated=inputs)
    losses = runs["loss"].sel(replicate=_clean(runs))
    epochs = losses["epoch"].values.astype(float)
    values = [rank_correlation(epochs, each.values) for each in losses.transpose("replicate", ...)]
    return xr.DataArray(values, coords={"replicate": losses["replicate"]}, dims="replicate")

"""The statements of anon2026data on learning one class, peak sharpness, and balance of layers."""

import itertools
from collections.abc import Iterable

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import at_most, needs, within
from hessian_papers.ledger.statements import Cases, Statements
from hessian_papers.ledger.words import MOST
from hessian_papers.studies.images.derived import quotient, spread, worst

LEARNING = "section 4, last paragraph"
BALANCE = "section 3, below Assumption 3"

UNSTABLE = "A rate at which training is unstable adds imbalance."

statements = Statements()
courses = statements.about("anon2026data", "Sections 3 and 4, courses of training")


def kept(imbalance: xr.DataArray) -> xr.DataArray:
    """Imbalance over that at the start."""
    return quotient(imbalance, imbalance.sel(epoch=0))


def _of_each_set(*dimensions: str) -> Cases:
    """A case for each label along some dimensions and each image set: sets are no draws."""

    def cases(data: xr.Dataset) -> Iterable[dict[str, str]]:
        names = (*dimensions, "source")
        labels = [dict.fromkeys(np.asarray(data[name]).tolist()) for name in names]
        return [dict(zip(names, each, strict=True)) for each in itertools.product(*labels)]

    return cases


def _of_set(data: xr.Dataset, source: str, **labels: str) -> xr.Dataset:
    """The runs on one image set, at some labels."""
    return data.sel(labels).isel(replicate=np.flatnonzero(data["source"].values == source))


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
    % of the loss that training can remove. A pair has the same initial weights and rate. Pairs in
    which neither gets there are left out. Interval: Wilson's, 95 %.

    Remark: The single mode that is learnt is learnt faster. The weights start with nine further
    modes that the labels lack. These decay only as a power of time, since with four layers their
    slope vanishes with them. With equal shares all ten modes approach a solution exponentially.
    """
    runs = _of_set(data, source, treated=inputs)
    epochs = runs["epochs"].sel(done=done)
    # Never is later than any epoch.
    sooner = epochs.sel(labels="one").fillna(np.inf) < epochs.sel(labels="uniform").fillna(np.inf)
    chosen = sooner.sel(replicate=_clean(runs) & epochs.notnull().any("labels"))
    needs(chosen.size, "in this configuration neither of the two gets that far")
    return chosen


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
    at_most(1.0, "1 is no change; 'increasingly' means at every step"),
    id="weight-decay-balances",
    otherwise=UNSTABLE,
    over=["labels"],
    name="decay-{labels}",
)
def decay_balances(data: xr.Dataset) -> float:
    r"""Layers that are unbalanced at initialisation become increasingly balanced under weight
    decay.

    Statistic: largest ratio of $\max_l ‖W_l W_l^⊤ - W_{l+1}^⊤ W_{l+1}‖_F$ at one recorded epoch to
    that at the previous one, over all networks.
    """
    runs = data.sel(treated="decay")
    left = kept(runs["unbalance"]).sel(replicate=_clean(runs))
    return worst(left / left.shift(epoch=1))


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
    each=_of_each_set("labels"),
    name="edge-{labels}-{source}",
)
def edge_balances(data: xr.Dataset, source: str, labels: str) -> xr.DataArray:
    r"""Gradient descent at the edge of stability balances the singular values of the layers.

    Statistic: fraction of networks whose layers' largest squared singular values end at most half
    as far apart as with a small rate from the same weights. The factor is ours; the paper gives no
    number. Interval: Wilson's, 95 %. For the total imbalance:
    $\max_l ‖W_l W_l^⊤ - W_{l+1}^⊤ W_{l+1}‖_F$ at the end over that at initialisation, largest over
    all networks.

    Remark: The rate is beyond stability only for modes near the sharpest. Where labels are not
    fitted, their singular values differ, and a layer's largest may belong to another mode, which
    keeps its initial value. In 64 by 64 matrices of Kaiming's initialisation it does: the learnt
    modes are smaller. The total imbalance falls all the same, by a few per cent there.
    """
    runs = _of_set(data, source, labels=labels)
    end = spread(runs).isel(epoch=-1)
    closer = end.sel(treated="edge") <= end.sel(treated="plain") / 2
    return closer.sel(replicate=_clean(runs.sel(treated=["edge", "plain"])))


@courses.typically(
    f"{BALANCE}, at the edge of stability",
    at_most(1.0, "1 is what gradient flow leaves"),
    id="edge-of-stability-balances",
    otherwise=UNSTABLE,
    over=["labels"],
    name="edge-imbalance-{labels}",
)
def edge_lowers_imbalance(data: xr.Dataset) -> float:
    """Gradient descent at the edge of stability leaves layers less unbalanced than at
    initialisation.
    """
    runs = data.sel(treated="edge")
    return worst(kept(runs["unbalance"]).isel(epoch=-1).sel(replicate=_clean(runs)))

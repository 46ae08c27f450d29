"""What anon2026data says of learning one class, of peak sharpness, and of what balances layers."""

import numpy as np

from hessian_papers.ledger.bounds import Estimate, at_most, within
from hessian_papers.ledger.statements import Labels, Statements
from hessian_papers.ledger.verdicts import everywhere, typically
from hessian_papers.ledger.words import MOST
from hessian_papers.studies.images.reading import worst
from hessian_papers.studies.images.training_courses.reading import LABELS, MEASURED, Reading

LEARNING = "section 4, last paragraph"
BALANCE = "section 3, below Assumption 3"
DONE = {"half": "half", "nearly": "99 %", "rest": "99.9 %"}
ALGEBRAIC = (
    "The one mode that is learnt is learnt faster. But nine others, which the weights have at the "
    "start and the labels do not, vanish by a power of the time alone, since with four layers "
    "their slope vanishes with them; with equal shares all ten approach a solution exponentially."
)
INPUTS = {"whitened": "whitened", "raw": "raw"}
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

statements = Statements(Reading)
courses = statements.about("anon2026data", "Sections 3 and 4, courses of training")


def _each_labels(reading: Reading) -> list[Labels]:
    return [{"labels": name} for name in LABELS]


def _each_done(reading: Reading) -> list[Labels]:
    return [
        {"done": done, "part": part, "inputs": inputs}
        for done, part in DONE.items()
        for inputs in INPUTS
    ]


@courses.statement(
    LEARNING,
    typically,
    MOST,
    id="one-class-is-easier-to-learn",
    otherwise=ALGEBRAIC,
    each=_each_done,
    name="easier-{done}-{inputs}",
)
def easier(reading: Reading, done: str, inputs: str, **_: str) -> Estimate:
    """A data set with all inputs in one class should be easier to learn than one with equal shares.

    Statistic: fraction of the pairs of networks, from the same weights at the same rate, of which
    fewer epochs remove a half, 99 % or 99.9 % of the loss that training can remove, without pairs
    of which neither gets there; interval: Wilson's, 95 %.
    """
    single, uniform = f"one-{inputs}", f"uniform-{inputs}"
    first, second = (reading.epochs_until(done, run) for run in (single, uniform))
    done_by_either = np.isfinite(np.minimum(first, second))
    return reading.share(first < second, single, uniform, among=done_by_either)


@courses.statement(
    f"{LEARNING}, against Cohen et al., Caveat 2",
    typically,
    MOST,
    id="simpler-data-do-not-peak-lower",
    otherwise=RAW_PEAKS,
    each=lambda reading: [{"inputs": inputs} for inputs in INPUTS],
    name="peak-{inputs}",
)
def peak_is_not_lower(reading: Reading, inputs: str) -> Estimate:
    """The simpler data set does not have the lower peak sharpness: one class has a higher one than
    equal shares.

    Statistic: fraction of the pairs of networks of which the largest sharpness at the recorded
    epochs is so; interval: Wilson's, 95 %.
    """
    single, uniform = f"one-{inputs}", f"uniform-{inputs}"
    return reading.share(reading.peak(single) > reading.peak(uniform), single, uniform)


@courses.statement(
    f"{LEARNING}; Figure 2 (left)",
    typically,
    MOST,
    id="peak-sharpness-follows-the-geometry",
    otherwise="Inputs whose second moments are all near 1 have little geometry.",
)
def geometry_matters_more(reading: Reading) -> Estimate:
    """Peak sharpness is strongly influenced by the geometry of the inputs: whitening them changes
    it more than giving all of them one label does.

    Statistic: fraction of the replicates of which |ln| of the ratio of peaks, raw over whitened
    inputs at equal shares, is more than that of one class over equal shares, whatever the inputs;
    interval: Wilson's, 95 %.
    """
    peaks = {run: np.log(reading.peak(run)) for run in MEASURED}
    by_inputs = np.abs(peaks["uniform-raw"] - peaks["uniform-whitened"])
    by_labels = [np.abs(peaks[f"one-{inputs}"] - peaks[f"uniform-{inputs}"]) for inputs in INPUTS]
    return reading.share(by_inputs > np.maximum(*by_labels), *peaks)


@courses.statement(
    BALANCE,
    typically,
    at_most(1.0, "1 is no change; increasingly is at every step"),
    id="weight-decay-balances",
    otherwise="A rate at which training is unstable adds imbalance.",
    each=_each_labels,
    name="decay-{labels}",
)
def decay_balances(reading: Reading, labels: str, **_: str) -> float:
    """Layers that are unbalanced at the start become increasingly balanced under weight decay.

    Statistic: the largest ratio of max_l ‖W_l W_lᵀ − W_{l+1}ᵀ W_{l+1}‖_F at one recorded epoch to
    that at the one before, of all networks.
    """
    kept = reading.kept(f"{labels}-decay")[reading.clean(f"{labels}-decay")]
    return worst(np.ravel(kept[:, 1:] / kept[:, :-1]))


@courses.statement(
    f"{BALANCE}, as gradient flow with weight decay has it",
    everywhere,
    within(
        0.05,
        "steps of a finite rate leave about a twentieth",
        source="ours: D = W_l W_lᵀ − W_{l+1}ᵀ W_{l+1} has dD/dt = −2λD for any loss of the product",
    ),
    id="law-of-imbalance",
    otherwise="Steps near the edge of stability are far from gradient flow.",
    each=lambda reading: [
        {"labels": labels, "treated": treated, "words": words}
        for labels in LABELS
        for treated, words in (("plain", "without weight decay"), ("decay", "with weight decay λ"))
    ],
    name="law-{labels}-{treated}",
    book="beyond",
)
def law_of_imbalance(reading: Reading, labels: str, treated: str, **_: str) -> float:
    """Imbalance is exp(−2λt) of that at the start, at time t = learning rate times epoch, with
    weight decay λ or none.

    Statistic: largest relative deviation at any recorded epoch of all networks.
    """
    run = f"{labels}-{treated}"
    values, law = (kept[reading.clean(run)] for kept in (reading.kept(run), reading.predicted(run)))
    return worst(np.ravel(np.abs(values / law - 1)))


@courses.statement(
    f"{BALANCE}, at the edge of stability",
    typically,
    MOST,
    id="edge-of-stability-balances",
    otherwise=OTHER_MODES,
    each=_each_labels,
    name="edge-{labels}",
)
def edge_balances(reading: Reading, labels: str, **_: str) -> Estimate:
    """Gradient descent at the edge of stability balances the singular values of the layers.

    Statistic: fraction of the networks of which the largest singular values of the layers, squared,
    end at most half as far apart as after a training at a small rate from the same weights (the
    paper gives no number); interval: Wilson's, 95 %.
    """
    edge, plain = f"{labels}-edge", f"{labels}-plain"
    closer = reading.spread(edge)[:, -1] <= reading.spread(plain)[:, -1] / 2
    return reading.share(closer, edge, plain)


@courses.statement(
    f"{BALANCE}, at the edge of stability",
    typically,
    at_most(1.0, "1 is what gradient flow leaves"),
    id="edge-of-stability-lowers-imbalance",
    otherwise="A rate at which training is unstable adds imbalance.",
    each=_each_labels,
    name="edge-imbalance-{labels}",
    book="beyond",
)
def edge_lowers_imbalance(reading: Reading, labels: str, **_: str) -> float:
    """Gradient descent at the edge of stability leaves layers less unbalanced than they were.

    Statistic: max_l ‖W_l W_lᵀ − W_{l+1}ᵀ W_{l+1}‖_F at the end over that at the start, the largest
    of all networks.
    """
    run = f"{labels}-edge"
    return worst(reading.kept(run)[reading.clean(run), -1])

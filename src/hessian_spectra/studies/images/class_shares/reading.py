"""What is measured of networks trained on subsets of images with a given largest class.

A network that diverged has no sharpness and is left out of every number. Where the image sets
differ, the worst of them counts.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from hessian_spectra.ledger.vocabulary import NothingToMeasure
from hessian_spectra.results import Arrays
from hessian_spectra.statistics import rank_correlation

# A least-squares loss below this is rounding: the inputs fit all labels.
FITTED = 1e-12

NO_NETWORKS = "this configuration has no networks of that kind whose training did not diverge"


def _worst(deviations: np.ndarray) -> float:
    """The largest size of deviations."""
    found = np.abs(deviations[np.isfinite(deviations)])
    if not found.size:
        raise NothingToMeasure(NO_NETWORKS)
    return float(found.max())


def _least(values: Iterable[float]) -> float:
    """The smallest value."""
    found = list(values)
    if not found:
        raise NothingToMeasure(NO_NETWORKS)
    return float(min(found))


def _case(closed_form: Arrays, case: str) -> np.ndarray:
    return np.asarray(closed_form["case"] == case)


def _main(closed_form: Arrays) -> np.ndarray:
    """The networks on subsets of the study's own size, which are kept first."""
    samples = closed_form["samples"]
    return np.asarray(samples == samples[0])


def _by_share(closed_form: Arrays, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Shares, ascending, and the mean value at each: ``(2, shares)``."""
    shares = np.unique(closed_form["share"][rows])
    means = [values[rows & (closed_form["share"] == share)].mean() for share in shares]
    return np.array([shares, means])


def series(closed_form: Arrays, numerics: Arrays, case: str) -> Iterator[np.ndarray]:
    """For each image set the shares, the mean sharpness at each, and that of the labels alone.

    ``(3, shares)``, of the study's own number of samples. An image set with fewer than two shares
    is left out.
    """
    used = _main(closed_form) & _case(closed_form, case) & np.isfinite(numerics["sharpness"])
    for source in np.unique(closed_form["source"][used]):
        rows = used & (closed_form["source"] == source)
        shares, measured = _by_share(closed_form, numerics["sharpness"], rows)
        if len(shares) > 1:
            yield np.stack(
                [shares, measured, _by_share(closed_form, closed_form["labels"], rows)[1]]
            )


def trend(closed_form: Arrays, numerics: Arrays, case: str) -> float:
    """The smallest rank correlation of share and mean sharpness among the image sets."""
    found = [
        rank_correlation(shares, measured)
        for shares, measured, _ in series(closed_form, numerics, case)
    ]
    return _least(found)


def exponent_gap(closed_form: Arrays, numerics: Arrays, case: str) -> float:
    """How far the exponent a of sharpness ~ α^a is from that of eq. (14), relative.

    Both are slopes of a straight line, by least squares, through the logarithms.
    """
    gaps = [
        np.polyfit(np.log(shares), np.log(measured), 1)[0]
        / np.polyfit(np.log(shares), np.log(labels), 1)[0]
        - 1
        for shares, measured, labels in series(closed_form, numerics, case)
    ]
    return _worst(np.array(gaps))


def variation(closed_form: Arrays, numerics: Arrays, case: str) -> float:
    """The range of log sharpness over the shares, relative to that of eq. (14): the largest."""
    ranges = [
        np.ptp(np.log(measured)) / np.ptp(np.log(labels))
        for _, measured, labels in series(closed_form, numerics, case)
    ]
    return _worst(np.array(ranges))


def deviation(closed_form: Arrays, numerics: Arrays, formula: str, rows: np.ndarray) -> float:
    """The largest relative deviation of the sharpness from a formula among some networks."""
    return _worst((numerics["sharpness"] / closed_form[formula] - 1)[rows])


def of_all(closed_form: Arrays, numerics: Arrays, formula: str) -> float:
    """The largest deviation from a formula of all networks."""
    return deviation(closed_form, numerics, formula, np.ones(len(closed_form["share"]), dtype=bool))


def of_main(closed_form: Arrays, numerics: Arrays) -> float:
    """The largest deviation from eq. (14) on subsets of the study's own size."""
    return deviation(closed_form, numerics, "labels", _main(closed_form))


def of_fitted(closed_form: Arrays, numerics: Arrays) -> float:
    """The largest deviation from eq. (14) where the inputs fit all labels."""
    return deviation(closed_form, numerics, "labels", closed_form["floor"] < FITTED)


def of_case(closed_form: Arrays, numerics: Arrays, case: str) -> float:
    """The largest deviation from eq. (14) of the networks of a case."""
    return deviation(closed_form, numerics, "labels", _case(closed_form, case))


def least_of_sources(closed_form: Arrays, numerics: Arrays, case: str) -> float:
    """The largest deviation from eq. (14) of each image set: the smallest of these."""
    used = _case(closed_form, case) & np.isfinite(numerics["sharpness"])
    found = [
        deviation(closed_form, numerics, "labels", used & (closed_form["source"] == source))
        for source in np.unique(closed_form["source"][used])
    ]
    return _least(found)


def _means_by_size(closed_form: Arrays, numerics: Arrays) -> list[np.ndarray]:
    """For each image set the mean of sharpness over eq. (14) at each number of samples, ascending.

    The mean takes as many of the smallest shares as there are at every number of samples: what is
    compared has nearly the same shares. Image sets with but one number of samples are left out.
    """
    ratio = numerics["sharpness"] / closed_form["labels"]
    used, found = np.isfinite(ratio), []
    for source in np.unique(closed_form["source"][used]):
        of = used & (closed_form["source"] == source)
        means = [
            _by_share(closed_form, ratio, of & (closed_form["samples"] == n))[1]
            for n in np.unique(closed_form["samples"][of])
        ]
        common = min(len(one) for one in means)
        if len(means) > 1:
            found.append(np.array([one[:common].mean() for one in means]))
    if not found:
        raise NothingToMeasure("no image set was taken at two numbers of samples")
    return found


def change_with_size(closed_form: Arrays, numerics: Arrays) -> float:
    """The largest relative change of sharpness over eq. (14) between two numbers of samples."""
    found = [means.max() / means.min() - 1 for means in _means_by_size(closed_form, numerics)]
    return _worst(np.array(found))


def rise_with_size(closed_form: Arrays, numerics: Arrays) -> float:
    """The largest relative rise of sharpness over eq. (14) from one number of samples to the next.

    Negative where it falls at every step.
    """
    steps = [means[1:] / means[:-1] - 1 for means in _means_by_size(closed_form, numerics)]
    return float(np.concatenate(steps).max())


def bound_violation(closed_form: Arrays, numerics: Arrays) -> float:
    """By how much the Gauss-Newton matrix's largest eigenvalue exceeds eq. (6), relative."""
    excess = numerics["ggn"] / closed_form["bound"] - 1
    return _worst(np.maximum(excess, 0))


def gauss_newton(closed_form: Arrays, numerics: Arrays) -> float:
    """The largest relative difference of the sharpness of the Hessian and the Gauss-Newton's."""
    return _worst(numerics["ggn"] / numerics["sharpness"] - 1)


def unbalance(closed_form: Arrays, numerics: Arrays) -> float:
    """The largest defect after training of linear networks that started balanced."""
    of = np.char.endswith(closed_form["case"], "-balanced-linear")
    return _worst(closed_form["defect"][of & np.isfinite(numerics["sharpness"]), 1])


def kept_unbalance(closed_form: Arrays, numerics: Arrays, case: str) -> float:
    """The defect after training over that before it: the smallest of a case."""
    of = _case(closed_form, case) & np.isfinite(numerics["sharpness"])
    before, after = closed_form["defect"][of].T
    return _least((after / before).tolist())


def first_layer_part(closed_form: Arrays, numerics: Arrays, case: str) -> float:
    """The first layer's largest eigenvalue over the whole sharpness: the smallest of a case."""
    of = _case(closed_form, case) & np.isfinite(numerics["ggn"])
    parts = (closed_form["first_layer"] / numerics["ggn"])[of]
    return _least(parts.tolist())


def excess_loss(closed_form: Arrays, numerics: Arrays, case: str, other: str) -> float:
    """What a case's loss has left above that of least squares, over that of another case.

    On the same subsets, which have the same least-squares loss; the smallest of these ratios.
    """
    excess = closed_form["loss"] - closed_form["floor"]
    used = np.isfinite(numerics["sharpness"])
    names = zip(closed_form["source"], closed_form["samples"], closed_form["share"], strict=True)
    keys = list(zip(names, closed_form["replicate"].tolist(), strict=True))
    known = {keys[i]: excess[i] for i in np.flatnonzero(used & _case(closed_form, other))}
    rows = np.flatnonzero(used & _case(closed_form, case))
    found = [excess[i] / known[keys[i]] for i in rows if keys[i] in known]
    return _least(found)

"""The statements of singh2026cracking about norms and sharpness (figures 4, 14 to 22 and 26).

Those about networks of two layers stand here, those about deeper ones in :mod:`.deep_claims`.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import (
    Estimate,
    at_least,
    at_most,
    needs,
)
from hessian_papers.ledger.statements import Labels
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.correlations.ensembles import (
    distance_from,
    of_the_time,
    require_two_layers,
)
from hessian_papers.studies.correlations.norm_correlation import deep_claims
from hessian_papers.studies.correlations.norm_correlation.reading import (
    NEGATIVE,
    POSITIVE,
    WELL,
    at_both_times,
    at_labels,
    each_one,
    everywhere_defined,
    figures,
    intervals,
    mean,
    two_layers,
)
from hessian_papers.studies.correlations.norm_correlation.texts import (
    PROPORTIONAL,
    TWO_OF_A_KIND,
)

# Of a kind of studies there is one list.
statements = deep_claims.statements
INITIALISATION = 'Appendix D.3.3, "Impact of Initialization"'
STRONGLY = reading_of("strongly")
WEAKLY = reading_of("strongly", relation="<=")
AGAINST_SP = replace(POSITIVE, source="what the sentence must mean, since it sets μP against SP")
BELOW_THE_WIDTH = at_most(
    1.0,
    "entries are equally large at D = m, where the first matrix no longer varies more",
    source="the sum of both squared norms, of which the larger varies more",
)


def _by_norm(data: xr.Dataset, region: str = "all", **labels: str) -> list[Estimate]:
    """The mean correlation of the best factor, by each norm."""
    norms = data["norm"].values
    return [mean(data, "best_correlation", region, norm=norm, **labels) for norm in norms]


def _lead(data: xr.Dataset, region: str = "all", layer: int = 1, **labels: str) -> Estimate:
    """The r of one matrix's squared spectral norm less that of the other's."""
    matrices = two_layers(data, "matrices")
    return mean(matrices, "factor_lead", region, layer=layer, norm="spectral", **labels)


@figures(4, 14).typically("section 4.2; {artifact}", POSITIVE, over=at_both_times)
def spectral_most(data: xr.Dataset) -> Estimate:
    """Of all norms of the weight matrices, the spectral norm correlates most with the sharpness.

    Statistic: mean over $D > 1$ of Pearson's r for the better matrix by squared spectral norm,
    minus the best r by Frobenius or nuclear norm. At $D = 1$ all norms coincide. Interval:
    Student's t over teachers.
    """
    return mean(two_layers(data, "matrices", target=None), "best_norm_lead", norm="spectral")


@figures(4).typically("section 4.2", POSITIVE, over=each_one)
def most_prominent_trained(data: xr.Dataset) -> Estimate:
    """The lead of the spectral norm is most prominent in trained networks.

    Statistic: increase during training of its lead in r over the other norms, mean over $D > 1$;
    interval: Student's t over teachers.
    """
    matrices = two_layers(data, "matrices")
    return mean(matrices, "best_norm_growth", time="trained", norm="spectral")


@figures(4).typically(INITIALISATION, POSITIVE, over=each_one)
def first_matrix_initialisation(data: xr.Dataset) -> Estimate:
    """At initialisation, where the first matrix has the larger entries (small D), its spectral norm
    correlates more with the sharpness than the second's.

    Statistic: difference of the two r, mean over the D at which the entries of $W_1$ are more than
    1.5 times those of $W_2$; interval: Student's t over teachers.
    """
    return _lead(data, "larger first matrix", time="initialisation")


@figures(4, 14).typically(INITIALISATION, WEAKLY, otherwise=TWO_OF_A_KIND, over=each_one)
def weak_where_similar(data: xr.Dataset) -> Estimate:
    """At initialisation, where both matrices have entries of similar magnitude, none of their norms
    correlates strongly with the sharpness.

    Statistic: largest r over the norms, each the mean over the D at which the entries differ by a
    factor of at most 1.5. If there are none, the D at which they differ least is taken.
    """
    matrices = two_layers(data, "matrices")
    return max(_by_norm(matrices, "similar matrices", time="initialisation"))


@figures(4).typically(INITIALISATION, POSITIVE, over=at_both_times)
def magnitude_drives(data: xr.Dataset) -> Estimate:
    """The discrepancy in magnitude of the entries at initialisation drives the correlation.

    Statistic: lead of the first matrix: r of its squared spectral norm minus r of the second's;
    interval: Student's t over teachers. Mean over the D at which its entries are more than 1.5
    times larger, minus the mean over the other D. If there are no others, the D at which the
    entries differ least is taken.

    Remark: Where no D comes near the width, the first matrix has the larger entries and leads at
    every D compared.
    """
    return _lead(data, "larger less similar")


def _crossings(size: np.ndarray, curve: np.ndarray) -> list[float]:
    """The sizes at which a curve goes from above to below zero, with straight lines in log D."""
    falls = np.flatnonzero((curve[:-1] > 0) & (curve[1:] <= 0))
    logs = [np.interp(0.0, curve[[k + 1, k]], np.log(size[[k + 1, k]])) for k in falls]
    return np.exp(logs).tolist()


NARROW = ("Figure 4 (narrow networks)", "Figure 4 (narrow networks, more samples)")


@(figures(4) | statements.about("singh2026cracking", *NARROW)).beyond.everywhere(
    f"{INITIALISATION}, beyond the paper", BELOW_THE_WIDTH, over=at_both_times
)
def driver_switches(data: xr.Dataset) -> Estimate:
    """The matrix that drives the correlation switches with D/m: it is the first at small D, and
    below $D = m$ the second takes over.

    Statistic: D/m at which r of the squared spectral norm of $W_1$ falls below that of $W_2$, the
    mean over teachers; interval: where the ends of Student's t interval do, the first and the last
    time.
    """
    matrices = two_layers(data, "matrices")
    leads = intervals(matrices, "factor_lead", layer=1, norm="spectral")
    leads = leads.squeeze("depth").transpose("estimate", "size")
    defined = leads.notnull().all("estimate").values
    size = leads["size"].values[defined]
    value, low, high = (_crossings(size, curve) for curve in leads.values[:, defined])
    switches = value and low and high
    needs(switches, "this configuration has no sizes between which the driver switches")
    width = float(data["width"])
    return Estimate(value[0] / width, low[0] / width, high[-1] / width)


SECOND_IN_PRINT = (
    "For SP it is the second weight matrix, while for μP it is the second one: in print the second "
    "matrix drives the correlation under both"
)
# The matrix that drives, the parametrisation under which it does, and at which sizes.
DRIVERS = [
    {"matrix": "second", "parametrisation": "sp", "where": "", "in_print": ""},
    {"matrix": "second", "parametrisation": "sp", "where": "-similar", "in_print": ""},
    {"matrix": "first", "parametrisation": "mup", "where": "", "in_print": SECOND_IN_PRINT},
]


@figures(4).typically(
    INITIALISATION,
    lambda case: POSITIVE if case["parametrisation"] == "sp" else AGAINST_SP,
    each=lambda data: DRIVERS,
    name="{matrix}-matrix-trained-{parametrisation}{where}",
)
def driver_trained(
    data: xr.Dataset, matrix: str, parametrisation: str, where: str, printed: bool = False, **_: str
) -> Estimate:
    """After training the second matrix drives the correlation under SP, the first under μP.

    Statistic: r of its squared spectral norm minus that of the other matrix, mean over D; interval:
    Student's t over teachers.

    In print: {in_print}

    Remark: The sharpness is nearly the sum of both squared spectral norms (study {study of Appendix
    D.3.3}). So it follows the matrix whose norm varies more between networks. Gradient descent in
    small steps conserves $W_2^⊤W_2/r_2 - W_1W_1^⊤/r_1$, with $r_l$ the layers' relative rates.
    After training, too, the matrix with the larger initial entries therefore varies more, and under
    μP it also learns faster. That is the first matrix where D is well below the width. The mean
    over D depends on the sizes chosen.
    """
    layer = 1 if matrix == "first" and not printed else 2
    region = "similar matrices" if where else "all"
    return _lead(data, region, layer, parametrisation=parametrisation, time="trained")


@figures(14).typically(INITIALISATION, WELL)
def both_matrices_trained_ntp(data: xr.Dataset) -> Estimate:
    r"""Under NTP, after training, the largest singular values of both matrices correlate well with
    the sharpness.

    Statistic: r by the squared spectral norm, mean over D, for the matrix where it is smaller.

    Remark: Two matrices that vary alike would each correlate at about $1/\sqrt2$. The first
    contributes $λ_{\max}(W_1 S W_1^⊤)$ to the sharpness, with S the second moments of the inputs.
    This departs from $σ_{\max}^2(W_1)$ once D is no longer small compared with the number of
    samples. The second contributes $σ_{\max}^2(W_2) λ_{\max}(S)$, so its norm keeps its
    correlation.
    """
    matrices = two_layers(data, "matrices")
    of = {"parametrisation": "ntp", "time": "trained", "norm": "spectral"}
    return min(mean(matrices, "correlation", layer=layer, **of) for layer in (1, 2))


@figures(15).typically(
    f"{INITIALISATION}; {{artifact}}", POSITIVE, otherwise=TWO_OF_A_KIND, over=each_one
)
def alignment_where_similar(data: xr.Dataset) -> Estimate:
    """At initialisation, where both matrices have entries of similar magnitude, the sharpness
    correlates more with their alignment than with their norms.

    Statistic: best r by an absolute alignment minus best r by a squared norm; interval: Student's t
    over teachers. Mean over the D at which the entries differ by a factor of at most 1.5. If there
    are none, the D at which they differ least is taken.
    """
    alignments = two_layers(data, "alignments", "matrices")
    return mean(alignments, "group_lead", "similar matrices", time="initialisation")


def _uneven(data: xr.Dataset) -> list[str]:
    """Under NTP all entries are of similar magnitude at every D."""
    return [name for name in data["parametrisation"].values.tolist() if name != "ntp"]


@figures(15).typically(
    f"{INITIALISATION}; {{artifact}}",
    NEGATIVE,
    otherwise=TWO_OF_A_KIND,
    over={"parametrisation": _uneven, "time": None},
)
def alignment_rises(data: xr.Dataset) -> Estimate:
    """The sharpness correlates more with the alignment of both matrices at large D than at small D.
    At large D their initial entries are of similar magnitude, at small D the first has larger ones.

    Statistic: r of the absolute alignment, mean over the D where the entries of $W_1$ are over 1.5
    times larger, minus that over other D; interval: Student's t over teachers.
    """
    of = "best_correlation", "larger less similar"
    return mean(two_layers(data, "alignments"), *of, norm=data["highlighted"].item())


def _of_other_norms(data: xr.Dataset) -> Iterator[Labels]:
    axes = ("norm", "parametrisation", "time")
    for labels in itertools.product(*(data[axis].values.tolist() for axis in axes)):
        if labels[0] != "frobenius":
            yield dict(zip(axes, labels, strict=True))


def _why_not_frobenius(case: Labels) -> str:
    return PROPORTIONAL if case["norm"] == "nuclear" else ""


@figures(26).typically(
    "Appendix D.4; {artifact}",
    POSITIVE,
    id="frobenius-most-with-the-trace",
    otherwise=_why_not_frobenius,
    each=_of_other_norms,
)
@figures(16).typically(
    "section 4.2; {artifact}",
    POSITIVE,
    id="frobenius-most-of-relu",
    otherwise=_why_not_frobenius,
    each=_of_other_norms,
)
def frobenius_over(data: xr.Dataset, norm: str, parametrisation: str, time: str) -> Estimate:
    """The Frobenius norm correlates most: with the sharpness in two-layer ReLU networks (Figure
    16), with the Hessian's trace in linear ones (Figure 26).

    Statistic: r of the better matrix by the squared Frobenius norm minus that by the other norm,
    mean over $D > 1$; interval: Student's t over teachers.
    """
    of = {"norm": "frobenius", "other_norm": norm, "parametrisation": parametrisation, "time": time}
    return mean(two_layers(data, "matrices", target=None), "best_norm_difference", **of)


@figures(16).everywhere(
    "section 4.2, last paragraph", at_most(0.25, "the range in print"), over=["time"]
)
def spectral_between(data: xr.Dataset) -> Estimate:
    """In ReLU networks the spectral norm of the first matrix has a correlation of 0.25 to 0.75 with
    the sharpness, at every D.

    Statistic: largest distance from 0.5, over D and parametrisations, of r by its square; interval:
    Student's t over teachers where it is largest.

    Remark: With $D = 1$ the spectral norm of the first matrix is its Frobenius norm, which drives
    the sharpness where its entries are the larger ones. The fraction due to the largest singular
    value falls with D, and r falls with it.
    """
    _require_relu(data)
    matrices = two_layers(data, "matrices")
    correlations = everywhere_defined(matrices, "correlation", layer=1, norm="spectral")
    return max(distance_from(0.5, r) for r in correlations)


def _at_the_width(data: xr.Dataset) -> xr.Dataset:
    """Two-layer ReLU networks with as many inputs as hidden units.

    Raises:
        NothingToMeasure: there are none.
    """
    require_two_layers(data)
    _require_relu(data)
    trained = of_the_time(data.sel(time="trained"))
    at_the_width = at_labels(trained, size=[data["width"].item()])
    return at_the_width.squeeze(["depth", "size"])


def _require_relu(data: xr.Dataset) -> None:
    needs(data["activation"] == "relu", "this configuration has no ReLU networks")


@figures(16).beyond.typically(
    "{artifact}, beyond the paper",
    at_least(0.5, "most of the networks", source="ours"),
    over=each_one,
)
def relu_networks_end_in_other_minima(data: xr.Dataset) -> xr.DataArray:
    """With as many inputs as hidden units most two-layer ReLU networks converge to other minima
    than the best one known.

    Statistic: fraction of the converged networks whose loss is over 5 % above the lowest of their
    teacher's networks; interval: Student's t over teachers.
    """
    return _at_the_width(data)["above_best"]


@figures(16).beyond.typically(
    "{artifact}, beyond the paper", replace(POSITIVE, source="ours"), over=each_one
)
def higher_minima_are_sharper(data: xr.Dataset) -> xr.DataArray:
    """With as many inputs as hidden units the higher of these minima are the sharper ones.

    Statistic: Pearson's r of loss and sharpness over the converged networks of a teacher; interval:
    Student's t over teachers.
    """
    return _at_the_width(data)["loss_correlation"]


@figures(26).everywhere("Appendix D.4", STRONGLY, over=at_both_times)
def all_norms(data: xr.Dataset) -> Estimate:
    """All norms correlate strongly with the Hessian's trace.

    Statistic: r of the better matrix by a squared norm, mean over D, for the norm where it is
    smallest.

    Remark: The squared spectral norm is one of the D squared singular values whose sum is the
    squared Frobenius norm, which makes up the trace. Its fraction of the trace, and its
    correlation, fall with D.
    """
    return min(_by_norm(two_layers(data, "matrices", target="trace")))

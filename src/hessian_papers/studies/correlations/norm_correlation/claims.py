"""The statements of singh2026cracking about norms and sharpness (figures 4, 14 to 22 and 26)."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import (
    Estimate,
    NothingToMeasure,
    at_least,
    at_most,
    equal_to,
    needs,
)
from hessian_papers.ledger.statements import Labels, Print, Statements
from hessian_papers.ledger.verdicts import everywhere, shown, typically
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.correlations.ensembles import (
    ACTIVATIONS,
    NORMS,
    PARAMETRISATIONS,
    TIMES,
    distance_from,
    estimates,
    of_the_time,
    require_finished,
    require_two_layers,
)
from hessian_papers.studies.correlations.norm_correlation.derived import STATISTICS
from hessian_papers.studies.correlations.norm_correlation.regions import SIMILAR, region_mean
from hessian_papers.studies.correlations.norm_correlation.texts import (
    BY_THE_SUM,
    COMMON_FACTOR,
    FEW_INPUTS,
    MIRRORED,
    NOTHING_TO_COMPARE,
    ONE_OF_MANY,
    PROPORTIONAL,
    SAMPLED_INPUTS,
    SEVERAL_TERMS,
    TWO_OF_A_KIND,
)
from hessian_papers.studies.correlations.teachers import interval

INITIALISATION = 'Appendix D.3.3, "Impact of Initialization"'
DEEP = "section 4.2; {artifact}"
SHOWN = "{artifact}"

POSITIVE = at_least(0.0, "the sign; chance rarely puts the whole interval on one side of 0")
STRONGLY = reading_of("strongly")
NEGATIVE = replace(POSITIVE, relation="<=")
WEAKLY = reading_of("strongly", relation="<=")
WELL = reading_of("well")
AGAINST_SP = replace(POSITIVE, source="what the sentence must mean, since it sets μP against SP")
BELOW_THE_WIDTH = at_most(
    1.0,
    "entries are equally large at D = m, where the first matrix no longer varies more",
    source="the sum of both squared norms, of which the larger varies more",
)
LITTLE = equal_to(
    0.0,
    "a tenth of the largest r; set when the leads were known to be near 0",
    tolerance=0.1,
    source="ours",
)
SECOND_IN_PRINT = Print(
    "For SP it is the second weight matrix, while for μP it is the second one: in print the second "
    "matrix drives the correlation under both",
    lambda data, **_: _lead(data, layer=2, parametrisation="mup", time="trained"),
)

# What is compared, by a part of a statistic's name.
COMPARED = {"norm": "norms", "group": "groups of factors", "lead": "factors"}
WHERE_SIMILAR = {"-similar": ", where both matrices begin with entries of similar magnitude"}
statements = Statements(values=PARAMETRISATIONS | TIMES | NORMS | WHERE_SIMILAR | ACTIVATIONS)
each_one, at_both_times = ["parametrisation"], ["parametrisation", "time"]


def figures(*numbers: int) -> Statements:
    """The decorators of claims about some figures."""
    return statements.about("singh2026cracking", *(f"Figure {number}" for number in numbers))


def _two_layers(data: xr.Dataset, *groups: str, target: str | None = "sharpness") -> xr.Dataset:
    """The study, if of two layers over sizes, of these groups, held against that target."""
    require_two_layers(data)
    return _studied(data, groups, target)


def _deep(data: xr.Dataset, *groups: str) -> xr.Dataset:
    """The study, if of several depths, of these groups, held against the sharpness."""
    needs(data["along"] == "depth", "this configuration is not one of several depths")
    return _studied(data, groups, "sharpness")


def _studied(data: xr.Dataset, groups: tuple[str, ...], target: str | None) -> xr.Dataset:
    other = data["target"].item()
    needs(target in (None, other), f"this configuration studies the {other} instead")
    own = tuple(data["group"].values[: len(groups)]) == groups
    needs(own, f"this configuration does not study {', then '.join(groups)}")
    return data


def _at(data: xr.Dataset, **labels: Any) -> xr.Dataset:
    """The finished networks at some labels, of which a configuration may lack some."""
    for axis, label in labels.items():
        for missing in np.setdiff1d(label, data[axis])[:1]:
            raise NothingToMeasure(f"this configuration leaves out {axis} {missing}")
    chosen = data.sel(labels)
    require_finished(chosen)
    return chosen


def _intervals(
    data: xr.Dataset, statistic: str, region: str | None = None, **labels: Any
) -> xr.DataArray:
    """A statistic of the first group at some labels, of all positions or its mean over a region."""
    chosen = _at(data, **labels)
    _require_region(chosen, region or "")
    of, limit = STATISTICS[statistic]
    each = of(data).sel(labels)
    each = each.isel(group=0) if "group" in each.dims else each
    each = each if region is None else region_mean(each, chosen, region)
    return interval(each, limit, float(data["confidence"]))


def _everywhere(
    data: xr.Dataset, statistic: str, region: str | None = None, **labels: Any
) -> list[Estimate]:
    """A statistic where it is defined.

    Raises:
        NothingToMeasure: the region is empty, or the statistic is not defined in it, as that
            of two norms of one vector.
    """
    compared = [text for part, text in COMPARED.items() if part in statistic]
    what = f"correlations of two {compared[0]} differ" if compared else "one is defined"
    defined = estimates(_intervals(data, statistic, region, **labels))
    needs(defined, f"this configuration has no {data['along'].item()} at which {what}")
    return defined


def _mean(data: xr.Dataset, statistic: str, region: str = "all", **labels: str | int) -> Estimate:
    """A statistic's mean over the positions of a region, see :func:`_everywhere`."""
    (mean,) = _everywhere(data, statistic, region, **labels)
    return mean


def _require_region(data: xr.Dataset, region: str) -> None:
    """The regions of larger first matrices stand for the largest of all where there is none."""
    ratio, along = data["magnitude_ratio"], data["along"].item()
    needs(
        "larger" not in region or (ratio > SIMILAR).any(),
        f"this configuration has no {along} at which the entries of the first matrix "
        f"are more than {SIMILAR} times those of the last",
    )
    compared = "less" not in region or ratio.size > 1
    needs(compared, f"this configuration has no second {along} to compare with")


def _by_norm(data: xr.Dataset, region: str = "all", **labels: str) -> list[Estimate]:
    """The mean correlation of the best factor, by each norm."""
    norms = data["norm"].values
    return [_mean(data, "best_correlation", region, norm=norm, **labels) for norm in norms]


def _lead(data: xr.Dataset, region: str = "all", layer: int = 1, **labels: str) -> Estimate:
    """The r of one matrix's squared spectral norm less that of the other's."""
    matrices = _two_layers(data, "matrices")
    return _mean(matrices, "factor_lead", region, layer=layer, norm="spectral", **labels)


@figures(4, 14).statement("section 4.2; {artifact}", typically, POSITIVE, over=at_both_times)
def spectral_most(data: xr.Dataset) -> Estimate:
    """Of all norms of the weight matrices, the spectral norm correlates most with the sharpness.

    Statistic: mean over $D > 1$ of Pearson's r for the better matrix by squared spectral norm,
    minus the best r by Frobenius or nuclear norm. At $D = 1$ all norms coincide. Interval:
    Student's t over teachers.
    """
    return _mean(_two_layers(data, "matrices", target=None), "best_norm_lead", norm="spectral")


@figures(4).statement("section 4.2", typically, POSITIVE, over=each_one)
def most_prominent_trained(data: xr.Dataset) -> Estimate:
    """The lead of the spectral norm is most prominent in trained networks.

    Statistic: increase during training of its lead in r over the other norms, mean over $D > 1$;
    interval: Student's t over teachers.
    """
    matrices = _two_layers(data, "matrices")
    return _mean(matrices, "best_norm_growth", time="trained", norm="spectral")


@figures(4).statement(INITIALISATION, typically, POSITIVE, over=each_one)
def first_matrix_initialisation(data: xr.Dataset) -> Estimate:
    """At initialisation, where the first matrix has the larger entries (small D), its spectral norm
    correlates more with the sharpness than the second's.

    Statistic: difference of the two r, mean over the D at which the entries of $W_1$ are more than
    1.5 times those of $W_2$; interval: Student's t over teachers.
    """
    return _lead(data, "larger first matrix", time="initialisation")


@figures(4, 14).statement(INITIALISATION, typically, WEAKLY, otherwise=TWO_OF_A_KIND, over=each_one)
def weak_where_similar(data: xr.Dataset) -> Estimate:
    """At initialisation, where both matrices have entries of similar magnitude, none of their norms
    correlates strongly with the sharpness.

    Statistic: largest r over the norms, each the mean over the D at which the entries differ by a
    factor of at most 1.5. If there are none, the D at which they differ least is taken.
    """
    matrices = _two_layers(data, "matrices")
    return max(_by_norm(matrices, "similar matrices", time="initialisation"))


@figures(4).statement(
    INITIALISATION, typically, POSITIVE, otherwise=NOTHING_TO_COMPARE, over=at_both_times
)
def magnitude_drives(data: xr.Dataset) -> Estimate:
    """The discrepancy in magnitude of the entries at initialisation drives the correlation.

    Statistic: lead of the first matrix: r of its squared spectral norm minus r of the second's;
    interval: Student's t over teachers. Mean over the D at which its entries are more than 1.5
    times larger, minus the mean over the other D. If there are no others, the D at which the
    entries differ least is taken.
    """
    return _lead(data, "larger less similar")


def _crossings(size: np.ndarray, curve: np.ndarray) -> list[float]:
    """The sizes at which a curve goes from above to below zero, with straight lines in log D."""
    falls = np.flatnonzero((curve[:-1] > 0) & (curve[1:] <= 0))
    logs = [np.interp(0.0, curve[[k + 1, k]], np.log(size[[k + 1, k]])) for k in falls]
    return np.exp(logs).tolist()


NARROW = ("Figure 4 (narrow networks)", "Figure 4 (narrow networks, more samples)")


@(figures(4) | statements.about("singh2026cracking", *NARROW)).statement(
    f"{INITIALISATION}, beyond the paper",
    everywhere,
    BELOW_THE_WIDTH,
    over=at_both_times,
    book="beyond",
)
def driver_switches(data: xr.Dataset) -> Estimate:
    """The matrix that drives the correlation switches with D/m: it is the first at small D, and
    below $D = m$ the second takes over.

    Statistic: D/m at which r of the squared spectral norm of $W_1$ falls below that of $W_2$, the
    mean over teachers; interval: where the ends of Student's t interval do, the first and the last
    time.
    """
    matrices = _two_layers(data, "matrices")
    leads = _intervals(matrices, "factor_lead", layer=1, norm="spectral")
    leads = leads.squeeze("depth").transpose("estimate", "size")
    defined = leads.notnull().all("estimate").values
    size = leads["size"].values[defined]
    value, low, high = (_crossings(size, curve) for curve in leads.values[:, defined])
    switches = value and low and high
    needs(switches, "this configuration has no sizes between which the driver switches")
    width = float(data["width"])
    return Estimate(value[0] / width, low[0] / width, high[-1] / width)


def _drivers(data: xr.Dataset) -> Iterator[Labels]:
    """The matrix that drives, the parametrisation under which it does, and the sizes."""
    for case in (
        ("second", "first", "sp", "", "D"),
        ("second", "first", "sp", "-similar", "those D"),
        ("first", "second", "mup", "", "D"),
    ):
        yield dict(zip(("matrix", "other", "parametrisation", "where", "sizes"), case, strict=True))


@figures(4).statement(
    INITIALISATION,
    typically,
    lambda case: POSITIVE if case["parametrisation"] == "sp" else AGAINST_SP,
    otherwise=BY_THE_SUM,
    printed=lambda case: None if case["parametrisation"] == "sp" else SECOND_IN_PRINT,
    each=_drivers,
    name="{matrix}-matrix-trained-{parametrisation}{where}",
)
def driver_trained(
    data: xr.Dataset, matrix: str, other: str, parametrisation: str, where: str, sizes: str
) -> Estimate:
    """After training the second matrix drives the correlation under SP, the first under μP.

    Statistic: r of its squared spectral norm minus that of the other matrix, mean over D; interval:
    Student's t over teachers.
    """
    layer = 1 if matrix == "first" else 2
    region = "similar matrices" if where else "all"
    return _lead(data, region, layer, parametrisation=parametrisation, time="trained")


@figures(14).statement(INITIALISATION, typically, WELL, otherwise=SAMPLED_INPUTS)
def both_matrices_trained_ntp(data: xr.Dataset) -> Estimate:
    """Under NTP, after training, the largest singular values of both matrices correlate well with
    the sharpness.

    Statistic: r by the squared spectral norm, mean over D, for the matrix where it is smaller.
    """
    matrices = _two_layers(data, "matrices")
    of = {"parametrisation": "ntp", "time": "trained", "norm": "spectral"}
    return min(_mean(matrices, "correlation", layer=layer, **of) for layer in (1, 2))


@figures(15).statement(
    f"{INITIALISATION}; {{artifact}}", typically, POSITIVE, otherwise=TWO_OF_A_KIND, over=each_one
)
def alignment_where_similar(data: xr.Dataset) -> Estimate:
    """At initialisation, where both matrices have entries of similar magnitude, the sharpness
    correlates more with their alignment than with their norms.

    Statistic: best r by an absolute alignment minus best r by a squared norm; interval: Student's t
    over teachers. Mean over the D at which the entries differ by a factor of at most 1.5. If there
    are none, the D at which they differ least is taken.
    """
    alignments = _two_layers(data, "alignments", "matrices")
    return _mean(alignments, "group_lead", "similar matrices", time="initialisation")


def _uneven(data: xr.Dataset) -> list[str]:
    """Under NTP all entries are of similar magnitude at every D."""
    return [name for name in data["parametrisation"].values.tolist() if name != "ntp"]


@figures(15).statement(
    f"{INITIALISATION}; {{artifact}}",
    typically,
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
    return _mean(_two_layers(data, "alignments"), *of, norm=data["highlighted"].item())


def _of_other_norms(data: xr.Dataset) -> Iterator[Labels]:
    axes = ("norm", "parametrisation", "time")
    for labels in itertools.product(*(data[axis].values.tolist() for axis in axes)):
        if labels[0] != "frobenius":
            yield dict(zip(axes, labels, strict=True))


def _why_not_frobenius(case: Labels) -> str:
    return PROPORTIONAL if case["norm"] == "nuclear" else ""


@figures(26).statement(
    "Appendix D.4; {artifact}",
    typically,
    POSITIVE,
    id="frobenius-most-with-the-trace",
    otherwise=_why_not_frobenius,
    each=_of_other_norms,
)
@figures(16).statement(
    "section 4.2; {artifact}",
    typically,
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
    return _mean(_two_layers(data, "matrices", target=None), "best_norm_difference", **of)


@figures(16).statement(
    "section 4.2, last paragraph",
    everywhere,
    at_most(0.25, "the range in print"),
    otherwise=FEW_INPUTS,
    over=["time"],
)
def spectral_between(data: xr.Dataset) -> Estimate:
    """In ReLU networks the spectral norm of the first matrix has a correlation of 0.25 to 0.75 with
    the sharpness, at every D.

    Statistic: largest distance from 0.5, over D and parametrisations, of r by its square; interval:
    Student's t over teachers where it is largest.
    """
    _require_relu(data)
    matrices = _two_layers(data, "matrices")
    correlations = _everywhere(matrices, "correlation", layer=1, norm="spectral")
    return max(distance_from(0.5, r) for r in correlations)


def _at_the_width(data: xr.Dataset) -> xr.Dataset:
    """Two-layer ReLU networks with as many inputs as hidden units.

    Raises:
        NothingToMeasure: there are none.
    """
    require_two_layers(data)
    _require_relu(data)
    trained = of_the_time(data.sel(time="trained"))
    at_the_width = _at(trained, size=[data["width"].item()])
    return at_the_width.squeeze(["depth", "size"])


def _require_relu(data: xr.Dataset) -> None:
    needs(data["activation"] == "relu", "this configuration has no ReLU networks")


@figures(16).statement(
    "{artifact}, beyond the paper",
    typically,
    at_least(0.5, "most of the networks", source="ours"),
    over=each_one,
    book="beyond",
)
def relu_networks_end_in_other_minima(data: xr.Dataset) -> xr.DataArray:
    """With as many inputs as hidden units most two-layer ReLU networks converge to other minima
    than the best one known.

    Statistic: fraction of the converged networks whose loss is over 5 % above the lowest of their
    teacher's networks; interval: Student's t over teachers.
    """
    return _at_the_width(data)["above_best"]


@figures(16).statement(
    "{artifact}, beyond the paper",
    typically,
    replace(POSITIVE, source="ours"),
    over=each_one,
    book="beyond",
)
def higher_minima_are_sharper(data: xr.Dataset) -> xr.DataArray:
    """With as many inputs as hidden units the higher of these minima are the sharper ones.

    Statistic: Pearson's r of loss and sharpness over the converged networks of a teacher; interval:
    Student's t over teachers.
    """
    return _at_the_width(data)["loss_correlation"]


@figures(26).statement(
    "Appendix D.4", everywhere, STRONGLY, otherwise=ONE_OF_MANY, over=at_both_times
)
def all_norms(data: xr.Dataset) -> Estimate:
    """All norms correlate strongly with the Hessian's trace.

    Statistic: r of the better matrix by a squared norm, mean over D, for the norm where it is
    smallest.
    """
    return min(_by_norm(_two_layers(data, "matrices", target="trace")))


def _leading(data: xr.Dataset) -> list[str]:
    """The parametrisations of networks with one input; of those with more the text names μP."""
    one_input = data["size"].values.tolist() == [1]
    return [name for name in data["parametrisation"].values.tolist() if one_input or name == "mup"]


def _others(data: xr.Dataset) -> list[str]:
    """The parametrisations of which the text is silent."""
    return [name for name in data["parametrisation"].values.tolist() if name not in _leading(data)]


WHERE_ONE_LEADS = {"parametrisation": _leading, "time": None}
WHERE_THE_TEXT_IS_SILENT = {"parametrisation": _others, "time": None}


@figures(21).statement(
    SHOWN, shown, POSITIVE, id="last-most-of-deep-relu", book="observations", over=WHERE_ONE_LEADS
)
@figures(17, 18).statement(
    DEEP,
    typically,
    POSITIVE,
    otherwise=lambda case: MIRRORED if case["parametrisation"] == "ntp" else "",
    over=WHERE_ONE_LEADS,
)
def last_most(data: xr.Dataset) -> Estimate:
    """Of the products of all matrices but one, that without the last correlates most with the
    sharpness.

    Statistic: its r minus the largest other r, squared norms, mean over the depths; interval:
    Student's t over teachers.
    """
    return _mean(_deep(data, "products"), "last_lead", norm=data["highlighted"].item())


def _mirrored(data: xr.Dataset) -> list[str]:
    """The parametrisation under which a network read backwards is as likely."""
    return [name for name in data["parametrisation"].values.tolist() if name == "ntp"]


@figures(17, 18).statement(
    "section 4.2, beyond the paper",
    typically,
    LITTLE,
    otherwise=MIRRORED,
    over={"parametrisation": _mirrored, "time": None},
    book="beyond",
)
def last_leads_little(data: xr.Dataset) -> Estimate:
    """Where a network read backwards is as likely, the product without the last matrix leads or
    trails the others by less than a tenth.

    Statistic: its r minus the largest other r, squared norms, mean over the depths; interval:
    Student's t over teachers.
    """
    return last_most(data)


@figures(18).statement(
    "section 4.2, with larger inputs the effect persists under μP",
    typically,
    NEGATIVE,
    book="readings",
    otherwise="The text names only μP; that the effect persists under no other is our reading.",
    over=WHERE_THE_TEXT_IS_SILENT,
)
def last_most_no_more(data: xr.Dataset) -> float | Estimate:
    """With larger inputs the effect persists under μP only: under the others the product without
    the last matrix does not correlate most.

    Statistic: its r minus the largest other r, squared norms, mean over the depths; interval:
    Student's t over teachers.
    """
    return last_most(data)


@figures(17, 18).statement(
    "section 4.2", typically, POSITIVE, over=each_one, otherwise=SEVERAL_TERMS
)
def last_most_near_convergence(data: xr.Dataset) -> Estimate:
    """The product without the last matrix leads the others most near convergence.

    Statistic: increase of its lead during training, squared norms, mean over the depths; interval:
    Student's t over teachers.
    """
    norm = data["highlighted"].item()
    return _mean(_deep(data, "products"), "last_growth", time="trained", norm=norm)


def _smallest_of_last(data: xr.Dataset, **labels: str) -> Estimate:
    """The r of the product without the last matrix after training, where it is smallest."""
    products = _deep(data, "products")
    labels |= {"norm": "spectral", "time": "trained"}
    return min(_everywhere(products, "correlation", layer=products["depth"], **labels))


@figures(17).statement("{artifact}", everywhere, WELL, otherwise=SEVERAL_TERMS, over=each_one)
def last_well(data: xr.Dataset) -> Estimate:
    """After training the product without the last matrix correlates well with the sharpness at
    every depth and under every parametrisation.

    Statistic: r by its squared norm at the depth where it is smallest.
    """
    return _smallest_of_last(data)


@figures(18).statement(
    DEEP,
    everywhere,
    WELL,
    printed=Print(
        "The caption: they correlate well across model parametrisations; the text has the effect "
        "partially persist at larger sizes under μP",
        _smallest_of_last,
    ),
    otherwise=SEVERAL_TERMS,
)
def last_well_under_mup(data: xr.Dataset) -> Estimate:
    """With larger inputs, after training, the product without the last matrix correlates well with
    the sharpness at every depth under μP. It does not under all parametrisations.

    Statistic: r by its squared norm at the depth where it is smallest; for the print, at the depth
    and parametrisation where it is smallest.
    """
    return _smallest_of_last(data, parametrisation="mup")


@figures(17).statement("{artifact}", everywhere, POSITIVE, otherwise=MIRRORED)
def last_most_everywhere(data: xr.Dataset) -> Estimate:
    """After training the product without the last matrix correlates most at every depth and under
    every parametrisation.

    Statistic: its r minus the largest other r, where this is smallest; interval: Student's t over
    teachers.
    """
    of = {"time": "trained", "norm": "spectral"}
    return min(_everywhere(_deep(data, "products"), "last_lead", **of))


@figures(22).statement(
    SHOWN, shown, NEGATIVE, id="products-more-of-deep-relu", over=WHERE_ONE_LEADS
)
@figures(20).statement(
    SHOWN, shown, NEGATIVE, id="products-more-of-larger-inputs", over=WHERE_THE_TEXT_IS_SILENT
)
@figures(19, 20).statement(
    DEEP,
    typically,
    NEGATIVE,
    otherwise=lambda case: "" if case["parametrisation"] == "mup" else COMMON_FACTOR,
    over=WHERE_ONE_LEADS,
)
def products_more(data: xr.Dataset) -> Estimate:
    """The sharpness correlates less with single matrices than with products of all but one.

    Statistic: best r of a single matrix minus best r of a product, squared norms, mean over the
    depths beyond 2; interval: Student's t over teachers.
    """
    return _mean(_deep(data, "matrices", "products"), "group_lead")


@statements.about("singh2026cracking", "Section 4.2").statement(
    "section 4.2",
    typically,
    POSITIVE,
    over=at_both_times,
    otherwise="The sentence sets low dimension against larger sizes under all "
    "parametrisations at once. Under NTP no product leads at either size, since "
    "the network read backwards has the same distribution.",
)
def most_in_low_dimension(data: xr.Dataset) -> Estimate:
    """Of the products of all matrices but one, that without the last correlates most with the
    sharpness especially in low dimension.

    Statistic: its r minus the largest other r, squared spectral norms, mean over the depths, at the
    smaller D minus at the larger; interval: Student's t over teachers.
    """
    require_finished(data)
    difference = estimates(data["mean_difference"])
    needs(difference, "this configuration has a depth without correlations")
    return difference[0]

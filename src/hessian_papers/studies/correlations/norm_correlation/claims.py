"""The statements of singh2026cracking about norms and sharpness (figures 4, 14 to 22 and 26).

Those about networks of two layers stand here, those about deeper ones in :mod:`.deep_claims`.
"""

from dataclasses import replace

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import Estimate, at_least, at_most, needs
from hessian_papers.ledger.statements import Labels
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.correlations.ensembles import FINISHED, require_two_layers
from hessian_papers.studies.correlations.norm_correlation import deep_claims
from hessian_papers.studies.correlations.norm_correlation.reading import (
    POSITIVE,
    STRONGLY,
    WELL,
    at_both_times,
    at_first,
    at_labels,
    at_the_end,
    everywhere_defined,
    figures,
    lowest,
    mean,
    of_teachers,
    two_layers,
)
from hessian_papers.studies.correlations.norm_correlation.texts import PROPORTIONAL, TWO_OF_A_KIND
from hessian_papers.studies.correlations.teachers import interval

# Of a kind of studies there is one list.
statements = deep_claims.statements
INITIALISATION = 'Appendix D.3.3, "Impact of Initialization"'
WEAKLY = reading_of("strongly", relation="<=")
AGAINST_SP = replace(POSITIVE, source="what the sentence must mean, since it sets μP against SP")
BELOW_THE_WIDTH = at_most(
    1.0,
    "entries are equally large at D = m, where the first matrix no longer varies more",
    source="the sum of both squared norms, of which the larger varies more",
)


def _by_norm(data: xr.Dataset, region: str = "all", **labels: str) -> list[xr.DataArray]:
    """The mean correlation of the best factor, by each norm."""
    norms = data["norm"].values
    return [mean(data, "best_correlation", region, norm=norm, **labels) for norm in norms]


def _lead(data: xr.Dataset, region: str = "all", layer: int = 1, **labels: str) -> xr.DataArray:
    """The r of one matrix's squared spectral norm less that of the other's."""
    matrices = two_layers(data, "matrices")
    return mean(matrices, "factor_lead", region, layer=layer, norm="spectral", **labels)


@figures(4, 14).typically("section 4.2; {artifact}", POSITIVE, over=at_both_times)
def spectral_most(data: xr.Dataset) -> xr.DataArray:
    """Of all norms of the weight matrices, the spectral norm correlates most with the sharpness.

    Statistic: mean over $D > 1$ of Pearson's r for the better matrix by squared spectral norm,
    minus the best r by Frobenius or nuclear norm. At $D = 1$ all norms coincide. Interval:
    Student's t over teachers.
    """
    return mean(two_layers(data, "matrices", target=None), "best_norm_lead", norm="spectral")


@figures(4).typically("section 4.2", POSITIVE, **at_the_end)
def most_prominent_trained(data: xr.Dataset) -> xr.DataArray:
    """The lead of the spectral norm is most prominent in trained networks.

    Statistic: increase during training of its lead in r over the other norms, mean over $D > 1$;
    interval: Student's t over teachers.
    """
    matrices = two_layers(data, "matrices")
    return mean(matrices, "best_norm_growth", time="trained", norm="spectral")


@figures(4).typically(INITIALISATION, POSITIVE, **at_first)
def first_matrix_initialisation(data: xr.Dataset) -> xr.DataArray:
    """At initialisation, where the first matrix has the larger entries (small D), its spectral norm
    correlates more with the sharpness than the second's.

    Statistic: difference of the two r, mean over the D at which the entries of $W_1$ are more than
    1.5 times those of $W_2$; interval: Student's t over teachers.
    """
    return _lead(data, "larger first matrix", time="initialisation")


@figures(4, 14).typically(INITIALISATION, WEAKLY, otherwise=TWO_OF_A_KIND, **at_first)
def weak_where_similar(data: xr.Dataset) -> xr.DataArray:
    """At initialisation, where both matrices have entries of similar magnitude, none of their norms
    correlates strongly with the sharpness.

    Statistic: largest r over the norms, each the mean over the D at which the entries differ by a
    factor of at most 1.5. If there are none, the D at which they differ least is taken.
    """
    matrices = two_layers(data, "matrices")
    by_norm = _by_norm(matrices, "similar matrices", time="initialisation")
    return max(by_norm, key=lambda each: float(each.mean()))


@figures(4).typically(INITIALISATION, POSITIVE, **at_first)
def magnitude_drives(data: xr.Dataset) -> xr.DataArray:
    """At initialisation the discrepancy in magnitude of the entries drives the correlation.

    Statistic: lead of the first matrix: r of its squared spectral norm minus r of the second's;
    interval: Student's t over teachers. Mean over the D at which its entries are more than 1.5
    times larger, minus the mean over the other D. If there are no others, the D at which the
    entries differ least is taken.

    Remark: Where no D comes near the width, the first matrix has the larger entries and leads at
    every D compared.
    """
    return _lead(data, "larger less similar", time="initialisation")


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
    """As D grows, the second matrix takes over from the first as the one that drives the
    correlation, below $D = m$.

    Statistic: D/m at which r of the squared spectral norm of $W_1$ falls below that of $W_2$, the
    mean over teachers; interval: where the ends of Student's t interval do, the first and the last
    time.

    Remark: This D/m is no constant. It depends on the width, the number of samples and the
    parametrisation, as the cases show, and on the teacher (study {study of Appendix D.3.3, inputs
    and teacher (after training)}).
    """
    matrices = two_layers(data, "matrices")
    each = of_teachers(matrices, "factor_lead", layer=1, norm="spectral").squeeze("depth")
    leads = interval(each, 2.0, float(data["confidence"])).transpose("estimate", "size")
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
# The matrix that drives, and the parametrisation under which it does.
DRIVERS = [
    {"matrix": "second", "parametrisation": "sp", "in_print": ""},
    {"matrix": "first", "parametrisation": "mup", "in_print": SECOND_IN_PRINT},
]


@figures(4).typically(
    INITIALISATION,
    lambda case: POSITIVE if case["parametrisation"] == "sp" else AGAINST_SP,
    each=lambda data: [of for of in DRIVERS if of["parametrisation"] in data["parametrisation"]],
    name="{matrix}-matrix-trained-{parametrisation}",
    state=FINISHED,
)
def driver_trained(
    data: xr.Dataset, matrix: str, parametrisation: str, printed: bool = False, **_: str
) -> xr.DataArray:
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
    return _lead(data, layer=layer, parametrisation=parametrisation, time="trained")


def _of_both(data: xr.Dataset) -> list[Labels]:
    """A single case, of networks under SP and under μP."""
    return [{}] * bool({"sp", "mup"} <= {*data["parametrisation"].values.tolist()})


@figures(4).typically("section 4.2", POSITIVE, each=_of_both, state=FINISHED)
def driver_depends_on_initialisation(data: xr.Dataset) -> xr.DataArray:
    """Which matrix's spectral norm drives the correlation depends on the initialisation.

    Statistic: r of the first matrix's squared spectral norm minus r of the second's, under μP minus
    under SP, mean over D; interval: Student's t over teachers, which both have.
    """
    first, second = (_lead(data, parametrisation=name, time="trained") for name in ("mup", "sp"))
    return first - second


@figures(14).typically(INITIALISATION, WELL, state=FINISHED)
def both_matrices_trained_ntp(data: xr.Dataset) -> xr.DataArray:
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
    return lowest(mean(matrices, "correlation", layer=layer, **of) for layer in (1, 2))


@figures(4, 14).everywhere("section 1, contribution (3)", STRONGLY, **at_the_end)
def a_matrix_strongly(data: xr.Dataset) -> xr.DataArray:
    """The spectral norm of certain weight matrices correlates strongly with the sharpness, at all
    input and output sizes and under all parametrisations.

    Statistic: r by the squared spectral norm of the better of two matrices, at the D where it is
    smallest; interval: Student's t over teachers.
    """
    of = {"norm": "spectral", "time": "trained"}
    return lowest(everywhere_defined(two_layers(data, "matrices"), "best_correlation", **of))


ALIGNED = figures(15).having(otherwise=TWO_OF_A_KIND, id="alignment-where-similar")


@ALIGNED.left_open(f"{INITIALISATION}; {{artifact}}", POSITIVE, **at_first)
def alignment_where_similar(data: xr.Dataset) -> xr.DataArray:
    """At initialisation, where both matrices have entries of similar magnitude, the sharpness has a
    larger correlation with their alignment. The paper does not say larger than what. One reading:
    than with their norms.

    Statistic: best r by an absolute alignment minus best r by a squared norm; interval: Student's t
    over teachers. Mean over the D at which the entries differ by a factor of at most 1.5. If there
    are none, the D at which they differ least is taken.
    """
    alignments = two_layers(data, "alignments", "matrices")
    return mean(alignments, "group_lead", "similar matrices", time="initialisation")


def _uneven(data: xr.Dataset) -> list[str]:
    """Under NTP all entries are of similar magnitude at every D."""
    return [name for name in data["parametrisation"].values.tolist() if name != "ntp"]


@ALIGNED.left_open(
    f"{INITIALISATION}; {{artifact}}",
    POSITIVE,
    **at_first | {"over": {"parametrisation": _uneven}},
)
def alignment_rises(data: xr.Dataset) -> xr.DataArray:
    """The other reading: larger than where the first matrix has the larger entries, at small D.

    Statistic: r of the absolute alignment where the entries are within a factor of 1.5,
    minus r where those of $W_1$ are larger. Means over D; interval: Student's t over
    teachers.
    """
    of = "best_correlation", "larger less similar"
    norm = data["highlighted"].item()
    return -mean(two_layers(data, "alignments"), *of, norm=norm, time="initialisation")


@figures(26).typically(
    "Appendix D.4; {artifact}",
    POSITIVE,
    id="frobenius-most-with-the-trace",
    sentence="In linear networks the Frobenius norm correlates most with the trace of the Hessian.",
    otherwise=PROPORTIONAL,
    over=at_both_times,
)
@figures(16).typically(
    "section 4.2; {artifact}",
    POSITIVE,
    id="frobenius-most-of-relu",
    otherwise=PROPORTIONAL,
    over=at_both_times,
)
def frobenius_most(data: xr.Dataset) -> xr.DataArray:
    """In two-layer ReLU networks the Frobenius norm correlates most with the sharpness.

    Statistic: mean over $D > 1$ of r for the better matrix by squared Frobenius norm, minus the
    best r by spectral or nuclear norm; interval: Student's t over teachers.
    """
    return mean(two_layers(data, "matrices", target=None), "best_norm_lead", norm="frobenius")


@figures(16).everywhere(
    "section 4.2, last paragraph", at_most(0.25, "the range in print"), over=["time"]
)
def spectral_between(data: xr.Dataset) -> xr.DataArray:
    """In ReLU networks the spectral norm of the first matrix has a correlation of 0.25 to 0.75 with
    the sharpness.

    Statistic: largest distance from 0.5, over D and parametrisations, of r by its square; interval:
    Student's t over teachers where it is largest.

    Remark: With $D = 1$ the spectral norm of the first matrix is its Frobenius norm, which drives
    the sharpness where its entries are the larger ones. The fraction due to the largest singular
    value falls with D, and r falls with it. At initialisation a run with the paper's 1024 samples
    takes a quarter of an hour of one core.
    """
    _require_relu(data)
    matrices = two_layers(data, "matrices")
    correlations = everywhere_defined(matrices, "correlation", layer=1, norm="spectral")
    furthest = max(correlations, key=lambda r: abs(float(r.mean()) - 0.5))
    return (furthest - 0.5) * (1.0 if furthest.mean() > 0.5 else -1.0)


def _at_the_width(data: xr.Dataset) -> xr.Dataset:
    """Two-layer ReLU networks with as many inputs as hidden units.

    Raises:
        NothingToMeasure: there are none.
    """
    require_two_layers(data)
    _require_relu(data)
    at_the_width = at_labels(data, size=[data["width"].item()])
    return at_the_width.squeeze(["depth", "size"])


def _require_relu(data: xr.Dataset) -> None:
    needs(data["activation"] == "relu", "this configuration has no ReLU networks")


@figures(16).beyond.typically(
    "{artifact}, beyond the paper",
    at_least(0.5, "most of the networks", source="ours"),
    **at_the_end,
)
def relu_networks_end_in_other_minima(data: xr.Dataset) -> xr.DataArray:
    """With as many inputs as hidden units most two-layer ReLU networks converge to other minima
    than the best one known.

    Statistic: fraction of the converged networks whose loss is over 5 % above the lowest of their
    teacher's networks; interval: Student's t over teachers.
    """
    return _at_the_width(data)["above_best"].dropna("teacher")


@figures(16).beyond.typically(
    "{artifact}, beyond the paper", replace(POSITIVE, source="ours"), **at_the_end
)
def higher_minima_are_sharper(data: xr.Dataset) -> xr.DataArray:
    """With as many inputs as hidden units the higher of these minima are the sharper ones.

    Statistic: Pearson's r of loss and sharpness over the converged networks of a teacher; interval:
    Student's t over teachers.
    """
    return _at_the_width(data)["loss_correlation"].dropna("teacher")


@figures(26).everywhere("Appendix D.4", STRONGLY, over=at_both_times)
def all_norms(data: xr.Dataset) -> xr.DataArray:
    """All norms correlate strongly with the Hessian's trace.

    Statistic: r of the better matrix by a squared norm, mean over D, for the norm where it is
    smallest.

    Remark: The squared spectral norm is one of the D squared singular values whose sum is the
    squared Frobenius norm, which makes up the trace. Its fraction of the trace, and its
    correlation, fall with D.
    """
    return lowest(_by_norm(two_layers(data, "matrices", target="trace")))

"""What singh2026cracking says of norms and sharpness (figures 4, 14 to 22 and 26)."""

from collections.abc import Iterator
from dataclasses import replace

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure, at_least, at_most
from hessian_papers.ledger.statements import Labels, Print, Statements, over
from hessian_papers.ledger.verdicts import everywhere, shown, typically
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.correlations.norm_correlation.reading import LAST, Reading
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
from hessian_papers.studies.correlations.reading import (
    ACTIVATIONS,
    NORMS,
    PARAMETRISATIONS,
    TIMES,
    distance_from,
)

INITIALISATION = 'Appendix D.3.3, "Impact of Initialization"'
DEEP = "section 4.2; {artifact}"
SHOWN = "{artifact}"

POSITIVE = at_least(0.0, "the sign; chance rarely puts the whole interval on one side of 0")
STRONGLY = reading_of("strongly")
NEGATIVE = replace(POSITIVE, relation="<=")
WEAKLY = reading_of("strongly", relation="<=")
WELL = reading_of("well")
AGAINST_SP = replace(POSITIVE, source="what the sentence must mean, since it sets μP against SP")
SECOND_IN_PRINT = Print(
    "For SP it is the second weight matrix, while for μP it is the second one: in print the second "
    "matrix drives the correlation under both",
    lambda reading, **_: _lead(reading, "mup", "trained", layer=2),
)


SIMILAR = {"-similar": ", where both matrices begin with entries of similar magnitude"}
VALUES = PARAMETRISATIONS | TIMES | NORMS | SIMILAR | ACTIVATIONS
statements = Statements(Reading, values=VALUES)
each_one, at_both_times = over("parametrisation"), over("parametrisation", "time")


def figures(*numbers: int) -> Statements:
    """For claims about some figures."""
    return statements.about("singh2026cracking", *(f"Figure {number}" for number in numbers))


def _lead(
    reading: Reading, parametrisation: str, time: str, layer: int = 1, region: str = "all"
) -> Estimate:
    """By how much r of one matrix's squared spectral norm exceeds that of the other's."""
    return reading.two_layers("matrices").mean(
        "factor_lead", parametrisation, time, region, layer=layer, norm="spectral"
    )


@figures(4, 14).statement("section 4.2; {artifact}", typically, POSITIVE, each=at_both_times)
def spectral_most(reading: Reading, parametrisation: str, time: str) -> Estimate:
    """The spectral norm correlates most with the sharpness, of all norms of the weight matrices.

    Statistic: Pearson's r of the better matrix by its squared spectral norm, minus the best r by
    Frobenius or nuclear norm, mean over D > 1 (at D = 1 all norms are one); paired bootstrap over
    teachers and networks.
    """
    two_layers = reading.two_layers("matrices", target=None)
    return two_layers.mean("best_norm_lead", parametrisation, time, norm="spectral")


@figures(4).statement("section 4.2", typically, POSITIVE, each=each_one)
def most_prominent_trained(reading: Reading, parametrisation: str) -> Estimate:
    """That the spectral norm correlates most is most prominent in trained networks.

    Statistic: by how much its lead in r over the other norms grows in training, mean over D > 1;
    paired bootstrap over teachers and networks.
    """
    two_layers = reading.two_layers("matrices")
    return two_layers.mean("best_norm_growth", parametrisation, "trained", norm="spectral")


@figures(4).statement(INITIALISATION, typically, POSITIVE, each=each_one)
def first_matrix_initialisation(reading: Reading, parametrisation: str) -> Estimate:
    """At initialisation, where the first matrix has the larger entries (small D), its spectral norm
    correlates more with the sharpness than the second's.

    Statistic: difference of the two r, mean over the D at which the entries of W_1 are more than
    1.5 times those of W_2; paired bootstrap.
    """
    return _lead(reading, parametrisation, "initialisation", region="larger first matrix")


@figures(4, 14).statement(INITIALISATION, typically, WEAKLY, otherwise=TWO_OF_A_KIND, each=each_one)
def weak_where_similar(reading: Reading, parametrisation: str) -> Estimate:
    """At initialisation, where both matrices have entries of similar magnitude, none of their norms
    correlates strongly with the sharpness.

    Statistic: largest r, mean over the D at which the entries differ by no more than a factor of
    1.5 (else the D at which they differ least).
    """
    two_layers = reading.two_layers("matrices")
    return max(two_layers.by_norm(parametrisation, "initialisation", "similar matrices"))


@figures(4).statement(
    INITIALISATION, typically, POSITIVE, otherwise=NOTHING_TO_COMPARE, each=at_both_times
)
def magnitude_drives(reading: Reading, parametrisation: str, time: str) -> Estimate:
    """It is the discrepancy in magnitude of the entries at initialisation that drives the
    correlation.

    Statistic: r of the first matrix's squared spectral norm minus r of the second's, mean over the
    D at which its entries are more than 1.5 times larger, minus the mean over the other D (else the
    D at which they differ least); paired bootstrap.
    """
    return _lead(reading, parametrisation, time, region="larger less similar")


def _drivers(reading: Reading) -> Iterator[Labels]:
    """Which of the two matrices drives, under which parametrisation, at which of the sizes."""
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
    reading: Reading, matrix: str, other: str, parametrisation: str, where: str, sizes: str
) -> Estimate:
    """After training the second matrix drives the correlation under SP, the first under μP.

    Statistic: r of its squared spectral norm, minus that of the other matrix, mean over D; paired
    bootstrap.
    """
    layer = 1 if matrix == "first" else 2
    region = "similar matrices" if where else "all"
    return _lead(reading, parametrisation, "trained", layer, region)


@figures(14).statement(INITIALISATION, typically, WELL, otherwise=SAMPLED_INPUTS)
def both_matrices_trained_ntp(reading: Reading) -> Estimate:
    """Under NTP, after training, the largest singular values of both matrices correlate well with
    the sharpness.

    Statistic: r by the squared spectral norm, mean over D, of the matrix with the smaller one.
    """
    mean = reading.two_layers("matrices").mean
    layers, norm = reading.layers, "spectral"
    return min(mean("correlation", "ntp", "trained", layer=layer, norm=norm) for layer in layers)


@figures(15).statement(
    f"{INITIALISATION}; {{artifact}}", typically, POSITIVE, otherwise=TWO_OF_A_KIND, each=each_one
)
def alignment_where_similar(reading: Reading, parametrisation: str) -> Estimate:
    """At initialisation, where both matrices have entries of similar magnitude, the sharpness
    correlates more with their alignment than with their norms.

    Statistic: best r by an absolute alignment minus best r by a squared norm, mean over the D at
    which the entries differ by no more than a factor of 1.5 (else the D at which they differ
    least); paired bootstrap.
    """
    two_layers = reading.two_layers("alignments", "matrices")
    return two_layers.mean("group_lead", parametrisation, "initialisation", "similar matrices")


def _uneven(reading: Reading) -> Iterator[Labels]:
    """Under NTP all entries are of similar magnitude at every D."""
    yield from (case for case in at_both_times(reading) if case["parametrisation"] != "ntp")


@figures(15).statement(
    f"{INITIALISATION}; {{artifact}}", typically, NEGATIVE, otherwise=TWO_OF_A_KIND, each=_uneven
)
def alignment_rises(reading: Reading, parametrisation: str, time: str) -> Estimate:
    """The sharpness correlates more with the alignment of both matrices where they begin with
    entries of similar magnitude (large D) than where the first has the larger ones (small D).

    Statistic: r of the absolute alignment, mean over the D at which the entries of W_1 are more
    than 1.5 times larger, minus the mean over the other D; paired bootstrap.
    """
    of = "best_correlation", parametrisation, time, "larger less similar"
    return reading.two_layers("alignments").mean(*of, norm=reading.highlighted)


def _of_other_norms(reading: Reading) -> Iterator[Labels]:
    cases = over("norm", "parametrisation", "time")(reading)
    yield from (case for case in cases if case["norm"] != "frobenius")


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
def frobenius_over(reading: Reading, norm: str, parametrisation: str, time: str) -> Estimate:
    """The Frobenius norm correlates most: in two-layer ReLU networks with the sharpness (Figure
    16), in linear ones with the trace of the Hessian (Figure 26).

    Statistic: r of the better matrix by the squared Frobenius norm, minus that by the other norm,
    mean over D > 1; paired bootstrap.
    """
    return reading.two_layers("matrices", target=None).mean(
        "best_norm_difference", parametrisation, time, norm="frobenius", other=norm
    )


@figures(16).statement(
    "section 4.2, last paragraph",
    everywhere,
    at_most(0.25, "the range in print"),
    otherwise=FEW_INPUTS,
    each=over("time"),
)
def spectral_between(reading: Reading, time: str) -> Estimate:
    """In ReLU networks the spectral norm of the first matrix correlates with the sharpness by 0.25
    to 0.75, at every D.

    Statistic: distance from 0.5 of r by its square, largest over D and parametrisations; bootstrap
    over teachers and networks where it is largest.
    """
    if reading.activation != "relu":
        raise NothingToMeasure("this configuration has no ReLU networks")
    along, of = reading.two_layers("matrices").along_positions, {"layer": 1, "norm": "spectral"}
    result = along("correlation", *reading.parametrisations, time=time, **of)
    return max(distance_from(0.5, r) for r in result)


@figures(26).statement(
    "Appendix D.4", everywhere, STRONGLY, otherwise=ONE_OF_MANY, each=at_both_times
)
def all_norms(reading: Reading, parametrisation: str, time: str) -> Estimate:
    """All norms correlate strongly with the Hessian's trace.

    Statistic: r of the better matrix by a squared norm, mean over D, of the norm with the smallest.
    """
    return min(reading.two_layers("matrices", target="trace").by_norm(parametrisation, time))


def _where_one_leads(reading: Reading) -> Iterator[Labels]:
    """The cases of networks with one input; of those with more the text says it for μP alone."""
    for case in at_both_times(reading):
        if reading.fixed == 1 or case["parametrisation"] == "mup":
            yield case


def _where_the_text_is_silent(reading: Reading) -> Iterator[Labels]:
    named = list(_where_one_leads(reading))
    yield from (case for case in at_both_times(reading) if case not in named)


@figures(21).statement(
    SHOWN, shown, POSITIVE, id="last-most-of-deep-relu", book="observations", each=_where_one_leads
)
@figures(17, 18).statement(
    DEEP,
    typically,
    POSITIVE,
    otherwise=lambda case: MIRRORED if case["parametrisation"] == "ntp" else "",
    each=_where_one_leads,
)
def last_most(reading: Reading, parametrisation: str, time: str) -> Estimate:
    """Of the products of all matrices but one, that without the last correlates most with the
    sharpness.

    Statistic: its r minus the largest other, squared norms, mean over the depths; paired bootstrap.
    """
    norm = reading.highlighted
    return reading.deep("products").mean("last_lead", parametrisation, time, norm=norm)


@figures(18).statement(
    "section 4.2, with larger inputs the effect persists under μP",
    typically,
    NEGATIVE,
    book="readings",
    otherwise="The text names μP alone; that it is so under no other is our reading.",
    each=_where_the_text_is_silent,
)
def last_most_no_more(reading: Reading, parametrisation: str, time: str) -> float | Estimate:
    """With larger inputs the effect persists under μP, so that under the others the product without
    the last matrix does not correlate most.

    Statistic: its r minus the largest other, squared norms, mean over the depths; paired bootstrap.
    """
    return last_most(reading, parametrisation, time)


@figures(17, 18).statement(
    "section 4.2", typically, POSITIVE, each=each_one, otherwise=SEVERAL_TERMS
)
def last_most_near_convergence(reading: Reading, parametrisation: str) -> Estimate:
    """The product without the last matrix leads the others most near convergence.

    Statistic: by how much its lead grows in training, squared norms, mean over the depths; paired
    bootstrap.
    """
    norm = reading.highlighted
    return reading.deep("products").mean("last_growth", parametrisation, "trained", norm=norm)


def _smallest_of_last(reading: Reading, *parametrisations: str) -> Estimate:
    """The r of the product without the last matrix after training, where it is smallest."""
    along = reading.deep("products").along_positions
    return min(along("correlation", *parametrisations, time="trained", layer=LAST, norm="spectral"))


@figures(17).statement("{artifact}", everywhere, WELL, otherwise=SEVERAL_TERMS, each=each_one)
def last_well(reading: Reading, parametrisation: str) -> Estimate:
    """After training the product without the last matrix correlates well with the sharpness at
    every depth and under every parametrisation.

    Statistic: r by its squared norm at the depth where it is smallest.
    """
    return _smallest_of_last(reading, parametrisation)


@figures(18).statement(
    DEEP,
    everywhere,
    WELL,
    printed=Print(
        "The caption: they correlate well across model parametrisations; the text has the effect "
        "partially persist at larger sizes under μP",
        lambda reading: _smallest_of_last(reading, *reading.parametrisations),
    ),
    otherwise=SEVERAL_TERMS,
)
def last_well_under_mup(reading: Reading) -> Estimate:
    """With larger inputs, after training, the product without the last matrix correlates well with
    the sharpness at every depth under μP, and not under all parametrisations.

    Statistic: r by its squared norm at the depth where it is smallest; of the print, at the depth
    and under the parametrisation.
    """
    return _smallest_of_last(reading, "mup")


@figures(17).statement("{artifact}", everywhere, POSITIVE, otherwise=MIRRORED)
def last_most_everywhere(reading: Reading) -> Estimate:
    """After training the product without the last matrix correlates most at every depth and under
    every parametrisation.

    Statistic: its r minus the largest other, where this is smallest; paired bootstrap.
    """
    along = reading.deep("products").along_positions
    return min(along("last_lead", *reading.parametrisations, time="trained", norm="spectral"))


@figures(22).statement(
    SHOWN, shown, NEGATIVE, id="products-more-of-deep-relu", each=_where_one_leads
)
@figures(20).statement(
    SHOWN, shown, NEGATIVE, id="products-more-of-larger-inputs", each=_where_the_text_is_silent
)
@figures(19, 20).statement(
    DEEP,
    typically,
    NEGATIVE,
    otherwise=lambda case: "" if case["parametrisation"] == "mup" else COMMON_FACTOR,
    each=_where_one_leads,
)
def products_more(reading: Reading, parametrisation: str, time: str) -> Estimate:
    """The sharpness correlates less with single matrices than with products of all but one.

    Statistic: best r of a single matrix minus best r of a product, squared norms, mean over the
    depths beyond 2; paired bootstrap.
    """
    return reading.deep("matrices", "products").mean("group_lead", parametrisation, time)

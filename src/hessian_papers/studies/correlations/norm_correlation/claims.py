"""What singh2026cracking says of norms and sharpness (figures 4, 14 to 22 and 26)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure, at_least, at_most
from hessian_papers.ledger.claims import Case, Claims, Print, over
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
SHOWN = "{artifact}, shown without a statement"
CARRIED_OVER = f"{SHOWN}; section 4.2 says it of linear networks"

POSITIVE = at_least(0.0, "the sign; chance rarely puts the whole interval on one side of 0")
TAKEN = "a correlation of 0.5 is taken as strong; the paper gives no number"
STRONGLY = at_least(0.5, TAKEN, source="'strongly' is taken as 0.5")
NEGATIVE = replace(POSITIVE, relation="<=")
OF_LINEAR = replace(POSITIVE, source="what the paper says of linear networks")
NOT_OF_LINEAR = replace(OF_LINEAR, relation="<=")
UNSAID = "The paper does not say that it carries over."
WEAKLY = replace(STRONGLY, relation="<=")
WELL = at_least(0.5, TAKEN, source="'well' is taken as 0.5")
AGAINST_SP = replace(POSITIVE, source="what the sentence must mean, since it sets μP against SP")
SECOND_IN_PRINT = Print(
    "For SP it is the second weight matrix, while for μP it is the second one: in print the second "
    "matrix drives the correlation under both",
    lambda reading, **_: _lead(reading, "mup", "trained", layer=2),
)


def _words(reading: Reading) -> dict[str, Any]:
    """Fields of all texts: what the networks are and what is studied of them."""
    return {
        **{name: str(reading[name]) for name in ("activation", "target")},
        "size": f"D = K = {reading.fixed}",
        "norms": " or ".join(NORMS[name] for name in reading.norms),
        "highlighted": NORMS[reading.highlighted],
        "paired": "interval: paired bootstrap over teachers and networks",
    }


SIMILAR = {"-similar": ", where both matrices begin with entries of similar magnitude"}
VALUES = PARAMETRISATIONS | TIMES | NORMS | SIMILAR | ACTIVATIONS
claims = Claims(Reading, values=VALUES, fields=_words)
each_one, at_both_times = over("parametrisation"), over("parametrisation", "time")


def figures(*numbers: int) -> Claims:
    """For claims about some figures."""
    return claims.about("singh2026cracking", *(f"Figure {number}" for number in numbers))


def _lead(
    reading: Reading, parametrisation: str, time: str, layer: int = 1, region: str = "all"
) -> Estimate:
    """By how much r of one matrix's squared spectral norm exceeds that of the other's."""
    return reading.two_layers("matrices").mean(
        "factor_lead", parametrisation, time, region, layer=layer, norm="spectral"
    )


@figures(4, 14).correlation("{artifact}, section 4.2", POSITIVE, each=at_both_times)
def spectral_most(reading: Reading, parametrisation: str, time: str) -> Estimate:
    """Two-layer {activation} networks, {parametrisation}, {time}: of all squared norms of the
    weight matrices the spectral norm correlates most with the {target}. Statistic: r of the better
    matrix by its spectral norm, less the best r by Frobenius or nuclear norm, mean over D > 1 (at
    D = 1 all norms are one); {paired}
    """
    two_layers = reading.two_layers("matrices", target=None)
    return two_layers.mean("best_norm_lead", parametrisation, time, norm="spectral")


@figures(4).correlation("section 4.2", POSITIVE, each=each_one)
def most_prominent_trained(reading: Reading, parametrisation: str) -> Estimate:
    """{parametrisation}: the effect is most prominent in trained networks. Statistic: by how much
    the lead of the spectral norm over the other norms grows in training, mean over D > 1; {paired}
    """
    two_layers = reading.two_layers("matrices")
    return two_layers.mean("best_norm_growth", parametrisation, "trained", norm="spectral")


@figures(4).correlation(INITIALISATION, POSITIVE, each=each_one)
def first_matrix_initialisation(reading: Reading, parametrisation: str) -> Estimate:
    """{parametrisation}, at initialisation: where the first matrix has the larger entries (small
    D), its squared spectral norm correlates more with the sharpness than the second's. Statistic:
    difference of the two r, mean over the D at which the entries of W_1 are more than 1.5 times
    those of W_2; {paired}
    """
    return _lead(reading, parametrisation, "initialisation", region="larger first matrix")


@figures(4, 14).correlation(INITIALISATION, WEAKLY, otherwise=TWO_OF_A_KIND, each=each_one)
def weak_where_similar(reading: Reading, parametrisation: str) -> Estimate:
    """{parametrisation}, at initialisation: where both matrices have entries of similar magnitude,
    none of their norms correlates strongly with the sharpness. Statistic: largest r, mean over the
    D at which the entries differ by no more than a factor of 1.5 (else the D at which they differ
    least)
    """
    two_layers = reading.two_layers("matrices")
    return max(two_layers.by_norm(parametrisation, "initialisation", "similar matrices"))


@figures(4).correlation(INITIALISATION, POSITIVE, otherwise=NOTHING_TO_COMPARE, each=at_both_times)
def magnitude_drives(reading: Reading, parametrisation: str, time: str) -> Estimate:
    """{parametrisation}, {time}: it is the discrepancy in magnitude of the entries at
    initialisation that drives the correlation. Statistic: r of the first matrix's squared spectral
    norm less r of the second's, mean over the D at which its entries are more than 1.5 times
    larger, less the mean over the other D (else the D at which they differ least); {paired}
    """
    return _lead(reading, parametrisation, time, region="larger less similar")


def _drivers(reading: Reading) -> Iterator[Case]:
    """Which of the two matrices drives, under which parametrisation, at which of the sizes."""
    for case in (
        ("second", "first", "sp", "", "D"),
        ("second", "first", "sp", "-similar", "those D"),
        ("first", "second", "mup", "", "D"),
    ):
        yield dict(zip(("matrix", "other", "parametrisation", "where", "sizes"), case, strict=True))


@figures(4).correlation(
    INITIALISATION,
    lambda case: POSITIVE if case["parametrisation"] == "sp" else AGAINST_SP,
    otherwise=BY_THE_SUM,
    printed=lambda case: None if case["parametrisation"] == "sp" else SECOND_IN_PRINT,
    each=_drivers,
    name="{matrix}-matrix-trained-{parametrisation}{where}",
)
def driver_trained(
    reading: Reading, matrix: str, other: str, parametrisation: str, where: str, sizes: str
) -> Estimate:
    """{parametrisation}, after training{where}: the {matrix} matrix drives the correlation.
    Statistic: r of its squared spectral norm, less that of the {other}, mean over {sizes}; {paired}
    """
    layer = 1 if matrix == "first" else 2
    region = "similar matrices" if where else "all"
    return _lead(reading, parametrisation, "trained", layer, region)


@figures(14).correlation(INITIALISATION, WELL, otherwise=SAMPLED_INPUTS)
def both_matrices_trained_ntp(reading: Reading) -> Estimate:
    """NTP, after training: the largest singular values of both matrices correlate well with the
    sharpness. Statistic: r by the squared spectral norm, mean over D, of the matrix with the
    smaller one
    """
    mean = reading.two_layers("matrices").mean
    layers, norm = reading.layers, "spectral"
    return min(mean("correlation", "ntp", "trained", layer=layer, norm=norm) for layer in layers)


@figures(15).correlation(
    f"{INITIALISATION}; {{artifact}}", POSITIVE, otherwise=TWO_OF_A_KIND, each=each_one
)
def alignment_where_similar(reading: Reading, parametrisation: str) -> Estimate:
    """{parametrisation}, at initialisation: where both matrices have entries of similar magnitude,
    the sharpness correlates more with their alignment than with their norms. Statistic: best r by
    an absolute alignment less best r by a squared norm, mean over the D at which the entries differ
    by no more than a factor of 1.5 (else the D at which they differ least); {paired}
    """
    two_layers = reading.two_layers("alignments", "matrices")
    return two_layers.mean("group_lead", parametrisation, "initialisation", "similar matrices")


def _uneven(reading: Reading) -> Iterator[Case]:
    """Under NTP all entries are of similar magnitude at every D."""
    yield from (case for case in at_both_times(reading) if case["parametrisation"] != "ntp")


@figures(15).correlation(
    f"{INITIALISATION}; {{artifact}}", NEGATIVE, otherwise=TWO_OF_A_KIND, each=_uneven
)
def alignment_rises(reading: Reading, parametrisation: str, time: str) -> Estimate:
    """{parametrisation}, {time}: the sharpness correlates more with the alignment of both matrices
    where they begin with entries of similar magnitude (large D) than where the first has the larger
    ones (small D). Statistic: r of the absolute {highlighted} alignment, mean over the D at which
    the entries of W_1 are more than 1.5 times larger, less the mean over the other D; {paired}
    """
    of = "best_correlation", parametrisation, time, "larger less similar"
    return reading.two_layers("alignments").mean(*of, norm=reading.highlighted)


def _of_other_norms(reading: Reading) -> Iterator[Case]:
    cases = over("norm", "parametrisation", "time")(reading)
    yield from (case for case in cases if case["norm"] != "frobenius")


@figures(16, 26).correlation(
    "{artifact}",
    POSITIVE,
    otherwise=lambda case: PROPORTIONAL if case["norm"] == "nuclear" else "",
    each=_of_other_norms,
)
def frobenius_over(reading: Reading, norm: str, parametrisation: str, time: str) -> Estimate:
    """Two-layer {activation} networks, {parametrisation}, {time}: the squared Frobenius norm
    correlates more with the {target} than the squared {norm} norm. Statistic: r of the better
    matrix, difference of the two norms, mean over D > 1; {paired}
    """
    return reading.two_layers("matrices", target=None).mean(
        "best_norm_difference", parametrisation, time, norm="frobenius", other=norm
    )


@figures(16).correlation(
    "section 4.2, last paragraph",
    at_most(0.25, "the range in print"),
    otherwise=FEW_INPUTS,
    each=over("time"),
)
def spectral_between(reading: Reading, time: str) -> Estimate:
    """In ReLU networks the squared spectral norm of the first matrix correlates with the sharpness
    by 0.25 to 0.75, at every D, {time}. Statistic: distance from 0.5 of r, largest over D and
    parametrisations; interval: bootstrap over teachers and networks where it is largest
    """
    if reading.activation != "relu":
        raise NothingToMeasure("this configuration has no ReLU networks")
    along, of = reading.two_layers("matrices").along_positions, {"layer": 1, "norm": "spectral"}
    found = along("correlation", *reading.parametrisations, time=time, **of)
    return max(distance_from(0.5, r) for r in found)


@figures(26).correlation("Appendix D.4", STRONGLY, otherwise=ONE_OF_MANY, each=at_both_times)
def all_norms(reading: Reading, parametrisation: str, time: str) -> Estimate:
    """{parametrisation}, {time}: all squared norms correlate strongly with the Hessian's trace.
    Statistic: r of the better matrix, mean over D, of the norm with the smallest
    """
    return min(reading.two_layers("matrices", target="trace").by_norm(parametrisation, time))


def _where_one_leads(reading: Reading) -> Iterator[Case]:
    """Of networks with one input; of those with more the text says it for μP alone."""
    for case in at_both_times(reading):
        if reading.fixed == 1 or case["parametrisation"] == "mup":
            yield case


def _where_the_text_is_silent(reading: Reading) -> Iterator[Case]:
    named = list(_where_one_leads(reading))
    yield from (case for case in at_both_times(reading) if case not in named)


@figures(21).correlation(CARRIED_OVER, OF_LINEAR, otherwise=UNSAID, each=_where_one_leads)
@figures(17, 18).correlation(
    DEEP,
    POSITIVE,
    otherwise=lambda case: MIRRORED if case["parametrisation"] == "ntp" else "",
    each=_where_one_leads,
)
def last_most(reading: Reading, parametrisation: str, time: str) -> Estimate:
    """Deep {activation} networks, {size}, {parametrisation}, {time}: of the products of all
    matrices but one that without the last correlates most with the sharpness. Statistic: its r less
    the largest other, squared {norms} norms, mean over the depths; {paired}
    """
    norm = reading.highlighted
    return reading.deep("products").mean("last_lead", parametrisation, time, norm=norm)


@figures(18).correlation(
    "section 4.2, with larger inputs the effect persists under μP",
    NEGATIVE,
    otherwise="The text names μP alone; that it is so under no other is our reading.",
    each=_where_the_text_is_silent,
)
def last_most_no_more(reading: Reading, parametrisation: str, time: str) -> Estimate:
    """Deep {activation} networks, {size}, {parametrisation}, {time}: with larger inputs the effect
    persists under μP, so that under the others the product without the last matrix does not
    correlate most. Statistic: its r less the largest other, squared {norms} norms, mean over the
    depths; {paired}
    """
    return last_most(reading, parametrisation, time)


@figures(17, 18).correlation("section 4.2", POSITIVE, each=each_one, otherwise=SEVERAL_TERMS)
def last_most_near_convergence(reading: Reading, parametrisation: str) -> Estimate:
    """Deep {activation} networks, {size}, {parametrisation}: the product without the last matrix
    leads the others most near convergence. Statistic: by how much its lead grows in training,
    squared {norms} norms, mean over the depths; {paired}
    """
    norm = reading.highlighted
    return reading.deep("products").mean("last_growth", parametrisation, "trained", norm=norm)


def _smallest_of_last(reading: Reading, *parametrisations: str) -> Estimate:
    """The r of the product without the last matrix after training, where it is smallest."""
    along = reading.deep("products").along_positions
    return min(along("correlation", *parametrisations, time="trained", layer=LAST, norm="spectral"))


@figures(17).correlation("{artifact}", WELL, otherwise=SEVERAL_TERMS, each=each_one)
def last_well(reading: Reading, parametrisation: str) -> Estimate:
    """Deep {activation} networks, {size}, {parametrisation}, after training: the squared norm of
    the product without the last matrix correlates well with the sharpness at every depth.
    Statistic: r at the depth where it is smallest
    """
    return _smallest_of_last(reading, parametrisation)


@figures(18).correlation(
    DEEP,
    WELL,
    printed=Print(
        "The caption: they correlate well across model parametrisations; the text has the effect "
        "partially persist at larger sizes under μP",
        lambda reading: _smallest_of_last(reading, *reading.parametrisations),
    ),
    otherwise=SEVERAL_TERMS,
)
def last_well_under_mup(reading: Reading) -> Estimate:
    """Deep {activation} networks, {size}, after training: under μP, and not under all
    parametrisations, the squared norm of the product without the last matrix correlates well with
    the sharpness at every depth. Statistic: r at the depth where it is smallest; of the print, at
    the depth and under the parametrisation
    """
    return _smallest_of_last(reading, "mup")


@figures(17).correlation("{artifact}", POSITIVE, otherwise=MIRRORED)
def last_most_everywhere(reading: Reading) -> Estimate:
    """The product without the last matrix correlates most at every depth and under every
    parametrisation, after training. Statistic: its r less the largest other, where this is
    smallest; {paired}
    """
    along = reading.deep("products").along_positions
    return min(along("last_lead", *reading.parametrisations, time="trained", norm="spectral"))


@figures(22).correlation(CARRIED_OVER, NOT_OF_LINEAR, otherwise=UNSAID, each=_where_one_leads)
@figures(20).correlation(SHOWN, NEGATIVE, otherwise=UNSAID, each=_where_the_text_is_silent)
@figures(19, 20).correlation(
    DEEP,
    NEGATIVE,
    otherwise=lambda case: "" if case["parametrisation"] == "mup" else COMMON_FACTOR,
    each=_where_one_leads,
)
def products_more(reading: Reading, parametrisation: str, time: str) -> Estimate:
    """Deep {activation} networks, {size}, {parametrisation}, {time}: the sharpness correlates less
    with single matrices than with products of all but one. Statistic: best r of a single matrix
    less best r of a product, squared {norms} norms, mean over the depths beyond 2; {paired}
    """
    return reading.deep("matrices", "products").mean("group_lead", parametrisation, time)

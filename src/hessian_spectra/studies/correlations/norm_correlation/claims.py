"""What singh2026cracking says of norms and sharpness (figures 4, 14 to 22 and 26)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hessian_spectra.ledger.bounds import Estimate, NothingToMeasure, at_least, at_most, within
from hessian_spectra.ledger.claims import Case, Claims, Print, over
from hessian_spectra.studies.correlations.norm_correlation.reading import LAST, Reading
from hessian_spectra.studies.correlations.reading import (
    ACTIVATIONS,
    NORMS,
    PARAMETRISATIONS,
    TIMES,
    distance_from,
)

INITIALISATION = 'Appendix D.3.3, "Impact of Initialization"'
DEEP = "section 4.2; {artifact}"

POSITIVE = at_least(0.0, "the sign; chance rarely puts the whole interval on one side of 0")
TAKEN = "a correlation of 0.5 is taken as strong; the paper gives no number"
STRONGLY = at_least(0.5, TAKEN, source="'strongly' is taken as 0.5")
WEAKLY = replace(STRONGLY, relation="<=")
WELL = at_least(0.5, TAKEN, source="'well' is taken as 0.5")
AGAINST_SP = replace(POSITIVE, source="what the sentence must mean, since it sets μP against SP")
SECOND_IN_PRINT = Print(
    "For SP it is the second weight matrix, while for μP it is the second one: in print the second "
    "matrix drives the correlation under both",
    lambda reading, **_: _lead(reading, "mup", "trained", layer=2),
)

BY_THE_SUM = (
    "The sharpness is nearly the sum of both squared spectral norms (study {study of Appendix "
    "D.3.3}), so it goes with the matrix whose norm varies more from network to network. Gradient "
    "descent in small steps keeps W_2ᵀW_2/r_2 − W_1W_1ᵀ/r_1 as it was, r_l the layers' relative "
    "rates: what varies more is, after training too, the matrix with the larger entries at "
    "initialisation, and under μP the same one learns faster. That is the first matrix where D is "
    "well below the width. The mean over D depends on the sizes that are taken."
)
TWO_OF_A_KIND = (
    "Two matrices of similar magnitude have a similar part in the sharpness, which is nearly the "
    "sum of their squared spectral norms (study {study of Appendix D.3.3}) even before training. A "
    "term of a sum of two that vary independently and alike correlates with it by about 1/√2, so "
    "neither norm is without correlation. Where no D comes near the width, the matrices are not "
    "alike yet at the largest, and the larger one drives."
)
SAMPLED_INPUTS = (
    "Two matrices that vary alike would each correlate by about 1/√2. The first one's part in the "
    "sharpness is λ_max(W_1 S W_1ᵀ), with the second moments S of the inputs, and departs from "
    "σ_max²(W_1) as D ceases to be small beside the number of samples; the second one's is "
    "σ_max²(W_2) λ_max(S), so that its norm keeps its correlation."
)
NOTHING_TO_COMPARE = (
    "Where no D comes near the width, the first matrix has the larger entries, and leads, at every "
    "D that is compared."
)
PROPORTIONAL = (
    "All singular values of a weight matrix with D well below the width are of similar size, and "
    "its nuclear norm is then nearly proportional to its Frobenius norm: the two correlations are "
    "nearly one, and what is between them is within the interval."
)
ONE_OF_MANY = (
    "The squared spectral norm is one of the D squared singular values whose sum, the squared "
    "Frobenius norm, makes up the trace: its part in it, and its correlation, fall with D."
)
MIRRORED = (
    "Under NTP all entries are drawn alike, so the network read backwards, W_Bᵀ, ..., W_1ᵀ, is as "
    "likely: the products without the first and without the last matrix have the same "
    "distribution and the same part in the Gauss-Newton matrix, and neither can lead."
)
SEVERAL_TERMS = (
    "The sharpness adds up the terms of all layers. Under μP that of the last one exceeds the "
    "others by about width over D. Under NTP, and under SP with D > 1, several terms are of "
    "similar size, and the norm behind one of them goes with a part of the sharpness only."
)
COMMON_FACTOR = (
    "The sharpness adds up a term for each layer, the squared norms of what stands before and "
    "after it multiplied. Under SP with D = 1 the terms of all layers but the first are of similar "
    "size and hold the norm of W_1 as a factor: in deep networks that common factor goes with "
    "their sum better than the last layer's term, which is one among many. The products without a "
    "middle matrix are scalars here and not what its term is made of. Under NTP, too, many terms "
    "share each norm."
)


def _words(reading: Reading) -> dict[str, Any]:
    """Fields of all texts: what the networks are and what is studied of them."""
    nouns = {
        "matrices": "a single matrix",
        "products": "a product of all matrices but one",
        "alignments": "an alignment",
    }
    return {
        **{name: str(reading[name]) for name in ("activation", "target")},
        "size": f"D = K = {reading.fixed}",
        "noun": nouns[reading.groups[0]],
        "norms": " or ".join(NORMS[name] for name in reading.norms),
        "paired": "interval: paired bootstrap over the networks",
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


@figures(16).correlation("section 4.2, last paragraph", at_most(0.25, "the range in print"))
def spectral_between(reading: Reading) -> Estimate:
    """In ReLU networks the squared spectral norm of the first matrix correlates with the sharpness
    by 0.25 to 0.75. Statistic: distance from 0.5 of r, mean over D, largest over parametrisations
    and times
    """
    if reading.activation != "relu":
        raise NothingToMeasure("this configuration has no ReLU networks")
    mean, cases = reading.two_layers("matrices").mean, at_both_times(reading)
    found = [mean("correlation", **case, layer=1, norm="spectral") for case in cases]
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


@figures(17, 18).correlation(
    DEEP,
    POSITIVE,
    otherwise=lambda case: MIRRORED if case["parametrisation"] == "ntp" else "",
    each=_where_one_leads,
)
def last_most(reading: Reading, parametrisation: str, time: str) -> Estimate:
    """Deep {activation} networks, {size}, {parametrisation}, {time}: of the products of all
    matrices but one that without the last correlates most with the sharpness. Statistic: its r less
    the largest other, squared spectral norms, mean over the depths; {paired}
    """
    return reading.deep("products").mean("last_lead", parametrisation, time, norm="spectral")


@figures(17, 18).correlation("{artifact}", WELL, otherwise=SEVERAL_TERMS, each=each_one)
def last_well(reading: Reading, parametrisation: str) -> Estimate:
    """Deep {activation} networks, {size}, {parametrisation}, after training: the squared norm of
    the product without the last matrix correlates well with the sharpness at every depth.
    Statistic: r at the depth where it is smallest
    """
    along = reading.deep("products").along_positions
    return min(along("correlation", parametrisation, time="trained", layer=LAST, norm="spectral"))


@figures(17).correlation("{artifact}", POSITIVE, otherwise=MIRRORED)
def last_most_everywhere(reading: Reading) -> Estimate:
    """The product without the last matrix correlates most at every depth and under every
    parametrisation, after training. Statistic: its r less the largest other, where this is
    smallest; {paired}
    """
    along = reading.deep("products").along_positions
    return min(along("last_lead", *reading.parametrisations, time="trained", norm="spectral"))


@figures(19, 20).correlation(
    DEEP,
    replace(POSITIVE, relation="<="),
    otherwise=lambda case: "" if case["parametrisation"] == "mup" else COMMON_FACTOR,
    each=_where_one_leads,
)
def products_more(reading: Reading, parametrisation: str, time: str) -> Estimate:
    """Deep {activation} networks, {size}, {parametrisation}, {time}: the sharpness correlates less
    with single matrices than with products of all but one. Statistic: best r of a single matrix
    less best r of a product, squared {norms} norms, mean over the depths beyond 2; {paired}
    """
    return reading.deep("matrices", "products").mean("group_lead", parametrisation, time)


@figures(19, 20).identity(
    "section 4.2", within(1e-9, "float64: only the order of summation differs")
)
def equivalent_at_two_layers(reading: Reading) -> float:
    """In a two-layer network single matrices and products of all but one are the same quantities.
    Statistic: largest difference of their correlations
    """
    return reading.deep("matrices", "products", target=None).two_layer_difference()


@figures(21, 22).correlation("{artifact}", POSITIVE, each=at_both_times)
def correlates(reading: Reading, parametrisation: str, time: str) -> Estimate:
    """Deep {activation} networks, {size}, {parametrisation}, {time}: the squared norm of {noun}
    correlates with the sharpness. Statistic: r of the best one, mean over the depths; interval:
    bootstrap over the networks, corrected for taking the best
    """
    norm = reading.highlighted
    return reading.deep().mean("best_correlation", parametrisation, time, norm=norm)

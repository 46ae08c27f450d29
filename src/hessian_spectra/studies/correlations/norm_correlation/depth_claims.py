"""What singh2026cracking says of deep networks: products of all matrices but one, single ones."""

from collections.abc import Callable, Sequence
from functools import partial

from hessian_spectra.ledger.vocabulary import Claim
from hessian_spectra.studies.correlations.norm_correlation import reading as measures
from hessian_spectra.studies.correlations.norm_correlation.reading import (
    NAMES,
    PAIRED,
    TIMES,
    claim,
)

LOWER_END = "the lower end of the 95 % interval decides: chance alone rarely puts it above 0"
STRONG = "a correlation of 0.5 is taken as strong; the paper gives no number"
SIGN = "the sign decides; the interval says whether so many networks tell it"

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


def _setting(study: str) -> tuple[str, str]:
    """Size and activation of a figure, in words."""
    number = int(study.removeprefix("cracking-fig"))
    activation = "ReLU" if number >= 21 else "linear"
    return ("D = K = 10" if number in (18, 20) else "D = K = 1"), activation


def _last_most(study: str, parametrisations: Sequence[str]) -> list[Claim]:
    """One claim a parametrisation and time."""
    size, activation = _setting(study)
    return [
        claim(
            study,
            f"last-most-{name}-{time}",
            f"section 4.2; Figure {study.removeprefix('cracking-fig')}",
            f"Deep {activation} networks, {size}, {NAMES[name]}, {TIMES[time]}: of the products of "
            "all matrices but one that without the last correlates most with the sharpness. "
            "Statistic: its r less the largest other, squared spectral norms, mean over the depths"
            f"{PAIRED}",
            partial(
                measures.mean,
                statistic="last_lead",
                parametrisation=name,
                time=time,
                norm="spectral",
            ),
            decides="low",
            test="test_the_leading_product_is_found",
            reason=LOWER_END,
            explanation=MIRRORED if name == "ntp" else "",
        )
        for name in parametrisations
        for time in TIMES
    ]


def _well(study: str) -> list[Claim]:
    size, activation = _setting(study)
    return [
        claim(
            study,
            f"last-well-{name}",
            f"Figure {study.removeprefix('cracking-fig')}",
            f"Deep {activation} networks, {size}, {NAMES[name]}, after training: the squared norm "
            "of the product without the last matrix correlates well with the sharpness at every "
            "depth. Statistic: r at the depth where it is smallest",
            partial(measures.last_factor, parametrisation=name, time="trained", norm="spectral"),
            expected=0.5,
            test="test_the_last_product_is_followed",
            source="'well' is taken as 0.5",
            reason=STRONG,
            explanation=SEVERAL_TERMS,
        )
        for name in NAMES
    ]


def _one_dimensional(study: str) -> list[Claim]:
    return [
        *_last_most(study, list(NAMES)),
        *_well(study),
        claim(
            study,
            "last-most-everywhere",
            "Figure 17",
            "The product without the last matrix correlates most at every depth and under every "
            "parametrisation, after training. Statistic: its r less the largest other, where this "
            f"is smallest{PAIRED}",
            partial(measures.least, statistic="last_lead", time="trained", norm="spectral"),
            test="test_the_leading_product_is_found",
            reason=SIGN,
            explanation=MIRRORED,
        ),
    ]


def _more_dimensions(study: str) -> list[Claim]:
    """For D = 10 the text has the lead persist under μP alone."""
    return [*_last_most(study, ["mup"]), *_well(study)]


def _matrices(study: str) -> list[Claim]:
    size, activation = _setting(study)
    figure = f"Figure {study.removeprefix('cracking-fig')}"
    norm = "Frobenius" if activation == "ReLU" else "spectral"
    return [
        *(
            claim(
                study,
                f"products-more-{name}-{time}",
                f"section 4.2; {figure}",
                f"Deep {activation} networks, {size}, {NAMES[name]}, {TIMES[time]}: the sharpness "
                "correlates less with single matrices than with products of all but one. "
                f"Statistic: best r of a single matrix less best r of a product, squared {norm} "
                f"norms, mean over the depths beyond 2{PAIRED}",
                partial(measures.mean, statistic="group_lead", parametrisation=name, time=time),
                relation="<=",
                test="test_groups_are_compared",
                reason=SIGN,
                explanation="" if name == "mup" else COMMON_FACTOR,
            )
            for name in (NAMES if size == "D = K = 1" else ["mup"])
            for time in TIMES
        ),
        claim(
            study,
            "equivalent-at-two-layers",
            "section 4.2",
            "In a two-layer network single matrices and products of all but one are the same "
            "quantities. Statistic: largest difference of their correlations",
            measures.two_layer_difference,
            kind="identity",
            relation="<=",
            tolerance=1e-9,
            test="test_two_layers_have_the_same_products",
            reason="float64: only the order of summation differs",
        ),
    ]


def _correlates(study: str) -> list[Claim]:
    _, activation = _setting(study)
    number = study.removeprefix("cracking-fig")
    noun = "a product of all matrices but one" if number == "21" else "a single matrix"
    return [
        claim(
            study,
            f"correlates-{name}-{time}",
            f"Figure {number}",
            f"Deep {activation} networks, D = K = 1, {NAMES[name]}, {TIMES[time]}: the squared "
            f"norm of {noun} correlates with the sharpness. Statistic: r of the best one, mean "
            "over the depths; interval: bootstrap over the networks, corrected for taking the best",
            partial(
                measures.mean,
                statistic="best_correlation",
                parametrisation=name,
                time=time,
                norm="frobenius",
            ),
            decides="low",
            test="test_the_strongest_norm_is_found",
            reason=LOWER_END,
        )
        for name in NAMES
        for time in TIMES
    ]


DEEP: dict[str, Callable[[str], list[Claim]]] = {
    "cracking-fig17": _one_dimensional,
    "cracking-fig18": _more_dimensions,
    "cracking-fig19": _matrices,
    "cracking-fig20": _matrices,
    "cracking-fig21": _correlates,
    "cracking-fig22": _correlates,
}

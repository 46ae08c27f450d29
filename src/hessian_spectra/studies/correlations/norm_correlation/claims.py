"""What singh2026cracking says of norms and sharpness (figures 4, 14 to 22 and 26)."""

from functools import partial

from hessian_spectra.ledger.vocabulary import Claim
from hessian_spectra.studies.correlations.norm_correlation import reading as measures
from hessian_spectra.studies.correlations.norm_correlation.depth_claims import DEEP
from hessian_spectra.studies.correlations.norm_correlation.reading import (
    NAMES,
    NORMS,
    PAIRED,
    TIMES,
    claim,
)

# Figure: parametrisations, activation, target.
_WIDE = {
    "cracking-fig4": (("sp", "mup"), "linear", "sharpness"),
    "cracking-fig14": (("ntp",), "linear", "sharpness"),
    "cracking-fig15": (("sp", "mup", "ntp"), "linear", "sharpness"),
    "cracking-fig16": (("sp", "mup", "ntp"), "ReLU", "sharpness"),
    "cracking-fig26": (("sp", "mup", "ntp"), "linear", "trace"),
}
INITIALISATION = 'Appendix D.3.3, "Impact of Initialization"'
LOWER_END = "the lower end of the 95 % interval decides: chance alone rarely puts it above 0"
SIGN = "the sign decides; the interval says whether so many networks tell it"
STRONG = "a correlation of 0.5 is taken as strong; the paper gives no number"

BY_THE_SUM = (
    "The sharpness is nearly the sum of both squared spectral norms (study cracking-d33), so it "
    "goes with the matrix whose norm varies more from network to network. Gradient descent in "
    "small steps keeps W_2ᵀW_2/r_2 − W_1W_1ᵀ/r_1 as it was, r_l the layers' relative rates: what "
    "varies more is, after training too, the matrix with the larger entries at initialisation, and "
    "under μP the same one learns faster. That is the first matrix where D is well below the "
    "width. The mean over D depends on the sizes that are taken."
)
TWO_OF_A_KIND = (
    "Two matrices of similar magnitude have a similar part in the sharpness, which is nearly the "
    "sum of their squared spectral norms (study cracking-d33) even before training. A term of a "
    "sum of two that vary independently and alike correlates with it by about 1/√2, so neither "
    "norm is without correlation. Where no D comes near the width, the matrices are not alike yet "
    "at the largest, and the larger one drives."
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


def claims(study: str) -> list[Claim]:
    """The claims that a study of this kind measures; none for one that is no figure of the paper.

    Example:
        >>> claims("a-study-of-my-own")
        []
    """
    figures = DEEP | {
        "cracking-fig4": _figure_4,
        "cracking-fig14": _figure_14,
        "cracking-fig15": _figure_15,
        "cracking-fig16": _figure_16,
        "cracking-fig26": _figure_26,
    }
    return figures[study](study) if study in figures else []


def _figure(study: str) -> str:
    return f"Figure {study.removeprefix('cracking-fig')}"


def _spectral_most(study: str) -> list[Claim]:
    """One claim a parametrisation and time."""
    parametrisations, activation, target = _WIDE[study]
    return [
        claim(
            study,
            f"spectral-most-{name}-{time}",
            f"{_figure(study)}, section 4.2",
            f"Two-layer {activation} networks, {NAMES[name]}, {TIMES[time]}: of all squared norms "
            f"of the weight matrices the spectral norm correlates most with the {target}. "
            "Statistic: r of the better matrix by its spectral norm, less the best r by Frobenius "
            f"or nuclear norm, mean over D > 1 (at D = 1 all norms are one){PAIRED}",
            partial(
                measures.mean,
                statistic="best_norm_lead",
                parametrisation=name,
                time=time,
                norm="spectral",
            ),
            decides="low",
            test="test_the_leading_norm_is_found",
            reason=LOWER_END,
        )
        for name in parametrisations
        for time in TIMES
    ]


def _frobenius_most(study: str) -> list[Claim]:
    """One claim a parametrisation, time and other norm."""
    parametrisations, activation, target = _WIDE[study]
    return [
        claim(
            study,
            f"frobenius-over-{other}-{name}-{time}",
            _figure(study),
            f"Two-layer {activation} networks, {NAMES[name]}, {TIMES[time]}: the squared Frobenius "
            f"norm correlates more with the {target} than the squared {NORMS[other]} norm. "
            f"Statistic: r of the better matrix, difference of the two norms, mean over D > 1"
            f"{PAIRED}",
            partial(
                measures.mean,
                statistic="best_norm_difference",
                parametrisation=name,
                time=time,
                norm="frobenius",
                other=other,
            ),
            decides="low",
            test="test_the_leading_norm_is_found",
            reason=LOWER_END,
            explanation=PROPORTIONAL if other == "nuclear" else "",
        )
        for other in ("spectral", "nuclear")
        for name in parametrisations
        for time in TIMES
    ]


def _first_leads(study: str, name: str) -> Claim:
    return claim(
        study,
        f"first-matrix-initialisation-{name}",
        INITIALISATION,
        f"{NAMES[name]}, at initialisation: where the first matrix has the larger entries (small "
        "D), its squared spectral norm correlates more with the sharpness than the second's. "
        "Statistic: difference of the two r, mean over the D at which the entries of W_1 are more "
        f"than 1.5 times those of W_2{PAIRED}",
        partial(
            measures.mean,
            statistic="factor_lead",
            parametrisation=name,
            time="initialisation",
            region="larger first matrix",
            norm="spectral",
            layer=1,
        ),
        decides="low",
        test="test_the_driving_matrix_is_found",
        reason=LOWER_END,
    )


def _weak_where_similar(study: str, name: str) -> Claim:
    return claim(
        study,
        f"weak-where-similar-{name}",
        INITIALISATION,
        f"{NAMES[name]}, at initialisation: where both matrices have entries of similar magnitude, "
        "none of their norms correlates strongly with the sharpness. Statistic: largest r, mean "
        "over the D at which the entries differ by no more than a factor of 1.5 (else the D at "
        "which they differ least)",
        partial(
            measures.strongest,
            parametrisation=name,
            time="initialisation",
            region="similar matrices",
        ),
        relation="<=",
        expected=0.5,
        test="test_the_strongest_norm_is_found",
        source="'strongly' is taken as 0.5",
        reason=STRONG,
        explanation=TWO_OF_A_KIND,
    )


def _second_leads(study: str, region: str) -> Claim:
    everywhere = region == "all"
    where = "" if everywhere else ", where both matrices begin with entries of similar magnitude"
    return claim(
        study,
        "second-matrix-trained-sp" + ("" if everywhere else "-similar"),
        INITIALISATION,
        f"SP, after training{where}: the second matrix drives the correlation. Statistic: r of its "
        "squared spectral norm, less that of the first, mean over "
        f"{'D' if everywhere else 'those D'}{PAIRED}",
        partial(
            measures.mean,
            statistic="factor_lead",
            parametrisation="sp",
            time="trained",
            region=region,
            norm="spectral",
            layer=2,
        ),
        decides="low",
        test="test_the_driving_matrix_is_found",
        reason=LOWER_END,
        explanation=BY_THE_SUM,
    )


def _maximal_update(study: str) -> Claim:
    """The sentence sets two parametrisations against each other and says the same of both."""

    def lead(layer: int) -> partial:
        return partial(
            measures.mean,
            statistic="factor_lead",
            parametrisation="mup",
            time="trained",
            norm="spectral",
            layer=layer,
        )

    return Claim(
        id=f"{study}/first-matrix-trained-mup",
        paper="singh2026cracking",
        location=INITIALISATION,
        statement=(
            "μP, after training: the first matrix drives the correlation. Statistic: r of its "
            f"squared spectral norm, less that of the second, mean over D{PAIRED}"
        ),
        kind="correlation",
        study=study,
        test="tests/claims/test_correlation_claims.py::test_the_driving_matrix_is_found",
        measure=lead(1),
        sides=("correlation",),
        decides="low",
        relation=">=",
        source="what the sentence must mean, since it sets μP against SP",
        reason=LOWER_END,
        printed=(
            "For SP it is the second weight matrix, while for μP it is the second one: in print "
            "the second matrix drives the correlation under both"
        ),
        measure_printed=lead(2),
        explanation=BY_THE_SUM,
    )


def _magnitude_drives(study: str, name: str, time: str) -> Claim:
    return claim(
        study,
        f"magnitude-drives-{name}-{time}",
        INITIALISATION,
        f"{NAMES[name]}, {TIMES[time]}: it is the discrepancy in magnitude of the entries at "
        "initialisation that drives the correlation. Statistic: r of the first matrix's squared "
        "spectral norm less r of the second's, mean over the D at which its entries are more than "
        "1.5 times larger, less the mean over the other D (else the D at which they differ least)"
        f"{PAIRED}",
        partial(
            measures.mean,
            statistic="factor_lead",
            parametrisation=name,
            time=time,
            region="larger less similar",
            norm="spectral",
            layer=1,
        ),
        test="test_regions_are_compared",
        reason=SIGN,
        explanation=NOTHING_TO_COMPARE,
    )


def _figure_4(study: str) -> list[Claim]:
    names = _WIDE[study][0]
    return [
        *_spectral_most(study),
        *(_first_leads(study, name) for name in names),
        *(_weak_where_similar(study, name) for name in names),
        *(_magnitude_drives(study, name, time) for name in names for time in TIMES),
        _second_leads(study, "all"),
        _second_leads(study, "similar matrices"),
        _maximal_update(study),
    ]


def _figure_14(study: str) -> list[Claim]:
    return [
        *_spectral_most(study),
        _weak_where_similar(study, "ntp"),
        claim(
            study,
            "both-matrices-trained-ntp",
            INITIALISATION,
            "NTP, after training: the largest singular values of both matrices correlate well with "
            "the sharpness. Statistic: r by the squared spectral norm, mean over D, of the matrix "
            "with the smaller one",
            partial(measures.weaker_matrix, parametrisation="ntp", time="trained", norm="spectral"),
            expected=0.5,
            test="test_the_weaker_matrix_is_found",
            source="'well' is taken as 0.5",
            reason=STRONG,
            explanation=SAMPLED_INPUTS,
        ),
    ]


def _figure_15(study: str) -> list[Claim]:
    return [
        claim(
            study,
            f"alignment-where-similar-{name}",
            f"{INITIALISATION}; Figure 15",
            f"{NAMES[name]}, at initialisation: where both matrices have entries of similar "
            "magnitude, the sharpness correlates more with their alignment than with their norms. "
            "Statistic: best r by an absolute alignment less best r by a squared norm, mean over "
            "the D at which the entries differ by no more than a factor of 1.5 (else the D at "
            f"which they differ least){PAIRED}",
            partial(
                measures.mean,
                statistic="group_lead",
                parametrisation=name,
                time="initialisation",
                region="similar matrices",
            ),
            test="test_groups_are_compared",
            reason=SIGN,
            explanation=TWO_OF_A_KIND,
        )
        for name in _WIDE[study][0]
    ]


def _figure_16(study: str) -> list[Claim]:
    return [
        *_frobenius_most(study),
        claim(
            study,
            "spectral-between",
            "section 4.2, last paragraph",
            "In ReLU networks the squared spectral norm of the first matrix correlates with the "
            "sharpness by 0.25 to 0.75. Statistic: distance from 0.5 of r, mean over D, largest "
            "over parametrisations and times",
            partial(measures.furthest, norm="spectral", centre=0.5),
            relation="<=",
            expected=0.25,
            test="test_the_furthest_is_found",
            reason="the range in print",
        ),
    ]


def _figure_26(study: str) -> list[Claim]:
    return [
        *_frobenius_most(study),
        *(
            claim(
                study,
                f"all-norms-{name}-{time}",
                "Appendix D.4",
                f"{NAMES[name]}, {TIMES[time]}: all squared norms correlate strongly with the "
                "Hessian's trace. Statistic: r of the better matrix, mean over D, of the norm "
                "with the smallest",
                partial(measures.weakest_norm, parametrisation=name, time=time),
                expected=0.5,
                test="test_the_weakest_norm_is_found",
                source="'strongly' is taken as 0.5",
                reason=STRONG,
                explanation=ONE_OF_MANY,
            )
            for name in _WIDE[study][0]
            for time in TIMES
        ),
    ]

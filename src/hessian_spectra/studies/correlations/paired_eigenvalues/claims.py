"""What singh2026cracking says of two eigenvalues that sum to tr(H)/D (figures 3 and 10 to 13)."""

import math
from functools import partial

import numpy as np

from hessian_spectra.ledger.vocabulary import Claim, Estimate, Measure
from hessian_spectra.results import Arrays

TEST = "tests/studies/test_paired_eigenvalues.py"
PAPER = "singh2026cracking"

# What the networks of each figure are, and its cases beyond the assumptions.
_ALL = ("orthogonal-normalised", "sp-decorrelated", "sp-normalised")
_STUDIES = {
    "cracking-fig3": ("two-layer linear", ("sp-normalised",)),
    "cracking-fig10": ("two-layer linear", _ALL),
    "cracking-fig11": ("four-layer linear", ("orthogonal-decorrelated", *_ALL)),
    "cracking-fig12": ("two-layer ReLU", ("orthogonal-decorrelated", *_ALL)),
    "cracking-fig13": ("four-layer ReLU", ("orthogonal-decorrelated", *_ALL)),
}
NAMES = {
    "orthogonal-decorrelated": "orthogonal parametrisation, decorrelated data",
    "orthogonal-normalised": "orthogonal parametrisation, normalised data",
    "sp-decorrelated": "standard parametrisation, decorrelated data",
    "sp-normalised": "standard parametrisation, normalised data",
}
ASSUMED = ("orthogonal-decorrelated",)

LEVEL = 0.05  # jittered spectra that may match a pair which counts as closer than chance
CONFIDENCE = 2.5758  # standard deviations: 99 %
ROUND_OFF = "round-off of an eigenvalue solver in float64, some 1e-15 of the largest eigenvalue"
MULTIPLY = (
    "The distance is small because there are many pairs: the sums of all pairs fill the range of "
    "the spectrum. Move each eigenvalue at random by about the distance of its neighbours, and the "
    "best pair comes as close to tr(H)/D as it did before."
)
FEW = (
    "With two inputs and weights drawn independently there are few pairs with sums near tr(H)/D; "
    "the best one misses it by as much as the best pair of a spectrum whose eigenvalues are moved "
    "at random. The distance falls as the pairs multiply with D."
)


def _chosen(arrays: Arrays, cases: tuple[str, ...], least: int = 2) -> np.ndarray:
    """Which points are of some cases and have at least so many inputs."""
    pairs = zip(arrays["parametrisation"].tolist(), arrays["data"].tolist(), strict=True)
    named = np.array([f"{parametrisation}-{data}" in cases for parametrisation, data in pairs])
    chosen = named & (arrays["size"] >= least)
    if not chosen.any():
        raise ValueError(
            f"cases: expected {' or '.join(cases)} with an input size of at least {least}, which "
            "the figure's claims are about, got none; a study of another name has no claims"
        )
    return chosen


def worst_trace(closed_form: Arrays, numerics: Arrays) -> float:
    """Largest error of tr(H)/D and of the mean eigenvalue, relative to the largest one."""
    errors = [np.abs(closed_form[name] - numerics[name]) for name in ("target", "mean")]
    return float((np.maximum(*errors) / numerics["largest"]).max())


def worst_pair(closed_form: Arrays, numerics: Arrays) -> float:
    """Largest smallest distance under the assumptions, relative to the largest eigenvalue."""
    chosen = _chosen(closed_form, ASSUMED, least=1)
    return float((numerics["distance"][chosen, :, 0] / numerics["largest"][chosen]).max())


def worst_second(closed_form: Arrays, numerics: Arrays) -> float:
    """Largest error of the predicted second distance, relative to the largest eigenvalue."""
    known = np.isfinite(closed_form["distance"]).all(axis=(1, 2))
    errors = np.abs(closed_form["distance"] - numerics["distance"])[known, :, 1]
    return float((errors / numerics["largest"][known]).max())


def worst_single_sum(closed_form: Arrays, numerics: Arrays) -> float:
    """Largest error of tr(H)/D by what occurs once, under the assumptions, over the largest one.

    With D = 2, or less than three hidden units beyond D, others occur once as well.
    """
    chosen = _chosen(closed_form, ASSUMED, least=3)
    chosen &= closed_form["width"] >= closed_form["size"] + 3
    errors = np.abs(closed_form["target"] - numerics["single"])[chosen]
    return float(np.max(errors / numerics["largest"][chosen], initial=0.0))


def _ratios(
    closed_form: Arrays, numerics: Arrays, cases: tuple[str, ...], least: int
) -> np.ndarray:
    """Second over smallest distance of each network, the latter at least float64's rounding."""
    chosen = _chosen(closed_form, cases, least)
    rounding = np.finfo(np.float64).eps * numerics["largest"][chosen]
    smallest, second = np.moveaxis(numerics["distance"][chosen], -1, 0)
    return np.ravel(second / np.maximum(smallest, rounding))


def least_ratio(closed_form: Arrays, numerics: Arrays) -> float:
    """The smallest ratio of the two distances under the assumptions."""
    return float(_ratios(closed_form, numerics, ASSUMED, 1).min())


def median_ratio(closed_form: Arrays, numerics: Arrays, cases: tuple[str, ...]) -> Estimate:
    """The median ratio of the two distances, between two of the ordered ratios."""
    ratios = np.sort(_ratios(closed_form, numerics, cases, 2))
    half_width = CONFIDENCE * math.sqrt(len(ratios)) / 2
    low = max(math.floor(len(ratios) / 2 - half_width), 0)
    high = min(math.ceil(len(ratios) / 2 + half_width), len(ratios) - 1)
    return Estimate(float(np.median(ratios)), float(ratios[low]), float(ratios[high]))


def furthest(closed_form: Arrays, numerics: Arrays, cases: tuple[str, ...]) -> float:
    """The median of the smallest distance over tr(H)/D, at the point where it is largest."""
    chosen = _chosen(closed_form, cases)
    relative = numerics["distance"][chosen, :, 0] / numerics["target"][chosen]
    return float(np.median(relative, axis=1).max())


def closer_than_chance(closed_form: Arrays, numerics: Arrays, case: str) -> Estimate:
    """Share of networks whose best pair few of its jittered spectra match; Wilson's interval."""
    chosen = _chosen(closed_form, (case,))
    distance, chance = numerics["distance"][chosen, :, 0], numerics["chance"][chosen]
    matched = np.count_nonzero(chance <= distance[..., None], axis=-1)
    closer = (1 + matched) / (1 + chance.shape[-1]) <= LEVEL
    share, count, z = float(closer.mean()), closer.size, CONFIDENCE
    centre = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    spread = z * math.sqrt(share * (1 - share) / count + z**2 / (4 * count**2)) / (1 + z**2 / count)
    return Estimate(share, centre - spread, centre + spread)


def _identity(study: str, name: str, statement: str, measure: Measure, tolerance: float) -> Claim:
    return Claim(
        id=f"{study}/{name}",
        paper=PAPER,
        location=_location(study),
        statement=statement,
        kind="identity",
        study=study,
        test=f"{TEST}::TestNumbers::test_what_is_known_agrees_with_the_eigenvalues",
        measure=measure,
        source="theorem",
        tolerance=tolerance,
        reason=ROUND_OFF,
    )


def _location(study: str) -> str:
    figure = f"Figure {study.removeprefix('cracking-fig')}"
    return f"section 4.1, {figure}" if figure == "Figure 3" else f"appendix D.3.2, {figure}"


def _under_the_assumptions(study: str) -> list[Claim]:
    where = "Two-layer linear networks with orthonormal first layer and decorrelated data"
    return [
        _identity(
            study,
            "pair",
            f"{where}: two eigenvalues sum to tr(H)/D (value: smallest distance over the largest "
            "eigenvalue, the largest of all networks).",
            worst_pair,
            1e-12,
        ),
        _identity(
            study,
            "second-distance",
            f"{where}: the second smallest distance, too, is that of the exact spectrum: the pair, "
            "a triple D − 1 times, the bulk ±‖Vᵀw‖ and zeros.",
            worst_second,
            1e-10,
        ),
        Claim(
            id=f"{study}/pair-stands-out",
            paper=PAPER,
            location=_location(study),
            statement=f"{where}: one pair of eigenvalues sums to tr(H)/D orders of magnitude more "
            "closely than the next best one, at every D (statistic: second smallest distance over "
            "the smallest, or over float64's rounding where that is more; the smallest ratio of "
            "all networks).",
            kind="trend",
            study=study,
            test=f"{TEST}::TestClaims::test_the_pair_stands_out_under_the_assumptions_alone",
            measure=least_ratio,
            expected=1e6,
            relation=">=",
            reason="six orders of magnitude; the paper gives no number",
            explanation="The smallest distance is zero but for rounding; among very many networks "
            "the second one may be small by chance.",
        ),
    ]


def _beyond(study: str) -> list[Claim]:
    networks, cases = _STUDIES[study]
    where = f"{networks} networks"
    names = "; ".join(NAMES[case] for case in cases)

    def trend(name: str, statement: str, measure: Measure, **options: object) -> Claim:
        fields: dict[str, object] = {
            "id": f"{study}/{name}",
            "paper": PAPER,
            "location": _location(study),
            "statement": statement,
            "kind": "trend",
            "study": study,
            "test": f"{TEST}::TestClaims::test_chance_is_told_from_a_pair",
            "measure": measure,
        }
        return Claim(**(fields | options))  # type: ignore[arg-type]

    return [
        trend(
            "no-pair-stands-out",
            f"Beyond the assumptions, in {where} ({names}), no pair stands out: the second best "
            "pair is close to the best one. Statistic: second smallest distance over the "
            "smallest, median over the networks with D > 1; interval: 99 %, between order "
            "statistics",
            partial(median_ratio, cases=cases),
            relation="<=",
            decides="high",
            expected=10.0,
            reason="less than an order of magnitude; by chance the median is 2, the smallest "
            "distance being uniform between 0 and the second one",
        ),
        trend(
            "nearly",
            f"Beyond the assumptions, in {where} ({names}), two eigenvalues sum to nearly tr(H)/D "
            "at every D > 1. Statistic: smallest distance over tr(H)/D, median over the networks "
            "of a point, the largest of all points",
            partial(furthest, cases=cases),
            relation="<=",
            expected=0.1,
            test=f"{TEST}::TestClaims::test_the_furthest_point_decides",
            reason="a tenth is taken as nearly; the paper gives no number",
            explanation=FEW,
        ),
        *(
            trend(
                f"closer-than-chance-{case}",
                f"Beyond the assumptions, in {where} ({NAMES[case]}), the hypothesis holds "
                "approximately: two eigenvalues sum to tr(H)/D more closely than by chance. "
                "Statistic: share of the networks with D > 1 whose best pair is matched by at "
                "most 5 % of its spectra with jittered eigenvalues; interval: Wilson's, 99 %",
                partial(closer_than_chance, case=case),
                relation=">=",
                decides="low",
                expected=LEVEL,
                reason="5 % by chance alone; the lower end of the interval decides, at 99 % since "
                "each figure has up to four cases",
                explanation=MULTIPLY,
            )
            for case in cases
        ),
    ]


def _once(study: str) -> Claim:
    """What the pair of two layers becomes: the block that keeps every rotation's direction."""
    return _identity(
        study,
        "eigenvalues-that-occur-once",
        "Four-layer linear networks with orthonormal columns in all matrices but the last and "
        "decorrelated data, 2 < D < m − 2: no two eigenvalues, but all those that occur once sum "
        "to tr(H)/D. (Turned so that the inner matrices are identities and the residual covariance "
        "lies along one input, the Hessian is the same under all rotations that keep this "
        "direction; the block that they keep has the D-th part of the trace, since each input has "
        "as much of it and residuals have none.)",
        worst_single_sum,
        1e-10,
    )


def _width_150(study: str) -> Claim:
    return Claim(
        id=f"{study}/width-150",
        paper=PAPER,
        location=_location(study),
        statement="In four-layer ReLU networks of width 150, too, two eigenvalues sum to nearly "
        "tr(H)/D.",
        kind="trend",
        study=study,
        test=None,
        explanation="Their Hessians have 45000 to 68000 rows and, unlike those of linear or "
        "two-layer networks, no reduction that we know of; all eigenvalues of one take hours, and "
        "a figure has thousands of networks. Width 10 is run.",
    )


def claims(study: str) -> list[Claim]:
    """The claims of one study of this kind; none for one that is no figure of the paper.

    Example:
        >>> claims("a-study-of-my-own")
        []
    """
    if study not in _STUDIES:
        return []
    networks, _ = _STUDIES[study]
    found = [
        _identity(
            study,
            "trace",
            "tr(H) is the sum over the layers of E[‖∂f/∂(W_l h)‖² ‖h‖²], h the layer's input; it "
            "gives tr(H)/D and the mean eigenvalue without any eigenvalue (value: largest error "
            "over the largest eigenvalue).",
            worst_trace,
            1e-10,
        )
    ]
    if networks == "two-layer linear":
        found += _under_the_assumptions(study)
    found += _beyond(study)
    if study == "cracking-fig11":
        found.append(_once(study))
    if study == "cracking-fig13":
        found.append(_width_150(study))
    return found

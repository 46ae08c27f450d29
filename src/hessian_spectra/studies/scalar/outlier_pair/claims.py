"""What the papers say about the outlier pair during training, and how it is measured."""

from functools import partial

import numpy as np

from hessian_spectra.agreement import spectrum_error
from hessian_spectra.ledger.vocabulary import Claim, Measure
from hessian_spectra.results import Arrays

TEST = "tests/studies/test_outlier_pair.py"

# Below this share of the large outlier the small one is round-off, and its sign means nothing.
RESOLVED = 1e-12

# How many of the last resolved steps tell from which side the small outlier reaches zero: more than
# two half periods of the oscillation that momentum 0.9 makes.
LAST = 20


def _at_numeric_steps(closed_form: Arrays, numerics: Arrays, run: str, key: str) -> np.ndarray:
    rows = np.searchsorted(closed_form[f"{run}/step"], numerics[f"{run}/step"])
    return closed_form[f"{run}/{key}"][rows]


def _numeric_pair(closed_form: Arrays, numerics: Arrays, run: str) -> np.ndarray:
    """The numerical eigenvalues at the pair's places in the spectrum, ``(s, 2)``."""
    index = _at_numeric_steps(closed_form, numerics, run, "outlier_index")
    return np.take_along_axis(numerics[f"{run}/eigenvalues"], index, axis=1)


def _low(closed_form: Arrays) -> list[str]:
    """The runs at the ordinary learning rate."""
    return [run for run in closed_form["runs"].tolist() if not run.endswith("_high")]


def _high(closed_form: Arrays) -> list[str]:
    return [run for run in closed_form["runs"].tolist() if run.endswith("_high")]


def _spectrum(closed_form: Arrays, numerics: Arrays) -> float:
    """Largest error of the whole spectrum over all runs and steps with numbers."""
    errors = [
        spectrum_error(
            _at_numeric_steps(closed_form, numerics, run, "eigenvalues"),
            numerics[f"{run}/eigenvalues"],
        ).max()
        for run in closed_form["runs"].tolist()
    ]
    return float(max(errors))


def _pair_sum(closed_form: Arrays, numerics: Arrays) -> float:
    """Largest |λ₁ + λ₂ − tr| / λ₁ of the numerical pair."""
    errors = []
    for run in closed_form["runs"].tolist():
        pair = _numeric_pair(closed_form, numerics, run)
        trace = _at_numeric_steps(closed_form, numerics, run, "trace")
        errors.append((np.abs(pair.sum(axis=1) - trace) / pair[:, 0]).max())
    return float(max(errors))


def _pair_product(closed_form: Arrays, numerics: Arrays) -> float:
    """Largest |λ₁ λ₂ + (c S − E[yx]) (3 c S − E[yx])| / λ₁² of the numerical pair."""
    errors = []
    for run in closed_form["runs"].tolist():
        pair = _numeric_pair(closed_form, numerics, run)
        fit = _at_numeric_steps(closed_form, numerics, run, "alignment")
        fit = fit * closed_form[f"{run}/second_moment"]
        moment = closed_form[f"{run}/moment"]
        product = (fit - moment) * (3 * fit - moment)
        errors.append((np.abs(pair.prod(axis=1) + product) / pair[:, 0] ** 2).max())
    return float(max(errors))


def _phase_violations(closed_form: Arrays, numerics: Arrays) -> float:
    """Number of steps whose phase tells another sign than the numerical small outlier has."""
    count = 0
    for run in closed_form["runs"].tolist():
        pair = _numeric_pair(closed_form, numerics, run)
        late = _at_numeric_steps(closed_form, numerics, run, "phase") == "late"
        # The numerical eigenvalues carry an error of about 1e-15 of the largest.
        resolved = np.abs(pair[:, 1]) > RESOLVED * pair[:, 0]
        count += int(np.count_nonzero(resolved & (late != (pair[:, 1] > 0))))
    return float(count)


def _share_changing_sign(closed_form: Arrays, numerics: Arrays) -> float:
    """Share of the ordinary runs whose small outlier starts negative and is positive later."""
    smalls = [closed_form[f"{run}/outlier"][:, 1] for run in _low(closed_form)]
    return float(np.mean([small[0] < 0 < small.max() for small in smalls]))


def _final(closed_form: Arrays, numerics: Arrays, *, bulk: bool) -> float:
    """Largest |λ₂| / λ₁ (or |bulk| / λ₁ as well) after the last step of any run."""
    shares = []
    for run in closed_form["runs"].tolist():
        large, small = closed_form[f"{run}/outlier"][-1]
        rest = max(abs(small), abs(closed_form[f"{run}/bulk"][-1])) if bulk else abs(small)
        shares.append(rest / large)
    return float(max(shares))


def _side(closed_form: Arrays, numerics: Arrays, *, high: bool) -> float:
    """Mean sign of λ₂ over the last resolved steps: 1 above zero, -1 below, about 0 for both.

    Of several runs the one furthest from a constant positive sign (for ``high``: negative sign).
    """
    signs = []
    for run in (_high if high else _low)(closed_form):
        large, small = closed_form[f"{run}/outlier"].T
        resolved = small[np.abs(small) > RESOLVED * large]
        signs.append(np.sign(resolved[-LAST:]).mean() if len(resolved) else 0.0)
    if not signs:
        raise ValueError("high_learning_rate: expected a positive number for this claim, got 0")
    return float(max(signs) if high else min(signs))


def _poster_formula(closed_form: Arrays, numerics: Arrays, *, factor: str) -> float:
    """Largest error of the poster's outlier formula for the linear network, relative to λ₁.

    Its last term is 4 (2 c s² − E[yx])² with s² = E[x²]; in print the factor s² is missing.
    """
    norms = _at_numeric_steps(closed_form, numerics, "linear", "squared_norm")
    alignment = _at_numeric_steps(closed_form, numerics, "linear", "alignment")
    second, moment = closed_form["linear/second_moment"], closed_form["linear/moment"]
    v2, w2 = norms.T
    last = 2 * alignment * (second if factor == "s²" else 1.0) - moment
    root = np.sqrt(
        (second * (w2 - v2)) ** 2 + 4 * second**2 * (w2 * v2 - alignment**2) + 4 * last**2
    )
    half = second * (v2 + w2) / 2
    formula = np.stack([half + root / 2, half - root / 2], axis=1)
    pair = _numeric_pair(closed_form, numerics, "linear")
    return float((np.abs(formula - pair).max(axis=1) / pair[:, 0]).max())


ROUND_OFF = "round-off of a dense float64 eigen-decomposition is below 1e-14 of λ₁"
FEW_STEPS = (
    "The small outlier decays with the distance to the solution: fewer steps, a smaller learning "
    "rate or a start beyond the early phase leave it larger, or without its change of sign."
)
UNDERDAMPED = (
    "Heavy-ball descent near a minimum of curvature λ is underdamped as soon as "
    "η λ > (1 − √μ)²: 0.0026 for μ = 0.9, against η λ₁ of about 0.1 here. The alignment ⟨w, v⟩ "
    "then overshoots θ* and comes back for ever, and the small outlier changes sign with it: it "
    "reaches zero from both sides in turn. Without momentum it does so from above (study "
    "poster-pair)."
)


PAPERS = {
    "cracking-fig8": "singh2026cracking",
    "closed2024-fig3": "singh2024closed",
    "poster-pair": "singh2024poster",
    "diabetes-scalar": "singh2026cracking",
}
# Where the statements stand in each paper: the theorems, the pair, the learning phases.
LOCATIONS = {
    "singh2026cracking": ("Theorems 3.1 and 3.4", "appendix C, equation (122)", "Figure 8"),
    "singh2024closed": ("Theorem 1 and Corollary 5", "section 1, equation (2)", "Figure 3"),
    "singh2024poster": (
        "Key results",
        "Outlier eigenvalues exist as pairs",
        "Evolution of the pair",
    ),
}


def _identities(study: str, paper: str) -> list[Claim]:
    theorems, pair, _ = LOCATIONS[paper]

    def identity(name: str, location: str, statement: str, measure: Measure) -> Claim:
        return Claim(
            id=f"{study}/{name}",
            paper=paper,
            location=location,
            statement=statement,
            kind="identity",
            study=study,
            test=TEST,
            measure=measure,
            source="theorem",
            tolerance=1e-10,
            reason=ROUND_OFF,
        )

    return [
        identity(
            "spectrum",
            theorems,
            "At every step of training the closed form is the whole spectrum of the Hessian, for "
            "the linear and for the ReLU network.",
            _spectrum,
        ),
        identity(
            "pair-sum",
            pair,
            "The two outliers sum to the trace (for ReLU: of the cell's block) at every step.",
            _pair_sum,
        ),
        identity(
            "pair-product",
            pair,
            "−λ₁ λ₂ = (⟨w, v⟩ E[x²] − E[yx]) (3 ⟨w, v⟩ E[x²] − E[yx]) at every step.",
            _pair_product,
        ),
    ]


def _evolution(study: str, paper: str) -> list[Claim]:
    _, pair, figure = LOCATIONS[paper]
    final = partial(_final, bulk=False)
    return [
        Claim(
            id=f"{study}/changes-sign",
            paper=paper,
            location=figure,
            statement="The small outlier starts negative and becomes positive during training "
            "(statistic: share of the runs at the ordinary learning rate in which it does).",
            kind="trend",
            study=study,
            test=TEST,
            measure=_share_changing_sign,
            expected=1.0,
            relation="=",
            reason="a share of a few runs: all of them",
            explanation=FEW_STEPS,
        ),
        Claim(
            id=f"{study}/ends-at-zero",
            paper=paper,
            location=figure,
            statement="The small outlier ends at zero (value: |λ₂| / λ₁ after the last step, the "
            "largest over the runs).",
            kind="value",
            study=study,
            test=TEST,
            measure=final,
            tolerance=1e-6,
            reason="momentum 0.9 forgets by a factor √0.9 a step, which leaves 0.9^150 = 1.4e-7 "
            "of the start after 300 steps; a factor 7 for the amplitude",
            explanation=FEW_STEPS,
        ),
        Claim(
            id=f"{study}/rank-one",
            paper=paper,
            location=pair,
            statement="At the solution the Hessian (of the cell) has rank one and λ₁ is its trace "
            "(value: the largest other eigenvalue over λ₁ after the last step).",
            kind="value",
            study=study,
            test=TEST,
            measure=partial(_final, bulk=True),
            tolerance=1e-6,
            reason="what is left of the residual after the last step, as for the small outlier",
            explanation=FEW_STEPS,
        ),
        Claim(
            id=f"{study}/phases",
            paper=paper,
            location=pair,
            statement="λ₂ > 0 exactly where 1/3 < ⟨w, v⟩/θ* < 1, and λ₂ < 0 elsewhere (value: "
            "number of steps of training at which the sign is another one).",
            kind="value",
            study=study,
            test=TEST,
            measure=_phase_violations,
            reason="a count; steps with |λ₂| below 1e-12 λ₁ are left out as round-off",
        ),
    ]


def _side_claim(study: str, location: str, *, high: bool) -> Claim:
    where = "negative" if high else "positive"
    return Claim(
        id=f"{study}/reaches-zero-from-the-{where}-side",
        paper="singh2024closed",
        location=location,
        statement=f"The small outlier converges to zero from the {where} side "
        + ("at a high learning rate, in the divergent phase " if high else "")
        + f"(statistic: mean sign of λ₂ over the last {LAST} steps with |λ₂| > 1e-12 λ₁).",
        kind="trend",
        study=study,
        test=TEST,
        measure=partial(_side, high=high),
        expected=-1.0 if high else 1.0,
        relation="=",
        reason="a mean of signs: all of them",
        explanation="Which side it is depends on where the last jump over θ* lands and on whether "
        "η λ₁ < 1 from there on; with other settings the signs alternate."
        if high
        else UNDERDAMPED,
    )


def _poster_erratum(study: str) -> Claim:
    return Claim(
        id=f"{study}/outlier-formula",
        paper="singh2024poster",
        location="Key result, outlier formula",
        statement="The last term under the root is 4 (2 ⟨w, v⟩ E[x²] − E[yx])².",
        kind="identity",
        study=study,
        test=TEST,
        measure=partial(_poster_formula, factor="s²"),
        source="Theorem 1 of singh2024closed, rewritten",
        # This form loses half of the digits where the root vanishes, which it does not here.
        tolerance=1e-10,
        reason=ROUND_OFF,
        printed="4 (2 ⟨w, v⟩ − E[yx])², without the factor E[x²]",
        measure_printed=partial(_poster_formula, factor="1"),
    )


def claims(study: str) -> list[Claim]:
    """The claims of one study of this kind; an unknown one is taken for the later paper's."""
    paper = PAPERS.get(study, "singh2026cracking")
    found = _identities(study, paper) + _evolution(study, paper)
    if study == "closed2024-fig3":
        found.append(_side_claim(study, "section 2, text on Figure 3", high=False))
        found.append(_side_claim(study, "section 2, text on Figure 3", high=True))
    if study == "poster-pair":
        found.append(_side_claim(study, "section 2, text on Figure 3", high=False))
        found.append(_poster_erratum(study))
    return found

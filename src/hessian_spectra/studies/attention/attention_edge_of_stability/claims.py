"""What the paper says about self-attention at the edge of stability, and how it is measured."""

from functools import partial

import numpy as np

from hessian_spectra.agreement import spectrum_error
from hessian_spectra.ledger.vocabulary import Claim, Kind, Measure, Relation
from hessian_spectra.results import Arrays
from hessian_spectra.statistics import correlation, rank_correlation

TEST = "tests/studies/test_attention_edge_of_stability.py"


def edge(closed_form: Arrays) -> int:
    """The row of the first step with a sharpness of at least 2/η; the last row if none has."""
    reached = np.flatnonzero(closed_form["sharpness"] * closed_form["learning_rate"] >= 2)
    return int(reached[0]) if len(reached) else len(closed_form["sharpness"]) - 1


def _relative(closed_form: Arrays) -> np.ndarray:
    """Sharpness over 2/η, ``(r,)``."""
    return closed_form["sharpness"] * closed_form["learning_rate"] / 2


def _spectrum(closed_form: Arrays, numerics: Arrays) -> float:
    rows = np.searchsorted(closed_form["step"], numerics["step"])
    return float(spectrum_error(closed_form["eigenvalues"][rows], numerics["eigenvalues"]).max())


def _bounds(closed_form: Arrays, numerics: Arrays) -> float:
    """By how much the sharpness lies outside its bounds, relative to itself."""
    sharpness = closed_form["sharpness"]
    outside = np.maximum(closed_form["lower"] - sharpness, sharpness - closed_form["upper"])
    return float(np.max(outside / sharpness).clip(min=0))


def _rises(closed_form: Arrays, numerics: Arrays, *, name: str, column: int | None = None) -> float:
    """Rank correlation of a quantity with the step, from the start to the edge."""
    values = closed_form[name] if column is None else closed_form[name][:, column]
    before = slice(edge(closed_form) + 1)
    return rank_correlation(closed_form["step"][before].astype(float), values[before])


def _weights_rise(closed_form: Arrays, numerics: Arrays) -> float:
    return min(_rises(closed_form, numerics, name="weight_norms", column=k) for k in range(3))


def _greatest(closed_form: Arrays, numerics: Arrays) -> float:
    return float(_relative(closed_form).max())


def _mean_after(closed_form: Arrays, numerics: Arrays) -> float:
    return float(_relative(closed_form)[edge(closed_form) :].mean())


def _reversals(closed_form: Arrays, numerics: Arrays) -> float:
    """Share of the steps after the edge whose change of sharpness undoes the one before."""
    changes = np.diff(closed_form["sharpness"][edge(closed_form) :])
    if len(changes) < 2:
        return 0.0
    return float(np.mean(changes[1:] * changes[:-1] < 0))


def _changes_together(closed_form: Arrays, numerics: Arrays, *, name: str) -> float:
    """Correlation of one-step changes of a quantity and of the sharpness, from the edge on."""
    after = slice(edge(closed_form), None)
    sharpness = np.diff(closed_form["sharpness"][after])
    return correlation(np.diff(closed_form[name][after]), sharpness)


def _amplitude(closed_form: Arrays, numerics: Arrays) -> float:
    """Correlation of the sharpness's one-step change with the residual norm from the edge on."""
    after = slice(edge(closed_form), None)
    amplitude = np.abs(np.diff(closed_form["sharpness"][after]))
    return correlation(amplitude, closed_form["residual_norm"][after][:-1])


def _loss_falls(closed_form: Arrays, numerics: Arrays) -> float:
    """Rank correlation of loss and step from the edge on."""
    after = slice(edge(closed_form), None)
    return rank_correlation(closed_form["step"][after].astype(float), closed_form["loss"][after])


def _loss_rises_at_times(closed_form: Arrays, numerics: Arrays) -> float:
    """Number of steps after the edge at which the loss rises."""
    return float(np.count_nonzero(np.diff(closed_form["loss"][edge(closed_form) :]) > 0))


OPEN = (
    "The paper gives neither sequence nor number of steps. The edge is reached only where the "
    "flattest weights of zero loss are nearly as sharp as 2/η; with other sequences or learning "
    "rates gradient descent settles below 2/η, keeps oscillating, or diverges."
)
SECOND_MOMENT = (
    "m_2 falls, and must: it is the variance p (1 − p) (x_1 − x_2)² of two tokens under the "
    "attention p, which small initial weights put at its maximum, p = 1/2. m_1 and m_3 do grow."
)


def _claim(
    study: str,
    name: str,
    statement: str,
    kind: Kind,
    measure: Measure,
    *,
    expected: float = 0.0,
    relation: Relation = "<=",
    tolerance: float = 0.0,
    reason: str,
    location: str = "appendix D.5 and Figure 27",
    explanation: str = OPEN,
) -> Claim:
    return Claim(
        id=f"{study}/{name}",
        paper="singh2026cracking",
        location=location,
        statement=statement,
        kind=kind,
        study=study,
        test=TEST,
        measure=measure,
        expected=expected,
        source="theorem" if kind == "identity" else "text of the figure",
        relation=relation,
        tolerance=tolerance,
        reason=reason,
        explanation="" if kind == "identity" else explanation,
    )


RANKS = "of the ranks, 1 for a monotone rise; the first steps, at a saddle, may wander a little"


def _identities(study: str) -> list[Claim]:
    return [
        _claim(
            study,
            "spectrum",
            "At every step of training the closed form is the whole spectrum of the Hessian.",
            "identity",
            _spectrum,
            tolerance=1e-10,
            reason="round-off of a dense float64 eigen-decomposition is below 1e-14 of λ_max",
            location="Theorem 3.5",
        ),
        _claim(
            study,
            "sharpness-bounds",
            "At every step the sharpness lies between tr/3 + ξ/2 and tr/3 + ξ, or |γ| where that "
            "is larger (value: how far outside, relative to the sharpness).",
            "identity",
            _bounds,
            tolerance=1e-12,
            reason="round-off where the upper bound is attained",
            location="Remark B.4, equation (121), with the norms in ξ squared",
        ),
    ]


def _sharpening(study: str) -> list[Claim]:
    rises = partial(
        _claim,
        study,
        kind="trend",
        expected=1.0,
        relation=">=",
        tolerance=0.2,
        reason=f"a rank correlation is a correlation {RANKS}",
    )
    until = "(statistic: rank correlation with the step, until the sharpness reaches 2/η)"
    return [
        rises(
            "progressive-sharpening",
            f"The sharpness rises in the initial stage of training {until}.",
            measure=partial(_rises, name="sharpness"),
        ),
        _claim(
            study,
            "reaches-the-edge",
            "The sharpness climbs to 2/η (value: its largest value over 2/η).",
            "value",
            _greatest,
            expected=1.0,
            relation=">=",
            tolerance=0.05,
            reason="'reaches' is taken as at least 95 % of 2/η",
        ),
        rises(
            "trace-grows",
            f"Progressive sharpening coincides with a growing trace {until}.",
            measure=partial(_rises, name="trace"),
        ),
        rises(
            "weights-grow",
            f"The norms of w_V, w_Q and w_K grow along {until[:-1]}; the smallest of the three).",
            measure=_weights_rise,
        ),
        rises(
            "moments-1-and-3-grow",
            f"The norms of m_1 and m_3 grow along {until[:-1]}; the smaller of the two).",
            measure=lambda c, n: min(_rises(c, n, name="moment_norms", column=k) for k in (0, 2)),
        ),
        rises(
            "moment-2-grows",
            f"The norm of m_2 grows along {until}.",
            measure=partial(_rises, name="moment_norms", column=1),
            explanation=SECOND_MOMENT,
        ),
    ]


EDGE_ON = "from the step on at which the sharpness has reached 2/η"


def _oscillation(study: str) -> list[Claim]:
    return [
        _claim(
            study,
            "hovers",
            f"At the edge the sharpness stays around 2/η (value: its mean over 2/η, {EDGE_ON}).",
            "value",
            _mean_after,
            expected=1.0,
            relation="=",
            tolerance=0.05,
            reason="5 %: a third of the first oscillations' amplitude",
        ),
        _claim(
            study,
            "oscillates",
            f"It oscillates (value: share of the steps {EDGE_ON} that undo the change of the step "
            "before).",
            "value",
            _reversals,
            expected=1.0,
            relation=">=",
            tolerance=0.1,
            reason="an oscillation of period 2 reverses at every step; a few may go on",
        ),
    ]


def _mechanism(study: str) -> list[Claim]:
    return [
        _claim(
            study,
            "opposite-phase",
            "Sharpness and trace oscillate in completely opposite phases (statistic: correlation "
            f"of their one-step changes {EDGE_ON}).",
            "correlation",
            partial(_changes_together, name="trace"),
            expected=-1.0,
            relation="=",
            tolerance=0.1,
            reason="'completely opposite' is taken as a correlation below −0.9",
        ),
        _claim(
            study,
            "driven-by-xi",
            "The terms that define ξ drive the oscillation (statistic: correlation of the one-step "
            f"changes of ξ and of the sharpness {EDGE_ON}).",
            "correlation",
            partial(_changes_together, name="half_width"),
            expected=1.0,
            relation="=",
            tolerance=0.1,
            reason="'driven by' is taken as a correlation above 0.9",
        ),
        _claim(
            study,
            "amplitude-follows-residual",
            "The amplitude of the oscillation decreases like the norm of the residual (statistic: "
            f"correlation of the size of the one-step changes with that norm {EDGE_ON}).",
            "correlation",
            _amplitude,
            expected=1.0,
            relation=">=",
            tolerance=0.1,
            reason="'similarly' is taken as a correlation above 0.9",
        ),
    ]


def _loss(study: str) -> list[Claim]:
    return [
        _claim(
            study,
            "loss-decreases",
            "At the edge the loss keeps decreasing over long times (statistic: rank correlation of "
            f"loss and step {EDGE_ON}).",
            "trend",
            _loss_falls,
            expected=-1.0,
            relation="<=",
            tolerance=0.1,
            reason="a decrease but for local rises keeps nearly all ranks",
        ),
        _claim(
            study,
            "loss-is-not-monotone",
            f"Locally the loss rises as well (value: number of steps {EDGE_ON} that raise it).",
            "value",
            _loss_rises_at_times,
            expected=1.0,
            relation=">=",
            reason="a count: at least one step",
        ),
    ]


def claims(study: str) -> list[Claim]:
    """The claims of one study of this kind."""
    edge_of_stability = _oscillation(study) + _mechanism(study) + _loss(study)
    return _identities(study) + _sharpening(study) + edge_of_stability

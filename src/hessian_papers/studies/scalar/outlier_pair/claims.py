"""What the papers say about the outlier pair during training, and how it is measured."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from hessian_papers.ledger.bounds import Estimate, at_most, equal_to, positive, within
from hessian_papers.ledger.statements import Labels, Print, Statements
from hessian_papers.ledger.verdicts import always, everywhere, exists
from hessian_papers.studies.scalar.outlier_pair.reading import LAST, RESOLVED, Reading, Training
from hessian_spectra.agreement import EXACT

THEOREMS = {
    "singh2026cracking": "Theorems 3.1 and 3.4",
    "singh2024closed": "Theorem 1 and Corollary 5",
    "singh2024poster": "Key results",
}
PAIR = {
    "singh2026cracking": "appendix C, equation (122)",
    "singh2024closed": "section 1, equation (2)",
    "singh2024poster": "Outlier eigenvalues exist as pairs",
}
EVOLUTION = {
    "singh2026cracking": "Figure 8",
    "singh2024closed": "Figure 3",
    "singh2024poster": "Evolution of the pair",
}
ROUND_OFF = "round-off of a dense float64 eigen-decomposition is below 1e-14 of λ₁"
FEW_STEPS = (
    "The small outlier decays with the distance to the solution: fewer steps, a smaller learning "
    "rate or a start beyond the early phase leave it larger, or without its change of sign."
)

ANY = positive("one draw that shows it is enough", source="ours: it exists")

statements = Statements(Reading)
later = statements.about("singh2026cracking", "Figure 8", "Theorems 3.1 and 3.4 on real data")
closed = statements.about("singh2024closed", "Figure 3")
poster = statements.about("singh2024poster", "Evolution of the outlier pair")
figures = (later | closed | poster).having(otherwise=FEW_STEPS)


@statements.identity(
    THEOREMS, within(EXACT, ROUND_OFF, source="theorem"), id="closed-form-through-training"
)
def spectrum(reading: Reading) -> float:
    """At every step of training the closed form is the whole spectrum of the Hessian, for the
    linear and for the ReLU network.
    """
    return reading.largest(lambda run: run.errors().max())


@statements.identity(
    PAIR, within(EXACT, ROUND_OFF, source="theorem"), id="outliers-sum-to-the-trace"
)
def pair_sum(reading: Reading) -> float:
    """The two outliers sum to the trace (for ReLU: of the cell's block) at every step."""

    def error(run: Training) -> np.ndarray:
        return run.errors_of_pair(run.numeric_pair.sum(axis=1) - run.at_numeric_steps("trace"))

    return reading.largest(error)


@statements.identity(PAIR, within(EXACT, ROUND_OFF, source="theorem"), id="linear-product")
def pair_product(reading: Reading) -> float:
    """−λ₁ λ₂ = (⟨w, v⟩ E[x²] − E[yx]) (3 ⟨w, v⟩ E[x²] − E[yx]) at every step."""

    def error(run: Training) -> np.ndarray:
        moment = run["moment"]
        fit = run.at_numeric_steps("alignment") * run["second_moment"]
        product = (fit - moment) * (3 * fit - moment)
        return run.errors_of_pair(run.numeric_pair.prod(axis=1) + product, power=2)

    return reading.largest(error)


@figures.statement(
    EVOLUTION,
    exists,
    equal_to(1.0, "a share of a few runs: all of them"),
    id="small-outlier-changes-sign",
)
def changes_sign(reading: Reading) -> float:
    """The small outlier starts negative and becomes positive during training.

    Statistic: fraction of the runs at the ordinary learning rate in which it does.
    """
    return float(np.mean([run.small[0] < 0 < run.small.max() for run in reading.ordinary]))


@figures.statement(
    EVOLUTION,
    exists,
    within(
        1e-6,
        "momentum 0.9 forgets by a factor √0.9 a step, which leaves 0.9^150 = 1.4e-7 of the start "
        "after 300 steps; a factor 7 for the amplitude",
    ),
    id="small-outlier-ends-at-zero",
)
def ends_at_zero(reading: Reading) -> float:
    """The small outlier ends at zero.

    Statistic: |λ₂| / λ₁ after the last step, the largest over the runs.
    """
    return reading.largest(lambda run: run.share[-1])


@figures.statement(
    PAIR,
    everywhere,
    within(1e-6, "what is left of the residual after the last step, as for the small outlier"),
    id="rank-one-at-the-solution",
)
def rank_one(reading: Reading) -> float:
    """At the solution the Hessian (of the cell) has rank one and λ₁ is its trace.

    Statistic: the largest other eigenvalue over λ₁ after the last step.
    """

    def share(run: Training) -> float:
        return float(max(abs(run.small[-1]), abs(run["bulk"][-1])) / run.large[-1])

    return reading.largest(share)


@statements.statement(
    PAIR,
    always,
    at_most(0.0, "a count; steps with |λ₂| below 1e-12 λ₁ are left out as round-off"),
    id="signs-of-the-phases-through-training",
)
def phases(reading: Reading) -> float:
    """λ₂ > 0 exactly where 1/3 < ⟨w, v⟩/θ* < 1, and λ₂ < 0 elsewhere.

    Statistic: number of steps of training at which the sign is another one.
    """

    def violations(run: Training) -> int:
        small = run.numeric_pair[:, 1]
        late = run.at_numeric_steps("phase") == "late"
        # The numerical eigenvalues carry an error of about 1e-15 of the largest of all.
        largest = np.abs(run.numerics["eigenvalues"]).max(axis=1)
        resolved = np.abs(small) > RESOLVED * largest
        return int(np.count_nonzero(resolved & (late != (small > 0))))

    return float(sum(violations(run) for run in reading.runs.values()))


def _each_input_scale(reading: Reading) -> Iterator[Labels]:
    for place, scale in enumerate(reading["seeds/input_scale"].tolist()):
        yield {"place": place, "scale": f"{scale:g}"}


@(closed | poster).statement(
    "section 2, text on Figure 3",
    exists,
    ANY,
    id="converges-to-zero-from-above",
    paper="singh2024closed",
    each=_each_input_scale,
    name="reaches-zero-from-the-positive-side-{scale}",
    otherwise="Heavy-ball descent near a minimum of curvature λ is underdamped as soon as "
    "η λ > (1 − √μ)²: 0.0026 for μ = 0.9, against η λ₁ of about 0.1 for inputs of unit scale. The "
    "alignment ⟨w, v⟩ then overshoots θ* and comes back for ever, and the small outlier changes "
    "sign with it: it reaches zero from both sides in turn. For smaller inputs, or without "
    "momentum (study {study of singh2024poster: Evolution of the outlier pair}), it does so from "
    "above.",
)
def reaches_zero_from_the_positive_side(reading: Reading, place: int, **_: str) -> Estimate:
    """The small outlier converges to zero from the positive side; the scale of inputs and targets
    is left open.

    Statistic: fraction of the initial weights from which λ₂ ends below 1e-6 λ₁ and is positive in
    the last steps with |λ₂| > 1e-12 λ₁; interval: Wilson's, 95 %.
    """
    return reading.share_at_zero("ordinary", slice(place, place + 1), 1.0)


@closed.statement(
    "section 2, text on Figure 3",
    exists,
    ANY,
    id="converges-to-zero-from-below-at-high-rates",
    otherwise="Which side it is depends on where the last jump over θ* lands and on whether "
    "η λ₁ < 1 from there on. Elsewhere the signs alternate, λ₂ is positive, or training diverges. "
    "The run that is drawn is one of the few, and its weights and rate are chosen for that.",
)
def reaches_zero_from_the_negative_side(reading: Reading) -> Estimate:
    """The small outlier converges to zero from the negative side at high learning rates, for which
    the paper gives no number.

    Statistic: fraction of the initial weights and settings, of those of which training does not
    diverge, from which λ₂ ends below 1e-6 λ₁ and is negative in the last steps with |λ₂| > 1e-12
    λ₁; interval: Wilson's, 95 %.
    """
    return reading.share_at_zero("high", slice(None), -1.0)


# The path of the small outlier at a high learning rate: by its part what is said and meant.
PATH = {
    "drops": ("first drops and then increases", "λ₂ falls in the first step"),
    "wiggles": ("then wiggles around 0", "the sign of λ₂ changes twice or more"),
    "whole": (
        "goes all of that way and eventually becomes small and negative",
        "it does both, ends below 1e-6 λ₁ and is negative in the last {last} steps with "
        "|λ₂| > 1e-12 λ₁",
    ),
}


def _each_part(reading: Reading) -> Iterator[Labels]:
    for place, momentum in enumerate(reading["seeds/momentum"].tolist()):
        for part, (says, means) in PATH.items():
            words = {"says": says, "means": means.format(last=LAST)}
            yield {"part": part, "place": place, "momentum": f"{momentum:g}", **words}


@closed.statement(
    "section 2, text on Figure 3",
    exists,
    ANY,
    id="path-at-a-high-rate",
    each=_each_part,
    name="path-{part}-{momentum}",
    otherwise="Close to the target, without momentum, a step multiplies the distance to it by "
    "1 − η λ₁, and λ₂ has its sign: it wiggles where η λ₁ > 1, but then on both sides in turn, and "
    "stays on one where η λ₁ < 1. All of the way needs a λ₁ that falls below 1/η in between. "
    "Momentum 0.9 makes it wiggle at nearly all rates, and end on both sides in turn.",
    shown=("means", "momentum"),
)
def path_at_a_high_rate(reading: Reading, part: str, place: int, **_: str) -> Estimate:
    """At a high learning rate, for which the paper gives no number, the small outlier first drops
    and then increases, wiggles around 0, and eventually becomes small and negative.

    Statistic: fraction of the initial weights and settings, of those of which training does not
    diverge, for which it is so; interval: Wilson's, 95 %.
    """
    return reading.share_of_paths(part, place)


def _formula_error(reading: Reading, *, with_moment: bool) -> float:
    """Largest error of the poster's outlier formula, relative to λ₁.

    Its last term is 4 (2 c s² − E[yx])² with c = ⟨w, v⟩ and s² = E[x²].

    Args:
        reading: the runs; that of the linear network is measured.
        with_moment: whether the last term has the factor s², which is missing in print.
    """
    run = reading.linear
    v2, w2 = run.at_numeric_steps("squared_norm").T
    alignment, second, moment = (
        run.at_numeric_steps("alignment"),
        run["second_moment"],
        run["moment"],
    )
    last = 2 * alignment * (second if with_moment else 1.0) - moment
    root = np.sqrt(
        (second * (w2 - v2)) ** 2 + 4 * second**2 * (w2 * v2 - alignment**2) + 4 * last**2
    )
    half = second * (v2 + w2) / 2
    formula = np.stack([half + root / 2, half - root / 2], axis=1)
    pair = run.numeric_pair
    return float((np.abs(formula - pair).max(axis=1) / pair[:, 0]).max())


@poster.identity(
    "Key result, outlier formula",
    within(EXACT, ROUND_OFF, source="Theorem 1 of singh2024closed, rewritten"),
    id="outlier-formula-of-the-poster",
    printed=Print(
        "4 (2 ⟨w, v⟩ − E[yx])², without the factor E[x²]",
        partial(_formula_error, with_moment=False),
    ),
)
def outlier_formula(reading: Reading) -> float:
    """The last term under the root is 4 (2 ⟨w, v⟩ E[x²] − E[yx])²."""
    return _formula_error(reading, with_moment=True)

"""Statements about the spectrum during training, and how they are measured."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import (
    Estimate,
    at_least,
    at_most,
    equal_to,
    needs,
    positive,
    within,
)
from hessian_papers.ledger.statements import Labels, Statements
from hessian_papers.studies.scalar.spectrum_in_training.derived import (
    LAST,
    RESOLVED,
    at_zero,
    largest,
    largest_of,
    pair,
    share_of_converging,
    small_share,
)
from hessian_papers.studies.spectra import error, group
from hessian_papers.studies.trainings import compared, last_steps
from hessian_spectra.agreement import EXACT

# So many changes of sign are a wiggle around zero; a single one is a passage.
WIGGLES = 2

# The names of two runs: of the linear network, and of the same at the high learning rate.
LINEAR, HIGH = "linear", "linear_high"

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
ROUND_OFF = "round-off of a dense float64 eigen-decomposition is below 1e-14 of $λ_1$"
ROUNDING = within(EXACT, ROUND_OFF, source="theorem")
FEW_STEPS = (
    "The small outlier decays with the distance to the solution. Fewer steps, a smaller "
    "learning rate or an initialisation beyond the early phase leave it larger, or without "
    "its sign change."
)
ANY = positive("one draw that shows it suffices", source="ours: it exists")
ALL = equal_to(1.0, "a fraction of a few runs: all of them")


def _where(variable: str) -> Callable[[xr.Dataset], list[Labels]]:
    """The one case of a statement on what a study follows; none where it follows something else."""
    return lambda data: [{}] if variable in data else []


statements = Statements()
pairs = statements.having(each=_where("alignment"))
later = pairs.about("singh2026cracking", "Figure 8", "Theorems 3.1 and 3.4 on real data")
closed = pairs.about("singh2024closed", "Figure 3")
poster = pairs.about("singh2024poster", "Evolution of the outlier pair")
figures = (later | closed | poster).having(otherwise=FEW_STEPS)
eigenspaces = statements.having(each=_where("rotation"))
coordinates = statements.having(each=_where("decorrelated"))


@statements.identity(
    THEOREMS,
    ROUNDING,
    id="closed-form-through-training",
    each=lambda data: [] if "decorrelated" in data else [{}],
)
def spectrum(data: xr.Dataset) -> float:
    """At every step of training the closed form is the whole spectrum of the Hessian, for the
    linear and the ReLU network, with any optimiser.
    """
    return float(error(compared(data)).max())


@pairs.identity(PAIR, ROUNDING, id="outliers-sum-to-the-trace")
def pair_sum(data: xr.Dataset) -> float:
    """The two outliers sum to the trace (for ReLU: of the cell's block) at every step."""
    data = compared(data)
    large, small = pair(data, "numerical")
    return largest(data, large + small - data["trace"])


@pairs.identity(PAIR, ROUNDING, id="linear-product")
def pair_product(data: xr.Dataset) -> float:
    """$-λ_1 λ_2 = (⟨w, v⟩ E[x^2] - E[yx]) (3 ⟨w, v⟩ E[x^2] - E[yx])$ at every step."""
    data = compared(data)
    large, small = pair(data, "numerical")
    fit, moment = data["alignment"] * data["second_moment"], data["moment"]
    return largest(data, large * small + (fit - moment) * (3 * fit - moment), power=2)


@figures.exists(EVOLUTION, ALL, id="small-outlier-changes-sign")
def changes_sign(data: xr.Dataset) -> float:
    """The small outlier starts negative and becomes positive during training.

    Statistic: fraction of the runs at the ordinary learning rate in which it does.
    """
    _, small = pair(data.drop_sel(run=HIGH, errors="ignore"))
    return float(((small.sel(step=0) < 0) & (small.max("step") > 0)).mean())


@figures.exists(
    EVOLUTION,
    within(
        1e-6,
        r"momentum 0.9 decays by a factor $\sqrt{0.9}$ per step, which leaves "
        "$0.9^{150} = 1.4×10^{-7}$ of the initial value after 300 steps; a factor of 7 for "
        "the amplitude",
    ),
    id="small-outlier-ends-at-zero",
)
def ends_at_zero(data: xr.Dataset) -> float:
    """The small outlier ends at zero.

    Statistic: largest $|λ_2| / λ_1$ over the runs, after the last step.
    """
    return float(small_share(last_steps(data)).max())


@figures.everywhere(
    PAIR,
    within(1e-6, "the remaining residual after the last step, as for the small outlier"),
    id="rank-one-at-the-solution",
)
def rank_one(data: xr.Dataset) -> float:
    """At the solution the Hessian (of the cell) has rank one and $λ_1$ is its trace.

    Statistic: largest other eigenvalue over $λ_1$ after the last step.
    """
    end = last_steps(data)
    large, small = pair(end)
    return float((np.maximum(abs(small), abs(end["bulk"])) / large).max())


@pairs.always(
    PAIR,
    at_most(0.0, "a count; steps with $|λ_2|$ below $10^{-12} λ_1$ are left out as round-off"),
    id="signs-of-the-phases-through-training",
)
def phases(data: xr.Dataset) -> float:
    """$λ_2 > 0$ exactly where $1/3 < ⟨w, v⟩/θ^* < 1$, and $λ_2 < 0$ elsewhere.

    Statistic: number of training steps at which the sign differs.
    """
    data = compared(data)
    _, small = pair(data, "numerical")
    # The numerical eigenvalues carry an error of about 1e-15 of the largest of all.
    resolved = abs(small) > RESOLVED * abs(data["numerical"]).max("rank")
    return float((resolved & ((data["phase"] == "late") != (small > 0))).sum())


def _each_input_scale(data: xr.Dataset) -> Iterator[Labels]:
    for scale in data["input_scale"].values.tolist() if "input_scale" in data else ():
        yield {"input_scale": scale, "scale": f"{scale:g}"}


@(closed | poster).exists(
    "section 2, text on Figure 3",
    ANY,
    id="converges-to-zero-from-above",
    paper="singh2024closed",
    each=_each_input_scale,
    name="reaches-zero-from-the-positive-side-{scale}",
    otherwise="Heavy-ball descent near a minimum of curvature $λ$ is underdamped for "
    r"$η λ > (1 - \sqrt μ)^2$. That is 0.0026 for $μ = 0.9$, while $η λ_1$ is "
    "about 0.1 for inputs of unit scale. The alignment $⟨w, v⟩$ then oscillates "
    "around $θ^*$ indefinitely. The small outlier changes sign with it and "
    "reaches zero from alternating sides. For smaller inputs, or without momentum "
    "(study {study of singh2024poster: Evolution of the outlier pair}), it does "
    "so from above.",
)
def reaches_zero_from_the_positive_side(data: xr.Dataset, input_scale: float, **_: str) -> Estimate:
    """The small outlier converges to zero from the positive side; the scale of inputs and targets
    is left open.

    Statistic: fraction of initial weights from which $λ_2$ ends below $10^{-6} λ_1$ and is positive
    in the last steps with $|λ_2| > 10^{-12} λ_1$; interval: Wilson's, 95 %.
    """
    chosen = data.sel(input_scale=input_scale)
    return share_of_converging(chosen, "ordinary", at_zero(chosen, "ordinary", 1.0))


@closed.exists("section 2, text on Figure 3", ANY, id="converges-to-zero-from-below-at-high-rates")
def reaches_zero_from_the_negative_side(data: xr.Dataset) -> Estimate:
    """The small outlier converges to zero from the negative side at high learning rates, for which
    the paper gives no number.

    Statistic: fraction of settings without divergence with which $λ_2$ ends below $10^{-6} λ_1$
    and is negative in the last steps with $|λ_2| > 10^{-12} λ_1$, mean over initial weights;
    interval: Student's over these, 95 %.

    Remark: The side depends on where the last jump over $θ^*$ lands, and on whether $η λ_1 < 1$
    from there on. Elsewhere the signs alternate, $λ_2$ is positive, or training diverges. The
    plotted run is one of the few; its weights and rate are chosen for that.
    """
    # The first momentum is that of the run that is drawn.
    chosen = data.isel(high_momentum=slice(1))
    return share_of_converging(chosen, "high", at_zero(chosen, "high", -1.0))


# The path of the small outlier at a high learning rate: by its part what is meant.
PATH = {
    "drops": "$λ_2$ falls in the first step",
    "wiggles": "the sign of $λ_2$ changes twice or more",
    "whole": f"it does both, ends below $10^{{-6}} λ_1$ and is negative in the last {LAST} steps "
    "with $|λ_2| > 10^{-12} λ_1$",
}


def _each_part(data: xr.Dataset) -> Iterator[Labels]:
    for momentum in data["high_momentum"].values.tolist() if "high_momentum" in data else ():
        for part, means in PATH.items():
            labels = {"part": part, "momentum": f"{momentum:g}", "means": means}
            yield {"high_momentum": momentum, **labels}


@closed.exists(
    "section 2, text on Figure 3",
    ANY,
    id="path-at-a-high-rate",
    each=_each_part,
    name="path-{part}-{momentum}",
    shown=("means", "momentum"),
)
def path_at_a_high_rate(data: xr.Dataset, part: str, high_momentum: float, **_: str) -> Estimate:
    """At a high learning rate the small outlier first drops and then increases, wiggles around 0,
    and eventually becomes small and negative. The paper gives no number for the rate.

    Statistic: fraction of settings without divergence for which this holds, mean over initial
    weights; interval: Student's over these, 95 %.

    Remark: Close to the target, without momentum, a step multiplies the distance to it by $1 - η
    λ_1$, and $λ_2$ has its sign. Where $η λ_1 > 1$ it wiggles, but on alternating sides; where $η
    λ_1 < 1$ it stays on one side. The whole path needs a $λ_1$ that falls below $1/η$ on the way.
    Momentum 0.9 makes it wiggle at nearly all rates, and end on alternating sides.
    """
    chosen = data.sel(high_momentum=high_momentum)
    parts = {"drops": chosen["high_drops"] > 0, "wiggles": chosen["high_crossings"] >= WIGGLES}
    parts["whole"] = parts["drops"] & parts["wiggles"] & at_zero(chosen, "high", -1.0)
    return share_of_converging(chosen, "high", parts[part])


@poster.identity(
    "Key result, outlier formula",
    within(EXACT, ROUND_OFF, source="Theorem 1 of singh2024closed, rewritten"),
    id="outlier-formula-of-the-poster",
)
def outlier_formula(data: xr.Dataset, printed: bool = False) -> float:
    """The last term under the root is $4 (2 ⟨w, v⟩ E[x^2] - E[yx])^2$.

    In print: $4 (2 ⟨w, v⟩ - E[yx])^2$, without the factor $E[x^2]$
    """
    needs(LINEAR in data["run"], "this configuration has no run of the linear network (runs)")
    run = compared(data.sel(run=LINEAR))
    v2, w2 = (run["squared_norm"].sel(layer=layer) for layer in "vw")
    alignment, second = run["alignment"], run["second_moment"]
    last = 2 * alignment * (1.0 if printed else second) - run["moment"]
    root = np.sqrt(
        (second * (w2 - v2)) ** 2 + 4 * second**2 * (w2 * v2 - alignment**2) + 4 * last**2
    )
    half, (large, small) = second * (v2 + w2) / 2, pair(run, "numerical")
    errors = np.maximum(abs(half + root / 2 - large), abs(half - root / 2 - small))
    return float((errors / large).max())


# Corollary 3.1 is proved for the first. The next ones move by linear combinations of iterates and
# gradients, so that the proof carries over; Adam's and a random initial velocity's does not.
PROVED = ("gradient_descent",)
EXTENDED = ("heavy_ball", "nesterov", "sgd", "weight_decay")
LEAVING = {"adam-leaves": "adam", "random-velocity-leaves": "random_velocity"}

COROLLARY = "Corollary 3.1"
STEPS = "round-off of 300 steps, each of about 1e-16, stays below 1e-13"
PROOF = within(EXACT, STEPS, source=COROLLARY)
EXTENDED_PROOF = within(
    EXACT,
    f"{STEPS}; 1 − overlap is the square of an angle of about 1e-16 / 1e-5, far below",
    source="our extension of Corollary 3.1: its proof needs no more than linear combinations",
)
# How the extension is measured: the variable, the optimizers, and in words.
MEASURES = {
    "iterates-orthogonal-extended": ("iterate", EXTENDED, "$‖Z_0^⊤ θ_t‖/‖θ_t‖$"),
    "bulk-constant-extended": ("rotation", EXTENDED, "sine of the largest principal angle"),
    "bulk-invariant": (
        "invariance",
        PROVED + EXTENDED,
        ("$‖(I - Z_0Z_0^⊤) H_t Z_0‖/‖H_t‖$, numerically"),
    ),
    "bulk-overlap": ("overlap", PROVED + EXTENDED, "1 − overlap of numerical bulk eigenspaces"),
}


by_case = eigenspaces.having(book="beyond", name="{case}", shown=("means",))


def _cases(means: Mapping[str, str]) -> Callable[[xr.Dataset], list[Labels]]:
    """The cases of a statement on eigenspaces: by its name what is meant by each."""
    cases: list[Labels] = [{"case": case, "means": text} for case, text in means.items()]
    return lambda data: cases if "rotation" in data else []


@eigenspaces.identity(COROLLARY, PROOF, id="linear-orthogonal-iterates")
def iterates_orthogonal(data: xr.Dataset) -> float:
    """Iterates of gradient descent are orthogonal to the initial bulk eigenspace.

    Statistic: largest $‖Z_0^⊤ θ_t‖/‖θ_t‖$.
    """
    return largest_of(data["iterate"], *PROVED)


@eigenspaces.identity(COROLLARY, PROOF, id="linear-constant-bulk")
def bulk_constant(data: xr.Dataset) -> float:
    """The bulk eigenspace does not change under gradient descent.

    Statistic: sine of the largest principal angle with the initial one.
    """
    return largest_of(data["rotation"], *PROVED)


@by_case.identity(
    COROLLARY,
    EXTENDED_PROOF,
    id="bulk-eigenspace-of-other-optimizers",
    each=_cases({name: means for name, (*_, means) in MEASURES.items()}),
)
def extended(data: xr.Dataset, case: str, **_: str) -> float:
    """The iterates of heavy ball and Nesterov from rest, SGD and weight decay are also orthogonal
    to the initial bulk eigenspace $Z_0$. That space does not change. Numerical eigenvectors confirm
    this where the bulk can be distinguished from the outliers.

    Statistic: largest value at any step.
    """
    variable, optimizers, _means = MEASURES[case]
    values = data[variable]
    return largest_of(1 - values if variable == "overlap" else values, *optimizers)


@by_case.about("singh2026cracking", COROLLARY).everywhere(
    COROLLARY,
    at_least(
        0.01,
        "a lower bound that leaves no doubt",
        source="our bound: a hundredth, ten orders of magnitude above round-off",
    ),
    id="other-optimizers-leave-the-complement",
    each=_cases(LEAVING),
)
def leaves(data: xr.Dataset, means: str, **_: str) -> float:
    """Adam, which rescales each coordinate separately, and heavy ball with a random initial
    velocity leave the complement of the bulk eigenspace.

    Statistic: largest $‖Z_0^⊤ θ_t‖/‖θ_t‖$.

    Remark: The step sizes determine how far the iterates leave it; tiny ones keep them closer.
    """
    return largest_of(data["numerical_iterate"], means)


@coordinates.beyond.identity(
    "Corollary B.1, extended to correlated inputs",
    within(EXACT, ROUND_OFF, source="our extension of Corollary B.1"),
    id="correlated-spectrum-through-training",
    name="spectrum",
)
def correlated_spectrum(data: xr.Dataset) -> float:
    r"""At every step of training on real, correlated data the spectrum is the bulk $±δx_d$ ($m - 1$
    times each) and the 2D eigenvalues of $\operatorname{diag}(δx_d, -δx_d) + Σ_{de} u_d u_e^⊤$,
    $u_d = (‖w_d + v_d‖, ‖w_d - v_d‖)/\sqrt2$.
    """
    return float(error(compared(data)).max())


@coordinates.identity(
    "Corollary B.1", within(EXACT, ROUND_OFF, source="Corollary B.1"), id="bulk-of-several-inputs"
)
def bulk(data: xr.Dataset) -> float:
    """The bulk is $±δx_d$ with $δx_d = E[x_d (f(x) - y)]$, for correlated inputs too."""
    data = compared(data)
    differences = group(data, "bulk") - group(data, "bulk", of="numerical")
    needs(differences.size, "this configuration has width 1, with which there is no bulk")
    return float((abs(differences) / abs(data["numerical"]).max("rank")).max())


@coordinates.about("singh2026cracking", "Corollary B.1 on real data").beyond.always(
    "Corollary B.1, assumption $E[x_i x_j] = 0$",
    at_least(
        0.1,
        "a lower bound that leaves no doubt; round-off is below 1e-14",
        source="our bound: a tenth of the largest eigenvalue",
    ),
    id="decorrelation-is-needed",
)
def decorrelation_is_needed(data: xr.Dataset) -> float:
    """Where the inputs are correlated, the direct sum over coordinates is not the spectrum.

    Statistic: its largest error during training, relative to $λ_1$.

    Remark: For nearly decorrelated inputs the direct sum is nearly right.
    """
    return float(error(compared(data.assign(exact=data["decorrelated"]))).max())

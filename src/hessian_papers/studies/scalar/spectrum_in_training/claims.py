"""Statements about the spectrum during training, and how they are measured."""

import math
from collections.abc import Callable, Iterator, Mapping

import xarray as xr

from hessian_papers.ledger.bounds import (
    at_least,
    at_most,
    equal_to,
    needs,
    positive,
    within,
)
from hessian_papers.ledger.conditions import AFTER_TRAINING, ANY_STATE, THROUGHOUT_TRAINING
from hessian_papers.ledger.statements import Labels, Statements
from hessian_papers.studies.scalar.spectrum_in_training.derived import (
    AT_ZERO,
    RESOLVED,
    at_zero,
    converging,
    largest,
    largest_of,
    pair,
    small_share,
)
from hessian_papers.studies.spectra import error, group
from hessian_papers.studies.trainings import compared, last_steps
from hessian_spectra.agreement import EXACT

# Where the bulk is below this share of the large outlier, the solution is reached.
SOLVED = 1e-7
# So many changes of sign are a wiggle around zero; a single one is a passage.
WIGGLES = 2

# The names of two runs: of the linear network, and of the same at the high learning rate.
LINEAR, HIGH = "linear", "linear_high"

PAIR = {
    "singh2026cracking": "appendix C, equation (122)",
    "singh2024closed": "section 1, equation (2)",
    "singh2024poster": "Outlier eigenvalues exist as pairs",
}
PHASES = {
    "singh2026cracking": "appendix C",
    "singh2024closed": "section 1, phases of learning",
}
SOLUTION = {
    "singh2026cracking": "appendix C",
    "singh2024closed": "section 1",
    "singh2024poster": "only one remains at convergence",
}
EVOLUTION = {
    "singh2026cracking": "section 3.2, Figure 8",
    "singh2024closed": "section 2, Figure 3",
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
    "section 1, section 5",
    ROUNDING,
    id="closed-form-through-training",
    paper="singh2026cracking",
    each=lambda data: [] if "decorrelated" in data else [{}],
)
def spectrum(data: xr.Dataset) -> float:
    """The results are valid at any point during training. The closed form is the whole spectrum of
    the Hessian at every step, of linear and ReLU networks, with any optimiser.
    """
    return float(error(compared(data)).max())


@pairs.identity(PAIR, ROUNDING, id="linear-trace-form")
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


@figures.exists(EVOLUTION, ALL, id="small-outlier-changes-sign", state=THROUGHOUT_TRAINING)
def changes_sign(data: xr.Dataset) -> float:
    """Throughout training the outliers are a pair: the small one starts negative, changes sign and
    ends at zero.

    Statistic: fraction of the runs at the ordinary learning rate in which it does; at zero is below
    $10^{-6} λ_1$.
    """
    data = data.drop_sel(run=HIGH, errors="ignore")
    _, small = pair(data)
    at_end = small_share(last_steps(data)) < AT_ZERO
    starts, changes = small.sel(step=0) < 0, small.max("step") > 0
    return float((starts & changes & at_end).mean())


@pairs.identity(
    SOLUTION,
    within(1e-6, "the remaining residual after the last step", source="theorem"),
    id="rank-one-at-the-solution",
)
def rank_one(data: xr.Dataset) -> float:
    """At the solution the Hessian (of the cell) has rank one and $λ_1$ is its trace, after training
    as well.

    Statistic: largest other eigenvalue over $λ_1$ after the last step of the runs that are there.
    """
    end = last_steps(compared(data))
    large, small = pair(end, "numerical")
    solved = abs(end["bulk"]) < SOLVED * large
    needs(solved.any(), "no run of this configuration ends at the solution")
    shares = abs(small).clip(min=abs(end["bulk"])) / large
    return float(shares.where(solved).max())


@pairs.identity(
    PHASES,
    at_most(0.0, "a count; steps with $|λ_2|$ below $10^{-12} λ_1$ are left out as round-off"),
    id="signs-of-the-phases",
)
def phases(data: xr.Dataset) -> float:
    r"""With $t = ⟨w, v⟩/θ^*$: early $(t ≤ 1/3)$ and divergent $(t ≥ 1)$ have
    $λ_1 ≥ \operatorname{tr}$ and $λ_2 ≤ 0$, late $(1/3 ≤ t ≤ 1)$ has $λ_1 ≤ \operatorname{tr}$ and
    $λ_2 ≥ 0$.

    Statistic: number of training steps at which the sign of $λ_2$ differs.
    """
    data = compared(data)
    _, small = pair(data, "numerical")
    # The numerical eigenvalues carry an error of about 1e-15 of the largest of all.
    resolved = abs(small) > RESOLVED * abs(data["numerical"]).max("rank")
    return float((resolved & ((data["phase"] == "late") != (small > 0))).sum())


BEYOND = {
    "singh2026cracking": "Corollary 3.1, beyond the paper",
    "singh2024closed": "section 2, beyond the paper",
    "singh2024poster": "Evolution of the pair, beyond the poster",
}


@figures.beyond.identity(
    BEYOND,
    within(
        1e-9,
        "round-off of 300 steps of about 1e-16 each, which unstable first steps enlarge",
        source="ours: a step of descent is a map of two numbers",
    ),
    id="course-from-its-start",
    state=THROUGHOUT_TRAINING,
    each=_where("predicted_large"),
)
def course_from_its_start(data: xr.Dataset) -> float:
    r"""The initial weights give the whole course of training, without a step of it. With
    $p = ‖w + v‖/\sqrt2$ and $q = ‖w - v‖/\sqrt2$, an update is a map of $p$ and $q$, with momentum
    one of their velocities too. So both outliers, the bulk and the loss of the trained network are
    known at every step. Of a ReLU network this holds for each cell, until a unit changes its cell.

    Statistic: largest difference to the trained network at any step that is predicted. Eigenvalues
    are relative to $λ_1$ at that step, numerical where there is one. Losses are relative to the
    initial one, or to their own where that is larger.
    """
    seen = compared(data)
    large, small = pair(seen, "numerical")
    size = data["loss"].clip(min=data["loss"].sel(step=0))
    loss = abs(data["predicted_loss"] - data["loss"]) / size
    return max(
        largest(seen, seen["predicted_large"] - large),
        largest(seen, seen["predicted_small"] - small),
        float((abs(data["predicted_bulk"] - data["bulk"]) / pair(data)[0]).max()),
        float(loss.max()),
    )


def _each_plain(data: xr.Dataset) -> list[Labels]:
    """One case where a run is plain gradient descent."""
    return [{}] if "flow_sharpness" in data and data["flow_sharpness"].notnull().any() else []


@figures.beyond.everywhere(
    BEYOND,
    at_most(
        1 + EXACT,
        r"a step multiplies $p q$ by $1 - η^2 \overline{δx}^2$, the flow keeps it, and the "
        "sharpness of a solution grows with $|p q|$; beyond 1 there is round-off alone",
        source=r"ours: proved for steps with $η |\overline{δx}| ≤ \sqrt2$",
    ),
    id="descent-ends-no-sharper-than-flow",
    state=AFTER_TRAINING,
    each=_each_plain,
)
def no_sharper_than_flow(data: xr.Dataset) -> float:
    r"""Plain gradient descent that reaches a solution ends at no larger $λ_1$ than gradient flow
    with the same initial weights. This needs $η |\overline{δx}| ≤ \sqrt2$ at every step.

    Statistic: largest ratio of $λ_1$ after the last step to that at the end of the flow. For ReLU
    it is of the positive cell, of runs in which no unit changes its cell.
    """
    end = last_steps(compared(data))
    large, _ = pair(end, "numerical")
    meets = (data["largest_move"] <= math.sqrt(2)) & (data["predicted_until"] < 0)
    meets = meets & data["flow_sharpness"].notnull() & (abs(end["bulk"]) < SOLVED * large)
    needs(meets.any(), "no run of plain descent in this configuration ends at a solution")
    return float((large / data["flow_sharpness"]).where(meets).max())


def _each_input_scale(data: xr.Dataset) -> Iterator[Labels]:
    for scale in data["input_scale"].values.tolist() if "input_scale" in data else ():
        yield {"input_scale": scale, "scale": f"{scale:g}"}


@(closed | poster).exists(
    "section 2, text on Figure 3",
    ANY,
    id="converges-to-zero-from-above",
    paper="singh2024closed",
    state=AFTER_TRAINING,
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
def reaches_zero_from_the_positive_side(
    data: xr.Dataset, input_scale: float, **_: str
) -> xr.DataArray:
    """The small outlier starts negative, changes sign, and converges to zero from the positive
    side; the scale of inputs and targets is left open.

    Statistic: fraction of initial weights from which $λ_2$ changes sign an odd number of times and
    ends at zero from above. That is below $10^{-6} λ_1$, and positive in the last steps with
    $|λ_2| > 10^{-12} λ_1$. Interval: Wilson's, 95 %.
    """
    chosen = data.sel(input_scale=input_scale)
    from_below = chosen["ordinary_crossings"] % 2 == 1
    holds = from_below & at_zero(chosen, "ordinary", 1.0)
    return converging(chosen["ordinary_share"], holds)


def _each_high_rate(data: xr.Dataset) -> Iterator[Labels]:
    for momentum in data["high_momentum"].values.tolist() if "high_momentum" in data else ():
        for setting in data["high_setting"].values.tolist():
            rate, scale = setting.split(", ")
            said = {"momentum": f"{momentum:g}", "rate": rate, "scale": scale}
            yield {"high_momentum": momentum, "high_setting": setting, **said}


@closed.exists(
    "section 2, text on Figure 3",
    ANY,
    id="path-at-a-high-rate",
    state=THROUGHOUT_TRAINING,
    each=_each_high_rate,
    name="path-{momentum}-{rate}-{scale}",
)
def path_at_a_high_rate(
    data: xr.Dataset, high_momentum: float, high_setting: str, **_: str
) -> xr.DataArray:
    """At a high learning rate the small outlier first drops and then increases. It wiggles around
    0, eventually becomes small and negative, and converges to zero from there. The paper gives no
    number for the rate.

    Statistic: fraction of initial weights from which $λ_2$ falls in the first step, changes sign at
    least twice, and ends at zero from below. That is below $10^{-6} λ_1$, and negative in the last
    steps with $|λ_2| > 10^{-12} λ_1$. Interval: Wilson's, 95 %.

    Remark: Close to the target, without momentum, a step multiplies the distance to it by $1 - η
    λ_1$, and $λ_2$ has its sign. Where $η λ_1 > 1$ it wiggles, but on alternating sides; where $η
    λ_1 < 1$ it stays on one side. The whole path needs a $λ_1$ that falls below $1/η$ on the way.
    Momentum 0.9 makes it wiggle at nearly all rates, and end on alternating sides. The plotted run
    is one of the few; its weights and rate are chosen for that.
    """
    chosen = data.sel(high_momentum=high_momentum, high_setting=high_setting)
    wiggles = (chosen["high_drops"] > 0) & (chosen["high_crossings"] >= WIGGLES)
    return converging(chosen["high_share"], wiggles & at_zero(chosen, "high", -1.0))


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


@eigenspaces.identity(COROLLARY, PROOF, id="linear-constant-bulk")
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
    state=THROUGHOUT_TRAINING,
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
    id="correlated-spectrum",
    name="spectrum",
)
def correlated_spectrum(data: xr.Dataset) -> float:
    r"""At every step of training on real, correlated data the spectrum is the bulk $±δx_d$ ($m - 1$
    times each) and the 2D eigenvalues of $\operatorname{diag}(δx_d, -δx_d) + Σ_{de} u_d u_e^⊤$,
    $u_d = (‖w_d + v_d‖, ‖w_d - v_d‖)/\sqrt2$.
    """
    return float(error(compared(data)).max())


@coordinates.beyond.identity(
    "Corollary B.1, extended to correlated inputs",
    within(EXACT, ROUND_OFF, source="our extension of Corollary B.1"),
    id="correlated-spectrum",
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
    state=ANY_STATE,
)
def decorrelation_is_needed(data: xr.Dataset) -> float:
    """Where the inputs are correlated, the direct sum over coordinates is not the spectrum.

    Statistic: its largest error during training, relative to $λ_1$.

    Remark: For nearly decorrelated inputs the direct sum is nearly right.
    """
    return float(error(compared(data.assign(exact=data["decorrelated"]))).max())

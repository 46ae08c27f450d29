"""Statements about the phases of learning, and how it is measured."""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import NothingToMeasure, at_least, at_most, needs, within
from hessian_papers.ledger.conditions import AT_INITIALISATION, THROUGHOUT_TRAINING
from hessian_papers.ledger.statements import Labels, Statements
from hessian_papers.studies.spectra import error, group
from hessian_spectra.agreement import EXACT

APPENDIX = {"singh2026cracking": "appendix C", "singh2024closed": "section 1, phases of learning"}
HEADS = "appendix B.4.2, below Corollary B.2"
# The numerical eigenvalues carry an error of about 1e-15 of the largest one.
RESOLVED = 1e-12
COUNT = "a count; deviations below 1e-12 of the largest eigenvalue are round-off"

statements = Statements()


def select_signs(data: xr.Dataset, *signs: int) -> xr.Dataset:
    """The networks whose solution θ* has one of some signs: 1, −1 or 0.

    Raises:
        NothingToMeasure: there is none.
    """
    chosen = np.isin(np.sign(data["solution"]), signs)
    if not chosen.any():
        words = " or ".join(map(str, signs))
        raise NothingToMeasure(f"this configuration has no network whose $θ^*$ has sign {words}")
    return data.isel(network=chosen)


def pair(data: xr.Dataset, of: str = "numerical") -> tuple[xr.DataArray, xr.DataArray]:
    """The outliers λ₁ and λ₂ of each network.

    Args:
        data: the networks.
        of: ``exact`` or ``numerical``.
    """
    small, large = group(data, "outlier", of=of).transpose("rank", ...)
    return large, small


def printed_phases(data: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """The networks in the late phase, and those in another one, by ⟨w, v⟩ as in print.

    A network may be in both, or in none.
    """
    alignment, solution = data["alignment"], data["solution"]
    late = (alignment >= solution / 3) & (alignment <= solution)
    return late, (alignment <= solution / 3) | (alignment >= solution)


def contradict(data: xr.Dataset, late: xr.DataArray, outside: xr.DataArray) -> xr.DataArray:
    """The networks whose pair contradicts a phase that they are in.

    λ₁ ≤ tr and λ₂ ≥ 0 in the late phase, the opposite of both in the others.

    Args:
        data: the networks.
        late: which of them are in the late phase.
        outside: which of them are in another one.
    """
    large, small = pair(data)
    margin, excess = RESOLVED * large, large - data["trace"]
    late = late & ((small < -margin) | (excess > margin))
    return late | (outside & ((small > margin) | (excess < -margin)))


@statements.identity(
    {"singh2026cracking": "Theorem 3.1", "singh2024closed": "Theorem 1"},
    within(
        EXACT,
        "round-off of a dense float64 eigen-decomposition is below 1e-14 of $λ_1$",
        source="theorem",
    ),
    id="linear-spectrum",
)
def spectrum(data: xr.Dataset) -> float:
    """The closed form is the whole spectrum of the Hessian, in every phase."""
    return float(error(data).max())


@statements.identity(
    APPENDIX,
    within(
        EXACT, "round-off of a product of two eigenvalues, relative to $λ_1^2$", source="theorem"
    ),
    id="linear-product",
)
def product(data: xr.Dataset) -> float:
    """$-λ_1 λ_2 = (E[x^2] θ^*)^2 (t - 1) (3t - 1)$ with $t = ⟨w, v⟩/θ^*$."""
    alignment, solution = data["alignment"], data["solution"]
    # Multiplied out, so that it holds for θ* = 0 as well.
    expected = (alignment - solution) * (3 * alignment - solution)
    large, small = pair(data)
    return float((abs(large * small + data["second_moment"] ** 2 * expected) / large**2).max())


@statements.identity(
    APPENDIX, at_most(0.0, COUNT, source="the sign of $(t - 1) (3t - 1)$"), id="signs-of-the-phases"
)
def signs(data: xr.Dataset, printed: bool = False) -> float:
    r"""With $t = ⟨w, v⟩/θ^*$: early $(t ≤ 1/3)$ and divergent $(t ≥ 1)$ have
    $λ_1 ≥ \operatorname{tr}$ and $λ_2 ≤ 0$, late $(1/3 ≤ t ≤ 1)$ has $λ_1 ≤ \operatorname{tr}$ and
    $λ_2 ≥ 0$.

    Statistic: number of networks that contradict this.

    In print: the same with $⟨w, v⟩ ≤ θ^*/3$, $θ^*/3 ≤ ⟨w, v⟩ ≤ θ^*$, $θ^* ≤ ⟨w, v⟩$, which is right
    only for $θ^* > 0$
    """
    late = data["phase"] == "late"
    phases = printed_phases(data) if printed else (late, ~late)
    return float(contradict(data, *phases).sum())


@statements.identity(
    APPENDIX,
    at_most(0.0, COUNT, source="$-λ_1 λ_2 = 3 (E[x^2] ⟨w, v⟩)^2 ≥ 0$"),
    id="signs-of-the-phases",
)
def without_signal(data: xr.Dataset) -> float:
    """With $θ^* = 0$ there is no late phase: $λ_2 ≤ 0$ for all weights.

    Statistic: number of networks that contradict this.
    """
    large, small = pair(select_signs(data, 0))
    return float((small > RESOLVED * large).sum())


def _each_scale(data: xr.Dataset) -> Iterator[Labels]:
    for scale in data["head_scale"].values.tolist():
        yield {"head_scale": scale, "scale": f"{scale:g}"}


@statements.left_open(
    HEADS,
    at_least(0.9, "nine pairs in ten; two heads may learn at nearly the same time"),
    id="heads-converge-in-the-order-of-learning",
    paper="singh2026cracking",
    state=THROUGHOUT_TRAINING,
    each=_each_scale,
    name="heads-in-order-{scale}",
)
def heads_in_order(data: xr.Dataset, head_scale: float, **_: str) -> xr.DataArray:
    """The heads' small outliers converge to zero in the order of their speeds of learning; the
    initial weights are left open.

    Statistic: fraction of a network's pairs of heads in which both conditions become permanent in
    the same order: $|λ_2| ≤ λ_1/100$ and $|δ_k x| ≤ |y_k x|/100$. Mean over networks; each head has
    a target of random size and sign; interval: Student's, 95 %.

    Remark: Close to its target a head has $|λ_2|/λ_1 = 2 |δx|/|yx| (|yx|/λ_1)^2$, and $λ_1$ is at
    least $2 |yx|$. From small initial weights it equals that, so $λ_2$ follows the residual. From
    larger ones each head keeps its own $λ_1$, and heads of nearly the same speed change places.
    """
    chosen = data.sel(head_scale=head_scale)
    learned, zero = chosen["learned"], chosen["reached_zero"]
    # What never comes to zero comes after all that does.
    zero = zero.where(zero >= 0, np.iinfo(zero.dtype).max)
    pairs = np.triu_indices(data.sizes["head"], 1)
    first, second = (xr.DataArray(heads, dims="pair") for heads in pairs)
    order, outliers = (np.sign(a.isel(head=first) - a.isel(head=second)) for a in (learned, zero))
    # Of the pairs that do not learn in the same step, in networks that learn with all their heads.
    counted = (order != 0) & (learned >= 0).all("head")
    needs(counted.any(), "no network learns with all heads, and not in the same step")
    kept = counted.any("pair")
    return ((order == outliers) & counted).sum("pair")[kept] / counted.sum("pair")[kept]


@statements.left_open(
    HEADS,
    at_least(0.5, "a statement without exception is read as one about most, more than half"),
    id="retarded-head-stays-negative",
    paper="singh2026cracking",
    state=THROUGHOUT_TRAINING,
    each=_each_scale,
    name="retarded-head-{scale}",
)
def retarded_head(data: xr.Dataset, head_scale: float, **_: str) -> xr.DataArray:
    """The output whose learning is retarded still contributes a negative small outlier; the initial
    weights are left open.

    Statistic: fraction of networks for which $λ_2$ of the head that learns last is negative when
    the first has learned; interval: Wilson's, 95 %.

    Remark: $λ_2$ of a head is negative until $⟨w, v⟩$ reaches a third of the target (appendix C).
    The paper leaves the initial weights open. From small ones the heads stay close to the saddle at
    0, for different times. From larger ones the last head has left that phase by the time the first
    one has learned.
    """
    retarded = data["retarded"].sel(head_scale=head_scale).dropna("draw")
    needs(retarded.size, "no network learns with all of its heads")
    return retarded < 0


@statements.left_open(
    "appendix B.4.1, below Corollary B.1",
    at_least(0.5, '"in general" is read as more often than not'),
    id="highest-variance-leads",
    paper="singh2026cracking",
    state=AT_INITIALISATION,
    over=("variance_ratio",),
    name="highest-variance-{variance_ratio}",
)
def highest_variance(data: xr.Dataset) -> xr.DataArray:
    """The input coordinate of the highest variance leads in general to the eigenvalues of the
    largest magnitudes; how much higher is left open.

    Statistic: fraction of networks of decorrelated inputs whose largest eigenvalue belongs to the
    coordinate with that many times the variance of all others; interval: Wilson's, 95 %.

    Remark: A coordinate's eigenvalues are its variance times what its weights and its target give.
    A small excess of variance does not outweigh their spread.
    """
    return data["leads"]

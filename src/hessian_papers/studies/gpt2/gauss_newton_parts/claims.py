"""What section 4.3 says of the GGN, held to the right product and to the released library's."""

import numpy as np
import xarray as xr
from xarray.ufuncs import isfinite

from hessian_papers.ledger.bounds import Replicated, at_least, needs, positive, within
from hessian_papers.ledger.conditions import ANY_STATE, in_use
from hessian_papers.ledger.statements import Statements
from hessian_papers.studies.gpt2.gauss_newton_parts.derived import shares, with_operations
from hessian_papers.studies.gpt2.seeds import AS_TRAINED, OPERATIONS, compare, estimate

SECTION = "section 4.3"
LIBRARY = "section 4.3, with the library of D.1.6"
OURS = "ours: the paper does not mention the released product's error"
EXACT = "ours: the paper has no parts of the gap"
SEEDS = "Student's interval of the mean over few seeds, widened by the eigenvalues' residuals"
SMALL = (
    "The paper has 124 million weights and another text. Small networks after fewer steps "
    "may be in another phase of training."
)
# The errors that stand side by side: the matrix, and the one that it is held against.
HELD_TO = {
    "right": ("ggn", "hessian"),
    "released": ("ggn", "released hessian"),
    "squared": ("squared ggn", "squared hessian"),
}

statements = Statements(
    values={
        "right": "the right product",
        "released": "the product of the released curvlinops",
        "squared": "the right product and the squared loss of the logits",
    },
).having(otherwise=SMALL)


def departure(data: xr.Dataset, matrix: str, other: str) -> xr.Dataset:
    """How far the largest eigenvalue of a matrix is from that of another, relative to the latter.

    Returns:
        The ``error`` ``|1 − λ_max / λ_max(other)|``, and its ``uncertainty`` by the residuals.
    """
    first, second = (data.sel(matrix=name, drop=True) for name in (matrix, other))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = first["eigenvalue"] / second["eigenvalue"]
        uncertainty = abs(ratio) * (first["residual"] + second["residual"])
    return xr.Dataset({"error": abs(1 - ratio), "uncertainty": uncertainty})


@statements.beyond.typically(
    SECTION,
    at_least(0.0, f"a sign; {SEEDS}"),
    id="ggn-is-worse-with-each-product",
    each=lambda data: [{"held": name} for name in HELD_TO],
    name="worse-with-attention-{held}-ratio",
    state=AS_TRAINED,
)
def worse_with_attention(data: xr.Dataset, held: str) -> Replicated:
    """With attention, the GGN's largest eigenvalue approximates the Hessian's less well: with the
    right product, the released one and the squared loss.

    Statistic: natural logarithm of the ratio of the relative errors with and without attention, at
    the last step; mean over seeds.
    """
    values = departure(data.isel(step=-1), *HELD_TO[held])
    samples = compare(values["error"], values["uncertainty"])
    needs(
        isfinite(samples["value"]).all(),
        "in this configuration a run has no error at its last step",
    )
    return estimate(samples)


@statements.beyond.typically(
    LIBRARY,
    within(0.01, "a hundredth would show in no figure", source=OURS),
    id="released-product-has-the-extreme-eigenvalues",
    state=ANY_STATE,
)
def released_sharpness(data: xr.Dataset) -> xr.DataArray:
    """The paper's curves were made with a library whose product is wrong for the weights of layer
    norms. That product has nearly the right largest eigenvalue.

    Statistic: largest relative difference over networks and steps, with what both residuals leave
    open; mean over seeds.
    """
    shift, off = departure(data, "released hessian", "hessian").values()
    return (shift + off).max(("variant", "step"), skipna=False)


@statements.beyond.identity(
    SECTION,
    within(1e-6, "round-off of differences of products in float64", source=EXACT),
    id="operations-make-the-gap",
)
def operations_add_up(data: xr.Dataset) -> float:
    r"""The parts of the operations of GPT-2 sum to $v^⊤Fv$, with $F = H - \operatorname{GGN}$ and
    v the Hessian's top eigenvector.

    Statistic: largest deviation over all networks and steps, relative to the largest eigenvalue.
    """
    runs = with_operations(data)
    summed = runs["operation_part"].sum("operation", skipna=False)
    return float(abs(summed - runs["functional"]).max(skipna=False))


@statements.typically(
    SECTION,
    positive(f"a sign; {SEEDS}", source="the paper's explanation"),
    id="softmax-widens-the-gap",
    state=in_use("attention"),
)
def softmax_widens(data: xr.Dataset) -> xr.DataArray:
    r"""Activations with second derivatives, such as softmax, are expected to induce a larger gap
    between Hessian and GGN than piecewise linear ones.

    Statistic: part of softmax in $v^⊤Fv$ over $v^⊤Fv$ at the last step, mean over seeds. A
    piecewise linear function has no such part.
    """
    return shares(data).sel(operation="softmax")


@statements.beyond.shown(
    SECTION,
    positive(f"a sign; {SEEDS}", source=EXACT),
    id="parts-of-the-gap",
    each=lambda data: [{"operation": name} for name in OPERATIONS],
    state=AS_TRAINED,
)
def part_of(data: xr.Dataset, operation: str) -> xr.DataArray:
    """How much of what the GGN misses along the Hessian's top eigenvector v is of softmax,
    products, linear maps, GELU and LayerNorm.

    Statistic: its part of $v^⊤Fv$ over $v^⊤Fv$ at the last step; mean over seeds.

    Remark: LayerNorm's part is of all norms of the network; which of them has it is not recorded.
    """
    return shares(data).sel(operation=operation)

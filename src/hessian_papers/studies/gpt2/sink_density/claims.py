"""What the paper says of attention sinks and the Hessian's spectrum of a language model."""

import xarray as xr
from xarray.ufuncs import log

from hessian_papers.ledger.bounds import (
    NothingToMeasure,
    at_least,
    at_most,
    equal_to,
    needs,
    within,
)
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.gpt2.seeds import rank_correlations, recorded
from hessian_papers.studies.gpt2.sink_density.derived import NO_SINK, SINK, ladder, smoothed

SAID = 'Section 4.3, "Attention Sinks Amplify Outlier Eigenvalues"'
SET = "Appendix D.1.6"
THEOREM = "section 3.3, after Theorem 3.5"
CONTROL = "our control"
OURS = "ours"
NEARLY = within(0.01, "one per cent would not be visible in a figure", source=OURS)
GROWTH = at_least(0.0, "the sign of a growth")
MORE = "the sign of a difference"
# An eigenvalue of at most this share of the largest magnitude counts as close to zero.
NEAR = 0.01
FEW = "a rank correlation of 1 is a monotone trend; 0.1 for one swap of neighbours among few rungs"

SMALL = (
    "The paper has one model of 124M parameters, whose unedited attention on the first "
    "token is 0.32, and no interval. Smaller models differ after shorter training. In some, "
    "sinks move the largest eigenvalue by a third, in others by a few per cent, and not "
    "always upwards."
)
ONE_LAYER = (
    "Theorem 3.5 has a single head and layer, with numbers for tokens, and the sink's token is "
    "large. In GPT-2 one head of each block is edited. The others keep their attention, and the "
    "top eigenvector changes with the sink."
)

statements = Statements(
    values={
        "largest": "largest",
        "smallest": "most negative",
        "middle-token": "the same attention on a token in the middle",
        "random-weights": "random changes of the weights with the same rise of the loss",
    },
)
figure_6 = statements.about("singh2026cracking", "Figure 6").having(otherwise=SMALL)


def _controls(data: xr.Dataset) -> list[dict[str, str]]:
    names = [name for name in data["edit"].values.tolist() if name not in (SINK, NO_SINK)]
    return [{"end": end, "control": name} for end in data["end"].values.tolist() for name in names]


def _relative(data: xr.Dataset, edit: str = SINK) -> xr.DataArray:
    """The magnitude of an eigenvalue over that without an edit, along ``seed`` and ``rung``.

    Raises:
        NothingToMeasure: without an edit it is zero, or has the other sign than with one.
    """
    values = ladder(data["eigenvalue"]).sel(edit=edit)
    own = values.isel(rung=0)
    if (values * own <= 0).any():
        end = data["end"].item()
        raise NothingToMeasure(
            f"in this configuration the {end} eigenvalue is zero or changes its sign"
        )
    return values / own


def _growth(values: xr.DataArray) -> xr.DataArray:
    """``ln`` of the ratio of a number at the last rung to that without edit, along ``seed``.

    Eigenvalues vary over networks in proportion to their size.
    """
    return log(values.isel(rung=-1) / values.isel(rung=0))


@statements.beyond.everywhere(
    SET,
    within(1e-4, "the products are float32; Ritz values lie inside the spectrum", source="theorem"),
    id="no-eigenvalue-was-missed",
)
def edges(data: xr.Dataset) -> float:
    """No Ritz value of the density's random vectors lies beyond the extreme eigenvalues and their
    residuals, which a separate search found.

    Statistic: largest distance, relative to the spectrum.

    Remark: A search that ends with a small residual may have missed an eigenvalue; a smaller
    tolerance finds it.
    """
    sign = xr.DataArray([1, -1], {"end": ["largest", "smallest"]})
    sinks = data.sel(edit=SINK)
    nodes = (sign * data["node"]).max(("probe", "rank"), skipna=False)
    scale = abs(sinks["eigenvalue"]).max("end", skipna=False)
    outside = (nodes - sign * sinks["eigenvalue"]) / scale - sinks["residual"]
    reached = sinks["mass"].notnull()
    return float(outside.where(reached, 0.0).clip(0).max(skipna=False))


@figure_6.typically(SAID, GROWTH, id="sinks-amplify-outliers", over=["end"])
def outliers_grow(data: xr.Dataset) -> xr.DataArray:
    """The more prominent the attention sink, the larger the outliers.

    Statistic: natural logarithm of the ratio of an extreme eigenvalue with the strongest sink to
    that without edit, mean over seeds; interval: Student's t.
    """
    return _growth(_relative(data))


@figure_6.typically(
    SAID, at_least(1.0, FEW, tolerance=0.1), id="sinks-amplify-outliers-step-by-step", over=["end"]
)
def outliers_grow_steadily(data: xr.Dataset) -> xr.DataArray:
    """The outliers grow from each attention sink to the next stronger one.

    Statistic: rank correlation of attention and magnitude of an extreme eigenvalue along the
    ladder, mean over seeds; interval: Student's t.
    """
    return rank_correlations(data["mass"].sel(edit=SINK), _relative(data), "rung")


@figure_6.typically("caption of the figure", GROWTH, id="sinks-stretch-the-spectrum")
def spectrum_stretches(data: xr.Dataset) -> xr.DataArray:
    """Larger attention sinks stretch the spectrum.

    Statistic: natural logarithm of the ratio of its range with the strongest sink to that without
    edit, mean over seeds; interval: Student's t.
    """
    ends = data["eigenvalue"].sel(edit=SINK)
    return _growth(ends.sel(end="largest") - ends.sel(end="smallest"))


@figure_6.beyond.typically(
    SAID, at_least(0.0, MORE, source=CONTROL), id="sinks-do-more-than-a-control", each=_controls
)
def more_than_a_control(data: xr.Dataset, end: str, control: str) -> xr.DataArray:
    """The sink on the first token makes an extreme eigenvalue larger than a control does.

    Statistic: natural logarithm of its ratio with the strongest sink to that with the control, mean
    over seeds; of random changes the mean over directions counts. Interval: Student's t, paired.

    Remark: The edit raises the loss, and a network with a higher loss can have larger eigenvalues
    for that reason alone. The paper has no control.
    """
    sink, other = (_growth(_relative(data.sel(end=end), edit)) for edit in (SINK, control))
    return sink - other


@figure_6.beyond.typically(
    THEOREM, GROWTH, id="sinks-enlarge-the-gauss-newton-matrix", otherwise=ONE_LAYER
)
def gauss_newton_grows(data: xr.Dataset) -> xr.DataArray:
    """As the attention sink grows, so does the largest eigenvalue of the Gauss-Newton matrix.

    Statistic: natural logarithm of the ratio of that eigenvalue with the strongest sink to that
    without edit, mean over seeds; interval: Student's t.
    """
    return _growth(recorded(data, "ggn", "the Gauss-Newton matrix of each sink"))


@figure_6.beyond.typically(
    THEOREM,
    at_most(0.0, "the sign of a difference"),
    id="sinks-shrink-the-part-of-softmax",
    otherwise=ONE_LAYER,
)
def softmax_shrinks(data: xr.Dataset) -> xr.DataArray:
    r"""As the attention sink grows, the functional Hessian's part of softmax shrinks towards zero.

    Statistic: magnitude of that part of $v^⊤Fv$ with the strongest sink minus that without edit,
    over the largest eigenvalue without edit; v the Hessian's top eigenvector. Mean over seeds;
    interval: Student's t.
    """
    shares = recorded(data, "operation_part", "the parts of the operations of each sink")
    values = data["eigenvalue"].sel(edit=SINK, end="largest")
    size = abs(shares.sel(operation="softmax") * values)
    return (size.isel(rung=-1) - size.isel(rung=0)) / values.isel(rung=0)


@figure_6.beyond.typically(
    SAID, at_most(0.0, MORE, source=CONTROL), id="largest-eigenvalue-is-smaller-without-the-sink"
)
def smaller_without_sink(data: xr.Dataset) -> xr.DataArray:
    """Without the sink that training made, the largest eigenvalue is smaller.

    Statistic: natural logarithm of its ratio with attention on the first token reduced to that of
    uniform attention to that without edit. Mean over the seeds whose attention is above uniform;
    interval: Student's t.

    Remark: Small networks form slight sinks in a short training: what is removed is little, and so
    is what it changes.
    """
    needs(NO_SINK in data["edit"], "this run was recorded without the edit that removes the sink")
    growth = _growth(_relative(data.sel(end="largest"), NO_SINK)).dropna("seed")
    needs(growth.size, "in this configuration there is no sink to remove")
    return growth


@figure_6.typically(SAID, reading_of("many"), id="many-eigenvalues-stay-near-zero")
def many_near_zero(data: xr.Dataset) -> xr.DataArray:
    """Many eigenvalues stay close to zero at the strongest sink.

    Statistic: fraction of all eigenvalues within a hundredth of the largest magnitude from zero,
    mean over seeds; interval: Student's t.
    """
    last = data.isel(rung=-1)
    scale = abs(last["eigenvalue"].sel(edit=SINK)).max("end")
    close = abs(last["node"]) <= NEAR * scale
    return xr.dot(last["weight"], close, dim="rank").mean("probe")


@figure_6.printed(SET, equal_to(0.32, "a tenth of it", tolerance=0.03), id="training-makes-a-sink")
def own_sink(data: xr.Dataset) -> xr.DataArray:
    """Training alone forms a sink: without an edit, the mean attention on the first token in the
    edited heads is 0.32.

    Statistic: mean over seeds; interval: Student's t.
    """
    return data["mass"].sel(edit=SINK).isel(rung=0)


@figure_6.typically(
    "section 3.3, of sinks that emerge in training",
    at_least(0.0, "a positive correlation"),
    id="largest-eigenvalue-grows-as-sinks-emerge",
)
def sinks_of_training(data: xr.Dataset) -> xr.DataArray:
    """As sinks emerge in training, the largest eigenvalue grows.

    Statistic: rank correlation, over the measured steps, of the largest eigenvalue and the
    attention on the first token averaged over all heads; mean over seeds; interval: Student's t.

    Remark: Attention and eigenvalue both change with the step, whether or not they are related.
    Early in training the largest eigenvalue falls for other reasons. A small model forms no sinks
    in a short training: its attention on the first token stays roughly uniform.
    """
    mass = data["training_mass"].mean(("layer", "head"), skipna=False)
    few = "few steps of training were measured"
    return rank_correlations(mass, data["training_largest"], "step", few)


@figure_6.beyond.typically(SET, NEARLY, id="released-product-has-the-extreme-eigenvalues")
def released_edges(data: xr.Dataset) -> xr.DataArray:
    """The paper's figure was made with a library whose product is wrong for the weights of layer
    norms. That product has nearly the same extreme eigenvalues.

    Statistic: largest relative error of the two, without an edit and with the strongest, mean over
    seeds; interval: Student's t.
    """
    outer = data.isel(rung=[0, -1])
    errors = abs(outer["released_eigenvalue"] / outer["eigenvalue"].sel(edit=SINK) - 1)
    return errors.max(("rung", "end"), skipna=False)


@figure_6.beyond.typically(SET, NEARLY, id="released-product-has-the-density")
def released_density(data: xr.Dataset) -> xr.DataArray:
    """The released product has nearly the same density at the strongest sink.

    Statistic: largest difference of the two cumulative densities, from the same random vectors and
    equally smoothed, mean over seeds; interval: Student's t.
    """
    apart = smoothed(data, "cdf", "released_") - smoothed(data, "cdf")
    return abs(apart).max("point", skipna=False)

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
from hessian_papers.ledger.conditions import ANY_STATE, in_use
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.gpt2.seeds import AS_TRAINED, recorded
from hessian_papers.studies.gpt2.sink_density.derived import NO_SINK, SINK, ladder, smoothed

SAID = 'Section 4.3, "Attention Sinks Amplify Outlier Eigenvalues"'
SET = "Appendix D.1.6"
CONTROL = "our control"
OURS = "ours"
NEARLY = within(0.01, "one per cent would not be visible in a figure", source=OURS)
GROWTH = at_least(0.0, "the sign of a growth")
MORE = "the sign of a difference"
# An eigenvalue of at most this share of the largest magnitude counts as close to zero.
NEAR = 0.01

SMALL = (
    "The paper has one model of 124M parameters, whose unedited attention on the first "
    "token is 0.32, and no interval. Smaller models differ after shorter training. In some, "
    "sinks move the largest eigenvalue by a third, in others by a few per cent, and not "
    "always upwards."
)
statements = Statements(
    values={
        "largest": "largest eigenvalue",
        "smallest": "most negative eigenvalue",
        "range": "range of the spectrum",
        "ggn": "largest eigenvalue of the Gauss-Newton matrix",
        "middle-token": "the same attention on a token in the middle",
        "random-weights": "random changes of the weights with the same rise of the loss",
    },
)
figure_6 = statements.about("singh2026cracking", "Figure 6").having(otherwise=SMALL)
# A sink is a part of attention: what the paper says of sinks is said of networks that use it.
of_sinks = figure_6.having(state=in_use("attention"))
ours = figure_6.beyond.having(state=AS_TRAINED)


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
    state=ANY_STATE,
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


SIZES = ("largest", "smallest", "range")


def _grown(data: xr.Dataset, size: str) -> xr.DataArray:
    """``ln`` of the ratio of a size of the spectrum with the strongest sink to that without."""
    if size == "range":
        ends = data["eigenvalue"].sel(edit=SINK)
        return _growth(ends.sel(end="largest") - ends.sel(end="smallest"))
    if size == "ggn":
        return _growth(recorded(data, "ggn", "the Gauss-Newton matrix of each sink"))
    return _growth(_relative(data.sel(end=size)))


@of_sinks.typically(
    SAID,
    GROWTH,
    id="sinks-amplify-outliers",
    each=lambda data: [{"size": name} for name in SIZES],
    name="outliers-grow-{size}",
)
def outliers_grow(data: xr.Dataset, size: str) -> xr.DataArray:
    """The more prominent the attention sink, the larger the outliers: it stretches the spectrum.

    Statistic: natural logarithm of the ratio of an extreme eigenvalue, or of the range, with the
    strongest sink to that without edit, mean over seeds; interval: Student's t.
    """
    return _grown(data, size)


@ours.typically(
    SAID,
    GROWTH,
    id="forced-sinks-enlarge-the-spectrum",
    each=lambda data: [{"size": name} for name in (*SIZES, "ggn")],
    name="forced-sinks-{size}",
)
def forced_sinks(data: xr.Dataset, size: str) -> xr.DataArray:
    """A forced sink on the first token enlarges the spectrum of the Hessian, and of the
    Gauss-Newton matrix, whether or not the network uses attention.

    Statistic: natural logarithm of the ratio of a size with the strongest sink to that without
    edit, mean over seeds; interval: Student's t.
    """
    return _grown(data, size)


@ours.typically(
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


@of_sinks.beyond.typically(
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


@of_sinks.typically(SAID, reading_of("many"), id="many-eigenvalues-stay-near-zero")
def many_near_zero(data: xr.Dataset) -> xr.DataArray:
    """Many eigenvalues stay close to zero at the strongest sink.

    Statistic: fraction of all eigenvalues within a hundredth of the largest magnitude from zero,
    mean over seeds; interval: Student's t.
    """
    last = data.isel(rung=-1)
    scale = abs(last["eigenvalue"].sel(edit=SINK)).max("end")
    close = abs(last["node"]) <= NEAR * scale
    return xr.dot(last["weight"], close, dim="rank").mean("probe")


@of_sinks.printed(SET, equal_to(0.32, "a tenth of it", tolerance=0.03), id="training-makes-a-sink")
def own_sink(data: xr.Dataset) -> xr.DataArray:
    """Training alone forms a sink: without an edit, the mean attention on the first token in the
    edited heads is 0.32.

    Statistic: mean over seeds; interval: Student's t.
    """
    return data["mass"].sel(edit=SINK).isel(rung=0)


released = figure_6.beyond.typically(
    SET, NEARLY, id="released-product-has-the-extreme-eigenvalues", state=ANY_STATE
)


@released
def released_edges(data: xr.Dataset) -> xr.DataArray:
    """The paper's figure was made with a library whose product is wrong for the weights of layer
    norms. That product has nearly the same extreme eigenvalues.

    Statistic: largest relative error of the two, without an edit and with the strongest, mean over
    seeds; interval: Student's t.
    """
    outer = data.isel(rung=[0, -1])
    errors = abs(outer["released_eigenvalue"] / outer["eigenvalue"].sel(edit=SINK) - 1)
    return errors.max(("rung", "end"), skipna=False)


@released
def released_density(data: xr.Dataset) -> xr.DataArray:
    """The released product has nearly the same density at the strongest sink.

    Statistic: largest difference of the two cumulative densities, from the same random vectors and
    equally smoothed, mean over seeds; interval: Student's t.
    """
    apart = smoothed(data, "cdf", "released_") - smoothed(data, "cdf")
    return abs(apart).max("point", skipna=False)

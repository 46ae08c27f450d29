"""Statements of wu2022dissecting on layer-wise Hessians and the decoupling conjecture."""

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import NothingToMeasure, at_least, at_most
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.verdicts import everywhere, exists, printed, typically
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.layerwise.decoupling import architectures
from hessian_papers.studies.layerwise.decoupling.derived import frobenius, outliers
from hessian_papers.studies.layerwise.decoupling.tables import QUANTITIES, cases, printed_range
from hessian_papers.studies.layerwise.layers import NORMALISED, normalised, own_layers, plain

# A bound's reason, and why a claim may differ.
OPEN = "the paper leaves open how much; chosen after a first look at small networks on digits"
SMALL = (
    "The paper has networks of hundreds of neurons, trained for 1000 epochs on MNIST or "
    "CIFAR-10. In small networks, and early in training, the inputs of a layer vary as much "
    "as their mean."
)

statements = Statements(
    values={
        "output": "output Hessian $E[M]$",
        "hessian": "layer-wise Hessian",
        "aligned": (
            "the squared dot product of the first eigenvector of $E[x x']$ and the mean input"
        ),
        "ratio": "$λ_1/λ_2$ of $E[x x']$",
        "nearest": "the nearest Kronecker product",
        "corrected": "EKFAC's matrix",
        "fc": "fully connected",
        "conv": "convolutional",
    }
).having(otherwise=SMALL)
true_labels = statements.about("wu2022dissecting", "Figure 2", "Figure 11", "Figure 28")
random_labels = statements.about("wu2022dissecting", "Figure 3")
beyond = statements.having(book="beyond")
without = true_labels.having(over={"network": plain})
with_batch_norm = true_labels.having(over={"network": normalised})


@statements.statement(
    "section 3, decoupling conjecture",
    typically,
    at_most(0.5, OPEN, source="ours"),
    id="kronecker-form-is-near-the-hessian",
    over=["network"],
    book="readings",
)
def conjecture(data: xr.Dataset) -> xr.DataArray:
    """The layer-wise Hessian is nearly the Kronecker product of two expectations.

    Statistic: spectral norm of the difference over that of the Hessian, in the layer where it is
    largest, mean over seeds; interval: Student's t.
    """
    return own_layers(data)["spectral"].max("layer", skipna=False)


@beyond.statement(
    "section 4, beyond the paper",
    typically,
    at_most(0.0, "a sign: the theorems concern networks before training", source="ours"),
    id="error-is-smaller-before-training",
    over={"network": architectures.followed},
)
def error_before_training(data: xr.Dataset) -> xr.DataArray:
    """The product's error is smaller before training than after.

    Statistic: its Frobenius norm over the Hessian's, mean over layers, before training minus after;
    mean over seeds; interval: Student's t.
    """
    return (_frobenius(data.sel(epoch=0)) - _frobenius(data.isel(epoch=-1))).mean("layer")


def _frobenius(data: xr.Dataset, name: str = "missed") -> xr.DataArray:
    """The relative error of a product in the Frobenius norm, for each layer of a network."""
    return _known(frobenius(own_layers(data), name))


def _known(values: xr.DataArray) -> xr.DataArray:
    """The quantity, where it is known of all.

    Raises:
        NothingToMeasure: one is no number, as of a Hessian that is zero.
    """
    if not np.isfinite(values).all():
        raise NothingToMeasure("this configuration has a layer whose Hessian is zero")
    return values


@without.statement(
    "section 5.1, Figure 2",
    typically,
    reading_of("nearly"),
    id="kronecker-form-has-the-top-eigenvalues",
)
def top_values(data: xr.Dataset) -> xr.DataArray:
    """The product has nearly the Hessian's top eigenvalues.

    Statistic: mean relative error of the top $c - 1$, with c classes, in the layer where it is
    largest, mean over seeds; interval: Student's t.
    """
    return _largest_error(_top(data), _top(data)["approximation"])


def _top(data: xr.Dataset) -> xr.Dataset:
    """The layers of a network with the first ``c − 1`` of their eigenpairs."""
    return own_layers(data).isel(rank=slice(outliers(data)))


def _largest_error(top: xr.Dataset, predicted: xr.DataArray) -> xr.DataArray:
    """The mean relative error of predicted top eigenvalues, in the layer with the largest.

    Layers of fewer than ``c − 1`` outputs are left out: their E[M] has fewer eigenvalues.
    """
    wide = (top["outputs"] >= top.sizes["rank"]).values
    errors = abs(predicted / top["hessian"] - 1).isel(layer=wide)
    return _known(errors.mean("rank", skipna=False)).max("layer")


@without.statement(
    "section 5.1, Figure 2",
    typically,
    at_least(0.5, OPEN, source="ours"),
    id="kronecker-form-has-the-top-eigenspace",
    book="readings",
)
def top_space(data: xr.Dataset) -> xr.DataArray:
    """The product has nearly the Hessian's top eigenspace.

    Statistic: overlap of the top $c - 1$ spaces, with c classes, in the layer where it is smallest,
    mean over seeds; interval: Student's t.
    """
    return _overlap(data).min("layer")


def _overlap(data: xr.Dataset, name: str = "overlap") -> xr.DataArray:
    """The overlap of the top ``c − 1`` spaces in each layer of a network.

    Raises:
        NothingToMeasure: the study has fewer eigenvectors, or was run before this was measured.
    """
    if name not in data:
        raise NothingToMeasure("this run has no such product's top eigenspace")
    return _top(data)[name].isel(rank=-1)


@with_batch_norm.statement(
    "appendix G.4, Figure 28",
    exists,
    at_least(10.0, "'highly nontrivial' is taken as ten times the value by chance", source="ours"),
    id="overlap-with-normalisation-is-no-chance",
    book="readings",
)
def top_space_is_no_chance(data: xr.Dataset) -> xr.DataArray:
    """With batch normalisation the top eigenspaces of the product and the Hessian still have a
    highly nontrivial overlap.

    Statistic: overlap of the top $c - 1$ spaces, with c classes, over that of random spaces; in the
    layer where it is smallest, mean over seeds; interval: Student's t.
    """
    layers = own_layers(data)
    chance = outliers(data) / (layers["outputs"] * layers["inputs"])
    return (_overlap(data) / chance).min("layer")


@true_labels.statement(
    "appendix G.4, Figure 28",
    exists,
    at_least(0.0, "a sign"),
    id="kronecker-form-is-worse-with-normalisation",
    each=architectures.pairs,
)
def worse_with_normalisation(data: xr.Dataset, network: str) -> xr.DataArray:
    """With batch normalisation the product captures less of the Hessian's top eigenspace.

    Statistic: overlap of the top $c - 1$ spaces, with c classes, mean over layers, without
    normalisation minus with it; mean over seeds; interval: Student's t.
    """
    overlap = [_overlap(data.sel(network=network + end)).mean("layer") for end in ("", NORMALISED)]
    return overlap[0] - overlap[1]


@statements.statement(
    "section 5.2", typically, reading_of("nearly"), id="spectra-look-alike", over={"network": plain}
)
def spectra_alike(data: xr.Dataset) -> xr.DataArray:
    """The Hessian's top eigenvalues are those of $E[M]$ times the first of $E[x x']$.

    Statistic: mean relative error of the top $c - 1$, with c classes, in the layer where it is
    largest, mean over seeds. Layers with fewer than $c - 1$ outputs are left out; interval:
    Student's t.
    """
    top = _top(data.isel(epoch=-1))
    return _largest_error(top, top["output"] * top["input"].isel(rank=0))


@true_labels.statement(
    "section 5.2, Figure 3(a, b)",
    typically,
    at_least(0.5, "more than half of the layers; the paper shows some"),
    id="gap-after-the-classes",
    each=architectures.with_true_labels,
)
def gap_after_classes(data: xr.Dataset, network: str, matrix: str) -> xr.DataArray:
    """Output Hessian and layer-wise Hessian have their eigengap after $c - 1$ eigenvalues, with c
    classes.

    Statistic: fraction of layers with more than c outputs where the largest ratio of neighbours
    among the first $2(c - 1)$ is after $c - 1$; mean over seeds; interval: Student's t.
    """
    return _gap(data, network, matrix)


@random_labels.statement(
    "section 5.2, Figure 3(c)",
    exists,
    at_most(0.5, "less than half of the layers; the paper shows one"),
    id="no-gap-with-random-labels",
    each=architectures.with_random_labels,
    otherwise="The networks may not be at a minimum, or may have enough weights for all labels.",
)
def no_gap_after_classes(data: xr.Dataset, network: str, matrix: str) -> xr.DataArray:
    """With random labels there is no eigengap after $c - 1$ eigenvalues, with c classes.

    Statistic: fraction of layers with more than c outputs where the largest ratio of neighbours
    among the first $2(c - 1)$ is after $c - 1$; mean over seeds; interval: Student's t.
    """
    return _gap(data, network, matrix)


def _gap(data: xr.Dataset, network: str, matrix: str) -> xr.DataArray:
    """The share of layers in which the largest gap is after ``c − 1`` eigenvalues."""
    last = data.sel(network=network).isel(epoch=-1)
    return (gaps(last, matrix) == outliers(last)).mean("layer")


def gaps(data: xr.Dataset, matrix: str) -> xr.DataArray:
    """After how many eigenvalues the largest gap among the first ``2 (c − 1)`` is.

    The gap after i is ``λ_i / λ_{i+1}``. Layers of no more than c outputs are left out, whose
    output Hessian has no eigenvalue after those; the last one is among them.

    Args:
        data: of a network.
        matrix: the variable with the eigenvalues, descending.

    Raises:
        NothingToMeasure: there is no such layer, or there are not so many eigenvalues.
    """
    count, layers = outliers(data), own_layers(data)
    wide = (layers["outputs"] > count + 1).values
    first = layers[matrix].isel(layer=wide, rank=slice(2 * count + 1)).astype(float)
    largest = first.isel(rank=0)
    if first.sizes["rank"] < count + 2 or not first.size or not largest.all():
        raise NothingToMeasure(f"this configuration has no eigenvalues after the {count}-th")
    # Below this there is but the round-off of float32.
    floored = first.clip(min=1e-7 * largest)
    ratios = floored.isel(rank=slice(-1)) / floored.isel(rank=slice(1, None))
    # The last of fewer eigenvalues is no gap.
    return ratios.fillna(0.0).argmax("rank") + 1


@without.statement(
    "appendix G.2, Figure 21",
    typically,
    reading_of("usually"),
    id="eigenvectors-are-nearly-of-rank-one",
)
def eigenvectors_are_products(data: xr.Dataset) -> xr.DataArray:
    """Matricised, the top eigenvectors are nearly of rank one: their largest singular value exceeds
    half of their Frobenius norm.

    Statistic: fraction of eigenvectors and layers for which it does, mean over seeds; interval:
    Student's t.
    """
    ratios, each = own_layers(data)["rank_one"], ("layer", "rank")
    return (ratios > 0.5).sum(each) / ratios.notnull().sum(each)


@without.statement(
    "appendix F.3, Figures 11 to 15",
    everywhere,
    at_least(0.5, "more than half of each", source="ours"),
    id="eigenvectors-lie-along-the-mean-input",
    book="readings",
)
def along_the_mean(data: xr.Dataset) -> xr.DataArray:
    """The top eigenvectors lie along the first eigenvector of $E[x x']$.

    Statistic: their correspondence with it, mean over the top $c - 1$, with c classes, in the layer
    where it is smallest; mean over seeds; interval: Student's t.
    """
    return _top(data)["along_first"].mean("rank").min("layer")


@without.statement(
    "section 3.1, Tables 6, 7",
    typically,
    at_least(0.91, "the smallest in Tables 6 and 7 is 0.910", source="Table 7"),
    id="first-eigenvector-is-the-mean-input",
)
def first_input_is_the_mean(data: xr.Dataset) -> xr.DataArray:
    """The first eigenvector of $E[x x']$ is the mean input.

    Statistic: squared dot product of the two, in the layer (excluding the first) where it is
    smallest, mean over seeds; interval: Student's t.
    """
    return own_layers(data)["mean_aligned"].isel(layer=slice(1, None)).min("layer")


@without.statement(
    "section 3.1, appendix F.4, Figure 19",
    everywhere,
    at_least(1.81, "the smallest in Tables 6 and 7", source="Table 7"),
    id="input-is-of-rank-one-throughout",
)
def input_is_of_rank_one(data: xr.Dataset) -> xr.DataArray:
    """Throughout training $E[x x']$ is nearly of rank one.

    Statistic: its first eigenvalue over the second, in the layer (excluding the first) and at the
    kept epoch where it is smallest; mean over seeds; interval: Student's t.
    """
    values = own_layers(data)["input"].isel(layer=slice(1, None))
    return _known(values.isel(rank=0) / values.isel(rank=1)).min(("epoch", "layer"))


@without.statement(
    "appendix F.4, Figure 20",
    everywhere,
    at_least(0.5, "more than half, where the paper has all epochs of a layer", source="ours"),
    id="as-many-large-eigenvalues-as-classes-throughout",
    book="readings",
)
def output_has_as_many_as_classes(data: xr.Dataset) -> xr.DataArray:
    """Throughout training $E[M]$ has around as many large eigenvalues as there are classes.

    Statistic: fraction of kept epochs and layers in which the largest ratio of neighbours comes
    after $c - 2$ to $c + 1$ eigenvalues; mean over seeds. Only layers with more outputs than the c
    classes count; interval: Student's t.
    """
    beyond = gaps(data, "output") - outliers(data)
    return ((beyond >= -1) & (beyond <= 2)).mean(("epoch", "layer"))


@with_batch_norm.statement(
    "appendix G.4, Table 9",
    typically,
    at_most(0.803, "the largest in Table 9", source="Table 9"),
    id="first-eigenvector-is-no-mean-after-normalisation",
)
def mean_is_gone(data: xr.Dataset) -> xr.DataArray:
    """With batch normalisation the first eigenvector of $E[x x']$ is not the mean input.

    Statistic: squared dot product of the two, in the fully connected layer (excluding the first)
    where it is largest, mean over seeds; interval: Student's t.
    """
    return of_kind(data, "mean_aligned", "fc").max("layer")


def of_kind(data: xr.Dataset, name: str, kind: str) -> xr.DataArray:
    """A number of a network's layers of a kind, ``fc`` or ``conv``, but the first.

    Raises:
        NothingToMeasure: there is none, or it is not known.
    """
    values = own_layers(data)[name].isel(layer=slice(1, None))
    chosen = values["layer"].str.startswith(kind)
    if not chosen.any():
        raise NothingToMeasure(f"{data['network'].item()} has no such layer")
    return _known(values.isel(layer=chosen.values))


@with_batch_norm.statement(
    "appendix G.4, Table 9",
    typically,
    at_most(1.89, "the largest in Table 9", source="Table 9"),
    id="input-is-far-from-rank-one-after-normalisation",
)
def rank_one_is_gone(data: xr.Dataset) -> xr.DataArray:
    """With batch normalisation $E[x x']$ is not nearly of rank one.

    Statistic: its first eigenvalue over the second, in the fully connected layer (excluding the
    first) where it is largest, mean over seeds; interval: Student's t.
    """
    return of_kind(data, "spectral_ratio", "fc").max("layer")


@true_labels.statement(
    "appendices F.1 and G.4, Table {table}",
    printed,
    printed_range,
    id="table-{table}",
    each=cases,
    name="table-{table}-{dataset}-{network}-{kind}-{quantity}",
)
def row_of_a_table(
    data: xr.Dataset, network: str, kind: str, quantity: str, **row: object
) -> xr.DataArray:
    """The printed ranges hold for $λ_1/λ_2$ of $E[xx^⊤]$ and its first eigenvector's squared dot
    product with the mean input, in the layers after the first.

    Statistic: mean over layers and seeds; interval: Student's t over seeds.
    """
    return of_kind(data.sel(network=network), QUANTITIES[quantity], kind).mean("layer")


@beyond.statement(
    "section 3, beyond the paper",
    typically,
    at_most(1.5, "half as much again", source="ours: what any Kronecker product can reach"),
    id="hardly-another-product-is-nearer",
    over=["network"],
)
def nearly_the_nearest(data: xr.Dataset) -> xr.DataArray:
    """Hardly any other Kronecker product comes closer to the Hessian.

    Statistic: its distance over that of the nearest product, in the Frobenius norm, in the layer
    where it is largest; mean over seeds; interval: Student's t.
    """
    last = data.isel(epoch=-1)
    return (_frobenius(last) / _frobenius(last, "nearest_missed")).max("layer", skipna=False)


@beyond.statement(
    "section 3, beyond the paper",
    typically,
    at_most(0.1, "a tenth", source="ours: the gain from using the other matrix"),
    id="other-matrices-have-no-more-of-the-top",
    each=architectures.others,
)
def has_no_more_of_the_top(data: xr.Dataset, network: str, other: str) -> xr.DataArray:
    """The nearest Kronecker product and EKFAC's matrix capture hardly more of the Hessian's top
    eigenspace than KFAC's product of the expectations.

    Statistic: difference of their overlaps, for the top $c - 1$ eigenvectors, with c classes, mean
    over layers and seeds; interval: Student's t.
    """
    own = data.sel(network=network)
    return (_overlap(own, f"{other}_overlap") - _overlap(own)).mean("layer")

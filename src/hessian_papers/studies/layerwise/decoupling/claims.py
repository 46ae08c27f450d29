"""Statements of wu2022dissecting on layer-wise Hessians and the decoupling conjecture."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import at_least, at_most, needs
from hessian_papers.ledger.conditions import ANY_STATE, THROUGHOUT_TRAINING
from hessian_papers.ledger.statements import Labels, Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.layerwise.decoupling import architectures
from hessian_papers.studies.layerwise.decoupling.architectures import layers, layers_at
from hessian_papers.studies.layerwise.decoupling.derived import outliers
from hessian_papers.studies.layerwise.decoupling.tables import QUANTITIES, cases, printed_range
from hessian_papers.studies.layerwise.layers import NORMALISED, normalised, own_layers, plain
from hessian_papers.studies.layerwise.standing import NEAR_A_MINIMUM

# Why a claim may differ.
SMALL = (
    "The paper has networks of hundreds of neurons, trained for 1000 epochs on MNIST or "
    "CIFAR-10. In small networks, and early in training, the inputs of a layer vary as much "
    "as their mean."
)
TABLE_7 = (
    "Table 7 has 15.87 for LeNet5. Neither longer training nor another initialisation gave as "
    "much in our trials, nor did three other readings of 'input'."
)

statements = Statements(
    values={
        "output": "output Hessian $E[M]$",
        "hessian": "layer-wise Hessian",
        "aligned": (
            "the squared dot product of the first eigenvector of $E[x x']$ and the mean input"
        ),
        "ratio": "$λ_1/λ_2$ of $E[x x']$",
        "fc": "fully connected",
        "conv": "convolutional",
        "first": "input layer",
        "later": "layers after it",
    }
).having(otherwise=SMALL, state=NEAR_A_MINIMUM, shown=("network", "kind", "place"))
true_labels = statements.about("wu2022dissecting", "Figure 2", "Figure 11", "Figure 28")
random_labels = statements.about("wu2022dissecting", "Figure 3")
in_print = partial(layers, networks=architectures.in_print)
with_normalisation = partial(layers, networks=normalised)
after_the_input = partial(in_print, places=("later",))


def conjecture(data: xr.Dataset, **case: str) -> xr.DataArray:
    """In {kind} layers the Hessian is approximately the Kronecker product of two expectations.

    Statistic: spectral norm of the difference over that of the Hessian, in the layer where it is
    largest, mean over seeds; interval: Student's t.
    """
    return _known(layers_at(data, **case)["spectral"]).max("layer")


for _kind, _id, _place in (
    ("fc", "", "section 3, decoupling conjecture, equation (3)"),
    ("conv", "-of-convolutions", "appendix A.2, equations (31) to (35)"),
):
    statements.left_open(
        _place,
        reading_of("approximately"),
        id=f"kronecker-form-is-near-the-hessian{_id}",
        each=partial(in_print, kinds=(_kind,)),
        state=ANY_STATE,
    )(conjecture)


def _known(values: xr.DataArray) -> xr.DataArray:
    """The quantity, where it is known of all.

    Raises:
        NothingToMeasure: one is no number, as of a Hessian that is zero.
    """
    needs(np.isfinite(values).all(), "this configuration has a layer whose Hessian is zero")
    return values


@true_labels.typically(
    "section 5.1, Figure 2",
    reading_of("nearly"),
    id="kronecker-form-has-the-top-eigenvalues",
    each=partial(in_print, beyond_classes=-1),
)
def top_values(data: xr.Dataset, **case: str) -> xr.DataArray:
    """The product has nearly the Hessian's top eigenvalues.

    Statistic: mean relative error of the top $c - 1$, with c classes, mean over layers and seeds;
    interval: Student's t.
    """
    top = _top(data, **case)
    return _mean_error(top, top["approximation"])


def _top(data: xr.Dataset, **case: str) -> xr.Dataset:
    """Layers with the first ``c − 1`` of their eigenpairs."""
    count = outliers(data.sel(network=case["network"]))
    return layers_at(data, **case).isel(rank=slice(count))


def _mean_error(top: xr.Dataset, predicted: xr.DataArray) -> xr.DataArray:
    """The mean relative error of predicted top eigenvalues, over layers.

    Layers of fewer than ``c − 1`` outputs are left out: their E[M] has fewer eigenvalues.
    """
    wide = (top["outputs"] >= top.sizes["rank"]).values
    errors = abs(predicted / top["hessian"] - 1).isel(layer=wide)
    return _known(errors.mean("rank", skipna=False)).mean("layer")


@true_labels.typically(
    "section 5.1, Figure 2",
    reading_of("well"),
    id="kronecker-form-has-the-top-eigenspace",
    each=partial(layers, networks=plain),
    elsewhere=lambda case: case["network"] not in architectures.IN_PRINT,
)
def top_space(data: xr.Dataset, **case: str) -> xr.DataArray:
    """The product works well on the Hessian's top eigenspace.

    Statistic: overlap of the top $c - 1$ spaces, with c classes, mean over layers and seeds;
    interval: Student's t.

    Remark: LeNet5 is at no minimum here. At a minimum of 4000 photographs its fully connected
    layers share less than half of the space, as a statement of ours has it.
    """
    return _overlap(data, **case).mean("layer")


def _overlap(data: xr.Dataset, **case: str) -> xr.DataArray:
    """The overlap of the top ``c − 1`` spaces in each of some layers."""
    return _top(data, **case)["overlap"].isel(rank=-1)


@true_labels.exists(
    "appendix G.4, Figure 28",
    at_least(10.0, "'highly nontrivial' is taken as ten times the value by chance", source="ours"),
    id="overlap-with-normalisation-is-no-chance",
    each=with_normalisation,
    book="readings",
)
def top_space_is_no_chance(data: xr.Dataset, **case: str) -> xr.DataArray:
    """With batch normalisation the top eigenspaces of the product and the Hessian still have a
    highly nontrivial overlap.

    Statistic: overlap of the top $c - 1$ spaces, with c classes, over that of random spaces; in the
    layer where it is smallest, mean over seeds; interval: Student's t.
    """
    top = _top(data, **case)
    chance = top.sizes["rank"] / (top["outputs"] * top["inputs"])
    return (_overlap(data, **case) / chance).min("layer")


@true_labels.exists(
    "appendix G.4, Figure 28",
    at_least(0.0, "a sign"),
    id="kronecker-form-is-worse-with-normalisation",
    each=partial(layers, networks=architectures.paired),
)
def worse_with_normalisation(data: xr.Dataset, network: str, **case: str) -> xr.DataArray:
    """With batch normalisation the product captures less of the Hessian's top eigenspace.

    Statistic: overlap of the top $c - 1$ spaces, with c classes, mean over layers, without
    normalisation minus with it; mean over seeds; interval: Student's t.
    """
    names = (network, network + NORMALISED)
    without, normed = (_overlap(data, network=name, **case).mean("layer") for name in names)
    return without - normed


@statements.typically(
    "section 5.2",
    reading_of("nearly"),
    id="spectra-look-alike",
    each=partial(in_print, beyond_classes=-1),
)
def spectra_alike(data: xr.Dataset, **case: str) -> xr.DataArray:
    """The Hessian's top eigenvalues are those of $E[M]$ times the first of $E[x x']$.

    Statistic: mean relative error of the top $c - 1$, with c classes, mean over seeds and over the
    layers with at least $c - 1$ outputs; interval: Student's t.
    """
    top = _top(data.isel(epoch=-1), **case)
    return _mean_error(top, top["output"] * top["input"].isel(rank=0))


@true_labels.typically(
    "section 5.2, Figure 3(a, b)",
    at_least(0.5, "more than half of the layers; the paper shows some"),
    id="gap-after-the-classes",
    each=partial(architectures.matrices, random=False),
    shown=("matrix", "network", "kind", "place"),
)
def gap_after_classes(data: xr.Dataset, matrix: str, **case: str) -> xr.DataArray:
    """Output Hessian and layer-wise Hessian have their eigengap after $c - 1$ eigenvalues, with c
    classes.

    Statistic: fraction of layers with more than c outputs where the largest ratio of neighbours
    among the first $2(c - 1)$ is after $c - 1$; mean over seeds; interval: Student's t.
    """
    return _gap(data, matrix, **case)


def _output_hessians(data: xr.Dataset) -> list[Labels]:
    """The output Hessians of random labels: a first layer's has no gap with true ones either."""
    own = architectures.matrices(data, random=True)
    return [case for case in own if case["matrix"] == "output"]


@random_labels.exists(
    "section 5.2, Figure 3(c)",
    at_most(0.5, "less than half of the layers; the paper shows one"),
    id="no-gap-with-random-labels",
    each=_output_hessians,
    shown=("matrix", "network", "kind", "place"),
)
def no_gap_after_classes(data: xr.Dataset, matrix: str, **case: str) -> xr.DataArray:
    """At a minimum with random labels, of an under-parametrised network, the output Hessian has no
    eigengap after $c - 1$ eigenvalues, with c classes.

    Statistic: fraction of layers with more than c outputs where the largest ratio of neighbours
    among the first $2(c - 1)$ is after $c - 1$; mean over seeds; interval: Student's t.
    """
    return _gap(data, matrix, **case)


def _gap(data: xr.Dataset, matrix: str, **case: str) -> xr.DataArray:
    """The share of layers in which the largest gap is after ``c − 1`` eigenvalues."""
    last = data.isel(epoch=-1)
    count = outliers(last.sel(network=case["network"]))
    return (gaps(layers_at(last, **case), matrix, count) == count).mean("layer")


def gaps(own: xr.Dataset, matrix: str, count: int) -> xr.DataArray:
    """The number of eigenvalues before the largest gap among the first ``2 (c − 1)``.

    The gap after i is ``λ_i / λ_{i+1}``. Layers of no more than c outputs are left out, whose
    output Hessian has no eigenvalue after those; the last one is among them.

    Args:
        own: layers of a network.
        matrix: the variable with the eigenvalues, descending.
        count: ``c − 1``.

    Raises:
        NothingToMeasure: there is no such layer, or there are not so many eigenvalues.
    """
    wide = (own["outputs"] > count + 1).values
    first = own[matrix].isel(layer=wide, rank=slice(2 * count + 1)).astype(float)
    largest = first.isel(rank=0)
    further = first.sizes["rank"] >= count + 2 and first.size and largest.all()
    needs(further, f"this configuration has no eigenvalues after the {count}-th")
    # Below this there is but the round-off of float32.
    floored = first.clip(min=1e-7 * largest)
    ratios = floored.isel(rank=slice(-1)) / floored.isel(rank=slice(1, None))
    # The last of fewer eigenvalues is no gap.
    return ratios.fillna(0.0).argmax("rank") + 1


@true_labels.typically(
    "appendix G.2, Figure 21",
    reading_of("usually"),
    id="eigenvectors-are-nearly-of-rank-one",
    each=in_print,
)
def eigenvectors_are_products(data: xr.Dataset, **case: str) -> xr.DataArray:
    """Matricised, the top eigenvectors are nearly of rank one: their largest singular value exceeds
    half of their Frobenius norm.

    Statistic: fraction of eigenvectors and layers for which it does, mean over seeds; interval:
    Student's t.
    """
    ratios, each = layers_at(data, **case)["rank_one"], ("layer", "rank")
    return (ratios > 0.5).sum(each) / ratios.notnull().sum(each)


@true_labels.everywhere(
    "appendix F.3, Figures 11 to 18",
    reading_of("strongly"),
    id="eigenvectors-lie-along-the-mean-input",
    each=in_print,
)
def along_the_mean(data: xr.Dataset, **case: str) -> xr.DataArray:
    """In all layers the top eigenvectors correlate strongly with the first eigenvector of
    $E[x x']$.

    Statistic: their correspondence with it, mean over the top $c - 1$, with c classes, in the layer
    where it is smallest; mean over seeds; interval: Student's t.
    """
    return _top(data, **case)["along_first"].mean("rank").min("layer")


@true_labels.typically(
    "section 3.1 and appendix F.1, Tables 6 and 7",
    reading_of("nearly"),
    id="first-eigenvector-is-the-mean-input",
    each=after_the_input,
)
def first_input_is_the_mean(data: xr.Dataset, **case: str) -> xr.DataArray:
    """In layers after the input the first eigenvector of $E[x x']$ is nearly the mean input.

    Statistic: 1 minus the squared dot product of the two, mean over layers and seeds; interval:
    Student's t.
    """
    return (1 - layers_at(data, **case)["mean_aligned"]).mean("layer")


@true_labels.everywhere(
    "section 3.1, appendix F.4, Figure 19",
    reading_of("approximately"),
    id="input-is-of-rank-one-throughout",
    state=THROUGHOUT_TRAINING,
    each=partial(after_the_input, kinds=("fc",)),
    shown=("network",),
)
def input_is_of_rank_one(data: xr.Dataset, **case: str) -> xr.DataArray:
    """Throughout training $E[x x']$ of layers after the input is approximately of rank one.

    Statistic: $λ_2/λ_1$, its distance in the spectral norm from a matrix of rank one, relative to
    its own norm. It is taken in the layer and at the kept epoch where it is largest; mean over
    seeds; interval: Student's t.
    """
    values = layers_at(data, **case)["input"]
    return _known(values.isel(rank=1) / values.isel(rank=0)).max(("epoch", "layer"))


@true_labels.everywhere(
    "appendix F.4, Figure 20",
    at_least(0.5, "more than half, where the paper has all epochs of a layer", source="ours"),
    id="as-many-large-eigenvalues-as-classes-throughout",
    each=partial(in_print, beyond_classes=1),
    state=THROUGHOUT_TRAINING,
    book="readings",
)
def output_has_as_many_as_classes(data: xr.Dataset, **case: str) -> xr.DataArray:
    """Throughout training $E[M]$ has around as many large eigenvalues as there are classes.

    Statistic: fraction of kept epochs and layers in which the largest ratio of neighbours comes
    after $c - 2$ to $c + 1$ eigenvalues; mean over seeds. Only layers with more outputs than the c
    classes count; interval: Student's t.
    """
    count = outliers(data.sel(network=case["network"]))
    more = gaps(layers_at(data, **case), "output", count) - count
    return ((more >= -1) & (more <= 2)).mean(("epoch", "layer"))


def _shown_layers(data: xr.Dataset, *, kind: str) -> Iterator[Labels]:
    """The layers of the tables' networks of which the shares of all eigenvectors are known."""
    for shown in data["shown"].values.tolist() if "shown" in data.dims else ():
        layer, _, network = shown.partition(":")
        if ("conv" in layer) == (kind == "conv") and network in architectures.in_print(data):
            yield {"network": network, "layer": layer}


TWICE = "twice the value by chance; the paper has pictures"


@true_labels.exists(
    "appendix F.3, Figures 11 and 12",
    at_least(2.0, TWICE, source="ours"),
    id="eigenvectors-go-one-by-one-with-those-of-the-output-hessian",
    each=partial(_shown_layers, kind="fc"),
    shown=("network", "layer"),
)
def one_by_one(data: xr.Dataset, network: str, layer: str) -> float:
    """The top eigenvectors of a fully connected layer's Hessian go one by one with those of
    $E[M]$, along a diagonal.

    Statistic: how much of the i-th eigenvector lies along the i-th one of $E[M]$ and its
    neighbours, over that by chance; mean over the i that are known, up to the m outputs; of one
    network.
    """
    outputs = int(own_layers(data.sel(network=network)).sel(layer=layer)["outputs"])
    shares = data["output_share"].sel(shown=f"{layer}:{network}").transpose("rank", "direction")
    known = shares.values[:outputs, :outputs]
    near = abs(np.subtract.outer(*map(np.arange, known.shape))) <= 1
    return float(known[near].sum() * outputs / near.sum())


@true_labels.exists(
    "appendix F.3, Figures 14 and 15",
    at_most(2.0, TWICE, source="ours"),
    id="convolutions-have-no-diagonal",
    each=partial(_shown_layers, kind="conv"),
    shown=("network", "layer"),
)
def no_diagonal(data: xr.Dataset, network: str, layer: str) -> float:
    """In convolutions the top eigenvectors do not go one by one with those of $E[M]$.

    Statistic: how much of the i-th eigenvector lies along the i-th one of $E[M]$ and its
    neighbours, over that by chance; mean over i up to the m outputs; of one network.
    """
    return one_by_one(data, network, layer)


@true_labels.typically(
    "appendix G.4, Figure 26",
    reading_of("nearly", relation=">="),
    id="input-is-far-from-rank-one-with-normalisation",
    each=partial(with_normalisation, kinds=("fc",), places=("later",)),
)
def far_from_rank_one(data: xr.Dataset, **case: str) -> xr.DataArray:
    """After batch normalisation $E[x x']$ is far from rank one.

    Statistic: $λ_2/λ_1$, mean over the layers after the first and over seeds; interval: Student's
    t.
    """
    values = layers_at(data.isel(epoch=-1), **case)["input"]
    return _known(values.isel(rank=1) / values.isel(rank=0)).mean("layer")


@true_labels.printed(
    "appendices F.1 and G.4, Table {table}",
    printed_range,
    id="table-{table}",
    each=cases,
    name="table-{table}-{dataset}-{network}-{kind}-{quantity}",
    shown=(),
    otherwise=lambda row: TABLE_7 if row["kind"] == "conv" else SMALL,
)
def row_of_a_table(
    data: xr.Dataset, network: str, kind: str, quantity: str, **row: object
) -> xr.DataArray:
    """The means of Table {table} hold in the layers after the first. They are of $λ_1/λ_2$ of
    $E[xx^⊤]$ and of its first eigenvector's squared dot product with the mean input.

    Statistic: mean over layers and seeds; interval: Student's t over seeds.
    """
    return _known(layers_at(data, network, kind, "later")[QUANTITIES[quantity]]).mean("layer")

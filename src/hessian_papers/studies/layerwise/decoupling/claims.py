"""Statements of wu2022dissecting on layer-wise Hessians and the decoupling conjecture."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import at_least, at_most, needs
from hessian_papers.ledger.conditions import AFTER_TRAINING, BEFORE_AND_AFTER, THROUGHOUT_TRAINING
from hessian_papers.ledger.statements import Decorator, Function, Labels, Statements
from hessian_papers.ledger.verdicts import everywhere, exists, typically
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.layerwise.decoupling import architectures
from hessian_papers.studies.layerwise.decoupling.architectures import layers, layers_at
from hessian_papers.studies.layerwise.decoupling.derived import frobenius, outliers
from hessian_papers.studies.layerwise.decoupling.tables import QUANTITIES, cases, printed_range
from hessian_papers.studies.layerwise.layers import NORMALISED, normalised, plain
from hessian_papers.studies.layerwise.standing import NEAR_A_MINIMUM, READING

# Why a claim may differ.
SMALL = (
    "The paper has networks of hundreds of neurons, trained for 1000 epochs on MNIST or "
    "CIFAR-10. In small networks, and early in training, the inputs of a layer vary as much "
    "as their mean."
)
RANDOM = (
    "The networks may have enough weights for all labels. Trained again with the settings of the "
    "recorded run, F-200^2 stands at loss 2.20 and accuracy 0.20. Guesses have the loss "
    f"ln 10 = 2.30. {READING}"
)
TABLE_7 = (
    "Table 7 has 15.87 for LeNet5. Neither longer training nor another initialisation gave as "
    "much in our trials, nor did three other readings of 'input'."
)
CONVOLUTIONS = "appendix A.2, equations (33) and (35)"

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
).having(
    otherwise=SMALL,
    elsewhere=lambda case: case["network"] not in architectures.IN_PRINT,
    state=NEAR_A_MINIMUM,
)
true_labels = statements.about("wu2022dissecting", "Figure 2", "Figure 11", "Figure 28")
random_labels = statements.about("wu2022dissecting", "Figure 3")
beyond = statements.having(book="beyond", elsewhere=None)
of_plain = partial(layers, networks=plain)
of_all = partial(layers, networks=architectures.every)
after_the_input = partial(of_plain, places=("later",))


def of_layers(
    base: Statements,
    place: str,
    quantifier: Any,
    bound: Any,
    each: Callable[..., Iterable[Labels]],
    *,
    id: str,
    convolutions: str = CONVOLUTIONS,
    more: tuple[str, ...] = (),
    **of: Any,
) -> Decorator:
    """Make two statements of a function: of fully connected layers, and of convolutions.

    Args:
        base: what both share with others.
        place: where that of fully connected layers stands.
        quantifier: of the sentence.
        bound: of both.
        each: gives the layers of a ``kind``, a case each.
        id: of the first.
        convolutions: where the second one stands.
        more: labels that tell cases apart beside network and place.
        of: further fields of both.
    """
    kinds = {"fc": (id, place), "conv": (f"{id}-of-convolutions", convolutions)}

    def keep(function: Function) -> Function:
        for kind, (name, where) in kinds.items():
            own = partial(each, kind=kind)
            shown = ("network", "place", *more)
            base.statement(where, quantifier, bound, id=name, each=own, shown=shown, **of)(function)
        return function

    return keep


@of_layers(
    statements,
    "section 3, decoupling conjecture, equation (3)",
    typically,
    reading_of("approximately"),
    of_all,
    id="kronecker-form-is-near-the-hessian",
    state=AFTER_TRAINING,
)
def conjecture(data: xr.Dataset, **case: str) -> xr.DataArray:
    """In {kind} layers the Hessian is approximately the Kronecker product of two expectations.

    Statistic: spectral norm of the difference over that of the Hessian, in the layer where it is
    largest, mean over seeds; interval: Student's t.
    """
    return _known(layers_at(data, **case)["spectral"]).max("layer")


@of_layers(
    beyond,
    "section 4, beyond the paper",
    typically,
    at_most(0.0, "a sign: the theorems concern networks before training", source="ours"),
    partial(layers, networks=architectures.followed),
    id="error-is-smaller-before-training",
    convolutions="section 4, beyond the paper",
    state=BEFORE_AND_AFTER,
)
def error_before_training(data: xr.Dataset, **case: str) -> xr.DataArray:
    """In {kind} layers the product's error is smaller before training than after.

    Statistic: its Frobenius norm over the Hessian's, mean over layers, before training minus after;
    mean over seeds; interval: Student's t.
    """
    errors = _known(frobenius(layers_at(data, **case)))
    return (errors.sel(epoch=0) - errors.isel(epoch=-1)).mean("layer")


def _known(values: xr.DataArray) -> xr.DataArray:
    """The quantity, where it is known of all.

    Raises:
        NothingToMeasure: one is no number, as of a Hessian that is zero.
    """
    needs(np.isfinite(values).all(), "this configuration has a layer whose Hessian is zero")
    return values


@of_layers(
    true_labels,
    "section 5.1, Figure 2",
    typically,
    reading_of("nearly"),
    partial(of_plain, beyond_classes=-1),
    id="kronecker-form-has-the-top-eigenvalues",
)
def top_values(data: xr.Dataset, **case: str) -> xr.DataArray:
    """In {kind} layers the product has nearly the Hessian's top eigenvalues.

    Statistic: mean relative error of the top $c - 1$, with c classes, in the layer where it is
    largest, mean over seeds; interval: Student's t.
    """
    top = _top(data, **case)
    return _largest_error(top, top["approximation"])


def _top(data: xr.Dataset, **case: str) -> xr.Dataset:
    """Layers with the first ``c − 1`` of their eigenpairs."""
    count = outliers(data.sel(network=case["network"]))
    return layers_at(data, **case).isel(rank=slice(count))


def _largest_error(top: xr.Dataset, predicted: xr.DataArray) -> xr.DataArray:
    """The mean relative error of predicted top eigenvalues, in the layer with the largest.

    Layers of fewer than ``c − 1`` outputs are left out: their E[M] has fewer eigenvalues.
    """
    wide = (top["outputs"] >= top.sizes["rank"]).values
    errors = abs(predicted / top["hessian"] - 1).isel(layer=wide)
    return _known(errors.mean("rank", skipna=False)).max("layer")


@of_layers(
    true_labels,
    "section 5.1, Figure 2",
    typically,
    reading_of("well"),
    of_plain,
    id="kronecker-form-has-the-top-eigenspace",
)
def top_space(data: xr.Dataset, **case: str) -> xr.DataArray:
    """In {kind} layers the product works well on the Hessian's top eigenspace.

    Statistic: overlap of the top $c - 1$ spaces, with c classes, in the layer where it is smallest,
    mean over seeds; interval: Student's t.
    """
    return _overlap(data, **case).min("layer")


def _overlap(data: xr.Dataset, **case: str) -> xr.DataArray:
    """The overlap of the top ``c − 1`` spaces in each of some layers."""
    return _top(data, **case)["overlap"].isel(rank=-1)


@of_layers(
    true_labels,
    "appendix G.4, Figure 28",
    exists,
    at_least(10.0, "'highly nontrivial' is taken as ten times the value by chance", source="ours"),
    partial(layers, networks=normalised),
    id="overlap-with-normalisation-is-no-chance",
    book="readings",
)
def top_space_is_no_chance(data: xr.Dataset, **case: str) -> xr.DataArray:
    """With batch normalisation the top eigenspaces of the product and the Hessian still have a
    highly nontrivial overlap in {kind} layers.

    Statistic: overlap of the top $c - 1$ spaces, with c classes, over that of random spaces; in the
    layer where it is smallest, mean over seeds; interval: Student's t.
    """
    top = _top(data, **case)
    chance = top.sizes["rank"] / (top["outputs"] * top["inputs"])
    return (_overlap(data, **case) / chance).min("layer")


@of_layers(
    true_labels,
    "appendix G.4, Figure 28",
    exists,
    at_least(0.0, "a sign"),
    partial(layers, networks=architectures.paired),
    id="kronecker-form-is-worse-with-normalisation",
)
def worse_with_normalisation(data: xr.Dataset, network: str, **case: str) -> xr.DataArray:
    """With batch normalisation the product captures less of the Hessian's top eigenspace in {kind}
    layers.

    Statistic: overlap of the top $c - 1$ spaces, with c classes, mean over layers, without
    normalisation minus with it; mean over seeds; interval: Student's t.
    """
    names = (network, network + NORMALISED)
    without, normed = (_overlap(data, network=name, **case).mean("layer") for name in names)
    return without - normed


@of_layers(
    statements,
    "section 5.2",
    typically,
    reading_of("nearly"),
    partial(of_plain, beyond_classes=-1),
    id="spectra-look-alike",
)
def spectra_alike(data: xr.Dataset, **case: str) -> xr.DataArray:
    """In {kind} layers the Hessian's top eigenvalues are those of $E[M]$ times the first of
    $E[x x']$.

    Statistic: mean relative error of the top $c - 1$, with c classes, in the layer where it is
    largest, mean over seeds. Layers with fewer than $c - 1$ outputs are left out; interval:
    Student's t.
    """
    top = _top(data.isel(epoch=-1), **case)
    return _largest_error(top, top["output"] * top["input"].isel(rank=0))


@of_layers(
    true_labels,
    "section 5.2, Figure 3(a, b)",
    typically,
    at_least(0.5, "more than half of the layers; the paper shows some"),
    partial(architectures.matrices, random=False),
    id="gap-after-the-classes",
    more=("matrix",),
)
def gap_after_classes(data: xr.Dataset, matrix: str, **case: str) -> xr.DataArray:
    """In {kind} layers output Hessian and layer-wise Hessian have their eigengap after $c - 1$
    eigenvalues, with c classes.

    Statistic: fraction of layers with more than c outputs where the largest ratio of neighbours
    among the first $2(c - 1)$ is after $c - 1$; mean over seeds; interval: Student's t.
    """
    return _gap(data, matrix, **case)


@of_layers(
    random_labels,
    "section 5.2, Figure 3(c)",
    exists,
    at_most(0.5, "less than half of the layers; the paper shows one"),
    partial(architectures.matrices, random=True),
    id="no-gap-with-random-labels",
    more=("matrix",),
    otherwise=RANDOM,
    elsewhere=None,
)
def no_gap_after_classes(data: xr.Dataset, matrix: str, **case: str) -> xr.DataArray:
    """At a minimum with random labels {kind} layers have no eigengap after $c - 1$ eigenvalues,
    with c classes.

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


@of_layers(
    true_labels,
    "appendix G.2, Figure 21",
    typically,
    reading_of("usually"),
    of_plain,
    id="eigenvectors-are-nearly-of-rank-one",
    convolutions="appendix G.2, Figure 21",
)
def eigenvectors_are_products(data: xr.Dataset, **case: str) -> xr.DataArray:
    """Matricised, the top eigenvectors of {kind} layers are nearly of rank one: their largest
    singular value exceeds half of their Frobenius norm.

    Statistic: fraction of eigenvectors and layers for which it does, mean over seeds; interval:
    Student's t.
    """
    ratios, each = layers_at(data, **case)["rank_one"], ("layer", "rank")
    return (ratios > 0.5).sum(each) / ratios.notnull().sum(each)


@of_layers(
    true_labels,
    "appendix F.3, Figures 11 to 13",
    everywhere,
    reading_of("strongly"),
    of_plain,
    id="eigenvectors-lie-along-the-mean-input",
    convolutions="appendix F.3, Figures 14 and 15",
)
def along_the_mean(data: xr.Dataset, **case: str) -> xr.DataArray:
    """The top eigenvectors of {kind} layers correlate strongly with the first eigenvector of
    $E[x x']$.

    Statistic: their correspondence with it, mean over the top $c - 1$, with c classes, in the layer
    where it is smallest; mean over seeds; interval: Student's t.
    """
    return _top(data, **case)["along_first"].mean("rank").min("layer")


@of_layers(
    true_labels,
    "section 3.1, Table 6",
    typically,
    reading_of("nearly"),
    after_the_input,
    id="first-eigenvector-is-the-mean-input",
    convolutions="appendix F.1, Table 7",
)
def first_input_is_the_mean(data: xr.Dataset, **case: str) -> xr.DataArray:
    """In {kind} layers after the input the first eigenvector of $E[x x']$ is nearly the mean input.

    Statistic: 1 minus the squared dot product of the two, in the layer where it is largest, mean
    over seeds; interval: Student's t.
    """
    return (1 - layers_at(data, **case)["mean_aligned"]).max("layer")


@true_labels.everywhere(
    "section 3.1, appendix F.4, Figure 19",
    reading_of("approximately"),
    id="input-is-of-rank-one-throughout",
    state=THROUGHOUT_TRAINING,
    each=partial(after_the_input, kind="fc"),
    shown=("network",),
)
def input_is_of_rank_one(data: xr.Dataset, **case: str) -> xr.DataArray:
    """Throughout training $E[x x']$ of {kind} layers after the input is approximately of rank one.

    Statistic: $λ_2/λ_1$, its distance in the spectral norm from a matrix of rank one, relative to
    its own norm. It is taken in the layer and at the kept epoch where it is largest; mean over
    seeds; interval: Student's t.
    """
    values = layers_at(data, **case)["input"]
    return _known(values.isel(rank=1) / values.isel(rank=0)).max(("epoch", "layer"))


@of_layers(
    true_labels,
    "appendix F.4, Figure 20",
    everywhere,
    at_least(0.5, "more than half, where the paper has all epochs of a layer", source="ours"),
    partial(of_plain, beyond_classes=1),
    id="as-many-large-eigenvalues-as-classes-throughout",
    state=THROUGHOUT_TRAINING,
    book="readings",
)
def output_has_as_many_as_classes(data: xr.Dataset, **case: str) -> xr.DataArray:
    """Throughout training $E[M]$ of {kind} layers has around as many large eigenvalues as there are
    classes.

    Statistic: fraction of kept epochs and layers in which the largest ratio of neighbours comes
    after $c - 2$ to $c + 1$ eigenvalues; mean over seeds. Only layers with more outputs than the c
    classes count; interval: Student's t.
    """
    count = outliers(data.sel(network=case["network"]))
    more = gaps(layers_at(data, **case), "output", count) - count
    return ((more >= -1) & (more <= 2)).mean(("epoch", "layer"))


@true_labels.printed(
    "appendices F.1 and G.4, Table {table}",
    printed_range,
    id="table-{table}",
    each=cases,
    name="table-{table}-{dataset}-{network}-{kind}-{quantity}",
    otherwise=lambda row: TABLE_7 if row["kind"] == "conv" else SMALL,
)
def row_of_a_table(
    data: xr.Dataset, network: str, kind: str, quantity: str, **row: object
) -> xr.DataArray:
    """The printed means hold for $λ_1/λ_2$ of $E[xx^⊤]$ and its first eigenvector's squared dot
    product with the mean input, in the layers after the first.

    Statistic: mean over layers and seeds; interval: Student's t over seeds.
    """
    return _known(layers_at(data, network, kind, "later")[QUANTITIES[quantity]]).mean("layer")

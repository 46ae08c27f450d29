"""Statements of wu2022dissecting on top eigenspaces of independently trained networks."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import Estimate, at_least, at_most, equal_to, needs
from hessian_papers.ledger.conditions import AFTER_TRAINING, ANY_STATE
from hessian_papers.ledger.statements import Labels, Statements
from hessian_papers.ledger.words import one_by
from hessian_papers.studies.layerwise.layers import in_the_paper, layer_names, normalised, plain
from hessian_papers.studies.layerwise.model_overlaps.derived import (
    layer_of,
    layers,
    paired,
    satisfied,
)
from hessian_papers.studies.layerwise.standing import NEAR_A_MINIMUM
from hessian_spectra.statistics import student_interval

Pairs = TypeVar("Pairs", xr.Dataset, xr.DataArray)

LEVEL = 0.95
# What is around the output dimension: a fifth of it either side, one dimension at least.
AROUND = 0.2
PEAK = "it peaks there if this is above 1; 'around' is taken as a fifth of m either side"
# A ratio that is approximately 1.
NEAR_ONE = one_by("approximately")
NEAR_LARGEST = at_least(0.9, "nine tenths of the largest", source="ours")
# What is said of layers that satisfy what Theorem G.1 assumes.
HOLDS = "condition holds"
# The layer whose overlap the paper prints.
EXAMPLE = {"network": "F-200^2", "layer": "fc2"}
SETTING = (
    "The paper has networks of hundreds of neurons, trained for 1000 epochs on MNIST or "
    "CIFAR-10, and its Hessian is over all images."
)

# The theorem's condition explains peaks where it holds, and is not required for one.
REMARK = (
    "Theorem G.1 predicts a peak where its condition holds up to m. Where it does not, the theorem "
    "says nothing."
)

statements = Statements().having(otherwise=SETTING, state=NEAR_A_MINIMUM)


def beyond_print(case: Labels) -> bool:
    """Whether the paper lacks a case's network."""
    return not in_the_paper(case["network"])


def in_print(data: xr.Dataset) -> list[str]:
    """The paper's networks without batch norm."""
    return [name for name in plain(data) if in_the_paper(name)]


def over_networks(pairs: Pairs, statistic: Callable[[Pairs], Any]) -> Estimate:
    """A statistic of means over pairs with Student's 95 % interval by the jackknife over networks.

    A pair shares its networks with others, so that what is left out at a time is a network with
    all of its pairs: ``s² = (S − 1)/S Σ_i (θ_i − θ̄)²`` over the S statistics θ_i without it.

    Args:
        pairs: with the networks of each, ``first`` and ``other``.
        statistic: of the means over them, or over some.

    Returns:
        The statistic of all pairs; unbounded for two networks.

    Source: Efron and Stein, The jackknife estimate of variance, 1981.
    """
    value, first, other = float(statistic(pairs.mean("pair"))), pairs["first"], pairs["other"]
    networks = np.union1d(first, other)
    if len(networks) < 3:
        return Estimate(value, -math.inf, math.inf)
    kept = [pairs.isel(pair=((first != left) & (other != left)).values) for left in networks]
    without = [float(statistic(chosen.mean("pair"))) for chosen in kept]
    error = math.sqrt((len(networks) - 1) * float(np.var(without)))
    low, high = student_interval(value, error, len(networks) - 1, 0.0, LEVEL)
    return Estimate(value, float(low), float(high))


def peak(mean: xr.Dataset) -> xr.DataArray:
    """The largest mean overlap around m over the largest one elsewhere.

    Raises:
        NothingToMeasure: the study does not reach beyond what is around m.
    """
    k, outputs, overlap = mean["rank"], int(mean["outputs"]), mean["overlap"]
    around = abs(k - outputs) <= max(AROUND * outputs, 1)
    needs(
        k[-1] >= outputs and not around[-1],
        f"this configuration has {len(k)} eigenpairs of a layer with {outputs} "
        "outputs: none beyond what is around them",
    )
    return overlap.where(around).max() / overlap.where(~around).max()


def reaching(rank: int, layer: xr.Dataset) -> xr.DataArray:
    """The overlaps, which reach up to spaces of so many dimensions.

    Raises:
        NothingToMeasure: the study does not.
    """
    needs(layer.sizes["rank"] >= rank, f"this configuration has fewer than {rank} eigenpairs")
    return layer["overlap"]


def at_outputs(layer: xr.Dataset) -> xr.DataArray:
    """The overlap at k = m."""
    outputs = int(layer["outputs"])
    return reaching(outputs, layer).sel(rank=outputs)


def _named(data: xr.Dataset, networks: Iterable[str], part: slice = slice(None)) -> list[Labels]:
    """Some layers of some networks."""
    return [
        {"network": network, "layer": layer}
        for network in networks
        for layer in layer_names(data, network)[part]
    ]


def _hidden(data: xr.Dataset) -> list[Labels]:
    """The layers whose outputs can be permuted, of the paper's networks without batch norm."""
    return _named(data, in_print(data), slice(-1))


hidden = statements.having(each=_hidden)


def _later(data: xr.Dataset) -> list[Labels]:
    """The hidden layers whose inputs have passed a batch norm."""
    return _named(data, filter(in_the_paper, normalised(data)), slice(1, -1))


def _inner(data: xr.Dataset) -> list[Labels]:
    """The layers in the middle of fully connected networks, such as fc2 of F-200^2."""
    return [
        case
        for case in _hidden(data)
        if case["network"].startswith("F-") and case["layer"] != "fc1"
    ]


def _with_condition(data: xr.Dataset) -> Iterator[Labels]:
    """The hidden layers, and up to which k they satisfy what Theorem G.1 assumes."""
    for case in _hidden(data):
        layer = layer_of(data, **case)
        reach, outputs = satisfied(layer), int(layer["outputs"])
        words = HOLDS if reach >= outputs else f"condition up to k = {reach} of {outputs}"
        yield {**case, "condition": words}


def _outer(data: xr.Dataset) -> list[Labels]:
    """The hidden layers but those in the middle, whose early peak the paper names."""
    inner = [(case["network"], case["layer"]) for case in _inner(data)]
    cases = _with_condition(data)
    return [case for case in cases if (case["network"], case["layer"]) not in inner]


@statements.exists(
    "section 5.3",
    at_least(1.0, PEAK),
    id="overlap-peaks-at-the-outputs",
    each=_outer,
    name="peaks-{network}-{layer}",
    shown=("layer", "network", "condition"),
    otherwise=REMARK,
)
def peaks(data: xr.Dataset, network: str, layer: str, condition: str) -> Estimate:
    """The overlap of a hidden layer of independently trained networks peaks at its output dimension
    m. Of layers in the middle of fully connected networks the paper says otherwise.

    Statistic: largest mean overlap around m over the largest elsewhere; interval: jackknife over
    the networks that form the pairs.
    """
    return over_networks(layer_of(data, network, layer), peak)


@statements.typically(
    "appendix G.3, after (268)",
    at_least(0.5, "'very high' is more than half", source="ours"),
    id="overlap-of-the-first-layer-is-very-high",
    over={"network": lambda data: [*filter(in_the_paper, data["network"].values.tolist())]},
    book="readings",
)
def first_layer_is_high(data: xr.Dataset) -> Estimate:
    """In the first layer, whose inputs are the same in all networks, the overlap at m is very high.

    Statistic: its mean over pairs; interval: jackknife over the networks that form the pairs.
    """
    return over_networks(layers(data)[0], at_outputs)


def _satisfying(data: xr.Dataset) -> list[Labels]:
    """The hidden layers that satisfy what Theorem G.1 assumes; of others it says nothing."""
    return [case for case in _with_condition(data) if case["condition"] == HOLDS]


# What the theorem says of layers that meet its assumptions, wherever their training ends.
of_the_theorem = statements.having(state=ANY_STATE)
satisfying = of_the_theorem.having(each=_satisfying, shown=("layer", "network"))


@satisfying.typically(
    "appendix G.3.1",
    at_least(0.0, "a sign"),
    id="overlap-falls-beyond-the-outputs",
    name="falls-beyond-{network}-{layer}",
)
def falls_beyond(data: xr.Dataset, network: str, layer: str, condition: str) -> Estimate:
    """Where $τ_m γ_1 > τ_1 γ_2$ holds, the overlap falls beyond m, until the spaces are large
    enough to overlap by chance.

    Statistic: mean overlap at m minus the smallest beyond it; interval: jackknife over the
    networks that form the pairs.
    """
    pairs = layer_of(data, network, layer)
    outputs = int(pairs["outputs"])

    def fall(mean: xr.Dataset) -> xr.DataArray:
        further = reaching(outputs + 1, mean).sel(rank=slice(outputs + 1, None))
        return at_outputs(mean) - further.min()

    return over_networks(pairs, fall)


@statements.everywhere(
    "appendix G.3.3",
    at_most(1.0, "the condition is that the ratio exceeds 1"),
    id="exceptional-layers-break-the-condition",
    each=_inner,
)
def condition_is_broken(data: xr.Dataset, network: str, layer: str) -> xr.DataArray:
    """In all exceptional layers, those in the middle of fully connected networks, $τ_m γ_1$ is
    smaller than $τ_1 γ_2$.

    Statistic: ratio of the two, mean over seeds; interval: Student's t.
    """
    own = layer_of(data, network, layer)
    output, inputs = own["output"], own["input"]
    first, last = (output.isel(output_rank=place) for place in (0, -1))
    return last / first * inputs.isel(input_rank=0) / inputs.isel(input_rank=1)


@hidden.typically("Theorem G.1", NEAR_ONE, state=ANY_STATE, id="overlap-grows-linearly")
def linear_growth(data: xr.Dataset, network: str, layer: str) -> Estimate:
    """The overlap is $(k/m) (t_1 · t_1')^2$ for all k with $τ_k γ_1 > τ_1 γ_2$.

    Statistic: sum of its mean over these k, divided by that of the prediction; interval: jackknife
    over the networks that form the pairs.
    """
    pairs = layer_of(data, network, layer)
    low = pairs.isel(rank=slice(min(satisfied(pairs), int(pairs["outputs"]))))
    needs(low.sizes["rank"], "this configuration has a layer with no such k, as of $E[M] = 0$")
    growth = int(low["rank"].sum()) / int(low["outputs"])
    return over_networks(low, lambda mean: mean["overlap"].sum() / (growth * mean["first_inputs"]))


@satisfying.typically(
    "section 5.3, Theorem G.1",
    NEAR_ONE,
    id="overlap-at-the-outputs-is-that-of-first-inputs",
    name="height-at-outputs-{network}-{layer}",
)
def height_at_outputs(data: xr.Dataset, network: str, layer: str, condition: str) -> Estimate:
    """Where $τ_m γ_1 > τ_1 γ_2$ holds, the overlap at m is $(t_1 · t_1')^2$.

    Statistic: ratio of the two, means over pairs; interval: jackknife over the networks that form
    the pairs.
    """
    pairs = layer_of(data, network, layer)
    return over_networks(pairs, lambda mean: at_outputs(mean) / mean["first_inputs"])


@statements.exists(
    "F.2.3 and G.3.3",
    at_least(1.0, "it decreases after $c - 1$ if this is above 1"),
    id="early-low-peak",
    each=_inner,
)
def early_low_peak(data: xr.Dataset, network: str, layer: str) -> Estimate:
    """The overlap grows up to $c - 1$, the number of outliers of $E[M]$, and decreases after that.

    Statistic: mean overlap at $c - 1$ over the smallest between $c - 1$ and m; interval: jackknife
    over the networks that form the pairs.
    """
    pairs = layer_of(data, network, layer)
    outputs, classes = int(pairs["outputs"]), int(pairs["classes"])

    def ratio(mean: xr.Dataset) -> xr.DataArray:
        overlap = reaching(classes, mean)
        return overlap.sel(rank=classes - 1) / overlap.sel(rank=slice(classes, None)).min()

    return over_networks(pairs.sel(rank=slice(outputs)), ratio)


@statements.printed(
    "appendix G.3.3",
    equal_to(0.012, "'around'; a quarter", tolerance=0.003),
    id="overlap-at-dimension-9",
    each=lambda data: [case for case in _inner(data) if case == EXAMPLE],
)
def printed_overlap(data: xr.Dataset, network: str, layer: str) -> Estimate:
    """In fc2 of F-200^2 the mean overlap is around 0.012 at dimension 9.

    Statistic: its mean over pairs; interval: jackknife over the networks that form the pairs.
    """
    pairs = layer_of(data, network, layer)
    return over_networks(pairs, lambda mean: reaching(9, mean).sel(rank=9))


@statements.typically(
    "F.2.1 and G.3.2",
    at_least(0.5, "more than half; linear growth would begin at 1/m", source="ours"),
    id="last-layer-is-high-from-the-start",
    over={"network": in_print},
    book="readings",
)
def last_layer_is_high_from_the_start(data: xr.Dataset) -> Estimate:
    """In the last layer, whose outputs are the classes, the overlap stays near $(t_1 · t_1')^2$ for
    all k up to m.

    Statistic: smallest mean overlap at $k < c$, divided by $(t_1 · t_1')^2$; interval: jackknife
    over the networks that form the pairs.
    """
    layer = layers(data)[-1]
    low = layer.sel(rank=slice(max(int(layer["outputs"]) - 1, 1)))
    return over_networks(low, lambda mean: mean["overlap"].min() / mean["first_inputs"])


def _differing(data: xr.Dataset) -> list[Labels]:
    """All layers, if some networks were trained with other settings."""
    networks = data["network"].values.tolist()
    return _named(data, networks) if paired(data)["differing"].any() else []


@statements.typically(
    "appendix F.2.1",
    NEAR_ONE,
    id="same-overlap-after-other-training",
    each=_differing,
    elsewhere=beyond_print,
    state=AFTER_TRAINING,
)
def same_after_other_training(data: xr.Dataset, network: str, layer: str) -> Estimate:
    """The overlap comes from a common structure, not from similar training. It is as large between
    networks trained with different rates, momenta and weight decays.

    Statistic: mean overlap at m of such pairs over that of pairs trained alike; interval: jackknife
    over the networks that form the pairs.
    """
    pairs = layer_of(data, network, layer)
    overlap, differing = at_outputs(pairs), pairs["differing"]
    needs(not differing.all(), "this configuration has no two networks that were trained alike")
    parts = pairs.assign(differently=overlap.where(differing), alike=overlap.where(~differing))
    return over_networks(parts, lambda mean: mean["differently"] / mean["alike"])


@statements.exists(
    "appendix G.4", at_most(1.0, PEAK), id="no-peak-after-normalisation", each=_later
)
def batch_norm_has_no_peak(data: xr.Dataset, network: str, layer: str) -> Estimate:
    """Where the inputs have passed a batch norm, the overlap has no peak at m.

    Statistic: largest mean overlap around m over the largest elsewhere; interval: jackknife over
    the networks that form the pairs.
    """
    return over_networks(layer_of(data, network, layer), peak)


@statements.typically(
    "section 5.3",
    at_least(2.0, "'surprisingly high' is taken as at least twice chance", source="chance: 1/n"),
    id="overlap-is-above-chance",
    over={"network": plain},
    elsewhere=beyond_print,
    book="readings",
)
def above_chance(data: xr.Dataset) -> Estimate:
    """The top spaces of different networks overlap more than random ones.

    Statistic: mean overlap at the largest k up to m, divided by k/(m n), in the hidden layer where
    it is smallest; interval: jackknife over the networks that form the pairs.
    """
    own = layers(data)[:-1]
    ends = [layer.sel(rank=slice(int(layer["outputs"]))).isel(rank=-1) for layer in own]
    ratios = [end["overlap"] * end["outputs"] * end["inputs"] / end["rank"] for end in ends]
    return over_networks(xr.concat(ratios, "layer"), xr.DataArray.min)


@statements.beyond.typically(
    "F.2.3 and G.3.3, beyond the paper",
    NEAR_LARGEST,
    id="factors-tell-the-peak",
    each=lambda data: _named(data, plain(data), slice(-1)),
    state=AFTER_TRAINING,
)
def factors_tell_the_peak(data: xr.Dataset, network: str, layer: str) -> Estimate:
    """Among the measured k, the overlap is largest where the eigenpairs of $E[M]$ and $E[x x']$
    predict.

    Statistic: mean overlap at the k where its expectation over permutations is largest, over the
    largest mean; interval: jackknife over the networks that form the pairs.

    Remark: The expectation is computed of the same networks: a surrogate, not a prediction.
    """

    def reached(mean: xr.Dataset) -> xr.DataArray:
        overlap = mean["overlap"]
        return overlap.sel(rank=mean["permuted"].idxmax()) / overlap.max()

    return over_networks(layer_of(data, network, layer), reached)

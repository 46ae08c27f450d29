"""What wu2022dissecting says of the top eigenspaces of independently trained networks."""

from collections.abc import Iterator

import numpy as np

from hessian_papers.ledger.bounds import (
    Bound,
    Estimate,
    NothingToMeasure,
    at_least,
    at_most,
    equal_to,
    within,
)
from hessian_papers.ledger.statements import Labels, Print, Statements, over
from hessian_papers.ledger.verdicts import everywhere, exists, printed, typically
from hessian_papers.ledger.words import one_by, reading_of
from hessian_papers.studies.layerwise.model_overlaps.reading import Layer, Reading

PEAK = "it peaks there if this is above 1; 'around' is taken as a fifth of m either side"
# A ratio that is approximately 1.
NEAR_ONE = one_by("approximately")
# The layer whose overlap the paper prints.
EXAMPLE = {"network": "F-200^2", "layer": "fc2"}
SETTING = (
    "The paper has networks of hundreds of neurons, trained for 1000 epochs on MNIST or CIFAR-10, "
    "and its Hessian is that of all images."
)

statements = Statements(
    Reading,
    values={"kronecker": "Kronecker approximations", "overlap": "Hessians"},
).having(otherwise=SETTING)


def _plain(reading: Reading) -> Iterator[Labels]:
    """The architectures without batch norm."""
    yield from ({"network": name} for name in reading.networks if not reading.normed(name))


def _hidden(reading: Reading) -> Iterator[Labels]:
    """Their layers whose outputs can be permuted."""
    for case in _plain(reading):
        for layer in reading.layers(case["network"]):
            if not layer.last:
                yield {**case, "layer": layer.name}


def _later(reading: Reading) -> Iterator[Labels]:
    """The hidden layers whose inputs have passed a batch norm."""
    for network in filter(reading.normed, reading.networks):
        for layer in reading.layers(network)[1:-1]:
            yield {"network": network, "layer": layer.name}


@statements.statement(
    "section 5.3 and appendix G.3",
    exists,
    at_least(1.0, PEAK),
    id="overlap-peaks-at-the-outputs",
    each=over("network"),
)
def first_layer_peaks(reading: Reading, network: str) -> Estimate:
    """The overlap of the first layer of independently trained networks peaks at its output
    dimension m.

    Statistic: the largest mean overlap around m over the largest elsewhere; interval: jackknife
    over the networks of which pairs are made.
    """
    return reading.over_networks(reading.layers(network)[0].peak)


@statements.statement(
    "appendix G.3, after (268)",
    typically,
    at_least(0.5, "'very high' is more than half", source="ours"),
    id="overlap-of-the-first-layer-is-very-high",
    each=over("network"),
    book="readings",
)
def first_layer_is_high(reading: Reading, network: str) -> Estimate:
    """In the first layer, whose inputs are the same in all networks, the overlap at m is very high.

    Statistic: its mean over pairs; interval: jackknife over the networks of which pairs are made.
    """
    layer = reading.layers(network)[0]
    return reading.over_networks(lambda chosen: layer.at_outputs("overlap", chosen))


def _conditions(reading: Reading) -> Iterator[Labels]:
    for case in _hidden(reading):
        layer = reading.layer(case["network"], case["layer"])
        holds = layer.satisfied >= layer.outputs
        words = "holds, and the overlap peaks" if holds else "fails, and the overlap does not peak"
        yield {**case, "condition": words}


def _either(case: Labels) -> Bound:
    return (at_least if case["condition"].startswith("holds") else at_most)(1.0, PEAK)


@statements.statement(
    "Theorem G.1, F.2.3 and G.3.3",
    everywhere,
    _either,
    id="factors-predict-where-it-fails",
    each=_conditions,
    name="condition-tells-{network}-{layer}",
    otherwise="The condition is sufficient for the approximations' first m eigenvectors to have a "
    "single input direction; that the overlap grows up to m takes less.",
)
def condition_tells(reading: Reading, network: str, layer: str, condition: str) -> Estimate:
    """The overlap peaks around m where τ_m γ_1 > τ_1 γ_2 holds, and does not where it fails.

    Statistic: the largest mean overlap around m over the largest elsewhere; interval: jackknife
    over the networks of which pairs are made.
    """
    return reading.over_networks(reading.layer(network, layer).peak)


@statements.statement("Theorem G.1", typically, NEAR_ONE, id="overlap-grows-linearly", each=_hidden)
def linear_growth(reading: Reading, network: str, layer: str) -> Estimate:
    """The overlap is (k/m) (t_1 · t_1')² as far as τ_k γ_1 > τ_1 γ_2.

    Statistic: sum of its mean over these k over that of the prediction; interval: jackknife over
    the networks of which pairs are made.
    """
    measured_layer = reading.layer(network, layer)
    count = min(measured_layer.satisfied, measured_layer.reach, measured_layer.outputs)
    growth = np.arange(1, count + 1).sum() / measured_layer.outputs

    def ratio(chosen: np.ndarray) -> float:
        sums = measured_layer.curves["overlap"][chosen, :count].mean(axis=0).sum()
        return float(sums / (growth * measured_layer.first_inputs[chosen].mean()))

    return reading.over_networks(ratio)


@statements.statement(
    "section 5.3, Theorem G.1",
    typically,
    NEAR_ONE,
    id="overlap-at-the-outputs-is-that-of-first-inputs",
    each=_hidden,
)
def height_at_outputs(reading: Reading, network: str, layer: str) -> Estimate:
    """The overlap at m is (t_1 · t_1')².

    Statistic: ratio of both, means over pairs; interval: jackknife over the networks of which pairs
    are made.
    """
    measured_layer = reading.layer(network, layer)
    return reading.over_networks(
        lambda chosen: (
            measured_layer.at_outputs("overlap", chosen)
            / float(measured_layer.first_inputs[chosen].mean())
        )
    )


def _inner(reading: Reading) -> Iterator[Labels]:
    """The layers in the middle of fully connected networks, such as fc2 of F-200^2."""
    for case in _hidden(reading):
        if case["network"].startswith("F-") and case["layer"] != "fc1":
            yield case


@statements.statement(
    "F.2.3 and G.3.3",
    exists,
    at_least(1.0, "it decreases after c − 1 if this is above 1"),
    id="early-low-peak",
    each=_inner,
)
def early_low_peak(reading: Reading, network: str, layer: str) -> Estimate:
    """The overlap grows up to c − 1, the outliers of E[M], and decreases after.

    Statistic: mean overlap at c − 1 over the smallest between there and m; interval: jackknife over
    the networks of which pairs are made.
    """
    measured_layer, classes = reading.layer(network, layer), reading.layers(network)[-1].outputs
    end = min(measured_layer.reach, measured_layer.outputs)
    if end < classes:
        raise NothingToMeasure(f"this configuration has fewer than {classes} eigenpairs")

    def ratio(chosen: np.ndarray) -> float:
        mean = measured_layer.curves["overlap"][chosen].mean(axis=0)
        return float(mean[classes - 2] / mean[classes - 1 : end].min())

    return reading.over_networks(ratio)


@statements.statement(
    "appendix G.3.3",
    printed,
    equal_to(0.012, "'around'; a quarter", tolerance=0.003),
    id="overlap-at-dimension-9",
    each=lambda reading: [case for case in _inner(reading) if case == EXAMPLE],
)
def printed_overlap(reading: Reading, network: str, layer: str) -> Estimate:
    """In fc2 of F-200^2 the mean overlap is around 0.012 at dimension 9.

    Statistic: its mean over pairs; interval: jackknife over the networks of which pairs are made.
    """
    curve = reading.layer(network, layer).curves["overlap"]
    if curve.shape[1] < 9:
        raise NothingToMeasure("this configuration has fewer than 9 eigenpairs")
    return reading.over_networks(lambda chosen: float(curve[chosen, 8].mean()))


@statements.statement(
    "F.2.1 and G.3.2",
    typically,
    at_least(0.5, "more than half; linear growth would begin at 1/m", source="ours"),
    id="last-layer-is-high-from-the-start",
    each=_plain,
    book="readings",
)
def last_layer_is_high_from_the_start(reading: Reading, network: str) -> Estimate:
    """In the last layer, whose outputs are the classes, the overlap stays about (t_1 · t_1')² for
    all k up to m.

    Statistic: the smallest mean overlap over k < c over (t_1 · t_1')²; interval: jackknife over the
    networks of which pairs are made.
    """
    layer = reading.layers(network)[-1]

    def least(chosen: np.ndarray) -> float:
        mean = layer.curves["overlap"][chosen].mean(axis=0)[: max(layer.outputs - 1, 1)]
        return float(mean.min() / layer.first_inputs[chosen].mean())

    return reading.over_networks(least)


def _smallest(layer: Layer) -> np.ndarray:
    """``τ_m / τ_1`` of each network."""
    return np.abs(layer.output[:, -1]) / layer.output[:, 0]


@statements.identity(
    "appendix G.3.2",
    within(1e-5, "round-off of E[M] in float32"),
    id="last-layer-has-no-theorem",
    each=over("network"),
    printed=Print(
        "the last layer may satisfy the assumptions of Theorem G.1, τ_m γ_1 > τ_1 γ_2",
        lambda reading, network: _shortfall(reading.layers(network)[-1]),
    ),
)
def last_layer_has_no_theorem(reading: Reading, network: str) -> float:
    """The last layer has τ_m = 0, since diag(p) − p pᵀ, each sample's output Hessian, takes 1 to 0:
    the assumption of Theorem G.1 fails for every network.

    Statistic: largest τ_m/τ_1 of networks.
    """
    return float(_smallest(reading.layers(network)[-1]).max())


def _shortfall(layer: Layer) -> float:
    """By how much ``τ_m/τ_1`` is below ``γ_2/γ_1`` where it is least."""
    ratio = layer.input[:, 1] / layer.input[:, 0]
    return float(np.maximum(ratio - _smallest(layer), 0).min())


def _differing(reading: Reading) -> Iterator[Labels]:
    """All layers, if some networks were trained with other settings."""
    if reading.differing.any():
        for network in reading.networks:
            yield from ({"network": network, "layer": at.name} for at in reading.layers(network))


@statements.statement(
    "appendix F.2.1", typically, NEAR_ONE, id="same-overlap-after-other-training", each=_differing
)
def same_after_other_training(reading: Reading, network: str, layer: str) -> Estimate:
    """The overlap comes from a common structure, not from similar training: it is as large of
    networks that were trained with different rates, momenta and weight decays.

    Statistic: mean overlap at m of their pairs over that of pairs trained alike; interval:
    jackknife over the networks of which pairs are made.
    """
    differing, measured_layer = reading.differing, reading.layer(network, layer)
    if differing.all():
        raise NothingToMeasure("this configuration has no two networks that were trained alike")
    return reading.over_networks(
        lambda chosen: (
            measured_layer.at_outputs("overlap", chosen & differing)
            / measured_layer.at_outputs("overlap", chosen & ~differing)
        )
    )


@statements.statement(
    "appendix G.4", exists, at_most(1.0, PEAK), id="no-peak-after-normalisation", each=_later
)
def batch_norm_has_no_peak(reading: Reading, network: str, layer: str) -> Estimate:
    """Where the inputs have passed a batch norm the overlap has no peak at m.

    Statistic: the largest mean overlap around m over the largest elsewhere; interval: jackknife
    over the networks of which pairs are made.
    """
    return reading.over_networks(reading.layer(network, layer).peak)


@statements.statement(
    "section 5.3",
    typically,
    at_least(2.0, "'surprisingly high' is taken as twice that at least", source="chance: 1/n"),
    id="overlap-is-above-chance",
    each=_plain,
    book="readings",
)
def above_chance(reading: Reading, network: str) -> Estimate:
    """The top spaces of different networks overlap more than random ones.

    Statistic: mean overlap at the largest k up to m over k/(m n), in the hidden layer where it is
    least; interval: jackknife over the networks of which pairs are made.
    """
    layers = reading.hidden(network)

    def least(chosen: np.ndarray) -> float:
        ends = [min(layer.outputs, layer.reach) for layer in layers]
        return min(
            float(layer.curves["overlap"][chosen, k - 1].mean()) * layer.outputs * layer.inputs / k
            for layer, k in zip(layers, ends, strict=True)
        )

    return reading.over_networks(least)


@statements.statement(
    "F.2.3 and G.3.3, beyond the paper",
    typically,
    reading_of("approximately"),
    id="permutations-predict-the-overlap",
    each=lambda reading: [
        {**case, "of": of} for case in _hidden(reading) for of in ("kronecker", "overlap")
    ],
    book="beyond",
)
def permutations_predict(reading: Reading, network: str, layer: str, of: str) -> Estimate:
    """The eigenpairs of E[M] and E[x x'] tell the overlap of the Kronecker approximations, and of
    the Hessians, at all k, with the outputs of one network permuted at random: (1/k) Σ E(r_i · P
    r_i')² (t_j · t_j')² over the top k pairs (i, j) of each.

    Statistic: summed error of the means over pairs, relative; interval: jackknife over the networks
    of which pairs are made.
    """
    measured_layer = reading.layer(network, layer)
    return reading.over_networks(lambda chosen: measured_layer.distance("permuted", of, chosen))


@statements.statement(
    "F.2.3 and G.3.3, beyond the paper",
    typically,
    at_least(0.9, "nine tenths of the largest", source="ours"),
    id="factors-tell-the-place-of-the-peak",
    each=_hidden,
    book="beyond",
)
def factors_tell_the_place(reading: Reading, network: str, layer: str) -> Estimate:
    """Of the k that are measured the overlap is largest where the eigenpairs of E[M] and E[x x']
    say.

    Statistic: its mean at the k where that expected over permutations is largest, over the largest
    mean; interval: jackknife over the networks of which pairs are made.
    """
    measured_layer = reading.layer(network, layer)

    def reached(chosen: np.ndarray) -> float:
        expected, mean = (
            measured_layer.curves[name][chosen].mean(axis=0) for name in ("permuted", "overlap")
        )
        return float(mean[expected.argmax()] / mean.max())

    return reading.over_networks(reached)


@statements.statement(
    "F.2.3 and G.3.3, beyond the paper",
    typically,
    NEAR_ONE,
    id="factors-tell-the-height-of-the-peak",
    each=_hidden,
    book="beyond",
)
def factors_tell_the_height(reading: Reading, network: str, layer: str) -> Estimate:
    """The overlap is as large as the eigenpairs of E[M] and E[x x'] say.

    Statistic: the largest mean overlap over the largest of those expected over permutations;
    interval: jackknife over the networks of which pairs are made.
    """
    curves = reading.layer(network, layer).curves
    return reading.over_networks(
        lambda chosen: float(
            curves["overlap"][chosen].mean(axis=0).max()
            / curves["permuted"][chosen].mean(axis=0).max()
        )
    )

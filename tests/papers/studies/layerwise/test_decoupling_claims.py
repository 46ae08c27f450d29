"""The claims about decoupling, their tables and figure, on planted arrays."""

from collections import Counter

import numpy as np
import pytest
import scipy
from claims_contract import Kind, of_records, planted_data
from decoupling_arrays import LAYERS, sides

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.layerwise.decoupling import architectures, claims
from hessian_papers.studies.layerwise.decoupling.architectures import layers_at
from hessian_papers.studies.layerwise.decoupling.claims import statements
from hessian_papers.studies.layerwise.decoupling.derived import frobenius, outliers
from hessian_papers.studies.layerwise.decoupling.figure import caption, controls, draw
from hessian_papers.studies.layerwise.decoupling.study import VARIABLES
from hessian_papers.studies.layerwise.decoupling.tables import cases, printed_rows
from hessian_papers.studies.layerwise.layers import own_layers
from tests.papers.studies.layerwise.pictures import require_readable

KIND = Kind(statements, VARIABLES)
PROBED = ("squares", "missed")


def statements_of(name, arrays, artifact="Figure 2"):
    return [*KIND.entries(arrays, "wu2022dissecting", artifact, name).values()]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records(
    "decoupling", "no_diagonal"
)


def data_of(*networks, **changes):
    return planted_data(sides(*networks, **changes), VARIABLES)


@pytest.mark.parametrize("labels", [None, "true", "random"])
@pytest.mark.parametrize("place", [0, 1], ids=["of true labels", "of random labels"])
def test_a_gap_is_claimed_of_networks_with_such_labels_alone(place, labels):
    """Runs that were recorded before say nothing of their labels: they are the artifact's."""
    arrays = sides(["F-200^2"])
    if labels:
        arrays["correlation"]["random_labels"] = np.array([labels == "random"])
    name = ("gap_after_classes", "no_gap_after_classes")[place]
    stated = len(statements_of(name, arrays, ("Figure 2", "Figure 3")[place]))
    # Of random labels it is said of output Hessians: that of the weights of a first layer has no
    # such gap with true labels either.
    assert stated == ((4, 2)[place] if labels in (None, ("true", "random")[place]) else 0)


def test_the_tables_are_whole():
    rows = printed_rows()
    assert Counter(row["table"] for row in rows) == {"6": 2 * 19, "7": 2 * 13, "9": 2 * 4}
    assert all(row["min"] <= row["mean"] <= row["max"] for row in rows)
    twice = Counter(tuple(row[n] for n in ("table", "dataset", "network")) for row in rows)
    assert {key[2] for key, count in twice.items() if count > 2} == {"VGG11-W64"}
    assert {row["layers"] for row in rows if row["network"] == "F-600^4"} == {"4"}


def test_rows_are_those_of_the_networks_and_their_images():
    labels = ("table", "dataset", "network", "kind")
    rows = [tuple(row[name] for name in labels) for row in cases(data_of())]
    assert rows[::2] == rows[1::2]  # a case for each of two quantities
    assert rows[::2] == [
        ("6", "MNIST", "F-200^2", "fc"),
        ("6", "CIFAR10", "LeNet5", "fc"),
        ("7", "CIFAR10", "LeNet5", "conv"),
        ("9", "MNIST", "F-200^2-BN", "fc"),
        ("9", "CIFAR10", "LeNet5-BN", "fc"),
    ]
    digits = sides(["F-200^2"])
    digits["correlation"]["inputs"][0, 0] = 64
    assert cases(planted_data(digits, VARIABLES)) == []


def test_a_row_says_what_is_printed_and_measured():
    entries = {entry.id: entry for entry in statements_of("row_of_a_table", sides())}
    entry = entries["planted/table-7-CIFAR10-LeNet5-conv-ratio"]
    assert [*entry.labels.values()] == [
        "7",
        "CIFAR10",
        "LeNet5",
        "convolutional",
        "$λ_1/λ_2$ of $E[x x']$",
    ]
    assert entry.heading.id == "table-7"
    assert entry.heading.places["wu2022dissecting"].endswith("Table 7")
    # As far from the mean as the smallest is, which is nearer to it than the largest.
    assert entry.bound.expected == 15.87
    assert entry.bound.range == pytest.approx((11.145, 20.595))
    # The mean over layers of each seed, and Student's interval over seeds.
    (entry,) = (
        item
        for item in statements_of("row_of_a_table", sides(noise=0.1))
        if item.id.endswith("table-6-CIFAR10-LeNet5-fc-ratio")
    )
    means = data_of(noise=0.1)["spectral_ratio"].sel(network="LeNet5")[:, 2:].values.mean(axis=1)
    expected = scipy.stats.t(4, means.mean(), scipy.stats.sem(means)).interval(0.95)
    assert entry.measure() == pytest.approx((means.mean(), *expected), rel=1e-6)


def test_gaps_are_after_as_many_eigenvalues_in_wide_layers():
    data = data_of(["LeNet5"], noise=0.0, changed={"gap": (5, 5)}).sel(network="LeNet5")
    places = claims.gaps(own_layers(data), "hessian", 9)
    assert places["layer"].values.tolist() == ["conv2", "fc1", "fc2"]  # more outputs than classes
    assert (places == 5).all()
    with pytest.raises(NothingToMeasure, match="no eigenvalues after the 9-th"):
        claims.gaps(own_layers(data.isel(rank=slice(10))), "hessian", 9)


def test_layers_are_told_apart_by_kind_and_place():
    data = data_of()
    names = {
        (kind, place): layers_at(data, "LeNet5", kind, place)["layer"].values.tolist()
        for kind in architectures.KINDS
        for place in architectures.PLACES
    }
    assert names == {
        ("fc", "first"): [],
        ("fc", "later"): ["fc1", "fc2", "fc3"],
        ("conv", "first"): ["conv1"],
        ("conv", "later"): ["conv2"],
    }
    chosen = {"kinds": ("conv",), "networks": lambda data: data["network"].values.tolist()}
    cases = [tuple(case.values()) for case in architectures.layers(data, **chosen)]
    assert cases == [
        (network, "conv", place)
        for network in LAYERS
        if network[0] == "L"
        for place in architectures.PLACES
    ]
    # conv1 has 6 outputs, of 10 classes.
    wide = architectures.layers(data, **chosen, beyond_classes=-1)
    assert {case["place"] for case in wide} == {"later"}


def test_convolutions_and_the_input_layer_are_cases_of_one_sentence():
    entries = statements_of("top_space", sides(["LeNet5"]))
    assert {entry.heading.id for entry in entries} == {"kronecker-form-has-the-top-eigenspace"}
    assert {entry.heading.sentence for entry in entries} == {
        "The product works well on the Hessian's top eigenspace."
    }
    assert [tuple(entry.labels.values())[1:] for entry in entries] == [
        ("fully connected", "layers after it"),
        ("convolutional", "input layer"),
        ("convolutional", "layers after it"),
    ]


def test_what_is_typical_is_a_mean_over_layers():
    arrays = sides(["F-200^2"], noise=0.0)
    overlap = arrays["correlation"]["overlap"]
    overlap[:, :, 1], overlap[:, :, 2] = 0.2, 0.8
    (_, later) = statements_of("top_space", arrays)
    assert later.measure() == pytest.approx((0.5, 0.5, 0.5), abs=1e-6)


def test_the_conjecture_and_its_form_for_convolutions_are_two_sentences():
    headings = [entry.heading for entry in statements_of("conjecture", sides(["LeNet5"]))]
    ids = [heading.id.removeprefix("kronecker-form-is-near-the-hessian") for heading in headings]
    assert ids == ["", "-of-convolutions", "-of-convolutions"]
    assert {heading.quantifier for heading in headings} == {"left open"}
    assert {heading.state for heading in headings} == {"any weights"}


def test_a_diagonal_is_more_than_chance():
    arrays = sides(["LeNet5"])
    ranks = arrays["correlation"]["hessian"].shape[-1]
    labels = {"shown": np.array(["conv2:LeNet5"])}
    for share, ratio in ((np.eye(ranks), 16 * 16 / 46), (np.full((ranks, ranks), 1 / 16), 1.0)):
        arrays["correlation"] |= labels | {
            name: share[None].astype(float) for name in ("output_share", "input_share")
        }
        (entry,) = statements_of("no_diagonal", arrays, "Figure 11")
        assert entry.measure() == pytest.approx(ratio)
        assert entry.bound.holds(entry.measure()) == (ratio == 1.0)


def test_architectures_that_the_paper_lacks_are_beyond_it():
    arrays = sides(["F-200^2"])
    arrays["correlation"]["network"] = np.array(["F-100^2"])
    (first, _) = statements_of("top_space", arrays)
    assert first.heading.id == "kronecker-form-has-the-top-eigenspace-elsewhere"
    assert first.heading.book == "beyond"
    assert not statements_of("spectra_alike", arrays)


def test_what_is_said_of_a_minimum_is_not_judged_elsewhere():
    message = r"^F-200.2 stands at loss 0.125 and accuracy 0.938, and 50% of the fall came late\."
    entries = statements_of("no_gap_after_classes", sides(["F-200^2"], late=0.5), "Figure 3")
    for entry in entries:
        with pytest.raises(NothingToMeasure, match=message):
            entry.measure()
    assert entries


def test_what_is_not_there_is_said():
    data = data_of(["F-200^2"])
    case = {"network": "F-200^2", "kind": "fc", "place": "later"}
    own = layers_at(data.isel(epoch=-1), **case)
    with np.errstate(invalid="ignore"), pytest.raises(NothingToMeasure, match="Hessian is zero"):
        claims._known(frobenius(own.assign({name: 0.0 * own[name] for name in PROBED})))
    with pytest.raises(NothingToMeasure, match=r"^this configuration has 5 of 9 eigenvalues$"):
        outliers(data.sel(network="F-200^2").isel(rank=slice(5)))


@pytest.mark.parametrize(
    ("networks", "changes"),
    [
        (["F-200^2-BN"], {}),
        (["LeNet5"], {"seeds": 1}),
        (["F-200^2"], {"epochs": 1}),
        (list(LAYERS), {"changed": {"spectral": (np.nan, np.nan)}}),
    ],
)
def test_figures_and_captions_bear_what_is_missing(networks, changes):
    data = data_of(networks, **changes)
    for picture in ((draw(data), caption(data)), controls(data)):
        require_readable(*picture)


def test_without_a_shown_layer_there_is_nothing_to_draw():
    data = data_of().isel(shown=slice(0))
    for paint in (draw, controls):
        with pytest.raises(NothingToMeasure, match="layers are to be shown diverged"):
            paint(data)


def test_the_caption_tells_the_setting_and_where_the_networks_stand():
    text = caption(data_of(["F-200^2", "F-200^2-BN"], noise=0.0))
    assert "After 60 epochs" in text
    assert "loss 0.125, accuracy 0.938." in text
    assert "After 60 epochs: training loss" in caption(data_of(noise=0.0))
    assert "recorded without" in caption(data_of(noise=0.0).drop_vars("loss"))

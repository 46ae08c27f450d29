"""Gradients by class and score: against loops over samples, and planted in claims and figure."""

import numpy as np
import pytest
import torch
from claims_contract import Kind, of_records, planted_data
from study_configs import configured
from torch import nn

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.networks.classifiers import kept_classifier
from hessian_papers.studies.layerwise.layers import own_layers
from hessian_papers.studies.layerwise.logit_gradients import study
from hessian_papers.studies.layerwise.logit_gradients.claims import (
    by_score_at_first,
    statements,
    weakly_by_class_at_last,
)
from hessian_papers.studies.layerwise.logit_gradients.derived import chance
from hessian_papers.studies.layerwise.logit_gradients.figure import caption, controls, draw
from tests.papers.studies.layerwise import small_classifiers
from tests.papers.studies.layerwise.pictures import require_readable

NETWORKS = ["F-5^2", "F-6-BN"]


def config(**changes):
    return configured(study, {"ensemble": "made", "seed": 0, "images": 0} | changes)


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    return small_classifiers.ensemble(
        tmp_path_factory.mktemp("networks"), networks=NETWORKS, seeds=2, kept=[0, 1, 3]
    )


@pytest.fixture(scope="module")
def actual(networks):
    return study.layerwise(config(), networks)


def looped(kept, layer):
    """Γ of a layer, sample by sample."""
    model, (x, y) = kept.load().double(), kept.samples.trained()
    module, outputs = model.get_submodule(layer), {}
    module.register_forward_hook(lambda _, given, out: outputs.update(z=out))
    sums = torch.zeros(3, 3, module.out_features, dtype=torch.float64)
    for item, label in zip(x.double(), y.tolist(), strict=True):
        scores = model(item[None])[0]
        jacobian = torch.stack(
            [torch.autograd.grad(s, outputs["z"], retain_graph=True)[0][0] for s in scores]
        )
        p = torch.softmax(scores.detach(), dim=0)
        rows = torch.diag(p.sqrt()) @ (torch.eye(3) - torch.outer(torch.ones(3), p)) @ jacobian
        sums[label] += rows
    return sums / torch.bincount(y, minlength=3)[:, None, None]


@pytest.mark.parametrize(("network", "layer"), [("F-5^2", "fc2"), ("F-6-BN", "fc1")])
def test_they_are_those_of_a_loop_over_samples(networks, actual, network, layer):
    kept = kept_classifier(networks, network, 4, 3)
    means = looped(kept, layer)
    x, y = kept.samples.trained()
    batches = [(x[:7].double(), y[:7]), (x[7:].double(), y[7:])]
    mine = study.gradients(kept.load().double(), batches, [layer])[layer]
    torch.testing.assert_close(mine, means, rtol=1e-9, atol=1e-12)
    own = own_layers(actual.sel(network=network)).sel(layer=layer, seed=4, epoch=3)
    assert (own["by_score"], own["by_class"]) == study.purities(means)


def test_neighbours_are_counted_by_brute_force():
    means = torch.randn(4, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    points = {(i, j): means[i, j] for i in range(4) for j in range(4)}
    nearest = {
        own: min((at for at in points if at != own), key=lambda at: (points[at] - point).norm())
        for own, point in points.items()
    }
    expected = [sum(own[axis] == at[axis] for own, at in nearest.items()) / 16 for axis in (1, 0)]
    assert study.purities(means) == pytest.approx(expected)


def test_labels_at_random_have_the_share_of_chance():
    draws = torch.Generator().manual_seed(1)
    shares = [study.purities(torch.randn(5, 5, 40, generator=draws)) for _ in range(300)]
    mean, error = np.mean(shares), np.std(shares) / np.sqrt(600)
    assert abs(mean - chance(data_of(classes=5))) < 4 * error


def test_the_arrays_of_an_ensemble(actual):
    assert actual["epoch"].values.tolist() == [0, 3]
    assert actual["layer_name"].values.tolist() == [["fc1", "fc2", "fc3"], ["fc1", "fc2", ""]]
    assert actual["by_score"].shape == (2, 2, 2, 3)
    assert actual["by_class"].sel(network="F-6-BN").isnull().any(["seed", "epoch"]).sum() == 1
    assert actual["embedding"].shape == (2, 3, 3, 2)
    assert np.isfinite(actual["embedding"]).all()


def test_the_picture_is_the_same_again_and_bears_gradients_of_any_size():
    means = torch.randn(3, 3, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    first = study.embedded(means, 0)
    np.testing.assert_array_equal(first, study.embedded(means, 0))
    assert np.isfinite(study.embedded(1e-30 * means, 0)).all()
    assert not study.embedded(0 * means, 0).any()


def sides(*, networks=("F-5^2", "F-5-BN"), epochs=(0, 9), classes=3, seeds=4, late=0.01, **numbers):
    """Planted arrays of two hidden layers and the last one."""
    right = {"by_score": (0.9, 0.4), "by_class": (0.0, 0.3)}
    draws, shape = np.random.default_rng(0), (len(networks), seeds, len(epochs), 3)
    ends = [0 if epoch == 0 else 1 for epoch in epochs]
    arrays = {
        name: np.array(pair)[ends][:, None] * np.exp(0.01 * draws.standard_normal(shape))
        for name, pair in (right | numbers).items()
    }
    labels = {
        "network": np.array(networks),
        "layer_name": np.array([["fc1", "fc2", "fc3"]] * len(networks)),
        "seed": np.arange(seeds),
        "epoch": np.array(epochs),
        "class": np.arange(classes),
        "score": np.arange(classes),
        "axis": np.array(["x", "y"]),
        "embedding": draws.standard_normal((len(epochs), classes, classes, 2)),
        "loss": np.full((len(networks), seeds, len(epochs)), 0.02),
        "accuracy": np.ones((len(networks), seeds, len(epochs))),
        "late_progress": np.full((len(networks), seeds), late),
    }
    return {"correlation": labels | arrays}


def data_of(**of):
    """The data set of planted arrays."""
    return planted_data(sides(**of), study.VARIABLES)


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records(
    "logit_gradients", "weakly_by_class_at_last"
)


def test_what_is_said_of_a_minimum_is_not_judged_elsewhere():
    kind, name = Kind(statements, study.VARIABLES), "weakly_by_class_at_last"
    outcomes = {}
    for late, by_class in ((0.01, (0.0, 0.3)), (0.01, (0.0, 0.8)), (0.5, (0.0, 0.3))):
        arrays = sides(late=late, by_class=by_class)
        (entry,) = kind.entries(arrays, "wu2022dissecting", "Figure 29", name).values()
        try:
            outcomes[late, by_class[1]] = entry.bound.outcome(entry.measure())
        except NothingToMeasure as refused:
            outcomes[late, by_class[1]] = str(refused)[-35:]
    expected = ("holds", "fails", "The statement is about a minimum.")
    assert tuple(text.removeprefix(". ") for text in outcomes.values()) == expected


def test_epochs_that_are_not_kept_are_nothing_to_measure():
    with pytest.raises(NothingToMeasure, match="keeps no weights from before training"):
        by_score_at_first(data_of(epochs=(9,)).sel(network="F-5^2"))
    with pytest.raises(NothingToMeasure, match="keeps no weights from after training"):
        weakly_by_class_at_last(data_of(epochs=(0,)).sel(network="F-5^2"))


@pytest.mark.parametrize("of", [{}, {"epochs": (9,), "seeds": 1}, {"epochs": (0,)}])
def test_figure_and_caption_show_what_is_there(of):
    data = data_of(**of)
    axes = draw(data).axes
    first, last = (data["embedding"].isel(epoch=end) for end in (0, -1))
    assert len(axes[0].lines) == len(axes[1].lines) == 3
    for number in range(3):
        shown = [panel.lines[number].get_xydata() for panel in axes[:2]]
        np.testing.assert_array_equal(shown[0], first.sel(score=number))
        np.testing.assert_array_equal(shown[1], last.sel({"class": number}))
    second, text = controls(data)
    assert "labels at random, 0.25" in text
    for picture in ((second, text), (draw(data), caption(data))):
        require_readable(*picture)


def test_only_linear_layers_with_one_position_are_looked_at(tmp_path):
    small = small_classifiers.ensemble(
        tmp_path, shape=(16, 16), samples=6, networks=["LeNet5"], seeds=1, epochs=1, kept=[0, 1]
    )
    actual = study.layerwise(config(), small)
    assert actual["layer_name"].values.tolist() == [["fc1", "fc2", "fc3"]]
    assert np.isfinite(actual["by_score"]).all()
    assert isinstance(kept_classifier(small, "LeNet5", 3, 1).load(), nn.Sequential)

"""The study of courses of training: descent, its law of imbalance, and the sharpness on the way."""

import itertools

import numpy as np
import pytest
import torch
from small_images import CLASSES, image_sets
from study_configs import configured

from hessian_papers.labelled import items_of, joined
from hessian_papers.studies.images.training_courses import study
from hessian_papers.studies.images.training_courses.claims import kept
from hessian_spectra import curvature as cv
from hessian_spectra.models import HalfSquaredError, Perceptron

SAMPLED = {"data": "test", "seed": 0, "samples": 12, "replicates": 2, "recorded": 4}
TRAINED = {"depth": 3, "width": 5, "initial_range": [0.4, 0.8], "learning_rate": 0.02, "epochs": 40}


def config(**changes):
    treated = {"weight_decay": 0.1, "beyond": 1.05}
    return configured(study, SAMPLED | TRAINED | treated | changes)


@pytest.fixture(scope="module")
def data():
    actual = image_sets(digits=60)
    # The class that stands alone has a direction less than all classes have.
    actual["images:digits"].values[actual["labels:digits"].values == 0, 2, 2] = 0
    return actual


def both_sides(settings, data):
    return joined([study.closed_form(settings, data), study.numerics(settings, data)])


@pytest.fixture(scope="module")
def courses(data):
    return both_sides(config(), data)


def started(data, **changes):
    """The courses of the first replicate before they are trained, by labels and treatment."""
    runs = study.courses(config(**changes, replicates=1), data)
    return {(run.labels["labels"].item(), run.labels["treated"].item()): run for run in runs}


def descended(course, epochs):
    """The weights after descent by automatic differentiation, one network alone."""
    inputs, targets = course.problem.samples()
    weights = [weight.clone().requires_grad_() for weight in course.weights]
    for _ in range(epochs):
        product = weights[0]
        for weight in weights[1:]:
            product = weight @ product
        data_loss = (inputs @ product.mT - targets).square().sum() / (2 * len(inputs))
        decay = course.decay / 2 * sum(weight.square().sum() for weight in weights)
        slopes = torch.autograd.grad(data_loss + decay, weights)
        with torch.no_grad():
            for weight, slope in zip(weights, slopes, strict=True):
                weight -= course.rate * slope
    return [weight.detach() for weight in weights]


def test_all_runs_descend_as_each_alone(data):
    runs = list(started(data).values())
    # Subsets of one class have fewer directions than those of all: some are padded.
    assert len({len(run.problem.root) for run in runs}) > 1
    losses, weights = study.descend(runs, 7, [0, 7])
    for number, run in enumerate(runs):
        alone = descended(run, 7)
        for layer, weight in zip(weights, alone, strict=True):
            own = layer[1, number, :, : weight.shape[1]]
            torch.testing.assert_close(own, weight, rtol=1e-12, atol=1e-13)
        loss = run.problem.loss(alone[2] @ alone[1] @ alone[0]) - run.problem.floor
        assert losses[7, number] == pytest.approx(float(loss), rel=1e-10)


def test_a_course_in_its_own_coordinates_is_the_same(data):
    """Of 12 inputs or fewer, a first layer of two rows has its own and those of the target."""
    own = started(data, width=2)["one", "decay"]
    images = items_of(data, "source")["digits"]
    x, y = study._samples(config(), images, "one", study.generator(0, "subset digits 0"))
    whole = study.reduce_regression(study.principal_components(x), y, 1.0)
    wide = study.Course(own.labels, whole, own.weights, own.rate, own.decay)
    sizes = (len(whole.root), 2, 2, CLASSES)
    weights = study.kaiming_uniform(sizes, study.generator(0, "Kaiming digits 0"))
    wide = study.replace(wide, weights=weights)
    small = study.in_own_coordinates(wide)
    torch.testing.assert_close(small.weights, own.weights)
    assert len(small.problem.root) < len(whole.root)
    (losses, ends), (expected, others) = (
        study.descend([run], 30, [0, 30]) for run in (small, wide)
    )
    torch.testing.assert_close(losses, expected)
    unbalances = [study.unbalances([w[:, 0] for w in layers]) for layers in (ends, others)]
    torch.testing.assert_close(*unbalances)
    for at in (0, 1):
        dense = [
            dense_sharpness([layer[at, 0] for layer in layers], run.problem)
            for layers, run in ((ends, small), (others, wide))
        ]
        assert dense[0] == pytest.approx(dense[1], rel=1e-9)


def dense_sharpness(weights, problem):
    """The largest eigenvalue of the Hessian of a linear network."""
    model = Perceptron(weights, [1.0] * len(weights), "linear")
    loss = cv.Problem(model, HalfSquaredError("sample"), [problem.samples()])
    dense = cv.dense_matrix(cv.hessian(loss, backend="curvlinops"))
    return float(torch.linalg.eigvalsh(dense)[-1])


def test_sharpness_is_that_of_the_dense_hessian(data, courses):
    start = courses["sharpness"].sel(replicate=0, epoch=0)
    for labels, inputs in itertools.product(study.LABELS, study.BALANCED):
        run = started(data)[labels, inputs]
        actual = float(start.sel(labels=labels, inputs=inputs))
        assert actual == pytest.approx(dense_sharpness(run.weights, run.problem), rel=1e-6)


@pytest.mark.parametrize("name", [("one", "whitened"), ("uniform", "raw")])
def test_moments_are_those_of_the_samples(data, name):
    """One-hot labels, whose mean square is 1; what no linear map removes included."""
    run = started(data)[name]
    assert run.problem.floor > 1e-4
    actual = study.moments(run.problem)
    inputs, targets = run.problem.samples()
    count = len(inputs)
    torch.testing.assert_close(actual.sxx, inputs.mT @ inputs / count)
    torch.testing.assert_close(actual.syx, targets.mT @ inputs / count)
    assert float(actual.syy) == pytest.approx(1.0, rel=1e-12)


def test_imbalance_follows_the_law_of_gradient_flow(data):
    slow = config(learning_rate=1e-3, epochs=300, weight_decay=0.5)
    chosen = both_sides(slow, data).sel(treated=["plain", "decay"])
    law = kept(chosen["law"])
    np.testing.assert_allclose(kept(chosen["unbalance"]), law, rtol=2e-3)
    end = law.sel(labels="one", treated="decay", replicate=0).isel(epoch=-1)
    assert float(end) == pytest.approx(np.exp(-2 * 0.5 * 0.3))


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_the_sharpness_of_the_balanced_solution_is_that_of_its_dense_hessian(data, depth):
    """At balanced factors of the least-squares solution, which its own singular vectors make."""
    for labels in study.LABELS:
        run = started(data, depth=depth)[labels, "plain"]
        left, values, right = torch.linalg.svd(run.problem.target, full_matrices=False)
        root = torch.diag(values ** (1 / depth))
        weights = [root @ right, *[root] * (depth - 2), left @ root]
        torch.testing.assert_close(torch.linalg.multi_dot(weights[::-1]), run.problem.target)
        expected = dense_sharpness(weights, run.problem)
        assert run.balanced_sharpness == pytest.approx(expected, rel=1e-9)


def test_the_edge_is_beyond_the_balanced_solution(data):
    edge = started(data, beyond=1.5)["one", "edge"]
    assert edge.rate * edge.balanced_sharpness == pytest.approx(3.0)


def test_subsets_are_of_one_class_and_of_all(data):
    images = items_of(data, "source")["digits"]
    for labels, count in (("one", 1), ("uniform", CLASSES)):
        draws = torch.Generator().manual_seed(0)
        x, y = study._samples(config(), images, labels, draws)
        assert x.shape[0] == 12
        assert int((y.sum(dim=0) > 0).sum()) == count


def test_epochs_until_the_loss_is_half_gone(data, courses):
    losses = study.descend(list(started(data).values()), 40, [40])[0].numpy()
    epochs = courses["epochs"].sel(done="half", replicate=0).values.ravel()
    for number, half in enumerate(epochs):
        below = np.flatnonzero(losses[:, number] <= losses[0, number] / 2)
        np.testing.assert_equal(half, float(below[0]) if len(below) else np.nan)


def test_networks_that_diverge_are_told(data):
    actual = study.numerics(config(beyond=200.0, replicates=1), data)
    diverged = actual["diverged"]
    assert diverged.sel(labels="uniform", treated="edge").all()
    assert not diverged.sel(labels="one", treated="plain").any()
    assert actual["trainings_left_out"] == diverged.sum()
    assert np.isfinite(actual["top"]).all()

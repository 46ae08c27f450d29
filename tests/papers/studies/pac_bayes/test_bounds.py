"""Bounds of small networks: every term against its formula, and what is refused."""

import math

import numpy as np
import pytest
import torch
from fan_out_contract import contract
from scipy import stats
from study_configs import configured

from hessian_papers.labelled import LEFT_OUT
from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.ledger.statements import Study
from hessian_papers.networks.classifiers import kept_classifier
from hessian_papers.studies.pac_bayes.bounds import figure, study
from hessian_papers.studies.pac_bayes.bounds.claims import statements
from hessian_papers.studies.pac_bayes.bounds.derived import failures, printed_rows
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.pac_bayes import GaussianPosterior, certify, curvature_in, error_of_draws
from hessian_spectra.pac_bayes.bases import layer_bases
from tests.papers.studies.layerwise import small_classifiers

NETWORKS = ["F-6", "F-5^2"]
METHODS = ["base", "approximate", "iterative", "iterative, exact", "local"]


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    return small_classifiers.ensemble(
        tmp_path_factory.mktemp("bounded"), networks=NETWORKS, seeds=2, samples=60,
        inputs="unit interval", held_out=20, initialisation="truncated normal",
    )  # fmt: skip


def config(**changes):
    fields = {
        "seed": 0, "ensemble": "small", "methods": METHODS,
        "half_log_variance": -3.0, "epochs": 6, "batch_size": 16, "learning_rate": 0.02,
        "decay_every": 3, "smoothing": 0.9, "refresh": 2, "delta": 0.025, "draws_delta": 0.01,
        "grid_precision": 100.0, "largest_variance": 0.1, "draws": 1000, "paper_seeds": 2,
        "local_epochs": 4, "local_batch_size": 8, "local_learning_rate": 0.02,
        "local_objective": "inverse",
    }  # fmt: skip
    return configured(
        study, {"paper": "wu2022dissecting", "artifact": "Table 10"} | fields | changes
    )


@pytest.fixture(scope="module")
def actual(networks):
    return study.pac_bayes(config(), networks)


def test_each_bound_is_that_of_its_terms(actual):
    names = ["bound", "drawn_error", "divergence", "index", "error", "complexity", "prior_variance"]
    for bound, drawn, divergence, index, error, complexity, variance in zip(
        *(actual[name].values.ravel() for name in names), strict=True
    ):
        assert index == int(index) >= 1
        assert variance == pytest.approx(0.1 * math.exp(-index / 100))
        union = 2 * math.log(index) + math.log(math.pi**2 * 40 / (6 * 0.025))
        assert complexity == pytest.approx((divergence + union) / 39)
        assert error == pytest.approx(float(cf.kl_inverse(drawn, math.log(200) / 1000)))
        assert bound == pytest.approx(float(cf.kl_inverse(error, complexity)))
        assert drawn <= error <= bound


def test_a_posterior_that_diverges_has_no_bound_and_is_shown(networks, actual):
    rates = {"learning_rate": 1e9, "local_learning_rate": 1e30}
    data = study.pac_bayes(config(**rates, methods=["base", "iterative", "local"]), networks)
    for name in (*study.TERMS, "held_out_error"):
        assert np.isnan(data[name]).all()
    assert data["diverged"].all()
    assert data[LEFT_OUT] == data["diverged"].size
    assert LEFT_OUT not in actual
    for name, values in data.drop_vars(LEFT_OUT).items():
        assert values.dims == actual[name].dims
    with pytest.raises(NothingToMeasure, match="the training of every posterior diverged"):
        failures(data)
    with pytest.raises(NothingToMeasure, match="the training of every posterior diverged"):
        figure.draw(data)
    entries = list(statements.entries(Study("bounds", vars(config())), data))
    (order,) = [entry for entry in entries if entry.id.endswith("iterative-below-base-F-6")]
    with pytest.raises(NothingToMeasure, match="their training diverged"):
        order.measure()


def test_a_method_begins_at_the_network_and_ends_at_its_certificate(networks, actual):
    kept = kept_classifier(networks, "F-6", 4, small_classifiers.EPOCHS)
    before = kept_classifier(networks, "F-6", 4, 0)
    model = kept.load()
    posterior = GaussianPosterior(model, before.load().state_dict(), -3.0)
    settings, samples = config(), kept.samples.trained()
    study.minimise_bound(posterior, model, *samples, settings.descent("approximate"), seed=4)
    certificate = certify(posterior, samples, prior_saw="nothing", draws=1000, seed=4)
    for name, of in study.TERMS.items():
        assert actual[name][0, 1, 1] == of(certificate)
    others = error_of_draws(posterior, *kept.samples.left_out(), draws=1000, seed=5)
    assert actual["held_out_error"][0, 1, 1] == others
    x, y = kept.samples.left_out()
    wrong = (kept.load()(x).argmax(dim=1) != y).double().mean()
    assert actual["test_error"][0, 1] == pytest.approx(float(wrong))


@pytest.mark.parametrize("method", ["base", "iterative", "iterative, nearest", "iterative, exact"])
def test_curvature_is_the_quadratic_form_of_each_direction(networks, method):
    kept = kept_classifier(networks, "F-6", 3, small_classifiers.EPOCHS)
    model = kept.load().double()
    x, y = (part.double() if part.is_floating_point() else part for part in kept.samples.trained())
    posterior = GaussianPosterior(model, model.state_dict())
    basis = study.METHODS[method].basis
    posterior.bases = dict(layer_bases(model, x.flatten(1), y, basis))
    layer = cv.layerwise(cv.Problem(model, torch.nn.CrossEntropyLoss(), [(x, y)]), "fc2")
    actual = curvature_in(posterior.bases["fc2"], layer)[0].flatten()
    dense = torch.kron(layer.output_hessian, layer.input_autocorrelation)
    if method == "iterative, exact":
        dense = layer.hessian @ torch.eye(len(dense), dtype=dense.dtype)
    columns = torch.stack([posterior.bases["fc2"].turned(row.view(layer.shape)).flatten()
                           for row in torch.eye(len(dense), dtype=dense.dtype)])  # fmt: skip
    torch.testing.assert_close(actual, ((columns @ dense) * columns).sum(dim=1))
    variances = posterior.deviations("fc2").square().flatten().numpy()
    half = float(np.median(variances))
    quantities = study.deviations(posterior, model, x, y, 2 * half)
    assert quantities["dip"][1] == (variances < half).sum()
    assert quantities["rank"][1].max() == len(variances)
    expected = stats.spearmanr(variances, actual.numpy()).statistic
    assert quantities["rank_correlation"][1] == pytest.approx(expected)


def test_networks_that_the_papers_methods_do_not_take_are_no_failures(networks):
    methods = ["base", "local"]
    data = study.pac_bayes(config(paper_seeds=1, epochs=1, methods=methods), networks)
    known = data["bound"].notnull().sum("seed")
    assert known.values.tolist() == [[1, 2], [1, 2]]
    assert LEFT_OUT not in data
    assert failures(data).size == 6


def test_rows_of_the_table_are_those_of_this_run(actual):
    assert printed_rows(actual) == []
    named = actual.assign_coords(network=["F-600", "F-300^2"]).assign(classes=2)
    rows = printed_rows(named)
    assert [(row.network, row.method) for row in rows] == [
        (network, method)
        for network in ("T-600", "T-300^2")
        for method in ("base", "approximate", "iterative")
    ]
    random = printed_rows(named.assign(random_labels=True))
    assert [row.network for row in random] == ["R-600"] * 2


@pytest.mark.parametrize("random_labels", [False, True])
def test_which_rows_there_are_is_known_by_the_data_alone(tmp_path, random_labels):
    """The study is not told, and cannot be told otherwise."""
    networks = small_classifiers.ensemble(
        tmp_path, networks=["F-6"], seeds=1, inputs="unit interval", held_out=20, samples=60,
        initialisation="truncated normal", random_labels=random_labels,
    )  # fmt: skip
    actual = study.pac_bayes(config(methods=["base"], epochs=1), networks)
    assert actual["random_labels"].shape == ()
    named = actual.assign_coords(network=["F-600"]).assign(classes=2)
    (row,) = printed_rows(named)
    assert row.network == ("R-600" if random_labels else "T-600")
    with pytest.raises(TypeError, match="random_labels"):
        config(random_labels=not random_labels)


test_items_repeat_and_a_probe_costs_less = contract(study.pac_bayes, config)

"""Self-attention at the edge of stability: gradient descent, and a closed form that follows it."""

import numpy as np
import pytest
import torch
from attention_arrays import edge_config, edge_sides, reversal
from claims_contract import planted_data

from hessian_papers.data.tools.pairs import inputs_and_targets
from hessian_papers.studies.attention.attention_edge_of_stability import claims, study
from hessian_papers.studies.attention.attention_edge_of_stability.derived import (
    edge,
    relative_sharpness,
)
from hessian_papers.studies.spectra import error, group
from hessian_papers.studies.trainings import compared
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.models import HalfSquaredError, SelfAttention


def test_training_is_plain_gradient_descent():
    data, settings = reversal(0.98, -0.98), edge_config(steps=2)
    networks = study.train(settings, data)
    value, query, key = (weights.clone() for weights in study.initial_weights(settings))
    x, y = inputs_and_targets(data)
    for step in range(3):
        # It passes close to zero: what it is a difference of has the size of the first one.
        np.testing.assert_allclose(networks["w_value"][step], value, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(networks["w_query"][step], query, rtol=1e-13)
        np.testing.assert_allclose(networks["w_key"][step], key, rtol=1e-13)
        moments = cf.attention_moments(query, key, x)
        residual = value * moments.m_1 - y
        # df/dw_V = m_1, and df/d<w_Q, w_K> = w_V x m_2 / sqrt(d_K).
        slope = (residual * value * x * moments.m_2).mean() / 2**0.5
        change = (residual * moments.m_1).mean()
        value, query, key = (
            value - 2.3 * change,
            query - 2.3 * slope * key,
            key - 2.3 * slope * query,
        )


def test_closed_form_is_the_spectrum_at_every_step():
    data = planted_data(edge_sides(0.98, -0.98), study.VARIABLES)
    steps = compared(data)
    assert steps["step"].values.tolist() == list(range(0, 91, 15))
    assert error(steps).max() < 1e-12
    np.testing.assert_allclose(data["trace"], data["exact"].sum("rank"), atol=1e-13)
    np.testing.assert_array_equal(data["sharpness"], data["exact"].max("rank"))
    np.testing.assert_allclose(data["norm_residual"] ** 2 / 4, data["loss"], rtol=1e-12)
    assert group(data, "outlier").shape == (91, 3)
    bulk = group(data, "bulk").values
    np.testing.assert_array_equal(bulk, -bulk[:, ::-1])


def test_a_diverging_run_is_recorded_up_to_its_end():
    data = planted_data(edge_sides(2.0, 1.0), study.VARIABLES)
    assert 0 < data["diverged_at"] < 90
    assert data.sizes["step"] == data["diverged_at"]
    assert compared(data)["numerical"].notnull().all()


@pytest.mark.parametrize(("key_dimension", "length"), [(1, 2), (2, 2), (3, 4)])
def test_derivatives_of_many_sequences_are_those_of_automatic_differentiation(
    key_dimension, length
):
    draw = np.random.default_rng(key_dimension)
    weights, x = draw.normal(size=(4, 1 + 2 * key_dimension)), draw.normal(size=(4, length))
    gradients, hessians = study.sequence_derivatives(study.coefficients(weights, x), weights)
    for row, tokens, gradient, hessian in zip(weights, x, gradients, hessians, strict=True):
        value, query, key = torch.from_numpy(row).split([1, key_dimension, key_dimension])
        layer = SelfAttention(value.squeeze(0), query, key)
        inputs = torch.from_numpy(tokens.copy())[None]
        loss, targets = HalfSquaredError("element"), inputs.flip(1)
        parts = torch.autograd.grad(loss(layer(inputs), targets), list(layer.parameters()))
        actual = torch.cat([part.reshape(-1) for part in parts]).numpy()
        np.testing.assert_allclose(gradient, actual, atol=1e-12)
        problem = cv.Problem(layer, loss, [(inputs, targets)])
        np.testing.assert_allclose(hessian, cv.dense_matrix(cv.hessian(problem)), atol=1e-12)


def test_a_draw_ends_as_its_training_does():
    """The sequence of the figure, from the figure's weights, as one draw of two."""
    config = edge_config()
    networks = study.train(config, reversal(0.98, -0.98))
    exact = study.closed_form(config, networks)
    relative = relative_sharpness(exact)
    start = np.concatenate([np.ravel(networks[name][0]) for name in study.WEIGHTS])
    arrays = study.at_the_edge(
        np.stack([start, 1e5 * start]), np.array([[0.98, -0.98]] * 2), 2.3, config.steps
    )
    actual, diverged = ({name: rows[of] for name, rows in arrays.items()} for of in (0, 1))
    from_edge = relative.sel(step=slice(edge(exact), None))
    assert actual["draw_peak"] == pytest.approx(relative.max().item(), rel=1e-9)
    assert actual["draw_mean"] == pytest.approx(from_edge.mean().item(), rel=1e-9)
    assert actual["draw_reversals"] > 0.9
    for name in ("trace", "half_width"):
        changes = (claims._changes(exact, of) for of in ("sharpness", name))
        assert actual[f"draw_{name}"] == pytest.approx(np.corrcoef(*changes)[0, 1], rel=1e-6)
    assert actual["draw_terms"].sum() == pytest.approx(1)
    assert all(np.isnan(values).all() for values in diverged.values())


def test_the_shares_of_a_change_sum_to_one():
    # The sum goes 1, 4, 2; a term that is all of it, one that stands still, two that cancel.
    away = np.array([3.0, -1.0, 5.0])
    terms = np.stack([[1.0, 4.0, 2.0], [1.0, 1.0, 1.0], away, -away], axis=1)
    shares, half = study.shares_of_half_width(terms, np.array([0.5, 2.0, 1.0]))
    assert shares.sum() == pytest.approx(1)
    np.testing.assert_allclose(shares[:2], [1, 0])
    assert shares[2] == -shares[3]
    assert half == pytest.approx(0.5)


def test_the_terms_of_xi_sum_to_it():
    draw = np.random.default_rng(0)
    weights, x = draw.normal(size=(5, 7)), draw.normal(size=(5, 2))
    for solved in (False, True):
        terms = study.coefficients(weights, x, solved=solved).terms(weights)
        for row, tokens, actual in zip(weights, x, terms, strict=True):
            value, query, key = torch.from_numpy(row).split([1, 3, 3])
            inputs = torch.from_numpy(tokens.copy())[None]
            outputs = value * cf.attention_moments(query, key, inputs).m_1
            targets = outputs if solved else inputs.flip(1)
            exact = cf.attention_coefficients(value.squeeze(0), query, key, inputs, targets)
            half_width = cf.attention_cubic(exact, query, key).half_width()
            assert 4 * actual.sum() / 9 == pytest.approx(half_width.item() ** 2)
            assert actual[3] ** 0.5 == pytest.approx(
                abs(exact.alpha + exact.zeta * (query @ query + key @ key)).item()
            )

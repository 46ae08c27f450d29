"""The study of attention at initialisation: its formulas, held against modules and limits."""

import numpy as np
import pytest
import torch
import xarray as xr
from uniform_attention_arrays import config, sides

from hessian_papers.studies.attention.uniform_attention import study
from hessian_spectra import closed_form as cf
from hessian_spectra.models import SelfAttention


def test_the_moments_are_those_of_definition_b1():
    first = next(study.draws(config()))
    query, key = (torch.from_numpy(vector[:4]) / 3**0.5 for vector in (first.query, first.key))
    exact = cf.attention_moments(query, key, torch.from_numpy(first.x)[None])
    value, x, y = (torch.from_numpy(np.asarray(of)) for of in (first.w_value, first.x, first.y))
    numbers = cf.attention_coefficients(value, query, key, x[None], y[None])
    m_2, gamma = study._second_moment_and_gamma(first, np.array([first.score("sp", 4), 0.0]))
    np.testing.assert_allclose(m_2[0], exact.m_2[0], rtol=1e-12)
    assert gamma[0] / 2 == pytest.approx(numbers.gamma.item(), rel=1e-12)
    np.testing.assert_allclose(m_2[1], first.x.var())


def test_no_scores_are_uniform_attention():
    x = np.array([1.0, -2.0, 4.0])
    attention = study.attention_of(np.zeros(()), x)
    assert study.distance(attention) == pytest.approx(0)


def test_the_distance_of_attention_to_one_token():
    # Half of |1 − 1/4| + 3 · 1/4.
    assert study.distance(np.eye(4)) == pytest.approx(0.75)


def test_the_scores_are_those_of_the_module():
    first = next(study.draws(config()))
    query, key = (torch.from_numpy(vector[:8]) / 3**0.5 for vector in (first.query, first.key))
    layer = SelfAttention(torch.tensor(first.w_value), query, key)
    expected = layer.attention(torch.from_numpy(first.x)[None])[0].detach()
    actual = study.attention_of(np.array(first.score("sp", 8)), first.x)
    np.testing.assert_allclose(actual, expected, atol=1e-14)


def test_entries_have_the_variance_or_the_norm_that_is_said():
    first = next(study.draws(config()))
    assert np.linalg.norm(first.scale("unit", 16)[0] * first.query[:16]) == pytest.approx(1)
    assert first.scale("xavier", 7) == pytest.approx((0.5, 0.5))
    assert first.scale("sp", 64) == pytest.approx((3**-0.5, 3**-0.5))


def test_a_factor_multiplies_both_weights():
    closed = sides()["closed_form"]
    np.testing.assert_allclose(closed["scaled_bulk"].sel(factor=1.0), closed["bulk"], rtol=1e-12)
    stretched = study.closed_form(config(factors=[1.0, 3.0]), xr.Dataset())["scaled_bulk"]
    turned = study.closed_form(config(factors=[3.0, 1.0]), xr.Dataset())["scaled_bulk"]
    for factor in (1.0, 3.0):
        np.testing.assert_array_equal(stretched.sel(factor=factor), turned.sel(factor=factor))
    assert not np.allclose(stretched.sel(factor=1.0), stretched.sel(factor=3.0))

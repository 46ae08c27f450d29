"""Self-attention at the edge of stability: the closed form follows, and the claims can fail."""

import numpy as np
import pytest
import torch
from hessian_spectra.ledger.vocabulary import holds

from hessian_spectra import closed_form as cf
from hessian_spectra.data import listed_sequences
from hessian_spectra.studies.attention.attention_edge_of_stability import claims, study
from hessian_spectra.studies.attention.attention_edge_of_stability import figure as figures


def config(**changes):
    fields = {
        "kind": "attention_edge_of_stability",
        "paper": "singh2026cracking",
        "artifact": "Figure 27",
        "title": "test",
        "data": "test",
        "seed": 1,
        "key_dimension": 2,
        "initial_scale": 0.1,
        "learning_rate": 2.3,
        "steps": 90,
        "numeric_every": 15,
    }
    return study.Config(**(fields | changes))


def sequences(*tokens):
    settings = listed_sequences.Config(kind="listed_sequences", seed=0, sequences=[list(tokens)])
    return listed_sequences.make(settings)


def run(data, **changes):
    settings = config(**changes)
    networks = study.train(settings, data)
    return study.closed_form(settings, networks), study.numerics(settings, networks)


@pytest.fixture(scope="module")
def edge():
    """Sequences with which gradient descent stays at the edge for a while."""
    return run(sequences(0.98, -0.98))


@pytest.fixture(scope="module")
def calm():
    """Sequences with which it settles far below 2/η."""
    return run(sequences(0.5, -0.5), steps=60)


def measured(sides):
    return {claim.id.split("/")[1]: (claim, claim.measure(*sides)) for claim in claims.claims("s")}


def failing(sides):
    return {
        name
        for name, (claim, value) in measured(sides).items()
        if not holds(value, claim.relation, claim.expected, claim.tolerance)
    }


def test_training_is_plain_gradient_descent():
    data, settings = sequences(0.98, -0.98), config(steps=2)
    networks = study.train(settings, data)
    value, query, key = (weights.clone() for weights in study.initial_weights(settings))
    x, y = torch.from_numpy(data["x"]), torch.from_numpy(data["y"])
    for step in range(3):
        np.testing.assert_allclose(networks["w_value"][step], value, rtol=1e-13)
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


def test_closed_form_is_the_spectrum_at_every_step(edge):
    exact, numeric = edge
    rows = np.searchsorted(exact["step"], numeric["step"])
    np.testing.assert_allclose(exact["eigenvalues"][rows], numeric["eigenvalues"], atol=1e-13)
    np.testing.assert_allclose(exact["trace"], exact["eigenvalues"].sum(axis=1), atol=1e-13)
    np.testing.assert_array_equal(exact["sharpness"], exact["eigenvalues"].max(axis=1))
    np.testing.assert_allclose(exact["residual_norm"] ** 2 / 4, exact["loss"], rtol=1e-12)


def test_the_paper_describes_what_happens_but_for_the_second_moment(edge):
    assert failing(edge) == {"moment-2-grows"}


def test_without_an_edge_the_claims_about_it_fail(calm):
    exact, _ = calm
    assert exact["sharpness"].max() < 0.9 * 2 / 2.3
    assert failing(calm) >= {"reaches-the-edge", "hovers", "oscillates", "opposite-phase",
                             "driven-by-xi", "amplitude-follows-residual", "loss-decreases",
                             "loss-is-not-monotone"}  # fmt: skip


def test_a_wrong_spectrum_would_be_noticed(edge):
    exact, numeric = edge
    assert "spectrum" in failing((exact, numeric | {"eigenvalues": numeric["eigenvalues"] + 1e-8}))
    assert "sharpness-bounds" in failing((exact | {"upper": 0.9 * exact["upper"]}, numeric))


def flattest_sharpness(a, b):
    """The sharpness of the flattest weights that reverse (a, -b), a > b > 0, found by bisection."""
    x = torch.tensor([[a, -b]], dtype=torch.float64)

    def outputs(k):
        # w_Q = (k, 0), w_K = (-1, 0): alignment -k.
        query, key = (torch.tensor([c, 0.0], dtype=torch.float64) for c in (k, -1.0))
        return cf.attention_moments(query, key, x).m_1[0]

    low, high = 0.1, 10.0
    for _ in range(200):
        middle = (low + high) / 2
        first, second = outputs(middle)
        # m_1 is proportional to the targets (-b, a) at the solution.
        low, high = (middle, high) if first * a + second * b > 0 else (low, middle)
    first, _ = outputs(low)
    size = low**0.5
    query, key = (torch.tensor([c, 0.0], dtype=torch.float64) for c in (size, -size))
    value = -b / first
    assert torch.allclose(value * outputs(low), x.flip(1)[0], atol=1e-10)
    return cf.self_attention(value, query, key, x, x.flip(1)).eigenvalues[-1].item()


@pytest.mark.parametrize("b", [0.5, 0.75])
def test_without_flat_enough_weights_of_zero_loss_the_edge_is_for_ever(b):
    exact, _ = run(sequences(1.0, -b), steps=500, numeric_every=500)
    flattest = flattest_sharpness(1.0, b) * 2.3 / 2
    late = exact["sharpness"][400:] * 2.3 / 2
    if b == 0.5:
        assert flattest < 0.7
        assert exact["loss"][-1] < 1e-20
        # Gradient descent finds weights that are hardly sharper than the flattest.
        assert late[-1] == pytest.approx(flattest, abs=0.01)
    else:
        assert flattest > 1.1
        assert exact["loss"][400:].mean() > 1e-4
        assert late.mean() == pytest.approx(1, abs=0.1)


def test_a_diverging_run_is_recorded_up_to_its_end():
    exact, numeric = run(sequences(2.0, 1.0))
    assert 0 < exact["diverged_at"] < 90
    assert len(exact["step"]) == exact["diverged_at"]
    assert np.isfinite(numeric["eigenvalues"]).all()
    assert all(np.isfinite(value) for _, value in measured((exact, numeric)).values())
    assert f"diverges at step {exact['diverged_at']}" in figures.caption(exact, numeric)


def test_figure_draws_every_step(edge, calm):
    for exact, numeric in (edge, calm):
        figure = figures.draw(exact, numeric)
        sharpness = figure.axes[2]
        assert sharpness.get_ylabel() == r"sharpness $\lambda_{\max}$"
        drawn = {line.get_label(): line for line in sharpness.lines}
        np.testing.assert_array_equal(drawn["closed form"].get_ydata(), exact["sharpness"])
        np.testing.assert_array_equal(drawn["numerical"].get_xdata(), numeric["step"])
        assert all(axes.get_ylabel() for axes in figure.axes)
    assert "reaches at step" in figures.caption(*edge)
    assert "stays below" in figures.caption(*calm)


@pytest.mark.parametrize(
    "change",
    [
        {"key_dimension": 0},
        {"initial_scale": 0.0},
        {"learning_rate": -1.0},
        {"steps": 0},
        {"numeric_every": 0},
    ],
)
def test_bad_settings_are_refused_in_one_line(change):
    with pytest.raises(ValueError, match=f"^{next(iter(change))}: expected .*, got .*$"):
        config(**change)

"""The functional part of the largest eigenvalue, against automatic differentiation."""

from functools import cache

import numpy as np
import pytest
import torch
from claims_contract import of_records
from matplotlib import pyplot as plt
from study_configs import both_sides, configured

from hessian_papers.studies.attention.functional_part import claims, derived, figure, study

SMALL = {
    "width": 3,
    "norms": [0.5, 4.0],
    "batch": 2,
    "length": 4,
    "draws": 5,
    "target_scales": [1.0, 10.0],
    "checked": 2,
    "seed": 0,
}


def config(**changes):
    return configured(study, SMALL | changes)


@cache
def sides():
    return both_sides(study, config())


def attention(parameters, x):
    value, query, key = parameters[0], parameters[1:4], parameters[4:]
    scores = (query @ key) / 3**0.5 * x[:, :, None] * x[:, None, :]
    return value * (scores.softmax(dim=-1) @ x[:, :, None])[..., 0]


def linear(parameters, x):
    return (parameters[:3] @ parameters[3:]) * x


def relu(parameters, x):
    return torch.relu(x[..., None] * parameters[:3]) @ parameters[3:]


@pytest.mark.parametrize("norm", SMALL["norms"])
@pytest.mark.parametrize("network", [attention, linear, relu])
def test_hessian_and_gauss_newton_matrix_are_those_of_the_network(network, norm):
    model = network.__name__
    numbers = study.generator(0, "draw 2")
    first, second = (
        norm * w / w.norm() for w in torch.randn(2, 3, generator=numbers, dtype=torch.float64)
    )
    sign = torch.sign(torch.randn(1, generator=numbers, dtype=torch.float64))
    x, y = torch.randn(2, 2, 4, generator=numbers, dtype=torch.float64)
    pair = [second, first] if model != "attention" else [norm * sign, first, second]
    parameters = torch.cat(pair)

    def loss(parameters):
        return (network(parameters, x) - y).square().mean() / 2

    hessian = torch.autograd.functional.hessian(loss, parameters)
    jacobian = torch.autograd.functional.jacobian(lambda p: network(p, x).flatten(), parameters)
    expected = {"hessian": hessian, "gauss_newton": jacobian.T @ jacobian / x.numel()}
    of = {"model": model, "weight_norm": norm, "draw": 2}
    for name, matrix in expected.items():
        actual = sides()["closed_form"][name].sel(of)
        largest = torch.linalg.eigvalsh(matrix)[-1].item()
        assert actual.sel(quantity="largest eigenvalue").item() == pytest.approx(largest, rel=1e-9)
        assert actual.sel(quantity="lower bound") <= largest * (1 + 1e-9)
        assert actual.sel(quantity="upper bound") >= largest * (1 - 1e-9)


def test_without_residuals_there_is_no_functional_part():
    data = sides()["closed_form"]
    fitted = data.assign(hessian=data["gauss_newton"])
    assert (derived.functional_part(fitted) == 0).all()
    doubled = data.assign(hessian=2 * data["gauss_newton"])
    np.testing.assert_allclose(derived.functional_part(doubled), 0.5)


def test_terms_with_residuals_are_counted():
    """Of the seven terms with attention all but the first have residuals, of the five two."""
    terms = sides()["closed_form"]["residual_terms"]
    np.testing.assert_allclose(terms.sel(model="attention"), 6 / 7)
    np.testing.assert_allclose(terms.drop_sel(model="attention"), 2 / 5)
    for network in study.networks(config(), 2):
        first, *rest = network.terms(fitted=False)
        count = 3 if network.model == "attention" else 2
        trace = first + sum(rest[: count - 1])
        root = sum(rest[count - 1 :]).sqrt() * (2 / 3 if network.model == "attention" else 1)
        of = network.labels | {"draw": network.number}
        largest = sides()["closed_form"]["hessian"].sel({k: v.item() for k, v in of.items()})
        bound = (trace + 1.5 * root) / 3 if count == 3 else (trace + root) / 2
        if network.model == "linear":
            assert float(bound) == pytest.approx(largest[0].item(), rel=1e-9)
        if network.model == "attention" and largest[1] > 0:
            assert float(bound) == pytest.approx(largest[1].item(), rel=1e-9)


def test_larger_targets_leave_the_gauss_newton_matrix_as_it_is():
    data = sides()["closed_form"]
    scaled = data["scaled_gauss_newton"]
    np.testing.assert_array_equal(scaled.sel(target_scale=1.0), scaled.sel(target_scale=10.0))
    parts = claims._parts(data, "largest eigenvalue").mean("draw")
    assert (parts.sel(at="targets times 10") > parts.sel(at="targets times 1")).all()


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records("functional_part")


def test_each_model_and_each_bound_is_drawn():
    picture = figure.draw(sides()["closed_form"])
    texts = [text.get_text() for axes in picture.axes for text in axes.get_legend().get_texts()]
    assert texts[:3] == ["self-attention", "two-layer linear", "two-layer ReLU"]
    assert texts[3:] == list(study.QUANTITIES)
    assert "5 draws" in figure.caption(sides()["closed_form"])
    plt.close("all")

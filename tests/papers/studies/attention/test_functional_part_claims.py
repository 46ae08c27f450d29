"""The functional part of the largest eigenvalue, against automatic differentiation."""

from functools import cache

import numpy as np
import pytest
import torch
import xarray as xr
from claims_contract import Planted, changed, contract
from matplotlib import pyplot as plt
from study_configs import both_sides, configured

from hessian_papers.studies.attention.functional_part import claims, derived, figure, study

SMALL = {
    "width": 3,
    "norms": [0.5, 4.0],
    "batch": 2,
    "length": 4,
    "draws": 5,
    "checked": 2,
    "seed": 0,
}
ARTIFACT = "Section 3.3, comparison with linear networks"


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


def with_parts(of_attention, of_others, factor=1.0):
    """Draws in which the residuals make these fractions; numerical ones are this much larger."""
    data = sides()["closed_form"]
    part = xr.where(data["model"] == "attention", of_attention, of_others)
    chance = 1 + 0.01 * xr.DataArray(np.arange(5.0), dims="draw")
    grown = chance * part / (1 - chance * part)
    hessian = (data["gauss_newton"] * (1 + grown)).transpose(*data["hessian"].dims)
    numerical = hessian.sel(quantity="largest eigenvalue", draw=[0, 1]).values
    of_theory = changed(sides(), "closed_form", hessian=hessian.values)
    return changed(of_theory, "numerics", numerical_hessian=factor * numerical)


@pytest.fixture(scope="module")
def planted():
    return [
        Planted(
            paper="singh2026cracking",
            artifact=ARTIFACT,
            holds=with_parts(0.7, 0.1),
            fails=[with_parts(0.1, 0.7, factor=1.01)],
            reduced=[{name: side.isel(weight_norm=[0]) for name, side in sides().items()}],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(
    claims.statements, study.VARIABLES
)


def test_each_model_and_each_bound_is_drawn():
    picture = figure.draw(sides()["closed_form"])
    texts = [text.get_text() for axes in picture.axes for text in axes.get_legend().get_texts()]
    assert texts[:3] == ["self-attention", "two-layer linear", "two-layer ReLU"]
    assert texts[3:] == list(study.QUANTITIES)
    assert "5 draws" in figure.caption(sides()["closed_form"])
    plt.close("all")

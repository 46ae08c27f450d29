"""Released libraries have faults: these tests fail once they are put right there."""

import pytest
import torch
from torch import nn

from hessian_spectra import curvature as cv
from hessian_spectra.curvature.curvlinops_operators import right_gradient

from . import oracles
from .cases import Case, normal

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")


def released(case: Case) -> torch.Tensor:
    """The product of curvlinops' Hessian, as released, with a fixed vector."""
    from curvlinops import HessianLinearOperator

    model = case.model()
    operator = HessianLinearOperator(model, case.loss, list(model.parameters()), case.data)
    return (operator @ normal(operator.shape[0])).detach()


def case(normalisation) -> Case:
    loss = nn.CrossEntropyLoss()
    labels = torch.arange(8) % 3
    return Case(
        "normalised",
        lambda: nn.Sequential(nn.Linear(5, 6), normalisation(6), nn.Tanh(), nn.Linear(6, 3)),
        loss,
        [(normal(8, 5), labels)],
    )


def relative_error(product, expected):
    return float((product - expected).norm() / expected.norm())


@pytest.mark.parametrize(
    "normalisation",
    [nn.LayerNorm, lambda width: nn.BatchNorm1d(width, track_running_stats=False)],
    ids=["affine layer norm", "batch norm in training mode"],
)
def test_released_hessian_is_wrong_and_ours_is_right(normalisation):
    at = case(normalisation)
    expected = oracles.hessian_by_differences(at)
    vector = normal(len(expected))
    assert relative_error(released(at), expected @ vector) > 1e-2
    for backend in ("autograd", "curvlinops"):
        ours = cv.hessian(cv.Problem(at.model(), at.loss, at.data), backend=backend)
        assert relative_error(ours @ vector, expected @ vector) < 1e-7


def test_the_correction_ends_with_its_scope():
    import curvlinops.hessian

    before = curvlinops.hessian.jacrev
    with right_gradient():
        assert curvlinops.hessian.jacrev is torch.func.grad
    assert curvlinops.hessian.jacrev is before


def test_the_self_check_would_have_found_it():
    from curvlinops import HessianLinearOperator

    from hessian_spectra.curvature.self_check import check_hessian

    at = case(nn.LayerNorm)
    model = at.model()
    wrong = HessianLinearOperator(model, at.loss, list(model.parameters()), at.data)
    with pytest.raises(cv.OperatorError):
        check_hessian(lambda: wrong, cv.Problem(model, at.loss, at.data))

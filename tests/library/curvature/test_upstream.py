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


def test_kfac_leaves_class_weights_out():
    """For one sample and one linear layer it is the Gauss-Newton matrix, but for these."""
    from curvlinops import GGNLinearOperator, KFACLinearOperator

    def pair(model, loss, data):
        arguments = (model, loss, list(model.parameters()), data)
        kfac = KFACLinearOperator(*arguments, fisher_type="type-2", check_deterministic=False)
        return kfac, GGNLinearOperator(*arguments, check_deterministic=False)

    data = [(normal(1, 3), torch.tensor([1]))]
    layer = nn.Linear(3, 3, bias=False).double()
    vector = normal(9)
    weights = torch.tensor([1.0, 3.0, 1.0]).double()
    plain = pair(layer, nn.CrossEntropyLoss(reduction="sum"), data)
    weighted = pair(layer, nn.CrossEntropyLoss(weights, reduction="sum"), data)
    assert relative_error(plain[0] @ vector, plain[1] @ vector) < 1e-12
    assert relative_error(weighted[0] @ vector, plain[1] @ vector) < 1e-12
    assert relative_error(weighted[1] @ vector, 3 * (plain[1] @ vector)) < 1e-12


def test_conjugate_gradients_stop_early_by_default():
    from curvlinops import CGInverseLinearOperator

    diagonal = torch.logspace(-3, 0, 50, dtype=torch.float64)
    operator = cv.as_operator(diagonal.diag()).to_curvlinops()
    right = normal(50)
    expected = right / diagonal
    assert relative_error(CGInverseLinearOperator(operator) @ right, expected) > 1e-1
    # With a tolerance far below, directions of little curvature are left out all the same.
    asked = CGInverseLinearOperator(operator, tolerance=1e-13, stop_updating_after=1e-13)
    with pytest.warns(Warning, match="CG terminated"):
        assert relative_error(asked @ right, expected) > 1e-6
    ours = cv.inverse(diagonal.diag(), tol=1e-12)
    assert relative_error(ours @ right, expected) < 1e-8


def test_scipy_knows_no_types_of_torch():
    """Once it does, operators may go there without ``to_scipy``."""
    from scipy.sparse.linalg import eigsh

    with pytest.raises(TypeError, match=r"Cannot interpret 'torch.float64' as a data type"):
        eigsh(cv.as_operator(torch.eye(9, dtype=torch.float64)), k=2)


def test_the_self_check_would_have_found_it():
    from curvlinops import HessianLinearOperator

    from hessian_spectra.curvature.self_check import check_hessian

    at = case(nn.LayerNorm)
    model = at.model()
    wrong = HessianLinearOperator(model, at.loss, list(model.parameters()), at.data)
    with pytest.raises(cv.OperatorError):
        check_hessian(lambda: wrong, cv.Problem(model, at.loss, at.data))

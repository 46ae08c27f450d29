"""Float32 numbers keep their digits, also where torch would let a GPU round them to TF32."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from hessian_spectra import curvature as cv

from .cases import SOLVERS, draws

_ATEN = torch.ops.aten
CONVOLUTIONS = (_ATEN.convolution, _ATEN.convolution_backward)
PRODUCTS = (_ATEN.mm, _ATEN.bmm, _ATEN.addmm, _ATEN.baddbmm, _ATEN.mv, _ATEN.addmv, _ATEN.dot)


class TensorCores(TorchDispatchMode):
    """A GPU since Ampere: where torch allows it, operands keep 10 bits of their 23."""

    def __init__(self) -> None:
        super().__init__()
        self.rounded = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        allowed = (func.overloadpacket in CONVOLUTIONS and torch.backends.cudnn.allow_tf32) or (
            func.overloadpacket in PRODUCTS and torch.backends.cuda.matmul.allow_tf32
        )
        if allowed:
            self.rounded += 1
            args = tuple(map(rounded, args))
        return func(*args, **(kwargs or {}))


def rounded(value: Any) -> Any:
    if not isinstance(value, Tensor) or value.dtype != torch.float32:
        return value
    bits = value.contiguous().view(torch.int32)
    return ((bits + (1 << 12)) & ~((1 << 13) - 1)).view(torch.float32)


@pytest.fixture
def fast_products():
    """As users of such GPUs set it, for linear layers."""
    torch.set_float32_matmul_precision("high")
    yield
    torch.set_float32_matmul_precision("highest")


def normal(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=draws())


def network() -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layers = [nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.GELU()) for _ in range(8)]
        return nn.Sequential(nn.Conv2d(1, 4, 3), *layers, nn.Flatten(), nn.Linear(64, 3))


LABELS = torch.randint(3, (6,), generator=draws())
IMAGES = normal(6, 1, 6, 6)


def problem(**settings: Any) -> cv.Problem:
    return cv.Problem(network(), nn.CrossEntropyLoss(), [(IMAGES, LABELS)], **settings)


def product(at: cv.Problem, operator: Callable[..., Any], **settings: Any) -> Tensor:
    return operator(at, **settings) @ normal(at.size)


MEASURES: dict[str, Callable[[], Any]] = {
    "value": lambda: torch.tensor(problem().value()),
    "gradient": lambda: problem().gradient(),
    "Hessian": lambda: product(problem(), cv.hessian),
    "Hessian, unchecked": lambda: product(problem(), cv.hessian, check=False),
    "Gauss-Newton matrix": lambda: product(problem(), cv.ggn),
    "sharpness": lambda: torch.tensor(cv.sharpness(problem()).value),
    "tracker": lambda: torch.tensor(
        cv.SharpnessTracker(network(), nn.CrossEntropyLoss(), [(IMAGES, LABELS)]).step(0).sharpness
    ),
    "layer": lambda: torch.cat([part.flatten() for part in layer().factors("expand")]),
    "Kronecker pairs": lambda: layer().kronecker(2).eigenvectors(),
    "nearest product": lambda: layer().best_kronecker().output,
    "corrected": lambda: layer().eigenvalue_corrected(2).eigenvectors(),
    "loss along": lambda: cv.loss_along(problem(), normal(problem().size), [0.0, 0.1]).loss,
    **{name: lambda solve=solve: solve(MATRIX) for name, solve in SOLVERS.items()},
    "operator": lambda: cv.as_operator(MATRIX) @ normal(200),
    "sum": lambda: cv.dense_matrix(cv.as_operator(MATRIX) + cv.as_operator(MATRIX)),
}
MATRIX = (lambda half: half + half.T)(normal(200, 200))


def layer() -> Any:
    return cv.layerwise(problem(), "10")


@pytest.mark.parametrize("name", MEASURES)
def test_all_digits_are_kept_on_tensor_cores(name, fast_products):
    measure = MEASURES[name]
    torch.set_float32_matmul_precision("highest")
    expected = measure()
    torch.set_float32_matmul_precision("high")
    with TensorCores():
        actual = measure()
    assert torch.equal(actual, expected)
    assert torch.get_float32_matmul_precision() == "high"
    assert torch.backends.cudnn.allow_tf32


def test_rounded_products_would_be_off(fast_products):
    """Without the guard digits are lost; else the tests above would say nothing."""
    model = network()
    with TensorCores() as cores:
        actual = model(IMAGES).detach()
    assert cores.rounded == 10
    expected = model.double()(IMAGES.double()).detach()
    assert 1e-4 < float((actual - expected).norm() / expected.norm()) < 1e-1

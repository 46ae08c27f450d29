"""Extreme scales, cancellation, and what the closed forms cost."""

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form.instances import Draw, numbers


def exact_outliers(w, v, x, y):
    """The outlier pair of Theorem 3.1 with 60 digits, smaller one first."""
    w, v, x, y = ([Fraction(number) for number in array.tolist()] for array in (w, v, x, y))
    inner = sum(a * b for a, b in zip(w, v, strict=True))
    moment = sum(a * a for a in x) / len(x)
    dx = sum(a * (inner * a - b) for a, b in zip(x, y, strict=True)) / len(x)
    trace = moment * sum(a * a for a in w + v)
    product = -dx * (dx + 2 * moment * inner)
    with localcontext(prec=60, Emin=-9999, Emax=9999):
        half = Decimal(trace.numerator) / Decimal(trace.denominator) / 2
        rest = Decimal(product.numerator) / Decimal(product.denominator)
        largest = half + (half * half - rest).sqrt()
        return rest / largest, largest


@pytest.mark.parametrize(
    ("w_scale", "v_scale", "x_scale", "y_scale"),
    [
        (1e-150, 1e-150, 1e150, 1e-150),
        (1e150, 1e150, 1e-150, 1e150),
        (1e150, 1e-150, 1.0, 1.0),
        (1e-150, 1.0, 1.0, 1e-150),
        (1e-100, 1e-100, 1.0, 1e100),
        (1e-200, 1e-200, 1.0, 1e150),
        (1.0, 1.0, 1e-150, 1e150),
        (1e100, 1e100, 1e-100, 1e-100),
        (1e-160, 1e-160, 1e160, 0.0),
    ],
)
def test_two_layer_linear_at_extreme_scales(w_scale, v_scale, x_scale, y_scale):
    draw = Draw()
    w, v = w_scale * draw.normal(3), v_scale * draw.normal(3)
    x, y = x_scale * draw.normal(4), y_scale * draw.normal(4)
    smallest, largest = cf.two_layer_linear(w, v, x, y).select("outlier").tolist()
    expected = exact_outliers(w, v, x, y)
    assert largest == pytest.approx(float(expected[1]), rel=1e-14)
    assert smallest == pytest.approx(float(expected[0]), rel=1e-12)


@pytest.mark.parametrize("ratio", [2.0**30, 2.0**60, 2.0**400])
def test_small_outlier_keeps_its_digits(ratio):
    # T/2 - √(...) would lose all of them: the outliers are 12 to 240 orders of magnitude apart.
    w, v, x, y = numbers(ratio, 1.0), numbers(0.0, 1.0), numbers(1.0, 2.0), numbers(0.0, 0.0)
    smallest, largest = cf.two_layer_linear(w, v, x, y).select("outlier").tolist()
    expected = exact_outliers(w, v, x, y)
    assert smallest == pytest.approx(float(expected[0]), rel=1e-14)
    assert largest == pytest.approx(float(expected[1]), rel=1e-14)
    pair = cf.outlier_pair(ratio**2 + 1, 1.0, 1.0, 2.5, 2.5).tolist()
    assert pair == pytest.approx([largest, smallest], rel=1e-14)


def test_coincident_outliers_do_not_split():
    # The printed square root of a difference splits them by the root of the rounding error.
    w, x = Draw(seed=1).normal(50), Draw(seed=2).normal(100)
    values = cf.two_layer_linear(w, w, x, 2 * (w @ w) * x).select("outlier")
    assert float(values[1] - values[0]) <= 1e-14 * float(values[1])


def test_saturated_attention_stays_finite():
    values = cf.self_attention(1.0, [1e200, 0.0], [1e200, 1.0], [[1.0, 2.0]], [[0.0, 0.0]])
    # Each token attends to the larger one: f = 2 w_V, and only α = 4 is left.
    assert values.eigenvalues.tolist() == [0.0, 0.0, 0.0, 0.0, 4.0]


def test_hessian_beyond_float64_is_refused():
    with pytest.raises(ValueError, match="within the range of float64"):
        cf.two_layer_linear([1e100], [1e100], [1e100], [0.0])


class LargestArray(TorchDispatchMode):
    """Records the most entries that any operation returns."""

    def __init__(self):
        super().__init__()
        self.entries = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for array in result if isinstance(result, tuple | list) else [result]:
            if isinstance(array, torch.Tensor):
                self.entries = max(self.entries, array.untyped_storage().nbytes() // 8)
        return result


MILLION, SAMPLES = 10**6, 10**5
LARGE = {
    "two_layer_linear": lambda d: (*d(2, MILLION), *d(2, SAMPLES)),
    "two_layer_relu": lambda d: (*d(2, MILLION), *d(2, SAMPLES)),
    "linear_with_bias": lambda d: (
        *d(3, MILLION),
        numbers(1.0, -1.0).repeat(SAMPLES // 2),
        d(SAMPLES),
    ),
    "multi_input": lambda d: (*d(2, 2, MILLION), d(SAMPLES, 2), d(SAMPLES)),
    "multi_output": lambda d: (*d(2, 2, MILLION), d(SAMPLES), d(SAMPLES, 2)),
    "deep_linear": lambda d: (
        [d(MILLION, 2), d(2, MILLION)],
        numbers(1.0, 1.0, 1.0, -1.0).reshape(2, 2),
        torch.zeros(2, 2).double(),
    ),
    "self_attention": lambda d: (numbers(1.0)[0], *1e-3 * d(2, MILLION), *d(2, 10, 10)),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_million_hidden_units_need_no_large_array(name):
    arguments = LARGE[name](Draw(seed=4).normal)
    with LargestArray() as largest:
        spectrum = getattr(cf, name)(*arguments)
        values = spectrum.eigenvalues
    p = sum(spectrum.multiplicities)
    assert len(values) == p >= 2 * MILLION
    # No array larger than the spectrum itself; an m x m one would be 250 000 times as large.
    assert largest.entries <= p + 3
    assert torch.isfinite(values).all()
    # The trace is the mean of the squares of the outputs' gradients, known without the theorem.
    assert float(values.sum()) == pytest.approx(trace(name, arguments), rel=1e-9)


def trace(name, arguments):
    """tr(H) from the diagonal blocks: the residual's part has none."""
    if name == "self_attention":
        c = cf.attention_coefficients(*arguments)
        return float(c.alpha + c.zeta * (arguments[1] @ arguments[1] + arguments[2] @ arguments[2]))
    if name == "linear_with_bias":
        w, v, b, _, _ = arguments
        return float(v @ v + b @ b + 2 * w @ w)
    if name == "deep_linear":
        return float(2 * sum(layer.square().sum() for layer in arguments[0]))
    w, v, x, _ = arguments
    squares = w**2 + v**2
    if name == "two_layer_relu":
        positive, negative = squares[v > 0].sum(), squares[v < 0].sum()
        return float(positive * x.relu().square().mean() + negative * (-x).relu().square().mean())
    return float((squares.sum(-1) * x.square().mean(0)).sum())

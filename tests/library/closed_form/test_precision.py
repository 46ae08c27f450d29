"""Extreme scales, cancellation, and what the closed forms cost."""

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form import instances
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


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_other_forms_at_extreme_scales(scale):
    # A power of ten is not a power of two, so that here every rounding differs.
    draw = Draw(seed=3)
    (w, v), x, y = (draw.normal(2, 3), draw.normal(2, 3)), draw.normal(8, 2), draw.normal(8)
    eye, ends, none = torch.eye(3).double(), [1.0, -1.0], [0.0, 0.0]
    forms = (
        lambda s: cf.multi_input(s * w, s * v, x, s**2 * y),
        lambda s: cf.multi_input(w, v, s * x, s * y),
        lambda s: cf.multi_output(s * w, s * v, x[:, 0], s**2 * x),
        lambda s: cf.two_layer_relu(s * w[0], s * v[0], y, s**2 * y),
        lambda s: cf.linear_with_bias(s * w[0], s * v[0], s * v[1], ends, none),
        lambda s: cf.self_attention(1 / s, w[0] / s, v[0] / s, s * x, y[:2] + 0 * x),
        lambda s: cf.deep_linear([s * w, s * v.T], eye, eye),
    )
    for form in forms:
        scaled, plain = form(scale).eigenvalues, form(1.0).eigenvalues
        error = (scaled / scale**2 - plain).abs().max()
        assert float(error) <= 1e-12 * float(plain.abs().max())


def test_saturated_attention_stays_finite():
    values = cf.self_attention(1.0, [1e200, 0.0], [1e200, 1.0], [[1.0, 2.0]], [[0.0, 0.0]])
    # Each token attends to the larger one: f = 2 w_V, and only α = 4 is left.
    assert values.eigenvalues.tolist() == [0.0, 0.0, 0.0, 0.0, 4.0]


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


MILLION = 10**6
LARGE = {
    "linear": lambda draw: instances.Linear.of_size(draw, MILLION, 10),
    "relu": lambda draw: instances.Relu.of_size(draw, MILLION, 10),
    "bias": lambda draw: instances.Sextic.any_weights(draw, MILLION, 10),
    "inputs": lambda draw: instances.CorrelatedInput.correlated(draw, 2, MILLION, 10),
    "outputs": lambda draw: instances.MultiOutput.of_size(draw, 2, MILLION, 10),
    "attention": lambda draw: instances.Attention.of_size(draw, 2, 5, MILLION),
    "deep": lambda draw: instances.TwoLayers.of_widths(draw, (2, MILLION, 2), 10),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_million_hidden_units_need_no_large_array(name):
    net = LARGE[name](Draw(seed=4))
    with LargestArray() as largest:
        values = net.spectrum.eigenvalues
    p = sum(net.spectrum.multiplicities)
    assert len(values) == p >= 2 * MILLION
    # No array larger than the spectrum itself; an m x m one would be 250 000 times as large.
    assert largest.entries <= p + 3
    assert torch.isfinite(values).all()
    assert float(values.sum()) == pytest.approx(float(trace(net)), rel=1e-9)


def trace(net):
    """tr(H): the mean square of the outputs' gradients, where these are linear in each layer."""
    if isinstance(net, instances.Attention):
        c, (query, key) = cf.attention_coefficients(**net.arguments), (net.w_query, net.w_key)
        return c.alpha + c.zeta * (query @ query + key @ key)
    model = net.model()
    outputs, parameters = model(net.x), list(model.parameters())
    squares = [
        sum(part.square().sum() for part in torch.autograd.grad(f, parameters, retain_graph=True))
        for f in outputs.flatten()
    ]
    return sum(squares) / len(outputs)

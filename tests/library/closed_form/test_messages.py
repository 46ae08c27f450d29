"""Bad arguments are refused with one line: what was expected, what came."""

import math
import pickle

import numpy as np
import pytest
import torch

from hessian_spectra import closed_form as cf

from .cases import CLOSED_FORMS
from .contract import vector

arguments = pytest.mark.parametrize(
    ("form", "name"),
    [(form, name) for form in CLOSED_FORMS for name in form.example().arguments],
    ids=[f"{form.name}: {name}" for form in CLOSED_FORMS for name in form.example().arguments],
)


def refuse(form, name, value):
    """The message about one bad argument."""
    with pytest.raises(ValueError, match=name) as caught:
        form.spectrum(**{**form.example().arguments, name: value})
    message = str(caught.value)
    assert "\n" not in message
    assert "expected" in message
    return message


def good(form, name):
    return form.example().arguments[name]


@arguments
def test_one_entry_too_many(form, name):
    tensor = good(form, name)
    longer = torch.cat([tensor, tensor[..., :1]], -1) if tensor.dim() else tensor.repeat(2)
    with pytest.raises(ValueError, match=r"expected shape \(.*got \(") as caught:
        form.spectrum(**{**form.example().arguments, name: longer})
    assert not isinstance(caught.value, cf.AssumptionError)


@arguments
def test_one_dimension_too_many(form, name):
    tensor = good(form, name)
    message = refuse(form, name, tensor.expand(2, 1, *tensor.shape))
    assert f"got {(2, 1, *tensor.shape)}" in message


@arguments
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_not_finite(form, name, bad):
    tensor = good(form, name).clone(memory_format=torch.contiguous_format)
    tensor.view(-1)[-1] = bad
    assert refuse(form, name, tensor) == (
        f"{name}: expected finite numbers, got 1 NaN or infinite entries"
    )


@arguments
def test_empty(form, name):
    tensor = good(form, name)
    if tensor.dim() == 0:
        assert refuse(form, name, tensor.new_empty(0)) == f"{name}: expected shape (), got (0,)"
    else:
        assert "at least one entry" in refuse(form, name, tensor[..., :0])


@arguments
@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex128, torch.float16])
def test_other_types(form, name, dtype):
    message = refuse(form, name, good(form, name).to(dtype))
    assert message == f"{name}: expected float32 or float64, got {dtype}; convert with .double()"


@arguments
def test_words(form, name):
    assert "expected an array of numbers, got list" in refuse(form, name, ["one", "two"])


@arguments
def test_other_device(form, name):
    with pytest.raises(ValueError, match=r"one device, got \['cpu', 'meta'\]"):
        form.spectrum(**{**form.example().arguments, name: good(form, name).to("meta")})


def test_numpy_arrays_of_any_layout():
    w = np.arange(6.0)[::-2]
    w.flags.writeable = False
    expected = cf.two_layer_linear([5.0, 3.0, 1.0], [1.0, 2.0, 3.0], [1.0], [1.0])
    actual = cf.two_layer_linear(w, np.array([1, 2, 3], dtype=np.float32), [1.0], [1.0])
    assert torch.equal(actual.eigenvalues, expected.eigenvalues)


@pytest.mark.parametrize("w_value", [0.5, np.float64(0.5), vector(0.5), torch.tensor(0.5)])
def test_scalar_value_weight(w_value):
    spectrum = cf.self_attention(w_value, [1.0], [1.0], [[1.0, 2.0]], [[0.0, 0.0]])
    expected = cf.self_attention(0.5, [1.0], [1.0], [[1.0, 2.0]], [[0.0, 0.0]])
    assert torch.equal(spectrum.eigenvalues, expected.eigenvalues)


def test_assumption_error_survives_pickling():
    with pytest.raises(cf.AssumptionError) as caught:
        cf.linear_with_bias([1.0], [1.0], [1.0], [1.0, 2.0], [0.0, 0.0])
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    assert copy.violation == caught.value.violation == 1.5


def test_assumptions_bend_for_rounding_only():
    a = {"w": [1.0], "v": [1.0], "b": [1.0], "y": [0.0, 0.0]}
    cf.linear_with_bias(**a, x=vector(1, -1) + 1e-9)
    with pytest.raises(cf.AssumptionError):
        cf.linear_with_bias(**a, x=vector(1, -1) + 3e-8)
    # Inputs that came in float32 cannot be expected to do better.
    cf.linear_with_bias(**a, x=(vector(1, -1) + 1e-5).float())
    with pytest.raises(cf.AssumptionError):
        cf.linear_with_bias(**a, x=(vector(1, -1) + 3e-4).float())

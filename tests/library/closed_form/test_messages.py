"""Bad arguments are refused with one line: what was expected, what came."""

import math
import pickle

import numpy as np
import pytest
import torch

from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form.instances import numbers

from .contract import FORMS, evaluate, flat

forms = pytest.mark.parametrize("net", FORMS.values(), ids=FORMS)


def refusals(net, change):
    """Each argument's name and tensor, with the message about a change of it."""
    for name, tensor in flat(net).items():
        with pytest.raises(ValueError, match=f"{name}|one device") as caught:
            evaluate(net, {**flat(net), name: change(tensor)})
        assert not isinstance(caught.value, cf.AssumptionError)
        message = str(caught.value)
        assert "\n" not in message
        assert "expected" in message
        yield name, tensor, message


@forms
def test_other_shapes(net):
    def longer(tensor):
        return torch.cat([tensor, tensor[..., :1]], -1) if tensor.dim() else tensor.repeat(2)

    for _, tensor, message in refusals(net, lambda t: t.expand(2, 1, *t.shape)):
        assert f"got {(2, 1, *tensor.shape)}" in message
    for name in flat(net):
        with pytest.raises(ValueError, match=r"expected shape \(.*got \("):
            evaluate(net, {**flat(net), name: longer(flat(net)[name])})
    for name, tensor, message in refusals(net, lambda t: t[..., :0] if t.dim() else t.new_empty(0)):
        empty = f"{name}: expected shape (), got (0,)"
        assert ("at least one entry" in message) if tensor.dim() else (message == empty)


@forms
def test_what_is_no_finite_number(net):
    def broken(tensor, bad):
        tensor = tensor.clone(memory_format=torch.contiguous_format)
        tensor.view(-1)[-1] = bad
        return tensor

    for bad in (math.nan, math.inf, -math.inf):
        for name, _, message in refusals(net, lambda t, bad=bad: broken(t, bad)):
            assert message == f"{name}: expected finite numbers, got 1 NaN or infinite entries"
    for dtype in (torch.int64, torch.bool, torch.complex128, torch.float16):
        for name, _, message in refusals(net, lambda t, dtype=dtype: t.to(dtype)):
            expected = f"expected float32 or float64, got {dtype}; convert with .double()"
            assert message == f"{name}: {expected}"
    for _, _, message in refusals(net, lambda t: ["one", "two"]):
        assert "expected an array of numbers, got list" in message
    for _, _, message in refusals(net, lambda t: t.to("meta")):
        assert "one device, got ['cpu', 'meta']" in message


def test_numpy_arrays_of_any_layout():
    w = np.arange(6.0)[::-2]
    w.flags.writeable = False
    expected = cf.two_layer_linear([5.0, 3.0, 1.0], [1.0, 2.0, 3.0], [1.0], [1.0])
    actual = cf.two_layer_linear(w, np.array([1, 2, 3], dtype=np.float32), [1.0], [1.0])
    assert torch.equal(actual.eigenvalues, expected.eigenvalues)


def test_scalar_value_weight():
    expected = cf.self_attention(0.5, [1.0], [1.0], [[1.0, 2.0]], [[0.0, 0.0]])
    for w_value in (np.float64(0.5), numbers(0.5), torch.tensor(0.5)):
        spectrum = cf.self_attention(w_value, [1.0], [1.0], [[1.0, 2.0]], [[0.0, 0.0]])
        assert torch.equal(spectrum.eigenvalues, expected.eigenvalues)


def test_assumption_error_survives_pickling():
    with pytest.raises(cf.AssumptionError) as caught:
        cf.linear_with_bias([1.0], [1.0], [1.0], [1.0, 2.0], [0.0, 0.0])
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    assert copy.violation == caught.value.violation == 1.5


def test_assumptions_bend_for_rounding_only():
    a, ends = {"w": [1.0], "v": [1.0], "b": [1.0], "y": [0.0, 0.0]}, numbers(1.0, -1.0)
    cf.linear_with_bias(**a, x=ends + 1e-9)
    with pytest.raises(cf.AssumptionError):
        cf.linear_with_bias(**a, x=ends + 3e-8)
    # Inputs that came in float32 cannot be expected to do better.
    cf.linear_with_bias(**a, x=(ends + 1e-5).float())
    with pytest.raises(cf.AssumptionError):
        cf.linear_with_bias(**a, x=(ends + 3e-4).float())

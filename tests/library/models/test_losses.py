"""The loss takes its mean over samples or elements, and refuses what broadcasting would hide."""

import pytest
import torch
from torch.testing import assert_close

from hessian_spectra.models import HalfSquaredError

OUTPUTS = torch.tensor([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]], dtype=torch.float64)
TARGETS = torch.zeros(3, 2, dtype=torch.float64)


def test_per_sample_divides_by_the_first_dimension():
    assert HalfSquaredError("sample")(OUTPUTS, TARGETS).item() == 30 / (2 * 3)


def test_per_element_divides_by_all():
    assert HalfSquaredError("element")(OUTPUTS, TARGETS).item() == 30 / (2 * 6)


def test_the_two_agree_for_scalar_outputs():
    outputs, targets = OUTPUTS[:, 0], TARGETS[:, 0]
    sample, element = HalfSquaredError("sample"), HalfSquaredError("element")
    assert sample(outputs, targets).item() == element(outputs, targets).item() == 10 / 6


def test_its_gradient_is_the_residual_over_n():
    outputs = OUTPUTS.clone().requires_grad_()
    HalfSquaredError("sample")(outputs, TARGETS).backward()
    assert_close(outputs.grad, OUTPUTS / 3)


def test_it_says_what_it_is():
    assert repr(HalfSquaredError("element")) == "HalfSquaredError(per='element')"


@pytest.mark.parametrize(
    ("outputs", "targets"), [(OUTPUTS, TARGETS[:, 0]), (OUTPUTS[:0], TARGETS[:0])]
)
def test_other_shapes_and_no_data_are_refused(outputs, targets):
    with pytest.raises(ValueError, match="non-empty outputs and targets of one shape"):
        HalfSquaredError()(outputs, targets)


def test_another_mean_is_refused():
    with pytest.raises(ValueError, match="'sample' or 'element', got 'batch'"):
        HalfSquaredError("batch")

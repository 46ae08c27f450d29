"""In the tests a call with a value of another type or shape than is annotated raises."""

import jaxtyping
import pytest
import torch
from beartype.roar import BeartypeCallHintViolation

from hessian_spectra.curvature.ensemble.dense import _next_layer
from hessian_spectra.validation import optional_import


def test_a_value_of_another_type_is_refused():
    with pytest.raises(BeartypeCallHintViolation, match=r"optional_import\(\) parameter extra=3"):
        optional_import("math", 3)


def test_shapes_that_are_not_annotated_alike_are_refused():
    with pytest.raises(jaxtyping.TypeCheckError, match="_next_layer"):
        _next_layer(torch.zeros(1, 2, 3), torch.zeros(1, 2, 3), torch.zeros(1, 5, 3))

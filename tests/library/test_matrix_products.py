"""Products sent to another library are as exact, and the setting ends with them."""

import pytest
import torch

from hessian_spectra import matrix_products
from hessian_spectra.matrix_products import fastest_products


def precision():
    return torch.backends.mkldnn.matmul.fp32_precision


@pytest.mark.parametrize(("rows", "inner", "columns"), [(10, 100, 128), (128, 10, 100), (1, 9, 1)])
def test_products_keep_the_precision_of_float32(rows, inner, columns):
    draws = torch.Generator().manual_seed(0)
    left = torch.randn(5, rows, inner, generator=draws)
    right = torch.randn(5, inner, columns, generator=draws)
    with fastest_products():
        actual = left @ right
    exact = left.double() @ right.double()
    # A hundred roundings of 6e-8 at worst; bfloat16 would be off by 1e-3.
    assert (actual - exact).norm() / exact.norm() < 1e-6


def test_the_setting_is_as_before_afterwards():
    before = precision()
    with fastest_products():
        pass
    assert precision() == before
    with pytest.raises(KeyError), fastest_products():
        raise KeyError
    assert precision() == before


def test_nothing_is_set_where_precision_would_be_lost(monkeypatch):
    monkeypatch.setattr(matrix_products, "_single_precision", lambda: False)
    before = precision()
    with fastest_products():
        assert precision() == before

"""Which of PyTorch's libraries multiplies stacks of float32 matrices on the CPU."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def fastest_products() -> Iterator[None]:
    """Send products of float32 matrices to oneDNN, where it computes them in float32.

    PyTorch sends them to MKL, which leaves half of the vector units of processors of other makers
    than Intel idle. To oneDNN, which does not, it sends them only if that may go by way of
    bfloat16. oneDNN makes use of that on processors with units for products of matrices and there
    alone, so whether it does is found out first; then all stays as it was.
    """
    if not _single_precision():
        yield
        return
    with _through_onednn():
        yield


@contextmanager
def _through_onednn() -> Iterator[None]:
    products = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    before = products.fp32_precision
    products.fp32_precision = "bf16"
    try:
        yield
    finally:
        products.fp32_precision = before


@functools.cache
def _single_precision() -> bool:
    """Whether oneDNN computes in float32 although it need not."""
    # bfloat16 has 8 bits, so it takes 1 + 2^-12 for 1; in float32 these sums are exact.
    exact = True
    for inner in (16, 100, 128):
        left = torch.full((2, 100, inner), 1 + 2.0**-12)
        with _through_onednn():
            values = left @ torch.ones(2, inner, 128)
        exact = exact and bool((values == inner * (1 + 2.0**-12)).all())
    return exact

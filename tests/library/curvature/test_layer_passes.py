"""Second derivatives by outputs as squares, and the sums of what they give."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from hessian_spectra.curvature.layerwise.passes import SymmetricSum, square_roots

from .cases import draws, normal
from .layer_networks import NETWORKS, problem_of


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 5), st.booleans())
def test_square_roots_give_the_matrices(seed, size, rank, definite):
    vectors = torch.randn(3, size, rank, generator=draws(seed), dtype=torch.float64)
    signs = torch.ones(rank) if definite else (-1.0) ** torch.arange(rank)
    matrices = torch.einsum("nir,r,njr->nij", vectors, signs.double(), vectors)
    roots = square_roots(matrices)
    again = torch.einsum("nir,nr,njr->nij", roots.vectors, roots.signs, roots.vectors)
    scale = float(vectors.square().sum()) + 1e-300
    assert_close(again, matrices, rtol=0, atol=1e-11 * scale)


def test_the_cross_entropy_of_c_classes_takes_one_pass_less():
    p = torch.softmax(normal(20, 5), dim=1)
    roots = square_roots(torch.diag_embed(p) - p[:, :, None] * p[:, None, :])
    assert roots.vectors.shape == (20, 5, 4)


@pytest.mark.parametrize("steepness", [1, 8, 30])
def test_confident_samples_take_no_more_passes_in_float32(steepness):
    """The remainder of the likeliest class is rounding, and so is a sum that cancels."""
    p = torch.softmax(steepness * normal(50, 5), dim=1)
    matrices = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
    roots = square_roots(matrices.float())
    assert roots.vectors.shape == (50, 5, 4)
    # Which side of zero rounding falls on is the processor's.
    negative = roots.vectors.square().sum(dim=1)[roots.signs < 0]
    assert bool((negative < 1e-6).all())
    again = (roots.vectors * roots.signs[:, None]) @ roots.vectors.mT
    assert_close(again.double(), matrices, rtol=0, atol=1e-6)


def test_samples_of_several_kinds_are_each_written_as_squares():
    p = torch.softmax(normal(2, 4), dim=1)
    some = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
    full = torch.diag(torch.tensor([3.0, -2.0, 1.0, 0.5])).double()
    for others, count in (([torch.zeros(4, 4).double()], 3), ([full], 4)):
        matrices = torch.stack([*some, *others])
        roots = square_roots(matrices)
        assert roots.vectors.shape == (3, 4, count)
        again = (roots.vectors * roots.signs[:, None]) @ roots.vectors.mT
        assert_close(again, matrices, rtol=0, atol=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 300), st.integers(1, 5))
def test_half_of_a_symmetric_sum_is_all_of_it(seed, size, terms):
    network = NETWORKS["linear"]
    total = SymmetricSum(size, problem_of(network, network.model()))
    left = torch.randn(terms, 3, size, generator=draws(seed), dtype=torch.float64)
    right = torch.tensor([1.0, -1.0, 1.0]).double()[:, None] * left
    for item, other in zip(left, right, strict=True):
        total.add(item, other)
    expected = torch.einsum("tni,tnj->ij", left, right)
    assert_close(total.matrix, expected, rtol=0, atol=1e-12)

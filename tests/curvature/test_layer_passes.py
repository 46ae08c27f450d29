"""Second derivatives by outputs as squares, and the sums of what they give."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hessian_spectra.curvature.layerwise.passes import SymmetricSum, square_roots

from .cases import draws, normal
from .layer_networks import NETWORKS, problem_of


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 5), st.booleans())
def test_square_roots_give_the_matrices(seed, size, rank, definite):
    vectors = torch.randn(3, size, rank, generator=draws(seed), dtype=torch.float64)
    signs = torch.ones(rank) if definite else (-1.0) ** torch.arange(rank)
    matrices = torch.einsum("nir,r,njr->nij", vectors, signs.double(), vectors)
    roots = square_roots(matrices)
    again = torch.einsum("nir,nr,njr->nij", roots.vectors, roots.signs, roots.vectors)
    scale = float(vectors.square().sum()) + 1e-300
    torch.testing.assert_close(again, matrices, rtol=0, atol=1e-11 * scale)


def test_the_cross_entropy_of_c_classes_takes_one_pass_less():
    p = torch.softmax(normal(20, 5), dim=1)
    roots = square_roots(torch.diag_embed(p) - p[:, :, None] * p[:, None, :])
    assert roots.vectors.shape == (20, 5, 4)


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 300), st.integers(1, 5))
def test_half_of_a_symmetric_sum_is_all_of_it(seed, size, terms):
    network = NETWORKS["linear"]
    total = SymmetricSum(size, problem_of(network, network.model()))
    left = torch.randn(terms, 3, size, generator=draws(seed), dtype=torch.float64)
    right = torch.tensor([1.0, -1.0, 1.0]).double()[:, None] * left
    for one, other in zip(left, right, strict=True):
        total.add(one, other)
    expected = torch.einsum("tni,tnj->ij", left, right)
    torch.testing.assert_close(total.matrix, expected, rtol=0, atol=1e-12)

"""anon2026data: what is wrong in print of how its data and networks are made.

The printed forms live here only.
"""

import math
from itertools import pairwise

import pytest
import torch

from hessian_papers.data.tools.subsets import class_counts
from hessian_papers.data.tools.whitening import whiten
from hessian_papers.models.balanced import balanced_weights
from hessian_spectra import closed_form as cf
from tests.library.closed_form.contract import vector
from tests.library.closed_form.deep_networks import normal, orthonormal

EXACT = 1e-10


def test_whitening_by_qr_makes_up_directions():
    random = torch.Generator().manual_seed(13)
    samples = normal(random, 40, 5)
    samples[:, 2] = 0
    printed, _ = whiten(samples, 1.7, method="qr")
    ours, _ = whiten(samples, 1.7)
    for inputs in (printed, ours):
        identity = 1.7**2 * torch.eye(inputs.shape[1]).double()
        assert float((inputs.T @ inputs / 40 - identity).abs().max()) < EXACT
    # The printed recipe keeps a column for the input that is always 0, ...
    assert (printed.shape[1], ours.shape[1]) == (5, 4)
    # ... which is no function of the inputs: it does not lie in their span, so that there is no
    # map that would do the same to other samples.
    span = torch.linalg.svd(samples, full_matrices=False).U[:, :4]
    outside = printed - span @ (span.T @ printed)
    assert float(outside.norm()) == pytest.approx(1.7 * 40**0.5)
    assert float((ours - span @ (span.T @ ours)).abs().max()) < EXACT


def test_balanced_recipe_samples_left_singular_vectors():
    widths, values = (4, 3, 5, 2), vector(1.3, 0.4)

    def recipe(of_each_layer):
        """Appendix C; V_{l+1} = U_l where only the left ones are drawn for each layer."""
        random = torch.Generator().manual_seed(14)
        right = orthonormal(random, widths[0], 2)
        for before, after in pairwise(widths):
            if of_each_layer == "left and right":
                right = orthonormal(random, before, 2)
            left = orthonormal(random, after, 2)
            yield left * values @ right.T
            right = left

    assert cf.balancedness_defect(list(recipe("left"))) < EXACT
    # As printed, step 1 replaces the vectors that step 3 of the layer before has set.
    assert cf.balancedness_defect(list(recipe("left and right"))) > 0.1
    ours = balanced_weights(widths, values.tolist(), torch.Generator().manual_seed(15))
    assert cf.balancedness_defect(ours) < EXACT


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5, 0.9])
def test_subsamples_divide_by_the_other_classes(share):
    counts = class_counts(5000, share, 10)
    assert sum(counts) == 5000
    assert set(counts[1:]) == {math.floor(round(5000 * (1 - share)) / 9)}
    assert abs(counts[0] / 5000 - share) < 9 / 5000
    # As printed, the nine other classes alone have more samples than the subset at any share
    # below 8/9, and never leave class 0 the share that was asked for.
    of_each = math.floor(round((1 - share) * 5000, 6))
    assert 5000 - 9 * of_each < 5000 * share - 100
    assert (9 * of_each > 5000) == (share < 8 / 9)

"""The closest pair sums against a search of all pairs, and the spectra that stand for chance."""

import itertools

import pytest
import torch

from hessian_papers.studies.correlations.pair_sums import (
    closest_pair_sums,
    distinct_values,
    jittered,
)


def normal(*shape, seed=0):
    draws = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=draws, dtype=torch.float64)


def double(values):
    return torch.tensor(values, dtype=torch.float64)


def search(values, repeated, target, count):
    """All pairs of distinct values, and repeated values with themselves."""
    pairs = list(itertools.combinations(values.tolist(), 2))
    pairs += [(value, value) for value, twice in zip(values, repeated, strict=True) if twice]
    distances = sorted(abs(float(a) + float(b) - target) for a, b in pairs)
    return (distances + [float("inf")] * count)[:count]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 40])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_search_by_bisection_finds_what_a_search_of_all_pairs_finds(size, count):
    draws = torch.Generator().manual_seed(size)
    for trial in range(30):
        values = normal(size, seed=100 * size + trial).sort().values
        repeated = torch.rand(size, generator=draws) < 0.3
        # Near one pair's sum, near twice a value, anywhere.
        for target in (float(values[0] + values[-1]), float(2 * values[size // 2]) + 1e-3, 0.37):
            actual = closest_pair_sums(values[None], repeated[None], target, count)
            expected = double([search(values, repeated, target, count)])
            torch.testing.assert_close(actual, expected, rtol=0, atol=1e-14)


def test_copies_of_a_pair_are_one_pair():
    """Both 3 + 3 and -1 + 2, each possible in many ways, come out, and once."""
    eigenvalues = double([-1.0, -1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 0.0])
    values, counts = distinct_values(eigenvalues, torch.tensor([1, 1, 1, 1, 1, 1, 1, 40]))
    assert values.tolist() == [-1.0, 0.0, 2.0, 3.0]
    assert counts.tolist() == [2, 40, 3, 2]
    actual = closest_pair_sums(values[None], counts[None] > 1, 6.0, 3)
    # 3 + 3 = 6, then 2 + 3 = 5, then 2 + 2 = 4.
    assert actual.tolist() == [[0.0, 1.0, 2.0]]


def test_a_single_value_has_no_partner_like_itself():
    values = double([[1.0, 5.0]])
    none, twice = torch.tensor([[False, False]]), torch.tensor([[True, False]])
    assert closest_pair_sums(values, none, 2.0, 1).item() == 4.0
    assert closest_pair_sums(values, twice, 2.0, 1).item() == 0.0


def test_round_off_makes_no_new_values_and_small_differences_do():
    eigenvalues = double([1.0, 1.0 + 1e-14, 1.0 + 1e-8, -2e-15, 3e-15])
    values, counts = distinct_values(eigenvalues, torch.ones(5, dtype=torch.int64))
    assert counts.tolist() == [2, 2, 1]
    torch.testing.assert_close(values, double([0.0, 1.0, 1.0 + 1e-8]))


def test_what_occurs_never_is_left_out():
    values, counts = distinct_values(double([4.0, 2.0, 4.0]), torch.tensor([3, 0, 2]))
    assert (values.tolist(), counts.tolist()) == ([4.0], [5])


def test_jittered_values_stay_between_their_neighbours_spacing():
    values = double([-2.0, -1.0, 0.0, 0.5, 4.0])
    repeated = torch.tensor([False, True, True, False, False])
    moved, still = jittered(values, repeated, 4000, torch.Generator().manual_seed(0))
    assert moved.shape == still.shape == (4000, 5)
    assert (moved.diff(dim=1) >= 0).all()
    # Zero stays: it is in every row, and it is repeated.
    assert ((moved == 0) & still).any(dim=1).all()
    assert (still.sum(dim=1) == 2).all()
    # The ends move by as much as their only neighbour is away.
    assert -3.0 < float(moved.min()) < -2.99
    assert 7.49 < float(moved.max()) < 7.5


def test_a_single_value_cannot_be_moved():
    moved, still = jittered(double([3.0]), torch.tensor([True]), 2, torch.Generator())
    assert (moved.tolist(), still.tolist()) == ([[3.0], [3.0]], [[True], [True]])


def test_chance_gives_uniform_ranks():
    """Where eigenvalues have no pair of their own, theirs is one of the jittered spectra's."""
    ranks = []
    for seed in range(300):
        values = normal(25, seed=seed).sort().values
        repeated = torch.zeros(25, dtype=torch.bool)
        own = closest_pair_sums(values[None], repeated[None], 0.5, 1)
        spectra = jittered(values, repeated, 19, torch.Generator().manual_seed(seed))
        chance = closest_pair_sums(*spectra, 0.5, 1)
        ranks.append(int((chance <= own).sum()))
    # A mean of uniform ranks 0 to 19, and the share of the lowest: three standard errors each.
    mean = sum(ranks) / len(ranks)
    assert mean == pytest.approx(9.5, abs=3 * 5.77 / 300**0.5)
    assert ranks.count(0) / 300 == pytest.approx(0.05, abs=3 * (0.05 * 0.95 / 300) ** 0.5)

"""Subsets with one large class: counts, draws, and what is said when there are too few samples."""

from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hessian_papers.data.tools.subsets import class_counts, imbalanced_subset, share_range
from hessian_spectra.seeding import generator


@given(st.data(), st.integers(2, 12), st.integers(1, 6000))
def test_counts_are_the_floor_of_the_exact_share(data, classes, size):
    percent = data.draw(st.integers(-(-100 // classes), 100))
    counts = class_counts(size, percent / 100, classes)
    assert sum(counts) == size
    assert len(set(counts[1:])) == 1
    exact = (1 - Fraction(percent, 100)) * size / (classes - 1)
    assert counts[1] <= exact < counts[1] + 1
    assert counts[0] >= counts[1]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6), st.integers(1, 120))
def test_the_range_of_shares_is_what_can_be_drawn(available, size):
    def fits(share):
        counts = class_counts(size, share, len(available))
        return all(n <= m for n, m in zip(counts, available, strict=True))

    # Every split into the largest class and equal others, smallest largest class first.
    classes = len(available)
    others = range(size // classes, -1, -1) if classes > 1 else [0]
    shares = [float(1 - Fraction(count * (classes - 1), size)) for count in others]
    shares = [1 / classes, *shares]
    possible = [share for share in shares if fits(share)]
    if not possible:
        with pytest.raises(ValueError, match=r"^size: .* cannot be had from"):
            share_range(available, size)
    else:
        assert share_range(available, size) == (possible[0], possible[-1])


@given(st.integers(0, 10), st.sampled_from([0.25, 0.4, 0.7, 1.0]))
def test_a_subset_has_its_counts_without_repetition(seed, share):
    labels = torch.arange(400) % 4
    chosen = imbalanced_subset(labels, 90, share, generator(seed, "subset"))
    assert len(chosen) == len(chosen.unique()) == 90
    assert labels[chosen].bincount(minlength=4).tolist() == class_counts(90, share, 4)


def test_a_seed_changes_the_subset_and_a_share_as_little_as_it_can():
    labels = torch.arange(200) % 4
    few, many, other = (
        set(imbalanced_subset(labels, 40, share, generator(seed, "subset")).tolist())
        for share, seed in ((0.25, 0), (0.7, 0), (0.7, 1))
    )
    assert many != other
    first = {index for index in few if labels[index] == 0}
    assert first < many
    assert {index for index in many if labels[index] != 0} < few


def test_a_subset_is_in_random_order():
    labels = torch.arange(200) % 2
    drawn = labels[imbalanced_subset(labels, 100, 0.5, generator(0, "subset"))]
    changes = int((drawn[1:] != drawn[:-1]).sum())
    # Of 99 neighbours about half differ, with standard deviation 5; sorted by class, one would.
    assert 30 < changes < 70


def test_too_few_samples_of_a_class_are_named():
    message = r"^share 0.9 of 60 samples asks for 54 of class 0, and there are 50$"
    with pytest.raises(ValueError, match=message):
        imbalanced_subset(torch.tensor([0] * 50 + [1] * 20), 60, 0.9, generator(0, "subset"))

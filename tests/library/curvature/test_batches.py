"""Batches of every structure add up as plain arithmetic over all of their samples does."""

import itertools

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from hessian_spectra import curvature as cv
from hessian_spectra.curvature.batches import joined, part, rows

from .cases import X, Y, built, classes, mlp, normal

LENGTHS = (2, 3, 4, 2, 5, 1, 3)
RAGGED = [(normal(n, 3, seed=at), classes(n, seed=at)) for at, n in enumerate(LENGTHS)]
EQUAL = [(normal(4, 3, seed=at), classes(4, seed=at)) for at in range(7)]
# How a collator packs samples, and how a loss function gets at them.
PACKS = {
    "tuple of lists": (lambda at: tuple(map(list, zip(*at, strict=True))),
                       lambda batch: zip(*batch, strict=True)),
    "tuple of tuples": (lambda at: tuple(zip(*at, strict=True)),
                        lambda batch: zip(batch[0], batch[1], strict=True)),
    "list of samples": (list, list),
    "tuple of mappings": (lambda at: tuple({"y": y, "x": x} for x, y in at),
                          lambda batch: ((sample["x"], sample["y"]) for sample in batch)),
    "mapping of lists": (lambda at: {"y": [y for _, y in at], "x": [x for x, _ in at]},
                         lambda batch: zip(batch["x"], batch["y"], strict=True)),
    "nested": (lambda at: {"in": {"x": [x for x, _ in at], "kind": "kept"},
                           "out": [y for _, y in at], "names": [str(len(x)) for x, _ in at]},
               lambda batch: zip(batch["in"]["x"], batch["out"], batch["names"], strict=True)),
    "lists and a tensor": (lambda at: ([x for x, _ in at], [y for _, y in at], torch.ones(len(at))),
                           lambda batch: zip(*batch, strict=True)),
}  # fmt: skip


def entropies(model: nn.Module, samples) -> list[Tensor]:
    """The losses of each sample's tokens."""
    return [functional.cross_entropy(model(x), y, reduction="none") for x, y, *_ in samples]


def mean(parts: list[Tensor]) -> Tensor:
    return torch.stack(parts).mean()


LOSSES = {
    "mean over sequences of sums": lambda model, at: mean([t.sum() for t in entropies(model, at)]),
    "mean over sequences": lambda model, at: mean([t.mean() for t in entropies(model, at)]),
    "mean over tokens": lambda model, at: torch.cat(entropies(model, at)).mean(),
    "sum of means": lambda model, at: sum(t.mean() for t in entropies(model, at)),
    "sum": lambda model, at: torch.cat(entropies(model, at)).sum(),
}


def dense(loss, unpack, data, **settings) -> Tensor:
    def loss_fn(model, batch):
        return loss(model, list(unpack(batch)))

    model = built(lambda: nn.Linear(3, 3))
    return cv.dense_matrix(cv.hessian(cv.Problem(model, loss_fn=loss_fn, data=data, **settings)))


def close(actual: Tensor, expected: Tensor) -> None:
    assert_close(actual, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("pack", PACKS)
def test_ragged_samples_add_up_as_all_of_them_do(pack, loss):
    (packed, unpack), loss_fn, rest = PACKS[pack], LOSSES[loss], iter(RAGGED)
    data = [packed([next(rest) for _ in range(size)]) for size in (1, 4, 2)]
    close(dense(loss_fn, unpack, data), dense(loss_fn, unpack, [packed(RAGGED)]))


@pytest.mark.parametrize("samples", [RAGGED[:4], EQUAL[:4]], ids=["ragged", "of one length"])
def test_a_mean_over_sequences_is_no_sum_where_lists_are_as_long_as_each_other(samples):
    packed, unpack = PACKS["tuple of lists"]
    loss = LOSSES["mean over sequences of sums"]
    data = [packed(samples[:2]), packed(samples[2:])]
    at = cv.Problem(
        built(lambda: nn.Linear(3, 3)), loss_fn=lambda model, b: loss(model, unpack(b)), data=data
    )
    assert not at.summed
    close(dense(loss, unpack, data), dense(loss, unpack, [packed(samples)]))


@pytest.mark.parametrize("pack", ["tuple of lists", "list of samples", "mapping of lists"])
def test_lists_of_samples_are_cut_to_a_memory(pack):
    packed, unpack = PACKS[pack]
    loss = LOSSES["mean over sequences"]
    whole = dense(loss, unpack, [packed(RAGGED)])
    at = cv.Problem(
        built(lambda: nn.Linear(3, 3)),
        loss_fn=lambda model, batch: loss(model, list(unpack(batch))),
        data=[packed(RAGGED)],
        memory=4000,
    )
    assert at.batch_count > 1
    close(cv.dense_matrix(cv.hessian(at)), whole)


@pytest.mark.parametrize("sizes", [(7,), (3, 4)])
def test_two_inputs_in_a_tuple_are_cut_to_a_memory(sizes):
    def loss_fn(model, batch):
        (first, second), targets = batch
        return functional.mse_loss(model(first) * second, targets)

    parts = zip(*(tensor.split(sizes) for tensor in (X, X.flip(0), Y)), strict=True)
    data = [((first, second), targets) for first, second, targets in parts]
    at = cv.Problem(built(mlp), loss_fn=loss_fn, data=data, memory=4000)
    assert at.batch_count > len(data)
    whole = cv.Problem(built(mlp), loss_fn=loss_fn, data=[((X, X.flip(0)), Y)])
    close(cv.dense_matrix(cv.hessian(at)), cv.dense_matrix(cv.hessian(whole)))


def collated(*parts: Tensor, size: int) -> DataLoader:
    """Batches as torch's own collator packs them: lists of what belongs together."""
    return DataLoader(TensorDataset(*parts), size)


@pytest.mark.parametrize("size", [7, 4])
def test_lists_of_what_belongs_together_are_joined_one_by_one(size):
    def loss_fn(model, batch):
        first, second = batch[0], batch[1]
        return functional.mse_loss(model(first), second)

    model = built(mlp)
    actual = cv.Problem(model, loss_fn=loss_fn, data=collated(X, Y, size=size))
    expected = cv.Problem(model, nn.MSELoss(), [(X, Y)])
    close(cv.dense_matrix(cv.hessian(actual)), cv.dense_matrix(cv.hessian(expected)))


@pytest.mark.parametrize("reduce", [sum, mean])
def test_a_list_that_may_be_either_is_refused(reduce):
    """Two views of four and of three samples; or two samples of four rows, and two of three."""

    def loss_fn(model, batch):
        return reduce([model(view).square().mean() for view in batch])

    with pytest.raises(ValueError, match=r"may hold samples, or tensors of which .* weights="):
        cv.Problem(built(mlp), loss_fn=loss_fn, data=collated(X, Y, size=4))


class Stream(IterableDataset):
    """Samples without an end, of which no two are the same."""

    def __init__(self):
        self.draws = torch.Generator().manual_seed(0)

    def __iter__(self):
        while True:
            yield tuple(torch.randn(2, 3, generator=self.draws, dtype=torch.float64))


def test_so_many_batches_of_a_stream_are_kept():
    """Read again, a stream gives others."""
    expected = list(itertools.islice(DataLoader(Stream(), 5), 3))
    for data in (DataLoader(Stream(), 5), iter(DataLoader(Stream(), 5))):
        at = cv.Problem(built(mlp), nn.MSELoss(), data, num_batches=3)
        reference = cv.Problem(built(mlp), nn.MSELoss(), expected)
        assert at.batch_count == 3
        assert at.value() == reference.value()
        assert torch.equal(at.gradient(), at.gradient())
    stream = DataLoader(Stream(), 5)
    expected = cv.sharpness(reference).value
    actual = cv.sharpness(built(mlp), nn.MSELoss(), stream, num_batches=3)
    assert actual.value == expected
    tracker = cv.SharpnessTracker(built(mlp), nn.MSELoss(), DataLoader(Stream(), 5), num_batches=3)
    assert tracker.step(0).sharpness == pytest.approx(expected, rel=1e-4)


def test_batches_of_a_stream_that_fills_the_same_memory_are_kept():
    def stream():
        x, y = torch.empty(3, 3, dtype=torch.float64), torch.empty(3, 3, dtype=torch.float64)
        for start in (0, 3):
            yield x.copy_(X[start : start + 3]), y.copy_(Y[start : start + 3])

    at = cv.Problem(built(mlp), nn.MSELoss(), stream(), num_batches=2)
    assert at.value() == pytest.approx(
        cv.Problem(built(mlp), nn.MSELoss(), [(X[:6], Y[:6])]).value(), rel=1e-12
    )


def test_batches_are_joined_by_their_names_and_never_in_part():
    s, t = torch.zeros(2), torch.ones(2)
    both = joined({"a": s, "b": t}, {"b": t, "a": s})
    assert {key: value.tolist() for key, value in both.items()} == {"a": [0] * 4, "b": [1] * 4}
    assert joined([s], [s, t]) is None
    assert joined({"a": s}, {"a": s, "b": t}) is None
    assert joined([s], [s, t], level=0) == [s, s, t]


def test_samples_are_counted_and_cut_where_lists_hold_them():
    batch = ([X, Y[:2]], (1, "b"), {"y": torch.ones(2)})
    assert rows(batch) is None
    assert rows(batch, 1) == 2
    images, numbers, rest = part(batch, 1, 2, 1)
    assert images[0] is batch[0][1]
    assert (len(images), numbers, len(rest["y"])) == (1, ("b",), 1)

"""The networks that theorems are measured on: their seeds, and what makes them special."""

from dataclasses import fields

import torch
from theorem_networks import draw, networks

from hessian_papers.theorems import drawn
from hessian_papers.theorems.bias import Dropped
from hessian_papers.theorems.certificates import Rows
from hessian_papers.theorems.deep import AnyLayers
from hessian_papers.theorems.relu import Relu


def equal(first, second):
    return all(
        torch.equal(*pair) if torch.is_tensor(pair[0]) else str(pair[0]) == str(pair[1])
        for pair in (
            [getattr(net, field.name) for net in (first, second)] for field in fields(first)
        )
    )


def test_the_same_seed_draws_the_same_networks():
    again, other = drawn(draw()), drawn(draw(seed=4))
    for family, nets in networks().items():
        assert len(nets) >= 3
        assert all(equal(*pair) for pair in zip(nets, again[family], strict=True))
        # Rows of a printed table are the same for all seeds.
        assert equal(nets[-1], other[family][-1]) == (family is Rows)
    # The data set may be smaller than the slices of it.
    assert drawn(draw(points=3)).keys() == networks().keys()


def test_some_networks_are_special_and_some_are_not():
    assert {net.white for net in networks()[AnyLayers]} == {True, False}
    assert {net.smooth for net in networks()[Relu]} == {True, False}
    assert {len(net.cells) for net in networks()[Relu]} == {1, 2}


def test_each_assumption_is_broken_alone():
    for net in networks()[Dropped]:
        v, b, x, y = net.v, net.b, net.x, net.y
        broken = [
            abs(v @ b) > 1e-12 * (v @ v),
            abs(v.norm() / b.norm() - 1) > 1e-12,
            abs(x.mean()) > 1e-12,
            abs(x.square().mean() - 1) > 1e-12,
            abs((x * y).mean()) > 1e-12 or abs(y.mean()) > 1e-12,
        ]
        assert [number for number, is_broken in enumerate(broken) if is_broken] == [net.dropped]

"""The networks that theorems are measured on: their edge cases, their seeds, and brute force."""

from dataclasses import fields

import pytest
import torch
from theorem_networks import draw, networks

from hessian_papers.theorems import drawn
from hessian_papers.theorems.bias import Dropped
from hessian_papers.theorems.certificates import Rows
from hessian_papers.theorems.deep import AnyLayers, Balanced, TwoLayers
from hessian_papers.theorems.instances import FAMILIES
from hessian_papers.theorems.relu import Relu
from hessian_papers.theorems.two_layer import Linear
from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form.instances import ZERO_LOSS, end_to_end
from hessian_spectra.models import HalfSquaredError

NETWORKS = [family for family in FAMILIES if family.is_network]


def equal(first, second):
    return all(
        torch.equal(*pair) if torch.is_tensor(pair[0]) else str(pair[0]) == str(pair[1])
        for pair in (
            [getattr(net, field.name) for net in (first, second)] for field in fields(first)
        )
    )


@pytest.mark.filterwarnings("ignore:`torch.jit.script`:FutureWarning")  # torch's forward mode
@pytest.mark.parametrize("family", NETWORKS, ids=lambda family: family.stream)
def test_brute_force_is_the_hessian_of_the_network(family):
    """A third derivation, by reverse over forward mode."""
    for net in networks()[family][:4]:
        model = net.model()
        names, values = zip(*model.named_parameters(), strict=True)
        shapes = [value.shape for value in values]

        def loss(theta, net=net, model=model, names=names, shapes=shapes):
            pieces = theta.split([shape.numel() for shape in shapes])
            weights = [piece.view(shape) for piece, shape in zip(pieces, shapes, strict=True)]
            named = dict(zip(names, weights, strict=True))
            outputs = torch.func.functional_call(model, named, (net.x,))
            return HalfSquaredError(net.per)(outputs, net.y)

        theta = torch.cat([value.detach().flatten() for value in values])
        away = torch.func.hessian(loss)(theta) - net.hessian
        assert away.abs().max() <= 1e-12 * net.hessian.abs().max()


def test_the_same_seed_draws_the_same_networks():
    again, other = drawn(draw()), drawn(draw(seed=4))
    for family, nets in networks().items():
        assert len(nets) >= 3
        assert all(equal(*pair) for pair in zip(nets, again[family], strict=True))
        # Rows of a printed table are the same for all seeds.
        assert equal(nets[-1], other[family][-1]) == (family is Rows)


def test_the_data_set_may_be_smaller_than_the_slices():
    assert drawn(draw(points=3)).keys() == networks().keys()


def test_edge_cases_are_always_there():
    linear, relu = networks()[Linear], networks()[Relu]
    assert any(len(net.w) == 1 for net in linear)
    assert any(len(net.w) > 1 and torch.equal(net.w, net.v) for net in linear)
    assert any(torch.equal(net.w, -net.v) for net in linear)
    assert any(len(net.x) == 1 for net in linear)
    assert any(bool((net.v > 0).all()) for net in relu)
    assert any(not net.smooth for net in relu)
    assert any(bool((net.x < 0).all()) for net in relu)
    assert any(len(net.cells) < 2 for net in relu)


def test_balanced_networks_are_what_their_kind_says():
    nets = networks()[Balanced]
    assert {net.kind for net in nets} == {0, 1, 2}
    assert {len(net.weights) for net in nets} >= {1, 3}
    values = [torch.linalg.svdvals(net.weights[0]) for net in nets]
    assert any(len(s) > 1 and s[0] - s[1] < 1e-12 for s in values)
    assert any(s[-1] < 1e-12 * s[0] for s in values)
    assert any(net.narrowest < max(net.inputs, net.outlets) for net in nets)
    for net in nets:
        assert cf.balancedness_defect(net.weights) < 1e-14
        residual = net.x @ end_to_end(net.weights).mT - net.y
        size = net.y.square().mean() + 1e-12
        correlation = (residual.mT @ net.x).abs().max() / (len(net.x) * net.x.abs().max())
        assert bool(correlation < 1e-12 * size) == (net.kind > 0)
        assert bool(residual.square().mean() < 1e-20 * size) == (net.kind == ZERO_LOSS)


def test_other_deep_networks_are_degenerate_and_not_balanced():
    nets = networks()[TwoLayers]
    ranks = [(torch.linalg.matrix_rank(net.weights[0]), min(net.weights[0].shape)) for net in nets]
    assert any(rank < full for rank, full in ranks)
    assert any(cf.balancedness_defect(net.weights) > 0.1 for net in nets)
    assert {net.white for net in networks()[AnyLayers]} == {True, False}


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

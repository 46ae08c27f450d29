"""The networks with several inputs or outputs compute what the papers write."""

import pytest
import torch
from torch.testing import assert_close

from hessian_spectra.models import (
    LinearNetwork,
    MultiInputLinear,
    MultiOutputLinear,
    TwoLayerLinear,
)


def draw(*shape, seed=0):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


V, W = draw(3, 4, seed=1), draw(3, 4, seed=2)


def test_several_inputs_add_up_scalar_networks():
    x = draw(5, 3, seed=3)
    expected = sum(TwoLayerLinear(V[d], W[d])(x[:, d]) for d in range(3))
    assert_close(MultiInputLinear(v=V, w=W)(x), expected)


def test_several_outputs_stack_scalar_networks():
    x = draw(5, seed=3)
    expected = torch.stack([TwoLayerLinear(V[k], W[k])(x) for k in range(3)], dim=1)
    assert_close(MultiOutputLinear(v=V, w=W)(x), expected)


def test_a_matrix_as_first_layer():
    x, w = draw(5, 4, seed=3), draw(3, seed=4)
    expected = torch.stack([w @ (V @ point) for point in x])
    assert_close(LinearNetwork(V=V, w=w)(x), expected)


@pytest.mark.parametrize("kind", [MultiInputLinear, MultiOutputLinear])
def test_parameters_alternate_between_the_layers(kind):
    weights = list(kind(v=V, w=W).parameters())
    expected = [V[0], W[0], V[1], W[1], V[2], W[2]]
    assert len(weights) == 6
    assert all(torch.equal(a, b) for a, b in zip(weights, expected, strict=True))


@pytest.mark.parametrize("kind", [MultiInputLinear, MultiOutputLinear])
def test_functional_calls_reach_the_parameters(kind):
    # Derivatives by torch.func replace the parameters by tensors; a network that keeps its own
    # copies would have a Hessian of zeros.
    network = kind(torch.ones(2, 3), torch.ones(2, 3))
    x = torch.ones(1, 2) if kind is MultiInputLinear else torch.ones(1)
    doubled = {name: 2 * weights for name, weights in network.named_parameters()}
    outputs = torch.func.functional_call(network, doubled, (x.double(),))
    assert torch.equal(outputs, 4 * network(x.double()))


def test_parameters_of_the_matrix_network_are_its_rows_and_then_w():
    w = draw(3, seed=4)
    flat = torch.nn.utils.parameters_to_vector(LinearNetwork(V=V, w=w).parameters())
    assert torch.equal(flat, torch.cat([V[0], V[1], V[2], w]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MultiInputLinear(V, W[:2]), "v, w of one shape"),
        (lambda: MultiOutputLinear(V[0], W[0]), "2 dimension"),
        (lambda: LinearNetwork(V, W[0]), "of one m, got 3 and 4"),
        (lambda: MultiInputLinear(V, W)(draw(5, 2)), r"\(n, 3\), got \(5, 2\)"),
        (lambda: MultiOutputLinear(V, W)(draw(5, 1)), r"\(n,\), got \(5, 1\)"),
        (lambda: LinearNetwork(V, W[:, 0])(draw(4)), r"\(n, 4\), got \(4,\)"),
    ],
)
def test_bad_shapes_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()

"""The scalar networks compute what the papers write, keep their weights, and refuse bad shapes."""

import pytest
import torch
from torch.testing import assert_close

from hessian_spectra.models import LinearWithBias, TwoLayerLinear, TwoLayerReLU


def draw(*shape, seed=0):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


V, W, B, X = draw(4, seed=1), draw(4, seed=2), draw(4, seed=3), draw(7, seed=4)


def by_hand(activation):
    return torch.stack([sum(W[j] * activation(V[j] * x) for j in range(4)) for x in X])


def test_linear_output():
    assert_close(TwoLayerLinear(V, W)(X), by_hand(lambda z: z))


def test_relu_output():
    assert_close(TwoLayerReLU(V, W)(X), by_hand(lambda z: max(z, 0 * z)))


def test_bias_output():
    expected = torch.stack([sum(W[j] * (V[j] * x + B[j]) for j in range(4)) for x in X])
    assert_close(LinearWithBias(W, V, B)(X), expected)


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        (TwoLayerLinear(v=V, w=W), (V, W)),
        (TwoLayerReLU(v=V, w=W), (V, W)),
        (LinearWithBias(w=W, v=V, b=B), (W, V, B)),
    ],
    ids=["linear", "relu", "bias"],
)
def test_parameters_come_in_the_papers_order(network, expected):
    assert torch.equal(torch.cat(list(network.parameters())), torch.cat(expected))


@pytest.mark.parametrize("kind", [TwoLayerLinear, TwoLayerReLU])
def test_weights_are_float64_copies(kind):
    v = torch.ones(3, dtype=torch.float64)
    network = kind(v=v, w=torch.ones(3))
    v.zero_()
    assert all(weights.dtype == torch.float64 for weights in network.parameters())
    assert network(torch.ones(1, dtype=torch.float64)).item() == 3.0


@pytest.mark.parametrize("kind", [TwoLayerLinear, TwoLayerReLU])
@pytest.mark.parametrize(
    ("v", "w", "message"),
    [
        (torch.ones(3), torch.ones(2), "v, w of one shape"),
        (torch.ones(0), torch.ones(0), "non-empty"),
        (torch.ones(2, 2), torch.ones(2, 2), "1 dimension"),
        (torch.tensor([float("nan")]), torch.ones(1), "v: expected finite"),
    ],
)
def test_bad_weights_are_refused(kind, v, w, message):
    with pytest.raises(ValueError, match=message):
        kind(v=v, w=w)


@pytest.mark.parametrize(
    "network", [TwoLayerLinear(V, W), TwoLayerReLU(V, W), LinearWithBias(W, V, B)]
)
def test_inputs_with_a_second_axis_are_refused(network):
    with pytest.raises(ValueError, match=r"inputs: expected shape \(n,\), got \(7, 1\)"):
        network(X[:, None])

"""The papers' networks and loss compute what is written, keep their weights, refuse bad shapes."""

import pytest
import torch
from torch.testing import assert_close

from hessian_spectra.models import (
    HalfSquaredError,
    LinearNetwork,
    LinearWithBias,
    MultiInputLinear,
    MultiOutputLinear,
    TwoLayerLinear,
    TwoLayerReLU,
)


def draw(*shape, seed=0):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


V, W, B, X = draw(3, 4, seed=1), draw(3, 4, seed=2), draw(4, seed=3), draw(7, seed=4)
INPUTS, POINTS, LAST = draw(5, 3, seed=3), draw(5, 4, seed=3), draw(3, seed=4)


def by_hand(activation):
    return torch.stack([sum(W[0, j] * activation(V[0, j] * x, j) for j in range(4)) for x in X])


# A network, its inputs, what it makes of them, and its parameters in the papers' order.
NETWORKS = {
    "linear": (TwoLayerLinear(v=V[0], w=W[0]), X, by_hand(lambda z, j: z), (V[0], W[0])),
    "relu": (TwoLayerReLU(v=V[0], w=W[0]), X, by_hand(lambda z, j: max(z, 0 * z)), (V[0], W[0])),
    "bias": (LinearWithBias(w=W[0], v=V[0], b=B), X, by_hand(lambda z, j: z + B[j]),
             (W[0], V[0], B)),
    "several inputs": (MultiInputLinear(v=V, w=W), INPUTS,
                       sum(TwoLayerLinear(V[d], W[d])(INPUTS[:, d]) for d in range(3)),
                       (V[0], W[0], V[1], W[1], V[2], W[2])),
    "several outputs": (MultiOutputLinear(v=V, w=W), X,
                        torch.stack([TwoLayerLinear(V[k], W[k])(X) for k in range(3)], dim=1),
                        (V[0], W[0], V[1], W[1], V[2], W[2])),
    "a matrix as first layer": (LinearNetwork(V=V, w=LAST), POINTS,
                                torch.stack([LAST @ (V @ point) for point in POINTS]),
                                (*V, LAST)),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_outputs_and_parameters_are_those_of_the_papers(name):
    network, x, outputs, parameters = NETWORKS[name]
    assert_close(network(x), outputs)
    flat = torch.nn.utils.parameters_to_vector(network.parameters())
    assert torch.equal(flat, torch.cat(parameters))
    # Derivatives by torch.func replace the parameters by tensors; a network that keeps its own
    # copies would have a Hessian of zeros.
    nothing = {key: 0 * weights for key, weights in network.named_parameters()}
    assert not torch.func.functional_call(network, nothing, (x,)).any()


@pytest.mark.parametrize("kind", [TwoLayerLinear, TwoLayerReLU])
def test_weights_are_float64_copies(kind):
    v = torch.ones(3, dtype=torch.float64)
    network = kind(v=v, w=torch.ones(3))
    v.zero_()
    assert all(weights.dtype == torch.float64 for weights in network.parameters())
    assert network(torch.ones(1, dtype=torch.float64)).item() == 3.0


OUTPUTS = torch.tensor([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]], dtype=torch.float64)
TARGETS = torch.zeros(3, 2, dtype=torch.float64)


def test_the_loss_divides_by_samples_or_by_elements():
    outputs = OUTPUTS.clone().requires_grad_()
    sample, element = HalfSquaredError("sample"), HalfSquaredError("element")
    assert sample(outputs, TARGETS).item() == 30 / (2 * 3)
    assert element(outputs, TARGETS).item() == 30 / (2 * 6)
    assert sample(outputs[:, 0], TARGETS[:, 0]) == element(outputs[:, 0], TARGETS[:, 0])
    sample(outputs, TARGETS).backward()
    assert_close(outputs.grad, OUTPUTS / 3)
    assert repr(element) == "HalfSquaredError(per='element')"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        *((lambda kind=kind: kind(torch.ones(3), torch.ones(2)), "v, w of one shape")
          for kind in (TwoLayerLinear, TwoLayerReLU)),
        (lambda: TwoLayerLinear(torch.ones(0), torch.ones(0)), "non-empty"),
        (lambda: TwoLayerReLU(V, W), "1 dimension"),
        (lambda: TwoLayerReLU(0 * B / 0, B), "v: expected finite"),
        (lambda: LinearWithBias(W[0], V[0], B)(X[:, None]), r"\(n,\), got \(7, 1\)"),
        (lambda: MultiInputLinear(V, W[:2]), "v, w of one shape"),
        (lambda: MultiOutputLinear(V[0], W[0]), "2 dimension"),
        (lambda: LinearNetwork(V, W[0]), "of one m, got 3 and 4"),
        (lambda: MultiInputLinear(V, W)(draw(5, 2)), r"\(n, 3\), got \(5, 2\)"),
        (lambda: MultiOutputLinear(V, W)(draw(5, 1)), r"\(n,\), got \(5, 1\)"),
        (lambda: LinearNetwork(V, LAST)(draw(4)), r"\(n, 4\), got \(4,\)"),
        (lambda: HalfSquaredError()(OUTPUTS, TARGETS[:, 0]), "outputs and targets of one shape"),
        (lambda: HalfSquaredError()(OUTPUTS[:0], TARGETS[:0]), "non-empty outputs and targets"),
        (lambda: HalfSquaredError("batch"), "'sample' or 'element', got 'batch'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()

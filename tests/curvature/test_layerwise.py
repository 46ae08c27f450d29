"""Layer-wise Hessians and their factors against dense second derivatives of small networks."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.autograd.functional import hessian
from torch.func import functional_call

from hessian_spectra import curvature as cv
from hessian_spectra.curvature.layerwise.passes import square_roots

from .cases import built, classes, draws, normal


class Tokens(nn.Module):
    """A linear layer that is used at each place of a sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.each, self.head = nn.Linear(3, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.relu(self.each(x)).mean(dim=1))


ENTROPY = nn.CrossEntropyLoss()


@dataclass(frozen=True)
class Network:
    make: Callable[[], nn.Module]
    inputs: Sequence[int]
    loss: nn.Module = ENTROPY
    samples: int = 7

    def model(self) -> nn.Module:
        return built(self.make).eval()

    def data(self) -> tuple[Tensor, Tensor]:
        x = normal(self.samples, *self.inputs)
        y = classes(self.samples)
        return x, y if isinstance(self.loss, nn.CrossEntropyLoss) else normal(self.samples, 3)


def convolutions(activation: nn.Module) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, stride=2, padding=1, groups=2), activation,
        nn.Conv2d(4, 3, 2), activation, nn.Flatten(), nn.Linear(6, 3),
    )  # fmt: skip


def unusual() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 3, (2, 3), padding="same", padding_mode="circular", bias=False),
        nn.BatchNorm2d(3), nn.ReLU(inplace=True),
        nn.Conv2d(3, 2, 2, dilation=2), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(2, 3, bias=False),
    )  # fmt: skip


def plain(activation: nn.Module) -> nn.Module:
    return nn.Sequential(
        nn.Linear(4, 5), activation, nn.Linear(5, 4, bias=False), activation, nn.Linear(4, 3)
    )


NETWORKS = {
    "linear": Network(lambda: plain(nn.ReLU()), (4,)),
    "smooth": Network(lambda: plain(nn.Tanh()), (4,)),
    "squared": Network(lambda: plain(nn.ReLU()), (4,), nn.MSELoss()),
    "summed": Network(lambda: plain(nn.ReLU()), (4,), nn.CrossEntropyLoss(reduction="sum")),
    "convolutions": Network(lambda: convolutions(nn.ReLU()), (2, 4, 5)),
    "smooth convolutions": Network(lambda: convolutions(nn.Tanh()), (2, 4, 5), samples=3),
    "unusual": Network(unusual, (2, 5, 5)),
    "sequence": Network(
        lambda: nn.Sequential(
            nn.Conv1d(2, 3, 2, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(6, 3)
        ),
        (2, 4),
    ),
    "tokens": Network(Tokens, (5, 3)),
}


def problem_of(network: Network, model: nn.Module) -> cv.Problem:
    """In two batches of different lengths."""
    x, y = network.data()
    return cv.Problem(model, network.loss, [(x[:2], y[:2]), (x[2:], y[2:])])


def dense(network: Network, model: nn.Module, name: str) -> Tensor:
    """The Hessian by the weight, row by row."""
    x, y = network.data()
    weight = model.get_submodule(name).weight.detach()

    def loss(flat: Tensor) -> Tensor:
        changed = {f"{name}.weight": flat.view_as(weight)}
        return network.loss(functional_call(model, changed, (x,)), y)

    return hessian(loss, weight.flatten())


def passing(network: Network, model: nn.Module, name: str) -> tuple[Tensor, Tensor]:
    """What goes into a layer, and what comes out."""
    found: list[tuple[Tensor, Tensor]] = []
    module = model.get_submodule(name)
    hook = module.register_forward_hook(lambda _, x, z: found.append((x[0].clone(), z.clone())))
    model(network.data()[0])
    hook.remove()
    return found[0][0].detach(), found[0][1].detach()


def dense_factors(network: Network, model: nn.Module, name: str) -> tuple[Tensor, Tensor]:
    """E[M] and E[x xᵀ] from second derivatives by outputs, and inputs place by place."""
    module: Any = model.get_submodule(name)
    inputs, outputs = passing(network, model, name)
    targets = network.data()[1]

    def loss(changed: Tensor) -> Tensor:
        hook = module.register_forward_hook(lambda *_: changed)
        value = network.loss(model(network.data()[0]), targets)
        hook.remove()
        return value

    n = len(inputs)
    if isinstance(module, nn.Linear):
        shape = (n, outputs[0].numel() // outputs.shape[-1], outputs.shape[-1])
        blocks = hessian(loss, outputs).reshape(*shape, *shape)
        at = inputs.reshape(n, shape[1], -1)
    else:
        shape = (n, outputs.shape[1], outputs[0, 0].numel())
        blocks = hessian(loss, outputs).reshape(*shape, *shape)
        blocks = blocks.permute(0, 2, 1, 3, 5, 4)
        at = by_derivative(module, inputs)
    positions = at.shape[1]
    pairs = [blocks[i, p, :, i, p] for i in range(n) for p in range(positions)]
    return torch.stack(pairs).sum(dim=0) / positions, torch.einsum("npi,npj->ij", at, at) / n


def by_derivative(module: Any, inputs: Tensor) -> Tensor:
    """A convolution's inputs at each place, (n, P, g d): what its outputs are per weight."""
    weight, rows = module.weight.detach(), len(module.weight) // module.groups
    derivative = torch.autograd.functional.jacobian(
        lambda w: module._conv_forward(inputs, w, None).flatten(2), weight
    )
    # One row of each group: (n, g, P, d), the rest is the same.
    chosen = [derivative[:, g * rows, :, g * rows].flatten(2) for g in range(module.groups)]
    return torch.cat(chosen, dim=2)


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12 * float(expected.abs().max()))


LAYERS = [
    (key, name)
    for key, network in NETWORKS.items()
    for name, module in network.model().named_modules()
    if hasattr(module, "weight") and not isinstance(module, nn.BatchNorm2d)
]


@pytest.mark.parametrize(("key", "name"), LAYERS)
def test_hessian_and_factors_are_those_of_dense_derivatives(key, name):
    network = NETWORKS[key]
    model = network.model()
    layer = cv.layerwise(problem_of(network, model), name)
    close(cv.dense_matrix(layer.hessian), dense(network, model, name))
    output, inputs = dense_factors(network, model, name)
    close(layer.output_hessian, output)
    close(layer.input_autocorrelation, inputs)


@pytest.mark.parametrize("key", ["linear", "convolutions"])
def test_all_layers_at_once_are_as_each_by_itself(key):
    network = NETWORKS[key]
    problem = problem_of(network, network.model())
    for name, layer in cv.layerwise(problem).items():
        alone = cv.layerwise(problem, name)
        assert layer.name == name
        assert layer.shape == alone.shape
        close(layer.output_hessian, alone.output_hessian)
        close(layer.input_autocorrelation, alone.input_autocorrelation)
        close(layer.input_mean, alone.input_mean)


def test_the_mean_of_the_inputs_is_that_at_each_position():
    network = NETWORKS["unusual"]
    model = network.model()
    inputs, _ = passing(network, model, "3")
    expected = by_derivative(model.get_submodule("3"), inputs).mean(dim=0)
    close(cv.layerwise(problem_of(network, model), "3").input_mean, expected.T)


def test_one_sample_is_a_kronecker_product():
    """(1) of the paper: for a single sample there is nothing to decouple."""
    network = NETWORKS["linear"]
    x, y = network.data()
    layer = cv.layerwise(cv.Problem(network.model(), network.loss, [(x[:1], y[:1])]), "2")
    close(cv.dense_matrix(layer.approximation), cv.dense_matrix(layer.hessian))


@pytest.mark.parametrize(("key", "name"), [("linear", "2"), ("convolutions", "2")])
def test_kronecker_eigenpairs_are_those_of_the_product(key, name):
    network = NETWORKS[key]
    layer = cv.layerwise(problem_of(network, network.model()), name)
    product = torch.kron(layer.output_hessian, layer.input_autocorrelation)
    close(cv.dense_matrix(layer.approximation), product)
    expected = torch.linalg.eigvalsh(product)
    found = layer.kronecker(6)
    close(found.eigenvalues, expected[-6:])
    vectors = found.eigenvectors()
    close(product @ vectors, vectors * found.eigenvalues)
    close(vectors.T @ vectors, torch.eye(6, dtype=torch.float64))
    assert len(layer.kronecker(len(product)).eigenvalues) == len(product)
    with pytest.raises(ValueError, match=f"k: expected 1 to {len(product)}, got 0"):
        layer.kronecker(0)


def test_groups_have_a_block_for_each_pair():
    network = NETWORKS["convolutions"]
    layer = cv.layerwise(problem_of(network, network.model()), "0")
    output, inputs = layer.output_hessian, layer.input_autocorrelation
    (m, d), half = layer.shape, layer.shape[0] // 2
    rows = [
        torch.cat(
            [output[o, p] * inputs[o // half * d :, p // half * d :][:d, :d] for p in range(m)],
            dim=1,
        )
        for o in range(m)
    ]
    expected = torch.cat(rows)
    close(cv.dense_matrix(layer.approximation), expected)
    close(layer.kronecker(3).eigenvalues, torch.linalg.eigvalsh(expected)[-3:])
    for refused in (layer.best_kronecker, lambda: layer.correspondence(expected, "input")):
        with pytest.raises(ValueError, match="expected a layer without groups, got '0'"):
            refused()


@pytest.mark.parametrize(
    ("key", "name"), [("linear", "0"), ("convolutions", "2"), ("squared", "2")]
)
def test_the_best_product_is_the_first_singular_one(key, name):
    """Of the rearranged matrix, whose rows are the blocks (Van Loan and Pitsianis 1993)."""
    network = NETWORKS[key]
    layer = cv.layerwise(problem_of(network, network.model()), name)
    m, d = layer.shape
    matrix = cv.dense_matrix(layer.hessian)
    rearranged = matrix.view(m, d, m, d).transpose(1, 2).reshape(m * m, d * d)
    left, values, right = torch.linalg.svd(rearranged, full_matrices=False)
    best = values[0] * torch.kron(left[:, 0].view(m, m), right[0].view(d, d))
    found = layer.best_kronecker(tolerance=1e-13, steps=500)
    torch.testing.assert_close(torch.kron(found.output, found.inputs), best, rtol=1e-9, atol=1e-12)
    assert found.change <= 1e-13
    stopped = layer.best_kronecker(tolerance=1e-13, steps=1)
    assert stopped.change > 1e-4
    farther = (cv.dense_matrix(layer.approximation) - matrix).norm()
    assert (matrix - best).norm() < farther


def test_vectors_become_matrices_row_by_row():
    network = NETWORKS["linear"]
    layer = cv.layerwise(problem_of(network, network.model()), "0")
    u, v = normal(5, seed=1), normal(4, seed=2)
    close(layer.matricise(torch.kron(u, v)[:, None])[0], torch.outer(u, v))
    with pytest.raises(ValueError, match=r"expected vectors as columns, \(20, k\), got \(19, 1\)"):
        layer.matricise(torch.ones(19, 1))


@pytest.mark.parametrize("side", ["output", "input"])
def test_correspondences_are_shares_of_each_vector(side):
    network = NETWORKS["linear"]
    layer = cv.layerwise(problem_of(network, network.model()), "2")
    factor = layer.output_hessian if side == "output" else layer.input_autocorrelation
    basis = torch.linalg.eigh(factor).eigenvectors.flip(1)
    vectors = cv.top_eigenpairs(layer.hessian, k=4).eigenvectors()
    expected = torch.stack(
        [
            torch.stack(
                [(mat.T @ b if side == "output" else mat @ b).square().sum() for b in basis.T]
            )
            for mat in vectors.T.reshape(4, *layer.shape)
        ]
    )
    found = layer.correspondence(vectors, side)
    close(found, expected)
    close(found.sum(dim=1), torch.ones(4, dtype=torch.float64))
    with pytest.raises(ValueError, match="side: expected 'output' or 'input', got 'both'"):
        inspect.unwrap(type(layer).correspondence)(layer, vectors, "both")


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 6))
def test_overlaps_are_those_of_each_number_of_vectors(seed, size, more):
    p, k = size + more, size
    matrices = torch.randn(2, p, k, generator=draws(seed), dtype=torch.float64)
    U, V = torch.linalg.qr(matrices).Q
    found = cv.subspace_overlaps(U, V)
    for count in range(1, k + 1):
        expected = cv.subspace_overlap(U[:, :count], V[:, :count])
        assert float(found[count - 1]) == pytest.approx(expected, abs=1e-12)


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


class TestFullOutput:
    """The second derivative by all layers' outputs, and what it makes of the Hessian."""

    def test_it_is_that_of_dense_jacobians(self):
        network = NETWORKS["linear"]
        model = network.model()
        x = network.data()[0]
        shifts = [torch.zeros(len(x), m, dtype=torch.float64) for m in (5, 4, 3)]

        def outputs(*added: Tensor) -> Tensor:
            found = x
            for place, layer in enumerate(model[::2]):
                found = layer(torch.relu(found) if place else found) + added[place]
            return found

        jacobians = torch.autograd.functional.jacobian(outputs, tuple(shifts))
        p = torch.softmax(model(x), dim=1).detach()
        expected: Any = 0.0
        for n in range(len(x)):
            G = torch.cat([jacobian[n, :, n] for jacobian in jacobians], dim=1)
            expected = expected + G.T @ (torch.diag(p[n]) - torch.outer(p[n], p[n])) @ G / len(x)
        found = cv.full_output_hessian(problem_of(network, model))
        close(found.matrix, expected)
        assert [len(mean) for mean in found.means] == [5, 5, 5]  # the second has no bias
        close(found.means[0], torch.cat([x.mean(dim=0), torch.ones(1, dtype=torch.float64)]))

    def test_the_corrected_form_is_exact_for_constant_inputs(self):
        """With one sample; the printed form is not, as the lengths of the inputs differ."""
        network = NETWORKS["linear"]
        x, y = network.data()
        problem = cv.Problem(network.model(), network.loss, [(3 * x[:1], y[:1])])
        exact = cv.dense_spectrum(cv.ggn(problem))
        found = cv.full_output_hessian(problem)
        corrected, printed = (found.approximation(2, form) for form in ("corrected", "printed"))
        close(corrected.eigenvalues, exact.eigenvalues[-2:])
        vectors = corrected.eigenvectors()
        matrix = cv.dense_matrix(cv.ggn(problem))
        close(matrix @ vectors, vectors * corrected.eigenvalues)
        # (260) to (263), as they stand.
        off = (printed.eigenvalues[-1] / exact.eigenvalues[-1] - 1).abs()
        assert off > 1e-3
        basis = printed.eigenvectors()
        close(basis.T @ basis, torch.eye(2, dtype=torch.float64))

    def test_the_printed_form_is_the_paper_s(self):
        network = NETWORKS["linear"]
        model = network.model()
        found = cv.full_output_hessian(problem_of(network, model))
        values, vectors = torch.linalg.eigh(found.matrix)
        u = vectors[:, -1]
        pieces, parts = u.split([5, 4, 3]), []
        for piece, mean, bias in zip(pieces, found.means, (True, False, True), strict=True):
            inputs = mean[:-1] if bias else mean
            parts += [torch.kron(piece, inputs), *([piece] if bias else [])]
        w = torch.cat(parts)
        printed = found.approximation(3, "printed")
        assert float(printed.values[0]) == pytest.approx(float(values[-1] * w.square().sum()))
        first = printed.eigenbasis()[:, 0]
        assert float((first @ w / w.norm()).abs()) == pytest.approx(1.0)

    def test_bad_arguments_are_named(self):
        network = NETWORKS["linear"]
        found = cv.full_output_hessian(problem_of(network, network.model()))
        with pytest.raises(ValueError, match="form: expected 'corrected' or 'printed', got 'old'"):
            inspect.unwrap(type(found).approximation)(found, 2, "old")
        with pytest.raises(ValueError, match="k: expected 1 to 12, got 13"):
            found.approximation(13)
        other = NETWORKS["convolutions"]
        with pytest.raises(ValueError, match="used at one position, '0' is used at 6"):
            cv.full_output_hessian(problem_of(other, other.model()))


def test_it_belongs_to_the_moment_and_leaves_the_model_alone():
    network = NETWORKS["linear"]
    model = network.model()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    problem = problem_of(network, model)
    layer = cv.layerwise(problem, "2")
    expected = dense(network, model, "2"), *dense_factors(network, model, "2")
    with torch.no_grad():
        model[0].weight.add_(1.0)
    close(cv.dense_matrix(layer.hessian), expected[0])
    close(layer.output_hessian, expected[1])
    close(layer.input_autocorrelation, expected[2])
    with torch.no_grad():
        model[0].weight.copy_(before["0.weight"])
    assert all(map(torch.equal, model.state_dict().values(), before.values()))
    assert all(parameter.grad is None for parameter in model.parameters())


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.head = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.relu(self.inner(torch.relu(self.inner(x)))))


def tied() -> nn.Module:
    model = plain(nn.ReLU())
    model.extra = nn.Linear(4, 5)
    model.extra.weight = model[0].weight
    return model


def contrastive(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs @ outputs.T).square().mean()


def refusals() -> list[Any]:
    model = lambda: built(lambda: plain(nn.ReLU()))  # noqa: E731
    normed = lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).double()  # noqa: E731
    weight_norm = lambda: built(  # noqa: E731
        lambda: nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)))
    )
    return [
        (model(), ENTROPY, "1", "expected the name of a linear or convolutional layer, one of '0', "
         "'2', '4', got '1', ReLU"),
        (model(), ENTROPY, "fc", "got 'fc', no module of that name"),
        (built(Twice), ENTROPY, "inner", "'inner' is used more than once in the network"),
        (built(tied), ENTROPY, "0", "the weight of '0' is shared with another layer"),
        (weight_norm(), ENTROPY, "0", "the weight of '0' is computed from others"),
        (normed(), ENTROPY, "0", r"'1' \(BatchNorm1d\) in training mode .* call model.eval\(\)"),
        (model(), contrastive, "0", "the loss couples samples"),
    ]  # fmt: skip


@pytest.mark.parametrize(("model", "loss", "name", "message"), refusals())
def test_what_has_no_layerwise_hessian_is_refused(model, loss, name, message):
    x, y = normal(4, 4), classes(4)
    problem = cv.Problem(model, loss, [(x, y)])
    with pytest.raises((ValueError, cv.OperatorError), match=message):
        _ = cv.layerwise(problem, name).output_hessian


def test_a_loss_that_is_linear_in_the_outputs_bends_in_the_network_alone():
    """Between its kinks; the last layer has no second derivative then."""
    network = Network(lambda: plain(nn.Tanh()), (4,), nn.L1Loss())
    model = network.model()
    found = cv.layerwise(problem_of(network, model), check=False)
    close(found["2"].output_hessian, dense_factors(network, model, "2")[0])
    assert not found["4"].output_hessian.any()
    with pytest.raises(cv.OperatorError, match="best_kronecker: the Gauss-Newton matrix is zero"):
        found["2"].best_kronecker()


def test_a_layer_that_is_not_used_is_named():
    model = built(lambda: plain(nn.ReLU()))
    model[0].add_module("idle", nn.Linear(2, 2).double())
    problem = cv.Problem(model, nn.CrossEntropyLoss(), [(normal(4, 4), classes(4))])
    with pytest.raises(ValueError, match=r"the network does not use '0\.idle'"):
        _ = cv.layerwise(problem)["0"].output_hessian

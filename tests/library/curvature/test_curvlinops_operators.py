"""What curvlinops has, against dense matrices; ours in its functions, and its in our solvers."""

from copy import copy
from inspect import unwrap

import pytest
import torch
from torch import nn

from hessian_spectra import curvature as cv
from hessian_spectra.curvature.curvlinops_operators import without_deprecations
from hessian_spectra.models import HalfSquaredError

from . import oracles
from .cases import IMAGES, LABELS, Tied, X, Y, built, cases, cut, mlp, normal

with without_deprecations():
    import curvlinops

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")

BINARY = (Y > 0).double()
SMOOTH = nn.CrossEntropyLoss(label_smoothing=0.1)


def problem(model, loss, data, parameters=None) -> cv.Problem:
    return cv.Problem(built(model), loss, data, parameters)


LIKELIHOODS = {
    "squared error": (nn.MSELoss(), cut(X, Y, 2, 5)),
    "summed squares": (nn.MSELoss(reduction="sum"), cut(X, Y, 2, 5)),
    "cross entropy": (nn.CrossEntropyLoss(), cut(X, LABELS, 3, 4)),
    "binary": (nn.BCEWithLogitsLoss(), cut(X, BINARY, 1, 6)),
}
each_likelihood = pytest.mark.parametrize(("loss", "data"), LIKELIHOODS.values(), ids=LIKELIHOODS)

# A smoothed target is none that could be drawn, but what needs no draws is right with it.
SMOOTHED = LIKELIHOODS | {"smoothed": (SMOOTH, cut(X, LABELS, 3, 4))}
each_loss = pytest.mark.parametrize(("loss", "data"), SMOOTHED.values(), ids=SMOOTHED)


def sample_gradients(at: cv.Problem) -> torch.Tensor:
    """``∇ℓ_n`` of each sample, ``(n, p)``, for the sum of ``ℓ_n`` as loss."""
    summed = copy(at.loss)
    summed.reduction = "sum"
    rows = []
    for (inputs, targets), _ in at.batches():
        for x, y in zip(inputs.split(1), targets.split(1), strict=True):
            value = summed(at.model(x), y)
            rows.append(oracles.flat(torch.autograd.grad(value, list(at.model.parameters()))))
    return torch.stack(rows)


def constant(at: cv.Problem) -> float:
    """The loss is this times the sum over samples."""
    if at.loss.reduction == "sum":
        return 1.0
    outputs = 1 if isinstance(at.loss, nn.CrossEntropyLoss) else 3
    return 1 / (outputs * len(X))


@each_loss
def test_the_empirical_fisher_matrix_is_that_of_the_sample_gradients(loss, data):
    at = problem(mlp, loss, data)
    gradients = sample_gradients(at)
    expected = constant(at) * gradients.T @ gradients
    dense = cv.dense_matrix(cv.fisher(at, "empirical"))
    torch.testing.assert_close(dense, expected, rtol=1e-10, atol=1e-13)


@each_likelihood
def test_the_fisher_matrix_of_drawn_targets_is_the_gauss_newton_matrix_on_average(loss, data):
    at = problem(mlp, loss, data)
    expected = cv.dense_matrix(cv.ggn(at))
    draws = torch.stack(
        [cv.dense_matrix(cv.fisher(at, samples=25, seed=seed)) for seed in range(40)]
    )
    # Entries of 31 x 31, each with its standard error over the draws; one in 4e5 is beyond 4.7.
    error = draws.std(dim=0) / len(draws) ** 0.5
    assert ((draws.mean(dim=0) - expected).abs() <= 4.7 * error + 1e-13).all()
    # The draws of the batches are not the same, nor those of two seeds; within one they are.
    assert error.max() > 0
    again = cv.fisher(at, samples=25, seed=3)
    assert torch.equal(cv.dense_matrix(again), draws[3])


def test_batches_do_not_share_their_draws():
    x, y = X[:3], Y[:3]
    twice = cv.dense_matrix(cv.fisher(problem(mlp, nn.MSELoss(), [(x, y), (x, y)])))
    once = cv.dense_matrix(cv.fisher(problem(mlp, nn.MSELoss(), [(x, y)])))
    assert (twice - once).norm() > 1e-2 * once.norm()


def layer_outputs(at: cv.Problem, name: str):
    """Inputs of a layer ``(n, i)`` and the derivatives ``(n, C, o)`` of the outputs in its own."""
    layer = at.model.get_submodule(name)
    found = []
    handle = layer.register_forward_hook(
        lambda _, inputs, output: found.append((inputs[0], output))
    )
    inputs, derivatives = [], []
    for (x, _), _ in at.batches():
        outputs = at.model(x)
        a, z = found.pop()
        columns = [
            torch.autograd.grad(column.sum(), z, retain_graph=True)[0] for column in outputs.T
        ]
        inputs.append(a.detach())
        derivatives.append(torch.stack(columns, dim=1))
    handle.remove()
    return torch.cat(inputs), torch.cat(derivatives)


def output_curvature(at: cv.Problem) -> torch.Tensor:
    """``∇²_f ℓ_n`` of each sample, ``(n, C, C)``."""
    outputs = torch.cat([at.model(x).detach() for (x, _), _ in at.batches()])
    if isinstance(at.loss, nn.MSELoss):
        return 2 * torch.eye(3).double().expand(len(outputs), 3, 3)
    if isinstance(at.loss, nn.BCEWithLogitsLoss):
        return torch.diag_embed(outputs.sigmoid() * (-outputs).sigmoid())
    p = outputs.softmax(dim=1)
    return torch.diag_embed(p) - p[:, :, None] * p[:, None, :]


def kronecker_blocks(at: cv.Problem) -> torch.Tensor:
    """KFAC of the network ``mlp`` from its definition, in the parameters' order."""
    blocks = []
    for name in ("0", "2"):
        inputs, derivatives = layer_outputs(at, name)
        A = inputs.T @ inputs / len(inputs)
        B = constant(at) * torch.einsum(
            "nca,ncd,ndb->ab", derivatives, output_curvature(at), derivatives
        )
        blocks += [torch.kron(B.contiguous(), A), B]
    return torch.block_diag(*blocks)


@each_loss
def test_kfac_is_the_kronecker_product_of_its_factors(loss, data):
    at = problem(mlp, loss, data)
    dense = cv.dense_matrix(cv.kfac(at))
    torch.testing.assert_close(dense, kronecker_blocks(at), rtol=1e-10, atol=1e-13)


def test_kfac_of_a_linear_layer_is_its_gauss_newton_matrix():
    at = problem(lambda: nn.Linear(3, 3, bias=False), nn.MSELoss(), cut(X, Y, 2, 5))
    expected = cv.dense_matrix(cv.ggn(at))
    torch.testing.assert_close(cv.dense_matrix(cv.kfac(at)), expected, rtol=1e-12, atol=1e-14)


def test_kfac_of_drawn_and_of_given_targets_has_the_factors_of_the_gradients():
    at = problem(mlp, nn.CrossEntropyLoss(), [(X, LABELS)])
    inputs, derivatives = layer_outputs(at, "0")
    residual = at.model(X).softmax(dim=1) - nn.functional.one_hot(LABELS, 3)
    back = torch.einsum("nca,nc->na", derivatives, residual).detach()
    expected = torch.kron(back.T @ back / len(X), inputs.T @ inputs / len(X))
    empirical = cv.dense_matrix(cv.kfac(at, "empirical"))[:12, :12]
    torch.testing.assert_close(empirical, expected, rtol=1e-10, atol=1e-13)
    exact = cv.dense_matrix(cv.kfac(at))
    drawn = [cv.dense_matrix(cv.kfac(at, "monte carlo", samples=n)) for n in (10, 1000)]
    errors = [float((matrix - exact).norm() / exact.norm()) for matrix in drawn]
    assert errors[1] < errors[0]
    assert errors[1] < 0.1


def test_kfac_of_a_convolution_by_two_approximations():
    def model():
        return nn.Sequential(nn.Conv2d(1, 2, 3, bias=False), nn.Flatten(), nn.Linear(32, 3))

    at = problem(model, nn.MSELoss(), [(IMAGES, Y[:5])], ["0.weight"])
    patches = nn.functional.unfold(IMAGES, 3)  # (n, 9, 16 positions)
    weight = at.model[2].weight.reshape(3, 2, 16)  # outputs, channels, positions
    expand = torch.kron(
        torch.einsum("cap,cbp->ab", weight, weight),
        torch.einsum("nip,njp->ij", patches, patches) / (5 * 16),
    )
    summed, mean = weight.sum(dim=2), patches.mean(dim=2)
    reduce = torch.kron(summed.T @ summed, mean.T @ mean / 5)
    for sharing, expected in (("expand", expand), ("reduce", reduce)):
        dense = cv.dense_matrix(cv.kfac(at, sharing=sharing))
        torch.testing.assert_close(dense, 2 / 3 * expected, rtol=1e-10, atol=1e-12)


@each_loss
def test_ekfac_has_the_eigenvectors_of_kfac_and_the_diagonal_of_the_gauss_newton_matrix(loss, data):
    at = problem(mlp, loss, data)
    whole, dense = cv.dense_matrix(cv.ggn(at)), cv.dense_matrix(cv.ekfac(at))
    for name, block in (("0.weight", slice(0, 12)), ("0.bias", slice(12, 16))):
        # The first layer's factors have simple eigenvalues, so that the basis is unique.
        Q = torch.linalg.eigh(
            cv.dense_matrix(cv.kfac(problem(mlp, loss, data, [name])))
        ).eigenvectors
        expected = Q @ torch.diag((Q.T @ whole[block, block] @ Q).diagonal()) @ Q.T
        torch.testing.assert_close(dense[block, block], expected, rtol=1e-8, atol=1e-10)
    assert dense[:12, 12:].norm() == 0


def test_kronecker_factors_are_those_of_the_moment():
    at = problem(mlp, nn.MSELoss(), [(X, Y)])
    for kind in (cv.kfac, cv.ekfac):
        operator = kind(at)
        before = operator @ normal(31)
        with torch.no_grad():
            for parameter in at.model.parameters():
                parameter.mul_(2)
        assert torch.equal(operator @ normal(31), before)


@pytest.mark.parametrize("name", ["tanh", "convolution", "layer norm", "attention", "frozen bias"])
def test_the_jacobian_is_that_of_reverse_mode(name):
    case = cases[name]
    model = case.model()
    at = cv.Problem(model, case.loss, case.data)
    J = cv.jacobian(at)
    parameters = {n: dict(model.named_parameters())[n].detach() for n in at.names}
    rows = []
    for inputs, _ in case.data:

        def outputs(values, inputs=inputs):
            return torch.func.functional_call(model, values, (inputs,)).flatten()

        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            parts = torch.func.jacrev(outputs)(parameters)
        rows.append(torch.cat([parts[n].flatten(start_dim=1) for n in at.names], dim=1))
    expected = torch.cat(rows)
    assert J.shape == tuple(expected.shape)
    assert J.T.shape == tuple(expected.T.shape)
    assert J.T.T is J
    right, left = normal(at.size, 2), normal(len(expected), 2)
    torch.testing.assert_close(J @ right, expected @ right, rtol=1e-11, atol=1e-13)
    torch.testing.assert_close(J @ right[:, 0], expected @ right[:, 0], rtol=1e-11, atol=1e-13)
    torch.testing.assert_close(J.T @ left, expected.T @ left, rtol=1e-11, atol=1e-13)
    torch.testing.assert_close(J.T @ left[:, 0], expected.T @ left[:, 0], rtol=1e-11, atol=1e-13)
    assert not (J @ right).requires_grad
    with pytest.raises(ValueError, match=rf"expected x of shape \({at.size},\)"):
        J @ normal(3)


def test_the_jacobian_gives_the_gauss_newton_matrix_of_squares():
    at = problem(mlp, nn.MSELoss(), cut(X, Y, 2, 5))
    J = cv.jacobian(at)
    product = 2 / J.shape[0] * (J.T @ (J @ normal(31)))
    torch.testing.assert_close(product, cv.ggn(at) @ normal(31), rtol=1e-11, atol=1e-13)


def positive(size: int) -> torch.Tensor:
    half = normal(size, size)
    return half @ half.T / size


@pytest.mark.parametrize("method", ["cg", "lsmr"])
@pytest.mark.parametrize("damping", [0.0, 0.1])
def test_inverse_times_operator_is_the_identity(method, damping):
    matrix = positive(12)
    inverse = cv.inverse(matrix, method, damping=damping, tol=1e-11, max_iterations=5000)
    identity = torch.eye(12, dtype=torch.float64)
    expected = torch.linalg.inv(matrix + damping * identity)
    torch.testing.assert_close(cv.dense_matrix(inverse), expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(inverse @ (matrix + damping * identity), identity, rtol=0, atol=1e-5)
    assert (inverse @ identity[:, 0]).shape == (12,)


def test_indefinite_matrices_need_lsmr():
    matrix = torch.diag(torch.tensor([-2.0, -1.0, 1.0, 3.0], dtype=torch.float64))
    x = normal(4)
    product = cv.inverse(matrix, "lsmr", tol=1e-10) @ x
    torch.testing.assert_close(product, x / matrix.diagonal(), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kind", [cv.kfac, cv.ekfac])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_kronecker_inverses_are_exact(kind, dtype):
    model = built(mlp).to(dtype)
    at = cv.Problem(model, nn.CrossEntropyLoss(), [(X.to(dtype), LABELS)])
    operator = kind(at)
    inverse = cv.inverse(operator, "kronecker", damping=1e-2)
    identity = torch.eye(31, dtype=dtype)
    expected = torch.linalg.inv((cv.dense_matrix(operator) + 1e-2 * identity).double())
    tolerance = 1e-9 if dtype == torch.float64 else 1e-3
    dense = cv.dense_matrix(inverse).double()
    torch.testing.assert_close(dense, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("matrix", "method", "options"),
    [
        (torch.diag(torch.tensor([1.0, -1.0, 2.0])), "cg", {}),
        (torch.diag(torch.tensor([1.0, 0.0, 2.0])), "cg", {}),
        (torch.diag(torch.tensor([1.0, 0.0, 2.0])), "lsmr", {}),
        (torch.diag(10.0 ** torch.arange(-9, 0)), "cg", {"max_iterations": 3}),
        (positive(30), "cg", {"max_iterations": 15, "tol": 1e-12}),
    ],
    ids=["indefinite", "singular", "singular, lsmr", "ill-conditioned", "too few iterations"],
)
def test_systems_that_are_not_solved_are_refused(matrix, method, options):
    inverse = cv.inverse(matrix, method, **options)
    with pytest.raises(cv.OperatorError, match=r"leaves a relative residual of .*likely causes"):
        inverse @ torch.ones(len(matrix), dtype=matrix.dtype)


def test_a_column_of_zeros_has_a_solution_of_zeros():
    columns = torch.stack([torch.zeros(5), torch.ones(5)], dim=1).double()
    product = cv.inverse(2 * torch.eye(5).double()) @ columns
    torch.testing.assert_close(product, columns / 2)


@pytest.mark.parametrize("method", ["xdiag", "hutchinson"])
def test_intervals_of_a_diagonal_cover_it(method):
    decay = 0.5 ** torch.arange(80).double()
    Q = torch.linalg.qr(normal(80, 80)).Q
    matrix = Q @ torch.diag(decay) @ Q.T
    exact = cv.diagonal(matrix, "exact")
    torch.testing.assert_close(exact.value, matrix.diagonal())
    assert (exact.products, float(exact.standard_error.norm())) == (80, 0)
    found = [cv.diagonal(matrix, method, probes=60, seed=seed) for seed in range(20)]
    # Student's t with the four degrees of freedom of five repeats.
    covered = [(one.value - exact.value).abs() <= 2.776 * one.standard_error for one in found]
    assert 0.9 < float(torch.stack(covered).double().mean()) < 0.99
    assert {(one.method, one.products) for one in found} == {(method, 60)}
    spread = float(found[0].standard_error.norm() / exact.value.norm())
    assert spread < 0.15 if method == "xdiag" else spread > 0.3


def test_a_diagonal_has_a_seed_and_leaves_the_random_state_alone():
    matrix = positive(80)
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    first, again = (cv.diagonal(matrix, seed=1) for _ in range(2))
    assert torch.equal(torch.rand(1), expected)
    assert torch.equal(first.value, again.value)
    assert not torch.equal(first.value, cv.diagonal(matrix, seed=2).value)
    small = cv.diagonal(positive(10))
    assert (small.method, small.products) == ("exact", 10)


def test_the_diagonal_of_zeros():
    zeros = torch.zeros(100, 100)
    assert not cv.diagonal(zeros, "hutchinson").value.any()
    with pytest.raises(cv.OperatorError, match="exactly dependent"):
        cv.diagonal(zeros)


# Both libraries' ways.


FOREIGN = (
    "GGN", "Hessian", "empirical Fisher", "Fisher", "KFAC", "EKFAC", "inverse of KFAC",
    "inverse by conjugate gradients", "sum",
)  # fmt: skip


def foreign() -> dict[str, cv.SymmetricOperator]:
    """Operators of curvlinops itself over one network."""
    model = built(lambda: nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 3)))
    arguments = (model, nn.CrossEntropyLoss(), list(model.parameters()), cut(X, LABELS, 3, 4))
    factors = {"fisher_type": "type-2"}
    kfac = curvlinops.KFACLinearOperator(*arguments, **factors)
    ggn = curvlinops.GGNLinearOperator(*arguments)
    return {
        "GGN": ggn,
        "Hessian": curvlinops.HessianLinearOperator(*arguments),
        "empirical Fisher": curvlinops.EFLinearOperator(*arguments),
        "Fisher": curvlinops.FisherMCLinearOperator(*arguments),
        "KFAC": kfac,
        "EKFAC": curvlinops.EKFACLinearOperator(*arguments, **factors),
        "inverse of KFAC": curvlinops.KFACInverseLinearOperator(
            kfac, damping=1e-1, use_exact_damping=True
        ),
        "inverse by conjugate gradients": curvlinops.CGInverseLinearOperator(
            cv.as_operator(kfac).shift(0.1).to_curvlinops(), tolerance=1e-9, eps=1e-30
        ),
        "sum": ggn + 0.5 * kfac,
    }


@pytest.mark.parametrize("name", FOREIGN)
def test_solvers_take_operators_of_curvlinops(name):
    operator = foreign()[name]
    size = operator.shape[0]
    dense = cv.dense_matrix(operator)
    values = torch.linalg.eigvalsh(dense)
    scale = float(values.abs().max())
    spectrum = cv.dense_spectrum(operator)
    torch.testing.assert_close(spectrum.eigenvalues, values, rtol=0, atol=1e-10 * scale)
    top = cv.top_eigenpairs(operator, k=3, tol=1e-7)
    assert top.converged.all()
    vectors = top.eigenvectors()
    residual = dense @ vectors - vectors * top.eigenvalues
    assert residual.norm() < 1e-6 * scale
    assert float(values[-1] - top.eigenvalues[-1]) < 1e-4 * scale
    assert cv.trace(operator, "exact").value == pytest.approx(float(values.sum()), abs=1e-8 * scale)
    density = cv.spectral_density(operator, probes=10, steps=10)
    mean, error = density.moment(1)
    assert abs(mean - float(values.mean())) <= 5 * error + 1e-10 * scale
    results = (dense, spectrum.eigenvectors(), top.eigenvectors(), density.density)
    assert not any(result.requires_grad for result in results)
    assert cv.as_operator(operator).shape == (size, size)


def test_their_operators_add_to_ours():
    theirs = foreign()
    ggn, kfac = theirs["GGN"], theirs["KFAC"]
    ours = cv.as_operator(torch.eye(ggn.shape[0], dtype=torch.float64))
    vector = normal(ggn.shape[0])
    torch.testing.assert_close((ours + ggn) @ vector, vector + ggn @ vector)
    torch.testing.assert_close((ours - kfac) @ vector, vector - kfac @ vector)
    # On their left, ours takes their form, with the shapes of the parameters.
    shapes = [(24, 3), (24,), (3, 24), (3,)]
    torch.testing.assert_close((ggn + ours.to_curvlinops(shapes)) @ vector, vector + ggn @ vector)


def test_ours_go_into_functions_of_curvlinops():
    matrix = positive(40)
    ours = cv.as_operator(matrix).to_curvlinops()
    identity = torch.eye(40, dtype=torch.float64)
    torch.testing.assert_close(ours @ identity, matrix)
    torch.testing.assert_close(ours.adjoint() @ identity, matrix)
    torch.testing.assert_close(ours @ [identity[0]], [matrix[0]])
    torch.testing.assert_close(ours.to_scipy() @ identity.numpy(), matrix.numpy())
    torch.manual_seed(0)
    estimates = {
        "trace": torch.stack([curvlinops.xtrace(ours, 20) for _ in range(50)]),
        "norm": torch.stack([curvlinops.hutchinson_squared_fro(ours, 20) for _ in range(50)]),
    }
    for name, exact in (("trace", matrix.trace()), ("norm", matrix.square().sum())):
        error = float(estimates[name].std()) / 50**0.5
        assert abs(float(estimates[name].mean() - exact)) < 4 * error
    largest = float(torch.linalg.eigvalsh(matrix + identity)[-1])
    shifted = cv.as_operator(matrix).shift(1).to_curvlinops()
    series = curvlinops.NeumannInverseLinearOperator(shifted, num_terms=300, scale=1 / largest)
    torch.testing.assert_close(
        series @ identity, torch.linalg.inv(matrix + identity), rtol=1e-6, atol=1e-8
    )
    grid, density = curvlinops.lanczos_approximate_spectrum(ours, ncv=20)
    assert float(torch.trapezoid(density, grid)) == pytest.approx(1, abs=0.05)
    submatrix = curvlinops.SubmatrixLinearOperator(ours, [3, 1], [3, 1])
    torch.testing.assert_close(submatrix @ torch.eye(2).double(), matrix[[3, 1]][:, [3, 1]])


def refusals():
    squares, entropy = nn.MSELoss(), nn.CrossEntropyLoss()
    one = [(X, Y)]

    class Other(nn.MSELoss):
        def forward(self, outputs, targets):
            return (outputs - targets).abs().mean()

    class Same(nn.MSELoss):
        """Nothing is changed."""

    def fisher(loss, data, **options):
        return lambda: unwrap(cv.fisher)(problem(mlp, loss, data), **options)

    def kfac(model, loss, data, *options, **named):
        return lambda: unwrap(cv.kfac)(problem(model, loss, data), *options, **named)

    weights = torch.ones(3).double()
    ignored = torch.where(LABELS > 1, -100, LABELS)
    return {
        "a kind": (fisher(squares, one, kind="exact"), "kind: expected one of 'monte carlo', 'emp"),
        "samples": (fisher(squares, one, kind="empirical", samples=2), "samples: .* got 2 for 'em"),
        "no samples": (fisher(squares, one, samples=0), "samples: expected at least 1"),
        "half squares": (fisher(HalfSquaredError(), one), "fisher: .* got HalfSquaredError"),
        "another forward": (fisher(Other(), one), "fisher: .* got Other"),
        "class weights": (
            fisher(nn.CrossEntropyLoss(weights), [(X, LABELS)]),
            "heed weight of Cro",
        ),
        "smoothing": (
            kfac(mlp, SMOOTH, [(X, LABELS)], "monte carlo"),
            "kfac: .* label_smoothing of CrossEntropyL",
        ),
        "ignored": (fisher(entropy, [(X, LABELS), (X, ignored)]), "got -100 in batch 1"),
        "probabilities": (fisher(entropy, [(X, Y.softmax(1))]), "got probabilities in batch 0"),
        "sharing": (kfac(mlp, squares, one, sharing="none"), "sharing: expected 'expand' or 'red"),
        "a layer": (kfac(cases["layer norm"].make_model, squares, one), "kfac: '1.weight' belongs"),
        "shared": (kfac(Tied, squares, one), "'first.weight' is shared by layers"),
        "damping": (lambda: cv.inverse(torch.eye(2), damping=-1.0), "damping: .* got -1"),
        "tol": (lambda: cv.inverse(torch.eye(2), tol=0.0), r"expected a number in \(0, 1\)"),
        "method": (
            lambda: unwrap(cv.inverse)(torch.eye(2), "lu"),
            "method: expected one of 'cg', 'lsmr'",
        ),
        "no factors": (lambda: cv.inverse(torch.eye(2), "kronecker"), "what kfac and ekfac return"),
        "diagonal": (
            lambda: unwrap(cv.diagonal)(torch.eye(2), "best"),
            "method: expected 'xdiag', 'hutch",
        ),
        "repeats": (lambda: cv.diagonal(torch.eye(2), repeats=1), "repeats, probes: .* got 1 and"),
    }


@pytest.mark.parametrize("name", refusals())
def test_what_curvlinops_would_get_wrong_is_refused(name):
    compose, message = refusals()[name]
    with pytest.raises(ValueError, match=message):
        compose()


def test_batches_that_are_not_weighed_by_samples_are_refused():
    # Sequences of four and of two positions: the loss counts elements.
    x, y = normal(3, 4, 3), normal(3, 4, 3, seed=1)
    at = problem(mlp, nn.MSELoss(), [(x, y), (x[:, :2], y[:, :2])])
    with pytest.raises(ValueError, match=r"kfac: .* the loss by 0.667 instead of 3 / 6"):
        cv.kfac(at)
    assert cv.fisher(at, "empirical").shape == (31, 31)


@pytest.mark.parametrize(
    "wrapped",
    [
        cv.fisher,
        cv.kfac,
        cv.jacobian,
        lambda at: cv.ggn(at, backend="curvlinops", check=False),
    ],
)
def test_losses_of_model_and_batch_are_not_for_curvlinops(wrapped):
    def mean(model, batch):
        outputs = model(batch)
        return outputs.square().mean(), outputs

    with pytest.raises(ValueError, match=r": curvlinops takes a loss of outputs and targets, no"):
        wrapped(cv.Problem(built(mlp), loss_fn=mean, data=[X]))


def test_the_hessian_of_a_loss_of_model_and_batch_is_for_curvlinops():
    def errors(model, batch):
        return (model(batch["x"]) - batch["y"]).square().mean()

    whole = cv.Problem(built(mlp), nn.MSELoss(), cut(X, Y, 2, 5))
    batches = [{"x": x, "y": y} for x, y in cut(X, Y, 2, 5)]
    at = cv.Problem(built(mlp), loss_fn=errors, data=batches, weights=lambda batch: len(batch["x"]))
    vectors = normal(31, 2)
    expected = cv.hessian(whole) @ vectors
    torch.testing.assert_close(cv.hessian(at, backend="curvlinops") @ vectors, expected)


def test_losses_without_a_reduction_are_not_for_curvlinops():
    at = cv.Problem(built(mlp), nn.functional.mse_loss, [(X, Y)])
    with pytest.raises(ValueError, match=r"with reduction 'mean' or 'sum', got mse_loss"):
        cv.hessian(at, backend="curvlinops", check=False)
    assert cv.jacobian(at).shape == (21, 31)


def test_what_curvlinops_refuses_is_one_line():
    at = problem(
        lambda: nn.Sequential(nn.Linear(3, 1), nn.Flatten(0)), nn.MSELoss(), [(X, X[:, 0])]
    )
    with pytest.raises(cv.OperatorError, match=r"kfac: curvlinops cannot take this network \("):
        cv.kfac(at)

"""What is wrong in print: each printed form fails by a measured amount, its correction holds.

The printed forms live here only. Errors are relative to the largest eigenvalue, or to the Hessian's
norm for eigenvectors.
"""

import math

import numpy as np
import pytest
import torch

from hessian_spectra import closed_form as cf

from .cases import LinearWithBias, MultiInput, MultiOutput, TwoLayerLinear, TwoLayerReLU
from .contract import Draws, vector

EXACT = 1e-12


def instances(form, count=50, **scales):
    """Random cases of a closed form with three hidden units or more, and their Hessians."""
    random = torch.Generator().manual_seed(2024)
    for _ in range(count):
        sizes = {
            letter: int(torch.randint(low + 2, high + 1, (), generator=random))
            for letter, (low, high) in form.sizes.items()
        }
        case = form.draw(Draws(random, sizes, **scales))
        yield case.arguments, case.hessian()


def moments(w, v, x, y):
    """``⟨w, v⟩``, ``σ²``, ``mean(yx)`` and ``δx`` as the papers define them."""
    inner, moment, covariance = w @ v, (x * x).mean(), (y * x).mean()
    return inner, moment, covariance, inner * moment - covariance


def worst(errors):
    return max(float(error) for error in errors)


def eigenvector_error(hessian, vector, value):
    size = torch.linalg.matrix_norm(hessian, 2) * vector.norm()
    return float((hessian @ vector - value * vector).norm() / size)


def spectrum_error(values, hessian):
    truth = torch.linalg.eigvalsh(hessian)
    return float((values.sort().values - truth).abs().max() / truth.abs().max())


# singh2024closed, singh2026cracking: the two-layer linear network


def test_poster_forgets_the_second_moment():
    def poster(w, v, x, y, factor):
        inner, moment, covariance, _ = moments(w, v, x, y)
        w2, v2 = w @ w, v @ v
        root = torch.sqrt(
            moment**2 * (w2 - v2) ** 2
            + 4 * moment**2 * (w2 * v2 - inner**2)
            + 4 * (2 * inner * (moment if factor else 1) - covariance) ** 2
        )
        return (moment * (w2 + v2) + root) / 2

    def errors(factor):
        for a, hessian in instances(TwoLayerLinear()):
            largest = torch.linalg.eigvalsh(hessian)[-1]
            yield abs(poster(**a, factor=factor) - largest) / largest

    assert worst(errors(factor=False)) > 0.5
    assert worst(errors(factor=True)) < EXACT


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ("singh2024closed eq. (12), (13)", lambda w, v: torch.outer(v, w)),
        ("singh2026cracking eq. (10), (11)", lambda w, v: torch.outer(v, v)),
    ],
)
def test_off_diagonal_block(source, printed):
    for a, hessian in instances(TwoLayerLinear()):
        m = len(a["w"])
        _, moment, _, dx = moments(**a)
        block, identity = hessian[:m, m:], torch.eye(m, dtype=torch.float64)
        size = block.abs().max()
        right = moment * torch.outer(a["w"], a["v"]) + dx * identity
        wrong = moment * printed(a["w"], a["v"]) + dx * identity
        assert float((block - right).abs().max()) < EXACT * size
        assert float((block - wrong).abs().max()) > 1e-3 * size


def test_characteristic_equation_30():
    def remainder(a, hessian, printed):
        inner, s, _, dx = moments(**a)
        w2, v2 = a["w"] @ a["w"], a["v"] @ a["v"]
        values = cf.two_layer_linear(**a).select("outlier")
        if printed:
            rest = dx**2 * v2 + dx**2 - s * dx**2 * v2
        else:
            rest = s * v2 * values**2 + dx**2 * values - s * dx**2 * v2
        terms = torch.stack(
            [s * w2 * values**2, s * dx**2 * v2 + 0 * values, 2 * s * dx * inner * values]
        )
        return (terms.sum(0) + rest - values**3).abs().max() / values.abs().max() ** 3

    pairs = list(instances(TwoLayerLinear()))
    assert worst(remainder(*pair, printed=False) for pair in pairs) < EXACT
    assert worst(remainder(*pair, printed=True) for pair in pairs) > 0.1


def test_square_root_of_a_difference_splits_a_double_root():
    form = TwoLayerLinear()
    printed = []
    for seed in range(20):
        w = form.draws(seed, m=20).normal("m")
        x = form.draws(seed + 100, n=10).normal("n")
        inner, moment, _, dx = moments(w, w, x, 2 * (w @ w) * x)
        trace = 2 * moment * (w @ w)
        radicand = trace**2 + 4 * (dx**2 + 2 * moment * dx * inner)
        printed.append(abs(radicand).sqrt() / trace)  # eq. (1); it may even be negative
        pair = cf.two_layer_linear(w, w, x, 2 * (w @ w) * x).select("outlier")
        assert float(pair[1] - pair[0]) < 1e-14 * float(trace)
    assert worst(printed) > 1e-9


def test_smallest_eigenvalue_is_minus_the_absolute_value():
    signs = set()
    for a, hessian in instances(TwoLayerLinear()):
        *_, dx = moments(**a)
        smallest = torch.linalg.eigvalsh(hessian)[0]
        size = torch.linalg.matrix_norm(hessian, 2)
        assert float((smallest + dx.abs()).abs()) < EXACT * size
        signs.add(bool(dx < 0))
        if dx < 0:
            assert float((smallest + dx).abs() / dx.abs()) == pytest.approx(2)
    assert signs == {True, False}
    # One hidden unit has no bulk.
    case = TwoLayerLinear().case(w=vector(1), v=vector(0), x=vector(1), y=vector(1))
    assert float(moments(**case.arguments)[-1]) == -1.0
    smallest = float(torch.linalg.eigvalsh(case.hessian())[0])
    assert smallest == pytest.approx((1 - 5**0.5) / 2)
    assert float(cf.two_layer_linear(**case.arguments).eigenvalues[0]) == pytest.approx(smallest)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_theorem_3_2_gives_zero_for_parallel_layers(sign):
    form = TwoLayerLinear()
    a = form.example(m=3, n=4).arguments
    case = form.case(**{**a, "v": sign * a["w"]})
    *_, dx = moments(**case.arguments)
    w, v, hessian = case.arguments["w"], case.arguments["v"], case.hessian()
    value = -sign * dx  # one of the two outliers
    assert float((torch.cat([value * w + dx * v, dx * w + value * v])).norm()) == 0.0
    instead = torch.cat([w, -sign * w])
    assert eigenvector_error(hessian, instead, value) < EXACT
    outliers = cf.two_layer_linear(**case.arguments).select("outlier")
    assert float((outliers - value).abs().min()) < EXACT


def test_outlier_vectors_are_orthogonal_but_not_normalised():
    norms, cosines, spans = [], [], []
    for a, _ in instances(TwoLayerLinear()):
        w, v = a["w"], a["v"]
        *_, dx = moments(**a)
        z = [
            torch.cat([value * w + dx * v, dx * w + value * v])
            for value in cf.two_layer_linear(**a).select("outlier")
        ]
        norms += [float(vector.norm()) for vector in z]
        cosines.append(abs(float(z[0] @ z[1] / (z[0].norm() * z[1].norm()))))
        spans.append(abs(float(2 * w @ v / (w @ w + v @ v))))
    assert max(cosines) < 1e-9
    assert min(norms) < 0.5
    assert max(norms) > 5
    assert max(spans) > 0.3  # nor are (v, w) and (w, v) orthogonal


def test_sign_in_theorem_3_3():
    printed = []
    for a, hessian in instances(TwoLayerLinear()):
        *_, dx = moments(**a)
        w, v = a["w"], a["v"]
        for value in (dx, -dx):
            for sign, errors in ((torch.sign(value), printed), (torch.sign(value / dx), None)):
                direction = w + sign * v
                c = torch.ones_like(w)
                half = c - direction * (direction @ c) / (direction @ direction)
                error = eigenvector_error(hessian, torch.cat([half, sign * half]), value)
                if errors is None:
                    assert error < EXACT
                elif dx < 0:
                    errors.append(error)
    assert min(printed) > 1e-3
    assert max(printed) > 0.7


def test_learning_phases_for_negative_solutions():
    def printed(inner, solution):
        if inner <= solution / 3:
            return "early"
        return "late" if inner <= solution else "divergent"

    wrong = {True: 0, False: 0}
    for a, _ in instances(TwoLayerLinear(), count=200):
        inner, moment, covariance, _ = moments(**a)
        values = cf.two_layer_linear(**a).select("outlier")
        trace = moment * (a["w"] @ a["w"] + a["v"] @ a["v"])
        late = bool(values[0] >= 0)
        assert late == bool(values[1] <= trace)
        assert late == (cf.learning_phase(inner, moment, covariance) == "late")
        wrong[bool(covariance < 0)] += late != (printed(inner, covariance / moment) == "late")
    assert wrong[False] == 0
    assert wrong[True] > 5


def test_eigenvalues_are_not_proportional_to_the_second_moment():
    def largest(scale_x, scale_y):
        x, y = vector(scale_x), vector(2 * scale_y)
        return float(cf.two_layer_linear([1.0], [1.0], x, y).eigenvalues[-1])

    assert largest(1, 1) == pytest.approx(1)
    assert largest(3, 1) / 9 == pytest.approx(7 / 3)
    assert largest(3, 3) / 9 == pytest.approx(1)  # it is so if the targets scale along


# The ReLU network


@pytest.mark.parametrize("cell", ["+", "-"])
def test_relu_eigenvectors_need_the_share_of_the_cell(cell):
    printed = {"outlier": [], "bulk": []}
    for a, hessian in instances(TwoLayerReLU(), count=100):
        w, v, x, y = (a[name] for name in "wvxy")
        units, samples = (v > 0, x > 0) if cell == "+" else (v < 0, x < 0)
        if int(units.sum()) < 2 or int(samples.sum()) == 0:
            continue
        share = samples.double().mean()
        w_cell, v_cell = w * units, v * units
        dx = ((w_cell @ v_cell) * x[samples] ** 2 - y[samples] * x[samples]).mean()
        for value in cf.two_layer_relu(**a).select("outlier", cell):
            for residual, errors in ((dx, printed["outlier"]), (share * dx, None)):
                z = [value * w_cell + residual * v_cell, residual * w_cell + value * v_cell]
                error = eigenvector_error(hessian, torch.cat(z), value)
                if errors is None:
                    assert error < 1e-9
                else:
                    errors.append(error)
        direction = w_cell + v_cell
        for c, errors in ((torch.ones_like(w), printed["bulk"]), (units.double(), None)):
            half = c - direction * (direction @ c) / (direction @ direction)
            error = eigenvector_error(hessian, torch.cat([half, half]), share * dx)
            if errors is None:
                assert error < EXACT
            elif not bool(units.all()):
                errors.append(error)
    assert max(printed["outlier"]) > 0.1
    assert max(printed["bulk"]) > 0.1


# The network with bias


@pytest.mark.parametrize(
    ("place", "size"),
    [("norm of b in (92)", 0.1), ("sign of (97)", 0.02), ("sign of (98)", 0.01), (None, 0)],
)
def test_sextic(place, size):
    errors = []
    for a, hessian in instances(LinearWithBias()):
        w, v, b, x, y = (a[name] for name in "wvbxy")
        coefficients = cf.bias_sextic(**a)
        residual = (w @ v) * x + w @ b - y
        dx, d = (x * residual).mean(), residual.mean()
        w2, v2, b2, vb, crossed = w @ w, v @ v, b @ b, v @ b, d * (w @ v) + dx * (w @ b)
        if place == "norm of b in (92)":
            coefficients[2] += (v2 + w2) * (b2.sqrt() - b2)
        elif place == "sign of (97)":
            coefficients[3] += 4 * vb * crossed
            coefficients[4] += 4 * vb * d * dx * w2
        elif place == "sign of (98)":
            coefficients[5] += 4 * crossed * d * dx * w2
        truth = torch.linalg.eigvalsh(hessian)
        scale = truth.abs().max()
        # The bulk and the zeros of the Hessian are no roots, the outliers are.
        roots = cf.linear_with_bias(**a).select("outlier") / scale
        powers = scale ** torch.arange(7)
        errors.append(np.abs(np.polyval((coefficients / powers).numpy(), roots.numpy())).max())
    if place is None:
        assert max(errors) < EXACT
    else:
        assert max(errors) > size


@pytest.mark.parametrize(
    "broken", ["orthogonal v and b", "equal norms", "unit second moment", "zero mean", None]
)
def test_theorem_b_1_needs_its_assumptions(broken):
    form = LinearWithBias()
    a = dict(form.printed().arguments)
    if broken == "orthogonal v and b":
        a["b"] = 0.8 * a["b"] + 0.6 * a["v"]
    elif broken == "equal norms":
        a["b"] = 1.5 * a["b"]
    elif broken == "unit second moment":
        a["x"] = 1.5 * a["x"]
    elif broken == "zero mean":
        a["x"] = torch.sqrt(torch.tensor(0.75).double()) * a["x"] + 0.5
    w, v, b, x, y = (a[name] for name in "wvbxy")
    residual = (w @ v) * x + w @ b - y
    rho = torch.hypot((x * residual).mean(), residual.mean())
    pair, triple = printed_bias_outliers(w @ w, v @ v, rho)
    m = len(w)
    values = torch.cat([pair, triple, rho.repeat(m - 2), -rho.repeat(m - 2), 0 * w[1:]])
    error = spectrum_error(values, form.case(**a).hessian())
    if broken is None:
        assert error < EXACT
        assert (
            float((values.sort().values - cf.linear_with_bias(**a).eigenvalues).abs().max()) < 1e-11
        )
    else:
        assert error > 0.02
        exact = cf.linear_with_bias(**a, check=False).eigenvalues
        assert spectrum_error(exact, form.case(**a).hessian()) < EXACT


def printed_bias_outliers(w2, v2, rho):
    """Eq. (68) and (107) to (110); the targets' mean and covariance with x vanish."""
    total = v2 + w2
    radius = torch.sqrt(total**2 + 12 * rho**2)
    pair = torch.stack([total + radius, total - radius]) / 2
    p = -(rho**2) - total**2 / 3
    q = -2 * total**3 / 27 - v2 * rho**2 / 3 + 2 * w2 * rho**2 / 3
    angle = torch.arccos((3 * q / (2 * p) * torch.sqrt(-3 / p)).clamp(-1, 1)) / 3
    steps = torch.arange(3).double() * (2 * math.pi / 3)
    return pair, 2 * torch.sqrt(-p / 3) * torch.cos(angle - steps) + total / 3


def test_theorem_b_1_holds_for_targets_along_the_output():
    # mean(yx) = mean(y) = 0 is more than needed: (δx, δ) parallel to (⟨w, v⟩, ⟨w, b⟩) suffices.
    form = LinearWithBias()
    a = dict(form.printed().arguments)
    w, v, b, x = (a[name] for name in "wvbx")
    a["y"] = a["y"] + 2.5 * ((w @ v) * x + w @ b)
    spectrum = cf.linear_with_bias(**a)
    alignment = torch.hypot(w @ v, w @ b)
    expected = cf.pair_and_triple(w @ w, v @ v, alignment, -1.5 * alignment)
    for name in ("pair", "triple"):
        found = spectrum.select("outlier", name).flip(0)
        assert float((found - getattr(expected, name)).abs().max()) < 1e-11
    printed, _ = printed_bias_outliers(w @ w, v @ v, 1.5 * alignment)
    assert float((printed - expected.pair).abs().max()) > 0.1


def test_bias_hessian_82_has_transposed_blocks():
    a = LinearWithBias().example(m=3, n=5).arguments
    w, v, b = a["w"], a["v"], a["b"]
    hessian = LinearWithBias().case(**a).hessian()
    residual = (w @ v) * a["x"] + w @ b - a["y"]
    identity = torch.eye(3, dtype=torch.float64)
    for layer, row, mean in ((v, 3, (a["x"] * residual).mean()), (b, 6, residual.mean())):
        block = hessian[row : row + 3, :3]
        assert float((block - mean * identity - torch.outer(w, layer)).abs().max()) < EXACT
        assert float((block - mean * identity - torch.outer(layer, w)).abs().max()) > 0.1


# Several inputs and outputs


def test_corollary_b_1_needs_decorrelated_inputs():
    form = MultiInput()
    errors = []
    for a, hessian in instances(form):
        w, v, x, y = (a[name] for name in "wvxy")
        residual = x @ (w * v).sum(-1) - y
        values = []
        for d in range(len(w)):
            dx, moment = (x[:, d] * residual).mean(), (x[:, d] ** 2).mean()
            pair = cf.outlier_pair(w[d] @ w[d], v[d] @ v[d], w[d] @ v[d], moment, dx)
            values += [pair, dx.repeat(len(w[d]) - 1), -dx.repeat(len(w[d]) - 1)]
        errors.append(spectrum_error(torch.cat(values), hessian))
        assert spectrum_error(cf.multi_input(**a).eigenvalues, hessian) < EXACT
    assert max(errors) > 0.2


def test_head_hessian_116_has_its_labels_exchanged():
    a = MultiOutput().example(m=3, n=5, K=2).arguments
    hessian, moment = MultiOutput().case(**a).hessian(), (a["x"] ** 2).mean()
    w, v = a["w"][1], a["v"][1]
    # Rows and columns 6:9 belong to v_2 and carry w_2.
    assert float((hessian[6:9, 6:9] - moment * torch.outer(w, w)).abs().max()) < EXACT
    assert float((hessian[6:9, 6:9] - moment * torch.outer(v, v)).abs().max()) > 0.1
    assert float(hessian[:6, 6:].abs().max()) < EXACT

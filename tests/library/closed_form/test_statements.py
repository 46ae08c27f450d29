"""The papers' further statements: pairs of outliers, subspaces, phases, bounds, and labels."""

import pytest
import torch
from torch.testing import assert_close

from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form.instances import FAMILIES, numbers

from .contract import DRAW, FORMS

EXACT = 1e-12
LINEAR = FAMILIES["linear"].drawn(DRAW)
A = FORMS["linear"].arguments


def moments(w, v, x, y):
    inner, moment = w @ v, (x * x).mean()
    return inner, moment, inner * moment - (y * x).mean()


def test_outlier_pair_from_five_numbers():
    for name, net in LINEAR.items():
        if name != "equal outliers":  # where it loses half of the digits
            inner, moment, dx = moments(net.w, net.v, net.x, net.y)
            pair = cf.outlier_pair(net.w @ net.w, net.v @ net.v, inner, moment, dx)
            expected = net.spectrum.select("outlier").flip(0)
            size = float(expected.abs().max())
            assert_close(pair, expected, rtol=0, atol=EXACT * size)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_gradient_descent_stays_in_its_plane(momentum, decay):
    w, v, m = A["w"], A["v"], len(A["w"])
    start = cf.gradient_descent_subspace(w, v)
    velocity, rate = torch.zeros(2 * m).double(), 0.02 / float(A["x"].square().mean())
    for _ in range(50):
        *_, dx = moments(w, v, A["x"], A["y"])
        theta = torch.cat([v, w])
        velocity = momentum * velocity - rate * (dx * torch.cat([w, v]) + decay * theta)
        v, w = (theta + velocity).split(m)
        size = float(theta.norm())
        assert float((start.bulk.T @ torch.cat([v, w])).abs().max()) < 1e-13 * size
        now = cf.gradient_descent_subspace(w, v)
        overlap = torch.linalg.svdvals(start.bulk.T @ now.bulk)
        assert float((overlap - 1).abs().max()) < 1e-12
    first = torch.cat([A["v"], A["w"]])
    assert float((torch.cat([v, w]) - first).norm()) > 0.1 * float(first.norm())


def test_subspace_of_degenerate_weights():
    large = numbers(1e200, 0.0, 1e180), numbers(-1e200, 1e190, 0.0)
    for w, v in ((net.w, net.v) for net in LINEAR.values()):
        require_subspace(w, v)
    require_subspace(*large)


def require_subspace(w, v):
    m = len(w)
    parts = cf.gradient_descent_subspace(w, v)
    basis = torch.cat(parts, dim=1)
    assert parts.outlier.shape == (2 * m, 2)
    assert float((basis.T @ basis - torch.eye(2 * m, dtype=torch.float64)).abs().max()) < EXACT
    theta = torch.cat([v, w])
    assert float((parts.bulk.T @ theta).abs().sum()) <= EXACT * float(theta.abs().max())


def test_phases_tell_the_signs_of_the_outliers():
    seen = set()
    for name, net in LINEAR.items():
        if "0" in name or "residual" in name or "outliers" in name:
            continue  # at the ends, where the signs are those of rounding
        for sign in (1.0, -1.0):
            a = {**net.arguments, "y": sign * net.y}
            inner, moment, dx = moments(**a)
            phase = cf.learning_phase(inner, moment, inner * moment - dx)
            smallest, largest = cf.two_layer_linear(**a).select("outlier")
            trace = moment * (net.w @ net.w + net.v @ net.v)
            assert bool(smallest >= 0) == (phase == "late")
            assert bool(largest <= trace) == (phase == "late")
            seen.add(phase)
    assert seen == {"early", "late", "divergent"}


def test_phases_at_their_ends():
    assert cf.learning_phase(1.0, 1.0, 3.0) == "late"
    assert cf.learning_phase(3.0, 1.0, 3.0) == "late"
    assert cf.learning_phase(-1.0, 1.0, -3.0) == "late"
    assert cf.learning_phase(-4.0, 1.0, -3.0) == "divergent"
    assert cf.learning_phase(4.0, 1.0, -3.0) == "early"
    assert cf.learning_phase(0.0, 1.0, 0.0) == "late"
    assert cf.learning_phase(-0.1, 1.0, 0.0) == "divergent"
    with pytest.raises(ValueError, match=r"second_moment: expected a positive number, got 0\.0"):
        cf.learning_phase(1.0, 0.0, 0.0)


def test_bound_on_the_smallest_eigenvalue():
    for net in LINEAR.values():
        size = EXACT * float(net.spectrum.eigenvalues.abs().max())
        bound = float(cf.smallest_eigenvalue_bound(**net.arguments))
        assert float(net.spectrum.eigenvalues[0]) >= bound - size
    # It is reached: the residual is proportional to x, and there is a bulk.
    arguments = [1.0, 0.0], [0.0, 1.0], [1.0, 2.0], [3.0, 6.0]
    assert float(cf.smallest_eigenvalue_bound(*arguments)) == pytest.approx(-7.5)
    assert float(cf.two_layer_linear(*arguments).eigenvalues[0]) == pytest.approx(-7.5)


def test_eigenvectors_vanish_outside_of_their_cell_or_head():
    relu, heads = FORMS["relu"], FORMS["multi_output"]
    for column, label in enumerate(relu.spectrum.labels):
        outside = relu.v < 0 if label.endswith("+") else relu.v > 0
        part = relu.spectrum.eigenvectors()[torch.cat([outside, outside]), column]
        assert float(part.abs().sum()) == 0.0
    for column, label in enumerate(heads.spectrum.labels):
        vector = heads.spectrum.eigenvectors()[:, column].reshape(len(heads.w), -1)
        others = [head for head in range(len(heads.w)) if head != int(label[-1])]
        assert float(vector[others].abs().sum()) == 0.0


def test_outliers_are_named_where_a_theorem_tells_them_apart():
    single, several = (FAMILIES[name].drawn(DRAW) for name in ("multi_input", "correlated_input"))
    net = single["zero residual"]
    for d in range(3):
        x, w, v = net.x[:, d], net.w[d], net.v[d]
        pair = cf.outlier_pair(w @ w, v @ v, *moments(w, v, x, net.y))
        size = EXACT * float(net.spectrum.eigenvalues[-1])
        named = net.spectrum.select("outlier", str(d))
        assert_close(named, pair.flip(0), rtol=0, atol=size)
    net = several["zero residual"]
    assert len(net.spectrum.select("outlier", "")) == 6
    bulk = {label for label in net.spectrum.labels if "bulk" in label}
    assert bulk == {"bulk 0", "bulk 1", "bulk 2"}


def test_pair_and_triple_hold_for_targets_along_the_output():
    # mean(yx) = mean(y) = 0 is more than needed: (δx, δ) parallel to (⟨w, v⟩, ⟨w, b⟩) suffices.
    for family in ("bias", "parallel"):
        net = FAMILIES[family].drawn(DRAW)["w parallel to v"]
        alignment = torch.hypot(net.w @ net.v, net.w @ net.b)
        rho = net.rho[0] if family == "parallel" else alignment
        parts = cf.pair_and_triple(net.w @ net.w, net.v @ net.v, alignment, rho)
        size = 1e-11 * float(net.spectrum.eigenvalues[-1])
        for name in ("pair", "triple"):
            named = net.spectrum.select("outlier", name).flip(0)
            assert_close(named, getattr(parts, name), rtol=0, atol=size)


def test_sextic_has_the_outliers_and_zero_as_roots():
    a = FORMS["sextic"].arguments
    outliers = cf.linear_with_bias(**a).select("outlier")
    values = torch.cat([outliers, torch.zeros(1)])[:, None] ** torch.arange(6, -1, -1)
    terms = values * cf.bias_sextic(**a)
    assert float((terms.sum(1).abs() / terms.abs().amax(1).clamp_min(1e-300)).max()) < 1e-9
    with pytest.raises(cf.AssumptionError, match=r"mean\(x²\) = 1"):
        cf.bias_sextic(**{**a, "x": 2 * a["x"]})
    assert len(cf.bias_sextic(**{**a, "x": 2 * a["x"]}, check=False)) == 7

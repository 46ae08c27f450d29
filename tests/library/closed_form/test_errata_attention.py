"""What is wrong in print about self-attention and general inputs, and the forms that hold."""

import math

import pytest
import torch

from hessian_spectra import closed_form as cf

from .attention_cases import SelfAttention
from .cases import OrthogonalFirstLayer
from .contract import Draws, vector

EXACT = 1e-12


def instances(count=300, **scales):
    """Random layers with their coefficients and true outliers, largest first."""
    random = torch.Generator().manual_seed(2026)
    form = SelfAttention()
    for index in range(count):
        sizes = {
            letter: int(torch.randint(2, high + 1, (), generator=random))
            for letter, (_, high) in form.sizes.items()
        }
        a = form.draw(Draws(random, sizes, **scales)).arguments
        if index % 2:
            # Where the bulk is the largest eigenvalue, query and key are nearly parallel.
            a["w_key"] = a["w_query"]
        outliers = cf.self_attention(**a).select("outlier").flip(0)
        yield a, cf.attention_coefficients(**a), outliers


def numbers(a, coefficients):
    """``N``, ``k``, ``T``, ``a_1`` and ``a_0`` of the cubic."""
    alpha, beta, gamma, zeta = coefficients
    query, key = a["w_query"], a["w_key"]
    size, inner = query @ query + key @ key, query @ key
    trace = alpha + zeta * size
    a_1 = (beta**2 - alpha * zeta) * size + 2 * gamma * zeta * inner + gamma**2
    a_0 = 2 * gamma * (beta**2 - alpha * zeta) * inner - alpha * gamma**2
    return size, inner, trace, a_1, a_0


def printed_xi_squared(a, coefficients):
    """``(3ξ/2)²`` with the norms in its last term as in print, not squared."""
    alpha, _, _, zeta = coefficients
    _, _, _, a_1, _ = numbers(a, coefficients)
    norms = a["w_key"].norm() + a["w_query"].norm()
    return 3 * a_1 + (zeta * norms + alpha) ** 2


def test_xi_needs_squared_norms():
    outside = imaginary = 0
    for a, c, outliers in instances():
        lower, upper = cf.attention_outlier_bounds(c, a["w_query"], a["w_key"])
        room = EXACT * outliers.abs().max()
        assert bool((outliers <= upper + room).all())
        assert bool((outliers >= lower - room).all())
        _, _, trace, a_1, _ = numbers(a, c)
        xi = (2 / 3) * torch.sqrt((3 * a_1 + trace**2).clamp(min=0))
        assert float((upper - trace / 3 - xi).abs()) <= 1e-7 * float(outliers.abs().max())
        squared = printed_xi_squared(a, c)
        if squared < 0:
            imaginary += 1
        elif bool(((outliers - trace / 3).abs() > (2 / 3) * squared.sqrt() + room).any()):
            outside += 1
    assert outside > 30
    assert imaginary > 0


def test_q_needs_brackets():
    printed = []
    for a, c, outliers in instances(100):
        size, inner, trace, a_1, a_0 = numbers(a, c)
        alpha, beta, gamma, zeta = c
        cubic = cf.attention_cubic(c, a["w_query"], a["w_key"])
        scale = outliers.abs().max()
        assert float((cubic.p + a_1 + trace**2 / 3).abs()) < EXACT * float(scale**2)
        right = -(2 * trace**3 + 9 * trace * a_1 + 27 * a_0) / 27
        assert float((cubic.q - right).abs()) < EXACT * float(scale**3)
        # In print 9 T multiplies the first term of a_1 alone.
        first = (beta**2 - alpha * zeta) * size
        rest = 2 * gamma * zeta * inner + gamma**2
        wrong = -(2 * trace**3 + 9 * trace * first + rest + 27 * a_0) / 27
        printed.append(float((cubic.q - wrong).abs() / scale**3))
        assert float((cubic.roots() - outliers).abs().max()) < 1e-6 * float(scale)
    assert max(printed) > 0.05


def test_labels_of_the_first_displayed_hessian():
    form = SelfAttention()
    case = form.example(d=3, b=2, l=3)
    c, hessian = cf.attention_coefficients(**case.arguments), case.hessian()
    query, key = case.arguments["w_query"], case.arguments["w_key"]
    size = float(hessian.abs().max())
    right, wrong = c.zeta * torch.outer(key, key), c.zeta * torch.outer(query, query)
    # Parameters 1 to 3 are the query's; the display labels these columns with the key.
    assert float((hessian[1:4, 1:4] - right).abs().max()) < EXACT * size
    assert float((hessian[1:4, 1:4] - wrong).abs().max()) > 0.01 * size
    assert float((hessian[0, 1:4] - c.beta * key).abs().max()) < EXACT * size
    cross = c.zeta * torch.outer(key, query) + c.gamma * torch.eye(3, dtype=torch.float64)
    assert float((hessian[1:4, 4:] - cross).abs().max()) < EXACT * size


def test_remark_b_4_is_about_the_largest_outlier():
    violations = 0
    for a, c, outliers in instances(targets=30.0, weights=2.0):
        query, key = a["w_query"], a["w_key"]
        largest = cf.self_attention(**a).eigenvalues[-1]
        room = EXACT * largest
        lower, upper = cf.attention_largest_eigenvalue_bounds(c, query, key)
        assert bool(lower - room <= largest)
        assert bool(largest <= upper + room)
        assert float((largest - torch.maximum(outliers[0], c.gamma.abs())).abs()) <= float(room)
        _, printed = cf.attention_outlier_bounds(c, query, key)
        assert bool(outliers[0] <= printed + room)
        if largest > printed * (1 + EXACT) + room:
            violations += 1
            assert float(c.zeta) < 0
        if c.zeta >= 0:
            assert bool(outliers[0] >= c.gamma.abs() - room)
    assert violations > 0


def test_remark_b_4_counterexample():
    case = SelfAttention().edges()["negative zeta"]
    c = cf.attention_coefficients(**case.arguments)
    query, key = case.arguments["w_query"], case.arguments["w_key"]
    _, printed = cf.attention_outlier_bounds(c, query, key)
    largest = float(cf.self_attention(**case.arguments).eigenvalues[-1])
    assert float(printed) == pytest.approx(3.31, abs=0.01)
    assert largest == pytest.approx(361.9, abs=0.1)
    _, upper = cf.attention_largest_eigenvalue_bounds(c, query, key)
    assert float(upper) == pytest.approx(largest, rel=EXACT)


def test_remark_3_1_and_its_stronger_form():
    stronger = 0
    for a, c, _ in instances(targets=3.0):
        query, key = a["w_query"], a["w_key"]
        values = cf.self_attention(**a).eigenvalues.abs()
        condition = float(values.max() / values.min())
        bound = float(cf.condition_number_bound(c, query, key))
        weaker = float(cf.condition_number_bound(c, query, key, signed_trace=True))
        assert condition >= bound * (1 - 1e-9)
        assert bound >= weaker
        stronger += bound > weaker
    assert stronger > 0


def test_remark_3_1_fails_with_the_printed_xi():
    weights = vector(-0.2478, 0.3088)
    a = {
        "w_value": torch.tensor(-0.9454).double(),
        "w_query": weights,
        "w_key": weights,
        "x": vector(-0.6745, 2.567)[None],
        "y": vector(-0.5613, -2.0408)[None],
    }
    c = cf.attention_coefficients(**a)
    values = torch.linalg.eigvalsh(SelfAttention().case(**a).hessian()).abs()
    condition = float(values.max() / values.min())
    _, _, trace, _, _ = numbers(a, c)
    xi = (2 / 3) * printed_xi_squared(a, c).sqrt()
    printed = float((2 * trace + 3 * xi) / (6 * c.gamma.abs()))
    assert printed / condition == pytest.approx(1.537, abs=0.002)
    assert float(cf.condition_number_bound(c, weights, weights)) < condition


def test_condition_number_bound_needs_a_bulk():
    c = cf.AttentionCoefficients(*torch.tensor([1.0, 0.0, 0.5, 0.0]))
    with pytest.raises(ValueError, match="at least 2 entries"):
        cf.condition_number_bound(c, [1.0], [1.0])
    without = c._replace(gamma=torch.tensor(0.0))
    assert math.isinf(cf.condition_number_bound(without, [1.0, 0.0], [1.0, 0.0]))


def test_bound_grows_with_the_norms_only_for_positive_zeta():
    falling = {True: 0, False: 0}
    seen = {True: 0, False: 0}
    for a, c, _ in instances(targets=10.0):
        query, key = a["w_query"], a["w_key"]
        # The query grows orthogonally to the key, so that ⟨w_K, w_Q⟩ is the same.
        off = key.roll(1)
        off = 0.1 * (off - key * (off @ key) / (key @ key))
        grown = query + off if query @ off >= 0 else query - off
        bounds = [
            cf.condition_number_bound(c, longer, key, signed_trace=True)
            for longer in (query, grown)
        ]
        positive = bool(c.zeta > 0)
        seen[positive] += 1
        falling[positive] += bool(bounds[1] < bounds[0] * (1 - EXACT))
    assert min(seen.values()) > 20
    assert falling[True] == 0
    assert falling[False] > 5


def test_remark_b_3():
    for a, c, _ in instances(50):
        c = c._replace(gamma=torch.zeros_like(c.gamma))
        query, key = a["w_query"], a["w_key"]
        values = cf.attention_spectrum(c, query, key)
        pair = cf.attention_outliers_without_bulk(c, query, key)
        expected = torch.cat([pair, torch.zeros(2 * len(query) - 1).double()]).sort().values
        size = float(pair.abs().max())
        assert float((values.eigenvalues - expected).abs().max()) < EXACT * size
        total, norms = c.alpha + c.zeta * (query @ query + key @ key), query @ query + key @ key
        root = torch.sqrt(total**2 + 4 * (c.beta**2 - c.alpha * c.zeta) * norms)
        printed = torch.stack([total + root, total - root]) / 2
        assert float((pair - printed).abs().max()) < 1e-6 * size


def test_remark_b_2_query_key_block():
    case = SelfAttention().example(d=4, b=2, l=3)
    block = torch.linalg.eigvalsh(case.hessian()[1:, 1:])
    gamma = cf.attention_coefficients(**case.arguments).gamma
    for value in (gamma, -gamma):
        repeated = (block - value).abs() < 1e-12 * block.abs().max()
        assert int(repeated.sum()) >= 3


def test_viete_loses_half_of_the_digits_where_roots_meet():
    # γ + ζ P² and α coincide: a double root at 1.
    c = cf.AttentionCoefficients(*vector(1, 0, 0.5, 0.25))
    query = key = vector(1, 0)
    exact = cf.attention_spectrum(c, query, key).select("outlier").flip(0)
    assert exact.tolist() == pytest.approx([1.0, 1.0, -0.5], abs=1e-15)
    roots = cf.attention_cubic(c, query, key).roots()
    assert float((roots - exact).abs().max()) < 1e-7


@pytest.mark.parametrize("inputs", [1, 2, 3, 4])
def test_pair_sums_to_the_trace_by_inputs(inputs):
    # The conjecture of both papers, here a theorem; the triples have the mean tr(H)/(3D).
    form = OrthogonalFirstLayer()
    for seed in range(10):
        case = form.example(seed, m=6, n=8, D=inputs)
        share = torch.trace(case.hessian()) / inputs
        spectrum = cf.orthogonal_first_layer(**case.arguments)
        assert float((spectrum.select("outlier", "pair").sum() - share).abs()) < EXACT * share
        if inputs > 1:
            mean = spectrum.select("outlier", "triple").mean()
            assert float((mean - share / 3).abs()) < EXACT * share


def test_pair_does_not_sum_to_the_trace_by_inputs_without_the_assumptions():
    form = OrthogonalFirstLayer()
    gaps = []
    for seed in range(10):
        draws = form.draws(seed, m=6, n=8, D=3)
        case = form.case(
            draws.normal("m"), draws.normal("mD"), draws.normal("nD"), draws.normal("n")
        )
        values = torch.linalg.eigvalsh(case.hessian())
        exact = cf.orthogonal_first_layer(**case.arguments, check=False).eigenvalues
        assert float((exact - values).abs().max()) < EXACT * float(values.abs().max())
        sums = values[:, None] + values
        pairs = sums[*torch.triu_indices(len(values), len(values), 1)]
        gaps.append(float((pairs - values.sum() / 3).abs().min() / values.abs().max()))
    assert min(gaps) > 1e-6

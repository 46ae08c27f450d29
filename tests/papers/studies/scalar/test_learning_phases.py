"""The phases of learning: networks in all of them, and how they are read."""

import numpy as np
import pytest
import torch
from learning_phases_sides import both, config, sample

from hessian_papers.labelled import joined
from hessian_papers.ledger.bounds import NothingToMeasure, estimate_of
from hessian_papers.studies.scalar.learning_phases import heads, study
from hessian_papers.studies.scalar.learning_phases.claims import (
    contradict,
    heads_in_order,
    pair,
    printed_phases,
    retarded_head,
    select_signs,
)
from hessian_papers.studies.scalar.outliers import course
from hessian_papers.studies.spectra import ranks
from hessian_papers.training.descent import gradient_descent
from hessian_spectra import closed_form as cf
from hessian_spectra.models import HalfSquaredError, MultiOutputLinear


def data_of(**changes):
    return joined([*both(**changes).values()])


@pytest.fixture(scope="module")
def data():
    return data_of()


def test_instances_have_the_solutions_and_ratios_asked_for():
    drawn = study.instances(config(), sample())
    moments = (drawn.x.square().mean(), (drawn.y * drawn.x).mean(dim=1))
    np.testing.assert_allclose(moments[1] / moments[0], drawn.solution, atol=1e-14)
    assert (drawn.solution[:30] >= 0.5).all()
    assert (drawn.solution[30:60] <= -0.5).all()
    assert (drawn.solution[60:] == 0).all()
    ratio = ((drawn.v * drawn.w).sum(dim=1) / drawn.solution)[:60]
    assert ratio.min() >= -0.5 - 1e-12
    assert ratio.max() <= 1.75 + 1e-12


@pytest.mark.parametrize("sign", [1, -1])
def test_all_phases_occur_for_both_signs(data, sign):
    phases = select_signs(data, sign)["phase"].values.tolist()
    assert len(phases) == 30
    assert {*phases} == {"early", "late", "divergent"}


def test_the_outliers_are_the_theorems_pair(data):
    # The bulk is ±|δx|, three times each: λ_2 is the fourth of eight, λ_1 the last.
    np.testing.assert_array_equal(ranks(data, "outlier"), np.tile([4, 8], (66, 1)))
    for outlier, place in zip(pair(data), (7, 3), strict=True):
        np.testing.assert_array_equal(outlier, data["numerical"].isel(rank=place))


def test_the_printed_phases_fail_exactly_where_the_solution_is_negative_and_t_is_late(data):
    late = (data["phase"] == "late") & (data["solution"] < 0)
    assert late.any()
    np.testing.assert_array_equal(contradict(data, *printed_phases(data)), late)


def test_a_sign_that_no_network_has_is_named():
    data = data_of(without_signal=0, instances=2)
    assert data.sizes["network"] == 4
    with pytest.raises(NothingToMeasure, match=r"no network whose \$θ\^\*\$ has sign 0"):
        select_signs(data, 0)


def test_the_coordinate_that_leads_is_that_of_the_whole_hessian():
    """Against the closed form of the network of several decorrelated inputs."""
    settings = config(variance_ratios=[0.01, 1.5, 100.0], head_draws=5)
    actual = study.coordinates(settings)["leads"]
    assert not actual[0].any()
    assert actual[2].all()
    solutions, normal = study._parts(settings, "coordinates")
    x = torch.linalg.qr(torch.randn(8, 3, dtype=torch.float64)).Q * 8**0.5
    x[:, 0] *= 1.5**0.5
    for draw, (targets, weights) in enumerate(zip(solutions, normal / 2, strict=True)):
        v, w = torch.from_numpy(weights).unbind(dim=1)
        spectrum = cf.multi_input(w, v, x, x @ torch.from_numpy(targets))
        vectors = spectrum.eigenvectors()[:, spectrum.eigenvalues.argmax()]
        share = vectors.reshape(3, -1).square().sum(dim=1)
        assert bool(actual[1, draw]) == (int(share.argmax()) == 0)


def test_heads_are_trained_as_a_network_of_several_outputs():
    """Against gradient descent on the whole network, by automatic differentiation."""
    draw = np.random.default_rng(0)
    weights, x = draw.normal(scale=0.3, size=(1, 2, 2, 3)), torch.tensor([1.0, -0.5]).double()
    y = torch.tensor([[1.0, -2.0], [-0.5, 1.0]]).double()
    square = float((x * x).mean())
    moment = (y * x[:, None]).mean(dim=0).numpy()[None]
    actual = heads.learning(course(weights, square, moment, rate=0.2, steps=60), moment)
    v, w = (torch.from_numpy(weights[0, :, place]) for place in (0, 1))
    trajectory = gradient_descent(
        MultiOutputLinear(v, w), HalfSquaredError("sample"), x, y, learning_rate=0.2, steps=60
    )
    rows = [trajectory.parameters[f"rows.{place}"].numpy() for place in range(4)]
    learned = []
    for head in range(2):
        v, w = rows[2 * head], rows[2 * head + 1]
        residual = square * (v * w).sum(axis=1) - moment[0, head]
        learned.append(np.flatnonzero(np.abs(residual) > 0.01 * abs(moment[0, head])).max() + 1)
    assert actual["learned"].tolist() == [learned]
    first, last = min(learned), int(np.argmax(learned))
    v, w = (torch.from_numpy(rows[2 * last + place][first]) for place in (0, 1))
    small, large = cf.two_layer_linear(w, v, x, y[:, last]).select("outlier").tolist()
    assert actual["retarded"][0] == pytest.approx(small / large, rel=1e-9)


def test_what_is_settled_never_comes_back():
    bad = np.array([[True, False, True], [False, True, True], [False, False, True]])
    assert heads._settled(bad).tolist() == [1, 2, -1]


@pytest.mark.parametrize("statement", [heads_in_order, retarded_head])
def test_heads_that_never_learn_are_left_out(statement):
    with pytest.raises(NothingToMeasure, match="no network learns"):
        statement(data_of(head_steps=1), head_scale=0.01)


def test_the_order_of_heads_is_that_of_pairs(data):
    # One pair of three the wrong way round; a tie; a head that never learns.
    learned = [[[1, 2, 3], [4, 4, 5], [1, 2, -1]]]
    zero = [[[2, 1, 3], [7, 6, -1], [1, 2, 3]]]
    dims = data["learned"].dims
    planted = data.drop_dims("draw").assign(learned=(dims, learned), reached_zero=(dims, zero))
    shares = estimate_of(heads_in_order(planted, head_scale=0.01))
    assert shares.value == pytest.approx((2 / 3 + 1) / 2)

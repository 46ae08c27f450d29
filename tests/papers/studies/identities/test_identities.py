"""The study of the identities: its instances, edge cases among them, and brute force."""

import numpy as np
import pytest
import torch
from identities_arrays import both_sides, config, data, drawn

from hessian_papers.studies.identities.identities import study
from hessian_papers.studies.identities.identities.deep.theorems import ZERO_LOSS, end_to_end, layers
from hessian_papers.studies.identities.identities.reading import Reading
from hessian_spectra import closed_form as cf


@pytest.mark.parametrize("name", list(study.THEOREMS))
def test_brute_force_is_the_hessian_of_the_network(name):
    """A third derivation, by reverse over forward mode, of the first instances of each theorem."""
    found = Reading(both_sides()).instances(name)
    for instance, one in list(zip(drawn(name), found, strict=True))[:4]:
        flat = one.measured("hessian")
        setting = study.THEOREMS[name].setting(instance)
        names, values = zip(*setting.model.named_parameters(), strict=True)
        shapes = [value.shape for value in values]

        def loss(theta, setting=setting, names=names, shapes=shapes):
            pieces = theta.split([shape.numel() for shape in shapes])
            weights = {
                key: piece.view(shape)
                for key, piece, shape in zip(names, pieces, shapes, strict=True)
            }
            outputs = torch.func.functional_call(setting.model, weights, (setting.inputs,))
            return setting.loss(outputs, setting.targets)

        theta = torch.cat([value.detach().reshape(-1) for value in values])
        hessian = torch.func.hessian(loss)(theta).numpy()
        assert np.abs(hessian - flat.reshape(hessian.shape)).max() <= 1e-12 * np.abs(flat).max()


@pytest.mark.parametrize("name", list(study.THEOREMS))
def test_both_sides_have_the_same_instances(name):
    first, second = drawn(name), drawn(name)
    assert len(first) >= config().instances / 2
    for one, other in zip(first, second, strict=True):
        assert one.keys() == other.keys()
        assert all(torch.equal(one[key], other[key]) for key in one)


def test_another_seed_draws_other_instances():
    one, other = drawn("linear")[-1], drawn("linear", seed=4)[-1]
    assert one["w"].shape != other["w"].shape or not torch.equal(one["w"], other["w"])


def test_edge_cases_are_always_there():
    found = drawn("linear")
    assert any(len(one["w"]) == 1 for one in found)
    assert any(len(one["w"]) > 1 and torch.equal(one["w"], one["v"]) for one in found)
    assert any(torch.equal(one["w"], -one["v"]) for one in found)
    assert any(len(one["x"]) == 1 for one in found)
    cells = drawn("relu")
    assert any(bool((one["v"] > 0).all()) for one in cells)
    assert any(bool((one["v"] == 0).any()) for one in cells)
    assert any(bool((one["x"] < 0).all()) for one in cells)


def test_edge_cases_of_deep_networks_are_always_there():
    def weights(name):
        return [(one, layers(one)) for one in drawn(name)]

    balanced = weights("balanced")
    assert {int(one["kind"]) for one, _ in balanced} == {0, 1, 2}
    assert any(len(found) == 1 for _, found in balanced)
    assert any(len(found) > 3 for _, found in balanced)
    values = [torch.linalg.svdvals(found[0]) for _, found in balanced]
    assert any(len(s) > 1 and s[0] - s[1] < 1e-12 for s in values)
    assert any(s[-1] < 1e-12 * s[0] for s in values)
    narrow = [min(layer.shape[0] for layer in found) for _, found in balanced]
    ends = [max(found[0].shape[1], found[-1].shape[0]) for _, found in balanced]
    assert any(one < other for one, other in zip(narrow, ends, strict=True))
    for instance, found in balanced:
        assert cf.balancedness_defect(found) < 1e-14
        x, y = instance["x"], instance["y"]
        residual = x @ end_to_end(found).mT - y
        loss, correlation = residual.square().mean(), (residual.mT @ x).abs().max()
        size = y.square().mean() + 1e-12
        assert bool(correlation < 1e-12 * size * len(x) * x.abs().max()) == (instance["kind"] > 0)
        assert bool(loss < 1e-20 * size) == (instance["kind"] == ZERO_LOSS)
    two = weights("two_layers")
    assert any(torch.linalg.matrix_rank(found[0]) < min(found[0].shape) for _, found in two)
    assert any(cf.balancedness_defect(found) > 0.1 for _, found in two)
    exact = both_sides()["closed_form"]
    assert set(exact["any_layers.whitened"]) == {0, 1}


def test_each_assumption_is_broken_alone():
    for instance in drawn("dropped"):
        w, v, b, x, y = (instance[name] for name in "wvbxy")
        del w
        held = [
            abs(v @ b) < 1e-12 * (v @ v),
            abs(v.norm() / b.norm() - 1) < 1e-12,
            abs(x.mean()) < 1e-12,
            abs(x.square().mean() - 1) < 1e-12,
            abs((x * y).mean()) < 1e-12 and abs(y.mean()) < 1e-12,
        ]
        broken = [number for number, holds in enumerate(held) if not holds]
        assert broken == [int(instance["dropped"])]


def test_the_data_set_may_be_smaller_than_the_slices():
    arrays = study.closed_form(config(), data(points=3))
    assert all(np.isfinite(values).all() for name, values in arrays.items() if "bounds" not in name)


def test_the_same_configuration_gives_the_same_arrays():
    exact = both_sides()["closed_form"]
    again = study.closed_form(config(), data())
    assert exact.keys() == again.keys()
    assert all(np.array_equal(exact[name], again[name], equal_nan=True) for name in exact)


def test_every_quantity_has_its_counts():
    for arrays in both_sides().values():
        for name, values in arrays.items():
            if not name.endswith(".counts"):
                assert arrays[f"{name}.counts"].sum() == len(values)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"instances": 5}, "instances: expected at least 6, got 5"),
        ({"width": 1}, "width: expected 2 to 50, got 1"),
        ({"width": 51}, "width: expected 2 to 50, got 51"),
        ({"points": 1}, "points: expected at least 2, got 1"),
    ],
)
def test_bad_values_are_refused_by_name(changes, message):
    with pytest.raises(ValueError, match=message):
        config(**changes)

"""The study of the identities: same instances on both sides, and each statement with its print."""

import numpy as np
import pytest
import torch
from identities_arrays import both_sides, config, data

from hessian_spectra import closed_form as cf
from hessian_spectra.studies.identities.identities import deep_instances
from hessian_spectra.studies.identities.identities import study as identities
from hessian_spectra.studies.identities.identities.checks import CHECKS, WITHOUT_ASSUMPTIONS
from hessian_spectra.studies.identities.identities.checks.ragged import parts

IDENTITIES = [name for name, check in CHECKS.items() if check.printed is None]
ERRATA = [name for name, check in CHECKS.items() if check.printed is not None]


@pytest.mark.parametrize("name", IDENTITIES)
def test_identity_holds(name):
    errors = CHECKS[name].errors(*both_sides())
    assert len(errors) > 0
    assert errors.max() <= CHECKS[name].tolerance


@pytest.mark.parametrize("name", ERRATA)
def test_print_is_wrong(name):
    check = CHECKS[name]
    assert check.errors(*both_sides()).max() <= check.tolerance
    # Far beyond any tolerance: the print is wrong, not inaccurate.
    assert check.printed(*both_sides()).max() > 1e-3


@pytest.mark.parametrize("name", list(WITHOUT_ASSUMPTIONS))
def test_assumption_is_needed(name):
    assert WITHOUT_ASSUMPTIONS[name](*both_sides()).min() > 0.01


@pytest.mark.parametrize("name", list(identities.FAMILIES))
def test_brute_force_is_the_hessian_of_the_network(name):
    """A third derivation, by reverse over forward mode, of the first instances of each theorem."""
    family = identities.FAMILIES[name]
    _, numerics = both_sides()
    found = parts(numerics, f"{name}.hessian")
    for instance, flat in list(zip(family.draw(config(), data()), found, strict=True))[:4]:
        setting = family.setting(instance)
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


@pytest.mark.parametrize("name", list(identities.FAMILIES))
def test_both_sides_have_the_same_instances(name):
    first, second = (identities.FAMILIES[name].draw(config(), data()) for _ in range(2))
    assert len(first) >= config().instances / 2
    for one, other in zip(first, second, strict=True):
        assert one.keys() == other.keys()
        assert all(torch.equal(one[key], other[key]) for key in one)


def test_another_seed_draws_other_instances():
    draw = identities.FAMILIES["linear"].draw
    one, other = draw(config(), data())[-1], draw(config(seed=4), data())[-1]
    assert one["w"].shape != other["w"].shape or not torch.equal(one["w"], other["w"])


def test_edge_cases_are_always_there():
    found = identities.FAMILIES["linear"].draw(config(), data())
    assert any(len(one["w"]) == 1 for one in found)
    assert any(len(one["w"]) > 1 and torch.equal(one["w"], one["v"]) for one in found)
    assert any(torch.equal(one["w"], -one["v"]) for one in found)
    assert any(len(one["x"]) == 1 for one in found)
    cells = identities.FAMILIES["relu"].draw(config(), data())
    assert any(bool((one["v"] > 0).all()) for one in cells)
    assert any(bool((one["v"] == 0).any()) for one in cells)
    assert any(bool((one["x"] < 0).all()) for one in cells)


def test_edge_cases_of_deep_networks_are_always_there():
    def weights(name):
        drawn = identities.FAMILIES[name].draw(config(), data())
        return [(one, deep_instances.layers(one)) for one in drawn]

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
        residual = x @ deep_instances.end_to_end(found).mT - y
        loss, correlation = residual.square().mean(), (residual.mT @ x).abs().max()
        size = y.square().mean() + 1e-12
        assert bool(correlation < 1e-12 * size * len(x) * x.abs().max()) == (instance["kind"] > 0)
        assert bool(loss < 1e-20 * size) == (instance["kind"] == deep_instances.ZERO_LOSS)
    two = weights("two_layers")
    assert any(torch.linalg.matrix_rank(found[0]) < min(found[0].shape) for _, found in two)
    assert any(cf.balancedness_defect(found) > 0.1 for _, found in two)
    exact, _ = both_sides()
    assert set(exact["any_layers.whitened"]) == {0, 1}


def test_each_assumption_is_broken_alone():
    for instance in identities.FAMILIES["dropped"].draw(config(), data()):
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
    arrays = identities.closed_form(config(), data(points=3))
    assert all(np.isfinite(values).all() for name, values in arrays.items() if "bounds" not in name)


def test_the_same_configuration_gives_the_same_arrays():
    exact, _ = both_sides()
    again = identities.closed_form(config(), data())
    assert exact.keys() == again.keys()
    assert all(np.array_equal(exact[name], again[name], equal_nan=True) for name in exact)


def test_every_quantity_has_its_counts():
    for arrays in both_sides():
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

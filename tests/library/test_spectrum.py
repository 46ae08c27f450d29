"""The record of a spectrum: order, multiplicities, labels, eigenvectors."""

import copy
import pickle

import pytest
import torch

from hessian_spectra import closed_form as cf
from hessian_spectra import spectrum as spectra
from hessian_spectra.curvature import dense_spectrum
from hessian_spectra.spectrum import Spectrum


def spectrum(**changes):
    fields = {
        "values": torch.tensor([3.0, -1.0, 0.0, -1.0], dtype=torch.float64),
        "multiplicities": (1, 2, 0, 1),
        "kinds": ("outlier", "bulk", "zero", "outlier"),
        "cells": ("+", "+", "", "-"),
        "method": "test",
    }
    return Spectrum(**{**fields, **changes})


def test_eigenvalues_ascend_with_their_multiplicities():
    assert spectrum().eigenvalues.tolist() == [-1.0, -1.0, -1.0, 3.0]


def test_labels_follow_the_eigenvalues():
    assert spectrum().labels == ["bulk +", "bulk +", "outlier -", "outlier +"]
    assert spectrum(cells=None).labels == ["bulk", "bulk", "outlier", "outlier"]


def test_selection_by_kind_and_cell():
    assert spectrum().select("outlier").tolist() == [-1.0, 3.0]
    assert spectrum().select("outlier", "-").tolist() == [-1.0]
    assert spectrum().select("zero").tolist() == []
    assert spectrum().select("nothing").tolist() == []
    assert spectrum(cells=None).select("bulk", "").tolist() == [-1.0, -1.0]


def test_eigenvectors_are_ordered_with_their_groups_and_built_once():
    calls = []

    def eigenbasis():
        calls.append(1)
        return torch.eye(4, dtype=torch.float64)

    s = spectrum(eigenbasis=eigenbasis)
    assert s.eigenvalues is s.eigenvalues
    assert calls == []
    # Columns 0 (the outlier 3), 1 and 2 (bulk), 3 (the outlier -1).
    assert s.eigenvectors().argmax(0).tolist() == [1, 2, 3, 0]
    assert s.eigenvectors() is s.eigenvectors()
    assert calls == [1]


def test_unknown_eigenvectors_are_refused():
    with pytest.raises(ValueError, match="eigenvectors are not available from test"):
        spectrum().eigenvectors()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("multiplicities", (1, 2, 0)),
        ("kinds", ("bulk",)),
        ("cells", ("",)),
        ("residuals", torch.zeros(2)),
        ("converged", torch.ones(1, dtype=torch.bool)),
    ],
)
def test_fields_have_one_entry_for_each_group(field, value):
    with pytest.raises(ValueError, match="expected one entry per group in each field"):
        spectrum(**{field: value})


def test_negative_multiplicity_is_refused():
    with pytest.raises(ValueError, match=r"expected no negative multiplicity, got \[1, 2, -1, 1\]"):
        spectrum(multiplicities=(1, 2, -1, 1))


def test_empty_spectrum():
    s = Spectrum(values=torch.empty(0), multiplicities=(), kinds=(), method="test")
    assert s.eigenvalues.tolist() == []
    assert s.labels == []


def linear_network() -> Spectrum:
    w, v, x, y = (torch.linspace(a, 1, 3, dtype=torch.float64) for a in (-2, 0.5, 0.1, -1))
    return cf.two_layer_linear(w, v, x, y)


def numeric() -> Spectrum:
    return dense_spectrum(torch.diag(torch.tensor([3.0, -1.0, 2.0])))


def pickled(actual: Spectrum) -> Spectrum:
    return pickle.loads(pickle.dumps(actual))


@pytest.mark.parametrize("make", [linear_network, numeric])
@pytest.mark.parametrize("copied", [pickled, copy.deepcopy, copy.copy])
@pytest.mark.parametrize("used", [True, False])
def test_copies_are_equal(make, copied, used):
    actual = make()
    if used:
        actual.eigenvectors()
    other = copied(actual)
    assert torch.equal(other.eigenvalues, actual.eigenvalues)
    assert torch.equal(other.eigenvectors(), actual.eigenvectors())
    assert (other.labels, other.method) == (actual.labels, actual.method)
    for name in ("residuals", "converged"):
        pair = getattr(other, name), getattr(actual, name)
        assert pair == (None, None) or torch.equal(*pair)
    # And once more, from what was unpickled.
    assert torch.equal(copied(other).eigenvectors(), actual.eigenvectors())


def test_a_deep_copy_shares_no_numbers():
    actual = numeric()
    other = copy.deepcopy(actual)
    other.values.zero_()
    other.eigenvectors().zero_()
    assert actual.eigenvalues.tolist() == [-1.0, 2.0, 3.0]
    assert actual.eigenvectors().any()


def test_large_eigenvectors_of_a_formula_stay_behind(monkeypatch):
    monkeypatch.setattr(spectra, "_PICKLED_BYTES", 8 * 35)
    actual = linear_network()
    other = pickled(actual)
    assert torch.equal(other.eigenvalues, actual.eigenvalues)
    for unpickled in (other, pickled(other)):
        with pytest.raises(ValueError, match=r"eigenvectors of closed form.* were not pickled wit"):
            unpickled.eigenvectors()
    assert copy.deepcopy(actual).eigenvectors().shape == (6, 6)
    # What was computed is there already, and travels.
    assert pickled(numeric()).eigenvectors().shape == (3, 3)


def test_unknown_eigenvectors_stay_unknown():
    with pytest.raises(ValueError, match="eigenvectors are not available from test"):
        pickled(spectrum()).eigenvectors()

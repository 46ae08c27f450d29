"""Each theorem of the catalogue on other networks than the ledger's: it holds, and it can fail."""

from dataclasses import replace

import pytest
import torch
from theorem_networks import networks

from hessian_papers.theorems import THEOREMS
from hessian_papers.theorems.attention import Attention
from hessian_papers.theorems.catalogue import Error, theorem
from hessian_papers.theorems.instances import Instance, measured

every = [stated for stated in THEOREMS.values() if stated.assumption is None]
errata = [stated for stated in every if stated.printed]

# Theorems that measure no Hessian: theory against theory. That in print they fail is enough.
OF_THEORY = {
    "linear-orthonormal": "the eigenvectors' inner products; that they are eigenvectors is another",
    "balanced-alignment": "weights of one layer against those of the next; both are given",
    "alignments-of-vectors": "singular values of a number; there is no network",
    "attention-monotone": "a bound as a weight is stretched; that it is a bound is another",
    "recipe-whitening": "inputs that are made, against the span of those that are given",
    "kronecker-index": "entries of a product against the product; there is no Hessian",
    "recipe-subset": "samples of each class that are chosen, against the share that is asked for",
}
# What no instance comes close to breaks by a small mistake.
WITH_ROOM = {
    "flow-growth": lambda values: 1e-3 * values,
    "start-law": lambda values: 1e-3 * values,
    "matrices-lower-bound": lambda values: 1e-3 * values,
    "bound-fails-as-rarely-as-promised": lambda values: 0.5 * values,
}


def named(theorems):
    return pytest.mark.parametrize("stated", theorems, ids=lambda stated: stated.name)


@named(every)
def test_a_theorem_holds_and_what_is_in_print_is_wrong(stated):
    assert max(stated.errors(networks())) <= stated.tolerance
    if stated.printed:  # and not inaccurate
        assert max(stated.errors(networks(), printed=True)) > 1e-3


@named([stated for stated in THEOREMS.values() if stated.assumption])
def test_an_assumption_is_needed(stated):
    assert min(stated.errors(networks())) >= stated.tolerance


def mistaken(values):
    """Each number off by about a thousandth of the largest; where all vanish, of 1."""
    noise = torch.randn(values.shape, generator=torch.Generator().manual_seed(0)).double()
    if values.ndim == 2 and values.shape[0] == values.shape[1]:
        noise = noise + noise.mT
    size = values.abs().max()
    return values + 1e-3 * noise * (size if size > 1e-9 else 1.0)


def taken_as_measured(net):
    """The quantities that theorems have taken as measured, by name."""
    of = type(net)
    return {k: v for k, v in vars(net).items() if isinstance(getattr(of, k, None), measured)}


@named([stated for stated in every if stated.name not in OF_THEORY])
def test_a_mistake_in_what_is_measured_is_seen(stated):
    """In a quantity by itself; those that this theorem does not take make no difference."""
    mistake = WITH_ROOM.get(stated.name, mistaken)

    def errors():
        for net in reversed(stated.instances(networks())):
            if stated.error(net) is not None:
                read = taken_as_measured(net)
                for name, value in read.items():
                    wrong = replace(net)
                    vars(wrong).update(read | {name: mistake(value)})
                    yield stated.error(wrong)

    assert any(error is not None and error > stated.tolerance for error in errors())


@pytest.mark.parametrize("name", OF_THEORY)
def test_theory_against_theory_takes_nothing_as_measured(name):
    for net in THEOREMS[name].instances(networks()):
        fresh = replace(net)
        THEOREMS[name].error(fresh)
        assert not taken_as_measured(fresh)
    assert THEOREMS[name].printed or name == "attention-monotone"


def test_the_bound_of_the_condition_number_falls_where_the_theorem_is_not_about_it(monkeypatch):
    monkeypatch.setattr(Attention, "zeta", 1.0)
    assert max(THEOREMS["attention-monotone"].errors(networks())) > 1e-3


def test_the_catalogue_is_complete():
    labels = [stated.label for stated in errata]
    assert len({*labels, ""}) == len(labels) + 1
    assert not any(stated.label for stated in every if not stated.printed)
    assert all(
        stated.statement and stated.places and stated.source and stated.reason for stated in every
    )
    assert len(errata) >= 45


def test_a_part_is_one_of_a_statement_of_the_same_book():
    for part in THEOREMS.values():
        if part.of:
            whole = THEOREMS[part.of]
            assert (whole.of, whole.ours, whole.assumption) == ("", part.ours, part.assumption)


def test_a_print_and_its_error_come_together():
    def with_error(net: Instance, printed: bool = False) -> Error:
        """Nothing."""

    def without_error(net: Instance) -> Error:
        """Nothing.

        In print: λ = 0
        """

    for function in (with_error, without_error):
        with pytest.raises(ValueError, match="expected a print and its error, or neither"):
            theorem("a label")(function)

"""Equal keys mean equal results: what changes one, and what does not."""

import functools
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from items_of_tests import noted

from hessian_papers import compute, provenance
from hessian_papers.compute.keys import code_behind, function_name, item_key
from hessian_papers.provenance import code_of

ARRAYS = [np.array(1.0), np.array([1.0]), np.array([[1.0]]), np.array([1], dtype=np.int32)]
ARRAYS += [np.array([1], dtype=">i4"), np.array(["1"]), np.float64(1.0), np.float32(1.0)]
VALUES = [1, 1.0, True, "1", None, -0.0, 0.0, float("nan"), [1], (1,), [[1], []], [[], [1]]]
VALUES += [{"a": 1}, {"a": {"a": 1}}, *ARRAYS]


def key(**item):
    return item_key("module:function", "code", item)


def test_keys_are_those_of_shards_that_were_computed_long_ago():
    item = {"seed": 3, "rate": 0.1, "x": np.arange(6.0).reshape(2, 3), "names": ["a", None, True]}
    assert key(**item) == "076085f140e55ad734d54a0679c61558"


def test_different_values_and_types_have_different_keys():
    assert len({key(a=value) for value in VALUES}) == len(VALUES)
    keys = {item_key(name, code, {}) for name in ("m:f", "m:g") for code in ("one", "two")}
    assert len(keys) == 4


def test_the_order_of_arguments_and_of_memory_does_not_count():
    matrix = np.arange(6.0).reshape(2, 3)
    assert key(a=1, b=matrix) == key(b=np.asfortranarray(matrix), a=1)
    assert key(b=matrix) != key(b=matrix.T)


@dataclass(frozen=True, kw_only=True)
class Found:
    """Something that is told by its digest, wherever it is."""

    folder: str = field(compare=False)
    digest: str


@pytest.mark.parametrize("wrap", [lambda actual: actual, lambda actual: [{"inner": (actual,)}]])
def test_where_something_is_found_does_not_count(wrap):
    here, present = (Found(folder=folder, digest="1f") for folder in ("here", "there"))
    other = Found(folder="here", digest="2e")
    assert key(a=wrap(here)) == key(a=wrap(present))
    assert key(a=wrap(here)) != key(a=wrap(other))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, {2}], r"item\.a\[1\]: expected numbers, strings, lists of them or arrays, got a set"),
        (np.array([{}]), r"item\.a: expected an array of numbers or strings, got object"),
        (np.ma.array([1], mask=[True]), r"item\.a: expected numbers, .*, got a MaskedArray"),
    ],
)
def test_what_has_no_canonical_form_is_refused(value, message):
    with pytest.raises(ValueError, match=message):
        key(a=value)


@pytest.mark.parametrize("function", [lambda a: {}, functools.partial(int), int("3").__add__])
def test_what_others_cannot_import_is_refused(function):
    assert function_name(np.linalg.norm).endswith(":norm")
    with pytest.raises(ValueError, match="compute: expected a function of a module"):
        function_name(function)


@pytest.mark.parametrize("module", ["shards", "plan", "keys", "computation"])
def test_a_key_counts_the_code_that_computes_and_keeps_an_item(module, monkeypatch):
    before = code_behind(f"{noted.__module__}:noted")
    look_up, file = provenance.Graph.source, Path(compute.__file__).with_name(f"{module}.py")

    def changed(graph, name):
        known = look_up(graph, name)
        is_it = known is not None and known[0] == file
        return (file, replace(known[1], digest="another")) if is_it else known

    monkeypatch.setattr(provenance.Graph, "source", changed)
    assert code_behind(f"{noted.__module__}:noted") != before


def test_a_key_counts_no_code_that_launches_jobs_and_shows_how_far_they_are():
    files = code_of(noted.__module__, f"{compute.__name__}.computation").files
    counted = {Path(place).stem for place in files if "/compute/" in place}
    assert counted - {"__init__"} == {"computation", "keys", "plan", "shards"}

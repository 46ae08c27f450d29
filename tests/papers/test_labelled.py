"""Data sets: declared, joined by name, byte-stable as files, and never half-read."""

import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

from hessian_papers import labelled
from hessian_papers.labelled import (
    LEFT_OUT,
    Variable,
    arrays_of,
    assembled,
    data_set,
    items_of,
    joined,
    of_kind,
    side_by_side,
)
from hessian_spectra.files import DamagedFileError, MissingResultError

VARIABLES = {
    "network": Variable("network", "architecture"),
    "seed": Variable("seed", "of the weights"),
    "layer_name": Variable("network layer", "name, empty where a network has fewer layers"),
    "loss": Variable("network seed step", "training loss", "nats"),
    "converged": Variable("network seed", "whether it did"),
    "classes": Variable("", "number of classes"),
}
# Makes one data set of all kinds of values and prints its file's digest.
MAKE = """
import hashlib
import numpy as np
from hessian_papers import labelled
from tests.papers.test_labelled import sample
print(hashlib.sha256(labelled.content(sample())).hexdigest())
"""


def sample():
    draws = np.random.default_rng(0)
    return data_set(
        {
            "network": np.array(["F-5", "LeNet5 µ"]),
            "seed": np.array([3, 1]),
            "layer_name": np.array([["fc1", ""], ["conv1", "fc1"]]),
            "loss": draws.standard_normal((2, 2, 400)).astype(np.float32),
            "converged": np.array([[True, False], [True, True]]),
            "classes": np.array(10),
        },
        VARIABLES,
    )


def test_a_file_comes_back_as_it_was_written(tmp_path):
    labelled.write(tmp_path / "a.nc", sample())
    data = labelled.read(tmp_path / "a.nc")
    assert data.identical(sample())
    assert dict(data.dtypes) == dict(sample().dtypes)
    assert data["loss"].attrs == {"long_name": "training loss", "units": "nats"}
    assert labelled.content(data) == labelled.content(sample())


def test_numbers_lie_in_memory_as_they_will_when_they_are_read():
    data = data_set({"converged": np.zeros((3, 2), dtype=bool).T}, VARIABLES)
    assert data["converged"].values.flags.c_contiguous


def test_the_bytes_are_the_same_in_every_process_and_in_any_order_of_variables():
    runs = [
        subprocess.run([sys.executable, "-c", MAKE], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert runs[0].stdout == runs[1].stdout != ""
    turned = xr.Dataset({name: sample()[name].variable for name in [*sample().variables][::-1]})
    assert labelled.content(turned) == labelled.content(sample())


def test_it_is_read_as_xarray_reads_it(tmp_path):
    """Texts short and long, of one length and none, numbers of all kinds, a name that is double."""
    declared = {
        **VARIABLES,
        "step": Variable("network step", "a variable that has the name of a dimension"),
        "text": Variable("seed step", "texts enough to be compressed"),
        "spare": Variable("network", "no text at all"),
        "count": Variable("seed", "a small number"),
    }
    arrays = {
        "step": np.arange(800.0).reshape(2, 400),
        "text": np.array([f"λ{'µ' * (k % 7)}" for k in range(800)]).reshape(2, 400),
        "spare": np.array(["", ""]),
        "count": np.array([0, 255], dtype=np.uint8),
    }
    written = data_set(arrays_of(sample()) | arrays, declared)
    labelled.write(tmp_path / "a.nc", written)
    data = labelled.read(tmp_path / "a.nc")
    with xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf") as expected:
        assert data.identical(expected.drop_attrs(deep=False).load())
    assert data.identical(written)
    assert dict(data.dtypes) == dict(written.dtypes)


def test_no_changed_byte_changes_what_is_read(tmp_path):
    """It is refused, or it stands where nothing is said."""
    path = tmp_path / "a.nc"
    labelled.write(path, sample())
    whole = path.read_bytes()
    refused = 0
    for place in np.random.default_rng(1).integers(0, len(whole), 150):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            assert labelled.read(path).identical(sample())
        except DamagedFileError:
            refused += 1
    assert refused > 75


@pytest.mark.parametrize("length", [0, 10, -30])
def test_a_torn_file_is_one_line(tmp_path, capfd, length):
    path = tmp_path / "a.nc"
    path.write_bytes(labelled.content(sample())[:length])
    with pytest.raises(DamagedFileError, match=r"a\.nc is damaged \(.*\): delete it and run that"):
        labelled.read(path, "that")
    assert capfd.readouterr() == ("", "")


def test_a_missing_file_names_what_to_run(tmp_path):
    with pytest.raises(MissingResultError, match=r"numerics\.nc is missing: run the stage"):
        labelled.read_study(tmp_path, ["numerics"])


def test_a_recorded_run_is_one_file_and_todays_one_a_side(tmp_path):
    labelled.write(tmp_path / "closed_form.nc", sample()[["loss"]])
    labelled.write(tmp_path / "numerics.nc", sample()[["converged"]])
    sides = ["closed_form", "numerics"]
    assert {*labelled.read_study(tmp_path, sides).data_vars} == {"loss", "converged"}
    labelled.write(tmp_path / labelled.WHOLE, sample())
    assert labelled.read_study(tmp_path, sides).identical(sample())


def test_parts_that_disagree_are_refused_by_name():
    other = sample().assign_coords(seed=[3, 2])
    with pytest.raises(ValueError, match=r"^seed: expected the same labels in all parts"):
        joined([sample(), other])
    with pytest.raises(ValueError, match="loss"):
        joined([sample(), sample().assign(loss=sample()["loss"] + 1)])
    with pytest.raises(ValueError, match="layer"):
        joined([sample(), sample()[["classes"]].assign(name=("layer", ["a"]))])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"width": 3}, "variables width: expected those that are declared"),
        ({"loss": [1.0]}, r"'loss': expected dimensions \(network, seed, step\), got shape \(1,\)"),
        ({"seed": [object()]}, "'seed': expected numbers, booleans or strings, got dtype object"),
    ],
)
def test_what_is_not_as_declared_is_refused(arrays, message):
    with pytest.raises(ValueError, match=message):
        data_set(arrays, VARIABLES)


def part(network, seed, steps):
    return {
        "network": np.array(network),
        "seed": np.array(seed),
        "loss": np.full(steps, float(seed)),
        "layer_name": np.array(["fc1", "fc2"][: len(network)]),
        "classes": np.array(10),
    }


def test_items_are_put_together_by_their_labels():
    parts = [part("a", 5, 2), part("a", 4, 3), part("bb", 4, 1)]
    data = assembled(parts, VARIABLES, ["network", "seed"])
    assert data["network"].values.tolist() == ["a", "bb"]
    assert data["seed"].values.tolist() == [5, 4]
    assert data["layer_name"].values.tolist() == [["fc1", ""], ["fc1", "fc2"]]
    assert data["classes"].item() == 10
    np.testing.assert_array_equal(data["loss"].sel(network="a", seed=5), [5.0, 5.0, np.nan])
    assert data["loss"].sel(network="bb").count("step").values.tolist() == [0, 1]


SETS = {
    "source": Variable("source", "name of a set"),
    "drawn": Variable("source", "whether it was drawn"),
    "images": Variable("image row", "grey values"),
    "labels": Variable("image", "class of an image"),
    "image": Variable("image", "number of an image"),
}


# Of one item alone there is no dimension of items.
OF_ONE = {name: SETS[name]._replace(dims="") for name in ("source", "drawn")}


def image_set(name, count, rows):
    return {
        "source": np.array(name),
        "drawn": np.array(count > 2),
        "images": np.arange(count * rows, dtype=np.uint8).reshape(count, rows),
        "labels": np.arange(count),
        "image": np.arange(count) + 7,
    }


def test_items_of_different_sizes_stand_side_by_side_and_come_apart_as_they_were(tmp_path):
    """Whatever they are called, and with what others lack."""
    rows = [image_set("my leaves", 3, 2), image_set("leaves:my leaves", 2, 5)]
    del rows[1]["labels"]
    together = side_by_side(rows, SETS, "source")
    assert together.sizes["row:my leaves"] == 2
    assert together["images:my leaves"].attrs == {"long_name": "grey values"}
    labelled.write(tmp_path / "a.nc", together)
    items = items_of(labelled.read(tmp_path / "a.nc"), "source")
    assert [*items] == ["my leaves", "leaves:my leaves"]
    for row, item in zip(rows, items.values(), strict=True):
        assert item.identical(data_set(row, {**SETS, **OF_ONE}))
        assert {*arrays_of(item)} == {*row}
        assert (item["images"].dtype, item["drawn"].dtype) == (np.uint8, bool)


def test_what_is_not_declared_of_an_item_is_refused():
    with pytest.raises(ValueError, match="variables width: expected those that are declared"):
        side_by_side([image_set("a", 1, 1) | {"width": np.array(3)}], SETS, "source")


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_random_numbers_are_not_compressed_and_what_repeats_is(kind):
    numbers = np.random.default_rng(0).standard_normal((2, 2, 4000)).astype(kind)
    repeated = np.zeros_like(numbers)
    for values, compressed in ((numbers, False), (repeated, True)):
        content = labelled.content(data_set({"loss": values}, VARIABLES))
        assert (len(content) < 0.8 * values.nbytes) == compressed


def test_entries_of_a_kind_are_as_many_everywhere():
    values = xr.DataArray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dims=("step", "rank"))
    kind = xr.DataArray([["b", "o", "b"], ["o", "b", "b"]], dims=("step", "rank"))
    assert of_kind(values, "rank", kind == "b").values.tolist() == [[1.0, 3.0], [5.0, 6.0]]
    uneven = kind.copy(data=[["b", "o", "b"], ["o", "o", "b"]])
    with pytest.raises(ValueError, match="as many of a kind everywhere, got"):
        of_kind(values, "rank", uneven == "b")


def test_diverged_trainings_add_up():
    data = labelled.left_out(sample(), 0)
    assert LEFT_OUT not in data
    assert labelled.left_out(labelled.left_out(data, 2), 3)[LEFT_OUT].item() == 5


def test_arrays_of_other_labels_are_no_operands():
    values = xr.DataArray([1.0, 2.0, 4.0], {"depth": [1, 2, 3]}, "depth")
    with pytest.raises(ValueError, match="cannot align objects with join='exact'"):
        values.diff("depth") / values

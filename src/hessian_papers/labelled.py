"""Data sets: what one stage hands on to another, from samples to statements, figures and page.

Each is one :class:`xarray.Dataset` with named dimensions. A kind of samples, of networks or of
studies declares each variable with its dimensions, its meaning and its unit; whoever reads selects
by name. Stages that compute different parts of a study write a file each, which are joined when
they are read: they agree on the names and the labels of the dimensions that they share.
"""

import hashlib
import io
import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
import xarray as xr

from hessian_spectra.files import (
    STAGE,
    Arrays,
    DamagedFileError,
    MissingResultError,
    damaged,
    missing_result,
    write_bytes,
)

# Where arrays are put one after another, their coordinates have to fit: no guesses by older rules.
# So have those of two arrays of which a sum or quotient is made: else what they share is all that
# is left, and an array divided by its own `diff` is divided by the wrong entries.
xr.set_options(use_new_combine_kwarg_defaults=True, arithmetic_join="exact")

# The file of a recorded run, which holds all parts of its study.
WHOLE = "data.nc"
# The attribute of a file that its content is held against.
CHECKSUM = "sha256"
# Variables of at least so many bytes are compressed, of a smaller one the index takes more; but for
# numbers of which so much would be left, such as weights: to read them takes several times as long.
LARGE, WORTHWHILE = 4096, 0.8
# The part of a variable by which that is decided, in bytes.
TRIED = 2**20
# Between the name of an item's own variable, or dimension, and the item's label.
OF = ":"
# Strings are compressed as letters of one byte alone.
TEXT = {"dtype": "S1"}
# How many trainings diverged and are left out; not there if none did.
LEFT_OUT = "trainings_left_out"
# What the format notes beside a variable, and what it calls a dimension that is none.
_OF_THE_FILE = {
    *("CLASS", "DIMENSION_LIST", "NAME", "REFERENCE_LIST", "_Netcdf4Coordinates", "_Netcdf4Dimid"),
    *("_Encoding", "_FillValue", "dtype"),
}
# Before the name of a variable that is one of a dimension, too, and has others.
_OTHER_DIMENSIONS = "_nc4_non_coord_"
_DIMENSION_ALONE = b"This is a netCDF dimension but not a netCDF variable"
# What stands where a part lacks what others have, by the kind of its values.
_EMPTY: Mapping[str, Any] = {"U": "", "i": 0, "u": 0, "b": False}


class Variable(NamedTuple):
    """The dimensions, meaning and unit of a variable of a kind of samples, networks or studies.

    Attributes:
        dims: the names of its dimensions in order, apart by spaces; a variable with the name of its
            only dimension holds the labels along it.
        meaning: what it is, in words.
        unit: of its values; empty where they have none.
    """

    dims: str
    meaning: str
    unit: str = ""


Variables = Mapping[str, Variable]

# What every study may have beside its own.
COMMON: Variables = {
    LEFT_OUT: Variable("", "number of trainings that diverged and are left out"),
}


def data_set(arrays: Mapping[str, Any], variables: Variables) -> xr.Dataset:
    """Arrays as a data set, with the dimensions, meanings and units that are declared of them.

    Args:
        arrays: by the variables' names; some of them may be left out.
        variables: what is declared.

    Raises:
        ValueError: an array is not declared, or has other dimensions than are declared.

    Example:
        >>> declared = {"seed": Variable("seed", "of the draw"), "loss": Variable("seed", "loss")}
        >>> data = data_set({"seed": np.array([4, 5]), "loss": np.array([0.5, 0.25])}, declared)
        >>> float(data.loss.sel(seed=5)), data.loss.attrs
        (0.25, {'long_name': 'loss'})
    """
    declared = {**COMMON, **variables}
    if unknown := sorted({*arrays} - {*declared}):
        raise ValueError(f"variables {', '.join(unknown)}: expected those that are declared")
    chosen = {name: variable for name, variable in declared.items() if name in arrays}
    return xr.Dataset({name: _entry(name, arrays[name], chosen[name]) for name in chosen})


def _entry(name: str, array: Any, variable: Variable) -> xr.Variable:
    # In the order of a file's: the last bits of sums may depend on where the numbers lie.
    values, dims = np.asarray(array, order="C"), variable.dims.split()
    if values.dtype.kind not in "biufU":
        expected = "numbers, booleans or strings"
        raise ValueError(f"variable {name!r}: expected {expected}, got dtype {values.dtype}")
    if values.ndim != len(dims):
        raise ValueError(
            f"variable {name!r}: expected dimensions ({', '.join(dims)}), got shape {values.shape}"
        )
    attributes = {"long_name": variable.meaning, "units": variable.unit}
    return xr.Variable(dims, values, {key: text for key, text in attributes.items() if text})


def arrays_of(data: xr.Dataset) -> Arrays:
    """The arrays of a data set by the variables' names, as items of a computation hold them."""
    return {str(name): variable.values for name, variable in data.variables.items()}


def assembled(parts: Sequence[Arrays], variables: Variables, axes: Sequence[str]) -> xr.Dataset:
    """The arrays of many items as one data set.

    A variable has those of the axes that its declaration names; of one that has fewer, the first
    item's is taken. Where items have arrays of other lengths, or lack one, the rest is NaN, 0, ""
    or False.

    Args:
        parts: of each item its arrays, a single value for each of the axes among them, and of each
            variable what is left of its dimensions without the axes.
        variables: what is declared; of each variable the axes come first.
        axes: the dimensions that tell the items apart.

    Raises:
        ValueError: as :func:`data_set`.

    Example:
        >>> declared = {"seed": Variable("seed", "of the draw"), "loss": Variable("seed step", "")}
        >>> rows = [{"seed": np.array(s), "loss": np.arange(s)} for s in (2, 1)]
        >>> data = assembled(rows, declared, ["seed"])
        >>> data.seed.values.tolist(), data.loss.values.tolist()
        ([2, 1], [[0, 1], [0, 0]])
    """
    labels = {axis: list(dict.fromkeys(part[axis].item() for part in parts)) for axis in axes}
    arrays: Arrays = {axis: np.array(values) for axis, values in labels.items()}
    for name in dict.fromkeys(name for part in parts for name in part if name not in labels):
        own = [axis for axis in variables[name].dims.split() if axis in labels]
        arrays[name] = _stacked([part for part in parts if name in part], name, own, labels)
    return data_set(arrays, variables)


def _stacked(
    parts: Sequence[Arrays], name: str, axes: Sequence[str], labels: Mapping[str, list[Any]]
) -> np.ndarray:
    """One array of all items along some axes."""
    arrays = [part[name] for part in parts]
    lengths = np.max([array.shape for array in arrays], axis=0).astype(int)
    shape = [*(len(labels[axis]) for axis in axes), *lengths]
    empty = _EMPTY.get(arrays[0].dtype.kind, np.nan)
    whole = np.full(shape, empty, dtype=np.result_type(*arrays))
    # The first item of several at one place comes last, and stays.
    for part in reversed(parts):
        place: list[Any] = [labels[axis].index(part[axis].item()) for axis in axes]
        whole[(*place, ...)][tuple(slice(length) for length in part[name].shape)] = part[name]
    return whole


def side_by_side(parts: Sequence[Arrays], variables: Variables, axis: str) -> xr.Dataset:
    """The arrays of items of different sizes as one data set, in which nothing is filled up.

    A variable that is declared along the axis has one value for each item; each other one becomes a
    variable for each item, ``<name>:<label>``, with dimensions of its own that are called alike.

    Args:
        parts: of each item its arrays, the axis' single value among them.
        variables: what is declared of one item.
        axis: the dimension that tells the items apart.

    Raises:
        ValueError: as :func:`data_set`.

    Example:
        >>> declared = {"seed": Variable("seed", "of the draw"), "loss": Variable("step", "loss")}
        >>> rows = [{"seed": np.array(s), "loss": np.arange(s)} for s in (2, 1)]
        >>> data = side_by_side(rows, declared, "seed")
        >>> list(data.variables), dict(data.sizes)
        (['seed', 'loss:2', 'loss:1'], {'seed': 2, 'step:2': 2, 'step:1': 1})
        >>> items_of(data, "seed")[2]["loss"].values.tolist()
        [0, 1]
    """
    common = [name for name, variable in variables.items() if axis in variable.dims.split()]
    stacks = {name: np.stack([part[name] for part in parts]) for name in common}
    columns = dict(data_set(stacks, variables).variables)
    for part in parts:
        own = data_set({name: part[name] for name in part if name not in common}, variables)
        for name, variable in own.variables.items():
            label = f"{OF}{part[axis].item()}"
            dims = [f"{dim}{label}" for dim in variable.dims]
            columns[f"{name}{label}"] = xr.Variable(dims, variable.values, variable.attrs)
    return xr.Dataset(columns)


def items_of(data: xr.Dataset, axis: str) -> dict[Any, xr.Dataset]:
    """The items that :func:`side_by_side` put together, by their labels, each with plain names."""
    labels = data[axis].values.tolist()
    items: dict[str, dict[str, xr.Variable]] = {str(label): {} for label in labels}
    for whole, variable in data.variables.items():
        name, _, label = str(whole).partition(OF)
        if label:
            dims = [str(dim).partition(OF)[0] for dim in variable.dims]
            items[label][name] = xr.Variable(dims, variable.values, variable.attrs)
        else:
            for item, entry in zip(items.values(), variable, strict=True):
                item[name] = entry
    return {label: xr.Dataset(items[str(label)]) for label in labels}


def gathering(variables: Variables, *axes: str) -> Callable[[Any, Sequence[Arrays]], xr.Dataset]:
    """The function ``(config, parts) -> data set`` that assembles items, see :func:`assembled`."""
    return lambda config, parts: assembled(parts, variables, axes)


def content(data: xr.Dataset) -> bytes:
    """A data set as a netCDF file; equal data sets give equal bytes."""
    encoding: dict[Any, Any] = {
        name: {"zlib": True} | (TEXT if values.dtype.kind == "U" else {"shuffle": True})
        for name, values in data.variables.items()
        if values.nbytes >= LARGE and _shrinks(values.values)
    }
    # Of one that was read nothing is left of the order and the way in which it was written.
    plain = xr.Dataset({name: data[name].variable for name in sorted(data.variables, key=str)})
    plain = plain.drop_encoding().assign_attrs({CHECKSUM: _checksum(plain)})
    return bytes(plain.to_netcdf(None, engine="h5netcdf", encoding=encoding))


def _shrinks(values: np.ndarray) -> bool:
    """Whether compression makes a variable smaller by enough to be worth the time of reading."""
    if values.dtype.kind == "U":
        return True
    numbers = values.ravel()[: TRIED // values.itemsize]
    # As HDF5 shuffles it: the first bytes of all numbers, then the second ones.
    shuffled = numbers.view(np.uint8).reshape(-1, values.itemsize).T.tobytes()
    return len(zlib.compress(shuffled, 1)) < WORTHWHILE * len(shuffled)


def _checksum(data: xr.Dataset) -> str:
    """The SHA-256 of all that a data set says: HDF5 notices a changed byte in some places alone."""
    sha256 = hashlib.sha256()
    for name, values in sorted(data.variables.items(), key=lambda entry: str(entry[0])):
        text = values.dtype.kind == "U"
        sha256.update(
            repr((name, values.dims, values.shape, sorted(values.attrs.items()))).encode()
        )
        sha256.update(
            "\0".join(values.values.ravel()).encode() if text else values.values.tobytes()
        )
    return sha256.hexdigest()


def write(path: Path, data: xr.Dataset) -> None:
    """Write a data set, whole or not at all."""
    write_bytes(path, content(data))


def read(path: Path, remedy: str = STAGE) -> xr.Dataset:
    """Read what :func:`write` wrote.

    Args:
        path: the file.
        remedy: what to run to get it, for the message.

    Raises:
        MissingResultError: there is no such file.
        DamagedFileError: it is no data set, or not as it was written.
    """
    try:
        written = path.read_bytes()
    except FileNotFoundError:
        raise missing_result(path, remedy) from None
    try:
        with h5py.File(io.BytesIO(written)) as file:
            data = xr.Dataset(dict(_variables(file)))
            checksum = file.attrs.get(CHECKSUM, "")
    except MemoryError:
        raise
    except Exception as error:  # a torn file raises one of many errors
        raise damaged(path, error, f"delete it and run {remedy}") from error
    if checksum != _checksum(data):
        raise damaged(path, "its content is not what was written", f"delete it and run {remedy}")
    return data


def is_whole(path: Path) -> bool:
    """Whether a data set is as it was written."""
    try:
        read(path)
    except DamagedFileError:
        return False
    return True


def _variables(file: h5py.File) -> Iterator[tuple[str, xr.Variable]]:
    """The variables that :func:`content` wrote, by name.

    In a fraction of the time of xarray's own reader, which looks up each dimension again and again.
    """
    # HDF5 would search the whole file for the name of what a variable refers to as its dimension.
    entries = dict(file.items())
    names = {h5py.h5o.get_info(entry.id).addr: name for name, entry in entries.items()}
    for name, entry in entries.items():
        if entry.attrs.get("NAME", b"").startswith(_DIMENSION_ALONE):
            continue
        attributes = {key: entry.attrs[key] for key in entry.attrs if key not in _OF_THE_FILE}
        if "DIMENSION_LIST" in entry.attrs:
            scales = [h5py.h5r.dereference(to, file.id) for (to,) in entry.attrs["DIMENSION_LIST"]]
            dims = [names[h5py.h5o.get_info(scale).addr] for scale in scales]
        else:
            dims = [name] * entry.ndim  # labels along a dimension, or a single value
        if entry.dtype.kind == "S":
            dims, words = dims[:-1], entry[()].view(f"S{entry.shape[-1]}")[..., 0]
            values = np.char.decode(words, entry.attrs["_Encoding"]).astype(object).astype(np.str_)
        elif entry.dtype.kind == "O":
            values = np.asarray(entry.asstr()[()]).astype(np.str_)
        else:
            values = np.asarray(entry[()], dtype=entry.attrs.get("dtype"))
        yield name.removeprefix(_OTHER_DIMENSIONS), xr.Variable(dims, values, attributes)


def read_study(folder: Path, sides: Iterable[str]) -> xr.Dataset:
    """The data set of a study, from the files of its folder.

    Raises:
        MissingResultError: a file is missing; the message says which stage writes it.
        DamagedFileError: a file is damaged.
        ValueError: two files disagree.
    """
    return joined([read(path) for path in files_of(folder, sides)])


def files_of(folder: Path, sides: Iterable[str]) -> list[Path]:
    """The files of a study's data set: one of a recorded run, else one for each of its sides."""
    whole = folder / WHOLE
    if whole.is_file():
        return [whole]
    return [folder / f"{side}.nc" for side in sides]


def joined(parts: Sequence[xr.Dataset]) -> xr.Dataset:
    """The parts of a study as one data set.

    Raises:
        ValueError: they disagree on a variable, or on the labels or the length of a dimension.

    Example:
        >>> exact = xr.Dataset({"exact": ("size", [1.0])}, {"size": [3]})
        >>> other = xr.Dataset({"numerical": ("size", [1.0])}, {"size": [4]})
        >>> sorted(joined([exact, exact]).variables)
        ['exact', 'size']
        >>> joined([exact, other])
        Traceback (most recent call last):
        ValueError: size: expected the same labels in all parts of a study; run its stages again
    """
    for first, second in itertools.pairwise(parts):
        for name in sorted({*first.coords} & {*second.coords}, key=str):
            if not first[name].equals(second[name]):
                expected = "expected the same labels in all parts of a study"
                raise ValueError(f"{name}: {expected}; run its stages again")
    return xr.merge(parts, join="exact", compat="equals", combine_attrs="drop_conflicts")


def of_kind(values: xr.DataArray, along: str, *masks: xr.DataArray) -> xr.DataArray:
    """The entries along a dimension that all masks choose, such as the bulk of a spectrum.

    Where masks differ along other dimensions as well, as many entries are chosen everywhere.

    Args:
        values: for example eigenvalues, with the dimension ``along``.
        along: the dimension.
        masks: booleans with the dimension ``along`` and perhaps others of the values'.

    Returns:
        The values with a shorter dimension ``along``, in their order, which comes last.

    Raises:
        ValueError: different numbers of entries are chosen.

    Example:
        >>> eigenvalues = xr.DataArray([-1.0, 1.0, 3.0], dims="rank")
        >>> kind = xr.DataArray(["bulk", "bulk", "outlier"], dims="rank")
        >>> of_kind(eigenvalues, "rank", kind == "bulk").values.tolist()
        [-1.0, 1.0]
    """
    chosen = xr.ones_like(values, dtype=bool)
    for mask in masks:
        chosen = chosen & mask
    rows = values.transpose(..., along)
    places = chosen.transpose(*rows.dims).values
    counts = np.unique(places.sum(axis=-1))
    if len(counts) > 1:
        raise ValueError(f"expected as many of a kind everywhere, got {counts}")
    own = {dim: rows.coords[dim] for dim in rows.dims[:-1] if dim in rows.coords}
    kept = rows.values[places].reshape(*rows.shape[:-1], int(counts[0]) if len(counts) else 0)
    return xr.DataArray(kept, own, rows.dims)


def left_out(data: xr.Dataset, number: int) -> xr.Dataset:
    """A data set that says how many trainings diverged, beside those that it says itself.

    Args:
        data: of a study.
        number: those that diverged among the networks that it started from.
    """
    number += int(data.get(LEFT_OUT, 0))
    return data.assign(data_set({LEFT_OUT: np.array(number)}, {})) if number else data


def require(data: xr.Dataset, *names: str) -> None:
    """Require that a run has some variables.

    Raises:
        MissingResultError: it lacks one; the message says what to do.
    """
    for name in names:
        if name not in data:
            raise lacking(name)


def lacking(name: object) -> MissingResultError:
    """The error of a variable that a run does not have."""
    return MissingResultError(
        f"the run has no variable {name!r}: it comes from an older version of the study, "
        "run its stage again"
    )

"""A table of numbers, your own or the diabetes study: some columns predict others."""

import difflib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import torch
import xarray as xr

from hessian_papers.constraints import AtLeast, Once, OneOf
from hessian_papers.data.base import (
    OFFLINE,
    ONE_FEATURE,
    SEVERAL_FEATURES,
    DataConfig,
    Form,
    Storage,
)
from hessian_papers.data.tools.pairs import SCALARS, VECTORS
from hessian_papers.data.tools.whitening import principal_components
from hessian_papers.labelled import Variable, Variables, data_set
from hessian_spectra.seeding import generator
from hessian_spectra.validation import optional_import, require

DIABETES, PATIENTS, MEASUREMENTS = "diabetes", 442, 10
ENDINGS = (".csv", ".parquet")
STANDARDISED, WHITENED, CENTRED, AS_IS = "standardised", "whitened", "centred", "as is"
# What stands between values in files that are called CSV.
DELIMITERS = (";", "\t", "|", " ")


@dataclass(frozen=True, kw_only=True)
class Config(DataConfig):
    """Settings of a table; of your own ``file`` and ``target`` say enough.

    Args:
        seed: of the rows that a ``size`` draws; nothing else is drawn.
        file: ``diabetes``, which comes with scikit-learn, or a path that ends in ``.csv`` or
            ``.parquet``, relative to ``data.root`` or absolute. The first line of a CSV has the
            names of the columns.
        target: the name of the column that is predicted, or the names of several.
        columns: the names of the inputs; empty: all columns but the targets. A single name makes
            one number per sample.
        inputs: ``standardised`` (zero mean and unit second moment in each column), ``whitened``
            (so, and uncorrelated: the principal components, the largest first), ``centred``, or
            ``as is``.
        targets: ``standardised`` or ``as is``.
        size: the number of rows that are drawn, without replacement; 0 takes all.
        delimiter: what stands between the values of a line of a CSV.
    """

    seed: int = 0
    file: str
    target: Any
    columns: Annotated[list[str], Once()] = field(default_factory=list)
    inputs: Annotated[str, OneOf((STANDARDISED, WHITENED, CENTRED, AS_IS))] = STANDARDISED
    targets: Annotated[str, OneOf((STANDARDISED, AS_IS))] = STANDARDISED
    size: Annotated[int, AtLeast(0)] = 0
    delimiter: str = ","

    def __post_init__(self) -> None:
        super().__post_init__()
        known = self.file == DIABETES or self.file.endswith(ENDINGS)
        require(known, "file", f"{DIABETES} or a path to a .csv or .parquet file", self.file)
        names = self.predicted
        fits = bool(names) and all(names) and len({*names}) == len(names)
        require(fits, "target", "the name of a column, or of several, each once", self.target)
        both = sorted({*names} & {*self.columns})
        require(not both, "columns", "other columns than the target", ", ".join(both))
        require(len(self.delimiter) == 1, "delimiter", "a single character", self.delimiter)

    @property
    def predicted(self) -> list[str]:
        """The names of the columns that are predicted."""
        return [*map(str, self.target if isinstance(self.target, list) else [self.target])]

    @property
    def form(self) -> Form:
        """One feature or several; how many there are, and of how many rows, only a file says."""
        targets, named = len(self.predicted), len(self.columns)
        samples = ONE_FEATURE if named == 1 else SEVERAL_FEATURES
        if self.file != DIABETES:
            return Form(samples, targets=targets)
        features = () if named == 1 else (named or MEASUREMENTS + 1 - targets,)
        return Form(samples, (self.size or PATIENTS, *features), targets)

    @property
    def stored(self) -> list[str]:
        """A file with no place of its own."""
        own = self.file == DIABETES or Path(self.file).expanduser().is_absolute()
        return [] if own else [self.file]


VARIABLES: Variables = {**VECTORS, "feature": Variable("feature", "name of the column")}
# Of several targets.
TARGETS: Variables = {
    "y": Variable("sample target", "targets"),
    "target": Variable("target", "name of the column"),
}


def make(config: Config, storage: Storage = OFFLINE) -> xr.Dataset:
    """The inputs x and the targets y of a table's rows, in their order.

    Returns:
        ``x`` ``(n, D)`` with the names of each ``feature``, or ``(n,)`` of a single named column;
        ``y`` ``(n,)``, or of several targets ``(n, K)`` with the names of each ``target``.

    Raises:
        FileNotFoundError: the file is missing.
        ValueError: it is no table, or a column that is asked for is not there, is there twice, has
            missing values, text or infinite numbers, or cannot be scaled as asked; one line says
            which column, where, and what to do.

    Example:
        >>> table = make(Config(kind="table", file="diabetes", target="target"))
        >>> table["x"].shape, table["feature"].values[:3].tolist()
        ((442, 10), ['age', 'sex', 'bmi'])
        >>> round(abs(float(table["y"].mean())), 12), round(float((table["y"] ** 2).mean()), 12)
        (0.0, 1.0)
    """
    frame, where = _frame(config, storage)
    inputs = config.columns or [name for name in frame.columns if name not in config.predicted]
    chosen = [*inputs, *config.predicted]
    for name in chosen:
        _require_column(frame.columns.tolist(), name, where)
    if not inputs:
        raise ValueError(f"{where}: expected an input beside {', '.join(chosen)}, got none")
    if config.size:
        require(config.size <= len(frame), "size", f"at most {len(frame)} rows", config.size)
        drawn = torch.randperm(len(frame), generator=generator(config.seed, "data rows"))
        frame = frame.iloc[drawn[: config.size].sort().values.numpy()]
    values = np.stack([_numbers(frame[name], where) for name in chosen], axis=1)
    # numpy adds up one column in pairs, several row by row: beside the targets an input has the
    # same bits in whatever company.
    x = _scaled(values, config.inputs, inputs, where)
    y = _scaled(values[:, len(inputs) :], config.targets, config.predicted, where)
    arrays: dict[str, Any] = {"x": x, "y": y, "target": np.array(config.predicted)}
    variables = {**VARIABLES, **TARGETS}
    if len(config.predicted) == 1:
        variables, arrays = {**VARIABLES}, {"x": x, "y": y[:, 0]}
    if len(config.columns) == 1:
        return data_set(arrays | {"x": x[:, 0]}, {**variables, "x": SCALARS["x"]})
    whitened = config.inputs == WHITENED
    names = [f"component {n + 1}" for n in range(len(inputs))] if whitened else inputs
    return data_set({"feature": np.array(names), **arrays}, variables)


def _frame(config: Config, storage: Storage) -> tuple[Any, str]:
    """The table as pandas reads it, and what it is called in messages."""
    if config.file == DIABETES:
        # Imported here: scikit-learn takes a second to load.
        sets = optional_import("sklearn.datasets", "pipeline")
        return sets.load_diabetes(as_frame=True, scaled=False).frame, DIABETES
    path = storage.place(config.file)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: expected a table; see data.root")
    if path.suffix == ".csv":
        frame = _csv(path, config.delimiter)
    else:
        # pandas' own choice, pyarrow, is 165 MB, and each process that loads pandas loads it.
        parquet = optional_import("fastparquet", "pipeline")
        try:
            with path.open("rb") as file:
                frame = parquet.ParquetFile(file).to_pandas(index=False)
        except Exception as error:  # a damaged file leads to one of many errors
            raise ValueError(f"{path}: expected a Parquet file, got: {_line(error)}") from None
        frame.columns = frame.columns.map(str)
    if not len(frame):
        raise ValueError(f"{path}: expected rows of numbers below the names, got none")
    return frame, str(path)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _csv(path: Path, delimiter: str) -> Any:
    """The table of a CSV file, with the names of its columns as they stand there."""
    options = {"sep": delimiter, "encoding": "utf-8-sig", "skipinitialspace": True}
    try:
        # pandas would number names that are there twice.
        first = pd.read_csv(path, header=None, nrows=1, dtype=str, **options).iloc[0]
        frame = pd.read_csv(path, low_memory=False, **options)
    except pd.errors.EmptyDataError:
        expected = "expected a line of names and rows of numbers"
        raise ValueError(f"{path}: {expected}, got an empty file") from None
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}: expected text in UTF-8, got the byte 0x{error.object[error.start]:02x}; "
            "convert it, for example with iconv -t UTF-8"
        ) from None
    except pd.errors.ParserError as error:
        expected = "expected as many values in each line as names in the first"
        raise ValueError(f"{path}: {expected}, got: {_line(error)}") from None
    names = [str(name).strip() for name in first.fillna("")]
    if len(names) == 1 and (guess := max(DELIMITERS, key=names[0].count)) in names[0]:
        raise ValueError(
            f"{path}: expected {delimiter!r} between the columns, got the only column "
            f"{names[0]!r}: set delimiter to {guess!r}"
        )
    # pandas would take values without a name as those of an index.
    if not frame.index.equals(pd.RangeIndex(len(frame))):
        raise ValueError(
            f"{path}: expected as many names as values in a row, got {len(names)} names and "
            f"{len(names) + frame.index.nlevels} values: name each column in the first line"
        )
    if pd.to_numeric(first, errors="coerce").notna().all():
        expected = "the names of the columns in its first line"
        raise ValueError(f"{path}: expected {expected}, got numbers: {', '.join(names[:3])}, ...")
    frame.columns = names
    return frame


def _require_column(names: list[str], name: str, where: str) -> None:
    """Refuse a column that is not there, or is there twice."""
    if not name:
        raise ValueError(
            f"{where}: expected a name for each input, got none for column "
            f"{names.index(name) + 1}, perhaps a row's number: name the inputs in columns"
        )
    near = difflib.get_close_matches(name, names, 1)
    known = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    hint = f": did you mean {near[0]!r}?" if near else f": it has {known}"
    if name not in names:
        raise ValueError(f"{where}: expected a column {name!r}, got none{hint}")
    if (count := names.count(name)) > 1:
        raise ValueError(f"{where}: expected one column {name!r}, got {count}: rename one of them")


def _numbers(column: Any, where: str) -> np.ndarray:
    """The numbers of a column, float64."""
    missing = column.isna().to_numpy(bool)
    cure = f"leave them out, or the column {column.name!r}"
    _refuse(column, missing, where, "missing values", f"fill these rows, {cure}")
    if not pd.api.types.is_numeric_dtype(column):
        read = pd.to_numeric(column.astype(str), errors="coerce")
        _refuse(
            column,
            read.isna().to_numpy(bool),
            where,
            "text or other values",
            f"make them numbers, {cure}",
        )
        column = read.rename(column.name)
    values: np.ndarray = column.to_numpy(np.float64)
    _refuse(column, ~np.isfinite(values), where, "infinite numbers", f"replace these rows, {cure}")
    return values


def _refuse(column: Any, bad: np.ndarray, where: str, got: str, cure: str) -> None:
    """Refuse a column some of whose values are bad; the rows are counted below the names."""
    if bad.any():
        place = int(bad.argmax())
        value = "" if column.isna().iloc[place] else f" ({str(column.iloc[place])!r:.40})"
        raise ValueError(
            f"{where}: expected numbers in column {column.name!r}, got {got} in {bad.sum()} of "
            f"{len(bad)} rows, first in row {column.index[place] + 1}{value}: {cure}"
        )


def _scaled(values: np.ndarray, how: str, names: list[str], where: str) -> np.ndarray:
    """The first columns ``(n, D)``, those that are named, as they are asked for."""
    centred, count = values - values.mean(axis=0), len(names)
    if how in (AS_IS, CENTRED):
        return np.ascontiguousarray((values if how == AS_IS else centred)[:, :count])
    for name, column in zip(names, values.T, strict=False):
        if np.ptp(column) == 0:
            raise ValueError(
                f"{where}: expected values that differ in column {name!r}, to be {how}, got the "
                f"same in all {len(values)} rows: leave it out, or take it {AS_IS!r}"
            )
    standardised = np.ascontiguousarray((centred / np.sqrt(np.mean(centred**2, axis=0)))[:, :count])
    if how == STANDARDISED:
        return standardised
    # The columns' units say nothing of what is redundant.
    components = principal_components(torch.from_numpy(standardised))
    if (rank := len(components.singular_values)) < count:
        raise ValueError(
            f"{where}: expected {count} independent columns, to be whitened, got rank {rank} "
            f"in {len(values)} rows: name fewer columns, or take them {STANDARDISED}"
        )
    return components.inputs(1.0).numpy()

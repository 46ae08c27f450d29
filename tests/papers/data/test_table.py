"""A user's own table: columns by name, scaled as asked, and each fault is one line."""

import fastparquet
import numpy as np
import pandas as pd
import pytest

from hessian_papers.data.base import OFFLINE, ONE_FEATURE, SEVERAL_FEATURES, Form, Storage
from hessian_papers.data.table import Config, make
from hessian_papers.labelled import content

FRAME = pd.DataFrame(
    {
        "area": [50.0, 72.5, 91.0, 64.0, 120.0, 33.0],
        "rooms": [2, 3, 4, 2, 5, 1],
        "price": [210.0, 300.0, 390.5, 260.0, 520.0, 150.0],
        "rent": [7.0, 9.5, 12.0, 8.0, 16.0, 5.5],
    }
)


@pytest.fixture
def folder(tmp_path):
    FRAME.to_csv(tmp_path / "houses.csv", index=False)
    return tmp_path


def table(folder, text=None, **settings):
    """The data set of a table, whose CSV may have another text."""
    if text is not None:
        content = text if isinstance(text, bytes) else text.encode()
        (folder / "houses.csv").write_bytes(content)
    given = {"file": "houses.csv", "target": "price"} | settings
    return make(Config(kind="table", **given), Storage(folder, False))


def test_columns_are_taken_by_name_and_standardised_each_alone(folder):
    data = table(folder)
    assert data["feature"].values.tolist() == ["area", "rooms", "rent"]
    np.testing.assert_allclose(data["x"].mean("sample"), 0, atol=1e-15)
    np.testing.assert_allclose((data["x"] ** 2).mean("sample"), 1, rtol=1e-15)
    price = FRAME["price"]
    np.testing.assert_allclose(data["y"], (price - price.mean()) / price.std(ddof=0), rtol=1e-12)
    fewer = table(folder, columns=["rent", "area"])
    assert fewer["feature"].values.tolist() == ["rent", "area"]
    assert np.array_equal(fewer["x"], data["x"].sel(feature=["rent", "area"]))


def test_a_single_named_column_is_one_number_per_sample(folder):
    data = table(folder, columns=["area"])
    assert data["x"].dims == ("sample",)
    assert np.array_equal(data["x"], table(folder)["x"].sel(feature="area"))
    assert Form.of(data) == Form(ONE_FEATURE, (6,))


def test_inputs_are_whitened_centred_or_left_as_they_are(folder):
    raw = FRAME[["area", "rooms"]].to_numpy(float)
    given = {"columns": ["area", "rooms"], "targets": "as is"}
    white = table(folder, inputs="whitened", **given)["x"]
    np.testing.assert_allclose(white.T.values @ white.values / 6, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(white.mean("sample"), 0, atol=1e-12)
    assert white["feature"].values.tolist() == ["component 1", "component 2"]
    # A linear map of the columns: nothing else is in it.
    centred = table(folder, inputs="centred", **given)["x"].values
    assert np.linalg.matrix_rank(np.hstack([centred, white.values]), tol=1e-9) == 2
    np.testing.assert_allclose(centred, raw - raw.mean(axis=0), rtol=1e-13)
    untouched = table(folder, inputs="as is", **given)
    assert np.array_equal(untouched["x"], raw)
    assert np.array_equal(untouched["y"], FRAME["price"])


def test_several_targets_are_named_and_no_inputs(folder):
    data = table(folder, target=["rent", "price"], targets="as is")
    assert data["target"].values.tolist() == ["rent", "price"]
    assert np.array_equal(data["y"], FRAME[["rent", "price"]])
    assert data["feature"].values.tolist() == ["area", "rooms"]
    assert Form.of(data) == Form(SEVERAL_FEATURES, (6, 2), 2)


def test_a_size_draws_rows_by_the_seed_and_scales_those(folder):
    rows = {
        seed: table(folder, size=4, seed=seed, targets="as is")["y"].values.tolist()
        for seed in range(8)
    }
    for drawn in rows.values():
        assert len(drawn) == 4
        assert drawn == [price for price in FRAME["price"].tolist() if price in drawn]
    assert len({tuple(drawn) for drawn in rows.values()}) > 1
    np.testing.assert_allclose(table(folder, size=4)["x"].mean("sample"), 0, atol=1e-15)


def test_equal_tables_give_equal_bytes_as_csv_and_as_parquet(folder):
    fastparquet.write(str(folder / "houses.parquet"), FRAME)
    text = FRAME.to_csv(index=False, sep=";").replace(";", " ;  ")
    expected = content(table(folder))
    assert content(table(folder)) == expected
    assert content(table(folder, file="houses.parquet")) == expected
    assert content(table(folder, "\ufeff" + text, delimiter=";")) == expected
    assert content(make(Config(kind="table", file=str(folder / "houses.parquet"), target="price"))
                   ) == expected  # fmt: skip


def test_numbers_keep_all_their_digits(folder):
    numbers = [0.1 + 0.2, 1e-17, 123456789.12345679, -1 / 3]
    text = "a,price\n" + "".join(f"{n!r},{place}\n" for place, n in enumerate(numbers))
    assert table(folder, text, inputs="as is")["x"].values.ravel().tolist() == numbers


def test_a_file_below_the_root_or_with_a_place_of_its_own_counts_as_the_users(folder):
    settings = {"file": "houses.csv"}
    assert [*Storage(folder, False).own_files(settings)] == [folder / "houses.csv"]
    assert [*OFFLINE.own_files({"file": "/my/houses.parquet"})] != []
    assert not [*Storage(folder, False).own_files({"file": "diabetes"})]
    config = Config(kind="table", file="houses.csv", target="price")
    assert config.stored == ["houses.csv"]
    with pytest.raises(FileNotFoundError, match=r"houses\.csv is relative to data\.root, which is"):
        make(config)


def rows(*changed):
    """The text of a table of two columns and six rows, in some of which the second is another."""
    given = dict(changed)
    return "area,price\n" + "".join(f"{given.get(n, n * 2.5)},{n}\n" for n in range(1, 7))


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        (rows((3, ""), (5, "NA")), {}, "expected numbers in column 'area', got missing values in "
         "2 of 6 rows, first in row 3: fill these rows, leave them out, or the column 'area'"),
        (rows((4, "large")), {}, "numbers in column 'area', got text or other values in 1 of 6 "
         "rows, first in row 4 ('large'): make them numbers"),
        (rows((2, '"1,5"')), {}, "got text or other values in 1 of 6 rows, first in row 2 ('1,5')"),
        (rows((6, "-inf")), {}, "got infinite numbers in 1 of 6 rows, first in row 6 ('-inf')"),
        (rows(), {"target": "prize"}, "a column 'prize', got none: did you mean 'price'?"),
        (rows(), {"columns": ["zone"]}, "a column 'zone', got none: it has area, price"),
        (rows().replace("area,price", "price,price"), {}, "one column 'price', got 2: rename"),
        (rows(*((n, 7) for n in range(1, 7))), {}, "values that differ in column 'area', to be "
         "standardised, got the same in all 6 rows: leave it out, or take it 'as is'"),
        ("a,b,c,price\n1,2,3,4\n5,6,8,8\n", {"inputs": "whitened"}, "expected 3 independent "
         "columns, to be whitened, got rank 1 in 2 rows: name fewer columns, or take them stand"),
        ("", {}, "expected a line of names and rows of numbers, got an empty file"),
        ("area,price\n", {}, "expected rows of numbers below the names, got none"),
        ("area;price\n1;2\n3;4\n", {}, "expected ',' between the columns, got the only column "
         "'area;price': set delimiter to ';'"),
        ("area\tprice\n1\t2\n", {}, "set delimiter to '\\t'"),
        ("price\n1\n2\n", {}, "expected an input beside price, got none"),
        ("1,2\n3,4\n", {}, "expected the names of the columns in its first line, got numbers: 1"),
        ("area,price\n1,2,3\n4,5,6\n", {}, "expected as many names as values in a row, got 2 "
         "names and 3 values: name each column in the first line"),
        ("area,price\n1,2\n4,5,6\n", {}, "expected as many values in each line as names in the "
         "first, got: Error tokenizing data. C error: Expected 2 fields in line 3, saw 3"),
        ("größe,price\n1,2\n".encode("latin-1"), {}, "expected text in UTF-8, got the byte 0xf6"),
        (",area,price\n0,1,2\n1,4,5\n", {}, "expected a name for each input, got none for column "
         "1, perhaps a row's number: name the inputs in columns"),
        (rows(), {"size": 7}, "size: expected at most 6 rows, got 7"),
        (rows(), {"file": "flats.csv"}, "flats.csv is missing: expected a table; see data.root"),
    ],
)  # fmt: skip
def test_what_is_no_table_of_numbers_is_refused_in_one_line(folder, text, settings, message):
    with pytest.raises((ValueError, FileNotFoundError)) as error:
        table(folder, text, **settings)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "damage", [lambda whole: b"", lambda whole: b"area,price", lambda whole: whole[:90]]
)
def test_a_damaged_parquet_file_is_refused_in_one_line(folder, damage):
    path = folder / "houses.parquet"
    fastparquet.write(str(path), FRAME)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=r"houses\.parquet: expected a Parquet file, got: .+$"):
        table(folder, file="houses.parquet")


def test_dates_and_missing_numbers_of_parquet_are_refused(folder):
    days = pd.to_datetime(["2026-01-01"] * 6)
    frame = FRAME.assign(day=days, rooms=pd.array([1, 2, None, 4, 5, 6], "Int64"), ok=True)
    fastparquet.write(str(folder / "houses.parquet"), frame)
    for name, got in (
        ("day", "text or other values in 6 of 6"),
        ("rooms", "missing values in 1 of 6 rows, first"),
    ):
        with pytest.raises(ValueError, match=f"column '{name}', got {got}"):
            table(folder, file="houses.parquet", columns=[name, "area"])
    flags = table(folder, file="houses.parquet", columns=["ok"], inputs="as is")
    assert flags["x"].values.tolist() == [1.0] * 6

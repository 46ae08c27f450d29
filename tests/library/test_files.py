"""Arrays and records in files: whole or not at all, equal bytes for equal content."""

import io
import os
import pickle
import platform
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from hessian_spectra import files


def test_arrays_come_back_as_written(tmp_path):
    arrays = {
        "b": np.arange(6.0).reshape(2, 3),
        "a": np.array([True, False]),
        "names": np.array(["x", "yz"]),
        "scalar": 3,
    }
    files.write_arrays(tmp_path / "deep" / "file.npz", arrays)
    read = files.read_arrays(tmp_path / "deep" / "file.npz")
    assert sorted(read) == sorted(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(read[name], array)


def test_equal_arrays_give_equal_bytes(tmp_path):
    for order, name in ((1, "one"), (-1, "two")):
        items = [("a", np.ones(3)), ("b", np.zeros(2))][::order]
        files.write_arrays(tmp_path / name, dict(items))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_objects_are_refused_and_the_old_file_stays(tmp_path):
    path = tmp_path / "file.npz"
    files.write_arrays(path, {"a": np.ones(1)})
    before = path.read_bytes()
    with pytest.raises(TypeError, match="array 'bad': expected numbers, booleans or strings"):
        files.write_arrays(path, {"bad": [object()]})
    assert path.read_bytes() == before


def test_an_interrupted_write_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write_bytes(tmp_path / "file", b"half")
    assert list(tmp_path.iterdir()) == []


def test_json_has_no_nan(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        files.write_json(tmp_path / "file.json", {"a": float("nan")})
    assert list(tmp_path.iterdir()) == []


def test_json_comes_back_and_ignores_the_order_of_keys(tmp_path):
    files.write_json(tmp_path / "one", {"a": 0.1, "b": [1, "ü"]})
    files.write_json(tmp_path / "two", {"b": [1, "ü"], "a": 0.1})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert files.read_json(tmp_path / "one") == {"a": 0.1, "b": [1, "ü"]}


@pytest.mark.parametrize("read", [files.read_arrays, files.read_json])
def test_a_missing_file_names_the_remedy(tmp_path, read):
    with pytest.raises(files.MissingResultError) as caught:
        read(tmp_path / "closed_form" / "x.npz")
    message = str(caught.value)
    assert "x.npz is missing: run the stage that writes it (dvc repro" in message
    assert "\n" not in message


def test_what_a_killed_process_left_is_cleared_away(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    here = platform.node()
    left = tmp_path / f".file.{here}.{gone.pid}.partial"
    alive = tmp_path / f".file.{here}.{os.getppid()}.partial"
    elsewhere = tmp_path / f".file.not-{here}.{gone.pid}.partial"
    for file in (left, alive, elsewhere):
        file.write_bytes(b"half")
    files.write_bytes(tmp_path / "file", b"whole")
    assert not left.exists()
    assert alive.exists(), "another process is still writing"
    assert elsewhere.exists(), "a process of another machine may still be writing"
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_a_digest_depends_on_values_and_not_on_their_order():
    first = {"a": 1, "b": {"c": [1, 2]}}
    assert files.digest(first) == files.digest({"b": {"c": [1, 2]}, "a": 1})
    assert files.digest(first) != files.digest(first | {"a": 2})
    assert len(files.digest({})) == 12


def test_a_file_that_cannot_be_written_is_named_and_nothing_is_left(tmp_path):
    path = tmp_path / "arrays.npz"
    partial = tmp_path / f".{path.name}.{platform.node()}.{os.getpid()}.partial"
    partial.symlink_to("/dev/full")  # a device without any space left
    with pytest.raises(OSError, match=r"No space left on device: '.*/arrays\.npz'$"):
        files.write_bytes(path, b"content")
    assert list(tmp_path.iterdir()) == []


def flip(content):
    """One bit in the middle."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def saved(save, *arguments, **arrays):
    buffer = io.BytesIO()
    save(buffer, *arguments, **arrays)
    return buffer.getvalue()


def with_a_text(content):
    buffer = io.BytesIO(content)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("words.txt", "no array")
    return buffer.getvalue()


NO_ARCHIVE = "it is no npz archive, or one that was cut off"


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (lambda content: b"", NO_ARCHIVE),
        (lambda content: b"junk", NO_ARCHIVE),
        (lambda content: content[:-1], NO_ARCHIVE),
        (lambda content: saved(np.save, np.ones(3)), NO_ARCHIVE),
        (flip, "Bad CRC-32 for file 'a.npy'"),
        (lambda content: with_a_text(content), "'words.txt' is no array"),
        (
            lambda content: saved(np.savez, a=np.array([None])),
            "Object arrays cannot be loaded when allow_pickle=False",
        ),
    ],
)
def test_damaged_arrays_are_one_line_that_says_what_to_do(tmp_path, harm, reason):
    path = tmp_path / "numerics.npz"
    files.write_arrays(path, {"a": np.arange(100.0)})
    path.write_bytes(harm(path.read_bytes()))
    for remedy in ({}, {"remedy": "git checkout it"}):
        with pytest.raises(files.DamagedFileError) as caught:
            files.read_arrays(path, **remedy)
        run = remedy.get("remedy", "the stage that writes it (dvc repro)")
        assert str(caught.value) == f"{path} is damaged ({reason}): delete it and run {run}"


def test_what_is_said_of_a_damaged_file_survives_the_way_from_another_process():
    error = files.damaged(Path("a.npz"), "half\nof it", "mend it")
    assert str(error) == "a.npz is damaged (half of it): mend it"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_memory_that_is_short_is_no_damage(tmp_path, monkeypatch):
    def short(*_, **__):
        raise MemoryError

    files.write_arrays(tmp_path / "a.npz", {"a": np.ones(1)})
    monkeypatch.setattr(files.np, "load", short)
    with pytest.raises(MemoryError):
        files.read_arrays(tmp_path / "a.npz")


@pytest.mark.parametrize("content", [b"{", b"", b"\xff", b'{"a": 1}}'])
def test_damaged_json_is_one_line_that_says_what_to_do(tmp_path, content):
    path = tmp_path / "facts.json"
    path.write_bytes(content)
    with pytest.raises(files.DamagedFileError) as caught:
        files.read_json(path, "git checkout it")
    assert str(caught.value).startswith(f"{path} is no JSON (")
    assert str(caught.value).endswith("): delete it and run git checkout it")
    assert "\n" not in str(caught.value)

"""A memory of files: they are read again when they have changed, and not before."""

import hashlib
import os
import time

import pytest

from hessian_papers import memory


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Reads a file through a memory, new as in another process, and says how often it was read."""
    asked = []

    def content(file, *others):
        asked.append(file.name)
        return [file.read_text(), *(other.read_text() for other in others)]

    def read(*names, **options):
        before, actual = len(asked), memory.Memory(tmp_path / "kept" / "known.json")
        result = actual.of(content, *(tmp_path / name for name in names), **options)
        actual.keep()
        return result, len(asked) - before

    for name in ("first", "second"):
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(memory, "SETTLED_SECONDS", -1.0)
    return read


def change(file, content):
    """As careless tools do: size and time of change are those of the old file."""
    times = file.stat()
    file.write_text(content)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_a_file_is_read_again_only_when_it_has_changed(tmp_path, read):
    assert read("first") == (["first"], 1)
    assert read("second") == (["second"], 1)
    assert read("first") == (["first"], 0)
    change(tmp_path / "first", "other")
    assert read("first") == (["other"], 1)
    assert read("second") == (["second"], 0)


def test_files_that_are_read_together_are_so_again_when_one_has_changed(tmp_path, read):
    assert read("first", "second") == (["first", "second"], 1)
    assert read("first", "second") == (["first", "second"], 0)
    change(tmp_path / "second", "others")
    assert read("first", "second") == (["first", "others"], 1)
    assert read("first") == (["first"], 1)


def test_a_file_that_has_just_changed_is_read_each_time(read, monkeypatch):
    """Within one tick of the clock it may change again, and nothing but its content tells."""
    monkeypatch.setattr(memory, "SETTLED_SECONDS", 2.0)
    assert [read("first")[1] for _ in range(2)] == [1, 1]
    now = time.time()
    monkeypatch.setattr(memory.time, "time", lambda: now + 3)
    assert [read("first")[1] for _ in range(2)] == [1, 0]


def test_what_does_not_last_is_found_out_each_time(read):
    assert [read("first", lasts=lambda result: result != ["first"])[1] for _ in range(2)] == [1, 1]


def test_another_version_of_the_code_finds_out_anew(read, monkeypatch):
    read("first")
    monkeypatch.setattr(memory, "_version", lambda module: f"another {module}")
    assert [read("first")[1] for _ in range(2)] == [1, 0]


@pytest.mark.parametrize("damage", ["", "{", "[1]", "0\n{}", "\udcff"])
def test_a_damaged_memory_costs_a_reading(tmp_path, read, damage):
    read("first")
    known = tmp_path / "kept" / "known.json"
    known.write_bytes(damage.encode("utf-8", "surrogateescape"))
    assert [read("first")[1] for _ in range(2)] == [1, 0]
    whole = known.read_text("utf-8")
    known.write_text(whole.replace("first", "other"))
    assert [read("first")[1] for _ in range(2)] == [1, 0]


def test_what_is_gone_is_forgotten(tmp_path, read):
    read("first")
    (tmp_path / "first").unlink()
    with pytest.raises(FileNotFoundError):
        read("first")
    read("second")
    assert "first" not in (tmp_path / "kept" / "known.json").read_text("utf-8")


def test_the_digest_of_a_file(tmp_path):
    (tmp_path / "file").write_bytes(b"one")
    assert memory.sha256(tmp_path / "file") == hashlib.sha256(b"one").hexdigest()

"""Planted mistakes: which there are, which tests are asked, and what no test sees is printed."""

import os
import re
import resource
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from benchmarks import mutations
from benchmarks.mutants import mutants
from benchmarks.mutations import ROOMS, main, modules_of, sample
from tests.processes import runs, wait_for

ROOT = Path(__file__).resolve().parents[2]
LIBRARY, PAPERS = Path("src/hessian_spectra"), Path("src/hessian_papers")
PRODUCT = '''"""A product."""


def product(a: int, b: int | None = None) -> int:
    """Of 1 and 2 it is 2."""
    if a == -1 and b is None:
        raise ValueError("expected 1 + 1, got -1")
    return a * b
'''


def tree(root, files):
    """A repository with a library and its tests."""
    for place, text in files.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text(text)
    (root / LIBRARY / "__init__.py").touch()
    subprocess.run(["git", "init", "--quiet", root], check=True)
    return root


@pytest.fixture
def bare(monkeypatch):
    """The tests of copies run without plugins: they take a second to load, and do nothing here."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    options = [option for option in mutations.PYTEST if "hypothesis" not in option]
    monkeypatch.setattr(mutations, "PYTEST", options)


@pytest.fixture
def tiny(tmp_path):
    """A room with a product whose test does not tell ``a * b`` from ``a * a``; a module alone."""
    test = "from hessian_spectra.room.product import product\n\n\ndef test():\n    "
    files = {
        "src/hessian_spectra/room/product.py": PRODUCT,
        "src/hessian_spectra/lone.py": "def half(x):\n    return x / 2\n",
        "tests/library/room/test_product.py": f"{test}assert product(2, 2) == 4\n",
    }
    return tree(tmp_path / "tiny", files)


def content(root):
    return {file: file.read_bytes() for file in root.rglob("*") if file.is_file()}


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("a + b", ["(a - b)"]),
        ("a - b", ["(a + b)", "(b - a)"]),
        ("a * b", ["(a / b)", "(a * a)"]),
        ("a ** b", ["(a * b)"]),
        ("a += b", ["a -= b"]),
        ("a < b", ["(a <= b)", "(a >= b)"]),
        ("a < b == c", ["(a <= b == c)", "(a >= b == c)", "(a < b != c)"]),
        ("a and b", ["(a or b)"]),
        ("not a", ["(a)"]),
        ("-a", ["(a)"]),
        ("3", ["(4)", "(2)"]),
        ("0.5", ["(1.5)"]),
        ("1e6", ["(2000000.0)"]),
        ("0.0625", ["(1.0625)", "(62.5)", "(6.25e-05)"]),
        ("True", ["(False)"]),
        ("min(a)", ["(max(a))"]),
        ("math.ceil(a)", ["(math.floor(a))"]),
        ("a.sum()", ["(a.mean())"]),
        ("sum(a)", []),
        ("a if b else c", ["(a if not b else c)"]),
        ("def f(a: 'x' | None) -> 'y' | None: 'Of 1 + 1.'", []),
        ("a: int | None", []),
        ("assert a < b", []),
        ("raise ValueError(f'{a + b}', 1)", []),
        ("f'{a + b}'", []),
        ("@dataclass(frozen=True)\nclass A: pass", []),
    ],
)
def test_the_mutants_of_an_expression(text, after):
    assert [mutant.after for mutant in mutants(text)] == after


def test_a_mutant_is_planted_where_it_is():
    text = "é = 1\nx = f(a,\n      b - c)  # b - c\n"
    planted = [mutant.planted(text) for mutant in mutants(text) if mutant.operator == "sign"]
    assert planted == [text.replace("b - c)", "(c - b))")]


def test_every_mutant_of_the_library_is_python():
    for file in sorted((ROOT / PAPERS / "ledger").rglob("*.py")):
        text = file.read_text()
        for mutant in mutants(text):
            assert mutant.planted(text) != text
            compile(mutant.planted(text), str(file), "exec")


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("spectra/statistics.py", ["library/test_statistics.py"]),
        (
            "papers/studies/images/training_courses/study.py",
            [f"papers/studies/images/test_training_courses{part}.py" for part in ("", "_claims")],
        ),
        ("spectra/closed_form/recognition/forms.py", ["library/closed_form/test_recognition.py"]),
        (
            "papers/studies/base.py",
            [
                f"papers/studies/test_{name}.py"
                for name in ("base", "spectra", "thresholds", "training_of_a_study", "trainings")
            ],
        ),
        ("papers/work.py", []),
    ],
)
def test_the_tests_next_to_a_module(module, expected):
    assert mutations.tests_of(Path(f"src/hessian_{module}"), ROOT) == tuple(
        f"tests/{name}" for name in expected
    )


@pytest.mark.parametrize(
    ("module", "expected"),
    [("warm", ["warm"]), ("figures", ["messages", "recorded"]), ("lifetime", [])],
)
def test_of_the_pipeline_the_tests_that_import_a_module_are_next_to_it(module, expected):
    actual = mutations.tests_of(Path("pipelines", f"{module}.py"), ROOT)
    assert actual == tuple(f"tests/pipelines/test_{name}.py" for name in expected)


def test_the_tests_named_after_a_module_go_first():
    actual = mutations.tests_of(PAPERS / "ledger" / "totals.py", ROOT)
    assert actual[0] == "tests/papers/ledger/test_totals.py"
    assert sorted(actual) == sorted(
        str(file.relative_to(ROOT)) for file in (ROOT / "tests/papers/ledger").glob("test_*.py")
    )


def test_each_room_has_its_share_of_a_sample(monkeypatch):
    monkeypatch.setattr(mutations, "mutants", cache(mutants))
    chosen, without = sample(ROOMS, 80, 0)
    assert [sum(item.room == room for item in chosen) for room in ROOMS] == [10] * 8
    assert chosen == sample(ROOMS, 80, 0)[0] != sample(ROOMS, 80, 1)[0]
    # Entry points, which run whole stages alone.
    assert {module.parts[0] for module in without} == {"pipelines"}
    assert not any(item.module.stem == "figure" for item in chosen)
    # What one room does not have the others give.
    few = sample(["closed_form/cubic", "ledger"], 10**6, 0)[0]
    assert {item.room for item in few} == {"closed_form/cubic", "ledger"}
    assert len(sample(["closed_form/cubic", "ledger"], len(few), 1)[0]) == len(few)


def test_what_no_test_sees_is_printed_and_the_tree_is_as_it_was(tiny, bare, capsys):
    before = content(tiny)
    assert main(["--rooms", "room", "lone", "--processes", "2"], tiny) == 0
    assert content(tiny) == before
    *survivors, alone, room, total = capsys.readouterr().out.splitlines()
    place = "survived: src/hessian_spectra/room/product.py"
    assert f"{place}:8:12: one factor twice: a * b  ->  (a * a)" in survivors
    assert f"{place}:6:8: and, or: a == -1 and b is None  ->  (a == -1 or b is None)" in survivors
    assert not any("a / b" in line for line in survivors)
    assert alone == "no tests next to it: src/hessian_spectra/lone.py"
    planted = len(mutants(PRODUCT))
    assert room == f"room: {planted} planted, {len(survivors)} survived"
    assert total == f"all: {planted} planted, {len(survivors)} survived"


def test_tests_that_fail_without_a_mistake_tell_nothing(tiny, bare, capsys):
    (tiny / "tests/library/room/test_other.py").write_text("def test():\n    assert False\n")
    assert main(["--rooms", "room", "--processes", "1"], tiny) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert re.match(r"tests fail as it is: src/\S+/product\.py: 1 failed", first)
    assert last == "all: 0 planted, 0 survived"


def test_a_mutant_that_hangs_is_caught(tmp_path, bare, capsys, monkeypatch):
    monkeypatch.setattr(mutations, "SECONDS", 1)
    call = "from hessian_spectra.count import count\n\n\ndef test():\n    count(2)\n"
    files = {
        "src/hessian_spectra/count.py": "def count(n):\n    while n:\n        n -= 1\n",
        "tests/library/test_count.py": call,
    }
    root = tree(tmp_path, files)
    assert main(["--rooms", "count", "--number", "9", "--processes", "1"], root) == 0
    # Of n -= 1: n += 1 and n -= 0 never come to 0; nor does n -= 2, but from 2.
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == "survived: src/hessian_spectra/count.py:3:14: constant: 1  ->  (2)"
    assert last == "all: 3 planted, 1 survived"


def test_a_mutant_that_hangs_ends_where_its_driver_was_killed(tiny, tmp_path, bare):
    limits = tmp_path / "limits"
    (tiny / "tests/library/room/test_limit.py").write_text(
        "import resource\n\n\ndef test():\n"
        f"    with open({str(limits)!r}, 'a') as file:\n"
        "        print(resource.getrlimit(resource.RLIMIT_CPU)[0], file=file)\n"
    )
    assert main(["--rooms", "room", "--number", "9", "--processes", "1"], tiny) == 0
    without, *planted = map(int, limits.read_text().split())
    assert without == resource.getrlimit(resource.RLIMIT_CPU)[0]
    assert planted
    assert all(mutations.SECONDS <= each < 3600 for each in planted)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_tests_and_leaves_nothing(tiny, tmp_path, sent):
    marker, scratch = tmp_path / "marker", tmp_path / "scratch"
    scratch.mkdir()
    (tiny / "tests/library/room/test_slow.py").write_text(
        "import os, time\n\n\ndef test():\n"
        f"    with open({str(marker)!r}, 'w') as file:\n"
        "        file.write(f'{os.getpid()}\\n')\n"
        "    time.sleep(200)\n"
    )
    before = content(tiny)
    call = f"mutations.console(['--rooms', 'room'], pathlib.Path({str(tiny)!r}))"
    process = subprocess.Popen(
        [sys.executable, "-c", f"import pathlib\nfrom benchmarks import mutations\n{call}"],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for(lambda: process.poll() is not None or (marker.exists() and marker.read_text()), 60)
        process.send_signal(sent)
        out, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert out.splitlines() == ["interrupted", "all: 0 planted, 0 survived"]
    assert "Traceback" not in errors
    assert not runs(int(marker.read_text()))
    assert not [*scratch.iterdir()]
    assert content(tiny) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rooms", "closed-form"], "--rooms: expected packages or modules .*, got 'closed-form'"),
        (["--rooms", "../pipelines"], "--rooms: expected packages .*, got '../pipelines'"),
        (["--rooms", "studies/images/training_courses/figure"], "that compute something"),
        (["--number", "0"], "--number: expected a whole number of at least 1, got '0'"),
        (["--processes", "x"], "--processes: expected a whole number of at least 1, got 'x'"),
    ],
)
def test_a_bad_argument_is_named_in_one_line(arguments, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert re.search(message, capsys.readouterr().err.splitlines()[-1])


def test_a_room_is_a_package_or_a_module():
    assert modules_of("statistics", ROOT) == [LIBRARY / "statistics.py"]
    assert PAPERS / "ledger" / "bounds.py" in modules_of("ledger", ROOT)
    assert Path("pipelines", "chain.py") in modules_of("pipelines", ROOT)

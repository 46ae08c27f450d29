"""Command changed: print the tests of what differs from a commit, for `make test-quick`.

python -m tests.changed [commit]
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The tests of the text are quick, and of every change.
ALWAYS = ("test_architecture.py", "test_docstrings.py", "test_language.py")
# Where the tests of a folder's files are.
TESTS = {
    "src/hessian_spectra": "library",
    "src/hessian_papers": "papers",
    "pipelines": "pipelines",
    "conf": "pipelines/test_schema.py",
    "docs": "test_prose.py",
    "benchmarks": "benchmarks",
    "tests": ".",
}


def tests_of(file: str) -> Iterator[str]:
    """The folders and files of tests that are next to a file, as far as there are any.

    Example:
        >>> [*tests_of("src/hessian_spectra/closed_form/spectra.py")]
        ['tests/library/closed_form']
        >>> [*tests_of("src/hessian_spectra/seeding.py"), *tests_of("README.md")]
        ['tests/library/test_seeding.py']
    """
    place = next((place for place in TESTS if file.startswith(f"{place}/")), None)
    if place is None:
        return
    if place == "tests" and Path(file).name.startswith("test_"):
        yield from [file] if (ROOT / file).is_file() else []
        return
    folder = Path("tests", TESTS[place])
    if folder.suffix:
        yield folder.as_posix()
        return
    own = Path(file).relative_to(place)
    # From the folder that is called like the file's own up to the one of its package.
    for parent in own.parents:
        if str(parent) != "." and (ROOT / folder / parent).is_dir():
            yield (folder / parent).as_posix()
            return
    name = own.parts[0].removesuffix(".py").removeprefix("test_")
    yield from sorted(
        path.relative_to(ROOT).as_posix() for path in (ROOT / folder).glob(f"test_{name}*.py")
    )


def main(reference: str) -> None:
    """Print the tests of all files that differ, whether they are committed or not."""
    changed = ("git", "diff", "--name-only", reference)
    new = ("git", "ls-files", "--others", "--exclude-standard")
    files = [
        name
        for command in (changed, new)
        for name in subprocess.run(
            command, cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.splitlines()
    ]
    chosen = {test for file in files for test in tests_of(file)}
    print(*sorted(chosen | {f"tests/{name}" for name in ALWAYS}))


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else "HEAD")

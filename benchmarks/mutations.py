"""Which planted mistakes do the tests next to the code not see?

``python -m benchmarks.mutations [--rooms closed_form pipelines] [--number 200] [--seed 0]``
plants mistakes in the library and the pipeline, one at a time, runs the tests next to the module
for each, and prints those that no test saw: an operator for its opposite, a sign, a border, a
constant one off, a threshold of another size, a minimum for a maximum. A survivor is a test that is
missing, or a change that changes nothing.

Mistakes are planted in copies of the checkout, which itself is only read. A module's tests are
those that mirror its place, :func:`tests_of`, less those that run whole stages; they have to pass
on the module as it is. Each mutant has a multiple of the time that this took.

It is not mutmut, which leaves out properties and whatever else is decorated, so every claim; nor
cosmic-ray, which has no mutants of functions, such as ceil for floor, and no sample of the mutants.
"""

import argparse
import contextlib
import functools
import math
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.mutants import Mutant, mutants
from tests.pipelines.workspace import ROOT, copy_repository, environment

# Each package, and where its tests are.
PACKAGES = {
    Path("src", "hessian_spectra"): Path("tests", "library"),
    Path("src", "hessian_papers"): Path("tests", "papers"),
    Path("pipelines"): Path("tests", "pipelines"),
}
ROOMS = (
    *("closed_form", "statistics", "ledger", "pac_bayes", "studies"),
    *("report", "tracking", "pipelines"),
)
# What draws and what is only words has tests of its own kind: it computes no number of a claim.
WORDLESS = ("figure", "drawing", "texts")
# A mutant that takes so many times as long as the module itself, and so many seconds more, hangs.
TIMES, SECONDS = 4, 30
PYTEST = (
    *("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0"),
    *("-m", "not pipeline"),
)


@dataclass(frozen=True)
class Planted:
    """A mutant of one of a room's modules, and the tests next to it."""

    room: str
    module: Path
    tests: tuple[str, ...]
    mutant: Mutant

    def __str__(self) -> str:
        """Where, what, and how it was before and after."""
        of = self.mutant
        return f"{self.module}:{of.line}:{of.column}: {of.operator}: {of.before}  ->  {of.after}"


@dataclass
class Outcome:
    """The fate of the mutants.

    Attributes:
        caught: by room, how many a test saw.
        survived: those that no test saw.
        without: modules that have no tests next to them.
        broken: modules whose tests do not pass as they are, with the last line that they print.
    """

    caught: Counter[str] = field(default_factory=Counter)
    survived: list[Planted] = field(default_factory=list)
    without: list[Path] = field(default_factory=list)
    broken: dict[Path, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """The survivors, then a line for each room and one for all."""
        by_room = Counter(item.room for item in self.survived)
        lines = [f"survived: {item}" for item in sorted(self.survived, key=str)]
        lines += [f"no tests next to it: {module}" for module in sorted(self.without)]
        lines += [f"tests fail as it is: {module}: {why}" for module, why in self.broken.items()]
        for room in sorted({*self.caught, *by_room}):
            planted = self.caught[room] + by_room[room]
            lines.append(f"{room}: {planted} planted, {by_room[room]} survived")
        planted = self.caught.total() + len(self.survived)
        return "\n".join([*lines, f"all: {planted} planted, {len(self.survived)} survived"])


def modules_of(room: str, root: Path) -> list[Path]:
    """The modules of a room, or of a whole package, that compute something, relative to the root.

    Raises:
        ValueError: there is no such package or module, or nothing in it computes.
    """
    files: list[Path] = []
    whole = [root / package for package in PACKAGES if package.name == room]
    for place in [*(root / package / room for package in PACKAGES), *whole]:
        module = place.with_suffix(".py")
        files += [module] if module.is_file() else sorted(place.rglob("*.py"))
    result = [file.relative_to(root) for file in files if file.stem not in WORDLESS]
    if not result or ".." in Path(room).parts or Path(room).is_absolute():
        places = " or ".join(map(str, PACKAGES))
        raise ValueError(
            f"--rooms: expected packages or modules below {places} that compute something, such as "
            f"closed_form or studies/scalar, got {room!r}"
        )
    return result


def tests_of(module: Path, root: Path) -> tuple[str, ...]:
    """The test files next to a module, those named after it first.

    Where the folder of its package's tests mirrors the module's packages, they are in the last
    folder that does: the ones named after the next package (``studies/scalar/relu_cells/
    study.py`` has ``studies/scalar/test_relu_cells*.py``), or all of the folder where none is.
    Of the files in the package's folder itself only those named after the module are meant, or
    those that import it where none is. What tests pictures alone is left out.

    Args:
        module: relative to the root.
        root: of the checkout.
    """
    package = next(package for package in PACKAGES if module.is_relative_to(package))
    base = folder = root / PACKAGES[package]
    names = [*module.relative_to(package).with_suffix("").parts]
    while len(names) > 1 and (folder / names[0]).is_dir():
        folder = folder / names.pop(0)
    files = [file for file in sorted(folder.glob("test_*.py")) if "_figure" not in file.stem]
    named = [file for file in files if file.stem.startswith(f"test_{names[0].strip('_')}")]
    if len(names) > 1 or folder == base:
        files = named or [file for file in files if folder != base or _imports(file, module)]
    chosen = named + [file for file in files if file not in named]
    return tuple(str(file.relative_to(root)) for file in chosen)


def _imports(test: Path, module: Path) -> bool:
    """Whether a test imports a module by name."""
    *packages, name = module.with_suffix("").parts
    package = ".".join(part for part in packages if part != "src")
    line = rf"^from {package}(\.{name} import| import .*\b{name}\b)"
    return re.search(line, test.read_text("utf-8"), re.MULTILINE) is not None


def sample(
    rooms: Sequence[str], number: int, seed: int, root: Path = ROOT
) -> tuple[list[Planted], list[Path]]:
    """Mutants of each room, as many of each, drawn from all of its own; the modules without tests.

    Args:
        rooms: packages or modules of the library.
        number: how many mutants altogether; a room that has fewer leaves its share to the others.
        seed: of the draw.
        root: of the checkout.

    Raises:
        ValueError: a room is no package or module of the library.
    """
    draw, without, pools = random.Random(seed), [], []
    for room in dict.fromkeys(rooms):
        pool = []
        for module in modules_of(room, root):
            tests = tests_of(module, root)
            entries = mutants((root / module).read_text("utf-8"))
            pool += [Planted(room, module, tests, mutant) for mutant in entries if tests]
            without += [module] if entries and not tests else []
        pools.append(draw.sample(pool, len(pool)))
    chosen: list[Planted] = []
    for place, pool in enumerate(sorted(pools, key=len)):
        chosen += pool[: (number - len(chosen)) // (len(pools) - place)]
    # So that what was done when one stops early is a sample as well.
    return draw.sample(chosen, len(chosen)), without


class Copy:
    """A copy of the checkout in which mistakes are planted, one at a time."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path = path
        copy_repository(path, root)
        self._passed: dict[frozenset[str], tuple[bool, str, float]] = {}
        self._times = time.time_ns()
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False

    def passes(self, tests: tuple[str, ...]) -> tuple[bool, str, float]:
        """Whether tests pass on the code as it is, the last line they print, and the seconds."""
        # In whatever order.
        among = frozenset(tests)
        if among not in self._passed:
            began = time.monotonic()
            code, said = self._run(tests, None)
            self._passed[among] = code == 0, said, time.monotonic() - began
        return self._passed[among]

    def survives(self, planted: Planted) -> bool:
        """Whether the tests pass with the mistake in the code."""
        limit = TIMES * self.passes(planted.tests)[2] + SECONDS
        file = self.path / planted.module
        text, stamp = file.read_text("utf-8"), file.stat()
        file.write_text(planted.mutant.planted(text), "utf-8")
        # Python takes compiled code for that of a file if its time and its size agree.
        self._times += 10**10
        os.utime(file, ns=(self._times, self._times))
        try:
            return self._run(planted.tests, limit)[0] == 0
        finally:
            file.write_text(text, "utf-8")
            os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))

    def stop(self) -> None:
        """End the tests that are running, and those that would."""
        self._stopped = True
        self._kill()

    def _kill(self) -> None:
        process = self._process
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def _run(self, tests: tuple[str, ...], limit: float | None) -> tuple[int, str]:
        paths = os.pathsep.join(str(self.path / place) for place in ("src", ""))
        self._process = subprocess.Popen(
            [sys.executable, *PYTEST, *tests],
            cwd=self.path,
            env=environment() | {"PYTHONPATH": paths},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # A group of its own, which ends as one.
            start_new_session=True,
            # A mutant that loops ends, too, where whoever would end it was killed.
            preexec_fn=functools.partial(_compute_at_most, limit) if limit else None,
        )
        if self._stopped:
            self._kill()
        try:
            said, _ = self._process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            self._kill()
            said, _ = self._process.communicate()
        return self._process.returncode, (said.strip().splitlines() or [""])[-1]


def _compute_at_most(seconds: float) -> None:
    """Have the system end this process once all cores could have computed for so long."""
    most = math.ceil(seconds) * (os.cpu_count() or 1)
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))


def try_all(
    chosen: Sequence[Planted], outcome: Outcome, processes: int, root: Path = ROOT
) -> Outcome:
    """Run the tests of each mutant, print each survivor when it is found, and how far one is.

    An interrupt ends the tests that run; what was found until then is in ``outcome``.
    """
    left, stopped, lock = iter(chosen), threading.Event(), threading.Lock()
    done = 0

    def work(copy: Copy) -> None:
        nonlocal done
        while not stopped.is_set():
            with lock:
                planted = next(left, None)
            if planted is None:
                return
            passed, said, _ = copy.passes(planted.tests)
            survived = passed and copy.survives(planted)
            if stopped.is_set():
                return
            with lock:
                done += 1
                if not passed:
                    outcome.broken[planted.module] = said
                elif survived:
                    outcome.survived.append(planted)
                    print(f"survived: {planted}", file=sys.stderr, flush=True)
                else:
                    outcome.caught[planted.room] += 1
                if done % 10 == 0:
                    survivors = len(outcome.survived)
                    progress = f"{done} of {len(chosen)}, {survivors} survived"
                    print(progress, file=sys.stderr, flush=True)

    with copies(processes, root) as all_copies, ThreadPoolExecutor(processes) as pool:
        running = [pool.submit(work, copy) for copy in all_copies]
        try:
            for each in running:
                each.result()
        except BaseException:
            stopped.set()
            for copy in all_copies:
                copy.stop()
            raise
    return outcome


@contextlib.contextmanager
def copies(number: int, root: Path) -> Iterator[list[Copy]]:
    """So many copies of the checkout, which are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        places = [Path(folder, str(place)) for place in range(number)]
        yield [Copy(place, root) for place in places]


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.mutations", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rooms", nargs="+", default=ROOMS, help="packages or modules")
    parser.add_argument("--number", type=_at_least_one, default=200, help="of mutants")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--processes", type=_at_least_one, default=2, help="at the same time")
    return parser


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Plant mistakes and print which of them survive; 130 if it was interrupted."""
    parser = _parser()
    of = parser.parse_args(arguments)
    outcome = Outcome()
    try:
        chosen, outcome.without = sample(of.rooms, of.number, of.seed, root)
    except ValueError as error:
        parser.error(str(error))
    print(f"{len(chosen)} mutants, seed {of.seed}", file=sys.stderr, flush=True)
    try:
        try_all(chosen, outcome, of.processes, root)
    except KeyboardInterrupt:
        print(f"interrupted\n{outcome}")
        return 130
    print(outcome)
    return 0


def console(arguments: Sequence[str] | None = None, root: Path = ROOT) -> None:
    """Run :func:`main` as the command that a shell starts."""
    # The end that a scheduler asks for is an interrupt, too; and what a shell starts in the
    # background would not heed interrupts.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    sys.exit(main(arguments, root))


if __name__ == "__main__":
    console()

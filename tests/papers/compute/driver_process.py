"""A driver in a process of its own, to be killed; and what the tests do with it."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import psutil

HERE = Path(__file__).resolve().parent


class DriverProcess:
    """A computation in a process of its own."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.out = folder / f"out-{len(list(folder.glob('out-*')))}.npz"
        self._log = self.out.with_suffix(".log")
        call = {"folder": str(folder), "out": str(self.out)}
        command = [sys.executable, __file__, json.dumps(call | settings)]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        # Its name is taken as soon as the next driver looks.
        self.out.touch()

    @property
    def said(self) -> str:
        return self._log.read_text()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(30)

    def arrays(self) -> bytes:
        """The result that it computed, when it has ended well."""
        assert self.process.wait(60) == 0, self.said
        return self.out.read_bytes()


def begun(folder: Path) -> Counter[int]:
    """The number of times that each item was begun."""
    return Counter(int(file.name.split("-")[1]) for file in folder.glob("begun-*"))


def _runs(number: int) -> bool:
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def workers(folder: Path) -> set[int]:
    """The processes that began items and still run."""
    numbers = {int(file.name.split("-")[3]) for file in folder.glob("begun-*")}
    return set(filter(_runs, numbers))


def main(call: dict[str, Any]) -> None:
    # As in a terminal, also where the tests run in the background, whose processes ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if "source" in call:
        sys.path.insert(0, call["source"])
    import items_of_tests

    from hessian_papers import compute
    from hessian_spectra.files import write_arrays

    if "largest_file" in call:
        # Workers inherit it: as if there were no more room.
        resource.setrlimit(resource.RLIMIT_FSIZE, (call["largest_file"],) * 2)
    work, shards = getattr(items_of_tests, call["work"]), Path(call["folder"]) / "shards"
    of = items_of_tests.computation(shards, call["values"], work, config=call.get("config"))
    write_arrays(Path(call["out"]), of.run(compute.Launcher(**call["launcher"])))


if __name__ == "__main__":
    try:
        main(json.loads(sys.argv[1]))
    except KeyboardInterrupt:
        os._exit(130)

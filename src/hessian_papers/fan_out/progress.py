"""The progress of a computation on standard error: a bar on a terminal, else some lines."""

import contextlib
import sys
import time
from collections.abc import Mapping

import rich.console
import rich.progress

# Elsewhere than on a terminal: how often a line is printed, in seconds.
LINE_SECONDS = 30.0


def duration(seconds: float) -> str:
    """A time in the words that one would use.

    Example:
        >>> duration(0.25), duration(42.0), duration(400.0), duration(7400.0), duration(4e5)
        ('0.2 s', '42 s', '6 min 40 s', '2 h 3 min', '4 d 15 h')
    """
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for large, small, unit, part in ((86400, 3600, "d", "h"), (3600, 60, "h", "min")):
        if whole >= large:
            return f"{whole // large} {unit} {whole % large // small} {part}"
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"


class Progress:
    """The progress of one run, measured in the cost of the items that are done.

    Args:
        name: of the computation.
        costs: of all items, by key.
        before: the keys of those that were done before the run.
    """

    def __init__(self, name: str, costs: Mapping[str, float], before: set[str]) -> None:
        self.name = name
        self._costs = costs
        self._done = before & costs.keys()
        self.before = len(self._done)
        self._whole = sum(costs.values())
        self._left = sum(cost for key, cost in costs.items() if key not in self._done)
        self._new = 0.0
        self._started = time.monotonic()
        self._printed = self._started
        self._bar: rich.progress.Progress | None = None
        self._task = rich.progress.TaskID(0)

    def __enter__(self) -> "Progress":
        """Begin to show it."""
        self._started = self._printed = time.monotonic()
        if sys.stderr.isatty():
            console = rich.console.Console(stderr=True)
            columns = (
                rich.progress.TextColumn("{task.description}"),
                rich.progress.BarColumn(),
                rich.progress.TextColumn("{task.fields[text]}"),
            )
            self._bar = rich.progress.Progress(*columns, console=console, transient=True)
            self._task = self._bar.add_task(self.name, total=self._whole, text="")
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop showing it."""
        if self._bar is not None:
            self._bar.stop()

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._started

    @property
    def computed(self) -> int:
        """The number of items that were done in this run."""
        return len(self._done) - self.before

    @property
    def text(self) -> str:
        """The progress of the run, its rate and the time left."""
        share = 1 - self._left / self._whole if self._whole else 1.0
        text = f"{len(self._done)}/{len(self._costs)} items, {100 * share:.0f} % of the work"
        if self.computed and self._left > 0 and self.elapsed > 0:
            left = self._left * self.elapsed / self._new
            rate = self.computed / self.elapsed
            text += f", {rate:.3g} items/s, {duration(left)} left"
        return text

    def update(self, done: set[str], status: str) -> None:
        """Show which items are done by now.

        Args:
            done: their keys, those of other computations among them.
            status: what the cluster has to say.
        """
        for key in (done & self._costs.keys()) - self._done:
            self._done.add(key)
            self._new += self._costs[key]
            self._left -= self._costs[key]
        text = f"{self.text}, {status}" if status else self.text
        if self._bar is not None:
            self._bar.update(self._task, completed=self._whole - self._left, text=text)
        elif time.monotonic() - self._printed >= LINE_SECONDS:
            self._printed = time.monotonic()
            self.say(text)

    def forget(self, lost: set[str]) -> None:
        """Count items that were done before as not done, because they turned out to be damaged."""
        lost = lost & self._done
        self._done -= lost
        self.before -= len(lost)
        self._left += sum(self._costs[key] for key in lost)

    def say(self, text: str) -> None:
        """Print a line about the run."""
        if self._bar is not None:
            self._bar.console.print(f"{self.name}: {text}", markup=False, highlight=False)
            return
        # A closed pipe must not end a run of hours.
        with contextlib.suppress(BrokenPipeError):
            print(f"{self.name}: {text}", file=sys.stderr, flush=True)

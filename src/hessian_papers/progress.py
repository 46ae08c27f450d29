"""The progress of a run: a bar on a terminal, else some lines."""

import contextlib
import math
import sys
from collections.abc import Mapping, Set
from typing import Any

from tqdm import tqdm

# Elsewhere than on a terminal: how often a line is printed, in seconds.
LINE_SECONDS = 30.0


def say(name: str, text: str) -> None:
    """Print a line about a computation on standard error."""
    # A closed pipe must not end a run of hours.
    with contextlib.suppress(BrokenPipeError):
        tqdm.write(f"{name}: {text}", file=sys.stderr)


class _Lines:
    """A file for a bar where there is no terminal: a line for each state that it shows."""

    def write(self, text: str) -> None:
        if line := text.strip():
            tqdm.write(line, file=sys.stderr)

    def flush(self) -> None:
        pass


class Progress:
    """The progress of one run on standard error: a bar on a terminal, else some lines.

    Args:
        name: of the computation.
        costs: of all items, by key: what is done and what is left is measured in it.
        before: the keys of those that were done before the run.
    """

    def __init__(self, name: str, costs: Mapping[str, float], before: Set[str]) -> None:
        self.name, self.before = name, len(before)
        self._costs, self._done = costs, set(before)
        terminal = sys.stderr.isatty()
        shown: dict[str, Any] = {} if terminal else {"file": _Lines(), "delay": LINE_SECONDS}
        self._bar = tqdm(
            total=math.fsum(costs.values()),
            initial=math.fsum(costs[key] for key in before),
            desc=name,
            bar_format="{desc}, {percentage:.0f} % of the work, {remaining} left"
            + (" {bar}" if terminal else ""),
            mininterval=0.1 if terminal else LINE_SECONDS,
            miniters=0,
            smoothing=0,
            leave=False,
            **shown,
        )

    def __enter__(self) -> "Progress":
        """Begin to show it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop showing it."""
        self._bar.close()

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return float(self._bar.format_dict["elapsed"])

    @property
    def computed(self) -> int:
        """The number of items that were done in this run."""
        return len(self._done) - self.before

    def update(self, done: Set[str], status: str = "") -> None:
        """Show which items are done by now.

        Args:
            done: their keys, those of other computations among them.
            status: what the cluster has to say.
        """
        new = (done & self._costs.keys()) - self._done
        self._done |= new
        count = f"{self.name}: {len(self._done)}/{len(self._costs)} items"
        self._bar.set_description_str(", ".join(filter(None, [count, status])), refresh=False)
        self._bar.update(math.fsum(self._costs[key] for key in new))

    def say(self, text: str) -> None:
        """Print a line about the run."""
        say(self.name, text)

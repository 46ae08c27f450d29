"""Weights that a training keeps at some of its steps: where they are written, and found again."""

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hessian_papers.networks.tools.result import Networks, not_as_written
from hessian_papers.work import TrainingRun


@contextmanager
def weights_folder(run: TrainingRun) -> Iterator[Path | None]:
    """Where a training writes its weights, ``None`` for nowhere; at its end they are the run's.

    They are written beside the unfinished state: what an interrupted run left is cleared away.
    """
    folder = run.checkpoint / "weights" if run.checkpoint else run.folder
    yield folder
    if run.folder and folder and folder != run.folder and folder.exists():
        shutil.copytree(folder, run.folder, dirs_exist_ok=True)


@dataclass(frozen=True, kw_only=True)
class KeptWeights:
    """A network at a step of its training, as an item of a computation that fans out holds it.

    Args:
        folder: that of the network, which tells no two items apart.
        file: the name of its weights there.
        digest: that of the weights, by which an item is another one when they are.
    """

    folder: str = field(compare=False)
    file: str
    digest: str

    @property
    def path(self) -> Path:
        """Where the weights are."""
        return Path(self.folder) / self.file


def kept_weights(networks: Networks, place: Sequence[tuple[str, Any]], file: str) -> dict[str, str]:
    """The fields of :class:`KeptWeights` of a network of an ensemble.

    Args:
        networks: its arrays, in its folder, which has a folder for each network.
        place: for each axis of the ensemble, the slowest first, its array's name and a value.
        file: the name of the weights.

    Raises:
        FileNotFoundError: the weights are not there.
        DamagedFileError: they are not as they were written.

    Example:
        >>> import numpy as np
        >>> networks = Networks({"seed": np.array([4, 5])}, Path("results/networks/small"))
        >>> kept_weights(networks, [("seed", 5)], "10.npz")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'results/networks/small/1/10.npz'
    """
    number = 0
    for name, value in place:
        values = networks[name].tolist()
        number = number * len(values) + values.index(value)
    folder = networks.folder / str(number)
    digest = hashlib.sha256((folder / file).read_bytes()).hexdigest()
    if networks.manifest.get(f"{number}/{file}", {"sha256": digest})["sha256"] != digest:
        raise not_as_written(networks.folder, f"{number}/{file} has other bytes than were written")
    return {"folder": str(folder), "file": file, "digest": digest}

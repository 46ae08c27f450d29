"""Weights that a training keeps at some of its steps: where they are written, and found again."""

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import xarray as xr
from torch import Tensor, nn

from hessian_papers import labelled
from hessian_papers.networks.tools.result import folder_of, manifest_of, not_as_written
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


def write_weights(path: Path, model: nn.Module) -> None:
    """Write parameters and buffers of a network, each a variable with dimensions of its own."""
    arrays = {name: value.cpu().numpy() for name, value in model.state_dict().items()}
    variables = {
        name: labelled.Variable(
            " ".join(f"{name}{labelled.OF}{axis}" for axis in range(array.ndim)),
            "parameter or buffer of the network",
        )
        for name, array in arrays.items()
    }
    labelled.write(path, labelled.data_set(arrays, variables))


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors that :func:`write_weights` wrote, by name.

    Raises:
        MissingResultError: there is no such file.
        DamagedFileError: it is not as it was written.
    """
    arrays = labelled.arrays_of(labelled.read(path))
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


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


def kept_weights(
    networks: xr.Dataset, place: Sequence[tuple[str, Any]], file: str
) -> dict[str, str]:
    """The fields of :class:`KeptWeights` of a network of an ensemble.

    Args:
        networks: the ensemble, which is kept in a folder that has one for each network.
        place: for each axis of the ensemble, the slowest first, its name and a label.
        file: the name of the weights.

    Raises:
        FileNotFoundError: the weights are not there.
        DamagedFileError: they are not as they were written.

    Example:
        >>> from hessian_papers.networks.tools.result import kept_in
        >>> networks = kept_in(Path("results/networks/small"), xr.Dataset({"seed": [4, 5]}))
        >>> kept_weights(networks, [("seed", 5)], "10.nc")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'results/networks/small/1/10.nc'
    """
    number = 0
    for axis, label in place:
        labels = networks[axis].values.tolist()
        number = number * len(labels) + labels.index(label)
    whole, own = folder_of(networks), f"{number}/{file}"
    digest = hashlib.sha256((whole / own).read_bytes()).hexdigest()
    if manifest_of(whole).get(own, {"sha256": digest})["sha256"] != digest:
        raise not_as_written(whole, f"{own} has other bytes than were written")
    return {"folder": str(whole / str(number)), "file": file, "digest": digest}

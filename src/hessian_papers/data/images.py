"""Images with class labels, from one or several published or own data sets."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import xarray as xr

from hessian_papers.constraints import AtLeast, Count, OneOf
from hessian_papers.data.base import IMAGES, OFFLINE, DataConfig, Form, Storage
from hessian_papers.data.tools import _archive, _torchvision
from hessian_papers.labelled import Variable, Variables, side_by_side
from hessian_spectra.seeding import generator
from hessian_spectra.validation import optional_import, require

NAMES = ("digits", *_torchvision.CLASSES)
# Both: the images of the one, then those of the other.
SPLITS = {"train": ("train",), "test": ("test",), "both": ("train", "test")}
# The largest grey value, where it is not 255.
LARGEST = {"digits": 16.0}
# How many labels each of these has, and how many images each split.
LABELS = 10
SIZES = {
    "digits": {"train": 1797},
    "mnist": {"train": 60000, "test": 10000},
    "fashion-mnist": {"train": 60000, "test": 10000},
    "cifar10": {"train": 50000, "test": 10000},
}


@dataclass(frozen=True, kw_only=True)
class Config(DataConfig):
    """Settings of the images.

    Args:
        sources: any of ``digits`` (with scikit-learn, offline), ``mnist``, ``fashion-mnist``,
            ``cifar10`` (below ``data.root``), and paths that end in ``.npz``, relative to
            ``data.root`` or absolute (schema: :func:`hessian_papers.data.tools._archive.load`).
        split: ``train``, ``test`` or ``both``; digits have no test split, and an ``.npz`` file is
            one split, whatever it is called here.
        classes: which class each label becomes, ``-1`` to leave its images out; an empty list
            keeps all as they are. ``[0, 0, 0, 0, 0, 1, 1, 1, 1, 1]`` makes MNIST-2 of MNIST
            (wu2022dissecting, appendix E.1).
        random_labels: whether each image gets a class drawn uniformly from those that there are,
            instead of its own: MNIST-R and CIFAR10-R (wu2022dissecting, appendix E.1).
        per_class: the first so many images of each class are kept, in their order; 0 keeps all.
        magnification: each pixel becomes a square of so many by so many, 1 leaves it; small
            images then fit a network that is made for large ones.
    """

    sources: list[str]
    split: Annotated[str, OneOf(tuple(SPLITS))]
    classes: list[int]
    random_labels: bool
    per_class: Annotated[int, AtLeast(0)]
    magnification: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        require(len(self.sources) > 0, "sources", "at least one source", self.sources)
        for source in self.sources:
            known = source in NAMES or source.endswith(".npz")
            require(known, "sources", f"{', '.join(NAMES)} or a path to an .npz file", source)
        names = [name_of(source) for source in self.sources]
        require(len(set(names)) == len(names), "sources", "different names", self.sources)
        available = self.split == "train" or "digits" not in self.sources
        require(available, "split", "train, as digits come without a test split", self.split)
        kept = {label for label in self.classes if label != -1}
        fits = kept == set(range(len(kept))) and (len(kept) > 0 or not self.classes)
        require(fits, "classes", "classes 0 to K - 1, all of them, or -1", self.classes)
        fits = not self.classes or len(self.classes) >= LABELS or not {*self.sources} & {*NAMES}
        require(fits, "classes", f"one for each of {LABELS} labels, or none", self.classes)

    @property
    def form(self) -> Form:
        """Images, and the most that the smallest source can have, unless only the files say."""
        known = [SIZES[source] for source in self.sources if source in SIZES]
        sizes = [sum(size[part] for part in SPLITS[self.split]) for size in known]
        if self.classes or len(sizes) < len(self.sources):
            return Form(IMAGES, ())
        return Form(IMAGES, (min(*sizes, self.per_class * LABELS or min(sizes)),))

    @property
    def stored(self) -> list[str]:
        """All but digits, and files with a place of their own."""
        paths = {source: Path(source).expanduser() for source in self.sources}
        return [s for s in self.sources if s != "digits" and not paths[s].is_absolute()]


# Of each source; the axis is ``source``.
VARIABLES: Variables = {
    "source": Variable("source", "name of a set of images"),
    "random_labels": Variable("source", "whether classes were drawn, and say nothing of images"),
    "images": Variable("image row column channel", "grey values, from 0 on"),
    "labels": Variable("image", "class of an image"),
}


def name_of(source: str) -> str:
    """The name of a source in the data set: its own, or its file's without the ending.

    Example:
        >>> name_of("mnist"), name_of("own/leaves.npz")
        ('mnist', 'leaves')
    """
    return Path(source).stem if source.endswith(".npz") else source


def make(config: Config, storage: Storage = OFFLINE) -> xr.Dataset:
    """The images and labels of each source, in the published order.

    Args:
        config: the settings.
        storage: where the sources other than ``digits`` are, and whether they may be downloaded.

    Returns:
        ``source`` ``(s,)``, the names, and ``random_labels`` ``(s,)``, whether the labels were
        drawn; for each name ``images:<name>`` ``(N, H, W, C)``, uint8, and ``labels:<name>``
        ``(N,)``, int64, as :func:`hessian_papers.labelled.items_of` takes apart. The grey values of
        digits are 0 to 16, all others 0 to 255.

    Raises:
        FileNotFoundError: data are missing; one line says which, where they were expected, and
            the command that fetches them.
        ValueError: data are damaged, or do not fit the settings.

    Example:
        >>> config = Config(kind="images", seed=0, sources=["digits"], split="train", classes=[],
        ...                 random_labels=False, per_class=0, magnification=1)
        >>> make(config)["images:digits"].shape
        (1797, 8, 8, 1)
    """
    parts = []
    for source in config.sources:
        name = name_of(source)
        images, labels = _loaded(source, config.split, storage)
        kept, labels = _relabelled(config, name, labels)
        part = {"source": np.array(name), "random_labels": np.array(config.random_labels)}
        part |= {"images": magnified(images[kept], config.magnification), "labels": labels}
        parts.append(part)
    return side_by_side(parts, VARIABLES, "source")


def largest_value(name: str) -> float:
    """The largest grey value that images of a source can have.

    Example:
        >>> largest_value("digits"), largest_value("mnist")
        (16.0, 255.0)
    """
    return LARGEST.get(name, 255.0)


def magnified(images: np.ndarray, times: int) -> np.ndarray:
    """Images ``(n, H, W, C)`` as ``(n, times H, times W, C)``, each pixel a square.

    Example:
        >>> magnified(np.array([[[[1], [2]]]]), 2)[0, :, :, 0].tolist()
        [[1, 1, 2, 2], [1, 1, 2, 2]]
    """
    return images.repeat(times, axis=1).repeat(times, axis=2)


def _loaded(source: str, split: str, storage: Storage) -> tuple[np.ndarray, np.ndarray]:
    """The images and the labels of one source."""
    if source == "digits":
        # Imported here: scikit-learn takes a second to load, and only this needs it.
        digits = optional_import("sklearn.datasets", "pipeline").load_digits()
        return digits.images.astype(np.uint8)[..., np.newaxis], digits.target.astype(np.int64)
    if source.endswith(".npz"):
        return _archive.load(storage.place(source))
    parts = [_torchvision.load(source, part, storage) for part in SPLITS[split]]
    images, labels = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return images, labels


def _relabelled(config: Config, name: str, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which images are kept, and their labels."""
    if config.classes:
        if labels.max() >= len(config.classes):
            raise ValueError(
                f"classes: expected one for each of the labels 0 to {labels.max()} of {name}, "
                f"got {len(config.classes)}"
            )
        labels = np.array(config.classes, dtype=np.int64)[labels]
    kept = labels >= 0
    if not kept.any():
        raise ValueError(f"classes: expected some images of {name} to be kept, got none")
    if config.random_labels:
        # Drawn for the images that are left out, too: who else is kept changes nobody's label.
        draws = generator(config.seed, f"random labels of {name}")
        drawn = torch.randint(int(labels.max()) + 1, labels.shape, generator=draws).numpy()
        labels = np.where(kept, drawn, labels)
    if config.per_class:
        for label in range(labels.max() + 1):
            kept[np.flatnonzero(labels == label)[config.per_class :]] = False
    return kept, labels[kept]

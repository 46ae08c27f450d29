"""Images with classes as inputs of a network, which is trained on all of them or on a part."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hessian_spectra.seeding import generator
from hessian_spectra.training import join

# What a network sees of an image.
STANDARDISED, UNIT_INTERVAL = "standardised", "unit interval"


@dataclass(frozen=True, kw_only=True)
class Samples:
    """Images with their classes, of which one network is trained on a part.

    Args:
        images: ``(n, H, W, C)``.
        labels: ``(n,)``.
        inputs: ``standardised``, by mean and variance of each channel over the images that it is
            trained on; or grey values in the ``unit interval``, which ask nothing of other images.
        largest: the largest grey value that there can be.
        held_out: how many images it is not trained on.
        seed: of which these are.
        random_labels: whether the classes were drawn, and say nothing of the images.
    """

    images: np.ndarray
    labels: np.ndarray
    inputs: str
    largest: float
    held_out: int
    seed: int
    random_labels: bool

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of an input, ``(C, H, W)``."""
        return (self.images.shape[3], *self.images.shape[1:3])

    @property
    def count(self) -> int:
        """The number of images that the network is trained on."""
        return len(self.labels) - self.held_out

    @property
    def classes(self) -> int:
        """The number of classes."""
        return int(self.labels.max()) + 1

    def trained(self) -> tuple[Tensor, Tensor]:
        """Inputs ``(n, C, H, W)`` and classes of what the network is trained on, in their order.

        Example:
            >>> images = np.arange(8, dtype=np.uint8).reshape(2, 2, 2, 1)
            >>> both = {"images": images, "labels": np.array([0, 1]), "largest": 255.0, "seed": 0}
            >>> both["random_labels"] = False
            >>> x, _ = Samples(inputs="standardised", held_out=0, **both).trained()
            >>> tuple(x.shape), float(x.mean()), round(float(x.std(correction=0)), 6)
            ((2, 1, 2, 2), 0.0, 1.0)
            >>> x, _ = Samples(inputs="unit interval", held_out=1, **both).trained()
            >>> tuple(x.shape), bool(x.max() <= 7 / 255)
            ((1, 1, 2, 2), True)
        """
        return self._inputs(self._parts()[1])

    def left_out(self) -> tuple[Tensor, Tensor]:
        """The images, and their labels, that the network is not trained on."""
        return self._inputs(self._parts()[0])

    def _parts(self) -> tuple[Tensor, Tensor]:
        """The places of the images that are held out, and of the others."""
        order = torch.randperm(len(self.labels), generator=generator(self.seed, "held out"))
        return order[: self.held_out].sort().values, order[self.held_out :].sort().values

    def _inputs(self, places: Tensor) -> tuple[Tensor, Tensor]:
        images = torch.from_numpy(np.ascontiguousarray(self.images.transpose(0, 3, 1, 2)))
        x = images[places].double()
        if self.inputs == UNIT_INTERVAL:
            x = x / self.largest
        else:
            known = images[self._parts()[1]].double()
            deviation, mean = torch.std_mean(known, dim=(0, 2, 3), correction=0, keepdim=True)
            x = (x - mean) / torch.where(deviation > 0, deviation, 1.0)
        device = join()
        return x.float().to(device), torch.from_numpy(self.labels)[places].to(device)

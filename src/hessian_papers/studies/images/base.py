"""The settings and epochs that studies which train networks on images have in common."""

from dataclasses import dataclass

import numpy as np

from hessian_papers.data.base import IMAGES, Form
from hessian_papers.networks.tools.images import ImageNetworksConfig
from hessian_papers.studies.base import DataStudyConfig
from hessian_spectra.validation import require


@dataclass(frozen=True, kw_only=True)
class ImageStudyConfig(ImageNetworksConfig, DataStudyConfig):
    """A study of networks that are trained on subsets of images."""

    takes = IMAGES

    def require_data(self, form: Form) -> None:
        """Refuse data of anything but images, or of fewer than a subset has."""
        super().require_data(form)
        for count in form.shape:
            fits = self.samples <= count
            require(fits, "samples", f"at most {count}, all images", self.samples)


def recorded_epochs(last: int, number: int) -> list[int]:
    """0, 1, ..., the last epoch, so many after 0 at most, evenly spaced in the logarithm.

    Example:
        >>> recorded_epochs(100, 3), recorded_epochs(3, 20)
        ([0, 1, 10, 100], [0, 1, 2, 3])
    """
    spaced = np.geomspace(1, last, number)
    return [0, *sorted({round(float(epoch)) for epoch in spaced})]

"""What the configurations of studies that train networks on images have in common."""

from dataclasses import dataclass

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

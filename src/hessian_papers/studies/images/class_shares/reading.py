"""What is measured of networks trained on subsets of images with a given largest class.

A network that diverged has no sharpness and is left out of every number. Where the image sets
differ, the worst of them counts.
"""

from typing import Any, NamedTuple

import numpy as np

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.results import StudyArrays
from hessian_papers.studies.images.reading import mean_at_each, quotient

# A least-squares loss below this is rounding: the inputs fit all labels.
FITTED = 1e-12
# Of runs recorded before the number was kept.
RECORDED_CLASSES = 10


class Series(NamedTuple):
    """What depends on the share: means over the networks of an image set, ``(shares,)`` each.

    Attributes:
        share: the shares, ascending.
        sharpness: measured.
        labels: by eq. (14).
    """

    share: np.ndarray
    sharpness: np.ndarray
    labels: np.ndarray


class Reading(StudyArrays):
    """All networks, or some of them; every array has a row for each."""

    def rows(self, chosen: np.ndarray) -> "Reading":
        """The reading of some networks, which ``chosen`` (N,) marks."""
        sides = {
            side: {name: array[chosen] for name, array in arrays.items()}
            for side, arrays in self.sides.items()
        }
        return Reading(sides, self._folder)

    def __len__(self) -> int:
        return len(self["share"])

    def by(self, name: str) -> dict[Any, "Reading"]:
        """The networks by what stands in one of the arrays, in the study's order."""
        values = dict.fromkeys(self[name].tolist())
        return {value: self.rows(self[name] == value) for value in values}

    @property
    def by_size(self) -> dict[int, "Reading"]:
        """The networks by their number of samples, ascending."""
        return dict(sorted(self.by("samples").items()))

    @property
    def own_size(self) -> int:
        """The study's own number of samples, which comes first."""
        return int(self["samples"][0])

    @property
    def main(self) -> "Reading":
        """Networks on subsets of the study's own size."""
        return self.rows(self["samples"] == self.own_size)

    @property
    def fitted(self) -> np.ndarray:
        """Whether the inputs fit all labels, ``(N,)``."""
        return np.asarray(self["floor"] < FITTED)

    @property
    def diverged(self) -> int:
        """How many networks diverged."""
        return int((self["diverged_at"] >= 0).sum())

    @property
    def edge(self) -> float | None:
        """2/η of the first learning rate; none of recorded runs that did not keep it."""
        return float(self["edge"].flat[0]) if "edge" in self else None

    @property
    def converged(self) -> np.ndarray:
        """Whether a network has a sharpness: it did not diverge, nor vanish, ``(N,)``."""
        return np.asarray(self["sharpness"] > 0)

    @property
    def trained(self) -> "Reading":
        """Networks whose training did not diverge.

        Raises:
            NothingToMeasure: there is none.
        """
        if not self.converged.any():
            raise NothingToMeasure(
                "this configuration has no networks of that kind whose training did not diverge"
            )
        return self.rows(self.converged)

    def case(self, name: str) -> "Reading":
        """The networks of a case."""
        return self.rows(self["case"] == name)

    @property
    def ratio(self) -> np.ndarray:
        """Sharpness over eq. (14), ``(N,)``."""
        return np.asarray(self["sharpness"] / self["labels"])

    def error(self, formula: str) -> np.ndarray:
        """The size of the relative deviation from a formula, ``(N,)``."""
        return np.asarray(np.abs(quotient(self["sharpness"], self[formula]) - 1))

    @property
    def tied(self) -> np.ndarray:
        """Whether all classes have the same share, which ties the labels' singular values."""
        classes = self["classes"] if "classes" in self else RECORDED_CLASSES  # noqa: SIM401
        return np.asarray(np.isclose(self["share"] * classes, 1))

    @property
    def order_of_imbalance(self) -> np.ndarray:
        """The ln of eq. (14)'s deviation over that of the defect; NaN where labels are left."""
        known = self.fitted & (self.error("labels") > 0) & (self.defect > 0)
        logs = (np.log(np.where(known, a, np.nan)) for a in (self.error("labels"), self.defect))
        return quotient(*logs)

    @property
    def gauss_newton_error(self) -> np.ndarray:
        """The size of the relative difference of the Gauss-Newton matrix's sharpness, ``(N,)``."""
        return np.asarray(np.abs(quotient(self["ggn"], self["sharpness"]) - 1))

    @property
    def defect(self) -> np.ndarray:
        """The defect of balancedness after training, ``(N,)``."""
        return np.asarray(np.where(self.converged, self["defect"][:, 1], np.nan))

    def by_subset(self, values: np.ndarray) -> dict[tuple[object, ...], float]:
        """Values ``(N,)`` of the networks by the subset of images that each was trained on."""
        names = ("source", "samples", "share", "replicate")
        subsets = zip(*(self[name].tolist() for name in names), strict=True)
        return dict(zip(subsets, values.tolist(), strict=True))

    def mean_at_shares(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The shares, ascending, and the mean of the finite values at each, ``(shares,)`` both."""
        return mean_at_each(self["share"], values)

    def series(self, case: str) -> list[Series]:
        """How the sharpness depends on the share, for each image set with two shares or more.

        Of a case, on subsets of the study's own size.

        Raises:
            NothingToMeasure: there is no such image set.
        """
        curves = []
        for item in self.main.case(case).trained.by("source").values():
            share, sharpness = item.mean_at_shares(item["sharpness"])
            if len(share) > 1:
                curves.append(Series(share, sharpness, item.mean_at_shares(item["labels"])[1]))
        if not curves:
            raise NothingToMeasure("this configuration has no image set with two shares")
        return curves

    def ratio_by_size(self) -> list[np.ndarray]:
        """For each image set the mean of sharpness over eq. (14) at each number of samples.

        The mean takes as many of the smallest shares as there are at every number of samples: what
        is compared has nearly the same shares. Image sets with but one number of samples are left
        out.

        Returns:
            ``(sizes,)`` each, by ascending number of samples.

        Raises:
            NothingToMeasure: no image set is left.
        """
        ratios = []
        for item in self.trained.by("source").values():
            means = [sized.mean_at_shares(sized.ratio)[1] for sized in item.by_size.values()]
            common = min(map(len, means))
            if len(means) > 1:
                ratios.append(np.array([mean[:common].mean() for mean in means]))
        if not ratios:
            raise NothingToMeasure("this configuration has no image set at two numbers of samples")
        return ratios

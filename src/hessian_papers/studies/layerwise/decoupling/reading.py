"""Layer-wise Hessians and their Kronecker approximations, as figure and claims read them."""

import numpy as np

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure, mean_of
from hessian_papers.results import StudyArrays
from hessian_papers.studies.stored import Stored, texts

# How a network with batch normalisation is called, beside the one without.
NORMALISED = "-BN"


class Reading(StudyArrays):
    """Quantities of A architectures, S seeds, E epochs and at most L layers.

    What is asked for of an architecture is that of its own layers, ``(S, layers, ...)``.
    """

    networks = Stored("network", texts)  # the architectures

    @property
    def plain(self) -> list[str]:
        """The architectures without batch normalisation, of more than one layer."""
        names = [name for name in self.networks if NORMALISED not in name]
        return [name for name in names if len(self.layers(name)) > 1]

    @property
    def normalised(self) -> list[str]:
        """The architectures with batch normalisation."""
        return [name for name in self.networks if NORMALISED in name]

    def place(self, network: str) -> int:
        """Where an architecture stands on the first axis."""
        return self.networks.index(network)

    def layers(self, network: str) -> list[str]:
        """The names of its layers."""
        return [str(name) for name in self["layer"][self.place(network)] if name]

    def sizes(self, network: str) -> np.ndarray:
        """Outputs and inputs of each layer, ``(layers, 2)``."""
        place, count = self.place(network), len(self.layers(network))
        return np.stack([self[name][place, :count] for name in ("outputs", "inputs")], axis=1)

    def of(self, name: str, network: str) -> np.ndarray:
        """An array of an architecture at the last epoch, ``(S, layers, ...)``."""
        return np.asarray(self[name][self.place(network), :, : len(self.layers(network))])

    def throughout(self, name: str, network: str) -> np.ndarray:
        """One that is measured at each kept epoch, ``(S, E, layers, ...)``."""
        return np.asarray(self[name][self.place(network), :, :, : len(self.layers(network))])

    def outliers(self, network: str) -> int:
        """``c − 1``, as many outliers as the paper expects for c classes.

        Raises:
            NothingToMeasure: the study has fewer eigenvalues of a layer.
        """
        count, kept = self.sizes(network)[-1, 0] - 1, self["hessian"].shape[-1]
        smallest = min(int(self.sizes(network).prod(axis=1).min()), kept)
        if not 1 <= count <= smallest:
            raise NothingToMeasure(f"this configuration has {smallest} of {count} eigenvalues")
        return int(count)

    def top(self, name: str, network: str) -> np.ndarray:
        """The first ``c − 1`` of the numbers of each layer, ``(S, layers, c − 1)``."""
        return self.of(name, network)[..., : self.outliers(network)]

    def top_overlap(self, network: str, name: str = "overlap") -> np.ndarray:
        """The overlap of the top ``c − 1`` spaces, ``(S, layers)``.

        Raises:
            NothingToMeasure: the study has fewer eigenvectors, or was run before this was measured.
        """
        if name not in self:
            raise NothingToMeasure("this run has no such product's top eigenspace")
        return self.top(name, network)[..., -1]

    def chance(self, network: str) -> np.ndarray:
        """What random spaces of ``c − 1`` dimensions would overlap, ``(layers,)``."""
        return np.asarray(self.outliers(network) / self.sizes(network).prod(axis=1))

    def relative_values(self, network: str, predicted: np.ndarray) -> Estimate:
        """The mean relative error of predicted top eigenvalues, in the layer with the largest.

        Layers of fewer than ``c − 1`` outputs are left out: their E[M] has fewer eigenvalues.

        Args:
            network: an architecture.
            predicted: ``(S, layers, c − 1)`` instead of the Hessian's.
        """
        wide = self.sizes(network)[:, 0] >= self.outliers(network)
        errors = np.abs(predicted / self.top("hessian", network) - 1)[:, wide]
        return mean_of(_known(errors.mean(axis=-1)).max(axis=1))

    def gaps(self, network: str, values: np.ndarray) -> np.ndarray:
        """After how many eigenvalues the largest gap among the first ``2 (c − 1)`` is.

        The gap after i is ``λ_i / λ_{i+1}``. Layers of no more than c outputs are left out, whose
        output Hessian has no eigenvalue after those; the last one is among them.

        Args:
            network: an architecture.
            values: ``(..., layers, t)``, by descending value.

        Returns:
            ``(..., l)`` for l layers.

        Raises:
            NothingToMeasure: there is no such layer, or there are not so many eigenvalues.
        """
        count = self.outliers(network)
        wide = self.sizes(network)[:, 0] > count + 1
        first = values[..., wide, : 2 * count + 1].astype(np.float64)
        if first.shape[-1] < count + 2 or not first.size or not first[..., 0].all():
            raise NothingToMeasure(f"this configuration has no eigenvalues after the {count}-th")
        # Below this there is but the round-off of float32.
        floored = np.maximum(first, 1e-7 * first[..., :1])
        ratios = floored[..., :-1] / floored[..., 1:]
        # The last of fewer eigenvalues is no gap.
        return np.asarray(np.where(np.isnan(ratios), 0.0, ratios).argmax(axis=-1) + 1)

    def gap(self, network: str, values: np.ndarray) -> Estimate:
        """The share of layers in which the largest gap is after ``c − 1``.

        Args:
            network: an architecture.
            values: ``(S, layers, t)`` by descending value.
        """
        places = self.gaps(network, values)
        return mean_of((places == self.outliers(network)).mean(axis=1))

    def about_as_many(self, network: str) -> Estimate:
        """The share of epochs and layers in which E[M]'s gap is near ``c − 1``.

        That is after ``c − 2`` to ``c + 1`` eigenvalues.
        """
        count = self.outliers(network)
        places = self.gaps(network, self.throughout("output", network))
        near = (places >= count - 1) & (places <= count + 2)
        return mean_of(near.mean(axis=(1, 2)))

    def ratios(self, network: str) -> np.ndarray:
        """``λ₁/λ₂`` of E[x xᵀ] at each kept epoch in layers but the first, ``(S, E, layers)``."""
        values = self.throughout("input", network)[:, :, 1:]
        return _known(values[..., 0] / values[..., 1])

    def frobenius(self, network: str, name: str = "missed", epoch: int = -1) -> np.ndarray:
        """``‖K − H‖_F / ‖H‖_F`` of a product K at one of the kept epochs, ``(S, layers)``."""
        always = name == "missed"
        missed = self.throughout(name, network)[:, epoch] if always else self.of(name, network)
        squares = self.throughout("squares", network)[:, epoch]
        return _known(np.sqrt(missed.mean(axis=-1) / squares.mean(axis=-1)))

    def of_kind(self, name: str, network: str, kind: str) -> np.ndarray:
        """A number of the layers of a kind, ``fc`` or ``conv``, but the first, ``(S, layers)``.

        Raises:
            NothingToMeasure: there is none, or it is not known.
        """
        chosen = [
            place
            for place, layer in enumerate(self.layers(network))
            if place and layer.startswith(kind)
        ]
        if not chosen:
            raise NothingToMeasure(f"{network} has no such layer")
        return _known(self.of(name, network)[:, chosen])


def _known(values: np.ndarray) -> np.ndarray:
    """The quantity, where it is known of all.

    Raises:
        NothingToMeasure: one is no number, as of a Hessian that is zero.
    """
    if not np.isfinite(values).all():
        raise NothingToMeasure("this configuration has a layer whose Hessian is zero")
    return values

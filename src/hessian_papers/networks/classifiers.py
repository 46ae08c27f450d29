"""Classifiers of images, trained independently, with their weights at some epochs.

The networks behind wu2022dissecting, section 5 and appendices F and G: of each architecture some
that differ in their initial weights and in the order of the samples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor, nn
from torch.nn import functional

from hessian_papers.constraints import AtLeast, Count, OneOf
from hessian_papers.data.base import IMAGES, Form
from hessian_papers.data.images import largest_value
from hessian_papers.image_names import image_set
from hessian_papers.labelled import Variable, Variables, assembled
from hessian_papers.models.classifiers import INITIALISATIONS, builder, classifier
from hessian_papers.networks.base import NetworksConfig, shared
from hessian_papers.networks.tools.images import image_sets
from hessian_papers.networks.tools.kept_weights import (
    KeptWeights,
    kept_weights,
    read_weights,
    weights_folder,
    write_weights,
)
from hessian_papers.networks.tools.samples import STANDARDISED, UNIT_INTERVAL, Samples
from hessian_papers.training.classification import (
    Classification,
    ClassifierDescent,
    train_classifier,
)
from hessian_papers.training.divergence import has_diverged
from hessian_papers.work import FanOut, Item, TrainingRun
from hessian_spectra.files import Arrays
from hessian_spectra.training import Observer, join
from hessian_spectra.validation import require

# What networks of one ensemble may be trained with different values of.
VARIED = ("learning_rate", "momentum", "weight_decay")
# How many networks a variation is of, where that is said.
SEEDS = "seeds"
# Samples that are evaluated together.
EVALUATED = 1000


@dataclass(frozen=True, kw_only=True)
class ClassifierTraining(ClassifierDescent):
    """The settings that all trainings have in common.

    Args:
        initialisation: of the weights, as :func:`~hessian_papers.models.classifiers.classifier`
            has them.
        inputs: ``standardised``, by mean and variance of each channel over the images that a
            network is trained on; or grey values in the ``unit interval``, which ask nothing of
            other images, so that the network before its training does not depend on them.
        held_out: so many images are left out of the training, others for each seed.
        kept: the epochs after which weights are kept, 0 for before the first.
    """

    initialisation: Annotated[str, OneOf(INITIALISATIONS)]
    inputs: Annotated[str, OneOf((STANDARDISED, UNIT_INTERVAL))]
    held_out: Annotated[int, AtLeast(0)]
    kept: list[int]

    def __post_init__(self) -> None:
        super().__post_init__()
        different = len({*self.kept}) == len(self.kept)
        fits = different and {*self.kept} <= {*range(self.epochs + 1)}
        require(fits, "kept", f"different epochs from 0 to {self.epochs}", self.kept)

    def plan(self, samples: int) -> Classification:
        """The settings by which a network is trained on so many samples."""
        return Classification(samples=samples, **shared(ClassifierDescent, self))


def _without_seeds(changed: Mapping[str, float]) -> dict[str, float]:
    """The settings of a variation, without the number of its networks."""
    return {name: value for name, value in changed.items() if name != SEEDS}


@dataclass(frozen=True, kw_only=True)
class Config(ClassifierTraining, NetworksConfig):
    """Settings of classifiers.

    Args:
        data: a set of images from one source, a name from ``conf/data``.
        networks: architectures by name, see :func:`~hessian_papers.models.classifiers.classifier`.
        seeds: networks of each; the first has ``seed``, the others the numbers after it.
        variations: other learning rates, momenta and weight decays; as many networks more are
            trained with each, or so many as its own ``seeds``.
    """

    data: str
    networks: list[str]
    seeds: Count
    variations: list[dict[str, float]]

    def __post_init__(self) -> None:
        super().__post_init__()
        names = list(self.networks)
        fits = bool(names) and len({*names}) == len(names)
        require(fits, "networks", "different names of architectures", names)
        for name in names:
            builder(name)
        for changed in self.variations:
            settings, count = _without_seeds(changed), changed.get(SEEDS, 1)
            fits = bool(settings) and {*settings} <= {*VARIED} and count >= 1 and count % 1 == 0
            expected = f"values of {', '.join(VARIED)}, and how many {SEEDS}"
            require(fits, "variations", expected, [*self.variations])
            ClassifierDescent(**shared(ClassifierDescent, self) | settings)

    @property
    def varied(self) -> list[int]:
        """The number of the variation of each network of an architecture, 0 for none."""
        counts = [changed.get(SEEDS, self.seeds) for changed in ({}, *self.variations)]
        return [place for place, count in enumerate(counts) for _ in range(int(count))]

    @property
    def trainings(self) -> list[dict[str, Any]]:
        """The seed and the settings of each network of an architecture, the first ones unchanged.

        The numbers of seeds go on through all of them.
        """
        settings, groups = shared(ClassifierTraining, self), [{}, *self.variations]
        return [
            {**settings, **_without_seeds(groups[place]), "seed": self.seed + number}
            for number, place in enumerate(self.varied)
        ]

    def require_data(self, form: Form) -> None:
        """Refuse a data set that is none of images.

        Raises:
            ValueError: it is none; the message begins with the field.
        """
        require(form.samples == IMAGES, "data", f"a data set with {IMAGES}", self.data)


VARIABLES: Variables = {
    "network": Variable("network", "the architecture"),
    "seed": Variable("seed", "of initial weights, orders of the samples and what is held out"),
    "variation": Variable("seed", "number of the settings that are varied, 0 for none"),
    "kept": Variable("kept", "epochs after which weights are kept"),
    "parameters": Variable("network", "number of weights"),
    "epoch_loss": Variable("network seed epoch", "mean loss over an epoch's batches", "nats"),
    "loss": Variable("network seed kept", "loss over the samples of the training", "nats"),
    "accuracy": Variable("network seed kept", "share of them that is classified right"),
    "diverged": Variable("network seed", "whether the training diverged"),
    "images": Variable("image row column channel", "grey values, from 0 on"),
    "labels": Variable("image", "class of an image"),
    "largest": Variable("", "grey value that there can be"),
    "inputs": Variable("", "what a network sees of an image, see Samples"),
    "held_out": Variable("", "images that a network is not trained on"),
    "random_labels": Variable("", "whether classes were drawn, and say nothing of images"),
}


class _Kept(Observer):
    """Keeps weights, loss and accuracy over all samples."""

    def __init__(
        self, model: nn.Module, inputs: Tensor, labels: Tensor, plan: Classification, folder: Path
    ) -> None:
        self._model, self._inputs, self._labels = model, inputs, labels
        self._updates, self._folder = plan.updates, folder
        self.evaluations: dict[int, tuple[float, float]] = {}

    @torch.no_grad()
    def __call__(self, step: int) -> None:
        """Look at the network after so many updates."""
        self._model.eval()
        loss = right = 0.0
        for x, y in zip(self._inputs.split(EVALUATED), self._labels.split(EVALUATED), strict=True):
            scores = self._model(x)
            loss += float(functional.cross_entropy(scores, y, reduction="sum"))
            right += float((scores.argmax(dim=1) == y).sum())
        epoch = step // self._updates
        self.evaluations[epoch] = (loss / len(self._labels), right / len(self._labels))
        write_weights(self._folder / f"{epoch}.nc", self._model)

    def metrics(self, step: int) -> dict[str, float]:
        """Loss and accuracy over all samples, of an epoch whose weights are kept."""
        if step % self._updates or step // self._updates not in self.evaluations:
            return {}
        loss, accuracy = self.evaluations[step // self._updates]
        return {"loss_of_all": loss, "accuracy": accuracy}

    def state(self) -> Arrays:
        """Loss and accuracy of each epoch that was evaluated."""
        return {str(epoch): np.array(pair) for epoch, pair in self.evaluations.items()}

    def restore(self, state: Arrays) -> None:
        """Go on from there."""
        for epoch, pair in state.items():
            loss, accuracy = pair.tolist()
            self.evaluations[int(epoch)] = loss, accuracy


def items(config: Config, data: xr.Dataset) -> list[Item]:
    """Each architecture with each of its trainings.

    Raises:
        ValueError: the images are from several sources, or all of them are held out.
    """
    sets = image_sets(data)
    require(len(sets) == 1, "data", "images from one source", [*sets])
    ((source, given),) = sets.items()
    count = given.sizes["image"]
    require(config.held_out < count, "held_out", f"fewer than {count} images", config.held_out)
    entries = [
        {
            "network": network,
            "images": given["images"].values,
            "labels": given["labels"].values,
            "largest": largest_value(source),
            "random_labels": bool(given["random_labels"]),
            **training,
        }
        for network in config.networks
        for training in config.trainings
    ]
    return [{**item, "keeps_images": place == 0} for place, item in enumerate(entries)]


def compute(
    *,
    network: str,
    images: np.ndarray,
    labels: np.ndarray,
    largest: float,
    random_labels: bool,
    seed: int,
    keeps_images: bool,
    run: TrainingRun,
    **settings: Any,
) -> Arrays:
    """Train one network.

    Args:
        network: its architecture.
        images: ``(n, H, W, C)``.
        labels: ``(n,)``.
        largest: grey value that there can be.
        random_labels: whether the labels were drawn.
        seed: of initial weights, orders and what is held out.
        keeps_images: whether the images, and what is known of them, are returned as well.
        run: where it logs, and keeps its unfinished state and ``<epoch>.nc``, the weights.
        settings: the :class:`ClassifierTraining`.

    Returns:
        ``parameters``; ``epoch_loss`` (epochs,), the mean over an epoch's batches; ``loss`` and
        ``accuracy`` (k,) over all samples at the kept epochs; ``diverged`` (), by the last of them.
    """
    chosen = ClassifierTraining(**settings)
    given: Any = {"images": images, "labels": labels, "largest": largest}
    given["random_labels"] = random_labels
    samples = Samples(**given, inputs=chosen.inputs, held_out=chosen.held_out, seed=seed)
    inputs, targets = samples.trained()
    shape, classes = samples.shape, samples.classes
    model = classifier(network, shape, classes, seed, chosen.initialisation).to(join())
    plan = chosen.plan(len(inputs))
    with weights_folder(run) as folder:
        kept = _Kept(model, inputs, targets, plan, folder) if folder else None
        observed = {"observer": kept, "observed": chosen.kept if kept else ()}
        how: Any = {"log": run.log, "checkpoint": run.checkpoint, "identity": network, **observed}
        losses = train_classifier(model, inputs, targets, plan, seed=seed, **how)
    count = sum(parameter.numel() for parameter in model.parameters())
    values = kept.evaluations if kept else {}
    pairs = [values.get(epoch, (np.nan, np.nan)) for epoch in sorted(chosen.kept)]
    loss, accuracy = np.array(pairs).reshape(-1, 2).T
    arrays = {"parameters": np.array(count), "epoch_loss": losses, "loss": loss}
    arrays["accuracy"] = accuracy
    last = float(loss[-1] if values and len(loss) else losses[-1])
    arrays["diverged"] = np.array(has_diverged(model, last, classes))
    data = {name: np.array(value) for name, value in given.items()}
    return arrays | (data if keeps_images else {})


def gather(config: Config, parts: Sequence[Arrays]) -> xr.Dataset:
    """The data set of all trainings: what :data:`VARIABLES` declares."""
    facts = {
        "kept": np.array(sorted(config.kept), dtype=np.int64),
        "inputs": np.array(config.inputs),
        "held_out": np.array(config.held_out),
    }
    labels = [
        {
            "network": np.array(network),
            "seed": np.array(training["seed"]),
            "variation": np.array(place),
        }
        for network in config.networks
        for place, training in zip(config.varied, config.trainings, strict=True)
    ]
    rows = [facts | own | part for own, part in zip(labels, parts, strict=True)]
    return assembled(rows, VARIABLES, ("network", "seed"))


def words(given: xr.Dataset, item: Item) -> tuple[str, ...]:
    """A network in words: its architecture and images, and its seed, which no other one has."""
    (source,) = image_sets(given)
    return (f"{item['network']} {image_set(source)}", f"seed {item['seed']}")


@dataclass(frozen=True, kw_only=True)
class KeptClassifier(KeptWeights):
    """A classifier at a kept epoch.

    Args:
        network: its architecture.
        samples: what it was trained on, and what not.
    """

    network: str
    samples: Samples

    def load(self) -> nn.Module:
        """The network in ``eval()``, on the device of this process.

        Raises:
            FileNotFoundError: its weights are not there.
            ValueError: they are of another network.
        """
        # Whatever weights it has are replaced.
        shape, classes = self.samples.shape, self.samples.classes
        model = classifier(self.network, shape, classes, 0, INITIALISATIONS[0])
        values = read_weights(self.path)
        try:
            model.load_state_dict(values)
        except RuntimeError as error:
            reason = " ".join(str(error).split())
            raise ValueError(
                f"{self.path}: expected weights of {self.network}: {reason}"
            ) from error
        return model.eval().to(join())


def kept_classifier(networks: xr.Dataset, network: str, seed: int, epoch: int) -> KeptClassifier:
    """A network of an ensemble.

    Args:
        networks: what :func:`gather` returns, kept in a folder.
        network: one of its architectures.
        seed: one of its seeds.
        epoch: one of those whose weights are kept.

    Raises:
        FileNotFoundError: its weights are not there.
    """
    return KeptClassifier(
        **kept_weights(networks, [("network", network), ("seed", seed)], f"{epoch}.nc"),
        network=network,
        samples=Samples(
            images=networks["images"].values,
            labels=networks["labels"].values,
            inputs=networks["inputs"].item(),
            largest=float(networks["largest"]),
            held_out=int(networks["held_out"]),
            seed=seed,
            random_labels=bool(networks["random_labels"]),
        ),
    )


def cost(item: Item) -> float:
    """Samples times parameters, about."""
    *shape, channels = item["images"].shape[1:]
    classes = int(item["labels"].max()) + 1
    with torch.device("meta"):
        model = classifier(item["network"], (channels, *shape), classes, 0, INITIALISATIONS[0])
    size = sum(parameter.numel() for parameter in model.parameters())
    return float(item["epochs"]) * len(item["labels"]) * (size + 1e4)


def probe(item: Item) -> Item:
    """A tenth of the epochs."""
    return {**item, "epochs": max(item["epochs"] // 10, 1), "kept": []}


train = FanOut(
    items=items,
    compute=compute,
    gather=gather,
    cost=cost,
    probe=probe,
    trains=True,
    words=words,
)

"""Classifiers of images, trained independently, with their weights at some epochs.

The networks behind wu2022dissecting, section 5 and appendices F and G: of each architecture some
that differ in their initial weights and in the order of the samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hessian_spectra.data.base import IMAGES, Form
from hessian_spectra.models import classifier
from hessian_spectra.models.classifiers import builder
from hessian_spectra.networks.base import NetworksConfig, shared
from hessian_spectra.networks.tools.images import sources
from hessian_spectra.networks.tools.kept_weights import KeptWeights, kept_weights, weights_folder
from hessian_spectra.networks.tools.result import Networks
from hessian_spectra.results import Arrays, read_arrays, write_arrays
from hessian_spectra.training import (
    Classification,
    ClassifierDescent,
    Observer,
    train_classifier,
)
from hessian_spectra.training.ranks import join
from hessian_spectra.validation import require, require_at_least
from hessian_spectra.work import FanOut, Item, Run

# Samples that are evaluated together.
EVALUATED = 1000


@dataclass(frozen=True, kw_only=True)
class Settings(ClassifierDescent):
    """What all trainings have in common.

    Args:
        kept: the epochs after which weights are kept, 0 for before the first.
    """

    kept: list[int]

    def __post_init__(self) -> None:
        super().__post_init__()
        different = len({*self.kept}) == len(self.kept)
        fits = different and {*self.kept} <= {*range(self.epochs + 1)}
        require(fits, "kept", f"different epochs from 0 to {self.epochs}", self.kept)

    def plan(self, samples: int) -> Classification:
        """How a network is trained on so many samples."""
        return Classification(samples=samples, **shared(ClassifierDescent, self))


@dataclass(frozen=True, kw_only=True)
class Config(Settings, NetworksConfig):
    """Settings of classifiers.

    Args:
        data: a set of images from one source, a name from ``conf/data``.
        networks: architectures by name, see :func:`~hessian_spectra.models.classifier`.
        seeds: networks of each; the first has ``seed``, the others the numbers after it.
    """

    data: str
    networks: list[str]
    seeds: int

    def __post_init__(self) -> None:
        super().__post_init__()
        names = list(self.networks)
        fits = bool(names) and len({*names}) == len(names)
        require(fits, "networks", "different names of architectures", names)
        for name in names:
            builder(name)
        require_at_least(1, self, "seeds")

    def require_data(self, form: Form) -> None:
        """Refuse a data set that is none of images.

        Raises:
            ValueError: it is none; the message begins with the field.
        """
        require(form.samples == IMAGES, "data", f"a data set with {IMAGES}", self.data)


def standardised(images: np.ndarray) -> Tensor:
    """Images ``(n, H, W, C)`` as inputs ``(n, C, H, W)``, each channel of mean 0 and variance 1.

    Example:
        >>> x = standardised(np.arange(8, dtype=np.uint8).reshape(2, 2, 2, 1))
        >>> tuple(x.shape), float(x.mean()), round(float(x.std(correction=0)), 6)
        ((2, 1, 2, 2), 0.0, 1.0)
    """
    x = torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2))).double()
    deviation, mean = torch.std_mean(x, dim=(0, 2, 3), correction=0, keepdim=True)
    return ((x - mean) / torch.where(deviation > 0, deviation, 1.0)).float()


class _Kept(Observer):
    """Keeps weights, loss and accuracy over all samples."""

    def __init__(
        self, model: nn.Module, inputs: Tensor, labels: Tensor, plan: Classification, folder: Path
    ) -> None:
        self._model, self._inputs, self._labels = model, inputs, labels
        self._updates, self._folder = plan.updates, folder
        self.found: dict[int, tuple[float, float]] = {}

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
        self.found[epoch] = (loss / len(self._labels), right / len(self._labels))
        values = {name: value.cpu().numpy() for name, value in self._model.state_dict().items()}
        write_arrays(self._folder / f"{epoch}.npz", values)

    def metrics(self, step: int) -> dict[str, float]:
        """Loss and accuracy over all samples, of an epoch whose weights are kept."""
        if step % self._updates or step // self._updates not in self.found:
            return {}
        loss, accuracy = self.found[step // self._updates]
        return {"loss_of_all": loss, "accuracy": accuracy}

    def state(self) -> Arrays:
        """What was found."""
        return {str(epoch): np.array(pair) for epoch, pair in self.found.items()}

    def restore(self, state: Arrays) -> None:
        """Go on from there."""
        for epoch, pair in state.items():
            loss, accuracy = pair.tolist()
            self.found[int(epoch)] = loss, accuracy


def items(config: Config, data: Arrays) -> list[Item]:
    """Each architecture with each seed.

    Raises:
        ValueError: the images are from several sources.
    """
    names = sources(data)
    require(len(names) == 1, "data", "images from one source", names)
    settings = shared(Settings, config)
    found = [
        {
            "network": network,
            "images": data[f"{names[0]}/images"],
            "labels": data[f"{names[0]}/labels"],
            "seed": config.seed + number,
            **settings,
        }
        for network in config.networks
        for number in range(config.seeds)
    ]
    return [{**item, "keeps_images": place == 0} for place, item in enumerate(found)]


def compute(
    *,
    network: str,
    images: np.ndarray,
    labels: np.ndarray,
    seed: int,
    keeps_images: bool,
    run: Run,
    **shared: object,
) -> Arrays:
    """Train one network.

    Args:
        network: its architecture.
        images: ``(n, H, W, C)``.
        labels: ``(n,)``.
        seed: of initial weights and orders.
        keeps_images: whether these two are returned as well.
        run: where it logs, and keeps its unfinished state and ``<epoch>.npz``, the weights.
        shared: the :class:`Settings`.

    Returns:
        ``parameters``; ``epoch_loss`` (epochs,), the mean over an epoch's batches; ``loss`` and
        ``accuracy`` (k,) over all samples at the kept epochs.
    """
    settings = Settings(**shared)  # type: ignore[arg-type]
    device = join()
    inputs, targets = standardised(images).to(device), torch.from_numpy(labels).to(device)
    model = _blank(network, images, labels, seed).to(device)
    plan = settings.plan(len(inputs))
    with weights_folder(run) as folder:
        kept = _Kept(model, inputs, targets, plan, folder) if folder else None
        losses = train_classifier(
            model,
            inputs,
            targets,
            plan,
            seed=seed,
            observer=kept,
            observed=settings.kept if kept else (),
            log=run.log,
            checkpoint=run.checkpoint,
            identity=network,
        )
    count = sum(parameter.numel() for parameter in model.parameters())
    found = kept.found if kept else {}
    pairs = [found.get(epoch, (np.nan, np.nan)) for epoch in sorted(settings.kept)]
    loss, accuracy = np.array(pairs).reshape(-1, 2).T
    arrays = {"parameters": np.array(count), "epoch_loss": losses, "loss": loss}
    arrays["accuracy"] = accuracy
    return arrays | ({"images": images, "labels": labels} if keeps_images else {})


def gather(config: Config, parts: Sequence[Arrays]) -> Arrays:
    """The arrays of all trainings.

    Returns:
        For A architectures, S seeds and k kept epochs ``network (A,)``, ``seed (S,)``,
        ``kept (k,)``; ``parameters (A,)``; ``epoch_loss (A, S, epochs)``; ``loss`` and ``accuracy``
        ``(A, S, k)``; ``images (n, H, W, C)`` and ``labels (n,)``.
    """
    data = {name: parts[0][name] for name in ("images", "labels")}
    shape = (len(config.networks), config.seeds)
    arrays = {
        name: np.stack([part[name] for part in parts]).reshape(*shape, *parts[0][name].shape)
        for name in parts[0].keys() - data.keys()
    }
    arrays["parameters"] = arrays["parameters"][:, 0]
    return arrays | data | {
        "network": np.array(config.networks),
        "seed": np.arange(config.seed, config.seed + config.seeds),
        "kept": np.array(sorted(config.kept), dtype=np.int64),
    }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class KeptClassifier(KeptWeights):
    """A classifier at a kept epoch.

    Args:
        network: its architecture.
        images: ``(n, H, W, C)`` what it was trained on.
        labels: ``(n,)`` their classes.
    """

    network: str
    images: np.ndarray
    labels: np.ndarray

    def samples(self) -> tuple[Tensor, Tensor]:
        """What it was trained on, inputs and labels, on the device of this process."""
        device = join()
        return standardised(self.images).to(device), torch.from_numpy(self.labels).to(device)

    def load(self) -> nn.Module:
        """The network in ``eval()``, on the device of this process.

        Raises:
            FileNotFoundError: its weights are not there.
            ValueError: they are of another network.
        """
        model = _blank(self.network, self.images, self.labels, seed=0)
        arrays = read_arrays(self.path)
        values = {name: torch.from_numpy(array) for name, array in arrays.items()}
        try:
            model.load_state_dict(values)
        except RuntimeError as error:
            reason = " ".join(str(error).split())
            raise ValueError(
                f"{self.path}: expected weights of {self.network}: {reason}"
            ) from error
        return model.eval().to(join())


def kept_classifier(networks: Networks, network: str, seed: int, epoch: int) -> KeptClassifier:
    """A network of an ensemble.

    Args:
        networks: what :func:`gather` returns, in its folder.
        network: one of its architectures.
        seed: one of its seeds.
        epoch: one of those whose weights are kept.

    Raises:
        FileNotFoundError: its weights are not there.
    """
    return KeptClassifier(
        **kept_weights(networks, [("network", network), ("seed", seed)], f"{epoch}.npz"),
        network=network,
        images=networks["images"],
        labels=networks["labels"],
    )


def _blank(network: str, images: np.ndarray, labels: np.ndarray, seed: int) -> nn.Module:
    """A network for such images, with the weights of a seed."""
    shape = (images.shape[3], *images.shape[1:3])
    return classifier(network, shape, int(labels.max()) + 1, seed)


def cost(item: Item) -> float:
    """Samples times parameters, about."""
    with torch.device("meta"):
        model = _blank(item["network"], item["images"], item["labels"], seed=0)
    size = sum(parameter.numel() for parameter in model.parameters())
    return float(item["epochs"]) * len(item["labels"]) * (size + 1e4)


def probe(item: Item) -> Item:
    """A tenth of the epochs."""
    return {**item, "epochs": max(item["epochs"] // 10, 1), "kept": []}


train = FanOut(items=items, compute=compute, gather=gather, cost=cost, probe=probe, trains=True)

"""Networks trained on subsets of images: what the studies of anon2026data have in common.

One network is one item of a fan-out: a subset of a data set's images is drawn, its inputs are
whitened or left as they are, a network is drawn and trained by full-batch gradient descent, and its
weights are kept at some epochs. A linear network depends on its samples only through their second
moments, so that these are what is kept of them; of a nonlinear one, the samples are kept.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor
from torch.nn import functional

from hessian_papers.constraints import AtLeast, Checked, Count, OneOf, Positive, Scale
from hessian_papers.data.tools.reduction import reduce_regression
from hessian_papers.data.tools.whitening import PrincipalComponents, principal_components
from hessian_papers.image_names import image_set
from hessian_papers.labelled import Variable, Variables, arrays_of, items_of, side_by_side
from hessian_papers.models.initialisation import kaiming_uniform
from hessian_papers.networks.base import shared
from hessian_papers.training.full_batch import FullBatchTraining, full_batch_descent
from hessian_papers.training.objectives import LinearObjective, SampleObjective
from hessian_papers.work import FanOut, Item, TrainingRun
from hessian_spectra.files import Arrays
from hessian_spectra.models import balanced_weights
from hessian_spectra.seeding import generator
from hessian_spectra.validation import (
    LARGEST_SCALE,
    SMALLEST_SCALE,
    require,
)

# What is done to the inputs, how the weights are drawn, and the activation of the hidden layers.
INPUTS, INITIALISATIONS, ACTIVATIONS = (
    ("whitened", "raw"),
    ("balanced", "kaiming"),
    ("linear", "tanh"),
)
CASES = tuple(f"{x}-{w}-{phi}" for x in INPUTS for w in INITIALISATIONS for phi in ACTIVATIONS)

PRECISIONS = {"float32": torch.float32, "float64": torch.float64}

# After 20 halvings the weights no longer move: 100 further epochs change them by less than a
# ten-thousandth of what one epoch did at the start.
HALVINGS = 20


@dataclass(frozen=True, kw_only=True)
class ImageTraining(Checked):
    """The settings that all networks of a study have in common.

    Args:
        seed: seed of all random draws.
        depth: number of layers L.
        input_scale: σ_x of whitened inputs.
        initial_range: smallest and largest singular value of balanced layers at initialisation,
            between which they are drawn uniformly.
        learning_rate: at the start.
        epochs: the most epochs; training ends earlier once the rate was halved 20 times.
        precision: of the training of nonlinear networks, ``float32`` or ``float64``; linear ones
            take ``float64``, and so does whatever is evaluated afterwards.
    """

    seed: int
    depth: Annotated[int, AtLeast(2)]
    input_scale: Scale
    initial_range: list[float]
    learning_rate: Positive
    epochs: Count
    precision: Annotated[str, OneOf(tuple(PRECISIONS))]


@dataclass(frozen=True, kw_only=True)
class ImageNetworksConfig(ImageTraining):
    """Settings of networks that are trained on images.

    Args:
        samples: number of images n of a subset.
        replicates: networks of each point, each with a subset and initial weights of its own.
        width: units of each hidden layer.
    """

    samples: Count
    replicates: Count
    width: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        ends = list(self.initial_range)
        ordered = len(ends) == 2 and 0 <= ends[0] <= ends[-1]
        require(ordered, "initial_range", "two numbers, 0 <= smallest <= largest", ends)
        # Layers of zeros have no gradient to learn from.
        fits = SMALLEST_SCALE <= ends[1] <= LARGEST_SCALE
        expected = f"a largest number from {SMALLEST_SCALE:g} to {LARGEST_SCALE:g}"
        require(fits, "initial_range", expected, ends)


def variables(depth: int) -> Variables:
    """The declarations of what is kept of one network; the axis is ``network``.

    Args:
        depth: its number of layers L.

    Example:
        >>> variables(2)["weights 1"].dims, variables(2)["weights 2"].dims
        ('epoch unit_1 feature', 'epoch class unit_1')
    """
    units = ["feature", *(f"unit_{layer}" for layer in range(1, depth)), "class"]
    layers = {
        f"weights {layer}": Variable(f"epoch {units[layer]} {units[layer - 1]}", "of the layer")
        for layer in range(1, depth + 1)
    }
    return {
        "network": Variable("network", "number of the network, in the order of their training"),
        "source": Variable("network", "image set that the network is trained on"),
        "case": Variable("network", "what is done to the inputs, initialisation and activation"),
        "replicate": Variable("network", "which of the networks of a point it is"),
        "rank": Variable("network", "independent features of the inputs"),
        "halvings": Variable("network", "how often the learning rate was halved"),
        "finished": Variable("network", "last epoch"),
        "diverged_at": Variable("network", "epoch at which training diverged, -1 for never"),
        "counts": Variable("class", "images of a class"),
        "epoch": Variable("epoch", "recorded epoch of training"),
        "loss": Variable("epoch", "loss"),
        "rate": Variable("epoch", "learning rate"),
        "losses": Variable("update", "loss of every epoch"),
        "root": Variable("feature", "of linear networks, roots of the inputs' second moments"),
        "target": Variable("class feature", "of linear networks, what they learn of these"),
        "floor": Variable("", "of linear networks, loss of least squares"),
        "inputs": Variable("image feature", "of nonlinear networks, their inputs"),
        "targets": Variable("image class", "of nonlinear networks, one-hot labels"),
        **layers,
    }


def image_sets(data: xr.Dataset) -> dict[str, xr.Dataset]:
    """The image sets in a data set, by their names.

    Raises:
        ValueError: it is not a data set of images.
    """
    if "source" not in data:
        held = ", ".join(map(str, data.variables))
        raise ValueError(f"data: expected a data set of images, got one of {held}")
    return items_of(data, "source")


def network_item(
    config: ImageNetworksConfig, images: xr.Dataset, source: str, indices: Tensor, **point: Any
) -> Item:
    """The item of one network.

    Args:
        config: the study's settings.
        images: an image set, as the data kind ``images`` makes it.
        source: its name.
        indices: of the images of the subset.
        point: what differs between the study's networks: ``case``, ``replicate``, ``record``,
            ``width``.
    """
    return {
        "source": source,
        # The whole set and indices, not the subset: an array that items share travels once.
        "images": images["images"].values,
        "labels": images["labels"].values,
        "indices": indices.numpy(),
        **point,
    } | shared(ImageTraining, config)


def cost(item: Item) -> float:
    """Roughly the operations of the training."""
    count = len(item["indices"])
    features = min(count, int(np.prod(item["images"].shape[1:])))
    hidden = item["width"] * (features + item["width"] * (item["depth"] - 2))
    signals = 10.0 if item["case"].endswith("linear") else float(count)
    factorisation = 10.0 * count * features**2
    # A step of a small network costs its calls, not its operations.
    return factorisation + item["epochs"] * (2e6 + 6 * signals * hidden)


def probe(item: Item) -> Item:
    """The training with a tenth of its epochs."""
    epochs = max(item["epochs"] // 10, 1)
    return {**item, "epochs": epochs, "record": [0, epochs]}


def words(given: xr.Dataset, item: Item) -> tuple[str, ...]:
    """A network in words: its images, its case, the sizes and the number of it."""
    classes, count = item["labels"][item["indices"]], len(item["indices"])
    return (
        image_set(item["source"]),
        *item["case"].split("-"),
        f"width {item['width']}",
        f"{count} images",
        f"share {np.bincount(classes).max() / count:.0%}",
        f"network {item['replicate']}",
    )


def train_network(
    *,
    source: str,
    images: np.ndarray,
    labels: np.ndarray,
    indices: np.ndarray,
    case: str,
    width: int,
    record: Sequence[int],
    replicate: int,
    run: TrainingRun,
    **shared: Any,
) -> Arrays:
    """Draw and train one network.

    Args:
        source: name of the image set, which the random draws depend on.
        images: ``(N, height, width, channels)``, uint8.
        labels: ``(N,)``, 0 to K − 1.
        indices: ``(n,)``, the subset.
        case: one of ``CASES``.
        width: units of each hidden layer.
        record: epochs whose weights are kept.
        replicate: which of the networks of a point it is.
        run: where the training logs and keeps its unfinished state.
        shared: the :class:`ImageTraining`.

    Returns:
        ``epoch`` (t,), and at each ``weights <l>`` (t, d_l, d_{l−1}), ``loss`` (t,), ``rate`` (t,);
        ``losses`` of every epoch, ``finished``, the last of them, ``halvings``, how many there
        were, and ``diverged_at`` (−1 for never);
        ``counts`` (K,) of the labels, ``rank`` of the inputs, ``source``, ``case``, ``replicate``;
        for linear networks ``root`` (r,), ``target`` (K, r) and ``floor`` of
        :class:`ReducedRegression`, for others ``inputs`` (n, r) and ``targets`` (n, K).
    """
    settings = ImageTraining(**shared)
    inputs_are, drawn, activation = case.split("-")
    classes = int(labels.max()) + 1
    chosen = torch.from_numpy(labels[indices])
    # Grey values from 0 to 1, whatever the depth of the pixels.
    x = torch.from_numpy(images[indices]).flatten(1).double() / float(images.max())
    y = functional.one_hot(chosen, classes).double()
    components = principal_components(x)
    scale = settings.input_scale if inputs_are == "whitened" else None
    objective, kept = _objective(components, y, scale, activation, PRECISIONS[settings.precision])
    kept |= {"source": np.array(source), "case": np.array(case), "replicate": np.array(replicate)}
    kept["rank"] = np.array(len(components.singular_values))
    kept["counts"] = np.bincount(chosen.numpy(), minlength=classes)
    features = (kept["root"] if "root" in kept else kept["inputs"]).shape[-1]
    sizes = (features, *[width] * (settings.depth - 1), classes)
    weights = _initial(drawn, sizes, settings.initial_range, f"{source} {replicate}", settings.seed)
    ended = full_batch_descent(
        objective,
        [weight.to(objective.dtype) for weight in weights],
        learning_rate=settings.learning_rate,
        epochs=settings.epochs,
        record=list(record),
        smallest_rate=settings.learning_rate * 0.5**HALVINGS,
        log=run.log,
        checkpoint=run.checkpoint,
    )
    return kept | _arrays(ended)


def _objective(
    components: PrincipalComponents,
    y: Tensor,
    scale: float | None,
    activation: str,
    dtype: torch.dtype,
) -> tuple[LinearObjective | SampleObjective, Arrays]:
    """The loss of a network, and what is kept of the samples that it is about.

    Args:
        components: of the inputs.
        y: one-hot labels ``(n, K)``.
        scale: of whitened inputs; ``None`` leaves them as they are.
        activation: of the hidden layers.
        dtype: of a nonlinear network.
    """
    if activation == "linear":
        reduced = reduce_regression(components, y, scale)
        linear = LinearObjective(reduced.root, reduced.target, reduced.floor)
        kept = {"root": reduced.root.numpy(), "target": reduced.target.numpy()}
        return linear, kept | {"floor": np.array(reduced.floor)}
    # Raw inputs are rotated to their principal directions, which leaves out constant zeros.
    inputs = components.scores * components.singular_values
    inputs = inputs if scale is None else components.inputs(scale)
    objective = SampleObjective(inputs.to(dtype), y.to(dtype), activation)
    return objective, {"inputs": inputs.numpy(), "targets": y.numpy()}


def _arrays(ended: FullBatchTraining) -> Arrays:
    """The arrays that are kept of a training."""
    recorded = list(ended.recorded)
    arrays: Arrays = {"epoch": np.array(recorded), "losses": ended.losses.numpy()}
    arrays |= {"loss": ended.losses[recorded].numpy(), "rate": ended.rates[recorded].numpy()}
    for layer, stacked in enumerate(zip(*ended.weights, strict=True), start=1):
        arrays[f"weights {layer}"] = torch.stack(stacked).double().numpy()
    arrays |= {"halvings": np.array(len(ended.halvings)), "finished": np.array(ended.finished)}
    arrays["diverged_at"] = np.array(-1 if ended.diverged_at is None else ended.diverged_at)
    return arrays


def _initial(
    drawn: str, sizes: Sequence[int], initial_range: Sequence[float], purpose: str, seed: int
) -> tuple[Tensor, ...]:
    """Balanced or Kaiming-uniform weights."""
    draws = generator(seed, f"weights {purpose}")
    if drawn == "kaiming":
        return kaiming_uniform(sizes, draws)
    smallest, largest = initial_range
    uniform = torch.rand(min(sizes), dtype=torch.float64, generator=draws)
    values = smallest + (largest - smallest) * uniform
    return balanced_weights(sizes, values.tolist(), draws)


def _gather(config: ImageTraining, parts: Sequence[Arrays]) -> xr.Dataset:
    """The data set of all networks, each with sizes of its own."""
    rows = [{"network": np.array(number), **part} for number, part in enumerate(parts)]
    return side_by_side(rows, variables(config.depth), "network")


def training(items: Callable[[Any, xr.Dataset], Iterable[Item]]) -> FanOut:
    """The training of a study's networks, one an item.

    Args:
        items: of the networks, each made by :func:`network_item`.
    """
    return FanOut(
        items=lambda config, data: list(items(config, data)),
        compute=train_network,
        trains=True,
        gather=_gather,
        cost=cost,
        probe=probe,
        words=words,
    )


def split(networks: xr.Dataset) -> list[Arrays]:
    """The arrays of each network, by name, in the order of their training."""
    return [arrays_of(network) for network in items_of(networks, "network").values()]

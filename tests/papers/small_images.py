"""Small sets of images, and the Hessian of a two- or more-layer loss on all of a set's samples."""

import numpy as np
import torch
from torch.func import functional_call, hessian
from torch.nn import functional

from hessian_papers.data.images import VARIABLES
from hessian_papers.data.tools.whitening import principal_components
from hessian_papers.labelled import items_of, side_by_side
from hessian_spectra.models import Perceptron

CLASSES = 4


def data_of_images(random_labels=False, **sets):
    """Images ``(n, H, W, C)`` and their labels, by the name of their set, as a data set."""
    parts = [
        {
            "source": np.array(name),
            "random_labels": np.array(random_labels),
            "images": images.astype(np.uint8),
            "labels": labels.astype(np.int64),
        }
        for name, (images, labels) in sets.items()
    ]
    return side_by_side(parts, VARIABLES, "source")


def image_sets(**counts):
    """A data set of images of 3 x 3 pixels, one of which is constant, in four classes."""
    sets = {}
    for seed, (name, count) in enumerate(counts.items()):
        draw = np.random.default_rng(seed)
        labels = np.arange(count) % CLASSES
        images = draw.integers(0, 17, size=(count, 3, 3, 1)) + 40 * labels[:, None, None, None]
        images[:, 0, 0] = 0
        sets[name] = images, labels
    return data_of_images(**sets)


def whole_samples(data, source, input_scale):
    """Whitened inputs ``(n, r)`` and one-hot targets ``(n, K)`` of all images of a set."""
    chosen = items_of(data, "source")[source]
    images, labels = chosen["images"].values, torch.from_numpy(chosen["labels"].values)
    x = torch.from_numpy(images).flatten(1).double() / float(images.max())
    return principal_components(x).inputs(input_scale), functional.one_hot(labels).double()


def loss_and_hessian(weights, inputs, targets):
    """1/(2n) Σ_i ‖f(x_i) − y_i‖² and all its second derivatives, by automatic differentiation."""
    model = Perceptron(weights, [1.0] * len(weights), "linear")
    parameters = dict(model.named_parameters())
    sizes = [parameter.numel() for parameter in parameters.values()]

    def loss(flat):
        parts = zip(parameters.items(), flat.split(sizes), strict=True)
        chosen = {name: part.view_as(parameter) for (name, parameter), part in parts}
        return (functional_call(model, chosen, (inputs,)) - targets).square().sum() / (
            2 * len(inputs)
        )

    at = torch.cat([parameter.detach().reshape(-1) for parameter in parameters.values()])
    return float(loss(at)), hessian(loss)(at)

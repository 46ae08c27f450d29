"""Classifiers of few small images, as an ensemble that was trained."""

from types import SimpleNamespace

import numpy as np
import torch
from small_images import data_of_images
from torch import nn

from hessian_papers.networks import classifiers
from hessian_papers.networks.classifiers import kept_classifier
from hessian_papers.networks.tools.result import kept_in
from hessian_papers.work import TrainingRun

EPOCHS = 3


def settings(**changes):
    """The settings of the ensemble."""
    fields = {
        "kind": "classifiers", "seed": 3, "data": "images", "networks": ["F-6", "F-5^2-BN"],
        "seeds": 3, "variations": [], "epochs": EPOCHS, "batch_size": 8, "learning_rate": 0.2,
        "momentum": 0.5, "weight_decay": 0.0, "initialisation": "xavier uniform",
        "inputs": "standardised", "held_out": 0, "kept": [0, EPOCHS],
    }  # fmt: skip
    return classifiers.Config(**(fields | changes))


def ensemble(folder, *, shape=(4, 4), samples=40, random_labels=False, **changes):
    """Networks with their weights in a folder."""
    config = settings(**changes)
    draws, labels = np.random.default_rng(0), np.arange(samples) % 3
    grey = draws.integers(0, 60, (samples, *shape, 1)) + 60 * labels[:, None, None, None]
    data = data_of_images(random_labels, made=(grey, labels))
    parts = [
        classifiers.train.compute(**item, run=TrainingRun(folder=folder / str(number)))
        for number, item in enumerate(classifiers.train.items(config, data))
    ]
    return kept_in(folder, classifiers.train.gather(config, parts))


def of_two_epochs(folders, *names):
    """Two networks each of some architectures, on 2 x 2 pixels."""
    of = {"networks": [*names], "seeds": 2, "shape": (2, 2), "epochs": 2, "kept": [0, 2]}
    return ensemble(folders.mktemp("networks"), **of)


def dense(networks, network, seed, layer, *, images, epoch=EPOCHS):
    """A layer in float64 on the first images: its Hessian, both factors, and the mean input."""
    kept = kept_classifier(networks, network, seed, epoch)
    model, (x, y) = kept.load().double(), kept.samples.trained()
    x, y, module, seen = x[:images].double(), y[:images], model.get_submodule(layer), {}
    hook = module.register_forward_hook(lambda _, given, out: seen.update(x=given[0], z=out))
    model(x)
    hook.remove()

    def loss(weight):
        scores = torch.func.functional_call(model, {f"{layer}.weight": weight}, x)
        return nn.functional.cross_entropy(scores, y)

    size, parts = module.weight.numel(), list(model.children())
    rest = nn.Sequential(*parts[parts.index(module) + 1 :])

    def own(z):
        # A mean over samples: what each adds to its own output's second derivative.
        return nn.functional.cross_entropy(rest(z), y)

    hessian = torch.autograd.functional.hessian(loss, module.weight.detach())
    by_output = torch.autograd.functional.hessian(own, seen["z"].detach())
    inputs = seen["x"].detach()
    return SimpleNamespace(
        hessian=hessian.reshape(size, size),
        output=torch.einsum("aiaj->ij", by_output),
        input=inputs.T @ inputs / len(inputs),
        mean=inputs.mean(dim=0),
        shape=tuple(module.weight.shape),
    )

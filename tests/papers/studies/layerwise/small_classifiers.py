"""Classifiers of few small images, as an ensemble that was trained."""

import numpy as np
from small_images import data_of_images

from hessian_papers.networks import classifiers
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

"""Small instances of the study of the spectrum in training, by what it follows."""

from functools import cache

import numpy as np
from samples import samples
from study_configs import both_sides, configured

from hessian_papers.labelled import joined
from hessian_papers.studies.scalar.spectrum_in_training import study

NO_SEEDS = {
    "seeds": 0,
    "seed_steps": 200,
    "input_scales": [1.0],
    "high_momenta": [0.0],
    "high_settings": [[0.1, 2.0]],
}
# Settings of each; of the runs, what is not gradient descent of a linear network.
PAIR = {
    "follows": "pair",
    "seed": 1,
    "runs": {"linear": {}, "relu": {"network": "relu"}},
    "width": 6,
    "initial_scale": 0.75,
    "learning_rate": 0.5,
    "steps": 120,
    "record_every": 1,
    "numeric_every": 8,
}
EIGENSPACE = {
    "follows": "eigenspace",
    "seed": 0,
    "runs": {
        "gradient_descent": {},
        "heavy_ball": {"momentum": 0.9},
        "nesterov": {"momentum": 0.9, "nesterov": True},
        "sgd": {"batch_size": 5},
        "weight_decay": {"weight_decay": 0.02},
        "adam": {"adam": True, "learning_rate": 0.02},
        "random_velocity": {"momentum": 0.9, "velocity_scale": 0.2},
    },
    "width": 4,
    "initial_scale": 1.0,
    "learning_rate": 0.05,
    "steps": 40,
    "record_every": 2,
    "numeric_every": 5,
}
COORDINATES = {
    "follows": "coordinates",
    "seed": 0,
    "runs": {"linear": {"network": "multi_input"}},
    "width": 3,
    "initial_scale": 0.7,
    "learning_rate": 0.05,
    "steps": 20,
    "record_every": 4,
    "numeric_every": 2,
}


def config(settings, **changes):
    return configured(study, {"data": "test"} | NO_SEEDS | settings | changes)


# Data are made once: sums of the same numbers elsewhere in memory may have other bits.
@cache
def wedge(size=30):
    draw = np.random.default_rng(0)
    x = draw.uniform(-1, 1, size)
    return samples(x, np.where(x > 0, 2.0, -0.5) * x + 0.1 * draw.normal(size=size))


@cache
def line(size=20):
    x, noise = np.random.default_rng(0).normal(size=(2, size))
    return samples(x, 0.8 * x + 0.3 * noise)


def three_features(correlated=True, size=16):
    draw = np.random.default_rng(0)
    x = draw.normal(size=(size, 3))
    if correlated:
        x[:, 1] += x[:, 0]
    else:
        x = np.sqrt(size) * np.linalg.qr(x)[0]
    return samples(x, x @ [1.0, -0.5, 0.2] + 0.1 * draw.normal(size=size))


DATA = {"pair": wedge, "eigenspace": line, "coordinates": three_features}


def sides(settings, data=None, **changes):
    """Both sides, from the training on."""
    of_study = config(settings, **changes)
    return both_sides(study, of_study, study.train(of_study, data or DATA[of_study.follows]()))


def linear(momentum=0.0, **high):
    """The runs of the linear network alone, and one more if it has settings."""
    return {"linear": {"momentum": momentum}, **({"linear_high": high} if high else {})}


def pair_sides(*, high=None, **changes):
    """The sides of both networks, and of one more run of the linear one if it has settings."""
    runs = PAIR["runs"] | ({"linear_high": high} if high else {})
    return sides(PAIR, **{"runs": runs} | changes)


def data_of(made):
    return joined([*made.values()])

"""Small instances of the studies that follow a training, for the tests of their parts."""

from functools import cache

import numpy as np
from samples import samples

from hessian_papers.studies.scalar.gd_subspace import study as gd_subspace
from hessian_papers.studies.scalar.multi_input_training import study as multi_input_training
from hessian_papers.studies.scalar.outlier_pair import study as outlier_pair


def sides(study, config, data):
    """Both sides of a study, from its training on."""
    trained = study.train(config, data)
    return {
        "closed_form": study.closed_form(config, trained),
        "numerics": study.numerics(config, trained),
    }


# Data are made once: sums of the same numbers elsewhere in memory may have other bits.
@cache
def wedge(size=30):
    draw = np.random.default_rng(0)
    x = draw.uniform(-1, 1, size)
    return samples(x, np.where(x > 0, 2.0, -0.5) * x + 0.1 * draw.normal(size=size))


def outlier_pair_config(**changes):
    fields = {
        "kind": "outlier_pair",
        "paper": "singh2026cracking",
        "artifact": "Figure 8",
        "title": "test",
        "data": "test",
        "seed": 1,
        "networks": ["linear", "relu"],
        "width": 6,
        "initial_scale": 0.75,
        "learning_rate": 0.5,
        "momentum": 0.0,
        "high_learning_rate": 0.0,
        "high_momentum": 0.0,
        "high_initial_scale": 0.75,
        "seeds": 0,
        "seed_steps": 200,
        "input_scales": [1.0],
        "high_settings": [[0.1, 2.0]],
        "steps": 120,
        "record_every": 1,
        "numeric_every": 8,
    }
    return outlier_pair.Config(**(fields | changes))


def outlier_pair_sides(**changes):
    return sides(outlier_pair, outlier_pair_config(**changes), wedge())


@cache
def line(size=20):
    x, noise = np.random.default_rng(0).normal(size=(2, size))
    return samples(x, 0.8 * x + 0.3 * noise)


def gd_subspace_config(**changes):
    fields = {
        "kind": "gd_subspace",
        "paper": "singh2026cracking",
        "artifact": "Corollary 3.1",
        "title": "test",
        "data": "test",
        "seed": 0,
        "width": 4,
        "initial_scale": 1.0,
        "learning_rate": 0.05,
        "momentum": 0.9,
        "weight_decay": 0.02,
        "batch_size": 5,
        "adam_learning_rate": 0.02,
        "velocity_scale": 0.2,
        "steps": 40,
        "record_every": 2,
        "numeric_every": 5,
    }
    return gd_subspace.Config(**(fields | changes))


def gd_subspace_sides(**changes):
    return sides(gd_subspace, gd_subspace_config(**changes), line())


def three_features(correlated=True, size=16):
    draw = np.random.default_rng(0)
    x = draw.normal(size=(size, 3))
    if correlated:
        x[:, 1] += x[:, 0]
    else:
        x = np.sqrt(size) * np.linalg.qr(x)[0]
    return samples(x, x @ [1.0, -0.5, 0.2] + 0.1 * draw.normal(size=size))


def multi_input_config(**changes):
    fields = {
        "kind": "multi_input_training",
        "paper": "singh2026cracking",
        "artifact": "Corollary B.1 on real data",
        "title": "test",
        "data": "test",
        "seed": 0,
        "width": 3,
        "initial_scale": 0.7,
        "learning_rate": 0.05,
        "steps": 20,
        "record_every": 4,
        "numeric_every": 2,
    }
    return multi_input_training.Config(**(fields | changes))


def multi_input_sides(correlated=True, **changes):
    data = three_features(correlated)
    return sides(multi_input_training, multi_input_config(**changes), data)

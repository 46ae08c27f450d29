"""Numbers at which a statement changes what it counts: what is said below each, and above it.

Numbers and answers stand here again, so that a threshold of another size fails.
"""

import numpy as np
import pytest
import torch
import xarray as xr

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.attention.attention_scale import claims as attention_scale
from hessian_papers.studies.attention.attention_sinks import study as attention_sinks
from hessian_papers.studies.attention.uniform_attention import claims as uniform_attention
from hessian_papers.studies.correlations import pair_sums, points, teachers
from hessian_papers.studies.correlations.norm_correlation import regions
from hessian_papers.studies.correlations.norm_correlation import study as norm_correlation
from hessian_papers.studies.correlations.paired_eigenvalues import claims as paired_eigenvalues
from hessian_papers.studies.deep_linear.balanced_spectrum import claims as balanced_spectrum
from hessian_papers.studies.deep_linear.depth_and_norm import claims as depth_and_norm
from hessian_papers.studies.gpt2.sink_density import claims as sink_density
from hessian_papers.studies.gpt2.sink_density import edits
from hessian_papers.studies.images.through_training import derived as through_training
from hessian_papers.studies.layerwise import standing
from hessian_papers.studies.layerwise.model_overlaps import claims as model_overlaps
from hessian_papers.studies.layerwise.model_overlaps import derived as eigenvalues_told_apart
from hessian_papers.studies.pac_bayes.bounds import claims as bounds
from hessian_papers.studies.scalar.learning_phases import claims as learning_phases
from hessian_papers.studies.scalar.learning_phases import heads
from hessian_papers.studies.scalar.outliers import Outliers
from hessian_papers.studies.scalar.spectrum_in_training import derived as spectrum_in_training
from hessian_papers.studies.scalar.spectrum_in_training import paths


def of(**variables):
    """A data set of values along dimensions, ``name=("a b", values)``, and of single numbers."""
    return xr.Dataset(
        {
            name: (entry[0].split(), np.array(entry[1])) if isinstance(entry, tuple) else entry
            for name, entry in variables.items()
        }
    )


def told_apart(share):
    data = of(numerical_point=("numerical_point", [0]), point=("point", [0]))
    data["exact"] = ("point", "rank"), [[0.0, share, 1.0]]
    return attention_scale._worst_apart(data, xr.DataArray([7.0], dims="numerical_point"))


def known_condition(number):
    data = of(numerical_point=("numerical_point", [0]), point=("point", [0]))
    data = data.assign({name: ("point", [1.0]) for name in ("condition_bound", "condition_number")})
    return attention_scale.condition_bound(data.assign(numerical_condition_number=("at", [number])))


def converges(left):
    values = of(key_dimension=("key_dimension", [1, 100]), distance=("key_dimension", [1.0, left]))
    return bool(uniform_attention.almost_surely(values))


def constant_bulk(range_):
    bulk = ("factor key_dimension", [[1.0], [1 + range_]])
    data = of(key_dimension=("key_dimension", [10]), scaled_bulk=bulk)
    return bool(uniform_attention.bulk_is_constant(data))


def joined(distance):
    values = torch.tensor([0.0, distance, 1.0], dtype=torch.float64)
    return len(pair_sums.distinct_values(values, torch.ones(3, dtype=torch.int64)).values)


def is_a_lead(difference):
    return bool(teachers.apart(xr.DataArray([difference], dims="teacher")).notnull().all())


def beyond_chance(share):
    """The share beyond chance, where a pair is matched by such a share of 200 spectra."""
    chance = [[0.0] * round(200 * share - 1) + [2.0] * round(200 - 200 * share)]
    data = of(chance=("network jitter", chance), distance=("pair network", [[1.0]]))
    data = data.assign(pair=["best"], largest=("network", [1.0]))
    return paired_eigenvalues._share_beyond_chance(data).item()


def another_minimum(excess):
    """The share of two trained networks of a teacher whose loss is above the lowest by so much."""
    at = ("time", *points.GRID, "network")
    values = {
        "loss": [1.0, 1 + excess],
        "sharpness": [1.0, 2.0],
        "status": [norm_correlation.CONVERGED] * 2,
    }
    data = xr.Dataset(
        {name: (at, np.reshape(row, (1, 1, 1, 1, 2))) for name, row in values.items()}
    )
    data = data.assign(time=["trained"], teacher=("network", [0, 0]))
    return norm_correlation._ends(data)["above_best"].item()


def rank_beyond(share):
    data = of(labels=("labels", ["exact"]), hessian=("labels rank", [[1.0, share]]), count=1)
    return balanced_spectrum._beyond(data, "count")


def outside_of_its_eigenspace(distance):
    data = of(top=1.0, vector_value=("place", [1.0, 1 - distance]))
    data["vector"] = ("place", "parameter"), np.eye(2)
    data["top_vector"] = "parameter", [0.6, 0.8]
    return round(balanced_spectrum.vectors(data), 12)


def counts_as_a_step(change):
    data = of(depth=("depth", [2, 3]), sharpness=("depth", [1.0, np.exp(change)]))
    beyond = {"norm": 1.0, "growth_from": ("depth", [2.0, 2.0])}
    return depth_and_norm.depth(data.assign(beyond))


def near_zero(share):
    data = of(edit=("edit", [sink_density.SINK]), eigenvalue=("rung edit end", [[[2.0]]]))
    data["node"] = ("rung", "probe", "rank"), [[[2.0 * share]]]
    return float(sink_density.many_near_zero(data.assign(weight=xr.ones_like(data["node"]))))


def resolved(layer_value):
    layer = of(hessian=("rank", [1.0, layer_value]), residual=1e-3, inputs=1, outputs=1)
    layer = layer.assign(output=("output_rank", [1.0]), input=("input_rank", [1.0]))
    return eigenvalues_told_apart._known(layer).sizes["rank"]


def peaks_around(distance):
    """Whether overlaps peak that are largest at such a share of 100 outputs beyond these."""
    rank = np.arange(1, 200)
    overlap = np.where(rank == 100 + 100 * distance, 3.0, 1.0)
    data = of(rank=("rank", rank), overlap=("rank", overlap), outputs=100)
    return float(model_overlaps.peak(data)) > 1


def contradicts(share):
    """Whether a late phase is contradicted by a negative small eigenvalue of such a share."""
    pair = ("rank network", [[-share], [1.0]])
    data = of(numerical=pair, kind=("rank", ["outlier", "outlier"]), trace=("network", [1.0]))
    late = xr.DataArray([True], dims="network")
    return bool(learning_phases.contradict(data, late, ~late)[0])


def settles(share, name):
    column = np.array([1.0, share])[:, None, None]
    ones = np.ones_like(column)
    course = Outliers(*((column, ones, ones) if name == "learned" else (ones, ones, column)))
    with np.errstate(all="ignore"):
        return heads.learning(course, np.ones((1, 1)))[name].item()


def stands_out(share):
    data = of(numerical=("rank", [1.0, share, -share]))
    data = data.assign(kind=("rank", ["bulk", "outlier", "outlier"]), cell=("rank", ["", "", ""]))
    return spectrum_in_training.largest(data, xr.DataArray(0.0))


def reaches_zero(share):
    data = of(learning_rate_side=1.0, learning_rate_share=share)
    return bool(spectrum_in_training.at_zero(data, "learning_rate", 1.0))


def has_a_side(share):
    small = np.array([[share], [share]])
    return paths.ends(Outliers(small, np.ones_like(small), small))[0, 0]


def stands_at_a_minimum(late):
    run = of(loss=("epoch seed", [[0.1]]), accuracy=("epoch seed", [[1.0]]))
    standing.require_minimum(run.assign(late_progress=late, network="any"))
    return True


# The threshold; what a function of a number says of half of it and of twice as much.
CASES = {
    "eigenvalues of attention apart": (1e-10, told_apart, None, 7.0),
    "condition numbers known": (1e9, known_condition, 0.0, None),
    "eigenvalues of sinks the same": (
        1e-11,
        lambda share: attention_sinks._first_of_equals(np.array([[0.0, share, 1.0]])).sum(),
        2,
        3,
    ),
    "distance to uniform attention": (0.1, converges, True, False),
    "constant bulk": (0.1, constant_bulk, True, False),
    "eigenvalues joined": (1e-11, joined, 2, 3),
    "lead of a quantity over itself": (1e-6, is_a_lead, False, True),
    "similar magnitude": (
        1.5,
        lambda ratio: regions.shares(np.array([ratio, 1.0]), np.array([1, 2]))[2, 0] > 0,
        True,
        False,
    ),
    "chance of a pair": (0.05, beyond_chance, 1.0, 0.0),
    "another minimum": (0.05, another_minimum, 0.0, 0.5),
    "zero eigenvalues of balanced networks": (1e-13, rank_beyond, 0.0, 1.0),
    "one eigenspace": (1e-6, outside_of_its_eigenspace, 0.0, 0.4),
    "a step that raises": (1e-9, counts_as_a_step, 0.0, 1.0),
    "eigenvalues close to zero": (0.01, near_zero, 1.0, 0.0),
    "attention of 0": (
        1e-7,
        lambda share: edits._log_odds(share) > edits._log_odds(0.0),
        False,
        True,
    ),
    "zero eigenvalues in training": (
        1e-12,
        lambda share: through_training.errors(
            of(numerical=("rank", [1.0, share]), exact=("rank", [1.0, share]))
        )[1].notnull(),
        False,
        True,
    ),
    "early epochs": (
        0.5,
        lambda left: through_training.is_early(
            of(loss=("epoch", [1.0, left]), floor=0.0, epoch=("epoch", [0, 1]))
        )[1],
        False,
        True,
    ),
    "minimum": (0.05, stands_at_a_minimum, True, None),
    "eigenvalues above their error": (1e-2, resolved, 1, 2),
    "around the outputs": (0.2, peaks_around, True, False),
    "bound as printed": (
        5e-5,
        lambda more: bounds._as_printed({"printed": 0.12}).holds(0.12 + more),
        True,
        False,
    ),
    "phase contradicted": (1e-12, contradicts, False, True),
    "learned": (0.01, lambda share: settles(share, "learned"), 1, -1),
    "retarded": (0.01, lambda share: settles(share, "reached_zero"), 1, -1),
    "pair out of rounding": (1e-4, stands_out, None, 0.0),
    "small outlier at zero": (1e-6, reaches_zero, True, False),
    "sign of the small outlier": (1e-12, has_a_side, 0.0, 1.0),
}


@pytest.mark.parametrize("name", CASES)
def test_a_threshold_is_between_half_of_it_and_twice(name):
    threshold, function, below, above = CASES[name]

    def said(number):
        try:
            return function(number)
        except NothingToMeasure:
            return None

    assert (said(threshold / 2), said(2 * threshold)) == (below, above)

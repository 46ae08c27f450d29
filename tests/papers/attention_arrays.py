"""Small studies of self-attention, for the tests of their arrays, claims and figures."""

from study_configs import both_sides, configured

from hessian_papers.data import listed_sequences, sequences
from hessian_papers.studies.attention.attention_edge_of_stability import study as edge
from hessian_papers.studies.attention.attention_scale import study as scale
from hessian_papers.studies.attention.attention_sinks import study as sinks


def _tokens(dimension, length):
    """Ten sequences."""
    shape = {"batch": 10, "length": length, "embedding_dimension": dimension}
    return sequences.make(sequences.Config(kind="sequences", seed=0, target="gaussian", **shape))


def scalar_tokens():
    """Ten sequences of ten numbers."""
    return _tokens(1, length=10)


def vector_tokens(dimension=3):
    """Ten sequences of six vectors."""
    return _tokens(dimension, length=6)


def reversal(*tokens):
    """One sequence, to be reversed."""
    return listed_sequences.make(
        listed_sequences.Config(kind="listed_sequences", seed=0, sequences=[list(tokens)])
    )


SCALE = {"artifact": "Figure 2", "key_dimension": 12, "weight_norm": 1.0, "small_norm": 1.0}
SCALE |= {"smallest_norm": 0.1, "largest_norm": 3.0, "largest_sink_bias": 6.0}
SCALE |= {"points": 9, "numeric_points": 5, "dense_points": 3, "draws": 2, "draw_points": 5}
SCALE |= {"massive_activation": 10.0}
SINKS = {"artifact": "Figure 9", "key_dimension": 12, "value_norm": 1.0, "query_key_norm": 1.0}
SINKS |= {"sink_biases": [0.0, 3.0, 6.0], "points": 5, "outlier_share": 0.2, "replicates": 3}
SINKS |= {"draws": 3, "draw_norms": [[1.0, 1.0], [3.0, 2.0]]}
EDGE = {"artifact": "Figure 27", "key_dimension": 2, "initial_scale": 0.1, "learning_rate": 2.3}
EDGE |= {"seed": 1, "steps": 90, "numeric_every": 15, "draws": 3, "rates": [2.3]}


def scale_config(**changes):
    return configured(scale, {"data": "test", "seed": 0} | SCALE | changes)


def scale_sides(**changes):
    return both_sides(scale, scale_config(**changes), scalar_tokens())


def sinks_config(**changes):
    return configured(sinks, {"data": "test", "seed": 0} | SINKS | changes)


def sinks_sides(**changes):
    return both_sides(sinks, sinks_config(**changes), vector_tokens())


def edge_config(**changes):
    return configured(edge, {"data": "test"} | EDGE | changes)


def edge_sides(*tokens, **changes):
    config = edge_config(**changes)
    return both_sides(edge, config, edge.train(config, reversal(*tokens)))

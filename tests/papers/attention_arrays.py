"""Small studies of self-attention, for the tests of their arrays, claims and figures."""

from hessian_papers.data import listed_sequences, sequences
from hessian_papers.studies.attention.attention_edge_of_stability import study as edge
from hessian_papers.studies.attention.attention_scale import study as scale
from hessian_papers.studies.attention.attention_sinks import study as sinks

COMMON = {"paper": "singh2026cracking", "title": "test", "data": "test"}


def scalar_tokens():
    """Ten sequences of ten numbers."""
    return sequences.make(
        sequences.Config(
            kind="sequences", seed=0, batch=10, length=10, embedding_dimension=1, target="gaussian"
        )
    )


def vector_tokens(dimension=3):
    """Ten sequences of six vectors."""
    return sequences.make(
        sequences.Config(
            kind="sequences",
            seed=0,
            batch=10,
            length=6,
            embedding_dimension=dimension,
            target="gaussian",
        )
    )


def reversal(*tokens):
    """One sequence, to be reversed."""
    return listed_sequences.make(
        listed_sequences.Config(kind="listed_sequences", seed=0, sequences=[list(tokens)])
    )


def scale_config(**changes):
    fields = {
        "kind": "attention_scale",
        "artifact": "Figure 2",
        "seed": 0,
        "key_dimension": 12,
        "weight_norm": 1.0,
        "smallest_norm": 0.1,
        "largest_norm": 3.0,
        "largest_sink_bias": 6.0,
        "massive_activation": 10.0,
        "points": 9,
        "numeric_points": 5,
        "dense_points": 3,
        "draws": 2,
        "draw_points": 5,
        "small_norm": 1.0,
    }
    return scale.Config(**(COMMON | fields | changes))


def scale_sides(**changes):
    config, data = scale_config(**changes), scalar_tokens()
    return {
        "closed_form": scale.closed_form(config, data),
        "numerics": scale.numerics(config, data),
    }


def sinks_config(**changes):
    fields = {
        "kind": "attention_sinks",
        "artifact": "Figure 9",
        "seed": 0,
        "key_dimension": 12,
        "value_norm": 1.0,
        "query_key_norm": 1.0,
        "sink_biases": [0.0, 3.0, 6.0],
        "points": 5,
        "outlier_share": 0.2,
        "replicates": 3,
        "draws": 3,
        "draw_norms": [[1.0, 1.0], [3.0, 2.0]],
    }
    return sinks.Config(**(COMMON | fields | changes))


def sinks_sides(**changes):
    config, data = sinks_config(**changes), vector_tokens()
    return {
        "closed_form": sinks.closed_form(config, data),
        "numerics": sinks.numerics(config, data),
    }


def edge_config(**changes):
    fields = {
        "kind": "attention_edge_of_stability",
        "artifact": "Figure 27",
        "seed": 1,
        "key_dimension": 2,
        "initial_scale": 0.1,
        "learning_rate": 2.3,
        "steps": 90,
        "numeric_every": 15,
        "draws": 3,
        "rates": [2.3],
    }
    return edge.Config(**(COMMON | fields | changes))


def edge_sides(*tokens, **changes):
    config = edge_config(**changes)
    networks = edge.train(config, reversal(*tokens))
    return {
        "closed_form": edge.closed_form(config, networks),
        "numerics": edge.numerics(config, networks),
    }

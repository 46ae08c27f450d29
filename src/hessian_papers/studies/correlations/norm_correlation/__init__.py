"""Correlations of the sharpness with norms of the weights, over the networks of an ensemble."""

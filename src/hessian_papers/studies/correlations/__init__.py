"""Studies: what of the weights goes with the curvature, over many networks."""

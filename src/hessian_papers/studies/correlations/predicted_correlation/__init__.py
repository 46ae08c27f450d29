"""Correlations of the sharpness with norms, as the terms of its formulas predict them."""

"""Correlations at initialisation against the inputs' second moments and the teacher's scale."""

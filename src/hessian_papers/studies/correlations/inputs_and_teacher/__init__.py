"""Correlations of the sharpness against the inputs' second moments and the teacher's scale."""

"""Recorded runs as data sets: how the arrays of each kind, as they were recorded, got their names."""

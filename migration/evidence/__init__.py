"""Recorded runs as data sets: how the arrays of each kind got their names."""

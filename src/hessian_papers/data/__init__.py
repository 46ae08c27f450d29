"""Data sets: one module per kind, from a configuration to labelled samples.

Each has a ``Config``, its settings, and ``make(config, storage)``, which gives the samples; only
data that are kept in files depend on the storage.
"""

"""Data sets: one module per kind, from a configuration to named arrays.

Each has a ``Config``, its settings, and ``make(config, storage)``, which gives the arrays; only
data that are kept in files depend on the storage.
"""

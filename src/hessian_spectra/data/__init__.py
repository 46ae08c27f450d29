"""Data sets: one module per kind, from a configuration to named arrays."""

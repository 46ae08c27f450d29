"""The two-layer linear network."""

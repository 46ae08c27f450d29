"""The two-layer ReLU network."""

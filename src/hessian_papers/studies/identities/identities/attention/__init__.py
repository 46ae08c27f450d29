"""Self-attention."""

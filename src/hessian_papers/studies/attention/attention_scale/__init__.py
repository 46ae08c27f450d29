"""Self-attention's spectrum against weight norms and attention sinks (cracking, Figure 2)."""

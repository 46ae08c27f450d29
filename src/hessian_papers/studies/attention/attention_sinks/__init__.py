"""Attention sinks and the spectrum of self-attention with vector tokens (cracking, Figure 9)."""

"""Attention sinks in a language model and its Hessian's spectrum (cracking, Figure 6)."""

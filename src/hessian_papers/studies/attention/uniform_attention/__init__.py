"""Attention at initialisation as the key dimension grows."""

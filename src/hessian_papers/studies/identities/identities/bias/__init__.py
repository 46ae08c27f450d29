"""The linear network with bias."""

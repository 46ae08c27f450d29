"""A multi-input linear network trained on correlated data (singh2026cracking, Corollary B.1)."""

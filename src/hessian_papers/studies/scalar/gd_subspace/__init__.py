"""Which optimizers keep the bulk eigenspace (singh2026cracking, Corollary 3.1)."""

"""Signs of the outlier pair in the three phases of learning (singh2026cracking, appendix C)."""
